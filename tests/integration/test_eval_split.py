"""Records set aside for evaluation are in no epoch of training, and the eval split is made of them alone, in order."""

import json

from support import PACKLINE, packline_run, run, write_job, write_tokens

EVAL = {"fraction": 0.2, "seed": 3}


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
