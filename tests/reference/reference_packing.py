"""Sizes and plans: docs/stream.md section 5.1, and how many samples a window looks at (5.2, steps 1 and 2).

A plan is a list of bins in the order of opening; a bin is an ascending list of places in `sizes`.
"""

import heapq
from dataclasses import dataclass
from typing import NamedTuple


@dataclass
class Candidate:
    """A sample that waits to be packed."""

    tokens: int
    media: bool = False  # it has a row in some ragged field
    age: int = 0  # for how many windows it has been carried
    begin: int = 0  # the tokens before this one went with earlier windows (wrapped)
    number: int = 0  # of its record in the lane
    index: int = 0  # of the sample in its record
    last: bool = True  # it is the record's last sample
    sample: object = None


class Placed(NamedTuple):
    """A sample in a pack, or its tokens [begin, end); repetition k > 0: its k-th copy in this window."""

    candidate: int
    begin: int
    end: int
    repetition: int = 0


@dataclass
class Closing:
    """What becomes of a window's candidates."""

    packs: list  # of lists of Placed, in the order of opening
    considered: int  # how many candidates were looked at
    last: bool
    lost: list = ()  # Placed that remainder: drop loses
    cut: int = 0  # how many tokens of the candidate after those considered are gone (wrapped)


def sizes_of(candidates, pack):
    to = pack["sample_multiple_of"]
    return [up_to_multiple(c.tokens, to) for c in candidates]


def up_to_multiple(n, m):
    return (n + m - 1) // m * m


def is_full(b, pack):
    return pack["max_samples"] > 0 and len(b) == pack["max_samples"]


def largest_first(places, sizes):
    return sorted(places, key=lambda i: -sizes[i])  # sorted() keeps the order of equals


def total(b, sizes):
    return sum(sizes[i] for i in b)


# 5.1 Plans


def best_fit_decreasing(places, sizes, pack):
    capacity, bins, room = pack["capacity"], [], []
    at_room = [[] for _ in range(capacity + 1)]  # bins by their free room, the one that came last at the end
    for i in largest_first(places, sizes):
        for r in range(sizes[i], capacity + 1):
            if at_room[r]:
                b = at_room[r].pop()
                break
        else:
            b = len(bins)
            bins.append([])
            room.append(capacity)
        bins[b].append(i)
        room[b] -= sizes[i]
        if not is_full(bins[b], pack):
            at_room[room[b]].append(b)
    return [sorted(b) for b in bins]


def first_fit_decreasing(places, sizes, pack):
    bins, room = [], []
    for i in largest_first(places, sizes):
        for b, free in enumerate(room):
            if sizes[i] <= free:
                break
        else:
            b = len(bins)
            bins.append([])
            room.append(pack["capacity"])
        bins[b].append(i)
        room[b] = -1 if is_full(bins[b], pack) else room[b] - sizes[i]
    return [sorted(b) for b in bins]


def sequential(places, sizes, pack):
    bins, room = [], 0
    for i in places:
        if not bins or sizes[i] > room or is_full(bins[-1], pack):
            bins.append([])
            room = pack["capacity"]
        bins[-1].append(i)
        room -= sizes[i]
    return bins


def spread_over(places, sizes, n, pack):
    """`n` bins of even sizes; None where a sample does not fit into the bin whose turn it is."""
    bins, least = [[] for _ in range(n)], [(0, b) for b in range(n)]  # a heap of those that are not full
    for i in largest_first(places, sizes):
        if not least or least[0][0] + sizes[i] > pack["capacity"]:
            return None
        taken, b = heapq.heappop(least)
        bins[b].append(i)
        if not is_full(bins[b], pack):
            heapq.heappush(least, (taken + sizes[i], b))
    return [sorted(b) for b in bins]


def plan(places, sizes, pack):
    """By the job's strategy; *spread* plans by best fit where it is not told how many bins."""
    plans = {"first_fit_decreasing": first_fit_decreasing, "sequential": sequential}
    return plans.get(pack["strategy"], best_fit_decreasing)(places, sizes, pack)


def preference(b, sizes, pack):
    """5.2, step 4, without ages: the least is taken first; of equals, the first in the order of opening."""
    room = pack["capacity"] - total(b, sizes)
    return (room * 1024 // pack["capacity"], -len(b))


# 5.2, steps 1 and 2


def prefix_beyond(sizes, tokens):
    """How many samples the shortest prefix has whose sizes exceed `tokens`; all where none does."""
    so_far = 0
    for i, n in enumerate(sizes):
        so_far += n
        if so_far > tokens:
            return i + 1
    return len(sizes)


def furthest(sizes, pack, k, s, fits):
    """How many of the first samples are planned. `fits(x)`: whether the first x are not too many."""
    capacity, packs = pack["capacity"], pack["packs_per_window"]
    cap = min(prefix_beyond(sizes, packs * capacity) + s, prefix_beyond(sizes, (packs + k) * capacity), len(sizes))
    if pack["max_samples"]:
        cap = min(cap, (packs + k) * pack["max_samples"] + 1)
    if fits(cap):
        return cap
    step, hi, lo = max(1, cap // 64), cap, 0
    while True:
        x = hi - step if hi > step else 0
        if x == 0 or fits(x):
            lo = x
            break
        hi, step = x, 2 * step
    while hi - lo > 1:
        mid = (lo + hi) // 2
        if fits(mid):
            lo = mid
        else:
            hi = mid
    return lo


def whole(bins, candidates):
    """Bins of places as bins of what is placed: the samples as they are."""
    return [[Placed(i, 0, candidates[i].tokens) for i in b] for b in bins]
