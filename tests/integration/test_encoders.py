"""Encoder processes in whole lines: the stream depends neither on how many there are nor on what happens to them."""

import json
import os
import pathlib
import random
import signal
import subprocess
import sys
import textwrap
import time

import pytest
from support import PACKLINE, PATIENCE, ROOT, children_of, client_env, packline_run, ranks_command, run, write_job

RECORDS = 1200

ENCODER = """
    import os, random, signal, time
    import numpy as np
    from packline.encode import per_token

    def encode(record, seed):
        do = record.get("do")
        if do == "segfault":
            os.kill(os.getpid(), signal.SIGSEGV)
        if do == "hang":
            time.sleep(3600)
        if do == "wait":
            while not os.path.exists(record["until"]):
                time.sleep(0.05)
        if do == "raise":
            raise ValueError(record["text"])
        rng = random.Random(seed)
        for part in record["text"].split("|"):
            ids = [rng.randrange(30000) for _ in part]
            cut = rng.randrange(len(ids) + 1)
            yield {"input_ids": ids, "labels": [-100] * cut + ids[cut:]}
"""


def write_records(folder, special=(), records=RECORDS, seed=5):
    """Texts of 5 to 200 letters, a tenth of them of two parts; `special`: {record number: more keys}."""
    rng = random.Random(seed)
    (folder / "data").mkdir(exist_ok=True)
    with open(folder / "data/a.jsonl", "w", encoding="utf-8") as out:
        for i in range(records):
            text = "x" * rng.randint(5, 200)
            if rng.random() < 0.1:
                text += "|" + "y" * rng.randint(5, 100)
            out.write(json.dumps({"id": f"r{i}", "text": text, **dict(special).get(i, {})}) + "\n")


def encoder_job(folder, code=ENCODER, function="my_encoder:encode", encode=None, **over):
    (folder / "my_encoder.py").write_text(textwrap.dedent(code))
    settings = {"kind": "python", "function": function, "path": ".", "python": sys.executable, "processes": 2,
                "batch_records": 16, "threads": None, **(encode or {})}  # fmt: skip
    settings = {k: v for k, v in settings.items() if v is not None}
    over.setdefault("sources", [{"path": "data/*.jsonl", "format": "any"}])
    path = write_job(folder, **over)
    job = json.loads(path.read_text())
    job["encode"] = settings
    path.write_text(json.dumps(job, indent=1))
    return path


def lost_of(summary):
    return {reason: n for reason, n in summary["lost"].items() if n}


def quarantine(summary):
    lines = []
    for path in sorted(pathlib.Path(summary["quarantine"]).glob("*.jsonl")):
        lines += [json.loads(line) for line in path.read_text().splitlines()]
    return lines


@pytest.fixture(scope="module")
def job(tmp_path_factory):
    folder = tmp_path_factory.mktemp("encoders")
    write_records(folder)
    return encoder_job(folder)


@pytest.fixture(scope="module")
def expected(job):
    done = run([PACKLINE, "count", job, "--format", "json"])
    assert done.returncode == 0, done.stderr
    epoch = json.loads(done.stdout)["epochs"][0]
    assert epoch["records"] == RECORDS and epoch["samples"] > RECORDS + 50
    return epoch


@pytest.mark.loopback
@pytest.mark.parametrize("processes, batch, producers", [(1, 16, 1), (2, 1, 2), (4, 64, 3)])
def test_the_number_of_encoders_changes_nothing(job, expected, tmp_path, processes, batch, producers):
    done, summary = packline_run(
        job, "--producers", producers, "--packers", 2, "--set", f"encode.processes={processes}",
        "--set", f"encode.batch_records={batch}", command=ranks_command(job, tmp_path / "got.json"),
        summary=tmp_path / "summary.json")  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert summary["stream_digest"] == expected["stream_digest"]
    assert summary["samples"] == expected["samples"] and summary["whole"] is True
    ids = [i for packs in json.loads((tmp_path / "got.json").read_text()) for p in packs for i in p["sample_ids"]]
    assert len(set(ids)) == len(ids) == expected["samples"]
    assert any(i.startswith("r") and i.endswith("/1") for i in ids)


