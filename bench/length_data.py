"""Seeded lists of sample lengths for the planning measurements."""

import csv
import math
import random
import struct
from pathlib import Path

HISTOGRAMS = Path(__file__).resolve().parents[1] / "tests/data/histograms"
COUNT = 200_000


def histogram(stem):
    """[(length, count)] of a published list."""
    with (HISTOGRAMS / f"{stem}.csv").open() as file:
        rows = csv.DictReader(line for line in file if not line.startswith("#"))
        return [(int(row["length"]), int(row["count"])) for row in rows]


def whole_list(stem):
    """Every length as often as the list says."""
    return [length for length, count in histogram(stem) for _ in range(count)]


def drawn(stem, seed):
    lengths, counts = zip(*histogram(stem))
    return random.Random(seed).choices(lengths, weights=counts, k=COUNT)


def long_tailed(seed, mean, sigma, most):
    """Log-normal, cut at `most`."""
    rng = random.Random(seed)
    return [min(most, max(1, round(rng.lognormvariate(math.log(mean), sigma)))) for _ in range(COUNT)]


def write_lengths(path, lengths):
    """As little-endian u32."""
    path.write_bytes(struct.pack(f"<{len(lengths)}I", *lengths))
    return path


def lists(folder):
    """[(name, file, capacity)]: two published lists, two with long tails."""
    made = [
        ("OpenChat", drawn("openchat_v1_2048", 1)),
        ("Wikipedia", drawn("wikipedia_bert_512", 2)),
        ("long tail", long_tailed(3, 500, 1.2, 8192)),
        ("longer tail", long_tailed(4, 300, 1.6, 8192)),
    ]
    return [(name, write_lengths(folder / f"{name.replace(' ', '-')}.u32", lengths), 8192) for name, lengths in made]
