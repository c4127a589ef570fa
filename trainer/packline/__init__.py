"""Packed training samples, received from a packline line. See `PackStream`.

Importing this package starts no thread and no process, and imports neither torch nor
`subprocess`: `local_line` is looked up in a module of its own when it is asked for.
"""

from .errors import (
    BadState,
    Closed,
    DataRefused,
    Fenced,
    InUse,
    LineFailed,
    NoLine,
    NotDivisible,
    OtherDpSize,
    OtherJob,
    OtherStreamVersion,
    PacklineError,
    PacklineTimeout,
    WrongProcess,
    WrongRank,
)
from .stream import PackStream, close_all

__version__ = "0.1.0"
__all__ = [
    "BadState",
    "Closed",
    "DataRefused",
    "Fenced",
    "InUse",
    "LineFailed",
    "NoLine",
    "NotDivisible",
    "OtherDpSize",
    "OtherJob",
    "OtherStreamVersion",
    "PackStream",
    "PacklineError",
    "PacklineTimeout",
    "WrongProcess",
    "WrongRank",
    "close_all",
]


# Not in __all__: `from packline import *` must not import what can start a process.
def __getattr__(name):
    if name == "local_line":
        from .local import local_line

        return local_line
    raise AttributeError(f"module 'packline' has no attribute {name!r}")
