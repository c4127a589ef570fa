"""Random numbers and the order of an epoch: docs/stream.md sections 1 to 3."""

import math

MASK = (1 << 64) - 1


# 1. Random numbers


def mix64(x):
    x = (x + 0x9E3779B97F4A7C15) & MASK
    x = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) & MASK
    return x ^ (x >> 31)


def derive(seed, *path):
    h = mix64(seed)
    for p in path:
        h = mix64(h ^ p)
    return h


class Rng:
    def __init__(self, s):
        self.s = s

    def next(self):
        r = mix64(self.s)
        self.s = (self.s + 0x9E3779B97F4A7C15) & MASK
        return r

    def below(self, n):
        return (self.next() * n) >> 64


def shuffle(c, rng):
    for i in range(len(c), 1, -1):
        j = rng.below(i)
        c[i - 1], c[j] = c[j], c[i - 1]


# 2. A permutation without memory


def permutation(n, key):
    """perm(n, key) as a list: the place that each i < n goes to."""
    k = 1
    while 1 << (2 * k) < n:
        k += 1
    mask = (1 << k) - 1
    round_keys = [derive(key, r) for r in range(6)]

    def once(i):
        left, right = i >> k, i & mask
        for rk in round_keys:
            left, right = right, left ^ (mix64(rk ^ right) & mask)
        return left << k | right

    result = []
    for i in range(n):
        i = once(i)
        while i >= n:
            i = once(i)
        result.append(i)
    return result


# 3. The order of an epoch


def source_order(job, epoch, s, records):
    """The places of one source: a list of (record, copy)."""
    seed, shuffling = job["seed"], job["shuffle"]
    repeat = float(job["sources"][s].get("repeat", 1))
    whole = math.floor(repeat)
    extra = math.floor((repeat - whole) * records + 0.5)
    elements = [(j % records, j // records) for j in range(whole * records)]
    if extra:
        chosen = permutation(records, derive(seed, 1, epoch, s))
        elements += [(chosen[j], whole) for j in range(extra)]
    m = len(elements)
    if shuffling["kind"] == "none" or m == 0:
        return elements
    if shuffling["kind"] == "full":
        return [elements[j] for j in permutation(m, derive(seed, 2, epoch, s))]
    size, order = shuffling["size"], []
    for b in range((m + size - 1) // size):
        block = elements[b * size : (b + 1) * size]
        order += [block[j] for j in permutation(len(block), derive(seed, 3, epoch, s, b))]
    return order


def phases(job, sizes):
    """For each phase, how many places each source has in it."""
    if "weight" not in job["sources"][0]:
        return [list(sizes)]
    w = [max(1, math.floor(float(s["weight"]) * 1000000 + 0.5)) for s in job["sources"]]
    rem, all_phases = list(sizes), []
    while any(rem):
        first = None
        for i in range(len(rem)):
            if rem[i] > 0 and (first is None or rem[i] * w[first] < rem[first] * w[i]):
                first = i
        n = [min(rem[i], rem[first] * w[i] // w[first]) if rem[i] > 0 else 0 for i in range(len(rem))]
        n[first] = rem[first]
        rem = [r - x for r, x in zip(rem, n)]
        all_phases.append(n)
    return all_phases


def is_taken(job, source, record):
    """Whether the job's split has this record: the eval split those that are set aside, training the others."""
    settings = job.get("eval", {})
    below = math.floor(settings.get("fraction", 0) * 2.0**64)
    set_aside = derive(settings.get("seed", 0), 6, source, record) < below
    return set_aside == (job["split"] == "eval")


def seeds_of(job, epoch):
    """The epoch that seeds are drawn in: all evaluations are the same."""
    return 0 if job["split"] == "eval" else epoch


def epoch_order(job, epoch, records):
    """The whole order: a list of (source, record, copy). `records`: how many each source has."""
    ordered = [source_order(job, epoch, s, n) for s, n in enumerate(records)]
    used = [0] * len(records)
    order = []
    for n in phases(job, [len(o) for o in ordered]):
        for p in range(sum(n)):
            length, pos = sum(n), p
            for i, n_i in enumerate(n):
                if n_i == 0:
                    continue
                c = pos * n_i // length
                if (pos + 1) * n_i // length > c:
                    order.append((i, *ordered[i][used[i] + c]))
                    break
                pos, length = pos - c, length - n_i
        used = [u + x for u, x in zip(used, n)]
    return order
