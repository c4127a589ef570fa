"""A trainer of every rank in one process that evaluates every few steps: writes the packs of the training and those of
each evaluation, in all of which the digests are computed anew.

With --fault STEP:ROLE a role of the eval split is killed in the middle of the evaluation that follows this step, with
--break-at an evaluation more is begun before each one and broken off behind so many packs.
"""

import argparse
import json
import os
import pathlib
import signal

from drive_ranks import describe
from packline import PackStream, close_all


def pid_of(role):
    """Of a role of the line that this command is served by, such as eval-sink-0."""
    line = json.loads(pathlib.Path(os.environ["PACKLINE_LINE"]).read_text(encoding="utf-8"))
    port_file = f"{line['folder']}/{role}.http"
    for task in pathlib.Path(f"/proc/{line['pid']}/task").iterdir():
        for child in (task / "children").read_text().split():
            if port_file.encode() in pathlib.Path(f"/proc/{child}/cmdline").read_bytes().split(b"\0"):
                return int(child)
    raise SystemExit(f"{role} does not run")


def evaluate(streams, fault=None):
    got = []
    for n, packs in enumerate(zip(*streams)):
        got.append([describe(p) for p in packs])
        if n == 1 and fault:
            os.kill(pid_of(fault), signal.SIGKILL)
    return got


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--job", required=True)
    ap.add_argument("--out", required=True)
    ap.add_argument("--ranks", type=int, default=2)
    ap.add_argument("--every", type=int, default=0, help="steps; 0 = never")
    ap.add_argument("--break-at", type=int, default=0)
    ap.add_argument("--fault", action="append", default=[], metavar="STEP:ROLE")
    ap.add_argument("--exit", action="store_true", help="just end, without close()")
    o = ap.parse_args()
    faults = {int(step): role for step, role in (f.split(":") for f in o.fault)}

    trains = [PackStream(o.job, dp_rank=r, layout="numpy") for r in range(o.ranks)]
    # A few packs ahead, so that an evaluation is not here as a whole when a role is killed.
    evals = [PackStream(o.job, split="eval", dp_rank=r, layout="numpy", prefetch=2) for r in range(o.ranks)]
    trained, evaluations, step = [], [], 0
    while True:
        before = step
        for packs in zip(*trains):
            trained.append([describe(p) for p in packs])
            step += 1
            if o.every and step % o.every == 0:
                if o.break_at:
                    for _ in zip(range(o.break_at), *evals):
                        pass
                evaluations.append(evaluate(evals, faults.pop(step, None)))
        if step == before:
            break
    pathlib.Path(o.out).write_text(json.dumps({"trained": trained, "evaluations": evaluations}), encoding="utf-8")
    if faults:
        raise SystemExit(f"no such step: {faults}")
    if not o.exit:
        close_all([*trains, *evals])


if __name__ == "__main__":
    main()
