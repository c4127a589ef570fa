"""What a full disk, torn state files and changed sources do: a sentence and the documented exit code, nothing wrong
delivered, and nothing half written that a later run trusts."""

import gzip
import json
import os
import random
import shutil
import subprocess
import sys

import pytest
from support import PACKLINE, packline_run, run, write_job, write_tokens

# In a mount namespace of its own: the state folder is a disk of so many KiB, on which the command is run, then made
# larger, and the command is run again.
ON_SMALL_DISK = """
import json, os, subprocess, sys
state, kib, *command = sys.argv[1:]
def sh(*args): subprocess.run(args, check=True)
os.makedirs(state, exist_ok=True)
sh("mount", "-t", "tmpfs", "-o", f"size={kib}k", "tmpfs", state)
def files(): return {os.path.relpath(os.path.join(d, f), state): os.path.getsize(os.path.join(d, f))
                     for d, _, fs in os.walk(state) for f in fs}
out = []
for size in (None, "64m"):
    if size: sh("mount", "-o", f"remount,size={size}", state)
    done = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    out.append({"rc": done.returncode, "stdout": done.stdout, "stderr": done.stderr, "files": files()})
print(json.dumps(out))
"""


def can_mount():
    if os.geteuid() != 0 or shutil.which("unshare") is None:
        return False
    probe = ["unshare", "-m", "sh", "-c", "mount -t tmpfs -o size=64k tmpfs /mnt"]
    return subprocess.run(probe, capture_output=True, check=False).returncode == 0


small_disk = pytest.mark.skipif(not can_mount(), reason="needs root and mount namespaces, to make a small disk")


def on_small_disk(tmp_path, kib, *command):
    done = run(["unshare", "-m", sys.executable, "-c", ON_SMALL_DISK, tmp_path / "state", kib, *command], timeout=120)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def count_json(job, *options):
    return [PACKLINE, "count", job, "--format", "json", *options]


def stream(text):
    return [e["stream_digest"] for e in json.loads(text)["epochs"]]


def counted(job, *options):
    done = run(count_json(job, *options))
    assert done.returncode == 0, done.stderr
    return stream(done.stdout)


def half_written(files):
    return [name for name in files if name.endswith(".new")]


def job_of(tmp_path, records=5000, name="a.jsonl", **over):
    job = write_job(tmp_path, sources=[{"path": f"data/{name}", "format": "tokens"}], **over)
    write_tokens(tmp_path / "records", seed=41, records=records, high=40)
    data = (tmp_path / "records").read_bytes()
    (tmp_path / "data" / name).write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
    return job


GLOBAL = {"pack": {"plan": "global"}}


@small_disk
@pytest.mark.parametrize(
    "name, kib, over, told",
    [("a.jsonl", 32, {}, ["the index of ", "data/a.jsonl could not be made: ", "No space left on device: make room"]),
     ("a.jsonl.gz", 32, {"shuffle": {"kind": "none"}}, ["the index of ", "a.jsonl.gz could not be made: ", "make room"]),
     ("a.jsonl.gz", 200, {}, ["a.jsonl.gz unpacks to ", "make room there, name another state folder, or set shuffle.kind"]),
     ("a.jsonl", 92, GLOBAL, [".lens.new cannot be written: No space left on device: make room there"])],
    ids=["index", "packed-index", "unpacked", "lengths"],
)  # fmt: skip
def test_a_full_disk_ends_the_start_and_leaves_nothing(tmp_path, name, kib, over, told):
    job = job_of(tmp_path, name=name, **over)
    full, again = on_small_disk(tmp_path, kib, *count_json(job))
    assert full["rc"] == 2, full
    for part in told:
        assert part in full["stderr"], full["stderr"]
    assert str(tmp_path) in full["stderr"] and len(full["stderr"].strip().splitlines()[-1]) < 500
    assert half_written(full["files"]) == []
    if "shuffle.kind" in told[-1]:  # 64 MiB stay free on any disk: no room there is enough on this one
        assert again["rc"] == 2
        return
    assert again["rc"] == 0, again["stderr"]
    assert stream(again["stdout"]) == counted(job, "--set", "state=elsewhere")


@small_disk
def test_a_full_disk_under_the_quarantine_is_said_once_and_losses_are_counted(tmp_path):
    job = write_job(tmp_path, lanes=1)
    rows = [b'{"input_ids": [%d]}' % i if i % 4 else b"{ not json" * 30 for i in range(2000)]
    (tmp_path / "data/a.jsonl").write_bytes(b"\n".join(rows))
    summary = tmp_path / "summary.json"
    full, again = on_small_disk(tmp_path, 96, PACKLINE, "run", job, "--summary", summary)
    assert full["rc"] == 0, full["stderr"]
    said = [line for line in full["stderr"].splitlines() if "cannot write the quarantine file" in line]
    assert len(said) == 1 and "the loss is counted, but not described there" in said[0], full["stderr"]
    assert again["rc"] == 0
    last = json.loads(summary.read_text())
    assert (last["records"], last["lost"]["parse"], last["whole"]) == (2000, 500, True)
    described = [size for name, size in again["files"].items() if "quarantine" in name and name.endswith(".jsonl")]
    assert len(described) == 1 and described[0] > 96 << 10  # all of them, once there was room


@small_disk
def test_a_full_disk_keeps_a_pipe_unread(tmp_path):
    job = write_job(tmp_path, sources=[{"path": "data/p", "format": "tokens"}], lanes=1, shuffle={"kind": "none"})
    os.mkfifo(tmp_path / "data/p")
    (tmp_path / "state").mkdir()
    script = ("mount -t tmpfs -o size=16k tmpfs \"$0\" && head -c 99999 /dev/zero > \"$0/filler\"; mkdir \"$0/pipes\"; "
              "\"$1\" count \"$2\"; rc=$?; ls \"$0/pipes\"; exit $rc")
    done = run(["unshare", "-m", "sh", "-c", script, tmp_path / "state", PACKLINE, job])
    assert done.returncode == 2, done.stderr
    assert f"{tmp_path}/state/pipes/" in done.stderr and "cannot be written: No space left on device" in done.stderr
    assert done.stdout == ""


