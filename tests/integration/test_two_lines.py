"""A line that is there is nobody else's to disturb: a second line of its job, and `packline tail` beside it."""

import json
import pathlib
import subprocess
import sys
import time

import pytest
from support import BIN, PACKLINE, PATIENCE, client_env, line_at, packline_run, run, write_job, write_tokens

# Takes the first --steps packs of each rank, says so, waits to be told, then takes the rest.
PAUSES = """
import os, sys, time
from packline import Fenced, PackStream, close_all
job, folder, ranks, steps, *endpoint = sys.argv[1:]
at = {"endpoint": endpoint[0], "prefetch": 1} if endpoint else {}
streams = [PackStream(job, dp_rank=r, layout="rows", **at) for r in range(int(ranks))]
taken = 0
try:
    for _ in zip(*streams):
        taken += 1
        if taken == int(steps):
            open(folder + "/paused", "w").close()
            while not os.path.exists(folder + "/go"):
                time.sleep(0.02)
except Fenced as e:
    print("fenced", e)
    sys.exit(3)
print("taken", taken)
close_all(streams)
"""
FEW = """
import sys
from packline import PackStream
streams = [PackStream(sys.argv[1], dp_rank=r, layout="rows") for r in range(2)]
for _ in zip(range(3), *streams):
    pass
"""


@pytest.fixture
def job(tmp_path):
    path = write_job(tmp_path, pack={"dp_size_multiple": 2}, deliver={"dp_size": 2})
    write_tokens(tmp_path / "data/a.jsonl", seed=31, records=300, high=300)  # some are over long
    return path


def wait_for(path, process):
    deadline = time.monotonic() + 30 * PATIENCE
    while not path.exists():
        assert process.poll() is None and time.monotonic() < deadline, path
        time.sleep(0.02)


def quarantine(folder):
    return sorted(json.loads(line)["id"] for f in pathlib.Path(folder).glob("*.jsonl") for line in f.read_text().splitlines())


def test_a_second_line_of_a_job_leaves_the_first_ones_files_alone(job, tmp_path):
    counted = json.loads(run([PACKLINE, "count", job, "--format", "json"]).stdout)["totals"]
    assert counted["lost"]["over_long"] > 10
    summary = tmp_path / "first.json"
    first = subprocess.Popen(
        [PACKLINE, "run", str(job), "--summary", str(summary), "--",
         sys.executable, "-c", PAUSES, str(job), str(tmp_path), "2", str(counted["steps"])],
        env=client_env(), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        wait_for(tmp_path / "paused", first)
        pointer = (tmp_path / "state/run.json").read_text()
        (folder,) = (tmp_path / "state").glob("*/quarantine")
        described = quarantine(folder)
        assert len(described) == counted["lost"]["over_long"]

        second, told = packline_run(job, command=[sys.executable, "-c", FEW, job])
        assert second.returncode == 0, second.stderr
        assert f"process {first.pid} runs this job already" in second.stderr
        assert "holds the quarantine file" in second.stderr
        assert told["whole"] is False
        assert quarantine(folder) == described
        assert (tmp_path / "state/run.json").read_text() == pointer
        assert run([PACKLINE, "status", job]).returncode == 0  # of the first
    finally:
        (tmp_path / "go").touch()
        out, err = first.communicate(timeout=60 * PATIENCE)
    assert first.returncode == 0, err
    assert json.loads(summary.read_text())["whole"] is True
    assert not (tmp_path / "state/run.json").exists()


@pytest.fixture
def by_hand(tmp_path):
    """A line of one rank started by hand, and its trainer, which has taken one pack and waits."""
    job = write_job(tmp_path, pack={"dp_size_multiple": 1}, deliver={"dp_size": 1})
    write_tokens(tmp_path / "data/a.jsonl", seed=32, records=100)
    base = f"ipc://{tmp_path}"
    sets = line_at([f"{base}/p"], [f"{base}/s"])
    argv = [[BIN / "packline-producer", "--config", job, "--index", 0, *sets], [BIN / "packline-packer", "--config", job, *sets],
            [BIN / "packline-sink", "--config", job, "--dp-rank", 0, *sets],
            [sys.executable, "-c", PAUSES, job, tmp_path, 1, 1, f"{base}/s.1"]]
    running = [subprocess.Popen([str(a) for a in args], env=client_env(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
               for args in argv]
    wait_for(tmp_path / "paused", running[-1])
    yield job, sets, running
    for p in running:
        if p.poll() is None:
            p.kill()
        p.communicate()


def test_tail_beside_a_line_makes_one_of_its_own(by_hand, tmp_path):
    job, sets, running = by_hand
    steps = json.loads(run([PACKLINE, "count", job, "--format", "json"]).stdout)["totals"]["steps"]
    tail = run([PACKLINE, "tail", job, "--dp-rank", 0, "--format", "jsonl", *sets])
    assert tail.returncode == 0, tail.stderr
    assert len(tail.stdout.splitlines()) == steps
    assert not (tmp_path / "state/run.json").exists()
    (tmp_path / "go").touch()
    out, err = running[-1].communicate(timeout=60 * PATIENCE)
    assert (running[-1].returncode, out) == (0, f"taken {steps}\n"), err
    assert [p.wait(timeout=60 * PATIENCE) for p in running] == [0, 0, 0, 0]


def test_tail_that_joins_takes_the_ranks_place(by_hand, tmp_path):
    job, sets, running = by_hand
    tail = run([PACKLINE, "tail", job, "--join", "--dp-rank", 0, "--steps", 1, *sets])
    assert tail.returncode == 0 and len(tail.stdout.splitlines()) == 1, tail.stderr
    (tmp_path / "go").touch()
    out, err = running[-1].communicate(timeout=60 * PATIENCE)
    assert running[-1].returncode == 3 and out.startswith("fenced"), (out, err)


def test_tail_has_no_line_to_join(job):
    done = run([PACKLINE, "tail", job, "--join", "--dp-rank", 0])
    assert done.returncode == 4
    assert "--join: no line runs this job on this host" in done.stderr