def test_encoders_and_a_producer_that_are_killed_change_nothing(job, expected, tmp_path):
    """Ten restarts of encoders during an epoch."""
    steps = expected["packs"] // 4
    faults = []
    for k in range(10):
        faults += ["--fault", f"{(k + 1) * steps // 13}:kill_encode"]
    faults += ["--fault", f"{steps // 2}:kill_producer"]
    done, summary = packline_run(
        job, "--producers", 2, "--packers", 1, command=ranks_command(job, tmp_path / "got.json", *faults),
        summary=tmp_path / "summary.json", timeout=180)  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert summary["stream_digest"] == expected["stream_digest"]
    assert summary["restarts"]["producer"] == 1
    assert summary["restarts"]["encode"] == 10


class Line:
    """`packline run` in the background."""

    def __init__(self, job, *options, command=None, summary):
        self.summary = summary
        args = [PACKLINE, "run", job, "--summary", summary, *options, *(["--", *command] if command else [])]
        self.process = subprocess.Popen([str(a) for a in args], env=client_env(), stdin=subprocess.DEVNULL,
                                        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)  # fmt: skip
        self.job = job

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
            self.process.communicate()

    def encoders(self):
        return children_of(self.process.pid).get("encode", [])

    def status(self):
        done = run([PACKLINE, "status", self.job, "--format", "json"])
        return json.loads(done.stdout) if done.returncode == 0 else None

    def producer(self):
        """The producer's document; {} while there is none."""
        status = self.status() or {}
        found = [r for r in status.get("roles", []) if r.get("role") == "producer"]
        return found[0] if found else {}

    def wait_for(self, seen, timeout_s=60):
        end = time.monotonic() + timeout_s * PATIENCE
        while not (found := seen()):
            assert self.process.poll() is None, self.process.communicate()[1]
            assert time.monotonic() < end, self.status()
            time.sleep(0.05)
        return found

    def end(self, timeout_s=60):
        _, err = self.process.communicate(timeout=timeout_s * PATIENCE)
        return self.process.returncode, err, json.loads(pathlib.Path(self.summary).read_text())


def worker_of(pid):
    text = pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return int(text[0]) if text else 0


@pytest.mark.parametrize("who", ["worker", "supervisor"])
def test_an_encoder_that_is_stopped_holds_nothing_up_for_ever(tmp_path, who):
    until = tmp_path / "until"
    write_records(tmp_path, {n: {"do": "wait", "until": str(until)} for n in range(0, RECORDS, 2)})
    job = encoder_job(tmp_path, encode={"lease_s": 1.5})
    with Line(job, summary=tmp_path / "s.json") as line:
        supervisors = line.wait_for(lambda: (e := line.encoders()) and len(e) == 2 and all(map(worker_of, e)) and e)
        line.wait_for(lambda: line.producer().get("holds", {}).get("encoders_connected") == 2)
        stopped = supervisors[0]
        pid = worker_of(stopped) if who == "worker" else stopped
        os.kill(pid, signal.SIGSTOP)
        until.touch()
        code, err, summary = line.end()  # a supervisor that stands still is killed in the end
    assert code == 0, err
    assert not pathlib.Path(f"/proc/{stopped}").exists()
    assert summary["whole"] is True and lost_of(summary) == {}, summary


def test_a_record_that_kills_encoders_is_quarantined_with_its_signal(tmp_path, job, expected):
    write_records(tmp_path, {700: {"do": "segfault"}})
    mine = encoder_job(tmp_path)
    done, summary = packline_run(mine, summary=tmp_path / "s.json")
    assert done.returncode == 0, done.stderr
    (lost,) = quarantine(summary)
    assert lost["reason"] == "encoder_killed"
    assert lost["source"].endswith("a.jsonl:701")
    assert lost["cause"].count("signal 11 (Segmentation fault)") == 3
    assert lost_of(summary) == {"encoder_killed": 1}
    assert summary["restarts"]["encode"] == 0  # their workers died, not they
    assert summary["whole"] is True


