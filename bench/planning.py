"""Planning and balancing of lengths; bench/planning runs this.

Each round plans the same lengths by packline (all at once; window by window at the job file's defaults) and by
lightbinpack's OBFD, in turns. Balance: per step of 8 packs the dearest pack's cost L*L over the mean of all, over an epoch of
windows of 256, with and without `balance: attention`.
"""

import argparse
import csv
import json
import math
import pathlib
import random
import statistics
import struct
import subprocess
import sys
import tempfile
import time

import lightbinpack

ROOT = pathlib.Path(__file__).resolve().parent.parent
PROGRAM = ROOT / "build/release/bin/bench_planning"
LISTS = ROOT / "tests/data/histograms"
RANKS = 8


def drawn(name, count, seed):
    """Lengths drawn from a published list."""
    with open(LISTS / f"{name}.csv", encoding="utf-8") as f:
        rows = list(csv.DictReader(line for line in f if not line.startswith("#")))
    lengths = [int(r["length"]) for r in rows]
    return random.Random(seed).choices(lengths, weights=[int(r["count"]) for r in rows], k=count)


def long_tailed(count, seed, mean, sigma, most):
    """Lengths with a log-normal tail, cut at `most`."""
    rng = random.Random(seed)
    return [min(most, max(1, round(rng.lognormvariate(math.log(mean), sigma)))) for _ in range(count)]


def write(path, lengths):
    path.write_bytes(struct.pack(f"<{len(lengths)}I", *lengths))
    return path


def program(*arguments):
    done = subprocess.run([PROGRAM, *map(str, arguments)], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def spread(values):
    return f"{statistics.median(values):.1f} ({min(values):.1f} .. {max(values):.1f})"


def planning(name, lengths, capacity, rounds, folder):
    """{what: ratio of the medians}: lengths a second against OBFD's."""
    path = write(folder / f"{name}.u32", lengths)
    seconds = {"once": [], "windows": [], "obfd": []}
    bins = {}
    for _ in range(rounds):
        for what in ("once", "windows"):
            found = program(what, path, capacity)
            seconds[what].append(found["seconds"])
            bins[what] = found["bins"]
        began = time.perf_counter()
        packs = lightbinpack.pack(lengths, capacity, "obfd")
        seconds["obfd"].append(time.perf_counter() - began)
        bins["obfd"] = len(packs)
    print(f"{name}: {len(lengths):,} lengths, capacity {capacity:,}; M lengths/s, median of {rounds} (spread); fill")
    for what, label in (("once", "all at once"), ("windows", "windows"), ("obfd", "lightbinpack OBFD")):
        rate = [len(lengths) / s / 1e6 for s in seconds[what]]
        fill = 100 * sum(lengths) / (bins[what] * capacity)
        print(f"  {label:18} {spread(rate):28} {fill:.2f} %")
    base = statistics.median(seconds["obfd"])
    ratios = {what: base / statistics.median(seconds[what]) for what in ("once", "windows")}
    print(f"  ratio              all at once {ratios['once']:.1f}, windows {ratios['windows']:.1f}")
    return ratios, bins["once"] <= bins["obfd"]


def balance(name, lengths, capacity, folder):
    path = write(folder / f"{name}.u32", lengths)
    random_order = program("balance", path, capacity, RANKS, 0, "none")
    balanced = program("balance", path, capacity, RANKS, 0, "attention")
    print(f"  {name:16} {random_order['mean']:6.3f}  {balanced['mean']:6.3f}  (worst step {balanced['worst']:.2f})")
    return balanced["mean"]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--count", type=int, default=200_000, help="lengths a list")
    parser.add_argument("--require", action="store_true", help="exit 1 below 5 x all at once, 2 x windows, 1.08 balanced")
    arguments = parser.parse_args()
    lists = [
        ("openchat", drawn("openchat_v1_2048", arguments.count, 1), 8192),
        ("wikipedia", drawn("wikipedia_bert_512", arguments.count, 2), 8192),
    ]
    good = True
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        for name, lengths, capacity in lists:
            ratios, as_full = planning(name, lengths, capacity, arguments.rounds, folder)
            good &= ratios["once"] >= 5 and ratios["windows"] >= 2 and as_full
        print(f"dearest pack of a step over the mean, {RANKS} ranks, cost L*L: random order, balance: attention")
        tails = [
            ("long tail", long_tailed(arguments.count, 3, 500, 1.2, 8192), 8192),
            ("longer tail", long_tailed(arguments.count, 4, 300, 1.6, 8192), 8192),
        ]
        for name, lengths, capacity in lists + tails:
            good &= balance(name, lengths, capacity, folder) <= 1.08
    if arguments.require and not good:
        sys.exit("below what is required")


if __name__ == "__main__":
    main()
