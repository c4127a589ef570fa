"""Laws L1 to L4 on random jobs: the stream is the one that tests/reference computes from docs/stream.md alone."""

import json
import os
import sys

import pytest
from support import BIN, PACKLINE, PATIENCE, ROOT, packline_run, ranks_command, run

sys.path[:0] = [str(ROOT / "tests/reference"), str(ROOT / "tests/golden")]
os.environ["PACKLINE_BIN"] = str(BIN)
compare = pytest.importorskip("compare", reason="xxhash is not installed")
import jobs as golden  # noqa: E402

import packline_reference as reference  # noqa: E402
import reference_sources  # noqa: E402
from random_jobs import random_job  # noqa: E402

SEED = 1
COUNT = 1000
UNDER_SANITIZERS = 60
THROUGH_PROCESSES = 20


def compared(seed, count):
    counts, wrong = compare.compare_many(seed, list(range(count)))
    assert not wrong, "\n".join(wrong[:5])
    assert counts["jobs"] == count
    assert counts["packs"] > 20 * count  # the jobs are no empty ones
    assert counts["layouts"] > 20 * count


@pytest.mark.loopback
def test_one_process_gives_the_packs_of_the_reference():
    """Through all strategies, policies, sources and, every third ten of them, the client's layouts."""
    compared(SEED, COUNT if PATIENCE == 1 else UNDER_SANITIZERS)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(SEED + 1, SEED + 5))
def test_other_seeds_do_too(seed):
    compared(seed, COUNT)


def test_the_random_jobs_have_every_kind_of_source_and_setting(tmp_path):
    """What is drawn no more would be compared no more, and nobody would notice."""
    seen = set()
    for number in range(COUNT // 4):
        job = json.loads(random_job(SEED, number, tmp_path / str(number)).read_text())
        pack = job["pack"]
        settings = ("strategy", "over_long", "plan", "balance", "same_kind", "drop_unsupervised")
        seen |= {(key, pack.get(key)) for key in settings}
        seen |= {job["deliver"].get("remainder"), "eval" if "eval" in job else "", job["encode"].get("train")}
        seen.add(job.get("shuffle", {}).get("kind"))
        for source in job["sources"]:
            seen |= set(source.get("fields", {}))
            for file in (tmp_path / str(number)).glob(source["path"]):
                how = reference_sources.how(source.get("read_as", "auto"), str(file))
                seen |= {(source["format"], how), file.suffix}
                if file.suffix == ".idx":
                    seen.add(("dtype", file.read_bytes()[17], source.get("record", "document")))
    strategies = ("best_fit_decreasing", "first_fit_decreasing", "sequential", "wrapped", "spread")
    wanted = {("strategy", s) for s in strategies}
    wanted |= {("over_long", o) for o in ("drop", "error", "truncate_right", "truncate_left", "split")}
    wanted |= {("plan", "global"), ("balance", "attention"), ("same_kind", True), ("drop_unsupervised", True)}
    wanted |= {"spread", "drop", "repeat", "eval", "assistant", "all", "full", "none", "buffer", ".gz", ".zst"}
    wanted |= {(f, how) for f in ("text", "chat", "tokens") for how in ("jsonl", "json")}
    wanted |= {("text", "lines"), ("text", "files"), ("tokens", "megatron")}
    wanted |= {"text", "messages", "role", "content", "input_ids", "labels", "loss_mask", "id"}
    wanted |= {("dtype", d, record) for d in (1, 2, 3, 4, 5, 8) for record in ("document", "sequence")}
    assert not wanted - seen


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
    path = random_job(SEED, COUNT + 10 * number, tmp_path, evaluates=False)
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
    for number in range(15):
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
