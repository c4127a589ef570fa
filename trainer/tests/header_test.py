"""Hostile headers: refused, and before memory is taken."""

import random
import tracemalloc

import msgpack
import pytest

from packline import header, wire
from packline.errors import BadMessage


def refused_cheaply(data, limit=4 << 20):
    tracemalloc.start()
    try:
        with pytest.raises(BadMessage):
            header.unpack(data)
        return tracemalloc.get_traced_memory()[1] < limit + 4 * len(data)
    finally:
        tracemalloc.stop()


def test_five_bytes_cannot_allocate_gigabytes():
    for data in (b"\xdd\xff\xff\xff\xff", b"\xdf\xff\xff\xff\xff", b"\xc6\xff\xff\xff\xff",
                 b"\xdb\xff\xff\xff\xff"):  # fmt: skip
        assert refused_cheaply(data)


def test_nested_promises_are_refused_cheaply():
    deep = b"\x81\xa1x" + b"\xdc\xff\xff" * 60000
    assert refused_cheaply(deep)
    assert refused_cheaply(b"\x81\xa1x" + b"\x91" * (10 << 20))
    assert refused_cheaply(b"\x81\xa1x\xdc\xff\xff" + b"\x9f" * (1 << 20))


def test_a_header_over_the_limit_is_not_looked_at():
    assert refused_cheaply(bytes(header.HEADER_BYTES_MAX + 1))


@pytest.mark.parametrize(
    "data",
    [b"", b"\x80\x00", b"\x90", b"\xc1", b"\x82\xa1a\x01\xa1a\x02", b"\x81\x01\x02",
     b"\x81\xa1a\xc4\x01x", b"\x81\xa1a\xd4\x05x"],
)  # fmt: skip
def test_what_is_no_map_by_the_rules_is_refused(data):
    """Empty, more behind it, a list, an unused type, a key twice, a key that is no text, bin,
    ext."""
    with pytest.raises(BadMessage):
        header.unpack(data)


def test_a_walk_agrees_with_msgpack():
    rng = random.Random(3)

    def value(depth):
        kind = rng.randrange(7 if depth else 5)
        return [None, True, rng.randrange(2**64), "x" * rng.randrange(300), -rng.randrange(1,
        2**40),
                [value(depth - 1) for _ in range(rng.randrange(40))] if kind == 5 else 0,
                {str(k): value(depth - 1) for k in range(rng.randrange(20))} if kind == 6 else 0,
                ][kind]  # fmt: skip

    for _ in range(200):
        data = msgpack.packb(value(3))
        header.walk(data)
        with pytest.raises(BadMessage):
            header.walk(data + b"\x00")
        with pytest.raises(BadMessage):
            header.walk(data[:-1])


def test_another_protocol_version_is_refused_by_both_numbers():
    with pytest.raises(BadMessage, match="version 2, this client 1"):
        wire.decode([msgpack.packb({"v": 2, "type": "pack"})])


def test_a_large_honest_header_is_read():
    lanes = [{"epoch": 0, "index": i, "position": f"{i}.0.0"} for i in range(5000)]
    data = msgpack.packb({"lanes": lanes})
    assert len(header.unpack(data)["lanes"]) == 5000
