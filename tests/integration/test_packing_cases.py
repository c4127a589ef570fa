"""What users of other packers ran into with lengths, padding and equal work, with the outcome that each has here."""

import json
import random
import re

import pytest
from support import PACKLINE, packline_run, ranks_command, run, write_job

ONE = {"deliver": {"dp_size": 1}, "lanes": 1, "shuffle": {"kind": "none"}}


def job_of(tmp_path, lengths, pack, **over):
    """A job over one text record of each length."""
    job = write_job(tmp_path, sources=[{"path": "data/*.jsonl", "format": "text"}],
                    encode={"kind": "bytes", "add_eos": False}, **{**ONE, **over},
                    pack={"packs_per_window": 256, "lookahead_packs": 256, "dp_size_multiple": 1, **pack})
    with open(tmp_path / "data/a.jsonl", "w", encoding="ascii") as out:
        out.writelines('{"text":"' + "x" * n + '"}\n' for n in lengths)
    return job


def count(job, *options):
    """(the only epoch, what is said beside it)"""
    done = run([PACKLINE, "count", job, "--format", "json", *options])
    assert done.returncode == 0, done.stderr
    (epoch,) = json.loads(done.stdout)["epochs"]
    return epoch, done.stderr


def lengths_of_packs(job, *options):
    done = run([PACKLINE, "tail", job, "--dp-rank", 0, "--format", "jsonl", *options])
    assert done.returncode == 0, done.stderr
    return sorted(sorted(json.loads(line)["lengths"]) for line in done.stdout.splitlines())


def test_a_capacity_that_no_two_samples_share_is_named_with_better_ones(tmp_path):
    """Lengths uniform in 4,200..6,000 at capacity 8,192 fill 62 % of it, whatever packs them."""
    rng = random.Random(1)
    lengths = [rng.randint(4200, 6000) for _ in range(400)]
    job = job_of(tmp_path, lengths, {"capacity": 8192})
    epoch, _ = count(job)
    assert epoch["packs"] == 400
    fill = 100 * sum(lengths) / (400 * 8192)
    assert 61.5 < fill < 63
    (sentence, *_) = epoch["advice"]["sentences"]
    assert sentence.startswith(f"fill {fill:.1f} %, the best possible for these lengths at 8,192; ")
    better, promised = re.search(r"; ([\d,]+) would give ([\d.]+) %", sentence).groups()
    more, _ = count(job, "--set", f"pack.capacity={better.replace(',', '')}")
    assert f"{100 * more['fill']:.1f}" == promised  # the advice keeps its word
    assert more["fill"] > 0.9 and "would give" not in str(more["advice"]["sentences"])


def test_pairs_share_a_pack_at_a_capacity_that_is_no_power_of_two(tmp_path):
    """TRL 3887: 3,000 rows at capacity 8,193 need 1,524 packs, and got one each."""
    lengths = [4096, 4097] * 1476 + [8193] * 48
    epoch, _ = count(job_of(tmp_path, lengths, {"capacity": 8193}))
    assert (epoch["samples"], epoch["packs"]) == (3000, 1524)


def test_samples_are_aligned_before_the_fit(tmp_path):
    """Megatron-Bridge 4593: two samples that fit side by side do not when each is padded; 149,999 fits alone."""
    job = job_of(tmp_path, [74_999, 75_001, 149_999], {"capacity": 150_000, "sample_multiple_of": 16})
    assert lengths_of_packs(job) == [[74_999], [75_001], [149_999]]
    assert lengths_of_packs(job, "--set", "pack.sample_multiple_of=1") == [[74_999, 75_001], [149_999]]


def test_a_sample_whose_padding_does_not_fit_is_no_way_to_exceed_the_capacity(tmp_path):
    """The capacity is a multiple of what samples are padded to, or the job is refused by the key."""
    job = job_of(tmp_path, [149_999], {"capacity": 149_999, "sample_multiple_of": 16})
    done = run([PACKLINE, "check", job])
    assert done.returncode == 2
    assert "pack.sample_multiple_of" in done.stderr and "149999" in done.stderr


def test_samples_of_nothing_are_counted_and_make_no_pack(tmp_path):
    job = job_of(tmp_path, [0] * 20, {"capacity": 64})
    epoch, said = count(job)
    assert (epoch["records"], epoch["packs"], epoch["lost"]["empty"]) == (20, 0, 20)
    assert "there is not one pack" in said
    done, summary = packline_run(job)
    assert done.returncode == 0 and summary["lost"]["empty"] == 20 and summary["whole"] is True
    epoch, _ = count(job_of(tmp_path, [0, 5, 0, 7], {"capacity": 64}))
    assert (epoch["packs"], epoch["samples"], epoch["lost"]["empty"]) == (1, 2, 2)


def test_what_trains_nothing_is_said_and_can_be_dropped(tmp_path):
    """TRL 6671: a pack in which every label is masked has a loss of 0.0."""
    job = write_job(tmp_path, encode={"kind": "tokens"}, **ONE,
                    pack={"capacity": 8, "packs_per_window": 8, "dp_size_multiple": 1})
    with open(tmp_path / "data/a.jsonl", "w", encoding="utf-8") as out:
        for i in range(30):
            labels = [-100] * 8 if i % 3 == 0 else [-100] * 4 + [1] * 4
            out.write(json.dumps({"input_ids": [i] * 8, "labels": labels}) + "\n")
    epoch, said = count(job)
    assert (epoch["packs"], epoch["lost"]["unsupervised"]) == (30, 0)
    assert "10 of 30 packs" in said and "drop_unsupervised" in said
    epoch, said = count(job, "--set", "pack.drop_unsupervised=true")
    assert (epoch["packs"], epoch["lost"]["unsupervised"]) == (20, 10)
    assert "of 30 packs" not in said


@pytest.mark.parametrize("plan", ["streaming", "global"])
@pytest.mark.parametrize("remainder", ["spread", "drop", "repeat"])
def test_every_rank_gets_the_counted_packs_of_every_epoch(tmp_path, plan, remainder):
    """axolotl 494 and 3848: a count that is estimated stops ranks at different steps. (Law L3)"""
    rng = random.Random(3)
    pack = {"capacity": 64, "packs_per_window": 8, "lookahead_packs": 4, "dp_size_multiple": 4, "plan": plan,
            "balance": "attention"}
    job = job_of(tmp_path, [rng.randint(1, 64) for _ in range(203)], pack, lanes=3, epochs=3, shuffle={"kind": "full"},
                 deliver={"dp_size": 4, "remainder": remainder})
    counted = json.loads(run([PACKLINE, "count", job, "--format", "json"]).stdout)["epochs"]
    out = tmp_path / "got.json"
    done, summary = packline_run(job, "--producers", 2, command=ranks_command(job, out, "--ranks", 4))
    assert done.returncode == 0, done.stderr
    for rank in json.loads(out.read_text()):
        assert [sum(p["at"][0] == e for p in rank) for e in range(3)] == [c["packs"] // 4 for c in counted]
    assert [e["stream_digest"] for e in summary["per_epoch"]] == [c["stream_digest"] for c in counted]
