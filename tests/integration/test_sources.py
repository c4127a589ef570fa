"""docs/sources.md: the same records give the same packs, whatever files they lie in."""

import gzip
import json
import random
import shutil
import struct
import subprocess
import sys

import numpy as np
import pytest

from support import PACKLINE, packline_run, run, write_job


def token_records(seed, count, low=1, high=120):
    rng = random.Random(seed)
    return [[rng.randrange(30000) for _ in range(rng.randint(low, high))] for _ in range(count)]


def jsonl(records):
    return "".join(json.dumps({"input_ids": ids}) + "\n" for ids in records).encode()


def zstd(data):
    """One frame, by hand: blocks as they are (RFC 8878), so that no library is needed."""
    out = b"\x28\xb5\x2f\xfd\xa0" + struct.pack("<I", len(data))
    blocks = [data[i : i + 100_000] for i in range(0, len(data), 100_000)] or [b""]
    for i, block in enumerate(blocks):
        out += struct.pack("<I", len(block) << 3 | (i == len(blocks) - 1))[:3] + block
    return out


def write_megatron(base, records, dtype=np.uint16, code=8):
    """Two sequences a document where it has two tokens or more."""
    lengths, documents = [], [0]
    for ids in records:
        cut = len(ids) // 2
        lengths += [n for n in (cut, len(ids) - cut) if n]
        documents.append(len(lengths))
    places = np.concatenate([[0], np.cumsum(lengths)[:-1]]) * np.dtype(dtype).itemsize
    base.with_suffix(".bin").write_bytes(np.concatenate([np.array(r, dtype) for r in records]).tobytes())
    base.with_suffix(".idx").write_bytes(
        b"MMIDIDX\0\0" + struct.pack("<QBQQ", 1, code, len(lengths), len(documents))
        + np.array(lengths, "<i4").tobytes() + places.astype("<i8").tobytes() + np.array(documents, "<i8").tobytes()
    )


WAYS = {
    "a.jsonl": lambda path, records: path.write_bytes(jsonl(records)),
    "a.jsonl.gz": lambda path, records: path.write_bytes(gzip.compress(jsonl(records))),
    "members.jsonl.gz": lambda path, records: path.write_bytes(
        gzip.compress(jsonl(records[:700])) + gzip.compress(jsonl(records[700:]))
    ),
    "a.jsonl.zst": lambda path, records: path.write_bytes(zstd(jsonl(records))),
    "a.json": lambda path, records: path.write_text(json.dumps([{"input_ids": ids} for ids in records], indent=2)),
    "a.json.gz": lambda path, records: path.write_bytes(
        gzip.compress(json.dumps([{"input_ids": ids} for ids in records]).encode())
    ),
    "a.idx": write_megatron,
    "b.bin": lambda path, records: write_megatron(path, records, np.int32, 4),
}


def count(job):
    done = run([PACKLINE, "count", job, "--format", "json"])
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout), done.stderr


def digests(job):
    return [epoch["stream_digest"] for epoch in count(job)[0]["epochs"]]


def job_of(folder, name, shuffle, **over):
    return write_job(folder, sources=[{"path": f"data/{name}", "format": "tokens"}], shuffle=shuffle, epochs=2, **over)


SHUFFLES = [{"kind": "full"}, {"kind": "none"}, {"kind": "buffer", "size": 100}]


@pytest.mark.parametrize("shuffle", SHUFFLES, ids=[s["kind"] for s in SHUFFLES])
def test_the_same_records_in_any_file_give_the_same_packs(tmp_path, shuffle):
    records = token_records(3, 1500)
    seen = {}
    for name, write in WAYS.items():
        folder = tmp_path / name.replace(".", "_")
        (folder / "data").mkdir(parents=True)
        write(folder / "data" / name, records)
        job = job_of(folder, name, shuffle)
        seen[name] = digests(job)
        assert digests(job) == seen[name]  # by the index and the copy that are there now
        unpacked = list((folder / "state").glob("unpacked/*.note"))
        assert len(unpacked) == (shuffle["kind"] == "full" and name.endswith(("gz", "zst")))
    assert len(seen["a.jsonl"]) == 2
    assert all(d == seen["a.jsonl"] for d in seen.values()), seen


def test_a_line_delivers_what_count_says_from_a_packed_source(tmp_path):
    (tmp_path / "data").mkdir()
    (tmp_path / "data/a.jsonl.gz").write_bytes(gzip.compress(jsonl(token_records(4, 1200))))
    job = job_of(tmp_path, "a.jsonl.gz", {"kind": "none"})
    expected = digests(job)
    done, summary = packline_run(job, "--producers", 2)
    assert done.returncode == 0, done.stderr
    assert summary["stream_digest"] == f"{sum(int(d, 16) for d in expected) % 2**64:016x}"