def test_a_record_that_hangs_is_quarantined(tmp_path):
    write_records(tmp_path, {70: {"do": "hang"}}, records=200)
    job = encoder_job(tmp_path, encode={"lease_s": 0.5})
    done, summary = packline_run(job, summary=tmp_path / "s.json")
    assert done.returncode == 0, done.stderr
    (lost,) = quarantine(summary)
    assert lost["reason"] == "encoder_killed" and lost["source"].endswith("a.jsonl:71")
    assert all(f"no answer within {s} s" in lost["cause"] for s in ("0.5", "1", "2"))


def test_a_slow_record_holds_up_its_own_window_only(tmp_path):
    until = tmp_path / "until"
    write_records(tmp_path, {8: {"do": "wait", "until": str(until)}})
    job = encoder_job(tmp_path, shuffle={"kind": "none"}, deliver={"window_credit": 3})
    with Line(job, summary=tmp_path / "s.json") as line:
        # Lane 0 makes nothing; the other three as much as their credit allows.
        line.wait_for(lambda: line.producer().get("holds", {}).get("windows") == 9)
        (wait,) = line.wait_for(lambda: [w for w in line.producer()["waits"] if "to be encoded" in w["for"]])
        assert "s0:" in wait["for"] and wait["whom"].startswith("encoder ")
        assert line.process.poll() is None
        until.touch()
        code, err, summary = line.end()
    assert code == 0, err
    assert summary["whole"] is True and lost_of(summary) == {}


def test_a_hugging_face_tokenizer_encodes_texts_and_chats(tmp_path):
    pytest.importorskip("transformers")
    pytest.importorskip("tokenizers")
    sys.path.insert(0, str(ROOT / "trainer/tests"))
    try:
        from small_tokenizer import MARKED, save_tokenizer, text
    finally:
        sys.path.pop(0)
    save_tokenizer(tmp_path / "model", MARKED)
    rng = random.Random(4)
    (tmp_path / "data").mkdir()
    with open(tmp_path / "data/chats.jsonl", "w") as out:
        for i in range(300):
            turns = [{"role": "user", "content": text(rng, 5)},
                     {"role": "assistant", "content": text(rng, 1 + i % 30)}]  # fmt: skip
            out.write(json.dumps({"id": f"c{i}", "messages": turns if i != 77 else []}) + "\n")
    (tmp_path / "data/texts.txt").write_text("".join(text(rng, 9) + "\n" for _ in range(100)))
    sources = [{"path": "data/chats.jsonl", "format": "chat"}, {"path": "data/texts.txt", "format": "text"}]
    encode = {"kind": "hf", "model": "model", "function": None, "path": None}
    job = encoder_job(tmp_path, sources=sources, encode=encode)
    digests = set()
    for processes in (1, 3):
        done, summary = packline_run(job, "--set", f"encode.processes={processes}", summary=tmp_path / "s.json")
        assert done.returncode == 0, done.stderr
        assert summary["samples"] == 399 and lost_of(summary) == {"parse": 1}
        digests.add(summary["stream_digest"])
    assert len(digests) == 1
    # An encoder that is started by hand from the job file is the one that the producer wants.
    sys.path.insert(0, str(ROOT / "trainer"))
    try:
        from packline.encode.settings import from_job_file
    finally:
        sys.path.pop(0)
    by_hand = from_job_file(str(job), [], ["ipc:///x.3"])
    told = run([PACKLINE, "run", job, "--set", "encode.model=nowhere"])
    assert told.returncode == 2 and "name the folder of a fast tokenizer" in told.stderr
    assert by_hand.of_worker["chats"] is True
    with Line(job, "--set", "state=again", command=["sleep", "2"], summary=tmp_path / "s3.json") as line:
        (first, *_) = line.wait_for(line.encoders)
        argv = pathlib.Path(f"/proc/{first}/cmdline").read_bytes().decode().split("\0")
        assert json.loads(argv[argv.index("--settings") + 1])["identity"] == by_hand.identity
        assert line.end()[0] == 0


