"""The records of a source, whatever its files are: docs/sources.md and docs/stream.md section 3."""

import glob
import gzip
import itertools
import pathlib
import re
import struct
from dataclasses import dataclass

import reference_zstd

BOM = b"\xef\xbb\xbf"
BLANK = b" \t\r\n"
TOKEN_FORMATS = {1: "B", 2: "b", 3: "h", 4: "i", 5: "q", 8: "H"}  # struct's letters, by a Megatron pair's dtype
# What tells where an element of an array ends: strings, brackets, commas.
TELLING = re.compile(rb'"(?:[^"\\]|\\.)*"|[][{},]', re.DOTALL)


@dataclass
class Json:
    data: bytes


@dataclass
class Text:
    data: bytes


@dataclass
class Ids:
    values: list  # as they are stored: some may be no token ids


def records_of(job, s):
    """The records of source `s`: its files by the bytes of their paths, their records in order."""
    source = job["sources"][s]
    files = sorted(glob.glob(str(job["folder"] / source["path"])), key=lambda p: p.encode())
    records, pairs = [], set()
    for file in files:
        read_as = how(source.get("read_as", "auto"), file)
        if read_as == "megatron":
            base = file[: -len(".idx")]
            if base not in pairs:
                records += megatron(base, source.get("record", "document"))
            pairs.add(base)
            continue
        data = content(pathlib.Path(file).read_bytes())
        if read_as == "files":
            records += [Text(data.removeprefix(BOM))] if data else []
            continue
        data = data.removeprefix(BOM)
        if read_as == "json" and source.get("read_as", "auto") == "auto" and not data.lstrip(BLANK).startswith(b"["):
            read_as = "jsonl"
        if read_as == "json":
            records += [Json(e) for e in elements(data)]
        else:
            records += [(Text if read_as == "lines" else Json)(line) for line in lines_of(data)]
    return records


def how(read_as, file):
    if read_as != "auto":
        return read_as
    ending = re.sub(r"\.(gz|zst)$", "", file).rpartition(".")[2]
    return {"json": "json", "txt": "lines", "idx": "megatron", "bin": "megatron"}.get(ending, "jsonl")


def content(data):
    """The first bytes tell whether, and how, a file is packed."""
    if data.startswith(b"\x1f\x8b"):
        return gzip.decompress(data)
    if data.startswith(reference_zstd.MAGIC):
        return reference_zstd.unpack(data)
    return data


def lines_of(data):
    """The lines that are records, as bytes without CR and LF."""
    return [line.removesuffix(b"\r") for line in data.split(b"\n") if line.strip(b" \t\r")]


def elements(data):
    """The elements of the one array that `data` is, as they are written. That it is one is taken for granted."""
    found, depth, begin = [], 0, 0
    for m in TELLING.finditer(data):
        mark = m.group()
        if depth == 1 and mark in (b",", b"]"):
            found.append(data[begin : m.start()].strip(BLANK))
            begin = m.end()
        if mark in (b"[", b"{"):
            depth += 1
            begin = m.end() if depth == 1 else begin
        elif mark in (b"]", b"}"):
            depth -= 1
    return [] if found == [b""] else found


def megatron(base, record):
    index = pathlib.Path(base + ".idx").read_bytes()
    ids = pathlib.Path(base + ".bin").read_bytes()
    assert index[:9] == b"MMIDIDX\0\0"
    version, dtype, sequences, entries = struct.unpack_from("<QBQQ", index, 9)
    assert version == 1
    at = 9 + struct.calcsize("<QBQQ")
    lengths = struct.unpack_from(f"<{sequences}i", index, at)
    places = struct.unpack_from(f"<{sequences}q", index, at + 4 * sequences)
    documents = struct.unpack_from(f"<{entries}q", index, at + 12 * sequences)
    stored = [list(struct.unpack_from(f"<{n}{TOKEN_FORMATS[dtype]}", ids, place)) for n, place in zip(lengths, places)]
    if record == "sequence":
        return [Ids(values) for values in stored]
    return [Ids(list(itertools.chain(*stored[a:b]))) for a, b in itertools.pairwise(documents)]
