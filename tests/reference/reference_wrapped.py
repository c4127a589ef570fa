"""The token stream cut into packs: docs/stream.md sections 5.2 and 5.3, *wrapped*."""

from reference_packing import Closing, Placed, up_to_multiple
from reference_remainder import repeat


def cut_at(candidates, ends):
    """Packs that end at these places of the candidates' tokens, ascending, the first beginning at 0."""
    packs, i, at = [], 0, 0  # `at` is the place; `begin` the token of candidate i that stands there
    begin = candidates[0].begin if candidates else 0
    for end in ends:
        packs.append([])
        while at < end:
            n = min(end - at, candidates[i].tokens - begin)
            packs[-1].append(Placed(i, begin, begin + n))
            at, begin = at + n, begin + n
            if begin == candidates[i].tokens:
                i += 1
                begin = candidates[i].begin if i < len(candidates) else 0
    return packs, i, begin


def close_wrapped(candidates, pack):
    capacity, packs, m = pack["capacity"], pack["packs_per_window"], pack["dp_size_multiple"]
    left = sum(c.tokens - c.begin for c in candidates)
    if left > packs * capacity:
        placed, considered, begin = cut_at(candidates, [(k + 1) * capacity for k in range(packs)])
        return Closing(placed, considered, False, cut=begin)
    p = (left + capacity - 1) // capacity
    q = up_to_multiple(p, m)
    ends = [min(left, (k + 1) * capacity) for k in range(p)]
    if pack["remainder"] == "spread" and q > p:
        ends = [(k + 1) * left // q for k in range(q)]
    elif pack["remainder"] == "drop":
        ends = ends[: p // m * m]
    placed, gone, begin = cut_at(candidates, ends)
    lost = [Placed(i, begin if i == gone else candidates[i].begin, candidates[i].tokens)
            for i in range(gone, len(candidates))]
    if pack["remainder"] == "repeat":
        placed = repeat(placed, q)
    return Closing(placed, len(candidates), True, lost)
