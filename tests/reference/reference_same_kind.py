"""Steps whose packs are all of one kind: docs/stream.md section 5.2, *same_kind*."""

from reference_packing import Closing, Placed, furthest, plan, sizes_of, up_to_multiple, whole
from reference_remainder import bring_to_multiple, spread


def is_media_bin(b, candidates):
    return any(candidates[i].media for i in b)


def exchange(order, is_media, taken, m):
    """The bins that are taken of `order`, the order of preference: the first `taken` of them but for an exchange.

    None where an exchange is needed and none is possible. `is_media`: of each bin.
    """
    kept = order[:taken]
    r = sum(is_media[b] for b in kept) % m
    if r == 0:
        return kept
    best = None
    for go_media, n in ((True, r), (False, m - r)):
        go = [at for at in range(taken) if is_media[order[at]] == go_media][::-1][:n]
        come = [at for at in range(taken, len(order)) if is_media[order[at]] != go_media][:n]
        if len(go) < n or len(come) < n:
            continue
        cost = sum(come) - sum(go)
        if best is None or cost < best[0]:
            best = (cost, set(go), come)
    if best is None:
        return None
    return [b for at, b in enumerate(kept) if at not in best[1]] + [order[at] for at in best[2]]


def plan_by_kind(places, candidates, sizes, pack):
    """(media bins, the others' bins)."""
    return tuple(plan([i for i in places if candidates[i].media == kind], sizes, pack) for kind in (True, False))


def fill_empty(packs, media, candidates):
    """Packs of media samples where no one is empty: those that were get a repetition each."""
    filled, empty = [], 0
    for b in packs:
        if not b:
            i = media[empty % len(media)]
            b = [Placed(i, 0, candidates[i].tokens, empty // len(media) + 1)]
            empty += 1
        filled.append(b)
    return filled


def bring_kinds_to_multiple(media, others, candidates, pack, spread=spread):
    """Section 5.3 for the bins of each kind: (packs, lost)."""
    packs, lost = bring_to_multiple(media, candidates, pack, spread)
    packs = fill_empty(packs, sorted(i for b in media for i in b), candidates)
    more_packs, more_lost = bring_to_multiple(others, candidates, pack, spread)
    return packs + more_packs, lost + more_lost


def close_by_kind(candidates, pack):
    packs, m, sizes = pack["packs_per_window"], pack["dp_size_multiple"], sizes_of(candidates, pack)

    def kinds(x):
        return plan_by_kind(range(x), candidates, sizes, pack)

    def fits(x):
        return sum(up_to_multiple(len(bins), m) for bins in kinds(x)) <= packs

    n = furthest(sizes, pack, 0, 0, fits)
    media, others = kinds(n)
    if n == len(candidates):
        placed, lost = bring_kinds_to_multiple(media, others, candidates, pack)
        return Closing(placed, n, True, lost)
    if others:
        mb = up_to_multiple(len(media), m)
        media, others = spread(media, sizes, mb, pack), spread(others, sizes, packs - mb, pack)
    else:
        media = spread(media, sizes, packs, pack)
    placed = fill_empty(whole(media, candidates), [i for i in range(n) if candidates[i].media], candidates)
    return Closing(placed + whole(others, candidates), n, False)
