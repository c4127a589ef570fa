"""Law L1: the packs of a window are a pure function of the job: not of how many processes there are, of timing, or of crashes."""

import itertools
import json

import pytest
from support import job_settings, packline_run, ranks_command, run, write_job, write_tokens, PACKLINE

RECORDS = 1600


@pytest.fixture(scope="module")
def job(tmp_path_factory):
    folder = tmp_path_factory.mktemp("one_stream")
    path = write_job(folder)
    write_tokens(folder / "data/a.jsonl", seed=1, records=RECORDS)
    return path


@pytest.fixture(scope="module")
def expected(job):
    """What one process counts, without any line."""
    done = run([PACKLINE, "count", job, "--format", "json"])
    assert done.returncode == 0, done.stderr
    epoch = json.loads(done.stdout)["epochs"][0]
    assert epoch["windows"] >= 60
    assert epoch["samples"] == RECORDS
    return epoch


def check(job, out, done, summary, expected):
    assert done.returncode == 0, done.stderr
    got = json.loads(out.read_text())
    total = 0
    for rank, packs in enumerate(got):
        digest = sum(int(p["digest"], 16) for p in packs) % 2**64
        assert f"{digest:016x}" == summary["digest"][str(rank)]
        total = (total + digest) % 2**64
    assert f"{total:016x}" == summary["stream_digest"] == expected["stream_digest"]
    ids = [i for packs in got for p in packs for i in p["sample_ids"]]
    assert len(ids) == len(set(ids)) == RECORDS
    assert len({len(packs) for packs in got}) == 1  # L3
    assert summary["samples"] == RECORDS


MATRIX = list(itertools.product((1, 2, 4), (1, 2, 3), (1, 3)))


@pytest.mark.parametrize("producers,packers,threads", MATRIX)
def test_number_of_processes_changes_nothing(job, expected, tmp_path, producers, packers, threads):
    faults = []
    if (producers, threads) in ((1, 3), (4, 1)):  # each number of packers meets each fault
        steps = expected["packs"] // 4
        faults = ["--fault", f"{steps // 3}:kill_packer", "--fault", f"{steps // 2}:kill_sink"]
        if packers > 1:
            faults += ["--fault", f"{steps // 4}:stop_packer"]
    done, summary = packline_run(
        job, "--producers", producers, "--packers", packers, "--set", f"encode.threads={threads}",
        command=ranks_command(job, tmp_path / "got.json", *faults), summary=tmp_path / "summary.json", timeout=90)
    check(job, tmp_path / "got.json", done, summary, expected)
    died = sum(summary["restarts"].values())
    assert died == (2 if faults else 0), summary["restarts"]


@pytest.mark.loopback
def test_null_trainers_get_the_same_stream(job, expected, tmp_path):
    done, summary = packline_run(job, "--producers", 2, "--packers", 2, summary=tmp_path / "s.json")
    assert done.returncode == 0, done.stderr
    assert summary["stream_digest"] == expected["stream_digest"]
    assert summary["whole"] is True


def test_a_killed_producer_is_started_again_in_the_same_place(job, expected, tmp_path):
    steps = expected["packs"] // 4
    done, summary = packline_run(
        job, "--producers", 2, "--packers", 1,
        command=ranks_command(job, tmp_path / "got.json", "--fault", f"{steps // 2}:kill_producer"),
        summary=tmp_path / "summary.json")
    check(job, tmp_path / "got.json", done, summary, expected)
    assert summary["restarts"]["producer"] == 1
