"""A pack as the trainer takes it. Labels are unshifted and the first token of each sample is -100;
no layout has an attention mask: sample bounds are in position_ids and cu_seqlens."""

from __future__ import annotations

from typing import Dict, List

import numpy as np

from .cursor import Point
from .samples import IGNORE, Column, Samples

LAYOUTS = ("rows", "numpy", "hf")

# From this many tokens a sample or span on, one slice each is faster than to repeat values
# (measured: 0.4 us a slice, 0.4 to 0.9 ns a repeated token).
_SLICE_TOKENS = 1024
_arange = np.arange(0)


def build(layout: str, samples: Samples, at: Point, drop: tuple):
    if layout == "hf":
        return hf(samples, drop)
    if layout == "numpy":
        return numpy_pack(samples, at, drop)
    return rows(samples, drop)


def rows(samples: Samples, drop: tuple = ()) -> List[dict]:
    """One dict a sample: `sample_id`, `input_ids` and `labels` int32 [length], and every other
    column: per token [length, *item], ragged [rows, *item], opaque bytes. All may be written to."""
    out: List[dict] = [{"sample_id": i} for i in samples.ids]
    if not out:
        return out
    bounds = samples.starts.tolist()
    for name, column in _columns(samples, drop):
        if column.kind == "per_token":
            _deal(out, name, column.data.copy(), bounds)
        elif column.kind == "ragged":
            _deal(out, name, column.data.copy(), _bounds(column))
        elif column.kind == "opaque":
            _deal(out, name, column.data.tobytes(), _bounds(column))
        else:
            _deal(out, name, _under_spans(samples, column, np.int32), bounds)
    _deal(out, "labels", labels(samples, np.int32), bounds)
    return out


def numpy_pack(samples: Samples, at: Point, drop: tuple = ()) -> dict:
    """One dict: `input_ids`, `labels`, `position_ids` int32 [T]; `lengths` int32 [n]; `cu_seqlens`
    int32 [n + 1]; `max_seqlen`; `sample_ids`; `epoch`, `window`, `pack`: its place in the stream;
    `columns`: the encoder's own, `dropped`: those left out. Ragged columns are [sum of rows,
    *item] with `NAME_rows` int32 [n]; opaque ones a list of bytes; bf16 is u16."""
    out = {
        "epoch": at.epoch,
        "window": at.window,
        "pack": at.pack,
        "columns": tuple(n for n in samples.columns if n not in drop),
        "dropped": tuple(n for n in samples.columns if n in drop),
        "sample_ids": samples.ids,
        "lengths": samples.lengths.astype(np.int32),
        "cu_seqlens": samples.starts.astype(np.int32),
        "max_seqlen": samples.longest,
        "position_ids": positions(samples, np.int32),
    }
    for name, column in _columns(samples, drop):
        if column.kind == "opaque":
            out[name] = _opaque(column)
        elif column.kind == "spans":
            out[name] = _under_spans(samples, column, np.int32)
        else:
            out[name] = column.data.copy()
        if column.kind == "ragged":
            out[name + "_rows"] = column.rows.astype(np.int32)
    out["labels"] = labels(samples, np.int32)
    out.setdefault("input_ids", samples.input_ids)
    return out


def hf(samples: Samples, drop: tuple = ()) -> Dict[str, object]:
    """Tensors for a Hugging Face model that takes packed rows: `input_ids`, `labels`,
    `position_ids` int64 [1, T]; `cu_seq_lens_q`, `cu_seq_lens_k` int32 [n + 1]; `max_length_q`,
    `max_length_k` ints; the encoder's other columns: per token [1, T, *item], ragged [sum of rows,
    *item], opaque lists of bytes. A `position_ids` of the encoder's own wins over the derived one;
    with k rows a token it is [k, 1, T]. A pack without tokens is one padding token: id 0,
    label -100."""
    import torch

    tokens = samples.tokens
    if tokens == 0:
        samples = _padding(samples)
        tokens = 1
    ids = np.empty((1, tokens), np.int64)
    ids[0] = samples.input_ids
    own = samples.columns.get("position_ids")
    if own is None or own.kind != "per_token" or "position_ids" in drop:
        position = torch.from_numpy(positions(samples, np.int64).reshape(1, tokens))
    elif own.data.ndim == 1:
        position = torch.from_numpy(own.data.astype(np.int64).reshape(1, tokens))
    else:
        position = torch.from_numpy(np.ascontiguousarray(own.data.T[:, None], np.int64))
    bounds = samples.starts.astype(np.int32)
    longest = samples.longest
    out = {
        "input_ids": torch.from_numpy(ids),
        "labels": torch.from_numpy(labels(samples, np.int64, ids[0]).reshape(1, tokens)),
        "position_ids": position,
        "cu_seq_lens_q": torch.from_numpy(bounds),
        "cu_seq_lens_k": torch.from_numpy(bounds.copy()),
        "max_length_q": longest,
        "max_length_k": longest,
    }
    for name, column in _columns(samples, drop):
        if name not in out:
            out[name] = _tensor(torch, samples, column)
    return out


