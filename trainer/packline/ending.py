"""What becomes of open connections when the interpreter ends or a stream is dropped."""

from __future__ import annotations

import atexit
import os
import sys
import weakref
from typing import Sequence

from .joining import Way
from .receiver import CLOSE_S, Receiver, finish

_open: dict = {}  # receiver of this process -> its Way; they hold no stream
_registered = False


def watch(stream, receiver: Receiver, way: Way) -> None:
    """Until forget(): a dropped stream lets its connection go, unless it was read to the job's
    end. Such a one says done when the interpreter ends without an error, so that the line can
    finish; with it do those that evaluated, where nobody else ends their line."""
    global _registered
    _open[receiver] = way
    weakref.finalize(stream, _dropped, receiver).atexit = False
    if not _registered:
        _registered = True
        atexit.register(_at_exit)


def forget(receiver: Receiver) -> None:
    _open.pop(receiver, None)


def finish_all(receivers: Sequence[Receiver], timeout_s: float = CLOSE_S) -> bool:
    """Done for all of them at once, since a line lets nobody go before all are done."""
    for receiver in receivers:
        forget(receiver)
    return finish(receivers, timeout_s)


def _dropped(receiver: Receiver) -> None:
    if receiver.pid == os.getpid() and receiver in _open and not receiver.at_job_end():
        forget(receiver)
        receiver.stop()


def _at_exit() -> None:
    # An uncaught error: the program may come back to an older checkpoint, so it is not done. In an
    # interactive interpreter the last error says nothing about the end.
    failed = getattr(sys, "last_type", None) is not None and not hasattr(sys, "ps1")
    mine = [r for r in _open if r.pid == os.getpid()]
    ended = [r for r in mine if not failed and r.at_job_end()]
    evaluating = [r for r in mine if _open[r].split == "eval"]
    # Training that stopped before its end may go on in another process, and evaluate there.
    if not failed and len(ended) + len(evaluating) == len(mine):
        ended += [r for r in evaluating if _open[r].says_done]
    for receiver in mine:
        if receiver not in ended:
            receiver.stop()
    finish_all(ended)
    _open.clear()
