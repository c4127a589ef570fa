"""Several packs of a layout of tensors as one micro batch."""

from __future__ import annotations

from typing import List

from .layouts import OF_TENSORS
from .padding import Padding

_CUMULATIVE = ("cu_seq_lens_q", "cu_seq_lens_k", "cu_seqlens", "cu_seqlens_padded")
_POSITIONS = ("position_ids", "positions")


def check_stackable(layout: str, capacity: int, padding: Padding) -> None:
    """ValueError where stack() could not take any packs that may come: some micro batches would
    work by luck, and one fail in the middle of a run."""
    if layout not in OF_TENSORS:
        raise ValueError(
            f'layout "{layout}" has no micro batches: its packs are not tensors of one shape. Take '
            f"one of {', '.join(OF_TENSORS)}, or collate them yourself"
        )
    if layout != "flash" and padding.pad_to_multiple_of != capacity:
        raise ValueError(
            "packs can be stacked only when all have one length: set pack.pad_to_multiple_of: "
            f"{capacity or 'to the capacity'} in the job file (it is {padding.pad_to_multiple_of}), "
            "or take one pack at a time (batch_size=None)"
        )


def stack(layout: str, packs: list):
    """B packs as one, in the layout's form: what is [1, T, ...] in a pack is [B, T, ...], positions
    [k, 1, T] are [k, B, T]; in "flash" what is [T, ...] is [sum of T, ...]. cu_seqlens run on from
    pack to pack, as over the flattened tokens; lengths are the longest; ragged columns and lists
    stand one after the other. ValueError when a pack has columns that another lacks."""
    if layout == "torchtitan":
        import torch

        return _dicts(layout, [p for p, _ in packs]), torch.cat([labels for _, labels in packs])
    return _dicts(layout, packs)


def _dicts(layout: str, packs: List[dict]) -> dict:
    import torch

    names = set(packs[0])
    for k, pack in enumerate(packs):
        other = sorted(names.symmetric_difference(pack))
        if other:
            raise ValueError(
                f"packs 0 and {k} of this micro batch do not both have {', '.join(other)}: let the "
                "encoder give such columns for every sample, or leave them out by "
                "PackStream(drop=...)"
            )
    out = {}
    for name, first in packs[0].items():
        values = [pack[name] for pack in packs]
        if name in _CUMULATIVE:
            out[name] = _chain(torch, values)
        elif isinstance(first, int):
            out[name] = max(values)
        elif isinstance(first, list):
            out[name] = sum(values, [])
        elif name in _POSITIONS:
            out[name] = torch.cat(values, -1 if layout == "flash" else -2)
        else:
            out[name] = torch.cat(values)
    return out


def _chain(torch, values: list):
    parts, end = [values[0]], values[0][-1]
    for value in values[1:]:
        parts.append(value[1:] + end)
        end = parts[-1][-1]
    return torch.cat(parts)
