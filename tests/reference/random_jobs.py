"""Small jobs drawn from a seed, and their data: every setting that the stream depends on, at odd values."""

import json
import pathlib
import random

from random_settings import draw_eval, draw_settings
from random_sources import draw_sources

STRATEGIES = ["best_fit_decreasing"] * 3 + ["sequential"]
BAD_LINES = [
    b'{"input_ids": [1, 2', b"[]", b"plain words", b'{"other": 1}', b'{"input_ids": [1.5], "text": 7}',
    b'{"input_ids": [1, -2], "text": null}', b'{"input_ids": [2147483648], "text": ["a"]}', b'{"text": "\xff", "input_ids": [1]}',
    b'{"input_ids": [1, 2], "labels": [1], "text": {}}', b'{"input_ids": [1], "loss_mask": [2], "text": 1.5}',
    b'{"input_ids": [1], "labels": [1], "loss_mask": [1], "text": true}', b'{"input_ids": "1 2", "text": []}',
    b'{"text": "a", "input_ids": [3], "text": "b", "input_ids": [4]}', b'{"text": "a", "input_ids": [1]} 2', b"null",
]
WORDS = ["and", "übung", "日本", "\n", "\t", '"quoted"', "😀", "word", "pack", "line"]

# (capacity, packs, lengths): one bin fewer than `packs` is planned, and spreading evenly over `packs` does not fit, so
# that bins must be halved. Found by search; chance alone meets none.
TIGHT = [
    (34, 10, [2, 14, 18, 11, 11, 11, 17, 17, 25, 9, 17, 17, 11, 11, 11, 13, 16, 5, 11, 11, 11, 5, 15, 14]),
    (45, 9, [22, 22, 1, 6, 17, 21, 24, 14, 2, 5, 25, 20, 30, 15, 11, 11, 11, 11, 22, 22, 15, 15, 15]),
    (48, 8, [16, 16, 16, 16, 16, 16, 30, 18, 23, 25, 22, 26, 16, 16, 16, 17, 13, 18]),
    (24, 9, [6, 18, 12, 12, 8, 8, 8, 12, 12, 8, 8, 8, 13, 11, 6, 6, 6, 6, 8, 8, 8]),
    (31, 10, [4, 14, 13, 5, 3, 23, 10, 10, 10, 18, 13, 15, 15, 17, 14, 2, 29, 10, 10, 10, 10, 10, 10]),
    (13, 10, [6, 6, 10, 3, 4, 4, 4, 5, 1, 7, 6, 7, 6, 6, 4, 4, 4, 4, 4, 5, 4, 9]),
]


