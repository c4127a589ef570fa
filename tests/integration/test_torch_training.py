"""Law L8: the trainer is left alone. Four ranks with torch and gloo train a toy model on the packs of a line."""

import json
import sys

import pytest
from support import ROOT, packline_run

torch = pytest.importorskip("torch", reason="torch is not installed (tools/install-deps --test)")

STEPS = 200
JOB = ROOT / "examples/job/job.yaml"
TRAIN = ROOT / "examples/train_torch.py"


def train(tmp_path, name, *command):
    out = tmp_path / f"{name}.json"
    done, summary = packline_run(JOB, "--set", f"state={tmp_path}/state", command=[*command, "--out", out],
                                 summary=tmp_path / f"{name}-summary.json", timeout=240)
    assert done.returncode == 0, done.stderr
    return json.loads(out.read_text()), summary


def test_four_ranks_learn_as_one_that_takes_their_packs(tmp_path):
    four, summary = train(tmp_path, "four", sys.executable, "-m", "torch.distributed.run", "--standalone",
                          "--nproc-per-node", "4", TRAIN)
    one, _ = train(tmp_path, "one", sys.executable, TRAIN, "--ranks-as-accumulation")
    assert len(four["losses"]) == len(one["losses"]) == STEPS
    assert max(abs(a - b) for a, b in zip(four["losses"], one["losses"])) < 1e-4
    assert sum(four["losses"][-20:]) < 0.5 * sum(four["losses"][:20])
    assert (four["forks"], four["starts"]) == (0, [])
    assert (one["forks"], one["starts"]) == (0, [])
    assert summary["packs"] == 4 * STEPS and summary["restarts"] == {"packer": 0, "producer": 0, "sink": 0}