EVALUATES = """
import sys
from packline import PackStream, close_all
train = PackStream(sys.argv[1], dp_rank=0, layout="numpy")
evaluation = PackStream(sys.argv[1], dp_rank=0, layout="numpy", split="eval")
seen = [sorted(i for pack in evaluation for i in pack["sample_ids"]) for _ in range(2)]
trained = sorted(i for pack in train for i in pack["sample_ids"])
assert seen[0] == seen[1] and seen[0] and not set(seen[0]) & set(trained)
print("samples", len(seen[0]) + len(trained))
close_all([train, evaluation])
"""


def test_an_evaluation_beside_the_training_has_an_encoder_of_its_own(tmp_path):
    write_records(tmp_path, records=300)
    job = encoder_job(tmp_path, deliver={"dp_size": 1}, pack={"dp_size_multiple": 1}, eval={"fraction": 0.2})
    with open(tmp_path / "out.txt", "w") as out:
        done = run([PACKLINE, "run", job, "--", sys.executable, "-c", EVALUATES, job], stdout=out)
    assert done.returncode == 0, done.stderr
    counted = run([PACKLINE, "count", job, "--format", "json", "--set", "eval.fraction=0"])
    samples = json.loads(counted.stdout)["epochs"][0]["samples"]
    assert (tmp_path / "out.txt").read_text() == f"samples {samples}\n"


def test_the_example(tmp_path):
    job = ROOT / "examples/encoder/job.yaml"
    done, summary = packline_run(job, "--set", f"encode.python={sys.executable}", "--set", f"state={tmp_path}/state",
                                 summary=tmp_path / "s.json")  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert summary["whole"] is True and summary["samples"] == 800 and lost_of(summary) == {}


WAITS = """
import logging, sys
logging.basicConfig(stream=sys.stderr, format="%(message)s")
from packline import PackStream
from packline.errors import PacklineTimeout
try:
    for pack in PackStream(sys.argv[1], dp_rank=0, layout="rows", warn_after_s=2, fail_after_s=12):
        pass
except PacklineTimeout as e:
    print("TIMEOUT", e, file=sys.stderr)
"""


def test_a_rank_that_waits_for_a_record_names_it_and_who_encodes_it(tmp_path):
    write_records(tmp_path, {0: {"do": "hang"}}, records=200)
    job = encoder_job(tmp_path, shuffle={"kind": "none"}, deliver={"dp_size": 1}, pack={"dp_size_multiple": 1})
    done = run([PACKLINE, "run", job, "--", sys.executable, "-c", WAITS, job])
    for said in (done.stderr.split("TIMEOUT")[0], done.stderr.split("TIMEOUT")[1]):
        assert "rank 0 has waited" in said and "; it waits for record s0:" in said, done.stderr
        assert "to be encoded from encoder " in said


def test_an_exception_costs_its_record_and_says_where(tmp_path):
    write_records(tmp_path, {3: {"do": "raise", "text": "not this one"}}, records=200)
    job = encoder_job(tmp_path)
    done, summary = packline_run(job, summary=tmp_path / "s.json")
    assert done.returncode == 0, done.stderr
    (lost,) = quarantine(summary)
    rows = [row.strip() for row in textwrap.dedent(ENCODER).splitlines()]
    line = 1 + rows.index('raise ValueError(record["text"])')
    assert lost["reason"] == "encode" and lost["source"].endswith("a.jsonl:4")
    place = f"{tmp_path}/my_encoder.py:{line}"
    assert lost["cause"].startswith(f"{place}: ValueError: not this one (in my_encoder:encode)")
    assert "Traceback" in lost["cause"]
    assert lost_of(summary) == {"encode": 1}

    stopped, _ = packline_run(job, "--set", "on_bad_record=stop", "--set", "state=other", summary=tmp_path / "s2.json")
    assert stopped.returncode == 3
    assert f"a.jsonl:4: {tmp_path}/my_encoder.py:{line}: ValueError: not this one" in stopped.stderr


