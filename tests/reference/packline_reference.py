"""The stream of a job, computed again from docs/stream.md alone: slow, obvious, without any delivery.

The C++ is held against this byte for byte (compare.py, tests/integration/test_random_jobs.py). Nothing here is
taken over from it; each function names the section of docs/stream.md that it spells out. Standard library and
xxhash only.
"""

import glob
import json
import math
import pathlib
import struct
from dataclasses import dataclass, field

import xxhash

from reference_records import lines_of, samples_of

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


# 6. Positions


def position(record, sample, carried):
    if record == sample == 0:
        return ""  # the start; nothing can be carried there
    text = f"{record}.{sample}.0"
    for c in carried:
        text += f",{record - c.number}.{c.index}.{c.age}"
    return text


# 7. The digest


def field_bytes(samples, name):
    if name == "labels":
        return b"".join(struct.pack(f"<{len(s.labels)}i", *s.labels) for s in samples)
    return b"".join(struct.pack(f"<{len(s.columns[name][1])}{s.columns[name][0]}", *s.columns[name][1])
                    for s in samples)


def pack_digest(epoch, window, index, names, samples):
    """`names`: the fields that any sample of the window has; "labels" is always among them."""
    data = struct.pack("<QQQ", epoch, window, index)
    for name in sorted(set(names) | {"labels"}, key=lambda n: n.encode()):
        values = field_bytes(samples, name)
        data += struct.pack("<I", len(name.encode())) + name.encode() + struct.pack("<Q", len(values)) + values
    data += struct.pack("<I", len(samples))
    for s in samples:
        data += struct.pack("<II", s.tokens, len(s.id.encode())) + s.id.encode()
    return xxhash.xxh3_64_intdigest(data)


# 8. The ledgers

LEDGER = ["records_read", "records_encoded", "lost_parse", "lost_encode", "samples_made", "tokens_made", "lost_empty",
          "lost_over_long", "tokens_over_long", "truncated_tokens"]


def record_ledger(record):
    """What one record counts, from what became of it (reference_records.Record)."""
    ledger = dict.fromkeys(LEDGER, 0)
    ledger["records_read"] = 1
    if record.lost:
        ledger["lost_" + record.lost] = 1
        return ledger
    ledger["records_encoded"] = 1
    ledger["samples_made"] = len(record.samples) + len(record.lost_samples)
    ledger["tokens_made"] = sum(s.tokens + s.cut for s in record.samples) + sum(n for _, n in record.lost_samples)
    ledger["truncated_tokens"] = sum(s.cut for s in record.samples)
    for reason, tokens in record.lost_samples:
        ledger["lost_" + reason] += 1
        if reason == "over_long":
            ledger["tokens_over_long"] += tokens
    return ledger


def add_ledgers(a, b):
    return {k: a[k] + b[k] for k in LEDGER}


# The stream


@dataclass
class Pack:
    epoch: int
    window: int
    index: int
    samples: list
    digest: int
    dp_rank: int = 0

    def as_line(self):
        return {"epoch": self.epoch, "window": self.window, "pack": self.index, "dp_rank": self.dp_rank,
                "lengths": [s.tokens for s in self.samples], "sample_ids": [s.id for s in self.samples],
                "input_ids": [t for s in self.samples for t in s.columns["input_ids"][1]],
                "labels": [t for s in self.samples for t in s.labels], "digest": f"{self.digest:016x}"}


@dataclass
class Window:
    epoch: int
    number: int
    after: str  # position
    last: bool
    ledger: dict
    packs: list = field(default_factory=list)


def load_job(path):
    """A job file written as JSON, with the defaults that matter to the stream."""
    path = pathlib.Path(path)
    job = json.loads(path.read_text(encoding="utf-8"))
    job.setdefault("seed", 0)
    job.setdefault("epochs", 1)
    job.setdefault("lanes", 4)
    job.setdefault("shuffle", {"kind": "full"})
    job["encode"] = {"add_bos": False, "add_eos": True, "train": "assistant", **job["encode"]}
    job["deliver"] = {"dp_size": 1, **job.get("deliver", {})}
    pack = {"capacity": 8192, "strategy": "best_fit_decreasing", "packs_per_window": 256, "lookahead_samples_max": 256,
            "lookahead_windows_max": 8, "over_long": "drop", "dp_size_multiple": job["deliver"]["dp_size"],
            **job.get("pack", {})}
    pack.setdefault("lookahead_packs", pack["packs_per_window"])
    job["pack"] = pack
    job["folder"] = path.resolve().parent
    return job


def source_lines(job, s):
    """The records of a source: its files sorted by path, their lines in order."""
    pattern = str(job["folder"] / job["sources"][s]["path"])
    files = sorted(glob.glob(pattern), key=lambda p: p.encode())
    return [line for f in files for line in lines_of(pathlib.Path(f).read_bytes())]


def lane_windows(job, epoch, lane, records):
    """The windows of one lane of one epoch. `records`: the lane's records, encoded, in order."""
    pack = job["pack"]
    names = [Candidate(number, i, i + 1 == len(r.samples) + len(r.lost_samples), s)
             for number, r in enumerate(records) for i, s in r.indexed_samples()]
    carried, following = [], names
    record, sample, index = 0, 0, 0  # the position
    while True:
        candidates = carried + following
        lengths = [c.sample.tokens for c in candidates]
        closing = (close_sequential(lengths, pack) if pack["strategy"] == "sequential"
                   else close_best_fit(candidates, lengths, pack))
        before = (record, sample)
        if closing.last:
            record, sample = len(records), 0
        elif closing.considered > len(carried):
            c = candidates[closing.considered - 1]
            record, sample = (c.number + 1, 0) if c.last else (c.number, c.index + 1)
        taken = set(closing.taken)
        considered = max(closing.considered, len(carried))
        following = candidates[considered:]
        carried = [c for i, c in enumerate(candidates[:considered]) if i not in taken]
        for c in carried:
            c.age += 1
        ledger = dict.fromkeys(LEDGER, 0)
        for number in range(before[0] + (before[1] > 0), record + (sample > 0)):
            ledger = add_ledgers(ledger, record_ledger(records[number]))
        window = Window(epoch, index * job["lanes"] + lane, position(record, sample, carried), closing.last, ledger)
        chosen = [candidates[i].sample for i in closing.taken]
        fields = {name for s in chosen for name in s.columns}
        bins = assign(job, epoch, window.number, [s.tokens for s in chosen], closing.packs)
        for k, places in enumerate(bins):
            samples = [chosen[i] for i in places]
            digest = pack_digest(epoch, window.number, k, fields, samples)
            window.packs.append(Pack(epoch, window.number, k, samples, digest, k % job["deliver"]["dp_size"]))
        yield window
        if closing.last:
            return
        index += 1


def windows(job):
    """Every window of the job in the order of the stream."""
    lines = [source_lines(job, s) for s in range(len(job["sources"]))]
    for epoch in range(job["epochs"]):
        order = epoch_order(job, epoch, [len(one) for one in lines])
        found = []
        for lane in range(job["lanes"]):
            records = [samples_of(job, s, r, copy, lines[s][r]) for s, r, copy in order[lane :: job["lanes"]]]
            found += lane_windows(job, epoch, lane, records)
        yield from sorted(found, key=lambda w: w.number)


def stream_digest(packs):
    return sum(p.digest for p in packs) & MASK
