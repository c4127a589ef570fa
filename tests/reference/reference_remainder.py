"""Bins brought to a number of packs: docs/stream.md section 5.3, all but *wrapped* (reference_wrapped.py)."""

from reference_packing import largest_first, preference, sizes_of, spread_over, total, up_to_multiple, whole


def spread(bins, sizes, q, pack):
    """`q` bins of the samples of `bins`, q >= their number."""
    if len(bins) >= q:
        return bins
    if pack["strategy"] == "sequential":
        return split_in_order(bins, sizes, q)
    even = spread_over(sorted(i for b in bins for i in b), sizes, q, pack)
    return halve(bins, sizes, q) if even is None else even


def largest_of_several(bins, sizes):
    """The bin with the largest total among those with two samples or more, the first of equals; None without any."""
    several = [b for b, places in enumerate(bins) if len(places) >= 2]
    return max(several, key=lambda b: total(bins[b], sizes), default=None)  # max() keeps the first of equals


def split_in_order(bins, sizes, q):
    bins = [list(b) for b in bins]
    while len(bins) < q:
        b = largest_of_several(bins, sizes)
        if b is None:
            return bins + [[] for _ in range(q - len(bins))]
        places = bins[b]
        cut = min(range(1, len(places)), key=lambda c: max(total(places[:c], sizes), total(places[c:], sizes)))
        bins[b : b + 1] = [places[:cut], places[cut:]]
    return bins


def halve(bins, sizes, q):
    bins = [list(b) for b in bins]
    while len(bins) < q:
        b = largest_of_several(bins, sizes)
        if b is None:
            return bins + [[] for _ in range(q - len(bins))]
        halves, totals = ([], []), [0, 0]
        for i in largest_first(bins[b], sizes):
            h = 0 if totals[0] <= totals[1] else 1
            halves[h].append(i)
            totals[h] += sizes[i]
        bins[b] = sorted(halves[0])
        bins.append(sorted(halves[1]))
    return bins


def repeated(placed, k):
    """A pack once more, as the k-th repetition of its samples."""
    return [p._replace(repetition=k) for p in placed]


def repeat(packs, q):
    p = len(packs)
    return packs + [repeated(packs[j % p], j // p) for j in range(p, q)]


def least_preferred(bins, sizes, n, pack):
    """The places in `bins` of the `n` that are lost."""
    if pack["strategy"] == "sequential":
        return set(range(len(bins) - n, len(bins)))
    order = sorted(range(len(bins)), key=lambda b: preference(bins[b], sizes, pack))
    return set(order[len(bins) - n :])


def bring_to_multiple(bins, candidates, pack, spread=spread):
    """(packs, lost): what stands in each pack, and what is lost. `spread`: how, where it is to be spread."""
    p, m = len(bins), pack["dp_size_multiple"]
    sizes = sizes_of(candidates, pack)
    if pack["remainder"] == "spread":
        return whole(spread(bins, sizes, up_to_multiple(p, m), pack), candidates), []
    if pack["remainder"] == "repeat":
        return repeat(whole(bins, candidates), up_to_multiple(p, m)), []
    gone = least_preferred(bins, sizes, p % m, pack)
    packs = whole(bins, candidates)
    kept = [b for i, b in enumerate(packs) if i not in gone]
    return kept, [placed for i in sorted(gone) for placed in packs[i]]
