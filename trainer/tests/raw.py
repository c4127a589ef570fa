"""Packs as plain Python lists, their bytes by docs/wire.md, and the layouts in the slowest and
plainest way: what the package is held against."""

from __future__ import annotations

import random
import struct
from typing import Dict, List, NamedTuple, Optional

import msgpack
import numpy as np

WIRE = {"i8": "i1", "u8": "u1", "i16": "<i2", "i32": "<i4", "i64": "<i8",
        "f16": "<f2", "bf16": "<u2", "f32": "<f4", "f64": "<f8", "bool": "?"}  # fmt: skip


class Field(NamedTuple):
    """A column: `values[i]` are sample i's items (nested lists), its bytes (opaque) or its
    spans."""

    dtype: str
    kind: str
    shape: tuple
    values: list


class Raw(NamedTuple):
    """A pack: `ids`, and the fields by name; input_ids always among them."""

    ids: List[str]
    fields: Dict[str, Field]

    @property
    def lengths(self) -> List[int]:
        return [len(v) for v in self.fields["input_ids"].values]


def random_pack(rng: random.Random, samples: int, longest: int, labels: str = "spans") -> Raw:
    """labels: "spans", "values" or "none"."""
    lengths = [rng.randint(1, longest) for _ in range(samples)]
    ids = [[rng.randrange(50000) for _ in range(n)] for n in lengths]
    fields = {"input_ids": Field("i32", "per_token", (), ids)}
    if labels == "values":
        values = [[rng.choice([-100, t]) for t in s] for s in ids]
        fields["labels"] = Field("i32", "per_token", (), values)
    if labels == "spans":
        fields["labels"] = Field("i32", "spans", (), [_spans(rng, n) for n in lengths])
    return Raw([f"q{rng.randrange(100)}@s0:{i}" for i in range(samples)], fields)


def _spans(rng: random.Random, n: int) -> list:
    spans, at = [], 0
    while at < n and rng.random() < 0.8:
        begin = rng.randint(at, n - 1)
        end = rng.randint(begin + 1, n)
        spans.append((begin, end))
        at = end + 1
    return spans


def rich_pack(rng: random.Random, samples: int) -> Raw:
    """Every kind of column, and dtypes of every width."""
    raw = random_pack(rng, samples, 9)
    n = raw.lengths
    floats = [[rng.random() for _ in range(k)] for k in n]
    pairs = [[[rng.randrange(9), rng.randrange(9)] for _ in range(k)] for k in n]
    grid = [[[1, rng.randrange(5), 2] for _ in range(rng.randrange(3))] for _ in n]
    more = {
        "loss_scale": Field("f32", "per_token", (), floats),
        "pairs": Field("i16", "per_token", (2,), pairs),
        "flag": Field("bool", "per_token", (), [[bool(i % 2) for i in range(k)] for k in n]),
        "half": Field("bf16", "per_token", (), [[0x3F80] * k for k in n]),
        "image_grid_thw": Field("i64", "ragged", (3,), grid),
        "channel": Field(
            "u8", "opaque", (), [bytes([65 + i % 26]) * (i % 4) for i in range(len(n))]
        ),
    }
    return Raw(raw.ids, {**raw.fields, **more})


def encode(raw: Raw) -> List[bytes]:
    """Samples as frames, docs/wire.md section 4."""
    n = len(raw.ids)
    order = sorted(raw.fields, key=lambda name: name.encode())
    columns = [
        {"name": k, "dtype": f.dtype, "kind": f.kind, "item_shape": list(f.shape)}
        for k, f in ((k, raw.fields[k]) for k in order)
    ]
    ids = [i.encode("utf-8", "surrogateescape") for i in raw.ids]
    frames = [
        msgpack.packb({"n": n, "columns": columns}),
        struct.pack(f"<{n}I", *raw.lengths),
        struct.pack(f"<{n}I", *map(len, ids)) + b"".join(ids),
    ]
    for name in order:
        f = raw.fields[name]
        frames.append(data_bytes(f))
        if f.kind != "per_token":
            frames.append(struct.pack(f"<{n}I", *map(len, f.values)))
    return frames


def data_bytes(f: Field) -> bytes:
    if f.kind == "opaque":
        return b"".join(f.values)
    if f.kind == "spans":
        return b"".join(struct.pack("<II", *s) for v in f.values for s in v)
    items = [item for v in f.values for item in v]
    return np.array(items, WIRE[f.dtype]).reshape((len(items), *f.shape)).tobytes()


def labels_of(raw: Raw) -> List[List[int]]:
    """One list a sample, unshifted, the first token -100."""
    field: Optional[Field] = raw.fields.get("labels")
    out = []
    for i, tokens in enumerate(raw.fields["input_ids"].values):
        if field is None:
            row = list(tokens)
        elif field.kind == "per_token":
            row = list(field.values[i])
        else:
            inside = {k for b, e in field.values[i] for k in range(b, e)}
            row = [t if k in inside else -100 for k, t in enumerate(tokens)]
        if row:
            row[0] = -100
        out.append(row)
    return out


def digest_bytes(raw: Raw, epoch: int, window: int, index: int) -> bytes:
    """What h(pack) is taken over, docs/stream.md section 7."""
    labels = Field("i32", "per_token", (), labels_of(raw))
    fields = {**raw.fields, "labels": labels}
    out = struct.pack("<QQQ", epoch, window, index)
    for name in sorted(fields, key=lambda k: k.encode()):
        f = fields[name]
        data = data_bytes(f)
        out += struct.pack("<I", len(name.encode())) + name.encode()
        out += struct.pack("<Q", len(data)) + data
        if f.kind in ("ragged", "opaque"):
            out += struct.pack(f"<{len(f.values)}I", *map(len, f.values))
    out += struct.pack("<I", len(raw.ids))
    for n, i in zip(raw.lengths, raw.ids):
        b = i.encode("utf-8", "surrogateescape")
        out += struct.pack("<II", n, len(b)) + b
    return out
