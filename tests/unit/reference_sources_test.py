"""tests/reference's own reading of sources (docs/sources.md), and the files that random jobs are drawn of."""

import gzip
import json
import random
import shutil
import struct
import subprocess
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "reference"))
import reference_zstd as zstd  # noqa: E402
import source_files  # noqa: E402
from reference_sources import Ids, Json, Text, elements, how, records_of  # noqa: E402


def records(tmp_path, **source):
    return records_of({"folder": tmp_path, "sources": [{"path": "a*", **source}]}, 0)


@pytest.mark.parametrize("text, found", [
    (b"[]", []), (b" [ ] ", []), (b"[1]", [b"1"]), (b'[{"a": [1, 2]} ,\n [3], "x,]", null]',
                                                     [b'{"a": [1, 2]}', b"[3]", b'"x,]"', b"null"]),
    (b'["\\"],", {"b": "}"}]', [b'"\\"],"', b'{"b": "}"}'])])
def test_elements_of_an_array(text, found):
    assert elements(text) == found


def test_names_tell_how_a_file_is_read():
    assert [how("auto", f) for f in ("a.jsonl", "a.json.gz", "a.txt.zst", "a.idx", "a.bin", "a", "a.gz")] == [
        "jsonl", "json", "lines", "megatron", "megatron", "jsonl", "jsonl"]
    assert how("lines", "a.json") == "lines"


def test_records_of_text_and_whole_files(tmp_path):
    (tmp_path / "a.txt").write_bytes(b"\xef\xbb\xbfone\r\n \t\r\ntwo")
    assert records(tmp_path) == [Text(b"one"), Text(b"two")]
    assert records(tmp_path, read_as="files") == [Text(b"one\r\n \t\r\ntwo")]
    (tmp_path / "a.txt").write_bytes(b"")
    assert records(tmp_path) == records(tmp_path, read_as="files") == []


def test_a_json_file_of_lines_is_read_as_lines_where_the_name_alone_decided(tmp_path):
    (tmp_path / "a.json").write_bytes(b'{"a": 1}\n{"a": 2}\n')
    assert records(tmp_path) == [Json(b'{"a": 1}'), Json(b'{"a": 2}')]


@pytest.mark.parametrize("dtype", source_files.DTYPES)
@pytest.mark.parametrize("record", ["document", "sequence"])
def test_a_megatron_pair_is_read_once(tmp_path, dtype, record):
    documents = [[1, 2, 3], [], [4], [5, 6, 7, 8]]
    source_files.megatron(random.Random(dtype), tmp_path / "a", documents, dtype, record)
    for pattern in ("a.*", "a.idx", "a.bin"):
        found = records(tmp_path, path=pattern, record=record)
        assert [v for r in found for v in r.values] == [1, 2, 3, 4, 5, 6, 7, 8]
        if record == "document":
            assert found == [Ids(ids) for ids in documents]


@pytest.mark.parametrize("seed", range(20))
def test_what_is_packed_is_unpacked(seed):
    rng = random.Random(seed)
    data = bytes(rng.choice([b"a", b"b" * 50, b"\n", b"\xff"])[0] for _ in range(rng.choice([0, 1, 500]))) + b"z" * 300
    packed = source_files.packed(rng, data, ".zst")
    assert zstd.unpack(packed) == data
    assert gzip.decompress(source_files.packed(rng, data, ".gz")) == data
    program = shutil.which("zstd")
    if program:  # says the same of the frames
        assert subprocess.run([program, "-dc"], input=packed, capture_output=True, check=True).stdout == data


def test_an_array_holds_its_elements():
    rng = random.Random(1)
    for n in (0, 1, 5):
        values = [json.dumps({"i": i, "t": "],["}).encode() for i in range(n)]
        for _ in range(20):
            assert elements(source_files.array(rng, values).removeprefix(b"\xef\xbb\xbf")) == values


def test_a_frame_of_one_byte_again_and_again_is_a_repeated_block():
    frame = zstd.frame(b"q" * 1000)
    assert len(frame) < 20 and zstd.unpack(frame) == b"q" * 1000
    assert struct.unpack("<I", frame[9:12] + b"\0")[0] >> 1 & 3 == 1
