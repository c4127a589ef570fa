"""Records set aside for evaluation are in no epoch of training, and the eval split is made of them alone, in order:
by itself and beside the training, whatever is killed meanwhile."""

import json
import os
import pathlib
import subprocess
import sys

import pytest
from support import BIN, HERE, PACKLINE, client_env, packline_run, run, write_job, write_tokens

EVAL = {"fraction": 0.2, "seed": 3}
ROLES = ["eval-producer-0", "eval-packer-0", "eval-sink-0", "eval-sink-1"]


def training_job(folder, records=900, **over):
    """Two ranks; an evaluation is some windows long."""
    settings = {"eval": EVAL, "deliver": {"dp_size": 2, "lease_ms": 500}, "epochs": 2,
                "pack": {"capacity": 256, "packs_per_window": 16, "lookahead_packs": 2, "dp_size_multiple": 2}}
    job = write_job(folder, **{**settings, **over})
    write_tokens(pathlib.Path(folder) / "data/a.jsonl", seed=5, records=records)
    return job


def train(job, out, *options, packline=(), timeout=120):
    """(finished process, summary, what the trainer wrote)."""
    command = [sys.executable, HERE / "evaluate_ranks.py", "--job", job, "--out", out, *options]
    done, summary = packline_run(job, *packline, command=command, timeout=timeout)
    assert done.returncode == 0, done.stderr
    return done, summary, json.loads(pathlib.Path(out).read_text(encoding="utf-8"))


def packs_of(evaluation):
    """By rank and step, without what differs from epoch to epoch."""
    return [[(p["at"][1:], p["lengths"], p["sample_ids"]) for p in step] for step in evaluation]


def records_of(steps):
    return {int(i.rsplit(":", 1)[1]) for step in steps for p in step for i in p["sample_ids"]}


def processes_of(folder):
    """Command lines that name anything in this folder."""
    found = []
    for entry in pathlib.Path("/proc").iterdir():
        try:
            argv = (entry / "cmdline").read_bytes() if entry.name.isdigit() else b""
        except OSError:
            continue
        if str(folder).encode() in argv and int(entry.name) != os.getpid():
            found.append(argv.replace(b"\0", b" ").decode())
    return found


def test_training_is_the_same_with_and_without_evaluating(tmp_path):
    job = training_job(tmp_path)
    _, alone, without = train(job, tmp_path / "a.json")
    _, beside, with_evals = train(job, tmp_path / "b.json", "--every", 20, "--break-at", 3)
    assert without["trained"] == with_evals["trained"] and len(without["trained"]) > 100
    assert alone["whole"] and beside["whole"]
    for key in ("stream_digest", "packs", "samples", "records", "tokens", "lost", "per_epoch"):
        assert alone[key] == beside[key], key
    evaluations = with_evals["evaluations"]
    assert len(evaluations) == len(with_evals["trained"]) // 20
    assert all(packs_of(e) == packs_of(evaluations[0]) for e in evaluations)
    # Of each evaluation that was broken off an epoch is left out.
    assert [e[0][0]["at"][0] for e in evaluations] == [1 + 2 * k for k in range(len(evaluations))]
    trained, evaluated = records_of(with_evals["trained"]), records_of(evaluations[0])
    assert trained | evaluated == set(range(900)) and not trained & evaluated
    counted = json.loads(run([PACKLINE, "count", job, "--set", "split=eval", "--format", "json"]).stdout)["totals"]
    assert counted["packs_per_rank"] == len(evaluations[0]) and counted["records"] == len(evaluated)
    assert not processes_of(tmp_path)


# Law L5: "Whatever single process is killed at whatever time, each sample of an epoch reaches the trainer exactly
# once, in the same place of the stream."
@pytest.mark.parametrize("ends", [[], ["--exit"]])
def test_killed_roles_of_the_eval_split_change_no_pack(tmp_path, ends):
    job = training_job(tmp_path)
    faults = [o for k, role in enumerate(ROLES) for o in ("--fault", f"{20 * (k + 1)}:{role}")]
    done, summary, got = train(job, tmp_path / "a.json", "--every", 20, *faults, *ends)
    evaluations = got["evaluations"]
    assert len(evaluations) > len(ROLES)
    assert all(packs_of(e) == packs_of(evaluations[-1]) for e in evaluations)
    assert summary["whole"]
    died = {role: n for role, n in summary["restarts"].items() if n}
    assert died == {"eval-producer": 1, "eval-packer": 1, "eval-sink": 2}
    assert done.stderr.count("it is started again") == 4
    assert not processes_of(tmp_path)


