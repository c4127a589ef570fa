"""`packline status` and `packline check`: law L7, and every mistake at once."""

import json
import sys

import pytest
from support import PACKLINE, packline_run, run, write_job, write_tokens

# Asks for the status once every rank has had its first pack (and room for one more), then ends without taking more.
ASKS = """
import json, subprocess, sys, time
from packline import PackStream
packline, job, out = sys.argv[1:]
streams = [PackStream(job, dp_rank=r, layout="rows", prefetch=1) for r in range(4)]
for s in streams:
    next(iter(s))
def status(format):
    return subprocess.run([packline, "status", job, "--format", format], stdout=subprocess.PIPE, check=True, text=True).stdout
deadline = time.monotonic() + 20
# A role publishes its status five times a second: what it holds now may show a moment later.
while time.monotonic() < deadline:
    said = json.loads(status("json"))["roles"]
    if sum(r.get("holds", {}).get("windows", 0) for r in said) > 0:
        break
for format in ("table", "json"):
    with open(f"{out}.{format}", "w") as f:
        f.write(status(format))
sys.exit(0)
"""


@pytest.fixture
def job(tmp_path):
    path = write_job(tmp_path)
    write_tokens(tmp_path / "data/a.jsonl", seed=12, records=300)
    return path


def test_status_names_every_role_and_what_it_holds(job, tmp_path):
    done, _ = packline_run(job, "--producers", 2, command=[sys.executable, "-c", ASKS, PACKLINE, job, tmp_path / "s"])
    assert done.returncode == 0, done.stderr
    said = json.loads((tmp_path / "s.json").read_text())
    names = ["producer-0", "producer-1", "packer-0", "sink-0", "sink-1", "sink-2", "sink-3"]
    assert [r["name"] for r in said["roles"]] == names and said["job"] == "test"
    for r in said["roles"]:
        assert set(r) == {"name", "role", "pid", "state", "since_ms", "holds", "waits", "counters"}, r
        assert all(set(w) == {"for", "whom", "since_ms"} for w in r["waits"])
    assert sum(r["holds"]["windows"] for r in said["roles"] if r["role"] == "producer") > 0
    table = (tmp_path / "s.table").read_text()
    assert all(any(line.startswith(n) for line in table.splitlines()) for n in names)
    assert "holds" in table


def test_status_without_a_line_says_so(job):
    done = run([PACKLINE, "status", job])
    assert done.returncode == 4 and "no line runs this job on this host" in done.stderr


def test_check_prints_the_settings_and_each_roles_memory_bound(job):
    done = run([PACKLINE, "check", job])
    assert done.returncode == 0 and done.stderr == ""
    assert "capacity: 256" in done.stdout and "memory bound" in done.stdout
    bound = json.loads(run([PACKLINE, "check", job, "--format", "json"]).stdout)["memory_bound_bytes"]
    assert set(bound) == {"producer", "packer", "sink", "client"} and min(bound.values()) > 1 << 20
    # what is known only when all samples were read is said by the sample
    told = json.loads(run([PACKLINE, "check", job, "--set", "pack.plan=global", "--format", "json"]).stdout)
    assert told["memory_bound_bytes_a_sample"]["producer"] >= 16
    assert "bytes more a sample of an epoch" in run([PACKLINE, "check", job, "--set", "pack.plan=global"]).stdout
    assert "a sample of an epoch" not in done.stdout


def test_check_says_every_mistake_at_its_line(tmp_path):
    text = """version: 1
name: wrong
epochs: none
sources:
  - {path: "nothing/*.jsonl", format: chats}
encode: {kind: bytes}
pack:
  max_length: 2048
  packing_length: 2048
  strategi: sequential
  packs_per_window: 0
deliver: {dp_size: yes}
"""
    job = tmp_path / "job.yaml"
    job.write_text(text)
    done = run([PACKLINE, "check", job])
    assert done.returncode == 2 and done.stdout == ""
    at = {}
    for line in done.stderr.splitlines():
        assert line.startswith(f"{job}:"), line
        number, key, _ = line.removeprefix(f"{job}:").split(": ", 2)
        at[key] = (int(number), line)
    wanted = {"epochs": (3, "continuous"), "sources.0.format": (5, "chat"), "pack.max_length": (8, "pack.capacity"),
              "pack.packing_length": (9, "pack.capacity"), "pack.strategi": (10, "strategy"),
              "pack.packs_per_window": (11, "from 1"), "deliver.dp_size": (12, "integer")}
    for key, (number, says) in wanted.items():
        assert key in at, (key, done.stderr)
        assert at[key][0] == number and says in at[key][1], at[key]
    assert run([PACKLINE, "run", job]).returncode == 2


def test_check_as_json_has_the_same_mistakes(tmp_path):
    job = tmp_path / "job.yaml"
    job.write_text("version: 1\npack: {max_length: 5}\n")
    done = run([PACKLINE, "check", job, "--format", "json"])
    assert done.returncode == 2
    mistakes = json.loads(done.stdout)["mistakes"]
    assert {"pack.max_length", "sources"} <= {m["key"] for m in mistakes}
    assert all(m["file"] == str(job) and m["text"] for m in mistakes)


def test_a_set_value_is_blamed_on_the_command_line(job):
    done = run([PACKLINE, "check", job, "--set", "pack.capacity=none"])
    assert done.returncode == 2 and "--set" in done.stderr and "pack.capacity" in done.stderr
