"""The line over tcp, each process on a host of its own: the stream is that of `packline run`."""

import json
import subprocess

import pytest
from hosts import Hosts, why_not
from support import BIN, PACKLINE, PATIENCE, packline_run, run, write_job, write_tokens

RANKS = 2


@pytest.fixture
def job(tmp_path):
    over = dict(deliver={"dp_size": RANKS}, pack={"dp_size_multiple": RANKS})
    path = write_job(tmp_path, **over)
    write_tokens(tmp_path / "data/a.jsonl", seed=8, records=600)
    return path


def test_each_process_on_its_own_host(job, tmp_path):
    reason = why_not()
    if reason:
        pytest.skip(reason)
    done, summary = packline_run(job, summary=tmp_path / "here.json")
    assert done.returncode == 0, done.stderr
    names = ["data-0", "data-1", "pack-0", "pack-1"] + [f"gpu-{r}" for r in range(RANKS)] + [f"train-{r}" for r in range(RANKS)]
    with Hosts(names) as hosts:
        sets = [
            "--set", "line.producers=" + json.dumps([f"tcp://{hosts.address(f'data-{i}')}:5550" for i in range(2)]),
            "--set", "line.sinks=" + json.dumps([f"tcp://{hosts.address(f'gpu-{r}')}:5600" for r in range(RANKS)]),
            "--set", "line.security=none",
        ]
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE, "text": True}
        roles = [hosts.start(f"data-{i}", [BIN / "packline-producer", "--config", job, "--index", str(i), *sets], **quiet) for i in range(2)]
        roles += [hosts.start(f"pack-{i}", [BIN / "packline-packer", "--config", job, *sets], **quiet) for i in range(2)]
        roles += [hosts.start(f"gpu-{r}", [BIN / "packline-sink", "--config", job, "--dp-rank", str(r), "--progress-file",
                                           tmp_path / f"progress-{r}", *sets], **quiet) for r in range(RANKS)]
        tails = [hosts.start(f"train-{r}", [PACKLINE, "tail", job, "--dp-rank", str(r), *sets], **quiet) for r in range(RANKS)]
        for process in tails + roles:
            _, err = process.communicate(timeout=60 * PATIENCE)
            assert process.returncode == 0, (process.args, err)
    total = 0
    for r in range(RANKS):
        told = json.loads((tmp_path / f"progress-{r}").read_text())
        assert told["total"]["digest"] == summary["digest"][str(r)]
        total += int(told["total"]["digest"], 16)
    assert f"{total % 2**64:016x}" == summary["stream_digest"]


def test_a_public_address_needs_security_none_to_be_said(job):
    sets = ["--set", 'line.producers=["tcp://10.79.0.1:5550"]', "--set", 'line.sinks=["tcp://10.79.0.2:5600","tcp://10.79.0.3:5600"]']
    done = run([BIN / "packline-packer", "--config", job, *sets])
    assert done.returncode == 2
    assert "security" in done.stderr