def test_sequences_of_a_megatron_pair_are_records_where_the_job_says_so(tmp_path):
    records = token_records(5, 300)
    (tmp_path / "data").mkdir()
    write_megatron(tmp_path / "data/a", records)
    sources = [{"path": "data/a.*", "format": "tokens", "record": "sequence"}]
    counted, _ = count(write_job(tmp_path, sources=sources))
    assert counted["totals"]["records"] == sum(min(2, len(ids)) for ids in records)
    assert counted["totals"]["tokens"] == sum(len(ids) for ids in records)


def test_lines_and_files_of_text_are_records(tmp_path):
    (tmp_path / "data").mkdir()
    (tmp_path / "data/a.txt").write_text("one\n\ntwo {\n", encoding="utf-8")
    (tmp_path / "data/b.txt.gz").write_bytes(gzip.compress("drei ü\r\n".encode()))
    tokens = len("one") + len("two {") + len("drei ü".encode()) + 3  # each with its end
    encode = {"kind": "bytes"}
    sources = [{"path": "data/*", "format": "text"}]
    totals = count(write_job(tmp_path, sources=sources, encode=encode))[0]["totals"]
    assert (totals["records"], totals["tokens"]) == (3, tokens)
    sources[0]["read_as"] = "files"
    totals = count(write_job(tmp_path, sources=sources, encode=encode))[0]["totals"]
    assert (totals["records"], totals["tokens"]) == (2, tokens - 1 + len("\n\n") + len("\n") + len("\r\n"))


def test_unpacking_is_said_once_with_the_size(tmp_path):
    (tmp_path / "data").mkdir()
    data = jsonl(token_records(6, 500))
    (tmp_path / "data/a.jsonl.gz").write_bytes(gzip.compress(data))
    job = job_of(tmp_path, "a.jsonl.gz", {"kind": "full"})
    _, said = count(job)
    assert f"unpacks {tmp_path}/data/a.jsonl.gz (" in said
    assert f"to {len(data) / 1024:.1f} KiB or more" in said
    _, said = count(job)
    assert "unpacks" not in said


def damaged_files():
    data = jsonl(token_records(7, 200))
    packed, frame = gzip.compress(data), zstd(data)
    yield "cut.jsonl.gz", packed[:-20], "in the middle of its gzip data: it was cut"
    yield "flip.jsonl.gz", packed[:500] + b"\x55\xaa" * 20 + packed[540:], "is damaged: its gzip data"
    yield "cut.jsonl.zst", frame[:-20], "in the middle of its zstd data: it was cut"
    yield "named.jsonl.gz", data, "is named as packed by gzip and does not begin so"
    yield "a.json", b'[\n{"input_ids": [1]},\n{"input_ids": [1]', "a.json:3: the file ends within the element"
    yield "a.idx", b"MMIDIDX\0\0" + struct.pack("<QBQQ", 1, 8, 1 << 60, 1), "it was cut or is damaged"


@pytest.mark.parametrize("name, data, told", list(damaged_files()), ids=[d[0] for d in damaged_files()])
@pytest.mark.parametrize("kind", ["full", "none"])
def test_what_is_damaged_is_refused_with_a_sentence_and_exit_code_3(tmp_path, name, data, told, kind):
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / name).write_bytes(data)
    (tmp_path / "data/a.bin").write_bytes(b"")
    done = run([PACKLINE, "count", job_of(tmp_path, name, {"kind": kind})])
    assert done.returncode == 3, done.stderr
    assert told in done.stderr and name in done.stderr


def test_check_says_with_its_line_what_does_not_go_together(tmp_path):
    (tmp_path / "a.txt").write_text("x\n")
    job = tmp_path / "job.yaml"
    job.write_text("version: 1\nencode: {kind: bytes}\nsources:\n  - path: a.txt\n    format: chat\n")
    done = run([PACKLINE, "check", job])
    assert done.returncode == 2
    assert "job.yaml:5: sources.0.format: " in done.stderr
    assert "a.txt is read as lines because of its name" in done.stderr


PEAK = "import resource, subprocess, sys; subprocess.run(sys.argv[1:], check=True, stdout=subprocess.DEVNULL); " \
       "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)"


def test_memory_does_not_grow_with_an_array_or_a_packed_file(tmp_path):
    """L6: what takes ten times the room on disk takes no more in memory."""
    def peak(name, write, n):
        folder = tmp_path / f"{name}-{n}"
        (folder / "data").mkdir(parents=True)
        write(folder / "data" / name, token_records(8, 1000) * n)
        job = job_of(folder, name, {"kind": "none"}, pack={"capacity": 256, "packs_per_window": 8})
        done = subprocess.run([sys.executable, "-c", PEAK, PACKLINE, "count", job], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        shutil.rmtree(folder)
        return int(done.stdout)  # KiB

    for name in ("a.json", "b.bin"):
        small, large = peak(name, WAYS[name], 4), peak(name, WAYS[name], 40)
        assert large - small < 12 << 10, (name, small, large)
