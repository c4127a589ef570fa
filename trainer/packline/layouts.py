"""A pack as the trainer takes it. No layout has an attention mask: sample bounds are in positions
and cu_seqlens. The first token of each sample never carries loss.

| layout | is for | labels | padded |
| --- | --- | --- | --- |
| `rows` | frameworks that collate samples themselves | unshifted | no |
| `columns` | your own collator, at the least cost: nothing is copied or made | as the encoder's | no |
| `numpy` | your own code; has the settings of the padding | unshifted | no |
| `hf` | Hugging Face models and their trainers | unshifted | yes |
| `flash` | models that call flash_attn_varlen_func | unshifted | yes |
| `megatron` | Megatron-Core, PackedSeqParams of qkv_format "thd" | shifted | yes |
| `torchtitan` | torchtitan | shifted | yes |

Unshifted labels are shifted by the model or its loss (labels[t] is token t itself); shifted ones are
not (labels[t] is the token that follows t in its sample, -100 at a sample's last). What is padded is
said in packline.padding: a sample's own padding is inside its segment, the tail of the pack is one
more segment, which has no entry in ragged and opaque columns."""

from __future__ import annotations

from typing import Dict, List, Sequence, Tuple

import numpy as np

from .arrays import labels, positions, shifted, under_spans
from .cursor import Point
from .padding import NO_PADDING, Padding, padded, real_bounds
from .samples import IGNORE, Column, Samples

LAYOUTS = ("rows", "columns", "numpy", "hf", "flash", "megatron", "torchtitan")
OF_TENSORS = LAYOUTS[3:]

# What each layout puts under names of its own: no column of the encoder's can have these.
_RESERVED = {
    "rows": {"sample_id"},
    "columns": {"lengths"},
    "numpy": {
        "epoch", "window", "pack", "sample_multiple_of", "pad_to_multiple_of", "pad_id", "columns",
        "dropped", "sample_ids", "lengths", "cu_seqlens", "max_seqlen",
    },
    "hf": {"cu_seq_lens_q", "cu_seq_lens_k", "max_length_q", "max_length_k"},
    "flash": {"cu_seqlens", "max_seqlen"},
    "megatron": {"tokens", "loss_mask", "cu_seqlens", "cu_seqlens_padded", "max_seqlen"},
    "torchtitan": {"input", "positions"},
}  # fmt: skip


def check_layout(layout: str, drop: Sequence[str]) -> None:
    """ValueError where PackStream was given what no layout can do."""
    if layout not in LAYOUTS:
        raise ValueError(f"layout must be one of {', '.join(LAYOUTS)}, is {layout!r}")
    if isinstance(drop, str) or {"input_ids", "labels"} & set(drop):
        raise ValueError(f"drop must list columns beside input_ids and labels, is {drop!r}")


def check_columns(layout: str, samples: Samples, drop: tuple) -> None:
    """ValueError where a column of the encoder's that is not in `drop` would stand under a name
    that the layout itself uses, or has positions that it cannot take: one of the two would be lost
    without a word."""
    for name, column in _columns(samples, drop):
        if name in _RESERVED[layout] or (layout in _OF_ARRAYS and _is_rows_of(name, samples, drop)):
            raise ValueError(
                f'the samples have a column "{name}", a name that layout "{layout}" uses itself: '
                "give the column another name in the data, leave it out by "
                f'PackStream(drop=("{name}",)), or take another layout'
            )
        if name == "position_ids" and column.kind != "per_token" and layout in OF_TENSORS:
            raise ValueError(
                f'the samples have a column "position_ids" of kind {column.kind}, and layout '
                f'"{layout}" takes positions per token: give it another name in the data, or leave '
                'it out by PackStream(drop=("position_ids",)) to have them count from 0'
            )


_OF_ARRAYS = ("columns", "numpy")


def _is_rows_of(name: str, samples: Samples, drop: tuple) -> bool:
    """Whether a layout of arrays gives the rows of a column under that name."""
    of = name[: -len("_rows")] if name.endswith("_rows") else ""
    return of not in drop and of in samples.columns and samples.columns[of].rows is not None


def build(layout: str, samples: Samples, at: Point, drop: tuple, padding: Padding = NO_PADDING):
    if layout == "rows":
        return rows(samples, drop)
    if layout == "columns":
        return columns(samples, drop)
    if layout == "numpy":
        return numpy_pack(samples, at, drop, padding)
    return _TENSORS[layout](samples, drop, padding)


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
            _deal(out, name, under_spans(samples, column, np.int32), bounds)
    _deal(out, "labels", labels(samples, np.int32), bounds)
    return out


