"""Law L1: packs(job, epoch, window) depends on nothing else: not on how many producers, packers or ranks there are. So a
line over tcp, every process on a host of its own, gives the stream of `packline run`."""

import json
import subprocess

import pytest
from hosts import Hosts, why_not
from support import BIN, PACKLINE, PATIENCE, client_env, packline_run, write_job, write_tokens

PRODUCERS = ["data-0", "data-1"]
PACKERS = ["pack-0", "pack-1"]
SINKS = ["gpu-0", "gpu-1"]


@pytest.fixture
def hosts():
    reason = why_not()
    if reason:
        pytest.skip(reason)
    with Hosts(PRODUCERS + PACKERS + SINKS) as made:
        yield made


def tcp_line(hosts):
    return {"producers": [f"tcp://{hosts.address(h)}:5550" for h in PRODUCERS],
            "sinks": [f"tcp://{hosts.address(h)}:5600" for h in SINKS], "security": "none"}


def start_all(hosts, job, log):
    """Every role by hand, and a trainer beside each sink; {name: process}."""
    roles = {h: ["packline-producer", "--config", job, "--index", i] for i, h in enumerate(PRODUCERS)}
    roles |= {h: ["packline-packer", "--config", job] for h in PACKERS}
    roles |= {h: ["packline-sink", "--config", job, "--dp-rank", i] for i, h in enumerate(SINKS)}
    started = {h: hosts.start(h, [BIN / argv[0], *argv[1:]], stderr=log, env=client_env()) for h, argv in roles.items()}
    for i, h in enumerate(SINKS):
        tail = [PACKLINE, "tail", job, "--join", "--dp-rank", i, "--format", "jsonl"]
        with open(job.parent / f"got-{i}", "w") as out:
            started[f"trainer-{i}"] = hosts.start(h, tail, stdout=out, stderr=log, env=client_env())
    return started


def test_roles_on_hosts_of_their_own_give_the_stream_of_one_host(hosts, tmp_path):
    job = write_job(tmp_path, pack={"dp_size_multiple": 2}, deliver={"dp_size": 2})
    write_tokens(tmp_path / "data/a.jsonl", seed=7, records=600)
    done, summary = packline_run(job)
    assert done.returncode == 0, done.stderr
    expected = [json.loads(line) for rank in range(2) for line in tail_of(job, rank)]

    over_tcp = write_job(tmp_path, pack={"dp_size_multiple": 2}, deliver={"dp_size": 2}, line=tcp_line(hosts))
    with open(tmp_path / "log", "w+") as log:
        started = start_all(hosts, over_tcp, log)
        codes = {name: p.wait(timeout=60 * PATIENCE) for name, p in started.items()}
        log.seek(0)
        assert set(codes.values()) == {0}, (codes, log.read())
    got = [json.loads(line) for i in range(2) for line in (tmp_path / f"got-{i}").read_text().splitlines()]
    assert len(got) == summary["packs"] > 100
    assert got == expected


def tail_of(job, rank):
    done = subprocess.run([PACKLINE, "tail", job, "--dp-rank", str(rank), "--format", "jsonl"], env=client_env(),
                          capture_output=True, text=True, timeout=60 * PATIENCE, stdin=subprocess.DEVNULL, check=True)
    return done.stdout.splitlines()
