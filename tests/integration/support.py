"""What the integration tests share: executables, seeded data, jobs, processes."""

import json
import os
import pathlib
import random
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
BIN = pathlib.Path(os.environ.get("PACKLINE_BIN", ROOT / "build/release/bin"))
PACKLINE = str(BIN / "packline")
HERE = pathlib.Path(__file__).resolve().parent
# A sanitized build is some ten times slower.
PATIENCE = float(os.environ.get("PACKLINE_TEST_PATIENCE", "1"))


def client_env(**more):
    """The environment of a Python process that imports the client from the source tree."""
    env = dict(os.environ, PYTHONPATH=os.pathsep.join([str(ROOT / "trainer"), str(HERE)]), PACKLINE_BIN=str(BIN))
    env.pop("PACKLINE_LINE", None)
    env.update(more)
    return env


def write_tokens(path, seed, records, low=5, high=200, labels=True, vocabulary=30000):
    """JSONL of ready token ids, seeded; returns how many tokens it holds."""
    rng = random.Random(seed)
    total = 0
    with open(path, "w", encoding="utf-8") as out:
        for i in range(records):
            ids = [rng.randrange(vocabulary) for _ in range(rng.randint(low, high))]
            record = {"id": f"r{i}", "input_ids": ids}
            if labels:
                cut = rng.randrange(len(ids))
                record["labels"] = [-100] * cut + ids[cut:]
            out.write(json.dumps(record) + "\n")
            total += len(ids)
    return total


def job_settings(**over):
    """A small whole job; `over` replaces top-level keys, or merges into those that are maps."""
    job = {
        "version": 1,
        "name": "test",
        "seed": 17,
        "epochs": 1,
        "state": "state",
        "sources": [{"path": "data/*.jsonl", "format": "tokens"}],
        "lanes": 4,
        "encode": {"kind": "tokens", "threads": 1},
        "pack": {"capacity": 256, "packs_per_window": 8, "lookahead_packs": 2, "dp_size_multiple": 4},
        "deliver": {"dp_size": 4, "lease_ms": 500},
    }
    for key, value in over.items():
        if isinstance(value, dict) and isinstance(job.get(key), dict):
            job[key] = {**job[key], **value}
        elif value is None:
            job.pop(key, None)
        else:
            job[key] = value
    return job


def write_job(folder, **over):
    """A job file (JSON is YAML) in `folder`; the data lie in folder/data."""
    folder = pathlib.Path(folder)
    (folder / "data").mkdir(parents=True, exist_ok=True)
    path = folder / "job.yaml"
    path.write_text(json.dumps(job_settings(**over), indent=1) + "\n", encoding="utf-8")
    return path


def run(args, timeout=60, **kwargs):
    """Runs to the end; text output is captured unless told otherwise."""
    kwargs.setdefault("stdout", subprocess.PIPE)
    kwargs.setdefault("stderr", subprocess.PIPE)
    kwargs.setdefault("env", client_env())
    return subprocess.run([str(a) for a in args], timeout=timeout * PATIENCE, text=True, stdin=subprocess.DEVNULL,
                          check=False, **kwargs)


def packline_run(job, *options, command=None, summary=None, timeout=60):
    """`packline run`; returns (finished process, summary or None)."""
    summary = pathlib.Path(summary or pathlib.Path(job).parent / "summary.json")
    summary.unlink(missing_ok=True)
    args = [PACKLINE, "run", job, "--summary", summary, *options]
    if command:
        args += ["--", *command]
    done = run(args, timeout=timeout)
    return done, json.loads(summary.read_text()) if summary.exists() else None


def line_at(producers, sinks):
    """The --set arguments of a line whose roles are started by hand at these base addresses."""
    return ["--set", f"line.producers={json.dumps(producers)}", "--set", f"line.sinks={json.dumps(sinks)}",
            "--set", "line.security=none"]


# A trainer of every rank whose first steps take their time: job ranks steps seconds.
SLOW = """
import sys, time
from packline import PackStream, close_all
job, ranks, steps, seconds = sys.argv[1:]
streams = [PackStream(job, dp_rank=r, layout="numpy", prefetch=1) for r in range(int(ranks))]
for n, packs in enumerate(zip(*streams)):
    if n < int(steps):
        time.sleep(float(seconds))
close_all(streams)
"""


def slow_trainer(job, ranks, steps, seconds):
    return [sys.executable, "-c", SLOW, str(job), str(ranks), str(steps), str(seconds)]


def ranks_command(job, out, *options):
    """The command of a Python process that drives every rank in step and writes what they got."""
    return [sys.executable, HERE / "drive_ranks.py", "--job", job, "--out", out, *options]


def children_of(pid):
    """{role name: [pid]} of the launcher's children, by their command lines."""
    found = {}
    for task in pathlib.Path(f"/proc/{pid}/task").iterdir():
        for child in (task / "children").read_text().split():
            try:
                argv = pathlib.Path(f"/proc/{child}/cmdline").read_bytes().split(b"\0")
            except OSError:
                continue
            name = pathlib.Path(argv[0].decode()).name.removeprefix("packline-")
            if b"packline.encode" in argv:
                name = "encode"
            found.setdefault(name, []).append(int(child))
    return found
