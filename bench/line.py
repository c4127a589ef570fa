"""Runs the line of the release build, with one of the trainers in bench/clients, on a job file written for it."""

import json
import subprocess
from pathlib import Path

from processes import MemoryWatch

ROOT = Path(__file__).resolve().parents[1]
WORK = ROOT / "build/bench"
BIN = ROOT / "build/release/bin"
CLIENT_PYTHON = ROOT / "build/venv/bin/python"

JOB = """\
version: 1
name: {name}
seed: 17
epochs: 1
state: .packline
sources:
  - {{path: "{data}", format: {format}}}
shuffle: {{kind: full}}
lanes: 4
encode: {encode}
pack: {{capacity: 8192, strategy: best_fit_decreasing, packs_per_window: 64, over_long: {over_long}}}
deliver: {{dp_size: {dp_size}}}
"""


def write_job(name, data, format="tokens", encode="{kind: tokens, threads: 1}", over_long="error", dp_size=1):
    path = WORK / f"{name}.yaml"
    path.write_text(
        JOB.format(name=name, data=data, format=format, encode=encode, over_long=over_long, dp_size=dp_size)
    )
    return path


def run_json(command):
    return json.loads(subprocess.run(list(map(str, command)), check=True, capture_output=True, text=True).stdout)


def run_line(job, client=None, arguments=(), options=(), watch=None):
    """One run; what its client wrote, with "summary" and, if watched, "peaks" (anonymous bytes by role). `client` is a
    file of bench/clients, None the launcher's own null trainer; `watch` makes a MemoryWatch of the launcher's pid."""
    out, summary, log = (WORK / f"{job.stem}.{kind}" for kind in ("client.json", "summary.json", "log"))
    for path in (out, summary):
        path.unlink(missing_ok=True)
    command = [BIN / "packline", "run", job, *options, "--summary", summary]
    if client:
        command += ["--", CLIENT_PYTHON, ROOT / "bench/clients" / client, job, out, *map(str, arguments)]
    with log.open("w") as file:
        process = subprocess.Popen(list(map(str, command)), stdout=file, stderr=subprocess.STDOUT)
        memory = watch(process.pid) if watch else None
        code = process.wait()
        peaks = memory.stop() if memory else {}
    if code:
        raise SystemExit(f"the line of {job} ended with exit code {code}:\n{log.read_text()[-3000:]}")
    found = json.loads(out.read_text()) if client else {}
    return {**found, "summary": json.loads(summary.read_text()), "peaks": peaks}


def peaks_of(job, options=()):
    """Anonymous bytes by the executable's name, at most, over a run into the null trainer."""
    return run_line(job, options=options, watch=MemoryWatch)["peaks"]
