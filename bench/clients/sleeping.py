"""A trainer that computes for a while between packs, and measures how long next() takes.

    packline run JOB -- python sleeping.py JOB OUT.json PACKS MILLISECONDS

The first pack is not counted: before it the line has to fill.
"""

import json
import sys
import time

from packline import PackStream


def main(job, out, packs, milliseconds):
    waits = []
    with PackStream(job, layout="numpy") as stream:
        packs_of = iter(stream)
        next(packs_of)
        for _ in range(int(packs)):
            time.sleep(float(milliseconds) / 1000)
            asked = time.perf_counter()
            next(packs_of)
            waits.append(time.perf_counter() - asked)
    with open(out, "w") as file:
        json.dump({"waits_ms": [1000 * w for w in waits]}, file)


if __name__ == "__main__":
    main(*sys.argv[1:])
