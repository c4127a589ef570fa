"""How long until the first pack, from nothing: starts a private line and takes one pack of it.

    python first.py JOB    on stdin: a line a round; on stdout: {"seconds"} a round

The clock begins before the executables start and ends with the first pack as `hf` tensors; imports came before.
"""

import json
import sys
import time

import torch

from packline import PackStream, local_line


def first_pack(job):
    began = time.perf_counter()
    with local_line(job):
        with PackStream(job, layout="hf") as stream:
            pack = next(iter(stream))
            seconds = time.perf_counter() - began
            assert pack["input_ids"].dtype == torch.int64
    return seconds


def main(job):
    print(json.dumps("ready"), flush=True)
    for _ in sys.stdin:
        print(json.dumps({"seconds": first_pack(job)}), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
