"""See bench/delivery and bench/README.md."""

import argparse
import json
import os
import signal
import statistics
import subprocess
import sys
import threading
import time
from pathlib import Path

from token_data import write_tokens

ROOT = Path(__file__).resolve().parents[1]
WORK = ROOT / "build/bench"
BIN = ROOT / "build/release/bin"
SEED = 20
PAUSE_S = 2.5  # of the trainer, where memory is measured
HOLD_UP_S = 0.7  # of the sink there, within that; less than a packer's patience with it

JOB = """\
version: 1
name: delivery
seed: 17
epochs: 1
state: .packline
sources:
  - {{path: "{data}", format: tokens}}
shuffle: {{kind: full}}
lanes: 4
encode: {{kind: tokens, threads: 1}}
pack: {{capacity: 8192, strategy: best_fit_decreasing, packs_per_window: 64, over_long: error}}
deliver: {{dp_size: 1}}
"""


def run_json(command):
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def parse_alone(data):
    return run_json([str(BIN.parents[1] / "bench/parse_alone"), str(data)])


def anonymous_bytes(pid):
    """RssAnon of a process, 0 when it is gone."""
    try:
        status = Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return 0
    found = [line.split()[1] for line in status.splitlines() if line.startswith("RssAnon:")]
    return int(found[0]) * 1024 if found else 0


def children_of(pid):
    """{pid: name of the executable} of a process's own children."""
    found = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            parent = int(stat.read_text().rpartition(")")[2].split()[1])
            if parent == pid:
                argv = (stat.parent / "cmdline").read_bytes().split(b"\0")
                found[int(stat.parent.name)] = os.path.basename(argv[0].decode())
        except (OSError, IndexError):
            continue
    return found


class MemoryWatch:
    """Samples the anonymous memory of a process's children until stopped; `peaks` by executable. Holds the sinks up for a
    moment once the file `resting` is there, so that what waits for them gathers in the packer."""

    def __init__(self, pid, resting):
        self.peaks = {}
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, args=(pid, resting))
        self._thread.start()

    def _run(self, pid, resting):
        names, turn, held_up, until = {}, 0, [], 0
        while not self._stop.wait(0.005):
            if turn % 20 == 0:
                names.update(children_of(pid))
            turn += 1
            if not until and resting.exists():
                held_up = [child for child, name in names.items() if name == "packline-sink"]
                until = time.monotonic() + HOLD_UP_S
                send(signal.SIGSTOP, held_up)
            elif held_up and time.monotonic() > until:
                send(signal.SIGCONT, held_up)
                held_up = []
            for child, name in names.items():
                self.peaks[name] = max(self.peaks.get(name, 0), anonymous_bytes(child))

    def stop(self):
        self._stop.set()
        self._thread.join()
        return self.peaks


def send(number, children):
    for child in children:
        try:
            os.kill(child, number)
        except ProcessLookupError:
            pass


def run_line(job, args, watch=False):
    """One run of the line; what its client measured and, if watched, the memory peaks."""
    out, summary, resting = WORK / "client.json", WORK / "summary.json", WORK / "client.json.resting"
    for path in (out, summary, resting):
        path.unlink(missing_ok=True)
    sets = [word for value in args.set for word in ("--set", value)]
    command = [str(BIN / "packline"), "run", str(job), *sets, "--producers", str(args.producers),
               "--packers", str(args.packers), "--summary", str(summary), "--", sys.executable,
               str(ROOT / "bench/delivery_client.py"), str(job), str(out), str(PAUSE_S if watch else 0)]
    log = WORK / "line.log"
    with log.open("w") as file:
        process = subprocess.Popen(command, stdout=file, stderr=subprocess.STDOUT)
        memory = MemoryWatch(process.pid, resting) if watch else None
        code = process.wait()
        peaks = memory.stop() if memory else {}
    if code:
        raise SystemExit(f"the line ended with exit code {code}:\n{log.read_text()[-3000:]}")
    return {**json.loads(out.read_text()), "summary": json.loads(summary.read_text()), "peaks": peaks}


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
        name = os.path.basename(sys.executable) if role == "client" else f"packline-{role}"
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


def interleaved(job, data, args):
    """Alternates the two, so that what else the machine does meets both alike."""
    alone, line = [], []
    for number in range(1, args.rounds + 1):
        parsed, delivered = parse_alone(data), run_line(job, args)
        if delivered["tokens"] != parsed["tokens"]:
            raise SystemExit(f"{parsed['tokens']} tokens in the file, {delivered['tokens']} delivered")
        alone.append(parsed["tokens"] / parsed["seconds"] / 1e6)
        line.append(delivered["tokens"] / delivered["seconds"] / 1e6)
        print(f"  round {number}: alone {alone[-1]:.1f}, line {line[-1]:.1f} M tokens/s", flush=True)
    return alone, line


def main():
    parser = argparse.ArgumentParser(description="delivery of ready tokens against simdjson alone")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--tokens", type=int, default=40_000_000)
    parser.add_argument("--producers", type=int, default=1)
    parser.add_argument("--packers", type=int, default=1)
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="of the job")
    parser.add_argument("--require", type=float, help="fail when the ratio is below, or a memory bound is broken")
    args = parser.parse_args()

    data, job = WORK / f"tokens-{args.tokens}-{SEED}.jsonl", WORK / "delivery.yaml"
    if not data.exists():
        write_tokens(data, args.tokens, SEED)
    job.write_text(JOB.format(data=data.name))
    sets = [word for value in args.set for word in ("--set", value)]
    bounds = run_json([str(BIN / "packline"), "check", str(job), *sets, "--format", "json"])["memory_bound_bytes"]

    parse_alone(data)  # the file into the page cache
    first = run_line(job, args)  # makes the index, which later runs keep
    watched = run_line(job, args, watch=True)
    print(f"{first['tokens']:,} tokens in {first['packs']:,} packs, {data.stat().st_size / 1e6:.0f} MB of JSONL, to "
          f"{first['layout']}; {args.producers} producer, {args.packers} packer, {os.cpu_count()} cores")
    alone, line = interleaved(job, data, args)
    middle_alone, middle_line = rates("simdjson alone", alone), rates("the line", line)
    ratio = middle_line / middle_alone
    print(f"  ratio            {ratio:.2f}")
    broken = memory_table(bounds, watched["peaks"])
    for sentence in broken:
        print(f"  {sentence}")
    if args.require and (ratio < args.require or broken):
        print(f"below what is required: ratio {args.require}, memory under its bound and the bound under 2.5 peaks")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
