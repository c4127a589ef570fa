"""The samples of a pack, column by column, over the frames they came in (no copy is made here)."""

from __future__ import annotations

import functools
from typing import List, NamedTuple, Optional, Sequence

import numpy as np

from . import header as h
from .errors import BadMessage

SAMPLES_MAX = 1 << 24
COLUMNS_MAX = 256
IGNORE = -100

# Names on the wire -> numpy types, little-endian. bf16 has no numpy type: its bits as u16.
DTYPES = {
    "i8": np.dtype("i1"),
    "u8": np.dtype("u1"),
    "i16": np.dtype("<i2"),
    "i32": np.dtype("<i4"),
    "i64": np.dtype("<i8"),
    "f16": np.dtype("<f2"),
    "bf16": np.dtype("<u2"),
    "f32": np.dtype("<f4"),
    "f64": np.dtype("<f8"),
    "bool": np.dtype("?"),
}
KINDS = ("per_token", "ragged", "opaque", "spans")


class Column(NamedTuple):
    """One field. `data`: per_token [tokens, *item], ragged [sum of rows, *item], opaque u8 [bytes],
    spans u32 [sum of rows, 2]; read-only. `rows`: per sample, None for per_token."""

    name: str
    dtype: str
    kind: str
    data: np.ndarray
    rows: Optional[np.ndarray]


class Samples:
    """Samples in pack order. `starts` has count + 1 entries: where each begins, and the end."""

    __slots__ = ("lengths", "starts", "columns", "_id_lengths", "_id_bytes", "_spans", "_longest")

    def __init__(self, lengths, columns, id_lengths, id_bytes):
        self.lengths = lengths
        self.starts = offsets(lengths)
        self.columns = columns  # name -> Column, in the byte order of the names
        self._id_lengths = id_lengths
        self._id_bytes = id_bytes
        self._spans = {}  # name -> spans(), worked out once
        self._longest = -1

    @property
    def count(self) -> int:
        return len(self.lengths)

    @property
    def tokens(self) -> int:
        return int(self.starts[-1])

    @property
    def longest(self) -> int:
        """Tokens of the longest sample, 0 when there is none."""
        if self._longest < 0:
            self._longest = int(self.lengths.max()) if len(self.lengths) else 0
        return self._longest

    @property
    def input_ids(self) -> np.ndarray:
        """i32 [tokens]. Samples that are none need not have the column."""
        column = self.columns.get("input_ids")
        return np.empty(0, np.int32) if column is None else column.data

    @property
    def ids(self) -> List[str]:
        """The sample ids; bytes that are not UTF-8 are surrogate escapes."""
        return [b.decode("utf-8", "surrogateescape") for b in self.id_bytes()]

    def id_bytes(self) -> List[bytes]:
        ends = offsets(self._id_lengths).tolist()
        return [self._id_bytes[a:b] for a, b in zip(ends, ends[1:])]

    def spans(self, column: Column) -> np.ndarray:
        """int64 [spans, 2]: begin and end of each span of a spans column, counted from the pack's
        first token."""
        found = self._spans.get(column.name)
        if found is None:
            found = column.data + self.starts[:-1].repeat(column.rows)[:, None]
            self._spans[column.name] = found
        return found


def offsets(lengths: np.ndarray) -> np.ndarray:
    """int64 [n + 1]: 0 and the running sums."""
    out = np.empty(len(lengths) + 1, np.int64)
    out[0] = 0
    lengths.cumsum(dtype=np.int64, out=out[1:])
    return out


def decode_samples(frames: Sequence) -> Samples:
    """From the frames of docs/wire.md section 4; BadMessage with what is wrong."""
    if len(frames) < 3:
        raise BadMessage(f"samples in {len(frames)} frames, not 3 or more")
    description = bytes(frames[0])
    small = len(description) <= _KEPT_BYTES
    n, described = (_described if small else _described.__wrapped__)(description)
    lengths = _u32s(frames[1], n, "the lengths")
    id_lengths, id_bytes = _ids(frames[2], n)
    samples = Samples(lengths, {}, id_lengths, id_bytes)
    at = 3
    for d in described:
        need = 1 if d.kind == "per_token" else 2
        if at + need > len(frames):
            raise BadMessage(f"column {d.name!r} whose frames are missing")
        samples.columns[d.name] = _column(d, frames[at : at + need], samples)
        at += need
    if at != len(frames):
        raise BadMessage(f"samples with {len(frames) - at} frames too many")
    return samples


