"""Plans, the closing of windows, the assigning of packs: docs/stream.md section 5."""

from dataclasses import dataclass

from reference_order import Rng, derive, shuffle

# 5.1 Plans. A plan is a list of bins, a bin a list of places in `lengths`.


def best_fit_decreasing(lengths, capacity):
    bins, room = [], []
    at_room = [[] for _ in range(capacity + 1)]  # bins by their free room, the one that came last at the end
    for i in sorted(range(len(lengths)), key=lambda i: -lengths[i]):
        for r in range(lengths[i], capacity + 1):
            if at_room[r]:
                b = at_room[r].pop()
                break
        else:
            b = len(bins)
            bins.append([])
            room.append(capacity)
        bins[b].append(i)
        room[b] -= lengths[i]
        at_room[room[b]].append(b)
    return [sorted(b) for b in bins]


def sequential(lengths, capacity):
    bins, room = [], 0
    for i, n in enumerate(lengths):
        if not bins or n > room:
            bins.append([])
            room = capacity
        bins[-1].append(i)
        room -= n
    return bins


# 5.2 Closing a window


@dataclass
class Candidate:
    number: int  # of its record in the lane
    index: int  # of the sample in its record
    last: bool  # it is the record's last sample
    sample: object
    age: int = 0


@dataclass
class Closing:
    taken: list  # places in the candidates, ascending
    considered: int  # how many candidates were looked at
    packs: int
    last: bool


def up_to_multiple(n, m):
    return (n + m - 1) // m * m


def prefix_beyond(lengths, tokens):
    """How many candidates the shortest prefix has whose tokens exceed `tokens`; all where none does."""
    total = 0
    for i, n in enumerate(lengths):
        total += n
        if total > tokens:
            return i + 1
    return len(lengths)


def furthest(lengths, pack, k, s):
    """Steps 1 and 2: the n candidates that are planned."""
    capacity, most = pack["capacity"], pack["packs_per_window"] + k

    def plan(x):
        return len(best_fit_decreasing(lengths[:x], capacity))

    cap = min(prefix_beyond(lengths, pack["packs_per_window"] * capacity) + s, prefix_beyond(lengths, most * capacity))
    cap = min(cap, len(lengths))
    if plan(cap) <= most:
        return cap
    step, hi, lo = max(1, cap // 64), cap, 0
    while True:
        x = hi - step if hi > step else 0
        if x == 0 or plan(x) <= most:
            lo = x
            break
        hi, step = x, 2 * step
    while hi - lo > 1:
        mid = (lo + hi) // 2
        if plan(mid) <= most:
            lo = mid
        else:
            hi = mid
    return lo


def close_sequential(lengths, pack):
    n, bins = pack["packs_per_window"], sequential(lengths, pack["capacity"])
    if len(bins) > n:
        taken = [i for b in bins[:n] for i in b]
        return Closing(taken, len(taken), n, False)
    everything = list(range(len(lengths)))
    return Closing(everything, len(lengths), up_to_multiple(len(bins), pack["dp_size_multiple"]), True)


def close_best_fit(candidates, lengths, pack):
    capacity, n_packs, oldest = pack["capacity"], pack["packs_per_window"], pack["lookahead_windows_max"]
    n = furthest(lengths, pack, pack["lookahead_packs"], pack["lookahead_samples_max"])
    bins = best_fit_decreasing(lengths[:n], capacity)
    if n == len(lengths) and len(bins) <= n_packs:
        return Closing(list(range(n)), n, up_to_multiple(len(bins), pack["dp_size_multiple"]), True)

    def must_go(b):
        return any(candidates[i].age >= oldest for i in b)

    if sum(must_go(b) for b in bins) > n_packs:
        n = furthest(lengths, pack, 0, 0)
        return Closing(list(range(n)), n, n_packs, False)

    def rank(b):
        room = capacity - sum(lengths[i] for i in b)
        return (not must_go(b), room * 1024 // capacity, -len(b))

    chosen = sorted(bins, key=rank)[:n_packs]  # sorted() keeps the order of equals
    return Closing(sorted(i for b in chosen for i in b), n, n_packs, False)


# 5.3 Assigning packs


def longest_first(places, lengths):
    return sorted(places, key=lambda i: -lengths[i])


def spread(bins, lengths, packs, capacity):
    even, tokens = [[] for _ in range(packs)], [0] * packs
    for i in longest_first(range(len(lengths)), lengths):
        b = tokens.index(min(tokens))
        even[b].append(i)
        tokens[b] += lengths[i]
    if max(tokens) <= capacity:
        return [sorted(b) for b in even]
    bins = [list(b) for b in bins]
    while len(bins) < packs:
        full = [sum(lengths[i] for i in b) if len(b) >= 2 else -1 for b in bins]
        if max(full) < 0:
            bins.append([])
            continue
        b = full.index(max(full))
        halves, sums = ([], []), [0, 0]
        for i in longest_first(bins[b], lengths):
            h = 0 if sums[0] <= sums[1] else 1
            halves[h].append(i)
            sums[h] += lengths[i]
        bins[b] = sorted(halves[0])
        bins.append(sorted(halves[1]))
    return bins


def assign(job, epoch, window, lengths, packs):
    pack = job["pack"]
    plan = sequential if pack["strategy"] == "sequential" else best_fit_decreasing
    bins = plan(lengths, pack["capacity"])
    if len(bins) < packs:
        bins = spread(bins, lengths, packs, pack["capacity"])
    assert len(bins) == packs, "the taken samples plan to more bins than were taken"
    if pack["strategy"] != "sequential":
        shuffle(bins, Rng(derive(job["seed"], 4, epoch, window)))
    return bins
