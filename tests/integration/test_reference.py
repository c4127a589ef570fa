"""Laws L1 to L4 on random jobs: the stream is the one that tests/reference computes from docs/stream.md alone."""

import json
import os
import sys

import pytest
from support import BIN, PACKLINE, ROOT, packline_run, ranks_command, run

sys.path[:0] = [str(ROOT / "tests/reference"), str(ROOT / "tests/golden")]
os.environ["PACKLINE_BIN"] = str(BIN)
compare = pytest.importorskip("compare", reason="xxhash is not installed")
import jobs as golden  # noqa: E402

import packline_reference as reference  # noqa: E402
from random_jobs import random_job  # noqa: E402

SEED = 1
COUNT = 500
THROUGH_PROCESSES = 20


def test_one_process_gives_the_packs_of_the_reference():
    counts, wrong = compare.compare_many(SEED, list(range(COUNT)))
    assert not wrong, "\n".join(wrong[:5])
    assert counts["jobs"] == COUNT
    assert counts["packs"] > 20 * COUNT  # the jobs are no empty ones


def test_the_order_of_messages_and_the_room_change_nothing(tmp_path):
    jobs = [random_job(SEED, n, tmp_path / str(n)) for n in (3, 24, 30, 57)]
    packs = [[sorted(p.items()) for p in packs] for packs, _ in compare.delivered(jobs, 0)]
    for shuffle_seed in range(1, 6):
        again = [[sorted(p.items()) for p in packs] for packs, _ in compare.delivered(jobs, shuffle_seed)]
        assert packs == again
    assert sum(map(len, packs)) > 100


@pytest.mark.parametrize("number", range(THROUGH_PROCESSES))
def test_real_processes_give_the_packs_of_the_reference(tmp_path, number):
    """Jobs beyond those of the test above, through `packline run` with 1 to 3 producers and packers."""
    path = random_job(SEED, COUNT + number, tmp_path, evaluates=False)
    job = reference.load_job(path)
    windows = list(reference.windows(job))
    dp_size = job["deliver"]["dp_size"]
    done, summary = packline_run(
        path, "--producers", min(1 + number % 3, job["lanes"]), "--packers", 1 + number % 2,
        "--set", "deliver.ranks_per_dp_rank=1",
        command=ranks_command(path, tmp_path / "got.json", "--ranks", dp_size), timeout=60)
    assert done.returncode == 0, done.stderr
    expected = [[] for _ in range(dp_size)]
    for w in windows:
        for p in w.packs:
            expected[p.dp_rank].append({
                "at": [p.epoch, p.window, p.index], "lengths": [s.tokens for s in p.samples],
                "sample_ids": [s.id for s in p.samples], "digest": f"{p.digest:016x}"})
    assert json.loads((tmp_path / "got.json").read_text()) == expected
    packs = [p for w in windows for p in w.packs]
    assert summary["stream_digest"] == f"{reference.stream_digest(packs):016x}"
    assert summary["packs"] == len(packs)


def test_count_says_the_same_as_the_reference(tmp_path):
    for number in range(10):
        path = random_job(SEED, number, tmp_path / str(number))
        done = run([PACKLINE, "count", path, "--format", "json"])
        assert done.returncode == 0, done.stderr
        totals = json.loads(done.stdout)["totals"]
        windows = list(reference.windows(reference.load_job(path)))
        packs = [p for w in windows for p in w.packs]
        assert totals["stream_digest"] == f"{reference.stream_digest(packs):016x}"
        assert totals["records"] == sum(w.ledger["records_read"] for w in windows)
        assert totals["lost"]["parse"] == sum(w.ledger["lost_parse"] for w in windows)
        assert totals["lost"]["over_long"] == sum(w.ledger["lost_over_long"] for w in windows)
        assert totals["truncated_tokens"] == sum(w.ledger["truncated_tokens"] for w in windows)


def test_the_golden_digests_are_those_of_the_reference(tmp_path):
    kept = json.loads((ROOT / "tests/golden/digests.json").read_text())
    got = {}
    for name, settings, files in golden.jobs():
        job = reference.load_job(golden.write(tmp_path / name, settings, files))
        got[name] = f"{reference.stream_digest(p for w in reference.windows(job) for p in w.packs):016x}"
    assert got == kept
