"""The process that runs the user's function: reads record batches from its supervisor, writes what
became of them. Started by exec with two pipes and nothing else; it ends with its supervisor."""

from __future__ import annotations

import ctypes
import json
import os
import signal
import sys
from typing import Any, Callable, List

import numpy as np

from ..errors import BadMessage
from . import function, messages, pipe
from .fields import BadSample, frames_of

READY, FAILED, ANSWER = b"ready", b"failed", b"answer"
ID_BYTES_MAX = 1024
_PR_SET_PDEATHSIG = 1
_IDS = {"u8": "u1", "i8": "i1", "i16": "<i2", "u16": "<u2", "i32": "<i4", "i64": "<i8"}


def main(argv: List[str]) -> int:
    settings = json.loads(argv[0])
    end_with(settings["parent"])
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the supervisor
    link = pipe.BlockingPipe(settings["read_fd"], settings["write_fd"])
    try:
        encode = make(settings)
    except function.CannotStart as e:
        link.send([FAILED, str(e).encode("utf-8", "surrogateescape")])
        return 2
    link.send([READY])
    while (frames := link.receive()) is not None:
        batch = messages.decode_batch(frames)
        outcomes = encode(batch.records)
        answer = messages.encode_encoded(batch.session, settings["session"], batch.number, outcomes)
        link.send([ANSWER, *answer])
    return 0


def end_with(parent: int) -> None:
    """A supervisor that is killed takes this process along, in whatever code it is."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:
        os._exit(0)


def make(settings: dict) -> Callable[[List[messages.Record]], List[messages.Outcome]]:
    if settings["kind"] == "hf":
        from .hf import HfEncoder

        return HfEncoder(
            settings["model"], settings["train"], settings["add_bos"], settings["add_eos"], settings["chats"]
        )
    return FunctionEncoder(settings["function"], settings.get("path") or "")


class FunctionEncoder:
    """Batches through `module:name`, record by record."""

    def __init__(self, name: str, path: str):
        self._name = name
        self._function = function.load(name, path)
        self._describe = function.Describer()

    def __call__(self, records: List[messages.Record]) -> List[messages.Outcome]:
        return [self._encode(r) for r in records]

    def _encode(self, r: messages.Record) -> messages.Outcome:
        try:
            record = value_of(r)
        except ValueError as e:
            return messages.Outcome("parse", str(e), "", [])
        try:
            frames = [frames_of(s) for s in function.samples(self._function(record, r.seed))]
        except BadSample as e:
            return messages.Outcome("encode", f"{self._name} returned what is no sample: {e}", "", [])
        except (KeyboardInterrupt, MemoryError):
            raise
        except BaseException as e:  # sys.exit() in a function costs the record as well
            return messages.Outcome("encode", self._describe(e, self._name), "", [])
        return messages.Outcome("", "", own_id(r, record), frames)


def value_of(r: messages.Record) -> Any:
    """A dict of a JSON object, a str of plain text, {"input_ids": array} of binary ids. ValueError
    with what is wrong."""
    data = bytes(r.data)
    if r.form == "text":
        try:
            return data.decode("utf-8")
        except UnicodeDecodeError as e:
            raise ValueError(f"the text is not UTF-8: {e.reason} at byte {e.start}") from None
    if r.form != "json":
        return {"input_ids": np.frombuffer(data, _IDS[r.form])}
    try:
        record = json.loads(data)
    except (ValueError, RecursionError) as e:
        raise ValueError(f"the line is not JSON: {e}") from None
    if type(record) is not dict:
        raise ValueError(f"the line is a JSON {type(record).__name__}, not an object")
    return record


def own_id(r: messages.Record, record: Any) -> str:
    """The record's own id: a text that is not empty, or a whole number."""
    value = record.get(r.source.fields.get("id", "id")) if type(record) is dict else None
    if type(value) is int:
        value = str(value)
    if type(value) is not str or not value:
        return ""
    try:
        return value if len(value.encode()) <= ID_BYTES_MAX else ""
    except UnicodeEncodeError:  # half of a pair of surrogates
        return ""


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except (BrokenPipeError, BadMessage) as error:
        sys.exit(f"packline-encode worker: {error}")
