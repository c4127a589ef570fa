"""The examples that TRL 0.29.1 documents for `trl.pack_dataset` (trl/data_utils.py) give the same packs here.

There: "bfd" truncates what is longer than a pack and packs by best fit decreasing; "bfd-requeue" packs what was cut off
as a sequence of its own; "wrapped" cuts the stream of tokens wherever a pack is full. The order of the packs, and of the
samples within one, is its own in both, so packs are compared as sets.
"""

import json

import pytest
from support import PACKLINE, run, write_job

EXAMPLE = [[1, 2, 3, 4, 5], [6, 7], [8, 9, 10], [11]]  # and seq_length=4


def packs_of(tmp_path, sequences, seq_length, **pack):
    """The samples of each pack that a trainer rank is given, as lists of ids; the counts of the epoch."""
    job = write_job(tmp_path, lanes=1, deliver={"dp_size": 1}, shuffle={"kind": "none"},
                    pack={"capacity": seq_length, "packs_per_window": 16, "dp_size_multiple": 1, **pack})
    rows = "".join(json.dumps({"input_ids": ids}) + "\n" for ids in sequences)
    (tmp_path / "data/a.jsonl").write_text(rows)
    done = run([PACKLINE, "tail", job, "--dp-rank", 0, "--format", "jsonl"])
    assert done.returncode == 0, done.stderr
    packs = []
    for line in map(json.loads, done.stdout.splitlines()):
        ids = iter(line["input_ids"])
        packs.append([[next(ids) for _ in range(n)] for n in line["lengths"]])
    counted = run([PACKLINE, "count", job, "--format", "json"])
    assert counted.returncode == 0, counted.stderr
    return packs, json.loads(counted.stdout)["epochs"][0]


def as_sets(packs):
    return sorted(sorted(p) for p in packs)


def test_bfd(tmp_path):
    """seq_lengths [4], [3, 1], [2]: the fifth token of the first sequence is discarded, here with a word."""
    packs, epoch = packs_of(tmp_path, EXAMPLE, 4, over_long="truncate_right")
    assert as_sets(packs) == as_sets([[[1, 2, 3, 4]], [[8, 9, 10], [11]], [[6, 7]]])
    assert epoch["truncated_tokens"] == 1


def test_bfd_requeue(tmp_path):
    """seq_lengths [4], [3, 1], [2, 1]: nothing is lost."""
    packs, epoch = packs_of(tmp_path, EXAMPLE, 4, over_long="split")
    assert as_sets(packs) == as_sets([[[1, 2, 3, 4]], [[8, 9, 10], [5]], [[6, 7], [11]]])
    assert epoch["truncated_tokens"] == 0 and epoch["tokens"] == 11


@pytest.mark.parametrize("cut", [4, 3])
def test_wrapped(tmp_path, cut):
    """The tokens in their order, every pack full but the last."""
    packs, epoch = packs_of(tmp_path, EXAMPLE, cut, strategy="wrapped")
    ids = list(range(1, 12))
    assert [sum(p, []) for p in packs] == [ids[i : i + cut] for i in range(0, 11, cut)]
    assert epoch["tokens"] == 11


def test_sequences_may_be_left_out_too(tmp_path):
    """What TRL's bfd has no name for: the sequence that is too long is lost whole, and counted."""
    packs, epoch = packs_of(tmp_path, EXAMPLE, 4, over_long="drop")
    assert as_sets(packs) == as_sets([[[8, 9, 10], [11]], [[6, 7]]])
    assert epoch["lost"]["over_long"] == 1
