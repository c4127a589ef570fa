"""What an encoder process has to know: from its command line, where `packline run` puts it, or from
a job file."""

from __future__ import annotations

import json
import os
from typing import List, NamedTuple

from ..errors import PacklineError

ENCODERS_PORT = 3  # counted from a producer's base address
JOB_BYTES_MAX = 16 << 20
OF_WORKER = {
    "python": ("kind", "function", "path"),
    "hf": ("kind", "model", "train", "add_bos", "add_eos", "chats"),
}


class WrongSettings(PacklineError):
    """The job file or the command line is wrong; the text says where and what to do."""


class Settings(NamedTuple):
    job: str  # its name
    connect: tuple  # where each producer's encoders connect to
    identity: str  # what this encoder makes of records, in one line
    of_worker: dict
    warn_after_s: float
    fail_after_s: float


def from_json(text: str) -> Settings:
    """As `packline run` gives it."""
    try:
        s = json.loads(text)
        return Settings(
            str(s["job"]),
            tuple(map(str, s["connect"])),
            str(s["identity"]),
            {key: s[key] for key in OF_WORKER[s["kind"]]},
            float(s.get("warn_after_s", 30)),
            float(s["fail_after_s"]),
        )
    except (ValueError, KeyError, TypeError) as e:
        raise WrongSettings(f"--settings is not what `packline run` writes: {e!r}") from None


def from_job_file(path: str, sets: List[str], connect: List[str]) -> Settings:
    """`connect`: addresses in place of those that the job file's line.producers give."""
    try:
        import yaml
    except ImportError:
        raise WrongSettings(f"reading {path} needs PyYAML: pip install PyYAML") from None
    try:
        with open(path, "rb") as f:
            job = yaml.safe_load(f.read(JOB_BYTES_MAX))
    except OSError as e:
        raise WrongSettings(f"{path} cannot be read: {e.strerror}") from None
    except yaml.YAMLError as e:
        raise WrongSettings(f"{path} is no job file: {e}; `packline check {path}` says more") from None
    if not isinstance(job, dict):
        raise WrongSettings(f"{path} is no job file: `packline check {path}` says more")
    for one in sets:
        _set(job, one, yaml)
    return _from_job(job, path, connect)


def _set(job: dict, one: str, yaml) -> None:
    key, equals, value = one.partition("=")
    names = key.split(".")
    if not equals or not all(names):
        raise WrongSettings(f"--set {one}: it must be a.b=value")
    at = job
    for name in names[:-1]:
        inner = at.get(name) if isinstance(at, dict) else None
        if isinstance(inner, list):  # of no concern here, such as sources.0.path
            return
        if inner is None:
            inner = at[name] = {}
        if not isinstance(inner, dict):
            raise WrongSettings(f"--set {one}: {name} is no section of the job file")
        at = inner
    try:
        at[names[-1]] = yaml.safe_load(value)
    except yaml.YAMLError as e:
        raise WrongSettings(f"--set {one}: {e}") from None


def _from_job(job: dict, path: str, connect: List[str]) -> Settings:
    encode = job.get("encode")
    encode = encode if isinstance(encode, dict) else {}
    folder = os.path.dirname(os.path.abspath(path))
    version = str(encode.get("version") or "")
    if encode.get("kind") == "python":
        identity, of_worker = _python(encode, path, folder, version)
    elif encode.get("kind") == "hf":
        identity, of_worker = _hf(encode, path, folder, version, job)
    else:
        raise WrongSettings(
            f"{path}: encode.kind is {encode.get('kind')!r}: this job's records are encoded by its producers, "
            "and no encoder process is needed"
        )
    deliver = job.get("deliver")
    deliver = deliver if isinstance(deliver, dict) else {}
    return Settings(
        job=str(job.get("name", os.path.splitext(os.path.basename(path))[0])),
        connect=tuple(connect) or _producers(job, path),
        identity=identity,
        of_worker=of_worker,
        warn_after_s=float(deliver.get("warn_after_s", 30)),
        fail_after_s=float(deliver.get("fail_after_s", 600)),
    )


def _python(encode: dict, path: str, folder: str, version: str) -> tuple:
    function = encode.get("function")
    if not isinstance(function, str) or ":" not in function:
        raise WrongSettings(f"{path}: encode.function must be module:name, is {function!r}")
    where = encode.get("path")
    of_worker = {"kind": "python", "function": function, "path": _inside(folder, where) if where else ""}
    return f"python {function}" + (f" version={version}" if version else ""), of_worker


def _hf(encode: dict, path: str, folder: str, version: str, job: dict) -> tuple:
    from .hf import identity

    model = encode.get("model")
    if not isinstance(model, str):
        raise WrongSettings(f"{path}: encode.model must be the folder of a tokenizer, is {model!r}")
    sources = job.get("sources")
    of_worker = {
        "kind": "hf",
        "model": _inside(folder, model),
        "train": encode.get("train", "assistant"),
        "add_bos": bool(encode.get("add_bos", False)),
        "add_eos": bool(encode.get("add_eos", True)),
        "chats": any(isinstance(s, dict) and s.get("format") == "chat" for s in sources or ()),
    }
    told = {key: of_worker[key] for key in ("train", "add_bos", "add_eos")}
    return identity(of_worker["model"], version=version, **told), of_worker


def _inside(folder: str, path: str) -> str:
    return os.path.normpath(os.path.join(folder, path))


def _producers(job: dict, path: str) -> tuple:
    line = job.get("line")
    key = "eval_producers" if job.get("split") == "eval" else "producers"
    bases = line.get(key) if isinstance(line, dict) else None
    if not isinstance(bases, list) or not bases:
        raise WrongSettings(
            f"{path}: line.producers is missing: an encoder process that is started by itself connects to these; "
            "`packline run` makes a line of its own and starts its encoders"
        )
    return tuple(port_of(str(base), ENCODERS_PORT) for base in bases)


def port_of(base: str, k: int) -> str:
    """Port k of a process's base address: lib/config/addresses.h."""
    if base.startswith("ipc://"):
        return f"{base}.{k}"
    host, colon, port = base.rpartition(":")
    if not base.startswith("tcp://") or not colon or not port.isdigit() or int(port) + k > 65535:
        raise WrongSettings(f"line.producers: {base!r} is no tcp://host:port or ipc:///path")
    return f"{host}:{int(port) + k}"
