"""What becomes of a sample before it is packed, and the parts of a sample: docs/stream.md section 4."""

from dataclasses import dataclass, replace

IGNORE = -100


class Stop(Exception):
    """over_long: error met a sample that is too long: the job stops."""


@dataclass
class Sample:
    id: str
    columns: dict  # name -> (struct letter of one value, values); input_ids among them
    labels: list  # one a token, the first IGNORE
    cut: int = 0  # tokens that over_long: truncate_right or truncate_left took

    @property
    def tokens(self):
        return len(self.columns["input_ids"][1])


@dataclass
class LostSample:
    reason: str
    tokens: int
    cut: int = 0  # as of a Sample


def cut_out(sample, begin, end):
    """Its tokens [begin, end) under its own id."""
    columns = {name: (letter, values[begin:end]) for name, (letter, values) in sample.columns.items()}
    labels = sample.labels[begin:end]
    labels[0] = IGNORE
    return replace(sample, columns=columns, labels=labels)


def part(sample, begin, end):
    p = cut_out(sample, begin, end)
    return replace(p, id=f"{sample.id}~{begin}") if begin > 0 else p


def repetition(sample, k):
    return replace(sample, id=f"{sample.id}*{k}")


def fit(sample, pack):
    """Steps 1 and 2: the Samples and LostSamples that it becomes."""
    n, capacity = sample.tokens, pack["capacity"]
    if n == 0:
        return [LostSample("empty", 0)]
    if n <= capacity or pack["strategy"] == "wrapped":
        return [sample]
    if pack["over_long"] == "drop":
        return [LostSample("over_long", n)]
    if pack["over_long"] == "error":
        raise Stop(f"{sample.id} has {n} tokens, the capacity is {capacity}")
    if pack["over_long"] == "split":
        return [part(sample, b, min(b + capacity, n)) for b in range(0, n, capacity)]
    begin = n - capacity if pack["over_long"] == "truncate_left" else 0
    return [replace(cut_out(sample, begin, begin + capacity), cut=n - capacity)]


def made_of(sample, pack):
    """Steps 1 to 3."""
    made = fit(sample, pack)
    if not pack["drop_unsupervised"]:
        return made
    return [LostSample("unsupervised", s.tokens, s.cut)
            if isinstance(s, Sample) and all(label == IGNORE for label in s.labels) else s for s in made]