@pytest.mark.parametrize("command", ["run", "count"])
def test_a_function_that_cannot_be_imported_ends_the_line_before_the_first_step(tmp_path, command):
    write_records(tmp_path, records=50)
    job = encoder_job(tmp_path, function="nowhere:encode")
    done = run([PACKLINE, command, job])
    assert done.returncode == 2
    told = "encode.function: nowhere:encode: there is no module nowhere: it is looked for in encode.path"
    assert told in done.stderr


def test_a_python_that_is_not_there_is_told(tmp_path):
    write_records(tmp_path, records=50)
    job = encoder_job(tmp_path, encode={"python": "/no/such/python"})
    done = run([PACKLINE, "run", job])
    assert done.returncode == 2 and "encode-0: cannot run '/no/such/python'" in done.stderr


FIELDS = """
    import numpy as np
    from packline.encode import per_token, per_sample

    def encode(record, seed):
        n = len(record["text"])
        sample = {"input_ids": [1] * n, "weight": np.full(n, seed % 5, np.float16), "note": record["id"],
                  "pairs": per_token(np.arange(2 * n, dtype=np.int16).reshape(n, 2)), "flag": n % 2 == 0,
                  "bounds": per_sample([n, n + 1])}
        if n % 3 == 0:
            sample["pixels"] = np.full((n % 7, 2, 2), n, np.float32)
        return sample
"""

READ = """
import sys
from packline import PackStream
seen = 0
for pack in PackStream(sys.argv[1], dp_rank=0, layout="rows"):
    for row in pack:
        n = len(row["input_ids"])
        assert str(row["weight"].dtype) == "float16" and len(set(row["weight"].tolist())) == 1, row
        assert bytes(row["note"]).decode().startswith("r")
        assert row["pairs"].shape == (n, 2) and row["pairs"][:, 0].tolist() == list(range(0, 2 * n, 2))
        assert row["flag"].tolist() == [n % 2 == 0] and row["bounds"].tolist() == [n, n + 1]
        pixels = row.get("pixels")
        assert (0 if pixels is None else len(pixels)) == (n % 7 if n % 3 == 0 else 0), (n, pixels)
        assert n % 3 or n % 7 == 0 or float(pixels[0, 1, 1]) == n
        seen += 1
print("seen", seen)
"""


def test_extra_fields_arrive_in_the_client(tmp_path):
    write_records(tmp_path, records=300)
    job = encoder_job(tmp_path, code=FIELDS, deliver={"dp_size": 1}, pack={"capacity": 512, "dp_size_multiple": 1})
    out = tmp_path / "out.txt"
    with open(out, "w") as f:
        done = run([PACKLINE, "run", job, "--", sys.executable, "-c", READ, job], stdout=f)
    assert done.returncode == 0, done.stderr
    assert "seen 300" in out.read_text()


def test_a_global_plan_is_made_by_encoders_too(tmp_path, job):
    write_records(tmp_path)
    mine = encoder_job(tmp_path, pack={"plan": "global"})
    other = ["--set", "state=other", "--set", "encode.batch_records=5"]
    counted = run([PACKLINE, "count", mine, "--format", "json", *other])
    assert counted.returncode == 0, counted.stderr
    epoch = json.loads(counted.stdout)["epochs"][0]
    done, summary = packline_run(mine, "--producers", 2, summary=tmp_path / "s.json")
    assert done.returncode == 0, done.stderr
    assert summary["stream_digest"] == epoch["stream_digest"]


