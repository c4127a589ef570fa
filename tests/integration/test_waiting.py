"""Law L7: no wait without a name."""

import pathlib
import subprocess
import sys

import pytest
from support import BIN, HERE, PATIENCE, client_env, line_at, write_job, write_tokens

TRAINER = """
import logging, sys
logging.basicConfig(stream=sys.stderr, format="%(message)s")
from packline import PackStream
from packline.errors import PacklineTimeout
try:
    next(iter(PackStream(sys.argv[1], dp_rank=0, layout="rows", endpoint=sys.argv[2], fail_after_s=6)))
except PacklineTimeout as e:
    print("TIMEOUT", e)
"""


@pytest.mark.loopback
def test_a_line_without_a_packer_is_named_then_raised(tmp_path):
    job = write_job(tmp_path, deliver={"dp_size": 1, "warn_after_s": 2, "fail_after_s": 60}, pack={"dp_size_multiple": 1})
    write_tokens(tmp_path / "data/a.jsonl", seed=4, records=100)
    producer, sink = f"ipc://{tmp_path}/p0", f"ipc://{tmp_path}/s0"
    sets = line_at([producer], [sink])
    roles = [
        subprocess.Popen([BIN / "packline-producer", "--config", job, "--index", "0", *sets], stderr=subprocess.PIPE),
        subprocess.Popen([BIN / "packline-sink", "--config", job, "--dp-rank", "0", *sets], stderr=subprocess.PIPE),
    ]
    try:
        done = subprocess.run([sys.executable, "-c", TRAINER, str(job), f"{sink}.1"], env=client_env(), capture_output=True, text=True,
                              timeout=60 * PATIENCE, stdin=subprocess.DEVNULL, check=False)
    finally:
        for p in roles:
            p.kill()
            p.wait()
            p.stderr.close()
    for said in (done.stderr, done.stdout.split("TIMEOUT", 1)[-1]):
        assert "rank 0 has waited" in said, done
        assert "sink 0 misses window" in said, done
        assert "producer 0" in said and "no packer is connected" in said, done


SHORT = ["--set", "deliver.warn_after_s=1", "--set", "deliver.fail_after_s=3"]


def start_role(job, name, *options):
    return subprocess.Popen([str(a) for a in (BIN / f"packline-{name}", "--config", job, *options, *SHORT)],
                            stderr=subprocess.PIPE, text=True)


def test_every_role_says_whom_it_waits_for_then_fails_with_it(tmp_path):
    """Each of the three, with nobody there: unasked past warn_after_s, exit 4 past fail_after_s."""
    job = write_job(tmp_path, deliver={"dp_size": 1}, pack={"dp_size_multiple": 1})
    write_tokens(tmp_path / "data/a.jsonl", seed=4, records=10)
    sets = line_at([f"ipc://{tmp_path}/p"], [f"ipc://{tmp_path}/s"])
    away = line_at([f"ipc://{tmp_path}/away"], [f"ipc://{tmp_path}/s"])  # where no producer is
    roles = {"producer": start_role(job, "producer", "--index", "0", *sets), "packer": start_role(job, "packer", *away),
             "sink": start_role(job, "sink", "--dp-rank", "0", *away)}
    waits = {"producer": "waits for its first report from sink 0 since 1", "packer": "waits for a notice from producers at ipc://",
             "sink": "waits for a notice from producers at ipc://"}
    fails = {"producer": "no sink has reported for 3", "packer": "no producer was heard for 3",
             "sink": "has heard no producer since it started 3"}
    for name, process in roles.items():
        _, said = process.communicate(timeout=30 * PATIENCE)
        assert process.returncode == 4, (name, said)
        lines = said.splitlines()
        assert "warning" in lines[0] and waits[name] in lines[0], said
        assert "error" in lines[-1] and fails[name] in lines[-1], said


def test_a_producer_without_a_packer_says_so(tmp_path):
    job = write_job(tmp_path, deliver={"dp_size": 1}, pack={"dp_size_multiple": 1})
    write_tokens(tmp_path / "data/a.jsonl", seed=4, records=100)
    sets = line_at([f"ipc://{tmp_path}/p"], [f"ipc://{tmp_path}/s"])
    roles = [start_role(job, "producer", "--index", "0", *sets), start_role(job, "sink", "--dp-rank", "0", *sets)]
    tail = subprocess.Popen([str(BIN / "packline"), "tail", str(job), "--join", "--dp-rank", "0", *sets, *SHORT], stderr=subprocess.PIPE,
                            text=True, env=client_env())
    try:
        _, trainer_said = tail.communicate(timeout=30 * PATIENCE)
        assert tail.returncode == 4 and "no packer is connected: start one" in trainer_said
    finally:
        said = []
        for p in roles:
            p.kill()
            said.append(p.communicate()[1])
    producer, sink = said
    assert "waits for a packer that takes a window from packers (none is connected: start one) since 1" in producer
    assert "waits for window 0 (lane 0) (it is ready at producer 0, but no packer is connected: start one)" in sink


def test_a_line_whose_trainer_never_subscribes_says_so(tmp_path):
    """A trainer that never takes a pack: the line stands, and says for whom."""
    job = write_job(tmp_path, deliver={"dp_size": 2, "warn_after_s": 1}, pack={"dp_size_multiple": 2})
    write_tokens(tmp_path / "data/a.jsonl", seed=4, records=100)
    done = subprocess.run([str(BIN / "packline"), "run", str(job), "--", "sleep", "3"], env=client_env(), capture_output=True,
                          text=True, timeout=60 * PATIENCE, stdin=subprocess.DEVNULL, check=False)
    assert done.returncode == 0
    assert "waits for the first Subscribe from its trainer rank since 1" in done.stderr
