"""Encoder processes as they are, against a producer of the test's own."""

import json
import os
import signal
import struct
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest
from fake_producer import FakeProducer

TRAINER = Path(__file__).resolve().parents[1]

MODULE = """
    import json, os, signal, sys, time
    print("imported")  # no output of an encoder process

    def encode(record, seed):
        do = record.get("do")
        if do == "segfault":
            os.kill(os.getpid(), signal.SIGSEGV)
        if do == "sleep":
            time.sleep(record["seconds"])
        if do == "stop":
            os.kill(os.getpid(), signal.SIGSTOP)
        if do == "exit":
            os._exit(3)
        if do == "look":
            fds = {f: os.readlink(f"/proc/self/fd/{f}") for f in os.listdir("/proc/self/fd")
                   if os.path.exists(f"/proc/self/fd/{f}")}
            seen = {"env": dict(os.environ), "fds": fds, "parent": os.getppid(), "pid": os.getpid()}
            return {"input_ids": [1], "seen": json.dumps(seen)}
        return {"input_ids": [seed, len(record)]}
"""


@pytest.fixture
def module(tmp_path):
    (tmp_path / "my_encoder.py").write_text(textwrap.dedent(MODULE))
    return tmp_path


@pytest.fixture
def start(module):
    """start(producer, ...) starts an encoder process for the producers."""
    started = []

    def begin(*producers, function="my_encoder:encode", env=None, fail_after_s=60, **popen):
        settings = {
            "job": "test", "connect": [p.address for p in producers], "identity": "python my_encoder:encode",
            "kind": "python", "function": function, "path": str(module), "warn_after_s": 30,
            "fail_after_s": fail_after_s,
        }  # fmt: skip
        process = subprocess.Popen(
            [sys.executable, "-m", "packline.encode", "--settings", json.dumps(settings)],
            env={**os.environ, "PYTHONPATH": str(TRAINER), **(env or {})}, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **popen,
        )  # fmt: skip
        started.append(process)
        return process

    yield begin
    for process in started:
        if process.poll() is None:
            process.kill()
        process.communicate()


@pytest.fixture
def producer(run_folder):
    with FakeProducer(run_folder) as p:
        yield p


def line(**record):
    return json.dumps(record).encode()


def worker_of(process):
    (child,) = (Path(f"/proc/{process.pid}/task/{process.pid}/children")).read_text().split()
    return int(child)


def gone(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] == "Z"
    except OSError:
        return True


def ended(process, timeout_s=20):
    """(exit code, stdout, stderr)."""
    out, err = process.communicate(timeout=timeout_s)
    return process.returncode, out, err


def test_records_come_back_as_samples_and_the_end_is_heard(producer, start):
    process = start(producer)
    (peer,) = producer.wait_for_encoders()
    assert producer.states[peer]["encoder"] == "python my_encoder:encode"
    number = producer.give(peer, [line(id="a"), line(b=1, c=2), b"{"])
    header, frames = producer.answer_to(number)
    assert (header["producer"], header["session"]) == (7, producer.states[peer]["session"])
    first, second, third = header["records"]
    assert (first["lost"], first["id"], first["samples"]) == ("", "a", [4])
    assert struct.unpack("<2i", frames[3]) == (100, 1)
    assert struct.unpack("<2i", frames[7]) == (101, 2)
    assert (third["lost"], third["samples"]) == ("parse", [])
    producer.finished = True
    producer.wait_for(lambda: process.poll() is not None)
    code, out, err = ended(process)
    assert (code, out) == (0, "")
    assert "imported" in err


def test_a_worker_has_a_clean_environment(producer, start):
    fd = os.open("/dev/zero", os.O_RDONLY)
    os.set_inheritable(fd, True)
    env = {"CUDA_VISIBLE_DEVICES": "0", "RANK": "3", "MASTER_PORT": "1", "TORCHELASTIC_RUN_ID": "x",
           "PACKLINE_LINE": "/x", "OMP_NUM_THREADS": "16", "KEPT": "1"}  # fmt: skip
    process = start(producer, env=env, close_fds=False)
    (peer,) = producer.wait_for_encoders()
    _, frames = producer.answer_to(producer.give(peer, [line(do="look")]))
    seen = json.loads(frames[4])
    os.close(fd)
    assert seen["parent"] == process.pid and seen["pid"] != process.pid
    assert seen["env"]["CUDA_VISIBLE_DEVICES"] == "" and seen["env"]["OMP_NUM_THREADS"] == "1"
    assert seen["env"]["KEPT"] == "1"
    assert not {"RANK", "MASTER_PORT", "TORCHELASTIC_RUN_ID", "PACKLINE_LINE"} & set(seen["env"])
    others = {k: v for k, v in seen["fds"].items() if int(k) > 2}
    assert len(others) == 2 and all(v.startswith("pipe:") for v in others.values()), others
    assert seen["fds"]["0"] == "/dev/null"


@pytest.mark.parametrize("do, number, text", [
    ("segfault", 11, "signal 11 (Segmentation fault)"), ("exit", 0, "exit code 3"),
])  # fmt: skip
def test_a_worker_that_dies_is_told_at_once_and_replaced(producer, start, do, number, text):
    process = start(producer)
    (peer,) = producer.wait_for_encoders()
    first = worker_of(process)
    batch = producer.give(peer, [line(), line(do=do)])
    behind = producer.give(peer, [line()])
    producer.wait_for(lambda: producer.struck)
    (struck,) = producer.struck
    assert (struck["number"], struck["signal"], struck["overdue"], struck["text"]) == (batch, number, False, text)
    producer.answer_to(behind)  # what waited behind it was not lost with it
    assert worker_of(process) != first and process.poll() is None


