"""Ten small jobs, made by seed, whose stream digests are kept in digests.json: the same bytes on every machine and compiler.

    python tests/golden/jobs.py FOLDER      writes them there, for a look
"""

import json
import pathlib
import random
import sys

WORDS = "the line packs short samples into full rows so that no rank waits and nothing is lost on its way ünïcödé 数据".split()


def text(rng, low, high):
    return " ".join(rng.choice(WORDS) for _ in range(rng.randint(low, high)))


def text_records(rng, n, low=1, high=30):
    return [{"id": i, "text": text(rng, low, high)} for i in range(n)]


def chat_records(rng, n):
    out = []
    for i in range(n):
        turns = [{"role": "system", "content": "Be brief."}] if rng.random() < 0.3 else []
        for _ in range(rng.randint(1, 3)):
            turns += [{"role": "user", "content": text(rng, 1, 8)}, {"role": "assistant", "content": text(rng, 1, 12)}]
        out.append({"id": f"chat-{i}", "messages": turns})
    return out


def token_records(rng, n, how, low=1, high=150):
    out = []
    for i in range(n):
        ids = [rng.randrange(50000) for _ in range(rng.randint(low, high))]
        record = {"id": f"t{i}", "input_ids": ids}
        cut = rng.randrange(len(ids))
        if how == "labels":
            record["labels"] = [-100] * cut + ids[cut:]
        elif how == "other labels":  # not the ids themselves: travel as values
            record["labels"] = [-100] * cut + [v + 1 for v in ids[cut:]]
        elif how == "mask":
            record["loss_mask"] = [rng.randrange(2) for _ in ids]
        elif how == "extra":
            record["speaker"] = [rng.randrange(4) for _ in ids]
        out.append(record)
    return out


def base(kind, fmt, **over):
    job = {
        "version": 1, "name": "golden", "seed": 7, "epochs": 1, "state": "state", "lanes": 2,
        "sources": [{"path": "a.jsonl", "format": fmt}],
        "encode": {"kind": kind},
        "pack": {"capacity": 256, "packs_per_window": 8, "dp_size_multiple": 4},
        "deliver": {"dp_size": 4},
    }
    for key, value in over.items():
        job[key] = {**job[key], **value} if isinstance(value, dict) and isinstance(job.get(key), dict) else value
    return job


def jobs():
    """(name, settings, {file: records}) of each, in a fixed order."""
    rng = random.Random(20)
    yield "text", base("bytes", "text"), {"a.jsonl": text_records(rng, 400)}
    yield "chat", base("bytes", "chat", pack={"capacity": 512}), {"a.jsonl": chat_records(rng, 300)}
    yield "chat_all", base("bytes", "chat", encode={"train": "all", "add_bos": True, "add_eos": False}), {"a.jsonl": chat_records(rng, 200)}
    yield "labels", base("tokens", "tokens", lanes=4), {"a.jsonl": token_records(rng, 600, "labels")}
    yield "other_labels", base("tokens", "tokens", lanes=1), {"a.jsonl": token_records(rng, 200, "other labels")}
    yield "mask_truncated", base("tokens", "tokens", pack={"capacity": 64, "over_long": "truncate_right"}), {"a.jsonl": token_records(rng, 300, "mask")}
    yield "extra_columns", base("tokens", "tokens", epochs=2), {"a.jsonl": token_records(rng, 200, "extra")}
    yield "sequential", base("bytes", "text", pack={"strategy": "sequential"}, shuffle={"kind": "none"}), {"a.jsonl": text_records(rng, 300)}
    yield ("mixed", base("tokens", "tokens", epochs=3, shuffle={"kind": "buffer", "size": 50}, sources=[
        {"path": "a.jsonl", "format": "tokens", "weight": 3, "repeat": 1.0}, {"path": "b.jsonl", "format": "tokens", "weight": 1, "repeat": 2.5}]),
        {"a.jsonl": token_records(rng, 200, "labels"), "b.jsonl": token_records(rng, 60, "labels", 20, 40)})
    yield ("short_window", base("bytes", "text", lanes=3, pack={"packs_per_window": 4, "lookahead_packs": 2, "lookahead_windows_max": 1, "capacity": 128}),
           {"a.jsonl": text_records(rng, 500, 1, 40)})


def write(folder, settings, files):
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    for name, records in files.items():
        (folder / name).write_text("".join(json.dumps(r) + "\n" for r in records), encoding="utf-8")
    path = folder / "job.yaml"
    path.write_text(json.dumps(settings, indent=1) + "\n", encoding="utf-8")
    return path


if __name__ == "__main__":
    for job_name, job_settings, job_files in jobs():
        print(write(pathlib.Path(sys.argv[1]) / job_name, job_settings, job_files))
