"""Law L8: the trainer is left alone. Four gloo ranks train a toy model on the line."""

import json
import shutil
import sys

import pytest
from support import ROOT, packline_run

pytest.importorskip("torch", reason="torch is not installed: nothing here was tested")
SCRIPT = ROOT / "examples/train_torch.py"
STEPS = 200


@pytest.fixture
def job(tmp_path):
    folder = tmp_path / "example"
    shutil.copytree(ROOT / "examples/job", folder, ignore=shutil.ignore_patterns(".packline"))
    return folder / "job.yaml"


def test_four_ranks_train_as_one_that_accumulates(job, tmp_path):
    torchrun = [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", "4", SCRIPT]
    options = ["--steps", STEPS]
    done, _ = packline_run(job, command=[*torchrun, *options, "--out", tmp_path / "ranks.json"], timeout=240)
    assert done.returncode == 0, done.stderr
    done, _ = packline_run(
        job, command=[sys.executable, SCRIPT, *options, "--ranks-as-accumulation", "--out", tmp_path / "one.json"], timeout=240)
    assert done.returncode == 0, done.stderr
    ranks, one = (json.loads((tmp_path / name).read_text()) for name in ("ranks.json", "one.json"))
    assert len(ranks["losses"]) == len(one["losses"]) == STEPS
    assert max(abs(a - b) for a, b in zip(ranks["losses"], one["losses"])) < 1e-4
    assert sum(ranks["losses"][-20:]) < 0.8 * sum(ranks["losses"][:20])
    assert ranks["forks"] == one["forks"] == 0
    assert ranks["starts"] == one["starts"] == []
