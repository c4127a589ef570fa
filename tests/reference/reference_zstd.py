"""zstd frames of blocks as they are and of one byte repeated (RFC 8878): as much as random jobs write, so that no
library is needed. What is packed for real is read by the C++ tests of lib/corpus."""

import struct

MAGIC = b"\x28\xb5\x2f\xfd"
SKIPPABLE = 0x184D2A50  # and the 15 numbers behind it


def block(kind, size, data, last):
    return struct.pack("<I", size << 3 | kind << 1 | last)[:3] + data


def frame(data, cut=100_000):
    """One frame with the content's size in its head. A piece of one byte again and again becomes a repeated block."""
    out = MAGIC + b"\xa0" + struct.pack("<I", len(data))
    pieces = [data[i : i + cut] for i in range(0, len(data), cut)] or [b""]
    for i, piece in enumerate(pieces):
        last = i + 1 == len(pieces)
        if len(piece) > 1 and piece == piece[:1] * len(piece):
            out += block(1, len(piece), piece[:1], last)
        else:
            out += block(0, len(piece), piece, last)
    return out


def skippable(data):
    return struct.pack("<II", SKIPPABLE, len(data)) + data


def unpack(data):
    """The content of all frames, one behind the other."""
    out, at = b"", 0
    while at < len(data):
        if data[at : at + 4] != MAGIC:
            number, size = struct.unpack_from("<II", data, at)
            assert number & ~15 == SKIPPABLE
            at += 8 + size
            continue
        assert data[at + 4] == 0xA0  # a single segment, its size in four bytes, no checksum and no dictionary
        at, last = at + 9, False
        while not last:
            (head,) = struct.unpack("<I", data[at : at + 3] + b"\0")
            last, kind, size = head & 1, head >> 1 & 3, head >> 3
            stored = (size, 1)[kind]
            piece = data[at + 3 : at + 3 + stored]
            out += piece if kind == 0 else piece * size
            at += 3 + stored
    return out
