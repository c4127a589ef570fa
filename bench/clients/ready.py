"""A trainer of one rank that takes every pack and measures the stream.

    packline run JOB -- python ready.py JOB OUT.json [hf|numpy|columns]

The clock runs from opening the stream, before which nothing is read, to its end; the CPU seconds are those of the whole
line and of this process in that time. `hf`: int64 tensors, as transformers takes them. `columns`: arrays as received.
"""

import json
import os
import sys
import time

from packline import PackStream

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from processes import cpu_seconds  # noqa: E402


def tokens_of(pack, layout):
    if layout == "hf":
        return pack["input_ids"].shape[1]
    return len(pack["input_ids"])


def main(job, out, layout="hf"):
    if layout == "hf":
        import torch

        torch.set_num_threads(1)
    with open(os.environ["PACKLINE_LINE"]) as file:
        line = json.load(file)["pid"]
    cpu, began = cpu_seconds(line), time.perf_counter()
    packs = tokens = 0
    for pack in PackStream(job, layout=layout):
        packs += 1
        tokens += tokens_of(pack, layout)
    seconds, cpu = time.perf_counter() - began, cpu_seconds(line) - cpu
    with open(out, "w") as file:
        json.dump({"packs": packs, "tokens": tokens, "seconds": seconds, "cpu_seconds": cpu}, file)


if __name__ == "__main__":
    main(*sys.argv[1:])
