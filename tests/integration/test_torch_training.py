"""Law L8: the trainer is left alone. Four ranks with torch and gloo train a toy model on the packs of a line."""

import json
import sys

import pytest
from support import ROOT, packline_run

torch = pytest.importorskip("torch", reason="torch is not installed (tools/install-deps --test)")

STEPS = 200
JOB = ROOT / "examples/job/job.yaml"
TRAIN = ROOT / "examples/train_torch.py"


def train(tmp_path, name, *command, sets=()):
    out = tmp_path / f"{name}.json"
    sets = [o for s in (f"state={tmp_path}/state", *sets) for o in ("--set", s)]
    done, summary = packline_run(JOB, *sets, command=[*command, "--out", out],
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


def test_they_evaluate_in_the_midst_of_training(tmp_path):
    sets = ["eval.fraction=0.1", "eval.seed=1", "deliver.dp_size=2", "pack.packs_per_window=4"]
    options = ["--steps", "60", "--evaluate-every", "20"]
    two, _ = train(tmp_path, "two", sys.executable, "-m", "torch.distributed.run", "--standalone",
                   "--nproc-per-node", "2", TRAIN, *options, sets=sets)
    one, _ = train(tmp_path, "one", sys.executable, TRAIN, "--ranks-as-accumulation", *options, sets=sets)
    assert len(two["evaluations"]) == len(one["evaluations"]) == 3
    assert max(abs(a - b) for a, b in zip(two["evaluations"], one["evaluations"])) < 1e-4
    assert two["evaluations"][-1] < two["evaluations"][0]
    unseen, _ = train(tmp_path, "never", sys.executable, TRAIN, "--ranks-as-accumulation", "--steps", "60", sets=sets)
    assert unseen["losses"] == one["losses"] and unseen["evaluations"] == []
    assert (two["forks"], two["starts"]) == (0, [])
