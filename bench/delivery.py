"""See bench/delivery and bench/README.md."""

import argparse
import os
import signal
import statistics
import sys
import time
from pathlib import Path

from line import BIN, CLIENT_PYTHON, WORK, run_json, run_line, write_job
from processes import MemoryWatch
from rounds import in_turns
from token_data import token_file

PAUSE_S = 2.5  # of the trainer, where memory is measured
HOLD_UP_S = 0.7  # of the sink there, within that; less than a packer's patience with it


def parse_alone(data):
    return run_json([str(BIN / "bench_parse_alone"), str(data)])


class HeldUpSink:
    """Holds the sinks up for a moment once the file `resting` is there, so that what waits for them gathers in the packer."""

    def __init__(self, resting):
        self._resting, self._until, self._stopped = resting, 0, []

    def __call__(self, names):
        if not self._until and self._resting.exists():
            self._stopped = [child for child, name in names.items() if name == "packline-sink"]
            self._until = time.monotonic() + HOLD_UP_S
            send(signal.SIGSTOP, self._stopped)
        elif self._stopped and time.monotonic() > self._until:
            send(signal.SIGCONT, self._stopped)
            self._stopped = []


def send(number, children):
    for child in children:
        try:
            os.kill(child, number)
        except ProcessLookupError:
            pass


def peaks(job, options):
    """Anonymous bytes of each role, at most, when every role holds all that it may hold."""
    resting = Path(f"{WORK / job.stem}.client.json.resting")
    resting.unlink(missing_ok=True)
    held_up = HeldUpSink(resting)
    return run_line(job, "resting.py", [PAUSE_S], options, lambda pid: MemoryWatch(pid, held_up))["peaks"]


def rates(name, values):
    middle = statistics.median(values)
    spread = (max(values) - min(values)) / middle
    print(f"  {name:<16} median {middle:7.1f} M tokens/s   ({min(values):.1f} .. {max(values):.1f}, "
          f"spread {spread:.0%})")
    return middle


def memory_table(bounds, peaks):
    """Prints each role's peak against its bound; returns the sentences about those that break it."""
    print("  anonymous memory    peak MiB   bound MiB   bound / peak")
    broken = []
    for role in ("producer", "packer", "sink", "client"):
        name = CLIENT_PYTHON.name if role == "client" else f"packline-{role}"
        peak, bound = peaks.get(name, 0), bounds[role]
        if not peak:
            broken.append(f"no {role} was seen")
            continue
        print(f"    {role:<15} {peak / 2**20:10.1f}  {bound / 2**20:10.1f}   {bound / peak:8.2f}")
        if peak > bound:
            broken.append(f"the {role} needs more than its bound")
        elif bound > 2.5 * peak:
            broken.append(f"the {role}'s bound is more than 2.5 times what it needs")
    return broken


def main():
    parser = argparse.ArgumentParser(description="delivery of ready tokens against simdjson alone")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--tokens", type=int, default=40_000_000)
    parser.add_argument("--producers", type=int, default=1)
    parser.add_argument("--packers", type=int, default=1)
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="of the job")
    parser.add_argument("--require", type=float, help="fail when the ratio is below, or a memory bound is broken")
    args = parser.parse_args()

    data = token_file(WORK, args.tokens)
    job = write_job("delivery", data.name)
    sets = [word for value in args.set for word in ("--set", value)]
    options = [*sets, "--producers", str(args.producers), "--packers", str(args.packers)]
    bounds = run_json([str(BIN / "packline"), "check", str(job), *sets, "--format", "json"])["memory_bound_bytes"]

    parsed = parse_alone(data)  # the file into the page cache
    first = run_line(job, "ready.py", options=options)  # makes the index, which later runs keep
    watched = peaks(job, options)
    print(f"{first['tokens']:,} tokens in {first['packs']:,} packs, {data.stat().st_size / 1e6:.0f} MB of JSONL, to hf "
          f"tensors; {args.producers} producer, {args.packers} packer, {os.cpu_count()} cores")
    found = in_turns(
        args.rounds,
        {"simdjson alone": lambda: parse_alone(data), "the line": lambda: run_line(job, "ready.py", options=options)},
    )
    for one in found["the line"]:
        if one["tokens"] != parsed["tokens"]:
            raise SystemExit(f"{parsed['tokens']} tokens in the file, {one['tokens']} delivered")
    alone, line = (
        rates(side, [one["tokens"] / one["seconds"] / 1e6 for one in all_]) for side, all_ in found.items()
    )
    ratio = line / alone
    print(f"  ratio            {ratio:.2f}")
    broken = memory_table(bounds, watched)
    for sentence in broken:
        print(f"  {sentence}")
    if args.require and (ratio < args.require or broken):
        print(f"below what is required: ratio {args.require}, memory under its bound and the bound under 2.5 peaks")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
