"""Live progress of `packline run`: plain lines where no terminal is, one line that is rewritten on a terminal."""

import os
import pty
import re
import subprocess

import pytest
from support import PACKLINE, PATIENCE, client_env, slow_trainer, write_job, write_tokens

LINE = re.compile(r"windows \d+  packs \d+  [\d.]+( [kMG])?/s  tokens [\d.]+( [kMG])?/s  fill [\d.]+ %  "
                  r"queue: producers \d+/16, sinks \d+/32  limits: (the trainer|packing|reading and encoding)")


@pytest.fixture
def job(tmp_path):
    path = write_job(tmp_path, deliver={"dp_size": 2}, pack={"dp_size_multiple": 2})
    write_tokens(tmp_path / "data/a.jsonl", seed=14, records=300)
    return path


def test_on_a_terminal_one_line_is_rewritten(job):
    ours, its = pty.openpty()
    line = subprocess.Popen([PACKLINE, "run", job, "--", *slow_trainer(job, 2, 20, 0.1)], env=client_env(),
                            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=its)
    os.close(its)
    shown = b""
    while True:
        try:
            part = os.read(ours, 65536)
        except OSError:  # how a terminal says that nobody writes any more
            break
        if not part:
            break
        shown += part
    os.close(ours)
    assert line.wait(timeout=30 * PATIENCE) == 0
    line.stdout.close()
    text = shown.decode()
    rewritten = [s for s in text.split("\r\x1b[K") if s.startswith("windows ")]
    assert len(rewritten) >= 3
    assert all(LINE.match(s) and "\n" not in s for s in rewritten), rewritten
    assert any("limits: the trainer" in s for s in rewritten)  # which is asleep most of the time
    assert re.search(r"\d+ %  left \d+:\d\d", text)
    assert text.rstrip().endswith(text[text.index("packline: test"):].rstrip())  # the summary is the last


@pytest.mark.long
def test_without_a_terminal_it_is_a_line_every_10_s(job):
    done = subprocess.run([PACKLINE, "run", job, "--", *slow_trainer(job, 2, 30, 0.5)], env=client_env(), timeout=120,
                          stdin=subprocess.DEVNULL, capture_output=True, text=True, check=True)
    lines = [s for s in done.stderr.splitlines() if s.startswith("windows ")]
    assert 1 <= len(lines) <= 3 and all(LINE.match(s) for s in lines)
    assert "\x1b" not in done.stderr and "\r" not in done.stderr
