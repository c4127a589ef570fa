"""All readers treat bytes as hostile: what strangers send to a running line is dropped with a sentence, and the stream stays."""

import json
import pathlib
import random
import socket
import struct
import subprocess
import sys
import time

import msgpack
import pytest
import zmq
from support import PACKLINE, PATIENCE, client_env, packline_run, ranks_command, run, slow_trainer, write_job, write_tokens

# Each rank comes with positions that no job has, whatever else of its cursor fits; then with its own state.
GARBAGE = """
import json, sys
from packline import OtherJob, PackStream, close_all
job, state = sys.argv[1:]
good = json.load(open(state))
streams = [PackStream(job, dp_rank=r, layout="rows") for r in range(2)]
lane = str(good["window"] % len(good["lanes"]))
for position in ("no position", "99999999.0.0", "1.0.0,x" * 9000):
    bad = json.loads(json.dumps(good))
    bad["lanes"][lane][2] = position
    told = []
    for s in streams:
        s.load_state_dict(bad)
        try:
            next(iter(s))
        except OtherJob as e:
            told.append(str(e))
    assert len(told) == 2 and all("cannot read where the cursor stands" in t for t in told), (position[:20], told)
for s in streams:
    s.load_state_dict(good)
print("rest", len(list(zip(*streams))))
close_all(streams)
"""
GREETING = b"\xff" + b"\0" * 8 + b"\x7f\x03\x00NULL" + b"\0" * 16 + b"\0" + b"\0" * 31
# What comes after a handshake: a frame of 2^62 bytes, maps that promise 2^32 entries, a message of 300 parts.
AFTER = [b"\x02" + struct.pack(">Q", 2**62) + b"x" * 1000, b"\x00\xff" + b"\xdd\xff\xff\xff\xff" * 51, b"\x01\x01a" * 300 + b"\0\0"]
CONTENT = [[b""], [b"x"], [msgpack.packb({})], [b"\xdd\xff\xff\xff\xff"], [b"\x81" * 100_000], [b"a"] * 5000,
           [random.Random(1).randbytes(100_000)], [msgpack.packb({"v": 1, "t": "report"}), b"\0" * 77]]


def ready(kind):
    body = b"\x05READY\x0bSocket-Type" + struct.pack(">I", len(kind)) + kind + b"\x08Identity\0\0\0\0"
    return GREETING + b"\x04" + bytes([len(body)]) + body


def stranger_of(path):
    """The kinds of socket that the port at this ipc path talks to."""
    producer = path.name.startswith("producer")
    return {"0": (b"PULL", zmq.PULL) if producer else (b"PUSH", zmq.PUSH),
            "1": (b"PUSH", zmq.PUSH) if producer else (b"DEALER", zmq.DEALER), "2": (b"SUB", zmq.SUB)}[path.suffix[1:]]


def send_raw(path, data):
    with socket.socket(socket.AF_UNIX) as s:
        s.settimeout(0.2)
        s.connect(str(path))
        try:
            s.sendall(data)
        except OSError:
            pass  # hung up on already


def send_content(context, path):
    kind = stranger_of(path)[1]
    if kind not in (zmq.PUSH, zmq.DEALER):
        return
    with context.socket(kind) as s:
        s.linger, s.sndtimeo = 200, 300
        s.connect(f"ipc://{path}")
        for message in CONTENT:
            try:
                s.send_multipart(message)
            except zmq.ZMQError:
                pass


@pytest.mark.loopback
def test_garbage_on_every_port_changes_nothing(tmp_path):
    job = write_job(tmp_path, deliver={"dp_size": 2}, pack={"dp_size_multiple": 2})
    write_tokens(tmp_path / "data/a.jsonl", seed=20, records=700)
    expected = json.loads(run([PACKLINE, "count", job, "--format", "json"]).stdout)["totals"]
    summary = tmp_path / "summary.json"
    with open(tmp_path / "log", "w+") as log:
        line = subprocess.Popen([PACKLINE, "run", str(job), "--summary", str(summary), "--", *slow_trainer(job, 2, 10**6, 0.01)],
                                env=client_env(), stderr=log, stdin=subprocess.DEVNULL)
        pointer = tmp_path / "state/run.json"
        ports = []
        while len(ports) < 7 and line.poll() is None:  # 3 of the producer, 2 of each sink
            if pointer.exists():
                ports = [p for p in pathlib.Path(json.loads(pointer.read_text())["line"]).parent.glob("*.[0-3]")]
            time.sleep(0.02)
        halves = []
        for port in ports:
            half = socket.socket(socket.AF_UNIX)  # half a handshake, held open until the end
            half.connect(str(port))
            half.sendall(GREETING[:20])
            halves.append(half)
            for data in (b"GET / HTTP/1.0\r\n\r\n", random.Random(2).randbytes(5000), GREETING, ready(b"PAIR"), ready(b"XSUB"),
                         *(ready(stranger_of(port)[0]) + after for after in AFTER)):
                send_raw(port, data)
        with zmq.Context() as context:
            for port in ports:
                send_content(context, port)
        assert line.poll() is None  # all this while it ran
        assert line.wait(timeout=60 * PATIENCE) == 0
        for half in halves:
            half.close()
        log.seek(0)
        said = log.read()
    counts = json.loads(summary.read_text())
    assert counts["stream_digest"] == expected["stream_digest"] and counts["whole"] is True
    assert counts["restarts"] == {"packer": 0, "producer": 0, "sink": 0}
    for what in ("no report", "no slice", "no subscribe"):
        assert f"dropped what is {what}, from " in said


@pytest.mark.loopback
def test_a_position_of_no_job_is_told_and_ends_no_producer(tmp_path):
    job = write_job(tmp_path, deliver={"dp_size": 2}, pack={"dp_size_multiple": 2})
    write_tokens(tmp_path / "data/a.jsonl", seed=21, records=300)
    steps = json.loads(run([PACKLINE, "count", job, "--format", "json"]).stdout)["totals"]["steps"]
    state = tmp_path / "state.json"
    done, _ = packline_run(job, command=ranks_command(job, tmp_path / "got.json", "--ranks", 2, "--steps", 10, "--state", state))
    assert done.returncode == 0, done.stderr
    done, summary = packline_run(job, "--producers", 2, command=[sys.executable, "-c", GARBAGE, job, state])
    assert done.returncode == 0, done.stderr
    assert summary["restarts"] == {"packer": 0, "producer": 0, "sink": 0}
    assert done.stdout == f"rest {steps - 10}\n"
    assert "refused what a trainer rank wants" in done.stderr
