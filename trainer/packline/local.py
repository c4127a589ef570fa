"""A line for a notebook: starts `packline run` and ends it. The only module of this package that
starts a process; the client never imports it."""

from __future__ import annotations

import contextlib
import json
import os
import select
import shutil
import subprocess
import tempfile
import time
from typing import Iterator, NamedTuple, Optional

from .errors import LineFailed, NoLine
from .line import read_line_file

_LOG_BYTES_SHOWN = 4000
_LOOK_S = 0.2

# The command that the line serves: it opens the pipe that holds it, tells where the line is, then
# stays until the pipe's other end is closed, which the kernel does too when this process dies.
_HOLDER = 'exec 3< "$2" && printf "%s\\n" "$PACKLINE_LINE" > "$1" && exec cat <&3'


class LocalLine(NamedTuple):
    """A running line. `path` is its line.json, the value of PACKLINE_LINE; `log` what it wrote."""

    job: str
    path: str
    dp_size: int
    log: str


@contextlib.contextmanager
def local_line(
    job,
    *,
    producers: Optional[int] = None,
    packers: Optional[int] = None,
    summary: Optional[str] = None,
    start_s: float = 120.0,
    stop_s: float = 30.0,
    **sets,
) -> Iterator[LocalLine]:
    """Starts a private line for `job` on this host, ended at the end of the `with` block:

        with packline.local_line("job.yaml", deliver__dp_size=1):
            for pack in packline.PackStream("job.yaml"): ...

    In the block PACKLINE_LINE is set, by which PackStream(job) finds the line. Settings of the job
    are changed by `a__b=value`, or `**{"a.b": value}`; `summary` is a file for the line's summary.
    The executable is $PACKLINE_BIN or `packline` on the PATH. Raises NoLine when it does not start
    within `start_s` seconds and LineFailed when it ends with another exit code than 0, both with
    the end of what it wrote."""
    job = os.path.abspath(os.fspath(job))
    with tempfile.TemporaryDirectory(prefix="packline-") as folder:
        up, hold, log = (os.path.join(folder, n) for n in ("up", "hold", "log"))
        os.mkfifo(up, 0o600)
        os.mkfifo(hold, 0o600)
        command = [_executable(), "run", job]
        for option, value in (("producers", producers), ("packers", packers), ("summary", summary)):
            if value is not None:
                command += [f"--{option}", str(value)]
        for key, value in sets.items():
            text = value if isinstance(value, str) else json.dumps(value)
            command += ["--set", f"{key.replace('__', '.')}={text}"]
        command += ["--", "/bin/sh", "-c", _HOLDER, "sh", up, hold]
        up_fd = os.open(up, os.O_RDONLY | os.O_NONBLOCK)
        hold_fd = os.open(hold, os.O_RDWR | os.O_NONBLOCK)
        try:
            with open(log, "wb") as out:
                process = subprocess.Popen(
                    command,
                    stdin=subprocess.DEVNULL,
                    stdout=out,
                    stderr=out,
                    start_new_session=True,
                )
            try:
                path = _wait_for_line(process, up_fd, start_s, log)
                line = read_line_file(path, job)
                with _environment(path):
                    yield LocalLine(job, path, line.dp_size, log)
            except BaseException:
                hold_fd = _close(hold_fd)
                _stop(process, stop_s)
                raise
            hold_fd = _close(hold_fd)
            code = _stop(process, stop_s)
            if code != 0:
                raise LineFailed(f"the line of {job} ended with exit code {code}: {_tail(log)}")
        finally:
            _close(hold_fd)
            os.close(up_fd)


def _executable() -> str:
    found = os.environ.get("PACKLINE_BIN") or shutil.which("packline")
    if found and os.path.isdir(found):
        found = os.path.join(found, "packline")
    if not found or not os.access(found, os.X_OK):
        raise NoLine(
            "the executable `packline` is not on the PATH"
            + (f" and PACKLINE_BIN names {found}, which cannot be run" if found else "")
            + ": install the line's executables, or set PACKLINE_BIN to where `packline` is"
        )
    return found


def _wait_for_line(process, up_fd: int, start_s: float, log: str) -> str:
    """The path that the holder writes; a fifo without a writer is not readable, so this waits."""
    deadline, said = time.monotonic() + start_s, b""
    while not said.endswith(b"\n"):
        code = process.poll()
        if code is not None:
            raise NoLine(f"the line did not start, exit code {code}: {_tail(log)}")
        if time.monotonic() > deadline:
            raise NoLine(f"the line did not start within {start_s:.0f} s: {_tail(log)}")
        if select.select([up_fd], [], [], _LOOK_S)[0]:
            said += os.read(up_fd, 4096)
    path = os.fsdecode(said.rstrip(b"\n"))
    if not path:
        raise NoLine(f"the line set no PACKLINE_LINE for its command: {_tail(log)}")
    return path


def _stop(process, stop_s: float) -> int:
    try:
        return process.wait(stop_s)
    except subprocess.TimeoutExpired:
        process.terminate()
    try:
        return process.wait(5)
    except subprocess.TimeoutExpired:
        process.kill()
        return process.wait()


def _tail(log: str) -> str:
    with open(log, "rb") as f:
        f.seek(max(0, os.path.getsize(log) - _LOG_BYTES_SHOWN))
        return f.read().decode("utf-8", "replace").strip() or "it wrote nothing"


def _close(fd: int) -> int:
    if fd >= 0:
        os.close(fd)
    return -1


@contextlib.contextmanager
def _environment(path: str) -> Iterator[None]:
    before = os.environ.get("PACKLINE_LINE")
    os.environ["PACKLINE_LINE"] = path
    try:
        yield
    finally:
        if before is None:
            os.environ.pop("PACKLINE_LINE", None)
        else:
            os.environ["PACKLINE_LINE"] = before
