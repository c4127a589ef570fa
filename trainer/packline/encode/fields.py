"""A sample as a function returns it, a dict of fields, as columns and as frames (docs/wire.md
section 4). What a field becomes depends on its type alone, never on a length that happens to fit:
the table is in docs/encoders.md."""

from __future__ import annotations

import functools
import struct
from collections.abc import Mapping
from typing import Any, List, NamedTuple, Optional

import msgpack
import numpy as np

from ..samples import COLUMNS_MAX, IGNORE

NAME_BYTES_MAX = 256
DIMENSIONS_MAX = 8
TOKEN_MAX = 2**31 - 1
U32 = struct.Struct("<I")
NO_ID = U32.pack(0)  # the id of the only sample is the producer's business

# numpy kind and item size -> the name on the wire.
DTYPE_NAMES = {
    ("i", 1): "i8", ("u", 1): "u8", ("i", 2): "i16", ("i", 4): "i32", ("i", 8): "i64",
    ("f", 2): "f16", ("f", 4): "f32", ("f", 8): "f64", ("b", 1): "bool",
}  # fmt: skip


class BadSample(ValueError):
    """What an encoder function returned is no sample; the text says what of it, and what to do."""


class per_token:
    """Marks a field of any shape [tokens, ...]: one item a token, cut and concatenated with the
    tokens. Lists and arrays of one dimension are such fields without it."""

    __slots__ = ("value",)

    def __init__(self, value):
        self.value = value


class per_sample:
    """Marks a field of any shape [rows, ...] that belongs to the sample as a whole. Arrays of two
    and more dimensions are such fields without it."""

    __slots__ = ("value",)

    def __init__(self, value):
        self.value = value


class Column(NamedTuple):
    name: str
    dtype: str
    kind: str
    item_shape: tuple
    data: Any  # bytes-like
    rows: Optional[int]  # None for per_token


def frames_of(sample: Mapping) -> List[Any]:
    """The frames of one sample. BadSample when it is none."""
    if not isinstance(sample, Mapping):
        raise BadSample(
            f"a sample must be a dict of fields, such as {{'input_ids': [...]}}, and is a "
            f"{type(sample).__name__}"
        )
    tokens = _input_ids(sample)
    columns = [Column("input_ids", "i32", "per_token", (), _data(tokens), None)]
    labels = _labels(sample, tokens)
    if labels is not None:
        columns.append(labels)
    for name, value in sample.items():
        if name in ("input_ids", "labels", "loss_mask") or value is None:
            continue
        if not isinstance(name, str) or not 0 < len(name.encode()) <= NAME_BYTES_MAX:
            raise BadSample(f"a field's name must be a text of 1 to {NAME_BYTES_MAX} bytes, is {name!r:.80}")
        if name == "attention_mask":
            _check_attention_mask(value, len(tokens))
            continue
        columns.append(_column(name, value, len(tokens)))
    if len(columns) > COLUMNS_MAX:
        raise BadSample(f"a sample has {len(columns)} fields, and at most {COLUMNS_MAX} are taken")
    columns.sort(key=lambda c: c.name.encode())
    frames = [_header(tuple(c[:4] for c in columns)), U32.pack(len(tokens)), NO_ID]
    for c in columns:
        frames.append(c.data)
        if c.rows is not None:
            frames.append(U32.pack(c.rows))
    return frames


@functools.lru_cache(maxsize=256)
def _header(columns: tuple) -> bytes:
    return msgpack.packb(
        {
            "n": 1,
            "columns": [
                {"name": name, "dtype": dtype, "kind": kind, "item_shape": list(shape)}
                for name, dtype, kind, shape in columns
            ],
        }
    )


def _input_ids(sample: Mapping) -> np.ndarray:
    if "input_ids" not in sample:
        raise BadSample(f"a sample needs the field input_ids, and has {_names(sample)}")
    ids = _integers("input_ids", sample["input_ids"])
    if len(ids) and (ids.min() < 0 or ids.max() > TOKEN_MAX):
        bad = ids[(ids < 0) | (ids > TOKEN_MAX)][0]
        raise BadSample(f"input_ids holds {bad}; a token id is 0 to {TOKEN_MAX}")
    return ids.astype("<i4")


def _integers(name: str, value: Any) -> np.ndarray:
    array = _array(name, value.value if isinstance(value, per_token) else value)
    if array.ndim != 1 or (array.dtype.kind not in "iub" and len(array)):
        raise BadSample(
            f"{name} must be one list of integers, and is of shape {list(array.shape)} and type {array.dtype}"
            + (f"; give {name}[0], one row for a sample" if array.ndim == 2 and len(array) == 1 else "")
        )
    return array.astype(np.int64)


