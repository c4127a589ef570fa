"""What users of other pipelines ran into, with the outcome that each has here (see also test_bad_input.py)."""

import json
import os
import sys

import pytest
from support import PACKLINE, packline_run, ranks_command, run, write_job, write_tokens

LENGTHS = {"encode": {"kind": "tokens"}, "sources": [{"path": "data/*.jsonl", "format": "tokens"}], "lanes": 1}


def write_lengths(tmp_path, lengths, **over):
    """A job over one record of each length."""
    job = write_job(tmp_path, **{**LENGTHS, **over})
    with open(tmp_path / "data/a.jsonl", "w", encoding="utf-8") as out:
        for n in lengths:
            out.write(json.dumps({"input_ids": list(range(n))}) + "\n")
    return job


def count(job, *options):
    done = run([PACKLINE, "count", job, "--format", "json", *options])
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)["epochs"][0], done.stderr


def lengths_of_packs(job):
    """What rank 0 is given, each pack's lengths from the longest on."""
    done = run([PACKLINE, "tail", job, "--dp-rank", 0, "--format", "jsonl"])
    assert done.returncode == 0, done.stderr
    return [sorted(json.loads(line)["lengths"], reverse=True) for line in done.stdout.strip().split("\n")]


def packs_of(job, tmp_path, ranks=1):
    """What the Python client gives: (packs of each rank, summary)."""
    done, summary = packline_run(job, command=ranks_command(job, tmp_path / "got.json", "--ranks", ranks))
    assert done.returncode == 0, done.stderr
    return json.loads((tmp_path / "got.json").read_text()), summary


ONE = {"deliver": {"dp_size": 1}}


def one(capacity, **pack):
    return {**ONE, "pack": {"capacity": capacity, "packs_per_window": 16, "lookahead_packs": 4, "dp_size_multiple": 1, **pack}}


def test_no_pack_is_over_capacity(tmp_path):
    """[[9000], [100, 50]] at 8192"""
    job = write_lengths(tmp_path, [9000, 100, 50], **one(8192))
    assert lengths_of_packs(job) == [[100, 50]]
    assert count(job)[0]["lost"]["over_long"] == 1


def test_drop_and_truncate_of_the_over_long(tmp_path):
    """lengths 5, 2, 3, 1 at capacity 4"""
    job = write_lengths(tmp_path, [5, 2, 3, 1], **one(4))
    assert sorted(lengths_of_packs(job)) == [[2], [3, 1]]
    assert count(job)[0]["lost"]["over_long"] == 1
    cut, _ = count(job, "--set", "pack.over_long=truncate_right")
    assert (cut["packs"], cut["tokens"], cut["truncated_tokens"], cut["lost"]["over_long"]) == (3, 10, 1, 0)


def test_capacity_is_strict(tmp_path):
    """seven samples of 7 at capacity 8"""
    assert lengths_of_packs(write_lengths(tmp_path, [7] * 7, **one(8))) == [[7]] * 7


@pytest.mark.parametrize("lengths,capacity,packs", [([64] * 12, 64, 12), ([33] * 12, 64, 12), ([1] * 12, 1, 12),
                                                    ([32] * 12, 64, 8)])
