"""How a line ends: exit codes, signals, nothing left behind."""

import json
import os
import pathlib
import signal
import subprocess
import sys
import time

import pytest
from support import PACKLINE, PATIENCE, children_of, client_env, line_at, packline_run, ranks_command, run, write_job, write_tokens

pytestmark = pytest.mark.loopback


@pytest.fixture
def job(tmp_path):
    path = write_job(tmp_path, name="endings")
    write_tokens(tmp_path / "data/a.jsonl", seed=2, records=300)
    return path


def wait_for(condition, seconds, what):
    deadline = time.monotonic() + seconds * PATIENCE
    while time.monotonic() < deadline:
        value = condition()
        if value:
            return value
        time.sleep(0.02)
    raise AssertionError(f"{what}: not within {seconds} s")


def start_line(job, command):
    return subprocess.Popen([PACKLINE, "run", str(job), "--", *command], env=client_env(), stdin=subprocess.DEVNULL,
                            stderr=subprocess.PIPE, text=True)


def alive(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


def line_children(launcher):
    return [p for pids in children_of(launcher).values() for p in pids]


def whole_line(launcher):
    names = children_of(launcher)
    return names if {"producer", "packer", "sink"} <= set(names) and len(names["sink"]) == 4 else None


def test_the_commands_exit_code_is_the_launchers(job):
    done, _ = packline_run(job, command=[sys.executable, "-c", "raise SystemExit(7)"])
    assert done.returncode == 7


def test_a_command_that_cannot_be_run_is_a_wrong_command_line(job):
    done, _ = packline_run(job, command=["/nonexistent/trainer"])
    assert done.returncode == 2
    assert "/nonexistent/trainer" in done.stderr


@pytest.mark.parametrize("sig,code", [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_signals_end_the_line_and_leave_nothing(job, sig, code):
    line = start_line(job, ["sleep", "600"])
    wait_for(lambda: whole_line(line.pid), 20, "the line's processes")
    pids = line_children(line.pid)
    line.send_signal(sig)
    assert line.wait(timeout=20 * PATIENCE) == code
    assert not [p for p in pids if alive(p)]
    assert not (job.parent / "state/run.json").exists()


def test_the_second_ctrl_c_ends_at_once_what_ignores_the_first(job):
    line = start_line(job, ["bash", "-c", "trap '' INT TERM; echo here >&2; while true; do sleep 0.1; done"])
    wait_for(lambda: whole_line(line.pid), 20, "the line's processes")
    assert line.stderr.readline() == "here\n"
    pids = line_children(line.pid)
    line.send_signal(signal.SIGINT)
    time.sleep(0.3)  # two of a signal that are not taken up apart are one
    assert line.poll() is None
    before = time.monotonic()
    line.send_signal(signal.SIGINT)
    assert line.wait(timeout=20 * PATIENCE) == 130
    assert time.monotonic() - before < 4 * PATIENCE
    assert not [p for p in pids if alive(p)]


@pytest.mark.parametrize("command", [["count"], ["check"], ["tail", "--dp-rank", "0"], ["tail", "--dp-rank", "0", "--format", "jsonl"]])
def test_output_that_cannot_be_written_is_no_success(job, command):
    with open("/dev/full", "w") as full:
        done = run([PACKLINE, command[0], job, *command[1:]], stdout=full)
    assert done.returncode == 2
    assert "the output could not be written: No space left on device" in done.stderr


def test_kill_9_of_the_launcher_ends_its_children_within_2_s(job):
    line = start_line(job, ["sleep", "600"])
    wait_for(lambda: whole_line(line.pid), 20, "the line's processes")
    pids = line_children(line.pid)
    line.kill()
    line.wait()
    wait_for(lambda: not [p for p in pids if alive(p)], 2, "the children's end")
    # what it left does not disturb the next run, which removes it
    left = json.loads((job.parent / "state/run.json").read_text())
    done, summary = packline_run(job)
    assert done.returncode == 0, done.stderr
    assert summary["whole"] is True
    assert not os.path.exists(os.path.dirname(left["line"]))


def test_a_role_that_keeps_dying_ends_the_line_with_a_sentence(job):
    line = start_line(job, ["sleep", "600"])
    wait_for(lambda: whole_line(line.pid), 20, "the line's processes")
    seen = set()
    deadline = time.monotonic() + 60 * PATIENCE
    while line.poll() is None and time.monotonic() < deadline:
        for pid in children_of(line.pid).get("packer", []):
            if pid not in seen:
                seen.add(pid)
                os.kill(pid, signal.SIGKILL)
        time.sleep(0.02)
    assert line.wait(timeout=30 * PATIENCE) == 4
    assert "packer-0 died 5 times and no pack reached a trainer" in line.stderr.read()
    assert len(seen) == 5


def test_a_refused_record_ends_the_line_with_exit_3(tmp_path):
    job = write_job(tmp_path, on_bad_record="stop")
    write_tokens(tmp_path / "data/a.jsonl", seed=3, records=50)
    with open(tmp_path / "data/a.jsonl", "a", encoding="utf-8") as f:
        f.write('{"input_ids": [1, 2.5]}\n')
    done, _ = packline_run(job, command=ranks_command(job, tmp_path / "got.json"))
    assert done.returncode == 3
    assert "a.jsonl:51" in done.stderr


def test_every_role_started_by_hand_ends_with_exit_0(job, tmp_path):
    base = f"ipc://{tmp_path}/"
    sets = line_at([f"{base}p0"], [f"{base}s{r}" for r in range(4)])
    bin_dir = pathlib.Path(PACKLINE).parent
    roles = [[bin_dir / "packline-producer", "--config", job, "--index", "0"], [bin_dir / "packline-packer", "--config", job]]
    roles += [[bin_dir / "packline-sink", "--config", job, "--dp-rank", str(r)] for r in range(4)]
    running = [subprocess.Popen([str(a) for a in r + sets], stderr=subprocess.PIPE, text=True) for r in roles]
    try:
        tails = [subprocess.Popen([PACKLINE, "tail", str(job), "--join", "--dp-rank", str(r), *sets], stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE, text=True, env=client_env()) for r in range(4)]
        running += tails
        for p in running:
            _, err = p.communicate(timeout=60 * PATIENCE)
            assert p.returncode == 0, (p.args, err)
    finally:
        for p in running:
            if p.poll() is None:
                p.kill()


def test_garbage_on_the_command_line_is_exit_2(job):
    assert run([PACKLINE, "run"]).returncode == 2
    assert run([PACKLINE, "run", job, "--producers", "0"]).returncode == 2
    done = run([PACKLINE, "run", job, "--producers", "5"])
    assert done.returncode == 2 and "lanes" in done.stderr
    assert run([PACKLINE, "check", job.parent / "missing.yaml"]).returncode == 2
