"""The client's socket when the process at its other end dies."""

import subprocess
import sys

# A peer that sends long messages without end, and is killed while they are read.
PEER = r"""
import os, sys, zmq
reader = os.getppid()
s = zmq.Context().socket(zmq.ROUTER)
s.setsockopt(zmq.SNDHWM, 256)
s.bind(sys.argv[1])
who = s.recv_multipart()[0]
body = [b"h" * 4000] + [b"x" * 2000] * 40
while os.getppid() == reader:  # gone with it, also when it was aborted
    try:
        s.send_multipart([who] + body, zmq.DONTWAIT)
    except zmq.Again:
        pass
"""
READER = r"""
import subprocess, sys, time
from packline.receiver import _Link
for n in range(int(sys.argv[3])):
    at = f"ipc://{sys.argv[2]}/{n}"
    peer = subprocess.Popen([sys.executable, "-c", sys.argv[1], at])
    link = _Link(at, (0, 0, n), 64)
    taken, until, ask_at = 0, None, 0.0
    while until is None or time.monotonic() < until:
        if not taken and time.monotonic() >= ask_at:  # until the peer is up
            ask_at = time.monotonic() + 0.1
            link.send(b"want")
        if link.receive() is None:
            continue
        taken += 1
        if taken == 50 and until is None:
            peer.kill()
            until = time.monotonic() + 0.2
    peer.wait()
    link.close()
print("survived")
"""


def test_a_sink_that_dies_in_mid_message_does_not_abort_the_trainer(tmp_path):
    # In a process of its own: what is tested against is an abort().
    done = subprocess.run(
        [sys.executable, "-c", READER, PEER, str(tmp_path), "24"],
        capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stdout == "survived\n"