class _Description(NamedTuple):
    """A column's line in the header of the samples, checked."""

    name: str
    dtype: str
    kind: str
    shape: tuple


_KEPT_BYTES = 4096


# Packs of one job are described alike, but for their number of samples.
@functools.lru_cache(maxsize=512)
def _described(data: bytes) -> tuple:
    """(samples, descriptions in order) of the first frame."""
    m = h.unpack(data)
    n, columns = h.u32(m, "n"), h.array(m, "columns")
    if n > SAMPLES_MAX or len(columns) > COLUMNS_MAX:
        raise BadMessage(f"{n} samples of {len(columns)} columns, over the limits")
    out, last = [], b""
    for c in columns:
        if type(c) is not dict:
            raise BadMessage("a column that is described by no map")
        d = _Description(h.text(c, "name"), h.text(c, "dtype"), h.text(c, "kind"), _item_shape(c))
        order = d.name.encode("utf-8", "surrogateescape")
        if order <= last:
            raise BadMessage("columns that do not stand in the order of their names")
        last = order
        _check_description(d)
        out.append(d)
    if n and _Description("input_ids", "i32", "per_token", ()) not in out:
        raise BadMessage("samples without a per-token i32 column input_ids")
    return n, tuple(out)


def _check_description(d: _Description) -> None:
    if d.kind not in KINDS or d.dtype not in DTYPES:
        raise BadMessage(f"column {d.name!r} of unknown kind or dtype")
    if (d.kind == "opaque" and d.dtype != "u8") or (d.kind == "spans" and d.dtype != "i32"):
        raise BadMessage(f"column {d.name!r} is {d.kind} of {d.dtype}")
    if d.kind in ("opaque", "spans") and d.shape:
        raise BadMessage(f"column {d.name!r} is {d.kind} with an item shape")


def _column(d: _Description, frames, samples: Samples) -> Column:
    if d.kind == "per_token":
        data = _items(frames[0], samples.tokens, DTYPES[d.dtype], d.shape, d.name)
        return Column(d.name, d.dtype, d.kind, data, None)
    rows = _u32s(frames[1], samples.count, f"the rows of {d.name!r}")
    items = int(rows.sum(dtype=np.int64))
    if d.kind != "spans":
        data = _items(frames[0], items, DTYPES[d.dtype], d.shape, d.name)
        return Column(d.name, d.dtype, d.kind, data, rows)
    data = _items(frames[0], items, _U32, (2,), d.name)
    column = Column(d.name, d.dtype, d.kind, data, rows)
    _check_spans(samples, column)
    return column


_U32 = np.dtype("<u4")


def _item_shape(d: dict) -> tuple:
    shape = h.array(d, "item_shape")
    if len(shape) > 8 or not all(type(v) is int and 0 < v < 2**32 for v in shape):
        raise BadMessage("a column with an impossible item shape")
    return tuple(shape)


def _items(frame, items: int, dtype: np.dtype, shape: tuple, name: str) -> np.ndarray:
    size = dtype.itemsize * items
    for v in shape:  # Python's numbers have no end, so a product cannot wrap
        size *= v
    view = memoryview(frame)
    if view.nbytes != size:
        raise BadMessage(f"column {name!r} with {view.nbytes} bytes of data, not {size}")
    data = np.frombuffer(view, dtype)
    return data.reshape((items, *shape)) if shape else data


def _u32s(frame, n: int, what: str) -> np.ndarray:
    view = memoryview(frame)
    if view.nbytes != 4 * n:
        raise BadMessage(f"{what} in {view.nbytes} bytes, not {4 * n}")
    return np.frombuffer(view, _U32)


def _ids(frame, n: int) -> tuple:
    view = memoryview(frame)
    if view.nbytes < 4 * n:
        raise BadMessage(f"ids in {view.nbytes} bytes, fewer than their lengths need")
    lengths = np.frombuffer(view[: 4 * n], _U32)
    if int(lengths.sum(dtype=np.int64)) != view.nbytes - 4 * n:
        raise BadMessage("ids whose lengths do not add up to their bytes")
    return lengths, bytes(view[4 * n :])


def _check_spans(samples: Samples, column: Column) -> None:
    if column.data.size == 0:
        return
    bounds = samples.spans(column).ravel()  # in their order they may nowhere fall
    limits = samples.starts[1:].repeat(column.rows)
    if (bounds[1:] < bounds[:-1]).any() or (bounds[1::2] > limits).any():
        raise BadMessage(f"column {column.name!r} with spans out of order or beyond their sample")
