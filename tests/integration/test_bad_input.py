"""Law L4: nothing is lost silently. What users of other pipelines ran into, with the outcome that each has here."""

import json
import pathlib

import pytest
from support import PACKLINE, packline_run, run, write_job, write_tokens

TEXT = {"encode": {"kind": "bytes", "add_eos": False}, "sources": [{"path": "data/*.jsonl", "format": "text"}]}


def quarantine(summary):
    folder = pathlib.Path(summary["quarantine"])
    return [json.loads(line) for f in sorted(folder.glob("*.jsonl")) for line in f.read_text().splitlines()]


def count(job, *options):
    done = run([PACKLINE, "count", job, "--format", "json", *options])
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)["epochs"][0]


def line_job(tmp_path, lines, **over):
    job = write_job(tmp_path, **{**TEXT, **over})
    data = b"".join(line if isinstance(line, bytes) else json.dumps(line).encode() + b"\n" for line in lines)
    (tmp_path / "data/a.jsonl").write_bytes(data)
    return job


def test_bad_rows_are_counted_and_named(tmp_path):
    job = line_job(tmp_path, [
        {"text": "fine"},
        b"{ not json\n",
        {"text": 7},
        b'{"text": "bad \xff utf-8"}\n',
        b'{"text": "nul \\u0000 is a character"}\n',
        b"\n",
        {"other": "no text"},
        {"text": ""},
        {"text": "x" * 300},
        b'{"text": "no newline at the end"}',
    ])
    done, summary = packline_run(job)
    assert done.returncode == 0, done.stderr
    assert summary["records"] == 9
    assert summary["lost"] == {"parse": 4, "encode": 0, "encoder_killed": 0, "empty": 1, "over_long": 1,
                               "unsupervised": 0, "remainder": 0}
    assert summary["samples"] == 3
    lost = quarantine(summary)
    where = sorted(int(row["source"].rsplit(":", 1)[1]) for row in lost)
    assert where == [2, 3, 4, 7, 8, 9]
    assert all(row["cause"] for row in lost)
    assert {row["reason"] for row in lost} == {"parse", "empty", "over_long"}


def test_delivered_ids_are_the_sources_less_the_quarantines(tmp_path):
    job = write_job(tmp_path, pack={"over_long": "drop"})
    write_tokens(tmp_path / "data/a.jsonl", seed=5, records=400, high=300)
    got = set()
    done = run([PACKLINE, "count", job, "--format", "json"])
    assert done.returncode == 0, done.stderr
    out = tmp_path / "got.json"
    from support import ranks_command
    done, summary = packline_run(job, command=ranks_command(job, out))
    assert done.returncode == 0, done.stderr
    for packs in json.loads(out.read_text()):
        for p in packs:
            got |= set(p["sample_ids"])
    lost = {row["id"] for row in quarantine(summary)}
    everything = {f"r{i}@s0:{i}" for i in range(400)}
    assert lost and got == everything - lost
    assert summary["lost"]["over_long"] == len(lost)


def test_crlf_bom_and_blank_lines_are_read(tmp_path):
    job = line_job(tmp_path, [b"\xef\xbb\xbf" + b'{"text": "one"}\r\n', b"   \r\n", b'{"text": "two"}\r\n', b"\n\n"])
    epoch = count(job)
    assert (epoch["records"], epoch["samples"], epoch["tokens"]) == (2, 2, 6)


@pytest.mark.parametrize("end", [b"", b"\r", b"\r\n", b"\n\n \t\r\n"])
def test_the_last_line_is_a_record_however_it_ends(tmp_path, end):
    job = line_job(tmp_path, [b'{"text": "one"}\r\n', b'{"text": "two"}' + end])
    epoch = count(job)
    assert (epoch["records"], epoch["samples"], epoch["tokens"]) == (2, 2, 6)


def test_a_nul_byte_loses_its_record_and_names_it(tmp_path):
    job = line_job(tmp_path, [{"text": "fine"}, b'{"text": "nul \0 here"}\n', {"text": "too"}])
    epoch = count(job)
    assert (epoch["records"], epoch["samples"], epoch["lost"]["parse"]) == (3, 2, 1)
    (tmp_path / "data/b.txt").write_bytes(b"a\0b\nfine\nc\xff\n")
    epoch = count(job, "--set", "sources.0.path=data/b.txt")
    assert (epoch["records"], epoch["samples"], epoch["tokens"], epoch["lost"]["parse"]) == (3, 1, 4, 2)
    causes = sorted(e["cause"] for e in epoch["advice"]["losses"]["parse"]["examples"])
    assert causes == ["the text has a NUL byte at byte 1: it is UTF-16, or no text",
                      "the text is not valid UTF-8 at byte 1"]


def test_a_100_mb_line_is_a_record(tmp_path):
    job = line_job(tmp_path, [{"text": "small"}, {"text": "y" * 100_000_000}])
    epoch = count(job)
    assert epoch["lost"]["over_long"] == 1 and epoch["samples"] == 1


@pytest.mark.loopback
def test_no_record_at_all_ends_well(tmp_path):
    job = line_job(tmp_path, [])
    done, summary = packline_run(job)
    assert done.returncode == 0, done.stderr
    assert summary["packs"] == 0 and summary["whole"] is True


def test_one_record_on_eight_ranks_gives_every_rank_one_pack(tmp_path):
    job = line_job(tmp_path, [{"text": "alone"}], deliver={"dp_size": 8}, pack={"dp_size_multiple": 8})
    done, summary = packline_run(job)
    assert done.returncode == 0, done.stderr
    assert summary["packs"] == 8 and summary["packs_per_rank"] == 1 and summary["samples"] == 1


@pytest.mark.parametrize("length,capacity,fill", [(16, 16, 1.0), (9, 16, 9 / 16)])
def test_uniform_lengths(tmp_path, length, capacity, fill):
    job = line_job(tmp_path, [{"text": "z" * length}] * 256, pack={"capacity": capacity})
    epoch = count(job)
    assert epoch["packs"] == 256
    assert epoch["fill"] == pytest.approx(fill)


def test_capacity_is_strict(tmp_path):
    job = line_job(tmp_path, [{"text": "1234567"}] * 32, pack={"capacity": 8})
    assert count(job)["packs"] == 32


def test_three_epochs_have_three_orders(tmp_path):
    job = write_job(tmp_path, epochs=3)
    write_tokens(tmp_path / "data/a.jsonl", seed=6, records=64)
    done = run([PACKLINE, "count", job, "--format", "json"])
    epochs = json.loads(done.stdout)["epochs"]
    assert len({e["stream_digest"] for e in epochs}) == 3
    assert {e["samples"] for e in epochs} == {64}


def test_best_fit_needs_half_the_packs_of_one_a_row(tmp_path):
    # 3,000 rows that fit in pairs: 1,500 packs, and a few more where lanes end
    job = line_job(tmp_path, [{"text": "q" * n} for n in (40, 88) for _ in range(1500)],
                   pack={"capacity": 128, "packs_per_window": 256, "lookahead_packs": 32}, lanes=1)
    assert count(job)["packs"] <= 1524
