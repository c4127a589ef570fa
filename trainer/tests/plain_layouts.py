"""The layouts of tensors in the slowest and plainest way, token by token over the samples: what the
package is held against. Uses none of its code."""

from __future__ import annotations

from typing import Dict, List, NamedTuple

from raw import Raw, labels_of


class Plain(NamedTuple):
    """A padded pack. `columns`: the per-token ones, but for input_ids, labels and position_ids."""

    ids: List[int]
    labels: List[int]  # unshifted
    targets: List[int]  # shifted
    positions: list
    real: List[int]  # lengths
    padded: List[int]
    columns: Dict[str, list]

    @property
    def real_bounds(self):
        return [sum(self.real[:i]) for i in range(len(self.real) + 1)]

    @property
    def padded_bounds(self):
        return [sum(self.padded[:i]) for i in range(len(self.padded) + 1)]


def plain(raw: Raw, sample_multiple_of=1, pad_to_multiple_of=1, pad_id=0) -> Plain:
    out = Plain([], [], [], [], [], [], {})
    own = {k: f for k, f in raw.fields.items() if f.kind == "per_token"}
    for k in own:
        if k not in ("input_ids", "labels", "position_ids"):
            out.columns[k] = []

    def nothing(k):  # the item of a padding token
        value = 0
        for size in reversed(own[k].shape):
            value = [value] * size
        return value

    def add_padding(position):
        out.ids.append(pad_id)
        out.labels.append(-100)
        out.targets.append(-100)
        if "position_ids" in own and own["position_ids"].shape:
            position = [position] * own["position_ids"].shape[0]
        out.positions.append(position)
        for k in out.columns:
            out.columns[k].append(nothing(k))

    labels = labels_of(raw)
    for i, length in enumerate(raw.lengths if sum(raw.lengths) else []):
        for t in range(length):
            out.ids.append(raw.fields["input_ids"].values[i][t])
            out.labels.append(labels[i][t])
            out.targets.append(labels[i][t + 1] if t + 1 < length else -100)
            out.positions.append(own["position_ids"].values[i][t] if "position_ids" in own else t)
            for k in out.columns:
                out.columns[k].append(own[k].values[i][t])
        size = length
        while size % sample_multiple_of:
            add_padding(size)
            size += 1
        out.real.append(length)
        out.padded.append(size)
    tail = 0
    while not out.ids or len(out.ids) % pad_to_multiple_of or len(out.ids) % sample_multiple_of:
        add_padding(tail)
        tail += 1
    if tail:
        out.real.append(tail)
        out.padded.append(tail)
    return out


def under_spans(raw: Raw, name: str, p: Plain) -> List[int]:
    """A spans column over the padded pack: input_ids inside the spans, -100 outside."""
    out = [-100] * len(p.ids)
    for i, spans in enumerate(raw.fields[name].values):
        for begin, end in spans:
            for t in range(begin, end):
                at = p.padded_bounds[i] + t
                out[at] = p.ids[at]
    return out