def _labels(sample: Mapping, ids: np.ndarray) -> Optional[Column]:
    """Labels, unshifted. Those that are the ids under a mask travel as spans of it."""
    labels, mask = sample.get("labels"), sample.get("loss_mask")
    if labels is None and mask is None:
        return None
    if labels is not None and mask is not None:
        raise BadSample("a sample has both labels and loss_mask: give one of them")
    name = "labels" if mask is None else "loss_mask"
    values = _integers(name, labels if mask is None else mask)
    if len(values) != len(ids):
        raise BadSample(f"{name} has {len(values)} values for {len(ids)} tokens")
    if mask is not None:
        if len(values) and (values.min() < 0 or values.max() > 1):
            raise BadSample("loss_mask must hold 0 or 1 for each token")
        supervised = values == 1
    else:
        supervised = values != IGNORE
        if not np.array_equal(values[supervised], ids[supervised]):
            if values.min() < -(2**31) or values.max() > TOKEN_MAX:
                raise BadSample("labels holds a value that is no integer of 32 bits")
            return Column("labels", "i32", "per_token", (), _data(values.astype("<i4")), None)
    edges = np.flatnonzero(np.diff(np.concatenate(([False], supervised, [False]))))
    return Column("labels", "i32", "spans", (), _data(edges.astype("<u4")), len(edges) // 2)


def _check_attention_mask(value: Any, tokens: int) -> None:
    mask = _array("attention_mask", value)
    if mask.shape != (tokens,) or not np.all(mask == 1):
        raise BadSample(
            "attention_mask must be 1 for every token: packs have no padding inside; encode without "
            "padding, or leave the field out"
        )


def _column(name: str, value: Any, tokens: int) -> Column:
    if isinstance(value, str):
        value = value.encode("utf-8", "surrogateescape")
    if isinstance(value, (bytes, bytearray, memoryview)):
        data = bytes(value)
        return Column(name, "u8", "opaque", (), data, len(data))
    marked = type(value) if isinstance(value, (per_token, per_sample)) else None
    dtype, array = _typed(name, value.value if marked else value)
    if array.ndim == 0:
        if marked is per_token:
            raise BadSample(f"{name} is one value, and cannot be one a token")
        array = array.reshape(1)
        return Column(name, dtype, "ragged", (), _data(array), 1)
    if array.ndim - 1 > DIMENSIONS_MAX or 0 in array.shape[1:]:
        raise BadSample(f"{name} has the shape {list(array.shape)}, which no message can hold")
    if marked is per_token or (marked is None and array.ndim == 1):
        if len(array) != tokens:
            raise BadSample(
                f"{name} has {len(array)} values for {tokens} tokens; what belongs to the sample as a "
                f"whole is given as packline.encode.per_sample({name})"
            )
        return Column(name, dtype, "per_token", array.shape[1:], _data(array), None)
    return Column(name, dtype, "ragged", array.shape[1:], _data(array), len(array))


def _typed(name: str, value: Any) -> tuple:
    """(dtype on the wire, little-endian array)."""
    bf16 = str(getattr(value, "dtype", "")) in ("torch.bfloat16", "bfloat16")
    if bf16 and hasattr(value, "detach"):
        import torch  # the value is a torch tensor, so it is there

        value = value.detach().cpu().contiguous().view(torch.int16)
    elif bf16:
        value = np.ascontiguousarray(value).view(np.uint16)
    array = _array(name, value)
    if bf16:
        return "bf16", array
    dtype = DTYPE_NAMES.get((array.dtype.kind, array.dtype.itemsize))
    if dtype is None:
        raise BadSample(
            f"{name} has the type {array.dtype}, which no field can have: give numbers of "
            "i8 u8 i16 i32 i64 f16 bf16 f32 f64 or bool, or bytes"
        )
    return dtype, array.astype(array.dtype.newbyteorder("<"), copy=False)


def _array(name: str, value: Any) -> np.ndarray:
    if hasattr(value, "detach"):  # a torch tensor
        value = value.detach().cpu().numpy()
    try:
        array = np.asarray(value)
    except (ValueError, TypeError) as e:  # a ragged list
        raise BadSample(f"{name} is no array: {e}") from None
    if array.dtype == object or array.dtype.kind in "USV":
        raise BadSample(
            f"{name} is a {type(value).__name__} that is no array of numbers: give lists, arrays or tensors of "
            "numbers, a text, or bytes"
        )
    return array


def _data(array: np.ndarray):
    return memoryview(np.ascontiguousarray(array)).cast("B") if array.size else b""


def _names(sample: Mapping) -> str:
    return ", ".join(repr(n) for n in list(sample)[:20]) or "none"