# "Idle eval roles cost nothing."
IDLE = """
import json, subprocess, sys, time
from packline import PackStream, close_all
job, packline, out, ask = sys.argv[1:]
streams = [PackStream(job, dp_rank=r, layout="numpy") for r in range(2)]
evals = [PackStream(job, split="eval", dp_rank=r, layout="numpy") for r in range(2)]
def status():
    said = subprocess.check_output([packline, "status", job, "--format", "json"], text=True)
    return {r["name"]: r for r in json.loads(said)["roles"]}
for _ in zip(*streams):
    pass
while any(n not in (said := status()) or "trouble" in said[n] for n in %s):
    time.sleep(0.1)
before = said
time.sleep(3)
if ask == "ask":
    for _ in zip(*evals):
        pass
    time.sleep(3)
with open(out, "w") as f:
    json.dump([before, status()], f)
close_all(streams + evals)
""" % ROLES


@pytest.mark.parametrize("ask", ["ask", "never"])
def test_between_evaluations_nothing_is_read_and_nobody_is_warned(tmp_path, ask):
    job = training_job(tmp_path, records=300, epochs=1, deliver={"dp_size": 2, "warn_after_s": 1})
    out = tmp_path / "out.json"
    done, summary = packline_run(job, command=[sys.executable, "-c", IDLE, job, PACKLINE, out, ask])
    assert done.returncode == 0, done.stderr
    before, after = json.loads(out.read_text())
    assert [n for n in after if n.startswith("eval-")] == ROLES
    assert list(after)[:4] == ["producer-0", "packer-0", "sink-0", "sink-1"]
    assert before["eval-producer-0"]["counters"]["windows_closed"] == 0
    made = after["eval-producer-0"]["counters"]["windows_closed"]
    assert made > 0 if ask == "ask" else made == 0
    assert not [line for line in done.stderr.splitlines() if "warning" in line and "eval" in line], done.stderr
    assert summary["whole"] and not processes_of(tmp_path)


def test_null_trainers_leave_the_eval_split_alone(tmp_path):
    job = training_job(tmp_path)
    done, summary = packline_run(job)
    assert done.returncode == 0, done.stderr
    with_eval = {k: summary[k] for k in ("stream_digest", "packs", "records")}
    assert summary["whole"] and set(summary["digest"]) == {"0", "1"}
    counted = json.loads(run([PACKLINE, "count", job, "--format", "json"]).stdout)["totals"]
    assert with_eval == {k: counted[k] for k in with_eval}
    assert "test.eval" not in done.stdout and not processes_of(tmp_path)


@pytest.mark.parametrize("command", [[], [sys.executable, "-c", "import time; time.sleep(60)"]])
def test_no_record_in_the_eval_split_is_said_before_the_first_step(tmp_path, command):
    job = training_job(tmp_path, records=50, eval={"fraction": 0.000001, "seed": 1})
    done, _ = packline_run(job, command=command)
    assert done.returncode == 3
    assert "eval.fraction 1e-06: of 50 records none fell into the eval split" in done.stderr
    assert "eval-producer-0, of the eval split, ended with exit code 3" in done.stderr
    assert not processes_of(tmp_path)


def test_fewer_eval_records_than_ranks_is_said_and_every_rank_evaluates(tmp_path):
    job = training_job(tmp_path, records=40, epochs=1, eval={"fraction": 0.02, "seed": 7})
    counted = json.loads(run([PACKLINE, "count", job, "--set", "split=eval", "--format", "json"]).stdout)["totals"]
    assert counted["records"] == 1
    done, _, got = train(job, tmp_path / "a.json", "--every", 4)
    assert "1 of 40 records fell into the eval split, fewer than the 2 packs" in done.stderr
    first = got["evaluations"][0]
    assert len(first) == 1 and sorted(len(p["sample_ids"]) for p in first[0]) == [0, 1]
    assert all(packs_of(e) == packs_of(first) for e in got["evaluations"])


