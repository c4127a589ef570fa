"""h(pack) of law L1, recomputed from what was handed out (docs/stream.md section 7). Needs the
package xxhash, which the client itself does not: the sums it reports carry the line's digests."""

from __future__ import annotations

import struct

import numpy as np


def pack_digest(pack: dict) -> int:
    """The digest of a pack in layout "numpy", from its arrays alone. A rank's digest is the sum of
    these modulo 2^64, the stream digest the sum over all ranks. Columns left out by
    `PackStream(drop=...)` would be missed: ValueError."""
    import xxhash

    if pack["dropped"]:
        raise ValueError(
            f"the columns {', '.join(pack['dropped'])} were dropped: a pack's digest covers them"
        )
    hash_ = xxhash.xxh3_64()
    hash_.update(struct.pack("<QQQ", pack["epoch"], pack["window"], pack["pack"]))
    for name in sorted({*pack["columns"], "labels"}, key=_bytes):
        data, rows = _field(pack, name)
        encoded = _bytes(name)
        hash_.update(struct.pack("<I", len(encoded)) + encoded + struct.pack("<Q", len(data)))
        hash_.update(data)
        hash_.update(rows)
    hash_.update(struct.pack("<I", len(pack["sample_ids"])))
    for tokens, sample_id in zip(pack["lengths"].tolist(), pack["sample_ids"]):
        encoded = _bytes(sample_id)
        hash_.update(struct.pack("<II", tokens, len(encoded)) + encoded)
    return hash_.intdigest()


def _field(pack: dict, name: str) -> tuple:
    value = pack[name]
    if isinstance(value, list):  # opaque: one bytes a sample
        return b"".join(value), np.array([len(v) for v in value], "<u4").tobytes()
    rows = pack.get(name + "_rows")
    little = value.astype(value.dtype.newbyteorder("<"), copy=False)
    return little.tobytes(), b"" if rows is None else rows.astype("<u4").tobytes()


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")