def draw_lengths(rng, capacity):
    """A drawer of sample lengths, around and sometimes beyond the capacity."""
    kind = rng.randrange(6)
    parts = []  # of a pack that is full, in kind 5
    over = rng.choice([0.0, 0.0, 0.02, 0.2])

    def draw():
        if rng.random() < over:
            return capacity + rng.randint(1, capacity + 5)
        if rng.random() < 0.02:
            return 0
        if kind == 0:
            return rng.randint(1, capacity)
        if kind == 1:
            return min(capacity, 1 + int(rng.expovariate(6 / capacity)))
        if kind == 2:
            return rng.choice([capacity, (capacity + 1) // 2, max(1, capacity // 3), 1])
        if kind == 3:
            return max(1, capacity // 2 + rng.randint(0, 2) - 1)
        if kind == 5:
            if not parts:
                cuts = sorted(rng.randint(0, capacity) for _ in range(rng.randint(1, 4)))
                parts.extend(b - a for a, b in zip([0, *cuts], [*cuts, capacity]) if b > a)
            return parts.pop(rng.randrange(len(parts)))
        return rng.randint(max(1, capacity // 8), max(1, capacity // 4))

    return draw


def token_record(rng, n, kind, extra):
    ids = [rng.randrange(rng.choice([10, 50000, 2**31])) for _ in range(n)]
    record = {"input_ids": ids}
    if kind == "labels":
        cut = rng.randint(0, n)
        record["labels"] = [-100] * cut + ids[cut:]
    elif kind == "odd labels":
        record["labels"] = [rng.choice([-100, -100, i, rng.randint(-(2**31), 2**31 - 1)]) for i in ids]
    elif kind == "loss_mask":
        record["loss_mask"] = [rng.choice([0, 1, True, False]) for _ in ids]
    elif kind == "null":
        record["labels"] = None
    if "whole" in extra:
        record["whole"] = [rng.randint(-(2**63), 2**63 - 1) for _ in ids]
    if "mixed" in extra:  # i64 in some samples, f64 in others
        record["mixed"] = [rng.randint(-9, 9) for _ in ids] if rng.random() < 0.9 else [0.25 for _ in ids]
    if "real" in extra and n:
        record["a real"] = [0.5] + [rng.choice([rng.uniform(-1, 1), rng.randint(0, 9)]) for _ in ids[1:]]
    if rng.random() < 0.2:
        record["note"] = {"nested": [1, {"x": "y"}]}
    return record


def text_record(rng, n):
    text = ""
    while len(text.encode()) < n:
        text += rng.choice(WORDS)
    return {"text": text.encode()[:n].decode("utf-8", "ignore")}


def write_file(rng, path, records, make):
    """JSONL with bad records, blank lines, a BOM, CRs and a last line without an end, now and then."""
    bad, blank, newline = rng.choice([0, 0, 0.1]), rng.choice([0, 0, 0.1]), rng.choice([b"\n", b"\n", b"\r\n"])
    own_id = rng.choice(["", "", "text", "number"])
    lines = []
    for i in range(records):
        while rng.random() < blank:
            lines.append(rng.choice([b"", b"  \t ", b"\r"]))
        if rng.random() < bad:
            lines.append(rng.choice(BAD_LINES))
            continue
        record = make()
        if own_id == "text":
            record["id"] = rng.choice([f"r{i}", "", 'say "hi"', "übung"])
        elif own_id == "number":
            record["id"] = rng.choice([i, -i, i / 7])
        lines.append(json.dumps(record, ensure_ascii=rng.random() < 0.5).encode())
    data = newline.join(lines) + rng.choice([newline, b""])
    path.write_bytes(rng.choice([b"", b"", b"\xef\xbb\xbf"]) + data if lines else b"")


def write_source(rng, folder, s, records, make):
    """The source's files; returns the pattern that finds them."""
    files = rng.choice([1, 1, 2, 3])
    if files == 1:
        write_file(rng, folder / f"s{s}.jsonl", records, make)
        return f"s{s}.jsonl"
    cuts = sorted(rng.randint(0, records) for _ in range(files - 1))
    for f, (a, b) in enumerate(zip([0, *cuts], [*cuts, records])):
        write_file(rng, folder / f"s{s}-{f}.jsonl", b - a, make)
    return f"s{s}-*.jsonl"


def draw_pack(rng, capacity, dp_size):
    multiple = dp_size * rng.choice([1, 1, 2, 3])
    packs = multiple * rng.choice([1, 1, 2, 3, 5])
    pack = {"capacity": capacity, "packs_per_window": packs, "dp_size_multiple": multiple,
            "strategy": rng.choice(STRATEGIES), "over_long": rng.choice(["drop", "truncate_right"])}
    if rng.random() < 0.7:
        pack["lookahead_packs"] = rng.choice([0, 1, 2, packs, 3 * packs])
    ahead = pack.get("lookahead_packs", packs)
    if rng.random() < 0.7:
        pack["lookahead_samples_max"] = rng.choice([0, 1, 3, 20, 1000])
    least = -(-ahead // packs)
    if rng.random() < 0.7 or least > 8:
        pack["lookahead_windows_max"] = least + rng.choice([0, 0, 1, 5])
    return pack


def draw_job(rng, folder, name):
    """Writes a job and its data into `folder`; returns the job file's path."""
    folder.mkdir(parents=True, exist_ok=True)
    capacity = rng.choice([rng.randint(1, 8), *[rng.randint(9, 64)] * 4, *[rng.randint(65, 200)] * 4, rng.randint(1025, 3000)])
    length = draw_lengths(rng, capacity)
    dp_size = rng.randint(1, 4)
    kind = rng.choice(["tokens", "tokens", "bytes"])
    extra = rng.choice([(), (), ("whole",), ("whole", "real"), ("mixed",)])
    n_sources = rng.choice([1, 1, 2, 3])
    total = rng.choice([rng.randint(0, 12), *[rng.randint(10, 120)] * 3, *[rng.randint(100, 400)] * 3])
    total = total // 4 if capacity > 1024 else total
    sources, weighted = [], rng.random() < 0.5
    for s in range(n_sources):
        loss = rng.choice(["labels", "odd labels", "loss_mask", "none", "null"])

        def make(loss=loss):
            kinds = loss if rng.random() < 0.8 else "none"
            return token_record(rng, length(), kinds, extra) if kind == "tokens" else text_record(rng, length())

        pattern = write_source(rng, folder, s, total // n_sources, make)
        source = {"path": pattern, "format": "tokens" if kind == "tokens" else "text"}
        if rng.random() < 0.4:
            source["repeat"] = rng.choice([0.5, 1.5, 2, 2.5, 0.01])
        if weighted:
            source["weight"] = rng.choice([1, 2, 0.3, 7.25, 0.000001])
        sources.append(source)
    shuffle = rng.choice(["full", "full", "none", "buffer"])
    job = {
        "version": 1, "name": name, "seed": rng.choice([0, rng.randint(1, 2**63 - 1)]), "epochs": rng.randint(1, 3),
        "state": "state", "sources": sources, "lanes": rng.randint(1, 5),
        "shuffle": {"kind": shuffle, "size": rng.choice([1, 3, 17, 1000])} if shuffle == "buffer" else {"kind": shuffle},
        "encode": {"kind": kind, "threads": rng.randint(1, 2)},
        "pack": draw_pack(rng, capacity, dp_size),
        "deliver": {"dp_size": dp_size, "ranks_per_dp_rank": rng.choice([1, 1, 1, 2]),
                    "window_credit": rng.choice([1, 2, 4])},
    }
    if kind == "bytes":
        job["encode"] |= {"add_bos": rng.random() < 0.3, "add_eos": rng.random() < 0.5}
    path = folder / "job.yaml"
    path.write_text(json.dumps(job, indent=1) + "\n", encoding="utf-8")
    return path


def draw_tight_job(rng, folder, name):
    """A job of one lane whose last window must be spread by halving."""
    folder.mkdir(parents=True, exist_ok=True)
    capacity, packs, lengths = rng.choice(TIGHT)
    lines = [json.dumps(token_record(rng, n, "none", ())) for n in lengths]
    (folder / "s0.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    job = {
        "version": 1, "name": name, "seed": rng.randint(1, 9999), "state": "state", "lanes": 1,
        "sources": [{"path": "s0.jsonl", "format": "tokens"}], "encode": {"kind": "tokens"},
        "pack": {"capacity": capacity, "packs_per_window": packs * rng.randint(1, 2), "dp_size_multiple": packs},
        "deliver": {"dp_size": rng.choice([d for d in (1, 2, 3) if packs % d == 0])},
    }
    path = folder / "job.yaml"
    path.write_text(json.dumps(job, indent=1) + "\n", encoding="utf-8")
    return path


def random_job(seed, number, folder, evaluates=True):
    """Job `number` of a seed: the same whatever was drawn before. `evaluates`: some set records aside, which may be none
    or all of a few."""
    rng, folder = random.Random(f"{seed}/{number}"), pathlib.Path(folder)
    name = f"random-{seed}-{number}"
    if number % 25 == 24:
        return draw_tight_job(rng, folder, name)
    path = draw_job(rng, folder, name)
    job = json.loads(path.read_text(encoding="utf-8"))
    if number % 4 > 0:
        draw_settings(random.Random(f"{seed}/{number}/settings"), job)
    if number % 3 > 0:
        draw_sources(random.Random(f"{seed}/{number}/sources"), job, folder)
    if evaluates:
        draw_eval(random.Random(f"{seed}/{number}/eval"), job)
    path.write_text(json.dumps(job, indent=1) + "\n", encoding="utf-8")
    return path
