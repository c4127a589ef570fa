"""What comes next in the stream, on the wire and in a checkpoint."""

from __future__ import annotations

from typing import Any, NamedTuple

from .errors import BadState

U64 = 2**64
STATE_VERSION = 1


class Place(NamedTuple):
    """The next window of a lane; `position` is opaque, "" before the first record."""

    epoch: int
    index: int
    position: str


class Point(NamedTuple):
    """A point of the stream; `pack` counts the packs of the window over all ranks."""

    epoch: int
    window: int
    pack: int


class Cursor(NamedTuple):
    """What comes next; computed from nothing later, so equal on all ranks at one step."""

    point: Point
    lanes: tuple  # of Place, one a lane


START = Cursor(Point(0, 0, 0), ())


class Saved(NamedTuple):
    """A checkpoint's content. `job` "" is a stream that was never connected: the job's start."""

    stream_version: int
    job: str  # 16 hex digits
    identity: dict  # setting -> value, in the line's order
    cursor: Cursor
    step: int


def to_state(saved: Saved) -> dict:
    """The JSON-able form, PackStream.state_dict()."""
    point = saved.cursor.point
    return {
        "version": STATE_VERSION,
        "stream_version": saved.stream_version,
        "job": saved.job,
        "identity": dict(saved.identity),
        "epoch": point.epoch,
        "window": point.window,
        "pack": point.pack,
        "step": saved.step,
        "lanes": {str(i): list(place) for i, place in enumerate(saved.cursor.lanes)},
    }


def from_state(state: Any) -> Saved:
    """Checks every part of a state; raises BadState with a sentence that names the part."""
    if not isinstance(state, dict):
        raise BadState(f"a stream's state is a dict, this is a {type(state).__name__}")
    version = state.get("version")
    if version != STATE_VERSION:
        raise BadState(
            f"this state has version {version!r}, this client reads version {STATE_VERSION}: "
            "use the packline that wrote it"
        )
    if state.get("split") == "eval":
        raise BadState(
            'this is the state of an eval stream, PackStream(job, split="eval"), which says nothing '
            "of where training stands"
        )
    job = state.get("job")
    if not isinstance(job, str) or (job and not _is_hex16(job)):
        raise BadState(f"the state's `job` must be 16 hex digits, is {job!r}")
    identity = state.get("identity")
    if not isinstance(identity, dict) or not all(
        isinstance(k, str) and isinstance(v, str) for k, v in identity.items()
    ):
        raise BadState("the state's `identity` must map names of settings to texts")
    point = Point(*(_count(state, key) for key in ("epoch", "window", "pack")))
    return Saved(
        stream_version=_count(state, "stream_version"),
        job=job,
        identity=dict(identity),
        cursor=Cursor(point, _lanes(state.get("lanes"))),
        step=_count(state, "step", 0),
    )


def _is_hex16(text: str) -> bool:
    return len(text) == 16 and all(c in "0123456789abcdef" for c in text)


def _count(state: dict, key: str, default: Any = None) -> int:
    value = state.get(key, default)
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < U64:
        raise BadState(f"the state's `{key}` must be a whole number from 0 on, is {value!r}")
    return value


def _lanes(lanes: Any) -> tuple:
    if not isinstance(lanes, dict):
        raise BadState("the state's `lanes` must map lane numbers to [epoch, index, position]")
    places = []
    for i in range(len(lanes)):
        place = lanes.get(str(i), lanes.get(i))
        ok = (
            isinstance(place, (list, tuple))
            and len(place) == 3
            and all(isinstance(n, int) and 0 <= n < U64 for n in place[:2])
            and isinstance(place[2], str)
        )
        if not ok:
            raise BadState(f"the state's lane {i} must be [epoch, index, position], is {place!r}")
        places.append(Place(int(place[0]), int(place[1]), place[2]))
    return tuple(places)


def first_difference(now: dict, was: dict) -> str:
    """The first setting in which two identities differ, as a clause; "" when they are equal."""
    for key, value in now.items():
        if key not in was:
            return f"{key} is {value}, the checkpoint's job had no such setting"
        if was[key] != value:
            return f"{key} is {value}, was {was[key]}"
    for key, value in was.items():
        if key not in now:
            return f"{key} is not set, was {value}"
    return ""
