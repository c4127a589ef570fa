"""Seeded JSONL of ready tokens for the benches: {"id", "input_ids", "labels"}, one sample a line.

Sample lengths are drawn from the histogram of a real chat set, tests/data/histograms/openchat_v1_2048.csv (column
`length`, column `count`); ids below 32,000; the first third of a sample is its prompt (label -100).
"""

import csv
from pathlib import Path

import numpy as np

HISTOGRAM = Path(__file__).resolve().parents[1] / "tests/data/histograms/openchat_v1_2048.csv"
VOCABULARY = 32000


def draw_lengths(tokens, seed):
    """Lengths whose sum is the first to reach `tokens`."""
    with HISTOGRAM.open() as file:
        rows = list(csv.DictReader(line for line in file if not line.startswith("#")))
    lengths = np.array([int(row["length"]) for row in rows])
    counts = np.array([float(row["count"]) for row in rows])
    rng = np.random.default_rng(seed)
    mean = float((lengths * counts).sum() / counts.sum())
    drawn = rng.choice(lengths, size=int(tokens / mean * 1.2) + 100, p=counts / counts.sum())
    return drawn[: int(np.searchsorted(np.cumsum(drawn), tokens)) + 1]


def write_tokens(path, tokens, seed):
    """Writes about `tokens` tokens to `path`, whole or not at all."""
    words = [str(i) for i in range(VOCABULARY)]
    rng = np.random.default_rng(seed + 1)
    part = path.with_name(path.name + ".part")
    with part.open("w") as file:
        for number, length in enumerate(draw_lengths(tokens, seed).tolist()):
            ids = [words[i] for i in rng.integers(0, VOCABULARY, length).tolist()]
            prompt = length // 3
            labels = ["-100"] * prompt + ids[prompt:]
            file.write(f'{{"id":"{number}","input_ids":[{",".join(ids)}],"labels":[{",".join(labels)}]}}\n')
    part.replace(path)