@pytest.mark.parametrize("do", ["sleep", "stop"])
def test_a_worker_that_overruns_its_lease_is_ended(producer, start, do):
    process = start(producer)
    (peer,) = producer.wait_for_encoders()
    worker = worker_of(process)
    batch = producer.give(peer, [line(do=do, seconds=600)], lease_ms=300)
    producer.wait_for(lambda: producer.struck)
    (struck,) = producer.struck
    assert (struck["number"], struck["overdue"], struck["text"]) == (batch, True, "no answer within 0.3 s")
    assert gone(worker)
    producer.answer_to(producer.give(peer, [line()]))


def test_a_supervisor_that_is_killed_takes_its_worker_along(producer, start):
    process = start(producer)
    (peer,) = producer.wait_for_encoders()
    worker = worker_of(process)
    producer.give(peer, [line(do="sleep", seconds=600)])
    producer.wait_for(lambda: producer.states[peer]["working_ms"] > 0)
    process.kill()
    end = time.monotonic() + 10
    while not gone(worker):
        assert time.monotonic() < end


def test_a_signal_ends_it(producer, start):
    process = start(producer)
    producer.wait_for_encoders()
    worker = worker_of(process)
    process.send_signal(signal.SIGTERM)
    assert ended(process)[0] == 143
    assert gone(worker)


def test_it_works_for_every_producer_and_for_the_next_life_of_one(run_folder, start):
    with FakeProducer(run_folder, 1, session=8) as other:
        with FakeProducer(run_folder, 0) as first:
            start(first, other)
            for p in (first, other):
                (peer,) = p.wait_for_encoders()
                p.answer_to(p.give(peer, [line()]))
            first.give(next(iter(first.states)), [line(do="sleep", seconds=1)])
            first.wait_for(lambda: next(iter(first.states.values()))["working_ms"] > 0)
        with FakeProducer(run_folder, 0, session=9) as again:
            (peer,) = again.wait_for_encoders()
            again.wait_for(lambda: again.states[peer]["producer"] == 9)
            assert again.states[peer]["held"] == []
            again.answer_to(again.give(peer, [line()]))
            assert len(again.answers) == 1


def test_large_answers_pass(producer, start, module):
    (module / "large.py").write_text(
        "import numpy as np\n"
        "def encode(record, seed): return {'input_ids': [1], 'x': np.full((3, 1 << 20), seed % 7, np.float32)}\n"
    )
    start(producer, function="large:encode")
    (peer,) = producer.wait_for_encoders()
    _, frames = producer.answer_to(producer.give(peer, [line(), line()]))
    assert len(frames[4]) == 12 << 20 and frames[4][:4] == struct.pack("<f", 100 % 7)


@pytest.mark.parametrize("function, told", [
    ("nowhere:encode", "there is no module nowhere"), ("my_encoder:nothing", "has no nothing"),
    ("broken:encode", "broken.py:2: ValueError: not today"),
])  # fmt: skip
def test_a_function_that_cannot_be_had_ends_it_with_2(producer, start, module, function, told):
    (module / "broken.py").write_text("x = 1\nraise ValueError('not today')\n")
    code, _, err = ended(start(producer, function=function))
    assert code == 2 and told in err and f"encode.function: {function}: " in err


def test_a_worker_that_never_gets_ready_ends_it_with_4(producer, start, module):
    (module / "dies.py").write_text("import os, signal\nos.kill(os.getpid(), signal.SIGKILL)\n")
    code, _, err = ended(start(producer, function="dies:encode"), 40)
    assert code == 4 and "died 5 times before it was ready, the last time by signal 9 (Killed)" in err


def test_it_is_refused_with_a_sentence(producer, start):
    process = start(producer)
    producer.refused = "this producer wants another encoder: give both the same job file"
    producer.wait_for(lambda: process.poll() is not None)
    code, _, err = ended(process)
    assert code == 2 and producer.refused in err


def test_without_a_producer_it_ends_with_4_by_name(producer, start):
    process = start(producer, fail_after_s=1)  # the producer never answers
    code, _, err = ended(process)
    assert code == 4 and "no producer was heard for 1 s" in err


def run_module(*args):
    return subprocess.run([sys.executable, "-m", "packline.encode", *args],
                          env={**os.environ, "PYTHONPATH": str(TRAINER)}, capture_output=True, text=True,
                          timeout=30)  # fmt: skip


@pytest.mark.parametrize("job, told", [
    ("encode: {kind: bytes}\n", "no encoder process is needed"),
    ("encode: {kind: python}\n", "encode.function must be module:name"),
    ("encode: {kind: python, function: 'm:f'}\n", "line.producers is missing"),
    ("encode: {kind: python, function: 'm:f'}\nline: {producers: [here]}\n", "is no tcp://host:port"),
    ("a: [\n", "is no job file"),
])  # fmt: skip
def test_a_job_file_that_gives_no_encoder_is_told(tmp_path, job, told):
    path = tmp_path / "job.yaml"
    path.write_text(job)
    done = run_module("--config", str(path))
    assert done.returncode == 2 and told in done.stderr, done.stderr


def test_a_job_file_starts_it(producer, module):
    path = module / "job.yaml"
    path.write_text("name: mine\nencode: {kind: python, function: 'my_encoder:encode', version: 3, path: .}\n")
    process = subprocess.Popen(
        [sys.executable, "-m", "packline.encode", "--config", str(path), "--connect", producer.address,
         "--set", "encode.version=4"],
        env={**os.environ, "PYTHONPATH": str(TRAINER)}, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        (peer,) = producer.wait_for_encoders()
        assert producer.states[peer]["encoder"] == "python my_encoder:encode version=4"
        producer.answer_to(producer.give(peer, [line()]))
    finally:
        process.terminate()
        process.wait(10)