def test_encoders_on_another_host_come_and_go(tmp_path, job, expected):
    """A line whose roles are started by hand, over tcp; its encoders by `packline-encode --config`."""
    from support import BIN
    import socket

    def free_base():
        for base in range(random.randrange(20000, 50000), 60000, 7):
            held = []
            try:
                for k in range(5):
                    s = socket.socket()
                    held.append(s)
                    s.bind(("127.0.0.1", base + k))
                return base
            except OSError:
                continue
            finally:
                for s in held:
                    s.close()

    settings = json.loads(pathlib.Path(job).read_text())
    settings["sources"][0]["path"] = str(pathlib.Path(job).parent / "data/*.jsonl")
    settings["encode"]["path"] = str(pathlib.Path(job).parent)
    settings["state"] = "state"
    settings["deliver"]["dp_size"] = 1
    settings["line"] = {"producers": [f"tcp://127.0.0.1:{free_base()}"], "sinks": [f"tcp://127.0.0.1:{free_base()}"],
                        "security": "none"}  # fmt: skip
    mine = tmp_path / "job.yaml"
    mine.write_text(json.dumps(settings))
    env = client_env()
    roles, encoders = [], []

    def encoder():
        encoders.append(subprocess.Popen([sys.executable, "-m", "packline.encode", "--config", str(mine)], env=env,
                                         stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL))  # fmt: skip

    try:
        for name, *options in (("producer", "--index", "0"), ("packer",), ("sink", "--dp-rank", "0")):
            roles.append(subprocess.Popen([str(BIN / f"packline-{name}"), "--config", str(mine), *options],
                                          stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL))  # fmt: skip
        encoder()
        code = f"""
import sys, time
from packline import PackStream
from packline.digest import pack_digest
total, n = 0, 0
stream = PackStream({str(mine)!r}, dp_rank=0, layout="numpy")
for pack in stream:
    total, n = (total + pack_digest(pack)) % 2**64, n + 1
    if n in (20, 60):
        print("at", n, flush=True)
        sys.stdin.readline()
print(f"digest {{total:016x}}", flush=True)
stream.close()
"""
        trainer = subprocess.Popen([sys.executable, "-c", code], env=env, stdin=subprocess.PIPE,
                                   stdout=subprocess.PIPE, text=True)  # fmt: skip
        roles.append(trainer)
        assert trainer.stdout.readline() == "at 20\n"
        encoder()
        encoders[0].kill()
        trainer.stdin.write("\n")
        trainer.stdin.flush()
        assert trainer.stdout.readline() == "at 60\n"
        encoder()
        trainer.stdin.write("\n")
        trainer.stdin.flush()
        assert trainer.stdout.readline() == f"digest {expected['stream_digest']}\n"
        assert trainer.wait(30 * PATIENCE) == 0
        assert [e.wait(30 * PATIENCE) for e in encoders[1:]] == [0, 0]
        assert roles[0].wait(30 * PATIENCE) == 0
    finally:
        for p in [*roles, *encoders]:
            if p.poll() is None:
                p.kill()
            p.wait()
        trainer.stdin.close()
        trainer.stdout.close()


def test_an_encoder_of_another_version_is_refused(tmp_path):
    write_records(tmp_path, records=50)
    job = encoder_job(tmp_path)
    # The launcher's own encoders are right; one that was started with another job file is not.
    until = tmp_path / "until"
    write_records(tmp_path, {4: {"do": "wait", "until": str(until)}}, records=50)
    with Line(job, summary=tmp_path / "s.json") as line:
        line.wait_for(lambda: line.producer().get("holds", {}).get("encoders_connected") == 2)
        told = json.loads((tmp_path / "state/run.json").read_text())
        address = json.loads(pathlib.Path(told["line"]).read_text())["producers"][0] + ".3"
        other = run([sys.executable, "-m", "packline.encode", "--config", job, "--set", "encode.version=2",
                     "--connect", address])  # fmt: skip
        assert other.returncode == 2
        wants = 'wants the encoder "python my_encoder:encode", and this one is "python my_encoder:encode version=2"'
        assert wants in other.stderr
        until.touch()
        code, err, _ = line.end()
    assert code == 0, err