def labels(samples: Samples, dtype, ids=None) -> np.ndarray:
    """[T]: the encoder's labels, or input_ids where it gave none; unshifted, the first token of
    each sample -100. `ids`: input_ids in that dtype, when the caller has them already."""
    column = samples.columns.get("labels")
    if column is not None and column.kind == "spans":
        out = _under_spans(samples, column, dtype, ids)
    elif column is not None and column.kind == "per_token":
        out = column.data.astype(dtype)
    else:
        out = np.array(samples.input_ids if ids is None else ids, dtype)
    if len(out):
        # Where an empty sample stands the next one begins, or the first: "wrap".
        out.put(samples.starts[:-1], IGNORE, "wrap")
    return out


def positions(samples: Samples, dtype) -> np.ndarray:
    """[T]: 0, 1, 2, ... anew in each sample."""
    tokens, count = samples.tokens, samples.count
    if count * _SLICE_TOKENS <= tokens:
        ramp = _ramp(samples.longest)
        out = np.empty(tokens, dtype)
        bounds = samples.starts.tolist()
        for begin, end in zip(bounds, bounds[1:]):
            out[begin:end] = ramp[: end - begin]
        return out
    out = samples.starts[:-1].astype(dtype).repeat(samples.lengths)
    np.subtract(_ramp(tokens)[:tokens], out, out=out, casting="same_kind")
    return out


def _ramp(n: int) -> np.ndarray:
    """0..n-1 and beyond, kept: making it anew is a fifth of a pack's time."""
    global _arange
    ramp = _arange
    if len(ramp) < n:
        ramp = np.arange(max(n, 8192))
        if n <= 1 << 20:
            _arange = ramp
    return ramp


def _under_spans(samples: Samples, column: Column, dtype, ids=None) -> np.ndarray:
    """[T]: input_ids inside the column's spans, -100 outside."""
    if ids is None:
        ids = samples.input_ids
    tokens = samples.tokens
    spans = samples.spans(column)
    if len(spans) * _SLICE_TOKENS <= tokens:
        out = np.empty(tokens, dtype)
        out.fill(IGNORE)
        for begin, end in spans.tolist():
            out[begin:end] = ids[begin:end]
        return out
    # Runs outside and inside the spans in turn; spans are ascending and apart (wire.md section 4).
    bounds = np.zeros(2 * len(spans) + 2, np.int64)
    bounds[1:-1] = spans.ravel()
    bounds[-1] = tokens
    outside = np.ones(len(bounds) - 1, bool)
    outside[1::2] = False
    out = ids.astype(dtype)
    np.copyto(out, IGNORE, where=outside.repeat(bounds[1:] - bounds[:-1]))
    return out


def _columns(samples: Samples, drop: tuple):
    """The columns to hand out beside labels, which every layout makes by itself."""
    return [(n, c) for n, c in samples.columns.items() if n not in drop and n != "labels"]


def _bounds(column: Column) -> list:
    return [0, *np.cumsum(column.rows, dtype=np.int64).tolist()]


def _deal(out: List[dict], name: str, values, bounds: list) -> None:
    for row, begin, end in zip(out, bounds, bounds[1:]):
        row[name] = values[begin:end]


def _opaque(column: Column) -> List[bytes]:
    data, bounds = column.data.tobytes(), _bounds(column)
    return [data[a:b] for a, b in zip(bounds, bounds[1:])]


def _tensor(torch, samples: Samples, column: Column):
    if column.kind == "opaque":
        return _opaque(column)
    if column.kind == "spans":
        data = _under_spans(samples, column, np.int64)
    elif column.dtype == "bf16":
        # The bits travel as u16; torch of old has no u16, so they pass as i16.
        bits = torch.from_numpy(column.data.view("<i2").copy())
        data = bits.view(torch.bfloat16)
        return data if column.kind == "ragged" else data.unsqueeze(0)
    else:
        data = column.data.copy()
    tensor = torch.from_numpy(data)
    return tensor if column.kind == "ragged" else tensor.unsqueeze(0)


def _padding(samples: Samples) -> Samples:
    """One sample of one padding token, with one zero in each per-token column."""
    columns = {}
    for name, c in samples.columns.items():
        if c.kind == "per_token":
            one = np.zeros((1, *c.data.shape[1:]), c.data.dtype)
            columns[name] = c._replace(data=one)
        else:
            columns[name] = c._replace(data=c.data[:0], rows=np.zeros(1, np.uint32))
    columns["input_ids"] = Column("input_ids", "i32", "per_token", np.zeros(1, np.int32), None)
    return Samples(np.ones(1, np.uint32), columns, np.zeros(1, np.uint32), b"")
