"""Ranks of one dp_rank (tensor, context, pipeline parallel) share a sink and see the same packs."""

import json

import pytest
from support import packline_run, ranks_command, write_job, write_tokens


@pytest.fixture
def job(tmp_path):
    path = write_job(tmp_path, deliver={"dp_size": 2, "ranks_per_dp_rank": 2, "lease_ms": 500}, pack={"dp_size_multiple": 2})
    write_tokens(tmp_path / "data/a.jsonl", seed=8, records=400)
    return path


@pytest.mark.parametrize("fault", [None, "kill_sink"])
def test_two_ranks_that_share_a_sink_see_the_same_packs(job, tmp_path, fault):
    out = tmp_path / "got.json"
    faults = ["--fault", f"20:{fault}"] if fault else []
    done, summary = packline_run(job, command=ranks_command(job, out, "--ranks", 2, "--peers", 2, *faults))
    assert done.returncode == 0, done.stderr
    first, second, third, fourth = json.loads(out.read_text())
    assert first == second and third == fourth
    assert len(first) == len(third) == summary["packs_per_rank"] > 50
    ids = [i for packs in (first, third) for p in packs for i in p["sample_ids"]]
    assert len(ids) == len(set(ids)) == summary["samples"] == 400  # each counted once, however many ranks share it
    assert summary["restarts"]["sink"] == (1 if fault else 0)


def test_null_trainers_share_too(job):
    done, summary = packline_run(job)
    assert done.returncode == 0, done.stderr
    assert summary["samples"] == 400 and summary["whole"] is True