def test_edges_of_lengths(tmp_path, lengths, capacity, packs):
    """all lengths = C; all = C/2+1; capacity of 1; what fits in pairs and is spread over 4 ranks in equal shares"""
    job = write_lengths(tmp_path, lengths, pack={"capacity": capacity})
    epoch, _ = count(job)
    assert (epoch["packs"], epoch["samples"], epoch["steps"]) == (packs, 12, packs // 4)
    assert len(lengths_of_packs(job)) == packs // 4


def test_nine_samples_on_four_ranks(tmp_path):
    job = write_lengths(tmp_path, [200] * 9)
    epoch, _ = count(job)
    assert (epoch["packs"], epoch["steps"], epoch["samples"]) == (12, 3, 9)
    assert len(lengths_of_packs(job)) == 3


def test_a_dropped_tenth_of_the_data_is_said_aloud(tmp_path):
    """100 of 1,000 rows over the capacity: never silent"""
    job = write_lengths(tmp_path, [50] * 90 + [500] * 10, **one(256))
    done, summary = packline_run(job)
    assert done.returncode == 0 and summary["lost"]["over_long"] == 10
    assert "over_long 10" in done.stdout  # the summary for people has it too
    said = "warning: 10.0 % of the samples (10 of 100), 52.6 % of the tokens, are longer than pack.capacity 256"
    assert said in done.stderr
    assert "52.6 % of the tokens (5,000 of 9,500) and 10.0 % of the samples (10 of 100) are lost" in count(job)[1]
    assert "warning" not in count(job, "--set", "pack.capacity=512")[1]
    assert "25.7 % of the tokens (2,440 of 9,500) are cut off" in count(job, "--set", "pack.over_long=truncate_right")[1]


def test_all_labels_masked_is_delivered_and_counts(tmp_path):
    job = write_job(tmp_path, **LENGTHS, **one(64))
    with open(tmp_path / "data/a.jsonl", "w", encoding="utf-8") as out:
        for i in range(20):
            out.write(json.dumps({"input_ids": [i, 2**31 - 1, 0, 1], "labels": [-100] * 4}) + "\n")
    done = run([PACKLINE, "tail", job, "--dp-rank", 0, "--format", "jsonl"])
    assert done.returncode == 0, done.stderr
    packs = [json.loads(line) for line in done.stdout.splitlines()]
    assert sum(len(p["lengths"]) for p in packs) == 20
    assert {t for p in packs for t in p["labels"]} == {-100}
    assert {t for p in packs for t in p["input_ids"]} == {*range(20), 2**31 - 1}


def test_ids_no_int32_can_hold_are_refused_by_name(tmp_path):
    job = write_job(tmp_path, **LENGTHS, **one(64))
    rows = ['{"input_ids": [2147483648]}', '{"input_ids": [-1]}', '{"input_ids": [1.5]}', '{"input_ids": [true]}',
            '{"input_ids": ["1"]}', '{"input_ids": []}', '{"input_ids": [1], "labels": [1, 2]}', '{"input_ids": [7]}']
    (tmp_path / "data/a.jsonl").write_text("\n".join(rows) + "\n")
    epoch, _ = count(job)
    assert (epoch["records"], epoch["samples"]) == (8, 1)
    assert epoch["lost"]["empty"] == 1
    assert epoch["lost"]["parse"] + epoch["lost"]["encode"] == 6


def test_weird_ids_come_through_as_they_are(tmp_path):
    ids = ['a "quoted" id', "new\nline", "tab\t", "\u2028 \U0001f600", "@", "s0:0", "", "x" * 1024, 17, 1.5e3, "a@b"]
    job = write_job(tmp_path, **LENGTHS, **one(64))
    with open(tmp_path / "data/a.jsonl", "w", encoding="utf-8") as out:
        for i in ids:
            out.write(json.dumps({"id": i, "input_ids": [1, 2]}) + "\n")
    done = run([PACKLINE, "tail", job, "--dp-rank", 0, "--format", "jsonl"])
    assert done.returncode == 0, done.stderr
    got = [i for line in done.stdout.strip().split("\n") for i in json.loads(line)["sample_ids"]]
    by_record = {int(i.rsplit(":", 1)[1]): i for i in got}
    assert len(by_record) == len(ids)
    for n, i in enumerate(ids):
        if isinstance(i, str) and 0 < len(i) < 1000:
            assert by_record[n] == f"{i}@s0:{n}"
    (packs,), _ = packs_of(job, tmp_path)  # the Python client takes them too
    assert {i for p in packs for i in p["sample_ids"]} == set(got)


def test_an_id_of_a_megabyte_is_quarantined_by_its_length(tmp_path):
    job = write_job(tmp_path, **LENGTHS, **one(64))
    (tmp_path / "data/a.jsonl").write_text(json.dumps({"id": "x" * 1_000_000, "input_ids": [1]}) + "\n")
    epoch, _ = count(job)
    assert (epoch["lost"]["parse"], epoch["samples"]) == (1, 0)
    done = run([PACKLINE, "count", job, "--set", "on_bad_record=stop"])
    assert done.returncode == 3 and "1000000 bytes" in done.stderr and "a.jsonl:1" in done.stderr


def test_a_lone_surrogate_in_an_id_or_text_is_quarantined_not_delivered(tmp_path):
    job = write_job(tmp_path, **LENGTHS, **one(64))
    (tmp_path / "data/a.jsonl").write_text('{"id": "\\ud800", "input_ids": [1]}\n{"id": "fine", "input_ids": [2]}\n')
    (packs,), summary = packs_of(job, tmp_path)
    assert [i for p in packs for i in p["sample_ids"]] == ["fine@s0:1"]
    assert summary["lost"]["parse"] == 1


def test_further_fields_of_a_token_are_kept(tmp_path):
    """Not dropped in silence, as a ready `labels` column was elsewhere."""
    job = write_job(tmp_path, **LENGTHS, **one(64))
    (tmp_path / "data/a.jsonl").write_text('{"input_ids": [1, 2], "loss_scale": [0.5, 2.0]}\n' * 3)
    out = tmp_path / "fields.json"
    code = ("import json, sys\nfrom packline import PackStream\ns = PackStream(sys.argv[1], dp_rank=0, layout='numpy')\n"
            "json.dump([sorted(p) + [p['loss_scale'].tolist()] for p in s], open(sys.argv[2], 'w'))\ns.close()")
    done, _ = packline_run(job, command=[sys.executable, "-c", code, job, out])
    assert done.returncode == 0, done.stderr
    (fields,) = json.loads(out.read_text())
    assert "loss_scale" in fields and fields[-1] == [0.5, 2.0] * 3


def test_two_sources_of_which_one_is_empty(tmp_path):
    job = write_job(tmp_path, sources=[{"path": "data/a.jsonl", "format": "tokens", "weight": 3},
                                       {"path": "data/none.jsonl", "format": "tokens", "weight": 1}])
    write_tokens(tmp_path / "data/a.jsonl", seed=15, records=50)
    (tmp_path / "data/none.jsonl").write_text("")
    done, summary = packline_run(job)
    assert done.returncode == 0, done.stderr
    assert summary["samples"] == 50


def test_a_hundred_epochs_of_three_records(tmp_path):
    job = write_lengths(tmp_path, [3, 4, 5], epochs=100)
    done, summary = packline_run(job)
    assert done.returncode == 0, done.stderr
    assert (summary["samples"], summary["packs"], summary["whole"]) == (300, 400, True)
    assert len({e["stream_digest"] for e in summary["per_epoch"]}) > 36  # at most as many epochs are kept as are told


def test_more_lanes_than_records_and_many_ranks(tmp_path):
    job = write_lengths(tmp_path, [3, 4, 5], lanes=32, deliver={"dp_size": 16}, pack={"dp_size_multiple": 16, "packs_per_window": 16})
    done, summary = packline_run(job, "--producers", 2)
    assert done.returncode == 0, done.stderr
    assert summary["samples"] == 3 and summary["packs_per_rank"] * 16 == summary["packs"]


def test_continuous_stops_when_the_trainer_does(tmp_path):
    job = write_lengths(tmp_path, [30] * 40, epochs="continuous")
    out = tmp_path / "got.json"
    done, summary = packline_run(job, command=ranks_command(job, out, "--steps", 50))
    assert done.returncode == 0, done.stderr
    packs = json.loads(out.read_text())
    assert {len(p) for p in packs} == {50} and packs[0][-1]["at"][0] > 3  # several epochs
    assert summary["packs"] == 200
    tail = run([PACKLINE, "tail", job, "--dp-rank", 0, "--steps", 9])
    assert tail.returncode == 0 and len(tail.stdout.splitlines()) == 9


@pytest.mark.parametrize("producers", [1, 2])
def test_a_continuous_job_that_loses_every_record_ends_with_what_became_of_them(tmp_path, producers):
    """Not an epoch of nothing after the other for ever."""
    job = write_lengths(tmp_path, [300] * 40, epochs="continuous", lanes=2)
    done, _ = packline_run(job, "--producers", producers)
    assert done.returncode == 3, (done.returncode, done.stderr)
    assert ("epoch 0 has no pack at all, and epochs is continuous: all of its 40 records were lost (over_long 40)"
            in done.stderr), done.stderr


def test_the_first_pack_comes_after_one_window(tmp_path):
    """ms-swift 4340, 108,919,656 rows: 66 hours before step 0. What stands far behind is not even looked at."""
    job = write_lengths(tmp_path, [], shuffle={"kind": "none"}, on_bad_record="stop", **one(64, packs_per_window=8))
    with open(tmp_path / "data/a.jsonl", "w", encoding="utf-8") as out:
        out.writelines('{"input_ids": [1, 2, 3]}\n' for _ in range(200_000))
        out.write("{ this stops whoever reads it\n")
    tail = run([PACKLINE, "tail", job, "--dp-rank", 0, "--steps", 1])
    assert tail.returncode == 0 and len(tail.stdout.splitlines()) == 1, tail.stderr
    stopped = run([PACKLINE, "count", job])
    assert stopped.returncode == 3 and "a.jsonl:200001" in stopped.stderr


@pytest.mark.parametrize("threads", [1, 2])
def test_strict_stops_at_the_one_bad_row_and_names_it(tmp_path, threads):
    """Reproduced elsewhere: one bad row among 300, two workers, and the parent waits for ever."""
    job = write_job(tmp_path, on_bad_record="stop", encode={"threads": threads}, sources=[{"path": "data/*.jsonl", "format": "tokens"}])
    rows = ['{"input_ids": [1, 2]}'] * 300
    rows[170] = '{"input_ids": "none"}'
    (tmp_path / "data/a.jsonl").write_text("\n".join(rows) + "\n")
    done, summary = packline_run(job)
    assert done.returncode == 3, (done.returncode, done.stderr)
    assert "a.jsonl:171: " in done.stderr and "input_ids" in done.stderr
    assert not summary["whole"]


def test_sources_that_changed_between_runs_are_noticed(tmp_path):
    job = write_lengths(tmp_path, [5] * 20)
    first, _ = count(job)
    with open(tmp_path / "data/a.jsonl", "a", encoding="utf-8") as out:
        out.write('{"input_ids": [7, 7]}\n')
    longer, _ = count(job)
    assert (first["records"], longer["records"]) == (20, 21)
    # of the same size, and with the same time of change
    path = tmp_path / "data/a.jsonl"
    before = path.stat()
    path.write_text(path.read_text().replace("[7, 7]", "[8, 9]"))
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    changed, _ = count(job)
    assert changed["stream_digest"] != longer["stream_digest"]
    # lines that are cut elsewhere
    path.write_text('{"input_ids": [1]}\n' * 3)
    assert count(job)[0]["records"] == 3


def test_data_that_grows_under_a_line_is_named_when_its_producer_starts_again(tmp_path):
    job = write_job(tmp_path, **ONE, pack={"dp_size_multiple": 1})
    write_tokens(tmp_path / "data/a.jsonl", seed=21, records=500)
    code = ("import os, signal, sys, time\nfrom packline import PackStream\nfrom support import children_of\n"
            "i = iter(PackStream(sys.argv[1], dp_rank=0, layout='numpy', prefetch=1))\nnext(i)\n"
            "open(sys.argv[2], 'a').write('{\"input_ids\": [1]}\\n')\n"
            "os.kill(children_of(os.getppid())['producer'][0], signal.SIGKILL)\ntime.sleep(2)")
    done, _ = packline_run(job, command=[sys.executable, "-c", code, job, tmp_path / "data/a.jsonl"])
    assert done.returncode == 0
    for who in ("sink-0", "packer"):
        assert f"{who}: producer 0 runs another job than this line (sources.0" in done.stderr, done.stderr
    assert "start the whole line again" in done.stderr


def test_a_file_that_is_cut_under_a_line_refuses_the_data(tmp_path):
    job = write_job(tmp_path, **ONE, pack={"dp_size_multiple": 1})
    write_tokens(tmp_path / "data/a.jsonl", seed=22, records=3000)
    code = ("import sys\nfrom packline import PackStream\n"
            "i = iter(PackStream(sys.argv[1], dp_rank=0, layout='numpy', prefetch=1))\nnext(i)\n"
            "open(sys.argv[2], 'w').close()\nlist(i)")
    done, _ = packline_run(job, command=[sys.executable, "-c", code, job, tmp_path / "data/a.jsonl"])
    assert done.returncode == 3
    assert "a.jsonl:" in done.stderr and "was cut or changed while it was in use" in done.stderr


def test_a_trainer_that_exits_at_once_leaves_nothing_behind(tmp_path):
    job = write_job(tmp_path)
    write_tokens(tmp_path / "data/a.jsonl", seed=16, records=300)
    code = ("import os, sys\nfrom packline import PackStream\n"
            "s = [PackStream(sys.argv[1], dp_rank=r, layout='numpy') for r in range(4)]\n"
            "n = [next(iter(i)) for i in s]\nos._exit(9)")
    done, summary = packline_run(job, command=[sys.executable, "-c", code, job])
    assert done.returncode == 9
    assert summary["whole"] is False


AGAIN = """
import json, os, subprocess, sys
job, state, out = sys.argv[1:4]
if len(sys.argv) == 4:  # the launcher of a trainer: its first life ends hard, its second goes on from the checkpoint
    first = subprocess.run([sys.executable, "-c", open(state + ".py").read(), job, state, out, "1"]).returncode
    second = subprocess.run([sys.executable, "-c", open(state + ".py").read(), job, state, out, "2"]).returncode
    sys.exit(second if first == 9 else 1)
from packline import PackStream, close_all
streams = [PackStream(job, dp_rank=r, layout="numpy") for r in range(4)]
got = json.load(open(out)) if os.path.exists(out) else []
if os.path.exists(state):
    saved = json.load(open(state))
    for s in streams:
        s.load_state_dict(saved)
for n, packs in enumerate(zip(*streams)):
    got.append([list(p["sample_ids"]) for p in packs])
    if sys.argv[4] == "1" and n == 20:
        os._exit(9)  # twelve steps after the checkpoint
    if sys.argv[4] == "1" and n == 8:
        json.dump(streams[0].state_dict(), open(state, "w"))
        json.dump(got, open(out, "w"))
json.dump(got, open(out, "w"))
close_all(streams)
"""


def test_a_trainer_that_is_started_again_on_the_same_line_goes_back_to_its_checkpoint(tmp_path):
    """The line stays; the trainer's second life asks for what its first had taken already."""
    job = write_job(tmp_path)
    write_tokens(tmp_path / "data/a.jsonl", seed=17, records=300)
    state, out = tmp_path / "cursor.json", tmp_path / "got.json"
    (tmp_path / "cursor.json.py").write_text(AGAIN)
    done, _ = packline_run(job, command=[sys.executable, "-c", AGAIN, job, state, out])
    assert done.returncode == 0, done.stderr
    ids = [i for step in json.loads(out.read_text()) for pack in step for i in pack]
    assert len(ids) == len(set(ids)) == 300


def test_a_newer_trainer_of_a_rank_fences_the_older(tmp_path):
    job = write_job(tmp_path, **ONE, pack={"dp_size_multiple": 1})
    write_tokens(tmp_path / "data/a.jsonl", seed=18, records=100)
    code = ("import sys\nfrom packline import PackStream, errors\n"
            "a, b = (PackStream(sys.argv[1], dp_rank=0, layout='numpy', prefetch=1) for _ in 'ab')\n"
            "i = iter(a)\nnext(i); first = list(b)\n"
            "try:\n    list(i)\nexcept errors.Fenced as e:\n    print('FENCED', e, file=sys.stderr)\n"
            "b.close()")
    done, _ = packline_run(job, command=[sys.executable, "-c", code, job])
    assert done.returncode == 0 and "FENCED" in done.stderr, done.stderr


def test_fewer_packs_than_an_optimizer_step_is_said_before_the_first(tmp_path):
    job = write_lengths(tmp_path, [5, 5], deliver={"packs_per_optimizer_step": 8})
    epoch, _ = count(job)
    assert epoch["steps"] == 1 and epoch["optimizer_steps"] == 0


def test_the_job_file_may_change_while_the_line_runs(tmp_path):
    """A role that is started again on a file that is another job by now is refused by the setting's name."""
    job = write_job(tmp_path)
    write_tokens(tmp_path / "data/a.jsonl", seed=19, records=300)
    code = ("import os, signal, sys\nfrom packline import PackStream\nfrom support import children_of\n"
            "s = PackStream(sys.argv[1], dp_rank=0, layout='numpy')\nnext(iter(s))\n"
            "text = open(sys.argv[1]).read().replace('\"capacity\": 256', '\"capacity\": 512')\n"
            "open(sys.argv[1], 'w').write(text)\n"
            "os.kill(children_of(os.getppid())['packer'][0], signal.SIGKILL)\n"
            "import time\ntime.sleep(20)")
    done, _ = packline_run(job, command=[sys.executable, "-c", code, job])
    assert done.returncode == 2, (done.returncode, done.stderr)
    assert "pack.capacity" in done.stderr


def test_fewer_packs_than_an_optimizer_step_takes_is_said(tmp_path):
    """ms-swift 9098: training would end without having learned, or hang"""
    job = write_lengths(tmp_path, [50] * 8, **one(256))
    done, summary = packline_run(job, "--set", "deliver.packs_per_optimizer_step=64")
    assert done.returncode == 0 and summary["optimizer_steps"] == 0
    assert "packs are fewer than an optimizer step takes, 64" in done.stderr
    assert "fewer than" not in packline_run(job)[0].stderr
