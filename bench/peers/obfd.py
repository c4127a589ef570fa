"""lightbinpack's OBFD on lengths in a file of little-endian u32.

    python obfd.py FILE CAPACITY    a line on stdin starts a round; per round on stdout: {"bins", "seconds"}
"""

import array
import json
import sys
import time

import lightbinpack


def main(path, capacity):
    lengths = array.array("I")
    with open(path, "rb") as file:
        lengths.frombytes(file.read())
    lengths = lengths.tolist()
    print(json.dumps("ready"), flush=True)
    for _ in sys.stdin:
        began = time.perf_counter()
        packs = lightbinpack.pack(lengths, int(capacity), "obfd")
        print(json.dumps({"bins": len(packs), "seconds": time.perf_counter() - began}), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
