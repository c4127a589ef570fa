"""Exit codes: 0 done, 2 the job or the command line is wrong, 3 the data was refused, 4 a peer or an address could not be had."""

import json
import os
import re
import socket
import subprocess
import sys

import pytest
from support import BIN, HERE, PACKLINE, PATIENCE, client_env, line_at, packline_run, run, write_job, write_tokens


@pytest.fixture
def job(tmp_path):
    path = write_job(tmp_path, deliver={"dp_size": 1}, pack={"dp_size_multiple": 1})
    write_tokens(tmp_path / "data/a.jsonl", seed=13, records=40)
    return path


def role(name, job, *options):
    return [BIN / f"packline-{name}", "--config", job, *options]


def test_a_second_producer_at_an_ipc_address_is_refused_and_the_first_goes_on(job, tmp_path):
    sets = line_at([f"ipc://{tmp_path}/p"], [f"ipc://{tmp_path}/s"])
    port_file = tmp_path / "port"
    first = subprocess.Popen([str(a) for a in role("producer", job, "--index", 0, "--http-port-file", port_file, *sets)],
                             stderr=subprocess.PIPE)
    rest = []
    try:
        while not port_file.exists():  # ends: the process would have ended
            assert first.poll() is None
        second = run(role("producer", job, "--index", 0, *sets))
        assert second.returncode == 4
        assert f"ipc://{tmp_path}/p.0: is held by process {first.pid}" in second.stderr
        rest = [subprocess.Popen([str(a) for a in argv], env=client_env(), stdout=subprocess.DEVNULL) for argv in (
            role("packer", job, *sets), role("sink", job, "--dp-rank", 0, *sets),
            [PACKLINE, "tail", job, "--join", "--dp-rank", 0, *sets])]
        assert [p.wait(timeout=60 * PATIENCE) for p in (first, *rest)] == [0, 0, 0, 0]
    finally:
        for p in (first, *rest):
            if p.poll() is None:
                p.kill()


@pytest.mark.parametrize("name,options,offset", [("producer", ["--index", 0], 0), ("producer", ["--index", 0], 2),
                                                 ("sink", ["--dp-rank", 0], 1), ("sink", ["--dp-rank", 0], 4)])
def test_a_tcp_port_in_use_is_named(job, name, options, offset):
    with socket.socket() as taken:
        while True:
            taken.bind(("127.0.0.1", 0))
            port = taken.getsockname()[1]
            if 1024 < port - offset < 65000:
                break
        taken.listen()
        mine = f"tcp://127.0.0.1:{port - offset}"
        other = "tcp://127.0.0.1:1200"
        sets = line_at([mine], [other]) if name == "producer" else line_at([other], [mine])
        done = run(role(name, job, *options, *sets))
    assert done.returncode == 4, done.stderr
    assert f":{port}" in done.stderr and re.search("end the process that holds it|is another process there", done.stderr)


def test_an_address_no_socket_can_have_is_a_wrong_job(job):
    for bad in ("tcp://127.0.0.1:0", "tcp://127.0.0.1:99999", "tcp://127.0.0.1:65534", "udp://127.0.0.1:7",
                "ipc:///" + "x" * 120):
        done = run(role("producer", job, "--index", 0, *line_at([bad], ["tcp://127.0.0.1:1300"])))
        assert done.returncode == 2, (bad, done.returncode, done.stderr)
        assert "line.producers" in done.stderr


def test_a_role_by_itself_needs_addresses(job):
    done = run(role("packer", job))
    assert done.returncode == 2 and "line.producers" in done.stderr


def test_a_source_that_is_not_there_is_a_wrong_job(tmp_path):
    job = write_job(tmp_path)
    for args in ([PACKLINE, "check", job], [PACKLINE, "count", job], [PACKLINE, "run", job]):
        done = run(args)
        assert done.returncode == 2, (args, done.stderr)
        assert "data/*.jsonl" in done.stderr


def test_over_long_error_refuses_the_data(job):
    done, _ = packline_run(job, "--set", "pack.capacity=64", "--set", "pack.over_long=error")
    assert done.returncode == 3
    assert "a.jsonl:" in done.stderr and "64" in done.stderr


