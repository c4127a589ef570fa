"""All trainer ranks of a line in one process, in step: takes every pack, recomputes its digest, writes what came.

With --fault it hurts the line it is served by, at a given step: the launcher is its parent.
"""

import argparse
import json
import os
import signal
import sys
import threading
import time

from packline import PackStream, close_all
from packline.digest import pack_digest
from support import children_of


def stop_for(pid, seconds):
    os.kill(pid, signal.SIGSTOP)
    threading.Timer(seconds, os.kill, (pid, signal.SIGCONT)).start()


def hurt(kind, launcher):
    """`kind` is stop_ROLE (for 2 s), term_ROLE or kill_ROLE; with several of the role a kill meets another one than a
    stop. Whoever was killed is gone when this returns, so that the next kill meets another life."""
    how, role = kind.split("_")
    # The last one hurt may just be being started again.
    pids = wait_for(lambda: children_of(launcher).get(role), f"the line has no {role} to hurt")
    if how == "stop":
        stop_for(pids[0], 2.0)
        return
    os.kill(pids[-1], {"term": signal.SIGTERM, "kill": signal.SIGKILL}[how])
    if how == "kill":
        wait_for(lambda: pids[-1] not in children_of(launcher).get(role, []), f"{role} does not die")


def wait_for(seen, told):
    end = time.monotonic() + 30
    while not (found := seen()):
        if time.monotonic() > end:
            sys.exit(told)
        time.sleep(0.01)
    return found


def describe(pack):
    return {
        "at": [pack["epoch"], pack["window"], pack["pack"]],
        "lengths": [int(n) for n in pack["lengths"]],
        "sample_ids": list(pack["sample_ids"]),
        "digest": f"{pack_digest(pack):016x}",
    }


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--job", required=True)
    ap.add_argument("--out", required=True)
    ap.add_argument("--ranks", type=int, default=4)
    ap.add_argument("--peers", type=int, default=1, help="ranks that share each sink; their packs follow one another")
    ap.add_argument("--steps", type=int, default=0, help="stop after that many")
    ap.add_argument("--fault", action="append", default=[], metavar="STEP:KIND")
    ap.add_argument("--state", help="load this state first, write the last one back")
    o = ap.parse_args()
    faults = {}
    for f in o.fault:
        step, kind = f.split(":")
        faults.setdefault(int(step), []).append(kind)

    streams = [PackStream(o.job, dp_rank=r, peer=p, layout="numpy") for r in range(o.ranks) for p in range(o.peers)]
    if o.state and os.path.exists(o.state):
        with open(o.state, encoding="utf-8") as f:
            state = json.load(f)
        for s in streams:
            s.load_state_dict(state)
    got = [[] for _ in streams]
    step = 0
    ended = False
    while not ended:  # one turn an epoch
        iterators = [iter(s) for s in streams]
        first = True
        while True:
            for kind in faults.pop(step, []):
                hurt(kind, os.getppid())
            packs = [next(i, None) for i in iterators]
            if any((p is None) != (packs[0] is None) for p in packs):
                sys.exit(f"ranks disagree about the end at step {step}: {[p is None for p in packs]}")
            if packs[0] is None:
                ended = first
                break
            first = False
            for r, p in enumerate(packs):
                got[r].append(describe(p))
            step += 1
            if o.steps and step >= o.steps:
                break
        if o.steps and step >= o.steps:
            break
    states = [s.state_dict() for s in streams]
    if any(s != states[0] for s in states):
        sys.exit("state_dict differs between ranks")
    if o.state:
        with open(o.state, "w", encoding="utf-8") as f:
            json.dump(states[0], f)
    with open(o.out, "w", encoding="utf-8") as f:
        json.dump(got, f)
    close_all(streams)


if __name__ == "__main__":
    main()
