"""Data and a job whose report has something of everything: `python report_data.py FOLDER`.

Written by tools/report-screenshot. Ready token ids, seeded; two sources of other lengths, some records too
long, some that cannot be read.
"""

import json
import random
import sys
from pathlib import Path

JOB = {
    "version": 1,
    "name": "chat and code",
    "sources": [
        {"path": "data/chat.jsonl", "format": "tokens"},
        {"path": "data/code.jsonl", "format": "tokens", "repeat": 1.5},
    ],
    "encode": {"kind": "tokens"},
    "pack": {"capacity": 2048, "packs_per_window": 64, "lookahead_packs": 4},
    "deliver": {"dp_size": 8, "packs_per_optimizer_step": 4},
}


def write_records(path, seed, records, mean_log, longest):
    """Records of log-normal lengths; of each the first part carries no loss."""
    rng = random.Random(seed)
    with open(path, "w", encoding="utf-8") as out:
        for i in range(records):
            length = int(min(longest, max(5, rng.lognormvariate(mean_log, 0.8))))
            ids = [rng.randrange(30000) for _ in range(length)]
            silent = rng.randrange(length)
            record = {"id": f"r{i}", "input_ids": ids, "labels": [-100] * silent + ids[silent:]}
            out.write(json.dumps(record) + "\n")


def main(folder):
    data = Path(folder) / "data"
    data.mkdir(parents=True, exist_ok=True)
    write_records(data / "chat.jsonl", 1, 6000, 5.2, 3000)
    write_records(data / "code.jsonl", 2, 2500, 6.2, 2500)
    with open(data / "chat.jsonl", "a", encoding="utf-8") as out:
        out.writelines('{"input_ids": [1, 2, "<b>three</b>"]}\n' for _ in range(12))
        out.write("this is no JSON\n")
    (Path(folder) / "job.yaml").write_text(json.dumps(JOB, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1])