def test_a_line_of_another_job_at_the_address_is_refused_by_the_setting(job, tmp_path):
    """A packer and a sink that were given another job than the producer say which setting differs."""
    sets = line_at([f"ipc://{tmp_path}/p"], [f"ipc://{tmp_path}/s"])
    producer = subprocess.Popen([str(a) for a in role("producer", job, "--index", 0, *sets)], stderr=subprocess.DEVNULL)
    try:
        for argv in (role("packer", job, *sets), role("sink", job, "--dp-rank", 0, *sets)):
            done = run([*argv, "--set", "pack.capacity=512"])
            assert done.returncode == 2, done.stderr
            assert "pack.capacity" in done.stderr and "512" in done.stderr and "256" in done.stderr
    finally:
        producer.kill()
        producer.wait()


def test_a_job_that_is_no_yaml_or_too_much_of_it(tmp_path):
    job = tmp_path / "job.yaml"
    laughs = "a: &a [x,x,x,x,x,x,x,x]\n" + "".join(
        f"{chr(98 + i)}: &{chr(98 + i)} [{','.join(['*' + chr(97 + i)] * 8)}]\n" for i in range(9))
    for text in ("a: [", "\x00\x01", "- 1\n- 2\n", "", laughs, "version: 1\nversion: 1\n", "version: 0x1\n"):
        job.write_text(text)
        done = run([PACKLINE, "check", job], timeout=10)
        assert done.returncode == 2, (text[:40], done.stderr)
        assert str(job) in done.stderr


def test_json_logs_are_json(job, tmp_path):
    sets = line_at([f"ipc://{tmp_path}/p"], [f"ipc://{tmp_path}/s"])
    done = run([*role("packer", job, *sets), "--set", "deliver.warn_after_s=1", "--set", "deliver.fail_after_s=2",
                "--log-format", "json"])
    assert done.returncode == 4
    said = [json.loads(line) for line in done.stderr.splitlines()]
    assert said[-1]["level"] == "error" and said[-1]["role"] == "packer" and "producer" in said[-1]["text"]


def test_the_launchers_own_log_is_json_too(job):
    """A role that dies is told by the launcher: each line of its log is JSON, as the roles' are."""
    kills = "import os, signal, sys, time; sys.path.insert(0, sys.argv[1])\nfrom support import children_of\n" \
            "while not (p := children_of(os.getppid()).get('packer')): time.sleep(0.02)\n" \
            "os.kill(p[0], signal.SIGKILL)\nwhile children_of(os.getppid()).get('packer') in (None, p): time.sleep(0.02)\n"
    done = run([PACKLINE, "run", job, "--log-format", "json", "--", sys.executable, "-c", kills, HERE])
    assert done.returncode == 0, done.stderr
    told = [json.loads(line) for line in done.stderr.splitlines() if "died by" in line]
    assert len(told) == 1 and told[0]["role"] == "packline" and told[0]["level"] == "warning"
    assert told[0]["job"] == "test" and "packer-0 (pid " in told[0]["text"]


@pytest.mark.parametrize("command", ["count", "check", "status"])
def test_what_logs_nothing_takes_no_log_format(job, command):
    done = run([PACKLINE, command, job, "--log-format", "json"])
    assert done.returncode == 2 and "--log-format" in done.stderr


@pytest.mark.parametrize("name", ["producer", "packer", "sink"])
def test_a_roles_settings_that_cannot_be_written_are_no_success(job, name):
    index = {"producer": ["--index", 0], "packer": [], "sink": ["--dp-rank", 0]}[name]
    assert run(role(name, job, *index, "--check")).returncode == 0
    with open("/dev/full", "w") as full:
        done = run(role(name, job, *index, "--check"), stdout=full)
    assert done.returncode == 2
    assert done.stderr == (f"packline-{name}: the output could not be written: No space left on device; what came out of it "
                           "is not whole\n")


def test_a_job_file_whose_name_is_no_utf8(job):
    """Its name becomes the job's, and stands in JSON: a summary must not be lost for it."""
    odd = os.fsencode(job.parent) + b"/" + b"x" * 62 + b"\xe2\x82\xac\xff.yaml"
    settings = json.loads(job.read_text())
    del settings["name"]
    with open(odd, "w") as out:
        json.dump(settings, out)
    for command in (["count", "--format", "json"], ["check", "--format", "json"], ["run", "--summary", "/dev/stdout"]):
        done = subprocess.run([PACKLINE.encode(), command[0].encode(), odd, *(a.encode() for a in command[1:])],
                              capture_output=True, env=client_env(), timeout=60 * PATIENCE, check=False)
        assert done.returncode == 0, (command, done.stderr)
    assert b'"job": "' + b"x" * 62 + b'"' in done.stdout
