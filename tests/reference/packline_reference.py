"""The stream of a job, computed again from docs/stream.md alone: slow, obvious, without any delivery.

The C++ is held against this byte for byte (compare.py, tests/integration/test_reference.py). Nothing here is
taken over from it; each function names the section of docs/stream.md that it spells out. Standard library and
xxhash only.
"""

import glob
import json
import pathlib
import struct
from dataclasses import dataclass, field

import xxhash

from reference_order import MASK, epoch_order
from reference_packing import Candidate, assign, close_best_fit, close_sequential
from reference_records import lines_of, samples_of

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
