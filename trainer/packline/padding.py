"""Padding of a pack: behind each sample, and at the pack's end."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from .arrays import SLICE_TOKENS, positions, ramp
from .samples import IGNORE, Column, Samples


class Padding(NamedTuple):
    """The job's pack.sample_multiple_of and pack.pad_to_multiple_of (tokens; both divide the
    capacity), and pack.pad_id."""

    sample_multiple_of: int = 1
    pad_to_multiple_of: int = 1
    pad_id: int = 0

    @property
    def end_multiple_of(self) -> int:
        """Tokens; what a padded pack's length is a multiple of. Of both, so that the tail can be
        dealt over context parallel ranks like a sample; it still divides the capacity."""
        return math.lcm(self.sample_multiple_of, self.pad_to_multiple_of)


NO_PADDING = Padding()


def padded(samples: Samples, padding: Padding) -> Samples:
    """The pack with each sample lengthened to a multiple of sample_multiple_of, and one more
    sample, the tail, where the pack's end is not a multiple of end_multiple_of; `samples` itself
    where nothing is lacking. A pack without tokens becomes a tail alone, of at least one token.

    Padding has id pad_id, label -100, in `position_ids` of the encoder's own the numbers 0, 1, ...
    of its sample or tail, and 0 in the other per-token columns. The tail is a sample, so that
    attention kernels work it out: what no segment covers they leave unwritten, and what stands
    there may be NaN, which a loss mask of 0 does not take away."""
    tokens, multiple = samples.tokens, padding.sample_multiple_of
    if multiple == 1 and tokens and tokens % padding.pad_to_multiple_of == 0:
        return samples
    end = padding.end_multiple_of
    lengths = samples.lengths.astype(np.int64) if tokens else np.zeros(0, np.int64)
    lengths += -lengths % multiple
    size = int(lengths.sum())
    tail = -size % end if tokens else end
    if size + tail == tokens:
        return samples
    if tail:
        lengths = np.append(lengths, tail)
    out = Samples(lengths.astype(np.uint32), {}, np.zeros(0, np.uint32), b"")
    _pad_columns(samples, out, padding, None if size == tokens else _places(samples, out))
    return out


def real_bounds(samples: Samples, packed: Samples) -> np.ndarray:
    """int64 [n + 1]: the running sum of the lengths that `samples` had before padded() made
    `packed` of them. The tail counts as it is."""
    if packed is samples:
        return samples.starts
    own = samples.count if samples.tokens else 0
    lengths = np.concatenate([[0], samples.lengths[:own], packed.lengths[own:]])
    return lengths.cumsum(dtype=np.int64)


def _places(samples: Samples, out: Samples):
    """Where the tokens of `samples` go in `out`: [(begin, end, begin in out)], or int64 [tokens]."""
    starts = out.starts[: samples.count]
    if samples.count * SLICE_TOKENS <= samples.tokens:
        bounds = samples.starts.tolist()
        return list(zip(bounds, bounds[1:], starts.tolist()))
    moved = (starts - samples.starts[:-1]).repeat(samples.lengths)
    return np.add(ramp(samples.tokens)[: samples.tokens], moved, out=moved)


def _put(out: np.ndarray, data: np.ndarray, places) -> np.ndarray:
    if places is None:
        out[: len(data)] = data
    elif isinstance(places, list):
        for begin, end, to in places:
            out[to : to + end - begin] = data[begin:end]
    else:
        out[places] = data
    return out


def _pad_columns(samples: Samples, out: Samples, padding: Padding, places) -> None:
    def spread(data, fill):
        return _put(np.full((out.tokens, *data.shape[1:]), fill, data.dtype), data, places)

    for name, c in samples.columns.items():
        if c.kind == "spans":  # they count from their sample's start, which stays; the tail has none
            rows = c.rows if samples.tokens else c.rows[:0]
            c = c._replace(rows=np.append(rows, np.zeros(out.count - len(rows), np.uint32)))
        elif c.kind != "per_token":  # one entry a sample, whatever is padded
            if not samples.tokens:
                c = c._replace(data=c.data[:0], rows=np.zeros(1, np.uint32))
        elif name == "labels":
            c = _column(name, spread(c.data.astype(np.int32, copy=False), IGNORE))
        elif name == "position_ids":
            own = np.empty((out.tokens, *c.data.shape[1:]), c.data.dtype)
            own.T[...] = positions(out, np.int64)
            c = c._replace(data=_put(own, c.data, places))
        elif name != "input_ids":
            c = c._replace(data=spread(c.data, 0))
        out.columns[name] = c
    ids = samples.input_ids.astype(np.int32, copy=False)
    out.columns["input_ids"] = _column("input_ids", spread(ids, padding.pad_id))
    if "labels" not in samples.columns:
        out.columns["labels"] = _column("labels", spread(ids, IGNORE))


def _column(name: str, data: np.ndarray) -> Column:
    return Column(name, "i32", "per_token", data, None)
