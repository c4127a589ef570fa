"""Law L7: no wait without a name."""

import pathlib
import subprocess
import sys

import pytest
from support import BIN, HERE, PATIENCE, client_env, write_job, write_tokens

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
    sets = ["--set", f'line.producers=["{producer}"]', "--set", f'line.sinks=["{sink}"]']
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
