"""local_line with a stand-in for `packline run`, which serves its command as the launcher does."""

import os
import stat
import sys

import pytest
from small_job import SmallJob

from packline import LineFailed, NoLine, PackStream, local_line

JOB = SmallJob([[2, 2]], dp_size=1)

LAUNCHER = f"""#!{sys.executable}
import json, os, subprocess, sys
with open(os.environ["ARGS"], "w") as f:
    json.dump(sys.argv[1:], f)
if os.environ.get("BREAK"):
    sys.exit("job.yaml:3: pack.capacity: must be above 0, is -3")
command = sys.argv[sys.argv.index("--") + 1:]
code = subprocess.call(command, env=dict(os.environ, PACKLINE_LINE=os.environ["LINE"]))
sys.exit(code or int(os.environ.get("CODE", 0)))
"""


@pytest.fixture
def launcher(line, tmp_path, monkeypatch):
    path, sinks = line(JOB)
    monkeypatch.setenv("LINE", os.environ["PACKLINE_LINE"])
    monkeypatch.delenv("PACKLINE_LINE")
    program = tmp_path / "packline"
    program.write_text(LAUNCHER)
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PACKLINE_BIN", str(program))
    monkeypatch.setenv("ARGS", str(tmp_path / "args"))
    return path


def test_a_notebook_gets_a_line_for_a_block(launcher, tmp_path):
    with local_line(launcher, producers=2, pack__capacity=64, **{"encode.kind": "bytes"}) as line:
        assert line.dp_size == 1 and os.environ["PACKLINE_LINE"] == line.path
        with PackStream(launcher, layout="rows") as stream:
            assert len(list(stream)) == 4
    assert "PACKLINE_LINE" not in os.environ
    args = (tmp_path / "args").read_text()
    for part in ('"run"', '"--producers", "2"', '"pack.capacity=64"', '"encode.kind=bytes"'):
        assert part in args


def test_a_line_that_does_not_start_says_what_the_launcher_said(launcher, monkeypatch):
    monkeypatch.setenv("BREAK", "1")
    with pytest.raises(NoLine, match="exit code 1: job.yaml:3: pack.capacity"):
        with local_line(launcher):
            pass


def test_a_line_that_fails_is_told_after_the_block(launcher, monkeypatch):
    monkeypatch.setenv("CODE", "3")
    with pytest.raises(LineFailed, match="exit code 3"):
        with local_line(launcher):
            pass


def test_an_error_in_the_block_ends_the_line_and_stays_the_error(launcher):
    with pytest.raises(KeyError):
        with local_line(launcher):
            raise KeyError
    assert "PACKLINE_LINE" not in os.environ


def test_without_the_executable_it_says_how_to_name_it(launcher, monkeypatch):
    monkeypatch.setenv("PACKLINE_BIN", "/no/such/file")
    with pytest.raises(NoLine, match="PACKLINE_BIN names /no/such/file"):
        with local_line(launcher):
            pass
