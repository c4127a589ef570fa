"""msgpack maps from hostile bytes: every size and depth is checked before memory is taken.

msgpack's own limits do not bound what nested lists that promise much may take, so a header that
could cost more than a little is walked first. Nothing is ever unpickled.
"""

from __future__ import annotations

from typing import Any

import msgpack

from .errors import BadMessage

HEADER_BYTES_MAX = 16 << 20
VALUES_MAX = 1 << 22
LIST_MAX = 65536
DEPTH_MAX = 8
TEXT_BYTES_MAX = 1 << 16
POSITION_BYTES_MAX = 1 << 20

# Below these a header is unpacked without a walk: its values can take at most some 60 bytes of
# memory a byte, and its promises of list entries at most _PROMISED_BYTES.
_SMALL_HEADER = 64 << 10
_PROMISED_BYTES = 64 << 20
_TINY_HEADER = 4096  # cannot promise so much: a promise takes 3 bytes, and is of so many entries


def unpack(data: bytes) -> dict:
    """The map that `data` is, whole. Texts keep bytes that are not UTF-8 as surrogate escapes.
    BadMessage for anything else, a key given twice included."""
    if len(data) > HEADER_BYTES_MAX:
        raise BadMessage(f"a header of {len(data)} bytes, over the limit of {HEADER_BYTES_MAX}")
    if len(data) > _TINY_HEADER:
        # To look for a byte is ten times faster than to count it.
        promises = sum(data.count(b) for b in (b"\xdc", b"\xdd") if b in data)
        if len(data) > _SMALL_HEADER or promises * len(data) * 8 > _PROMISED_BYTES:
            walk(data)
    try:
        header = msgpack.unpackb(
            data,
            raw=False,
            unicode_errors="surrogateescape",
            strict_map_key=True,
            object_pairs_hook=_map,
            max_array_len=min(LIST_MAX, len(data)),
            max_map_len=256,
            max_str_len=POSITION_BYTES_MAX,
            max_bin_len=0,
            max_ext_len=0,
        )
    except BadMessage:
        raise
    except (ValueError, TypeError, msgpack.UnpackException, RecursionError) as e:
        raise BadMessage(f"a header that is no msgpack map ({type(e).__name__}: {e})") from None
    if type(header) is not dict:
        raise BadMessage(f"a header that is a {type(header).__name__}, not a map")
    return header


def pack(header: dict) -> bytes:
    return msgpack.packb(header, use_bin_type=True, unicode_errors="surrogateescape")


def _map(pairs: list) -> dict:
    m = dict(pairs)
    if len(m) != len(pairs):
        raise BadMessage("a map with a key given twice")
    return m


def walk(data: bytes) -> None:
    """Goes over a msgpack value without building it; BadMessage for more than DEPTH_MAX levels,
    VALUES_MAX values, a list over LIST_MAX, or one that promises more than the bytes left."""
    at, end, values = 0, len(data), 0
    open_counts = [1]  # values still to come on each level
    while open_counts:
        if open_counts[-1] == 0:
            open_counts.pop()
            continue
        open_counts[-1] -= 1
        values += 1
        if at >= end or values > VALUES_MAX:
            raise BadMessage("a header that ends early or has too many values")
        size, inner = _token(data, at)
        at += size
        if at > end or inner > end - at or inner > 2 * LIST_MAX:
            raise BadMessage("a header that promises more than it has")
        if inner >= 0:
            if len(open_counts) > DEPTH_MAX:
                raise BadMessage(f"a header nested deeper than {DEPTH_MAX}")
            open_counts.append(inner)
    if at != end:
        raise BadMessage("a header with bytes behind its end")


# First byte -> (bytes of the length, entries per unit): str 0xd9.., bin 0xc4.., list, map.
_LENGTHS = {0xD9: 1, 0xDA: 2, 0xDB: 4, 0xC4: 1, 0xC5: 2, 0xC6: 4}
_CONTAINERS = {0xDC: (2, 1), 0xDD: (4, 1), 0xDE: (2, 2), 0xDF: (4, 2)}
_FIXED = {0xC0: 1, 0xC2: 1, 0xC3: 1, 0xCC: 2, 0xCD: 3, 0xCE: 5, 0xCF: 9,
          0xD0: 2, 0xD1: 3, 0xD2: 5, 0xD3: 9, 0xCA: 5, 0xCB: 9}  # fmt: skip


def _token(data: bytes, at: int) -> tuple:
    """(bytes of the token, how many values it holds; -1 for none of its own)."""
    b = data[at]
    if b < 0x80 or b >= 0xE0:
        return 1, -1
    if b < 0x90:
        return 1, 2 * (b & 15)
    if b < 0xA0:
        return 1, b & 15
    if b < 0xC0:
        return 1 + (b & 31), -1
    if b in _FIXED:
        return _FIXED[b], -1
    if b in _LENGTHS:
        n = _LENGTHS[b]
        return 1 + n + int.from_bytes(data[at + 1 : at + 1 + n], "big"), -1
    if b in _CONTAINERS:
        n, per = _CONTAINERS[b]
        return 1 + n, per * int.from_bytes(data[at + 1 : at + 1 + n], "big")
    raise BadMessage(f"a header with the msgpack type 0x{b:02x}, which no message uses")


# Checked reads of a field. All raise BadMessage that names the field.


def uint(m: dict, key: str, limit: int = 2**64) -> int:
    v = m.get(key)
    if type(v) is not int or not 0 <= v < limit:
        raise BadMessage(f"`{key}` must be a number in [0, {limit}), is {_short(v)}")
    return v


def u32(m: dict, key: str) -> int:
    return uint(m, key, 2**32)


def boolean(m: dict, key: str) -> bool:
    v = m.get(key)
    if type(v) is not bool:
        raise BadMessage(f"`{key}` must be true or false, is {_short(v)}")
    return v


def text(m: dict, key: str, limit: int = TEXT_BYTES_MAX) -> str:
    v = m.get(key)
    if type(v) is not str or len(v) > limit:
        raise BadMessage(f"`{key}` must be a text of at most {limit} bytes, is {_short(v)}")
    return v


def mapping(m: dict, key: str) -> dict:
    v = m.get(key)
    if type(v) is not dict:
        raise BadMessage(f"`{key}` must be a map, is {_short(v)}")
    return v


def array(m: dict, key: str, length: int = -1) -> list:
    v = m.get(key)
    if type(v) is not list or (length >= 0 and len(v) != length):
        raise BadMessage(f"`{key}` must be a list, is {_short(v)}")
    return v


def _short(value: Any) -> str:
    if isinstance(value, (list, dict)):
        return f"a {type(value).__name__} of {len(value)}"
    return repr(value)[:60]
