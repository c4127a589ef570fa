"""The trainer of bench/delivery: one rank that takes every pack as `hf` tensors and times it.

    packline run JOB -- python delivery_client.py JOB OUT.json

The clock runs from the first request, before which nothing is read, to the end of the stream.
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


def main(job, out):
    try:
        import torch  # noqa: F401

        layout, packs = "hf tensors (torch)", with_torch(job)
    except ImportError:
        layout, packs = "int64 arrays (numpy: torch is not here)", with_numpy(job)
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
