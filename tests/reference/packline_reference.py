"""The stream of a job, computed again from docs/stream.md alone: slow, obvious, without any delivery.

The C++ is held against this byte for byte (compare.py, tests/integration/test_reference.py). Nothing here is
taken over from it; each function names the section of docs/stream.md that it spells out. Standard library and
xxhash only.
"""

import itertools
import struct
from dataclasses import dataclass, field

import xxhash

from reference_closing import close_window
from reference_global import cut_into_windows, ledgers_of, plan_epoch
from reference_job import load_job
from reference_ledger import LEDGER, REASONS, add_ledgers, placed_ledger, record_ledger, remainder_ledger
from reference_order import MASK, epoch_order, is_taken, seeds_of
from reference_pack_order import order_packs
from reference_parts import part, repetition
from reference_records import Record, candidates_of, samples_of
from reference_sources import records_of

__all__ = ["LEDGER", "REASONS", "add_ledgers", "load_job", "stream_digest", "windows"]

# 6. Positions


def position(at, carried):
    record, sample, token = at
    if record == sample == token == 0:
        return ""  # the start; nothing can be carried there
    text = f"{record}.{sample}.{token}"
    for c in carried:
        text += f",{record - c.number}.{c.index}.{c.age}"
    return text


# 7. The digest


def field_bytes(samples, name, letter):
    if name == "labels":
        return b"".join(struct.pack(f"<{len(s.labels)}i", *s.labels) for s in samples)
    return b"".join(struct.pack(f"<{s.tokens}{letter}", *s.columns[name][1]) for s in samples)


def fields_of(samples):
    """{name: struct letter} of the fields of a window's samples. What is f64 in one of them is so in all."""
    fields = {}
    for s in samples:
        for name, (letter, _) in s.columns.items():
            fields[name] = "d" if "d" in (letter, fields.get(name)) else letter
    return fields


def pack_digest(epoch, window, index, fields, samples):
    """`fields`: those that any sample of the window has, as fields_of() gives them; "labels" is always among them."""
    data = struct.pack("<QQQ", epoch, window, index)
    for name in sorted({*fields, "labels"}, key=lambda n: n.encode()):
        values = field_bytes(samples, name, fields.get(name))
        data += struct.pack("<I", len(name.encode())) + name.encode() + struct.pack("<Q", len(values)) + values
    data += struct.pack("<I", len(samples))
    for s in samples:
        data += struct.pack("<II", s.tokens, len(s.id.encode())) + s.id.encode()
    return xxhash.xxh3_64_intdigest(data)


# The stream


@dataclass
class Pack:
    epoch: int
    window: int
    index: int
    samples: list
    digest: int
    fields: dict  # as fields_of() gives them
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


def delivered(placed, candidates):
    """The samples of a pack as they are handed out."""
    samples = []
    for p in placed:
        s = part(candidates[p.candidate].sample, p.begin, p.end)
        samples.append(repetition(s, p.repetition) if p.repetition else s)
    return samples


def make_packs(job, epoch, window, packs, candidates):
    packs = [delivered(placed, candidates) for placed in packs]
    fields = fields_of(itertools.chain(*packs))
    dp_size = job["deliver"]["dp_size"]
    return [Pack(epoch, window, k, samples, pack_digest(epoch, window, k, fields, samples), fields, k % dp_size)
            for k, samples in enumerate(packs)]


def place_after(before, closing, carried, candidates, records):
    """(record, sample, token) of the position behind a window, which carried the first `carried` candidates in."""
    if closing.last:
        return (records, 0, 0)
    if closing.cut:
        c = candidates[closing.considered]
        return (c.number, c.index, closing.cut)
    if closing.considered <= carried:
        return before
    c = candidates[closing.considered - 1]
    return (c.number + 1, 0, 0) if c.last else (c.number, c.index + 1, 0)


def window_ledger(before, after, closing, records):
    """A record is counted where its reading begins."""
    ledger = remainder_ledger(closing.lost)
    for number in range(before[0] + (before[1:] != (0, 0)), after[0] + (after[1:] != (0, 0))):
        ledger = add_ledgers(ledger, record_ledger(records[number]))
    for placed in closing.packs:
        ledger = add_ledgers(ledger, placed_ledger(placed))
    return ledger


def lane_windows(job, epoch, lane, records):
    """The windows of one lane of one epoch. `records`: the lane's records, encoded, in order."""
    pack, carried, following, after = job["pack"], [], candidates_of(records), (0, 0, 0)
    for index in itertools.count():
        candidates, number = carried + following, index * job["lanes"] + lane
        closing, before = close_window(candidates, pack), after
        after = place_after(before, closing, len(carried), candidates, len(records))
        packs = order_packs(closing.packs, candidates, pack, job["seed"], seeds_of(job, epoch), number)
        made = make_packs(job, epoch, number, packs, candidates)

        gone = {p.candidate for p in [*itertools.chain(*closing.packs), *closing.lost]}
        considered = max(closing.considered, len(carried))
        following = candidates[considered:]
        carried = [c for i, c in enumerate(candidates[:considered]) if i not in gone]
        for c in carried:
            c.age += 1
        if closing.cut:
            following[0].begin = closing.cut
        yield Window(epoch, number, position(after, carried), closing.last,
                     window_ledger(before, after, closing, records), made)
        if closing.last:
            return


def global_windows(job, epoch, records):
    """The windows of an epoch that is planned at once. `records`: those of its order."""
    pack, lanes, candidates = job["pack"], job["lanes"], candidates_of(records)
    packs, lost = plan_epoch(candidates, pack, job["seed"], epoch)
    cut = cut_into_windows(packs, pack["packs_per_window"], lanes)
    ledgers = ledgers_of(cut, lost, candidates, records)
    for number, (packs, ledger) in enumerate(zip(cut, ledgers)):
        yield Window(epoch, number, position((number // lanes + 1, 0, 0), []), number + lanes >= len(cut), ledger,
                     make_packs(job, epoch, number, packs, candidates))


def windows(job):
    """Every window of the job in the order of the stream."""
    stored = [records_of(job, s) for s in range(len(job["sources"]))]
    whole_epoch = job["pack"]["plan"] == "global"

    def encoded(places):
        return [samples_of(job, s, r, copy, stored[s][r]) if is_taken(job, s, r) else Record(passed_over=True)
                for s, r, copy in places]

    for epoch in range(job["epochs"]):
        planned = 0 if whole_epoch and not job["pack"]["replan_each_epoch"] else epoch
        order = epoch_order(job, planned, [len(records) for records in stored])
        if whole_epoch:
            yield from global_windows(job, epoch, encoded(order))
            continue
        found = []
        for lane in range(job["lanes"]):
            found += lane_windows(job, epoch, lane, encoded(order[lane :: job["lanes"]]))
        yield from sorted(found, key=lambda w: w.number)


def stream_digest(packs):
    return sum(p.digest for p in packs) & MASK
