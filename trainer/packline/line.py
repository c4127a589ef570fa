"""Where the line is: from the file that PACKLINE_LINE names (`packline run` sets it), or from the
job file's `line` section."""

from __future__ import annotations

import json
import os
from typing import NamedTuple, Optional

from .errors import NoLine, OtherJob, WrongRank

_LINE_BYTES_MAX = 16 << 20
_IPC_PATH_BYTES_MAX = 107


class Line(NamedTuple):
    """What a client needs of a line. Times None: not known before Welcome."""

    sinks: tuple  # base addresses, one a dp_rank
    dp_size: int
    ranks_per_dp_rank: int
    warn_after_s: Optional[float]
    fail_after_s: Optional[float]
    has_launcher: bool = True  # `packline run` made it and ends it


def find_line(job: str, environ=None, split: str = "train") -> Line:
    """The line that serves this split of `job` (a path). Raises NoLine with what to do."""
    environ = os.environ if environ is None else environ
    path = environ.get("PACKLINE_LINE")
    if path:
        return read_line_file(path, job, split)
    return _read_job_file(job, split)


def read_line_file(path: str, job: str, split: str = "train") -> Line:
    try:
        with open(path, "rb") as f:
            text = f.read(_LINE_BYTES_MAX + 1)
        line = json.loads(text)
        if not isinstance(line, dict):
            raise ValueError("not a map")
    except (OSError, ValueError) as e:
        raise NoLine(
            f"PACKLINE_LINE names {path}, which cannot be read as a line ({e}): is the "
            "`packline run` that wrote it still there?"
        ) from None
    served = str(line.get("job", ""))
    if os.path.realpath(served) != os.path.realpath(job):
        raise OtherJob(
            f"PACKLINE_LINE names a line that serves {served}, not {os.path.abspath(job)}: give "
            "PackStream that job, or unset PACKLINE_LINE to join the line that the job file names"
        )
    sinks = line.get("eval_sinks" if split == "eval" else "sinks")
    if split == "eval" and not sinks:
        raise NoLine(
            f"the line of {job} serves no eval split: set eval.fraction above 0, such as "
            "eval: {fraction: 0.01}, and start it again"
        )
    return _line(sinks, line, path)


def _read_job_file(job: str, split: str) -> Line:
    try:
        with open(job, "rb") as f:
            text = f.read(_LINE_BYTES_MAX)
    except OSError as e:
        raise NoLine(f"the job file {job} cannot be read: {e.strerror}") from None
    try:
        import yaml
    except ImportError:
        raise NoLine(
            f"PACKLINE_LINE is not set, and reading {job} for its `line` needs PyYAML, which is "
            f"absent: start this program by `packline run {job} -- ...`, or pip install PyYAML"
        ) from None
    try:
        content = yaml.safe_load(text)
    except yaml.YAMLError as e:
        raise NoLine(f"{job} is not a job file: {e}; `packline check {job}` says more") from None
    content = content if isinstance(content, dict) else {}
    section = content.get("line")
    key = "eval_sinks" if split == "eval" else "sinks"
    sinks = section.get(key) if isinstance(section, dict) else None
    if not sinks:
        raise NoLine(
            f"{job} names no line.{key} and PACKLINE_LINE is not set: start this program by "
            f"`packline run {job} -- ...`, use packline.local_line({job!r}) in a notebook, or name "
            "the addresses under `line:` and start the roles"
        )
    deliver = content.get("deliver")
    line = _line(sinks, deliver if isinstance(deliver, dict) else {}, job)
    return line._replace(has_launcher=False)


def _line(sinks, numbers: dict, where: str) -> Line:
    if not isinstance(sinks, list) or not all(isinstance(s, str) for s in sinks):
        raise NoLine(f"{where}: `sinks` must be a list of addresses, is {sinks!r}")
    dp_size = _number(numbers, "dp_size", len(sinks), int, where)
    if dp_size != len(sinks):
        raise NoLine(
            f"{where}: dp_size is {dp_size}, but there are {len(sinks)} sinks: one address a "
            "dp_rank is needed"
        )
    return Line(
        sinks=tuple(sinks),
        dp_size=dp_size,
        ranks_per_dp_rank=_number(numbers, "ranks_per_dp_rank", 1, int, where),
        warn_after_s=_number(numbers, "warn_after_s", None, float, where),
        fail_after_s=_number(numbers, "fail_after_s", None, float, where),
    )


def _number(numbers: dict, key: str, default, kind, where: str):
    value = numbers.get(key, default)
    if value is default:
        return value
    number = isinstance(value, int) or (kind is float and isinstance(value, float))
    if isinstance(value, bool) or not number or value <= 0:
        raise NoLine(f"{where}: `{key}` must be a number above 0, is {value!r}")
    return kind(value)


def subscriber_endpoint(base: str) -> str:
    """The address for a sink's subscribers: its base address + 1 (docs: a base gives five ports).
    Checked here, because a socket takes addresses that cannot work without a word."""
    scheme, _, rest = base.partition("://")
    if scheme == "tcp":
        host, _, port = rest.rpartition(":")
        if not host or not _is_port(port, 65534):
            raise NoLine(f"{base!r} is no sink's address: tcp://HOST:PORT with PORT 1 to 65534")
        return f"tcp://{host}:{int(port) + 1}"
    if scheme == "ipc" and rest:
        return checked(f"{base}.1")
    raise NoLine(f"{base!r} is no sink's address: tcp://HOST:PORT or ipc:///PATH")


def checked(endpoint: str) -> str:
    """An address to connect to as it is, if it can be one; NoLine names what is wrong with it."""
    scheme, _, rest = str(endpoint).partition("://")
    host, _, port = rest.rpartition(":")
    if not (scheme == "tcp" and host and _is_port(port, 65535)) and not (
        scheme == "ipc" and rest.startswith("/") and "\0" not in rest
    ):
        raise NoLine(
            f"{endpoint!r} is no address of a sink's subscribers: tcp://HOST:PORT or ipc:///PATH"
        )
    if scheme == "ipc" and len(os.fsencode(rest)) > _IPC_PATH_BYTES_MAX:
        raise NoLine(
            f"{endpoint} is longer than the {_IPC_PATH_BYTES_MAX} bytes of an ipc path: "
            "use a shorter folder"
        )
    return endpoint


def _is_port(text: str, most: int) -> bool:
    return text.isascii() and text.isdigit() and 0 < int(text) <= most


def sink_of(line: Line, dp_rank: int) -> str:
    """The subscribers' address of the sink of a dp_rank."""
    if not 0 <= dp_rank < len(line.sinks):
        raise WrongRank(f"dp_rank {dp_rank} has no sink: the line has {len(line.sinks)}")
    return subscriber_endpoint(line.sinks[dp_rank])
