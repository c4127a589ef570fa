"""The user's function: found, called, and what it raises put into words."""

from __future__ import annotations

import importlib
import inspect
import os
import sys
import traceback
from typing import Any, Callable, Iterable

TRACEBACKS = 20  # told whole, of one process
TRACEBACK_BYTES = 3000
_HERE = os.path.dirname(os.path.abspath(__file__))


class CannotStart(Exception):
    """The function cannot be had; the text is a sentence with what to do."""


def load(name: str, path: str = "") -> Callable[[Any, int], Any]:
    """`module:name`; a class is made an instance of, without arguments."""
    module_name, _, attribute = name.partition(":")
    if path:
        if not os.path.isdir(path):
            raise CannotStart(f"encode.path: {path} is no folder")
        sys.path.insert(0, path)
    try:
        module = importlib.import_module(module_name)
    except BaseException as e:  # whatever a module does when it is imported
        if isinstance(e, KeyboardInterrupt):
            raise
        if isinstance(e, ModuleNotFoundError) and e.name == module_name.split(".")[0]:
            raise CannotStart(
                f"encode.function: {name}: there is no module {module_name}: it is looked for in encode.path"
                f"{f' ({path})' if path else ''}, in the current folder ({os.getcwd()}) and in PYTHONPATH"
            ) from None
        raise CannotStart(
            f"encode.function: {name}: importing {module_name} failed: {describe(e, '')}\n{_traceback(e)}"
        ) from None
    found = module
    for part in attribute.split("."):
        found = getattr(found, part, None)
        if found is None:
            raise CannotStart(
                f"encode.function: {name}: {module_name} ({getattr(module, '__file__', '?')}) has no {attribute}"
            )
    if inspect.isclass(found):
        try:
            found = found()
        except Exception as e:
            raise CannotStart(
                f"encode.function: {name}: making a {attribute} failed: {describe(e, '')}\n{_traceback(e)}"
            ) from None
    if not callable(found):
        raise CannotStart(f"encode.function: {name}: it is a {type(found).__name__}, which cannot be called")
    return found


def samples(result: Any) -> Iterable:
    """What a function may return, as samples: None, one dict, or any number of them."""
    if result is None:
        return ()
    if hasattr(result, "keys"):
        return (result,)
    return result


class Describer:
    """What an exception says of a record, with its place in the user's code; the first ones with
    their whole traceback."""

    def __init__(self):
        self._left = TRACEBACKS

    def __call__(self, error: BaseException, function: str) -> str:
        text = describe(error, function)
        if self._left > 0:
            self._left -= 1
            text += "\n" + _traceback(error)
        return text


def describe(error: BaseException, function: str) -> str:
    place = place_of(error)
    words = traceback.format_exception_only(type(error), error)[-1].strip()
    behind = f" (in {function})" if function else ""
    return f"{place}{': ' if place else ''}{words}{behind}"


def place_of(error: BaseException) -> str:
    """file:line of the innermost frame that is neither this package's nor an installed library's."""
    if isinstance(error, SyntaxError) and error.filename:
        return f"{error.filename}:{error.lineno}"
    frames = [f for f in traceback.extract_tb(error.__traceback__) if not _is_ours(f.filename)]
    own = [f for f in frames if f"{os.sep}site-packages{os.sep}" not in f.filename and not f.filename.startswith("<")]
    own = [f for f in own if not f.filename.startswith(os.path.dirname(os.__file__) + os.sep)] or own
    chosen = (own or frames)[-1:]
    return f"{chosen[0].filename}:{chosen[0].lineno}" if chosen else ""


def _is_ours(filename: str) -> bool:
    return os.path.dirname(os.path.abspath(filename)) == _HERE


def _leads_there(filename: str) -> bool:
    return _is_ours(filename) or "importlib" in filename


def _traceback(error: BaseException) -> str:
    """The user's part of it, its end where it is long."""
    tb = error.__traceback__
    while tb is not None and _leads_there(tb.tb_frame.f_code.co_filename):
        tb = tb.tb_next
    text = "".join(traceback.format_exception(type(error), error, tb))
    return text if len(text) <= TRACEBACK_BYTES else "..." + text[-TRACEBACK_BYTES:]