def test_an_eval_split_of_lost_records_ends_the_line_by_name(tmp_path):
    job = training_job(tmp_path, records=40, epochs=1)
    _, _, got = train(job, tmp_path / "a.json", "--every", 2)
    evaluated = records_of(got["evaluations"][0])
    assert evaluated
    lines = (tmp_path / "data/a.jsonl").read_text().splitlines()
    for i in evaluated:
        lines[i] = '{"input_ids": "none"}'
    (tmp_path / "data/a.jsonl").write_text("\n".join(lines) + "\n")
    command = [sys.executable, HERE / "evaluate_ranks.py", "--job", job, "--out", tmp_path / "a.json", "--every", "2"]
    done, _ = packline_run(job, command=command)
    assert done.returncode == 3, done.stderr
    assert "records of the eval split: all were lost" in done.stderr
    assert not processes_of(tmp_path)


def test_check_tells_the_memory_of_the_eval_roles(tmp_path):
    job = training_job(tmp_path)
    assert "# and of one that serves the eval split beside it" in run([PACKLINE, "check", job]).stdout
    bounds = json.loads(run([PACKLINE, "check", job, "--format", "json"]).stdout)["memory_bound_bytes"]
    assert set(bounds["eval"]) == {"producer", "packer", "sink", "client"} and all(bounds["eval"].values())
    plain = json.loads(run([PACKLINE, "check", job, "--set", "eval.fraction=0", "--format", "json"]).stdout)
    assert "eval" not in plain["memory_bound_bytes"]


TWICE = """
import sys
from packline import Fenced, PackStream
job = sys.argv[1]
first, second = (PackStream(job, split="eval", dp_rank=0, layout="numpy", prefetch=1) for _ in range(2))
other = PackStream(job, split="eval", dp_rank=1, layout="numpy", prefetch=1)
kept = iter(first)
next(kept)
whole = [a["sample_ids"] for a, _ in zip(second, other)]
try:
    list(kept)
except Fenced as e:
    print(len(whole), e)
"""


# Two consumers of one rank would take each other's packs: the newer has the word, the older is told.
def test_a_second_eval_stream_of_a_rank_shuts_the_first_one_out(tmp_path):
    job = training_job(tmp_path, records=300)
    done, _ = packline_run(job, command=[sys.executable, "-c", TWICE, job])
    assert done.returncode == 0, done.stderr
    assert "sink 0: a newer start of this trainer rank has taken over" in done.stdout
    counted = json.loads(run([PACKLINE, "count", job, "--set", "split=eval", "--format", "json"]).stdout)["totals"]
    assert done.stdout.split()[0] == str(counted["packs_per_rank"])


NOTEBOOK = """
import sys
import packline
job = sys.argv[1]
with packline.local_line(job):
    streams = [packline.PackStream(job, dp_rank=r, layout="hf") for r in range(2)]
    evals = [packline.PackStream(job, split="eval", dp_rank=r, layout="hf") for r in range(2)]
    for _ in range(2):
        for packs in zip(*streams):
            pass
        packs = [p for step in zip(*evals) for p in step]
        print({tuple(p["input_ids"].shape) for p in packs}, tuple(evals[0].stack(packs[:2])["input_ids"].shape))
    packline.close_all([*streams, *evals])
"""


def test_a_private_line_evaluates_padded_packs_and_micro_batches(tmp_path):
    pytest.importorskip("torch")
    pack = {"capacity": 256, "packs_per_window": 16, "dp_size_multiple": 2, "pad_to_multiple_of": 256}
    job = training_job(tmp_path, records=300, pack=pack)
    done = run([sys.executable, "-c", NOTEBOOK, job], env=client_env())
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == ["{(1, 256)} (2, 256)"] * 2
    assert not processes_of(tmp_path)


