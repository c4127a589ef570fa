"""docs/sources.md, "Pipes": records that come through a named pipe, once."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
import time

import pytest
from support import PACKLINE, client_env, packline_run, ranks_command, run, write_job, write_tokens

SHUFFLES = [{"kind": "none"}, {"kind": "buffer", "size": 64}]


class Writer(threading.Thread):
    """Writes a file into a pipe, in small pieces; behind `stop_at` bytes it waits for go_on()."""

    def __init__(self, pipe, data, stop_at=None):
        super().__init__(daemon=True)
        self.pipe, self.data, self.stop_at = pipe, data, stop_at
        self.going_on = threading.Event()
        self.start()

    def run(self):
        with contextlib.suppress(BrokenPipeError), open(self.pipe, "wb", buffering=0) as out:
            first = self.data if self.stop_at is None else self.data[: self.stop_at]
            for at in range(0, len(first), 5000):
                out.write(first[at : at + 5000])
            if self.stop_at is not None:
                self.going_on.wait()
                out.write(self.data[self.stop_at :])

    def go_on(self):
        self.going_on.set()


def pipe_job(tmp_path, shuffle=None, **over):
    """A job over data/p.jsonl, a pipe; the same records lie in records.jsonl."""
    shuffle = shuffle or {"kind": "none"}
    settings = {"sources": [{"path": "data/p.jsonl", "format": "tokens"}], "lanes": 1, "shuffle": shuffle, **over}
    job = write_job(tmp_path, **settings)
    os.mkfifo(tmp_path / "data/p.jsonl")
    write_tokens(tmp_path / "records.jsonl", seed=31, records=1200)
    return job, tmp_path / "data/p.jsonl", (tmp_path / "records.jsonl").read_bytes()


def of_file(job):
    """What `count` says of the same records in a file."""
    done = run([PACKLINE, "count", job, "--format", "json", "--set", "sources.0.path=records.jsonl"])
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)["totals"]


def notes(tmp_path):
    return list((tmp_path / "state/pipes").glob("*"))


@pytest.mark.parametrize("shuffle", SHUFFLES, ids=[s["kind"] for s in SHUFFLES])
def test_count_reads_a_pipe_as_it_would_a_file(tmp_path, shuffle):
    job, pipe, data = pipe_job(tmp_path, shuffle)
    Writer(pipe, data)
    done = run([PACKLINE, "count", job, "--format", "json"])
    assert done.returncode == 0, done.stderr
    assert "reads the pipe data/p.jsonl to its end, and what was read is gone" in done.stderr
    totals, file = json.loads(done.stdout)["totals"], of_file(job)
    assert file["records"] == 1200
    for key in ("records", "packs", "samples", "tokens", "stream_digest"):
        assert totals[key] == file[key], key
    assert notes(tmp_path) == []
    Writer(pipe, data)
    page = tmp_path / "page.html"
    done = run([PACKLINE, "report", job, "-o", page])
    assert done.returncode == 0 and page.exists(), done.stderr
    assert "what was read is gone" in done.stderr


@pytest.mark.parametrize("shuffle", SHUFFLES, ids=[s["kind"] for s in SHUFFLES])
@pytest.mark.parametrize("faults", [[], ["3:kill_packer", "9:kill_sink", "15:kill_packer", "15:stop_producer"]],
                         ids=["calm", "killed"])
def test_a_line_over_a_pipe_delivers_the_files_stream(tmp_path, shuffle, faults):
    """L5: whatever packer or sink dies, each sample reaches the trainer exactly once."""
    job, pipe, data = pipe_job(tmp_path, shuffle)
    Writer(pipe, data)
    options = [o for f in faults for o in ("--fault", f)]
    done, summary = packline_run(job, "--packers", 2, command=ranks_command(job, tmp_path / "got.json", *options))
    assert done.returncode == 0, done.stderr
    file = of_file(job)
    assert summary["whole"] and summary["records"] == 1200
    assert summary["stream_digest"] == file["stream_digest"]
    got = [p["digest"] for rank in json.loads((tmp_path / "got.json").read_text()) for p in rank]
    assert f"{sum(int(d, 16) for d in got) % 2**64:016x}" == file["stream_digest"]
    assert sum(summary["restarts"].values()) == sum("kill" in f for f in faults)


BACK = """
import json, os, subprocess, sys
job, state, out, saved_at, dies_at = sys.argv[1:6]
if len(sys.argv) == 6:  # the launcher of a trainer of two lives
    lives = [subprocess.run([sys.executable, *sys.orig_argv[1:], str(life)]).returncode for life in (1, 2)]
    sys.exit(lives[1] if lives[0] == 9 else 1)
