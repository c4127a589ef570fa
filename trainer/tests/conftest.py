import json
import os
import shutil
import tempfile

import pytest
from fake_sink import FakeSink


@pytest.fixture(autouse=True)
def no_launcher(monkeypatch):
    """No test depends on the launcher or the line that runs the tests."""
    for name in list(os.environ):
        if name.startswith(
            ("RANK", "WORLD_SIZE", "SLURM_", "OMPI_", "PMI_", "PACKLINE_", "TORCHELASTIC_")
        ):
            monkeypatch.delenv(name)


@pytest.fixture
def run_folder():
    """A folder with a path short enough for ipc addresses."""
    folder = tempfile.mkdtemp(prefix="pl-")
    yield folder
    shutil.rmtree(folder)


@pytest.fixture
def line(run_folder, monkeypatch):
    """line(job, ...) starts a FakeSink for each dp_rank and sets PACKLINE_LINE; gives (path of the
    job file, the sinks)."""
    sinks = []

    def start(job, faults=None, **fields):
        mine = [FakeSink(job, run_folder, r, faults) for r in range(job.dp_size)]
        path = os.path.join(run_folder, "job.yaml")
        about = {
            "version": 1, "job": path, "pid": 1,
            "sinks": [s.base for s in mine], "dp_size": job.dp_size, "ranks_per_dp_rank": 1,
            "warn_after_s": 30, "fail_after_s": 60, **fields,
        }  # fmt: skip
        where = os.path.join(run_folder, "line.json")
        with open(where, "w") as f:
            json.dump(about, f)
        monkeypatch.setenv("PACKLINE_LINE", where)
        for s in mine:
            s.__enter__()
        sinks.extend(mine)
        return path, mine

    yield start
    for s in sinks:
        s.__exit__()