def test_tail_of_the_eval_split_joins_what_serves_it(tmp_path):
    job = training_job(tmp_path, records=100)
    tail = [PACKLINE, "tail", job, "--dp-rank", "0", "--format", "jsonl", "--steps", "1"]
    done, _ = packline_run(job, command=[*tail, "--set", "split=eval"])
    assert done.returncode == 0, done.stderr
    alone = ids_of(job, 1, "split=eval")
    assert [i for _, i in alone] == [int(i.rsplit(":", 1)[1]) for i in json.loads(done.stdout)["sample_ids"]]
    done, _ = packline_run(job, "--set", "eval.fraction=0", command=[*tail, "--set", "split=eval"])
    assert done.returncode == 4 and "serves no eval split" in done.stderr


def test_roles_started_by_hand_end_when_the_last_evaluation_is_said_to_be_over(tmp_path):
    addresses = {"eval_producers": [f"ipc://{tmp_path}/p"], "eval_sinks": [f"ipc://{tmp_path}/s{r}" for r in range(2)]}
    job = training_job(tmp_path, records=300, line=addresses)
    roles = [["producer", "--index", "0"], ["packer"], *(["sink", "--dp-rank", str(r)] for r in range(2))]
    processes = [subprocess.Popen([BIN / f"packline-{name}", "--config", job, "--set", "split=eval", *more])
                 for name, *more in roles]
    try:
        code = ("import sys, packline\n"
                "s = [packline.PackStream(sys.argv[1], split='eval', dp_rank=r, layout='numpy') for r in range(2)]\n"
                "print([len(list(zip(*s))) for _ in range(3)])\n"
                "packline.close_all(s)\n")
        done = run([sys.executable, "-c", code, job], env=client_env())
        assert done.returncode == 0, done.stderr
        packs = json.loads(done.stdout)
        assert packs[0] > 5 and packs == [packs[0]] * 3
        assert [p.wait(30) for p in processes] == [0] * 4
    finally:
        for p in processes:
            p.kill()


def ids_of(job, steps, *sets):
    """(epoch, record) of the samples that rank 0 of a private line gets."""
    options = [option for s in sets for option in ("--set", s)]
    done = run([PACKLINE, "tail", job, "--dp-rank", "0", "--steps", steps, "--format", "jsonl", *options])
    assert done.returncode == 0, done.stderr
    packs = [json.loads(line) for line in done.stdout.splitlines()]
    return [(p["epoch"], int(i.rsplit(":", 1)[1])) for p in packs for i in p["sample_ids"]]


def test_the_two_splits_are_all_records_and_share_none(tmp_path):
    pack = {"capacity": 4096, "packs_per_window": 2, "strategy": "sequential", "dp_size_multiple": 1}
    job = write_job(tmp_path, eval=EVAL, pack=pack, deliver={"dp_size": 1})
    write_tokens(tmp_path / "data/a.jsonl", seed=5, records=200)
    done, summary = packline_run(job)
    assert done.returncode == 0, done.stderr
    counted = json.loads(run([PACKLINE, "count", job, "--set", "split=eval", "--format", "json"]).stdout)["totals"]
    assert 15 < counted["records"] < 65
    assert summary["records"] + counted["records"] == 200
    trained = {record for _, record in ids_of(job, summary["packs_per_rank"])}
    evaluated = ids_of(job, 2 * counted["packs_per_rank"], "split=eval")
    once = [record for epoch, record in evaluated if epoch == 0]
    assert once == sorted(once) and len(once) == counted["records"]
    assert [record for epoch, record in evaluated if epoch == 1] == once
    assert trained | set(once) == set(range(200)) and not trained & set(once)


def test_a_job_that_sets_nothing_aside_has_no_eval_split(tmp_path):
    job = write_job(tmp_path)
    write_tokens(tmp_path / "data/a.jsonl", seed=5, records=20)
    done = run([PACKLINE, "check", job, "--set", "split=eval"])
    assert done.returncode == 2
    assert "eval.fraction: is missing; split: eval needs records that are set aside" in done.stderr
