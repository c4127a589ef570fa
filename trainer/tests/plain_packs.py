"""What each layout hands out of a pack, and of several as a micro batch, in plain Python: names,
dtypes, shapes and values. Built on plain_layouts, so by none of the package's code."""

from __future__ import annotations

from typing import NamedTuple

from plain_layouts import Plain, plain, under_spans
from raw import Raw, labels_of

# Names on the wire -> those of torch and numpy, which agree but for bf16.
DTYPES = {"i8": "int8", "u8": "uint8", "i16": "int16", "i32": "int32", "i64": "int64",
          "f16": "float16", "f32": "float32", "f64": "float64", "bool": "bool"}  # fmt: skip
_CHAINED = ("cu_seq_lens_q", "cu_seq_lens_k", "cu_seqlens", "cu_seqlens_padded")


class Array(NamedTuple):
    dtype: str
    shape: tuple
    values: list  # in their order, flat


def array(dtype: str, values, *shape) -> Array:
    return Array(dtype, shape, _flat(values))


def _flat(values) -> list:
    return [v for x in values for v in (_flat(x) if isinstance(x, list) else [x])]


def as_plain(value):
    """What a layout handed out in these terms: arrays and tensors as Array, all else as it is."""
    if isinstance(value, dict):
        return {name: as_plain(v) for name, v in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(as_plain(v) for v in value)
    if hasattr(value, "dtype"):
        dtype = str(value.dtype).removeprefix("torch.")
        return Array(dtype, tuple(value.shape), value.flatten().tolist())
    return value


def plain_pack(layout: str, raw: Raw, at: tuple, padding=(1, 1, 0), drop=()):
    """`at`: (epoch, window, pack). `position_ids` is none of the columns."""
    raw = Raw(raw.ids, {k: f for k, f in raw.fields.items() if k not in drop})
    if layout == "rows":
        return _rows(raw)
    if layout == "numpy":
        return _numpy(raw, at, padding, drop)
    p = plain(raw, *padding)
    out, columns = _OF_TENSORS[layout](p), _columns(raw, p, layout != "flash")
    return ({**out[0], **columns}, out[1]) if layout == "torchtitan" else {**out, **columns}


def _rows(raw: Raw) -> list:
    labels = labels_of(raw)
    out = []
    for i, n in enumerate(raw.lengths):
        row = {"sample_id": raw.ids[i], "labels": array("int32", labels[i], n)}
        for name, f in raw.fields.items():
            if name != "labels":
                row[name] = _of_sample(f, i)
        out.append(row)
    return out


def _of_sample(f, i):
    values = f.values[i]
    return values if f.kind == "opaque" else array(DTYPES[f.dtype], values, len(values), *f.shape)


def _numpy(raw: Raw, at: tuple, padding: tuple, drop: tuple) -> dict:
    n = raw.lengths
    total = sum(n)
    out = {
        "epoch": at[0], "window": at[1], "pack": at[2],
        "sample_multiple_of": padding[0], "pad_to_multiple_of": padding[1], "pad_id": padding[2],
        "columns": tuple(sorted(raw.fields, key=str.encode)), "dropped": tuple(drop),
        "sample_ids": raw.ids, "lengths": array("int32", n, len(n)),
        "cu_seqlens": array("int32", [sum(n[:i]) for i in range(len(n) + 1)], len(n) + 1),
        "max_seqlen": max(n, default=0),
        "position_ids": array("int32", [t for k in n for t in range(k)], total),
        "labels": array("int32", labels_of(raw), total),
    }  # fmt: skip
    for name, f in raw.fields.items():
        if name == "labels":
            continue
        if f.kind == "opaque":
            out[name] = f.values
            continue
        out[name] = array(DTYPES[f.dtype], f.values, sum(map(len, f.values)), *f.shape)
        if f.kind == "ragged":
            out[name + "_rows"] = array("int32", [len(v) for v in f.values], len(n))
    return out


def _hf(p: Plain) -> dict:
    tokens, bounds = len(p.ids), array("int32", p.padded_bounds, len(p.padded) + 1)
    return {
        "input_ids": array("int64", p.ids, 1, tokens),
        "labels": array("int64", p.labels, 1, tokens),
        "position_ids": array("int64", p.positions, 1, tokens),
        "cu_seq_lens_q": bounds, "cu_seq_lens_k": bounds,
        "max_length_q": max(p.padded), "max_length_k": max(p.padded),
    }  # fmt: skip


def _flash(p: Plain) -> dict:
    tokens = len(p.ids)
    return {
        "input_ids": array("int64", p.ids, tokens), "labels": array("int64", p.labels, tokens),
        "position_ids": array("int64", p.positions, tokens),
        "cu_seqlens": array("int32", p.padded_bounds, len(p.padded) + 1),
        "max_seqlen": max(p.padded),
    }  # fmt: skip


def _megatron(p: Plain) -> dict:
    tokens = len(p.ids)
    return {
        "tokens": array("int64", p.ids, 1, tokens), "labels": array("int64", p.targets, 1, tokens),
        "loss_mask": array("float32", [float(t != -100) for t in p.targets], 1, tokens),
        "position_ids": array("int64", p.positions, 1, tokens),
        "cu_seqlens": array("int32", p.real_bounds, len(p.real) + 1),
        "cu_seqlens_padded": array("int32", p.padded_bounds, len(p.padded) + 1),
        "max_seqlen": max(p.padded),
    }  # fmt: skip


def _torchtitan(p: Plain) -> tuple:
    tokens = len(p.ids)
    named = (("input", p.ids), ("positions", p.positions))
    row = {name: array("int64", values, 1, tokens) for name, values in named}
    return row, array("int64", p.targets, 1, tokens)


_OF_TENSORS = {"hf": _hf, "flash": _flash, "megatron": _megatron, "torchtitan": _torchtitan}


def _columns(raw: Raw, p: Plain, batched: bool) -> dict:
    out, row = {}, (1,) if batched else ()
    for name, f in raw.fields.items():
        if name in ("input_ids", "labels"):
            continue
        if f.kind == "opaque":
            out[name] = f.values if raw.lengths else [b""]
        elif f.kind == "ragged":
            out[name] = array(DTYPES[f.dtype], f.values, sum(map(len, f.values)), *f.shape)
        elif f.kind == "spans":
            out[name] = array("int64", under_spans(raw, name, p), *row, len(p.ids))
        else:
            out[name] = array(DTYPES[f.dtype], p.columns[name], *row, len(p.ids), *f.shape)
    return out


def plain_batch(layout: str, packs: list):
    """A micro batch of what plain_pack() gave."""
    if layout == "torchtitan":
        return _joined([p for p, _ in packs]), _concatenated([labels for _, labels in packs])
    return _joined(packs)


def _joined(packs: list) -> dict:
    out = {}
    for name, first in packs[0].items():
        values = [p[name] for p in packs]
        if name in _CHAINED:
            chain = [0]
            for v in values:
                chain += [chain[-1] + b for b in v.values[1:]]
            out[name] = array("int32", chain, len(chain))
        elif isinstance(first, int):
            out[name] = max(values)
        elif isinstance(first, list):
            out[name] = [x for v in values for x in v]
        else:
            out[name] = _concatenated(values)
    return out


def _concatenated(values: list) -> Array:
    dtype, numbers = values[0].dtype, [x for v in values for x in v.values]
    if any(v.dtype != dtype for v in values):  # whole numbers in one window, not in another
        dtype, numbers = "float64", [float(x) for x in numbers]
    return Array(dtype, (sum(v.shape[0] for v in values), *values[0].shape[1:]), numbers)