from packline import PackStream, close_all
streams = [PackStream(job, dp_rank=r, layout="numpy", prefetch=1) for r in range(4)]
got = []
if sys.argv[6] == "2":
    got = json.load(open(out))
    for s in streams:
        s.load_state_dict(json.load(open(state)))
for n, packs in enumerate(zip(*streams), 1):
    got.append([list(p["sample_ids"]) for p in packs])
    if sys.argv[6] == "1" and n == int(dies_at):
        os._exit(9)
    if sys.argv[6] == "1" and n == int(saved_at):
        json.dump(streams[0].state_dict(), open(state, "w"))
        json.dump(got, open(out, "w"))
json.dump(got, open(out, "w"))
close_all(streams)
"""


def go_back(tmp_path, saved_at, dies_at, **over):
    job, pipe, data = pipe_job(tmp_path, **over)
    Writer(pipe, data)
    out = tmp_path / "got.json"
    done, _ = packline_run(job, command=[sys.executable, "-c", BACK, job, tmp_path / "state.json", out, saved_at, dies_at])
    return done, out


def test_a_trainer_goes_back_as_far_as_the_credit(tmp_path):
    """L5: a source that cannot seek reaches back as far as the credit."""
    done, out = go_back(tmp_path, saved_at=8, dies_at=14)  # two steps a window: three windows
    assert done.returncode == 0, done.stderr
    ids = [i for step in json.loads(out.read_text()) for pack in step for i in pack]
    assert len(ids) == len(set(ids)) == 1200


def test_a_trainer_that_goes_back_further_is_told_why_it_cannot(tmp_path):
    done, _ = go_back(tmp_path, saved_at=2, dies_at=60)
    assert done.returncode == 1, done.stderr
    assert "DataRefused" in done.stderr
    assert "a pipe goes back as far as deliver.window_credit windows" in done.stderr


def test_a_rank_of_the_launcher_ends_with_the_datas_exit_code(tmp_path):
    """The null trainer of a line started by hand: its place is gone, which is exit code 3."""
    job, pipe, data = pipe_job(tmp_path, deliver={"dp_size": 1})
    Writer(pipe, data)
    # The first life's cursor is given to a second line, over the pipe written anew.
    command = ranks_command(job, tmp_path / "got.json", "--ranks", 1, "--state", tmp_path / "state.json")
    done, _ = packline_run(job, command=[*command, "--steps", 40])
    assert done.returncode == 0, done.stderr
    assert len(notes(tmp_path)) == 1  # it was not read to its end
    done, _ = packline_run(job)
    assert done.returncode == 3
    assert "was begun by process" in done.stderr and f"remove {notes(tmp_path)[0]}" in done.stderr
    notes(tmp_path)[0].unlink()
    Writer(pipe, data)
    done, _ = packline_run(job, command=command)
    assert "it was started after them, and a pipe cannot go back" in done.stderr
    assert json.loads((tmp_path / "got.json").read_text()) and done.returncode != 0


def test_a_producer_that_died_cannot_go_on(tmp_path):
    """Nothing wrong is delivered: what came is the beginning of the stream."""
    job, pipe, data = pipe_job(tmp_path)
    Writer(pipe, data)
    code = ("import json, os, signal, sys\nfrom packline import PackStream\nfrom packline.digest import pack_digest\n"
            "from support import children_of\n"
            "streams = [PackStream(sys.argv[1], dp_rank=r, layout='numpy') for r in range(4)]\nits = [iter(s) for s in streams]\n"
            "out = open(sys.argv[2], 'w')\n"
            "for n in range(1000):\n"
            "    for i in its:\n        print(f'{pack_digest(next(i)):016x}', file=out, flush=True)\n"
            "    if n == 5:\n        os.kill(children_of(os.getppid())['producer'][0], signal.SIGKILL)\n")
    done, summary = packline_run(job, command=[sys.executable, "-c", code, job, tmp_path / "got"])
    assert done.returncode == 3, (done.returncode, done.stderr)
    assert f"the pipe {pipe} was begun by process" in done.stderr
    assert "and a pipe cannot go back" in done.stderr
    assert not summary["whole"]
    done, _ = packline_run(job, "--set", "sources.0.path=records.jsonl",
                           command=ranks_command(job, tmp_path / "whole.json"))
    assert done.returncode == 0, done.stderr
    whole = [p["digest"] for step in zip(*json.loads((tmp_path / "whole.json").read_text())) for p in step]
    got = (tmp_path / "got").read_text().split()
    assert len(got) >= 24 and got == whole[: len(got)]


def test_a_silent_writer_is_named_by_the_ranks_that_wait_and_training_goes_on_when_it_does(tmp_path):
    """L7: no wait without a name."""
    job, pipe, data = pipe_job(tmp_path, deliver={"warn_after_s": 1})
    writer = Writer(pipe, data, stop_at=len(data) // 2)
    threading.Timer(6, writer.go_on).start()
    done, summary = packline_run(job)
    assert done.returncode == 0, done.stderr
    assert summary["stream_digest"] == of_file(job)["stream_digest"]
    who = f"the pipe {pipe}, whose writer sends nothing"
    waits = [line for line in done.stderr.splitlines() if who in line]
    assert any("rank 0 has waited" in w and "producer 0, which makes it, has waited" in w for w in waits), done.stderr
    assert any("producer-0" in w and f"waits for records from {who} since" in w for w in waits), waits
    assert "has not been heard" not in done.stderr  # heart beats go on
    assert sum(summary["restarts"].values()) == 0


def test_a_wait_for_the_writer_ends_by_the_jobs_limit(tmp_path):
    job, pipe, _ = pipe_job(tmp_path, deliver={"warn_after_s": 1, "fail_after_s": 3})
    done, _ = packline_run(job)
    assert done.returncode == 4, (done.returncode, done.stderr)
    assert f"for the pipe {pipe}, to which nothing was written yet" in done.stderr


def test_check_neither_reads_nor_waits(tmp_path):
    job, pipe, data = pipe_job(tmp_path)
    began = time.monotonic()
    done = run([PACKLINE, "check", job])
    assert done.returncode == 0, done.stderr
    assert time.monotonic() - began < 5
    assert not (tmp_path / "state/pipes").exists()
    writer = Writer(pipe, data)
    assert run([PACKLINE, "check", job, "--format", "json"]).returncode == 0
    assert writer.is_alive()  # nobody let it begin
    assert run([PACKLINE, "count", job]).returncode == 0


REFUSED = {
    "lanes=4": "lanes: 4 lanes; a pipe is read once, from front to back, by one producer: set lanes: 1",
    "shuffle.kind=full": "shuffle.kind: full needs to know all records before the first",
    "epochs=2": "epochs: a pipe can be read once; set epochs: 1",
    "epochs=continuous": "epochs: a pipe can be read once; set epochs: 1",
    "pack.plan=global": "pack.plan: global needs all lengths before the first pack",
    "eval.fraction=0.1": "eval.fraction: records set aside are read apart",
    "sources.0.repeat=2": "sources.0.repeat: a pipe gives each record once",
    "sources.0.path=data/*": "sources.0.path: {folder}/data/p.jsonl is a pipe, and a pipe is a job's only source",
}


@pytest.mark.parametrize("setting", REFUSED)
def test_what_a_pipe_cannot_give_is_refused_by_the_setting(tmp_path, setting):
    job, _, _ = pipe_job(tmp_path)
    write_tokens(tmp_path / "data/a.jsonl", seed=1, records=3)
    done = run([PACKLINE, "check", job, "--set", setting])
    assert done.returncode == 2
    assert REFUSED[setting].format(folder=tmp_path) in done.stderr, done.stderr
    assert len(done.stderr.strip().splitlines()) == 1, done.stderr


def test_two_producers_cannot_share_a_pipe(tmp_path):
    job, pipe, data = pipe_job(tmp_path)
    done, _ = packline_run(job, "--producers", 2)
    assert done.returncode == 2 and "--producers 2: the job has 1 lanes" in done.stderr
    # nor two lines, whatever their state folders
    writer = Writer(pipe, data, stop_at=len(data) // 2)
    first = subprocess.Popen([PACKLINE, "count", job], env=client_env(), stderr=subprocess.PIPE, stdout=subprocess.PIPE)
    try:
        while not notes(tmp_path):
            time.sleep(0.01)
        done = run([PACKLINE, "count", job, "--set", "state=other"])
        assert done.returncode == 3
        assert f"the pipe {pipe} is being read by another process" in done.stderr
        done = run([PACKLINE, "count", job])
        assert done.returncode == 3 and f"was begun by process {first.pid}" in done.stderr
        writer.go_on()
        assert first.wait(timeout=30) == 0
    finally:
        if first.poll() is None:
            first.send_signal(signal.SIGKILL)
        first.communicate()


def test_what_comes_packed_through_a_pipe_is_refused_with_what_to_do(tmp_path):
    import gzip
    job, pipe, data = pipe_job(tmp_path)
    Writer(pipe, gzip.compress(data))
    done, _ = packline_run(job)
    assert done.returncode == 3
    assert f"what comes through the pipe {pipe} is packed by gzip: unpack it on its way, as in `zcat" in done.stderr
