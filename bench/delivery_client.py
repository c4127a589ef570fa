"""The trainer of bench/delivery: one rank that takes every pack as `hf` tensors and times it.

    packline run JOB -- python delivery_client.py JOB OUT.json [PAUSE]

The clock runs from the first request, before which nothing is read, to the end of the stream. With PAUSE (seconds) it
is about memory instead: no torch, and a rest after the first pack, in which every role gathers all that it may hold;
OUT.json.resting says that it has begun.
"""

import json
import sys
import time

from packline import PackStream


def with_torch(job):
    import torch

    torch.set_num_threads(1)
    for pack in PackStream(job, layout="hf"):
        yield pack["input_ids"].shape[1], pack["labels"].dtype == torch.int64


def with_numpy(job):
    """What `hf` does but for the wrapping in tensors: three int64 arrays a pack."""
    import numpy as np

    for pack in PackStream(job, layout="numpy"):
        arrays = [pack[name].astype(np.int64)[None] for name in ("input_ids", "labels", "position_ids")]
        yield arrays[0].shape[1], True


def resting(job, out, pause):
    for pack in PackStream(job, layout="numpy"):
        yield len(pack["input_ids"]), True
        if pause:
            open(out + ".resting", "w").close()
            time.sleep(pause)
            pause = 0


def measured(job, out, pause):
    """(what it makes, its packs)"""
    if pause:
        return "numpy", resting(job, out, pause)
    try:
        import torch  # noqa: F401

        return "hf tensors (torch)", with_torch(job)
    except ImportError:
        return "int64 arrays (numpy: torch is not here)", with_numpy(job)


def main(job, out, pause="0"):
    layout, packs = measured(job, out, float(pause))
    began = time.perf_counter()
    count = tokens = 0
    for size, right in packs:
        assert right
        count += 1
        tokens += size
    seconds = time.perf_counter() - began
    with open(out, "w") as file:
        json.dump({"layout": layout, "packs": count, "tokens": tokens, "seconds": seconds}, file)


if __name__ == "__main__":
    main(*sys.argv[1:])