def columns(samples: Samples, drop: tuple = ()) -> Dict[str, np.ndarray]:
    """The columns as they were received, read-only, over the memory of the message: `lengths` u32
    [n]; per-token columns [T, *item], `input_ids` int32 among them; ragged ones [sum of rows,
    *item], opaque ones u8 [bytes] and spans u32 [sum of rows, 2], each with `NAME_rows` u32 [n].
    `labels` is the encoder's own: int32 per token, or spans in which labels are the input_ids;
    without it every token carries loss. The first token of each sample never does, whatever it
    says. bf16 is u16. Who keeps an array keeps its whole pack in memory."""
    out = {"lengths": samples.lengths}
    for name, column in samples.columns.items():
        if name not in drop:
            out[name] = column.data
            if column.rows is not None:
                out[name + "_rows"] = column.rows
    out.setdefault("input_ids", samples.input_ids)
    return out


def numpy_pack(
    samples: Samples, at: Point, drop: tuple = (), padding: Padding = NO_PADDING
) -> dict:
    """One dict: `input_ids`, `labels`, `position_ids` int32 [T]; `lengths` int32 [n]; `cu_seqlens`
    int32 [n + 1]; `max_seqlen`; `sample_ids`; `epoch`, `window`, `pack`: its place in the stream;
    `columns`: the encoder's own, `dropped`: those left out. Ragged columns are [sum of rows,
    *item] with `NAME_rows` int32 [n]; opaque ones a list of bytes; bf16 is u16. Nothing is padded:
    `sample_multiple_of`, `pad_to_multiple_of` and `pad_id`, ints, say how the job would have it."""
    out = {
        "epoch": at.epoch,
        "window": at.window,
        "pack": at.pack,
        "sample_multiple_of": padding.sample_multiple_of,
        "pad_to_multiple_of": padding.pad_to_multiple_of,
        "pad_id": padding.pad_id,
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
            out[name] = under_spans(samples, column, np.int32)
        else:
            out[name] = column.data.copy()
        if column.kind == "ragged":
            out[name + "_rows"] = column.rows.astype(np.int32)
    out["labels"] = labels(samples, np.int32)
    out.setdefault("input_ids", samples.input_ids)
    return out


def hf(samples: Samples, drop: tuple = (), padding: Padding = NO_PADDING) -> Dict[str, object]:
    """Tensors for a Hugging Face model that takes packed rows: `input_ids`, `labels`,
    `position_ids` int64 [1, T]; `cu_seq_lens_q`, `cu_seq_lens_k` int32 [n + 1]; `max_length_q`,
    `max_length_k` ints; the encoder's other columns: per token [1, T, *item], ragged [sum of rows,
    *item], opaque lists of bytes. A `position_ids` of the encoder's own wins over the derived one;
    with k rows a token it is [k, 1, T]. A pack without tokens is one padding token: id pad_id,
    label -100."""
    import torch

    samples = padded(samples, padding)
    ids = samples.input_ids.astype(np.int64)
    bounds = samples.starts.astype(np.int32)
    longest = samples.longest
    out = {
        "input_ids": torch.from_numpy(ids.reshape(1, -1)),
        "labels": torch.from_numpy(labels(samples, np.int64, ids).reshape(1, -1)),
        "position_ids": torch.from_numpy(_row(_positions(samples, drop))),
        "cu_seq_lens_q": torch.from_numpy(bounds),
        "cu_seq_lens_k": torch.from_numpy(bounds.copy()),
        "max_length_q": longest,
        "max_length_k": longest,
    }
    return _with_columns(torch, out, samples, drop)


def flash(samples: Samples, drop: tuple = (), padding: Padding = NO_PADDING) -> Dict[str, object]:
    """Tensors without a batch dimension, as flash_attn_varlen_func takes its queries [T, heads,
    dim]: `input_ids`, `labels`, `position_ids` int64 [T]; `cu_seqlens` int32 [n + 1]; `max_seqlen`
    int; the encoder's other columns as in hf, per-token ones [T, *item]. A `position_ids` of the
    encoder's own with k rows a token is [k, T]."""
    import torch

    samples = padded(samples, padding)
    ids = samples.input_ids.astype(np.int64)
    out = {
        "input_ids": torch.from_numpy(ids),
        "labels": torch.from_numpy(labels(samples, np.int64, ids)),
        "position_ids": torch.from_numpy(_positions(samples, drop)),
        "cu_seqlens": torch.from_numpy(samples.starts.astype(np.int32)),
        "max_seqlen": samples.longest,
    }
    return _with_columns(torch, out, samples, drop, batched=False)


def megatron(
    samples: Samples, drop: tuple = (), padding: Padding = NO_PADDING
) -> Dict[str, object]:
    """Tensors for Megatron-Core: `tokens`, `labels` (shifted), `position_ids` int64 [1, T];
    `loss_mask` float32 [1, T], 0 where the label is -100, else 1; `cu_seqlens`, of the samples'
    real lengths, and `cu_seqlens_padded`, where they stand, int32 [n + 1]; `max_seqlen` int, of the
    padded lengths; the encoder's other columns as in hf, not shifted. They are PackedSeqParams'
    cu_seqlens_q and _kv, cu_seqlens_q_padded and _kv_padded, max_seqlen_q and _kv. The tail counts
    in both, as the sample of padding that Megatron-Core itself would append."""
    import torch

    packed = padded(samples, padding)
    ids = packed.input_ids.astype(np.int64)
    targets = shifted(labels(packed, np.int64, ids))
    out = {
        "tokens": torch.from_numpy(ids.reshape(1, -1)),
        "labels": torch.from_numpy(targets.reshape(1, -1)),
        "loss_mask": torch.from_numpy((targets != IGNORE).astype(np.float32).reshape(1, -1)),
        "position_ids": torch.from_numpy(_row(_positions(packed, drop))),
        "cu_seqlens": torch.from_numpy(real_bounds(samples, packed).astype(np.int32)),
        "cu_seqlens_padded": torch.from_numpy(packed.starts.astype(np.int32)),
        "max_seqlen": packed.longest,
    }
    return _with_columns(torch, out, packed, drop)


def torchtitan(
    samples: Samples, drop: tuple = (), padding: Padding = NO_PADDING
) -> Tuple[Dict[str, object], object]:
    """What a torchtitan dataloader yields: ({`input`, `positions` int64 [1, T]}, labels int64
    [1, T]), the labels shifted and -100 (its loss's ignore_index) where there is no loss. The
    encoder's other columns are in the dict as in hf, not shifted; the model gets them by name."""
    import torch

    samples = padded(samples, padding)
    ids = samples.input_ids.astype(np.int64)
    targets = shifted(labels(samples, np.int64, ids))
    out = {
        "input": torch.from_numpy(ids.reshape(1, -1)),
        "positions": torch.from_numpy(_row(_positions(samples, drop))),
    }
    return _with_columns(torch, out, samples, drop), torch.from_numpy(targets.reshape(1, -1))


_TENSORS = {"hf": hf, "flash": flash, "megatron": megatron, "torchtitan": torchtitan}


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


def _positions(samples: Samples, drop: tuple) -> np.ndarray:
    """int64 [T], or [k, T] where the encoder gave k a token."""
    own = samples.columns.get("position_ids")
    if own is None or own.kind != "per_token" or "position_ids" in drop:
        return positions(samples, np.int64)
    return np.array(own.data.T, np.int64, order="C")


def _row(values: np.ndarray) -> np.ndarray:
    """[T] as [1, T], [k, T] as [k, 1, T]."""
    return values[..., None, :]


_MADE = ("input_ids", "position_ids")  # by every layout of tensors, under one name or another


def _with_columns(torch, out: dict, samples: Samples, drop: tuple, batched: bool = True) -> dict:
    for name, column in _columns(samples, drop):
        if name not in _MADE:
            out[name] = _tensor(torch, samples, column, batched)
    return out


def _tensor(torch, samples: Samples, column: Column, batched: bool):
    if column.kind == "opaque":
        return _opaque(column)
    if column.kind == "spans":
        tensor = torch.from_numpy(under_spans(samples, column, np.int64))
    elif column.dtype == "bf16":
        # The bits travel as u16; torch of old has no u16, so they pass as i16.
        tensor = torch.from_numpy(column.data.view("<i2").copy()).view(torch.bfloat16)
    else:
        tensor = torch.from_numpy(column.data.copy())
    return tensor if column.kind == "ragged" or not batched else tensor.unsqueeze(0)
