"""A trainer for memory: it rests after its first pack, so that every role comes to hold all that it may hold.

    packline run JOB -- python resting.py JOB OUT.json SECONDS

OUT.json.resting says that the rest has begun. Takes numpy arrays: torch's own memory is not the stream's.
"""

import json
import sys
import time

from packline import PackStream


def main(job, out, seconds):
    packs = 0
    for _ in PackStream(job, layout="numpy"):
        packs += 1
        if packs == 1:
            open(out + ".resting", "w").close()
            time.sleep(float(seconds))
    with open(out, "w") as file:
        json.dump({"packs": packs}, file)


if __name__ == "__main__":
    main(*sys.argv[1:])
