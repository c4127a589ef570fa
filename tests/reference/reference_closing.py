"""The closing of a window: docs/stream.md section 5.2. *wrapped* is in reference_wrapped.py."""

from reference_packing import Closing, furthest, plan, preference, sequential, sizes_of, spread_over, whole
from reference_remainder import bring_to_multiple, spread
from reference_same_kind import close_by_kind, exchange, is_media_bin
from reference_wrapped import close_wrapped


def last_window(bins, candidates, pack):
    packs, lost = bring_to_multiple(bins, candidates, pack)
    return Closing(packs, len(candidates), True, lost)


def close_sequential(candidates, pack):
    sizes, n = sizes_of(candidates, pack), pack["packs_per_window"]
    bins = sequential(range(len(sizes)), sizes, pack)
    if len(bins) <= n:
        return last_window(bins, candidates, pack)
    return Closing(whole(bins[:n], candidates), sum(len(b) for b in bins[:n]), False)


def close_spread(candidates, pack):
    if pack["same_kind"]:
        return close_by_kind(candidates, pack)
    sizes, packs = sizes_of(candidates, pack), pack["packs_per_window"]

    def even(x):
        return spread_over(range(x), sizes, packs, pack)

    n = furthest(sizes, pack, 0, 0, lambda x: even(x) is not None)
    if n < len(candidates):
        return Closing(whole(even(n), candidates), n, False)
    bins = plan(range(n), sizes, pack)
    # Samples that spread over N bins may need more by best fit.
    return last_window(bins if len(bins) <= packs else even(n), candidates, pack)


def close_decreasing(candidates, pack):
    """Best fit and first fit decreasing."""
    packs, oldest, sizes = pack["packs_per_window"], pack["lookahead_windows_max"], sizes_of(candidates, pack)

    def look(k, s):
        return furthest(sizes, pack, k, s, lambda x: len(plan(range(x), sizes, pack)) <= packs + k)

    n = look(pack["lookahead_packs"], pack["lookahead_samples_max"])
    bins = plan(range(n), sizes, pack)
    if pack["same_kind"] and len(bins) <= packs:
        return close_by_kind(candidates, pack)
    if n == len(candidates) and len(bins) <= packs:
        return last_window(bins, candidates, pack)

    must_go = [any(candidates[i].age >= oldest for i in b) for b in bins]
    if sum(must_go) > packs:
        if pack["same_kind"]:
            return close_by_kind(candidates, pack)
        n = look(0, 0)
        return Closing(whole(spread(plan(range(n), sizes, pack), sizes, packs, pack), candidates), n, False)

    order = sorted(range(len(bins)), key=lambda b: (not must_go[b], *preference(bins[b], sizes, pack)))
    chosen = order[:packs]
    if pack["same_kind"]:
        chosen = exchange(order, [is_media_bin(b, candidates) for b in bins], packs, pack["dp_size_multiple"])
        if chosen is None:
            return close_by_kind(candidates, pack)
    taken = [bins[b] for b in sorted(chosen)]
    return Closing(whole(spread(taken, sizes, packs, pack), candidates), n, False)


def close_window(candidates, pack):
    """`candidates`: all that the lane has left. Its packs stand in the order of opening (5.4 orders them)."""
    closers = {"sequential": close_sequential, "wrapped": close_wrapped, "spread": close_spread}
    return closers.get(pack["strategy"], close_decreasing)(candidates, pack)
