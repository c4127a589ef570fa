"""SIGTERM drains: whichever role is told to end in mid-stream, and started again, the stream stays the same."""

import json

import pytest
from support import PACKLINE, packline_run, ranks_command, run, write_job, write_tokens


@pytest.fixture(scope="module")
def job(tmp_path_factory):
    folder = tmp_path_factory.mktemp("drain")
    path = write_job(folder)
    write_tokens(folder / "data/a.jsonl", seed=9, records=900)
    return path


@pytest.fixture(scope="module")
def expected(job):
    done = run([PACKLINE, "count", job, "--format", "json"])
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)["epochs"][0]


@pytest.mark.parametrize("role", ["producer", "packer", "sink"])
def test_a_role_that_is_told_to_end_in_mid_stream_changes_nothing(job, expected, tmp_path, role):
    step = expected["packs"] // 4
    faults = [f"{step // 3}:term_{role}", f"{2 * step // 3}:term_{role}"]
    done, summary = packline_run(
        job, "--producers", 2, "--packers", 1, summary=tmp_path / "summary.json",
        command=ranks_command(job, tmp_path / "got.json", *[a for f in faults for a in ("--fault", f)]))
    assert done.returncode == 0, done.stderr
    assert summary["stream_digest"] == expected["stream_digest"]
    assert summary["samples"] == 900 and summary["whole"] is True
    assert summary["restarts"][role] == 2
    packs = [p for rank in json.loads((tmp_path / "got.json").read_text()) for p in rank]
    assert sum(int(p["digest"], 16) for p in packs) % 2**64 == int(expected["stream_digest"], 16)
    assert f"{role}-" in done.stderr and "it is started again" in done.stderr
