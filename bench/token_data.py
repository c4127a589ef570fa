"""Seeded JSONL of ready tokens for the benches: {"id", "input_ids", "labels"}, one sample a line.

Sample lengths are drawn from the histogram of a real chat set, tests/data/histograms/openchat_v1_2048.csv (column
`length`, column `count`); ids below 32,000; the first third of a sample is its prompt (label -100).
"""

import csv
import struct
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


def token_file(folder, tokens, seed=20):
    """Such a file of that many tokens, made once."""
    path = folder / f"tokens-{tokens}-{seed}.jsonl"
    if not path.exists():
        write_tokens(path, tokens, seed)
    return path


def record_file(folder, records, tokens=16, block=10_000):
    """JSONL of that many records of `tokens` tokens each, made once: a block of records, again and again."""
    path = folder / f"records-{records}.jsonl"
    if not path.exists():
        rng = np.random.default_rng(records)
        lines = []
        for ids in rng.integers(0, VOCABULARY, (block, tokens)).tolist():
            text = ",".join(map(str, ids))
            lines.append(f'{{"input_ids":[{text}],"labels":[{text}]}}\n')
        part = path.with_suffix(".part")
        with part.open("w") as file:
            for _ in range(records // block):
                file.write("".join(lines))
        part.replace(path)
    return path


def megatron_pair(folder, tokens, seed=20):
    """A Megatron pair of int32 of that many tokens, a sequence a document, made once: its .idx."""
    index = folder / f"tokens-{tokens}-{seed}.idx"
    if not index.exists():
        lengths = draw_lengths(tokens, seed).astype(np.int32)
        ids = np.random.default_rng(seed + 1).integers(0, VOCABULARY, int(lengths.sum()), np.int32)
        ids.tofile(index.with_suffix(".bin"))
        ends = np.cumsum(lengths, dtype=np.int64)
        with index.with_suffix(".part").open("wb") as file:
            file.write(b"MMIDIDX\0\0" + struct.pack("<QBQQ", 1, 4, len(lengths), len(lengths) + 1))
            for part in (lengths, (ends - lengths) * 4, np.arange(len(lengths) + 1, dtype=np.int64)):
                file.write(part.tobytes())
        index.with_suffix(".part").replace(index)
    return index