def flips_and_cuts(whole, rng, header):
    """Every prefix of the header and some beyond, every byte of the header flipped, and some of the body."""
    for size in [*range(0, header, 7), *rng.sample(range(header, len(whole)), 6)]:
        yield whole[:size]
    for at in [*range(0, header, 5), *rng.sample(range(header, len(whole)), 12)]:
        yield whole[:at] + bytes([whole[at] ^ 1 << rng.randrange(8)]) + whole[at + 1 :]
    yield whole + b"\0" * 16
    yield b"somebody's letter " * 40


@pytest.mark.parametrize(
    "pattern, header, name, over",
    [("index/*-lines.idx", 88, "a.jsonl", {}), ("index/*-lines-packed.idx", 88, "a.jsonl.gz", {"shuffle": {"kind": "none"}}),
     ("lengths/*.lens", 48, "a.jsonl", GLOBAL), ("unpacked/*.note", 40, "a.jsonl.gz", {})],
    ids=["index", "packed-index", "lengths", "note"],
)  # fmt: skip
def test_a_torn_or_foreign_state_file_changes_nothing(tmp_path, pattern, header, name, over):
    """L1: the stream is a function of the job, whatever lies in the state folder: it is made anew, and made right."""
    job = job_of(tmp_path, records=300, name=name, **over)
    right = counted(job)
    (kept,) = (tmp_path / "state").glob(pattern)
    whole = kept.read_bytes()
    for bytes_now in flips_and_cuts(whole, random.Random(42), header):
        kept.unlink()
        kept.write_bytes(bytes_now)
        assert counted(job) == right
        assert kept.read_bytes()[: len(whole)] == whole  # what stands behind a whole note is not looked at
    kept.unlink()
    kept.mkdir()  # and one that cannot be replaced is named
    (kept / "x").write_text("")
    done = run(count_json(job))
    assert done.returncode == 2 and str(kept) in done.stderr, done.stderr


def test_an_edit_in_place_is_noticed_though_its_time_was_set_back(tmp_path):
    """By the file's ctime, which nobody can set; the cursor of the run before is then another job's."""
    job = job_of(tmp_path, records=400)
    path = tmp_path / "data/a.jsonl"

    def fingerprint():
        done = run(count_json(job))
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)["fingerprint"]

    first, before = fingerprint(), path.stat()
    data = path.read_bytes()
    at = data.index(b"[", len(data) // 2) + 1
    digit = b"1" if data[at : at + 1] != b"1" else b"2"
    with open(path, "r+b") as out:
        out.seek(at)
        out.write(digit)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    after = path.stat()
    assert (after.st_size, after.st_mtime_ns) == (before.st_size, before.st_mtime_ns)
    assert fingerprint() != first
    with open(path, "r+b") as out:
        out.seek(at)
        out.write(data[at : at + 1])
    assert fingerprint() == first


@pytest.mark.parametrize("change", ["shrank", "grew"])
def test_a_source_that_changed_makes_another_job_of_a_checkpoint(tmp_path, change):
    job = job_of(tmp_path, records=800)
    state, code = tmp_path / "state.json", (
        "import json, os, sys\nfrom packline import PackStream\n"
        "streams = [PackStream(sys.argv[1], dp_rank=r, layout='numpy') for r in range(4)]\n"
        "if os.path.exists(sys.argv[2]):\n    [s.load_state_dict(json.load(open(sys.argv[2]))) for s in streams]\n"
        "its = [iter(s) for s in streams]\n[next(i) for _ in range(3) for i in its]\n"
        "json.dump(streams[0].state_dict(), open(sys.argv[2], 'w'))\n")
    command = [sys.executable, "-c", code, job, state]
    done, _ = packline_run(job, command=command)
    assert done.returncode == 0, done.stderr
    path = tmp_path / "data/a.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines[:-1] if change == "shrank" else [*lines, lines[0]]))
    done, _ = packline_run(job, command=command)
    assert done.returncode == 1
    assert "OtherJob" in done.stderr and "sources.0.content is " in done.stderr, done.stderr


@pytest.mark.parametrize("how", ["cut", "replaced", "moved lines"])
def test_a_source_that_changes_while_it_is_read_is_refused_where_that_can_be_seen(tmp_path, how):
    job = job_of(tmp_path, records=3000, shuffle={"kind": "none"}, lanes=1)
    path = tmp_path / "data/a.jsonl"
    change = {
        "cut": "os.truncate(p, os.path.getsize(p) // 2)",
        "replaced": "os.truncate(p, 0); open(p + '.b', 'w').close(); os.rename(p + '.b', p)",
        "moved lines": "d = open(p, 'rb').read(); f = open(p, 'r+b'); f.write(b' ' * 7 + d[:-7]); f.close()",
    }[how]
    code = ("import os, sys\nfrom packline import PackStream\np = sys.argv[2]\n"
            "its = [iter(PackStream(sys.argv[1], dp_rank=r, layout='numpy', prefetch=1)) for r in range(4)]\n"
            f"[next(i) for i in its]\n{change}\nfor packs in zip(*its): pass\n")
    done, _ = packline_run(job, command=[sys.executable, "-c", code, job, path])
    assert done.returncode == 3, (done.returncode, done.stderr)
    assert str(path) in done.stderr and "while it was in use: start again when it is whole" in done.stderr
