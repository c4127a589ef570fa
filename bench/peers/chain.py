"""libzmq alone: three hops through bench_chain, the last one received here by pyzmq. One round.

    python chain.py BENCH_CHAIN FILE WINDOW_BYTES PACK_BYTES    prints {"bytes", "seconds"}
"""

import json
import subprocess
import sys
import tempfile
import time

import zmq


def main(chain, file, window_bytes, pack_bytes):
    with tempfile.TemporaryDirectory() as folder:
        hops = [f"ipc://{folder}/{name}" for name in ("windows", "slices", "packs")]
        first = subprocess.Popen(
            [chain, "windows", hops[0], file, window_bytes], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        processes = [
            first,
            subprocess.Popen([chain, "slices", hops[0], hops[1], pack_bytes]),
            subprocess.Popen([chain, "packs", hops[1], hops[2]]),
        ]
        last = zmq.Context.instance().socket(zmq.PULL)
        last.set(zmq.RCVHWM, 64)
        last.connect(hops[2])
        first.stdout.readline()
        began = time.perf_counter()
        first.stdin.write(b"\n")
        first.stdin.flush()
        received = 0
        while size := len(last.recv(copy=False).buffer):
            received += size
        seconds = time.perf_counter() - began
        for process in processes:
            process.stdin and process.stdin.close()
            assert process.wait() == 0
    print(json.dumps({"bytes": received, "seconds": seconds}))


if __name__ == "__main__":
    main(*sys.argv[1:])
