"""`packline tail`: packs as a trainer rank sees them, from the line that is there or from one of its own."""

import json
import subprocess
import sys

import pytest
from support import HERE, PACKLINE, client_env, packline_run, run, write_job, write_tokens

KEYS = ["step", "epoch", "window", "dp_rank", "lengths", "sample_ids", "input_ids", "labels"]
# Both ranks of a line take what `packline tail` prints, side by side.
TWO_TAILS = """
import subprocess, sys
packline, job, *options = sys.argv[1:]
tails = [subprocess.Popen([packline, "tail", job, "--dp-rank", r, *options], stdout=open(f"{job}.{r}", "w")) for r in "01"]
sys.exit(max(t.wait() for t in tails))
"""


@pytest.fixture(scope="module")
def job(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tail")
    path = write_job(folder, pack={"dp_size_multiple": 2}, deliver={"dp_size": 2})
    write_tokens(folder / "data/a.jsonl", seed=11, records=60)
    return path


def tail(job, *options):
    done = run([PACKLINE, "tail", job, *options])
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_jsonl_is_one_pack_a_line_with_these_keys(job):
    lines = tail(job, "--dp-rank", 1, "--format", "jsonl")
    packs = [json.loads(line) for line in lines]
    assert all(list(p) == KEYS for p in packs)
    assert [p["step"] for p in packs] == list(range(len(packs)))
    assert {p["dp_rank"] for p in packs} == {1} and {p["epoch"] for p in packs} == {0}
    source = {f"r{i}@s0:{i}": json.loads(line)
              for i, line in enumerate((job.parent / "data/a.jsonl").read_text().splitlines())}
    for p in packs:
        assert len(p["input_ids"]) == len(p["labels"]) == sum(p["lengths"])  # no padding
        rows = [source[i] for i in p["sample_ids"]]
        assert p["input_ids"] == [t for r in rows for t in r["input_ids"]]
        # unshifted, and the first token of each sample is predicted by none
        assert p["labels"] == [t for r in rows for t in [-100, *r["labels"][1:]]]


def test_the_summary_names_step_epoch_window_and_lengths(job):
    packs = [json.loads(line) for line in tail(job, "--dp-rank", 0, "--steps", 2, "--format", "jsonl")]
    lines = tail(job, "--dp-rank", 0, "--steps", 2)
    assert len(lines) == len(packs) == 2
    for line, p in zip(lines, packs):
        tokens = sum(p["lengths"])
        assert line == (f"step {p['step']}  epoch {p['epoch']}  window {p['window']}  samples {len(p['lengths'])}  "
                        f"tokens {tokens}  fill {100 * tokens / 256:.2f} %  lengths {p['lengths']}")


def test_on_a_line_that_is_there_every_rank_sees_its_own(job, tmp_path):
    alone = [tail(job, "--dp-rank", r, "--format", "jsonl") for r in (0, 1)]
    done, summary = packline_run(job, command=[sys.executable, "-c", TWO_TAILS, PACKLINE, job, "--format", "jsonl"])
    assert done.returncode == 0, done.stderr
    joined = [open(f"{job}.{r}").read().splitlines() for r in (0, 1)]
    assert joined == alone
    assert summary["whole"] is True and summary["packs"] == sum(map(len, joined))


def test_a_rank_that_is_not_there_is_named(job):
    done = run([PACKLINE, "tail", job, "--dp-rank", 2])
    assert done.returncode == 2
    assert "--dp-rank 2" in done.stderr and "dp_size" in done.stderr


def test_a_reader_that_has_enough_is_no_trouble(job):
    """`packline tail ... | head -1`"""
    done = subprocess.run(f"'{PACKLINE}' tail '{job}' --dp-rank 0 --format jsonl | head -1", shell=True, env=client_env(),
                          capture_output=True, text=True, timeout=60)
    assert len(done.stdout.splitlines()) == 1 and done.stderr == ""
