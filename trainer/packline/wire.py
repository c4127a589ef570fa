"""The messages that a trainer rank sends and gets, as docs/wire.md has them."""

from __future__ import annotations

from typing import NamedTuple, Optional, Sequence, Union

from . import header as h
from .cursor import Cursor, Place, Point
from .errors import BY_REASON, BadMessage
from .padding import Padding
from .progress import LEDGER_FIELDS, Tally
from .ranks import Session
from .samples import Samples, decode_samples

PROTOCOL_VERSION = 1
FRAMES_MAX = 1024  # a pack has 3 + 2 x 256 columns at most, and a header
MESSAGE_BYTES_MAX = 4 << 30
NO_END = 2**64 - 1  # epochs of a continuous job


class Welcome(NamedTuple):
    """Which job a sink serves, and how."""

    job: int
    dp_size: int
    session: Session
    identity: dict
    stream_version: int
    ranks_per_dp_rank: int
    packs_per_optimizer_step: int
    capacity: int
    dp_size_multiple: int
    padding: Padding
    epochs: int
    packs_per_epoch: int  # over all ranks; 0 = not known
    warn_after_ms: int
    fail_after_ms: int
    start: Cursor


class Pack(NamedTuple):
    """One pack; taken only when `before` is what the rank wants next."""

    job: int
    dp_size: int
    session: Session
    dp_rank: int
    before: Point
    at: Point
    after: Point
    lanes: Optional[tuple]  # of Place, of the cursor after it; None = as at `before`
    passed: tuple  # of (epoch, Tally)
    digest: int
    samples: int
    tokens: int
    nbytes: int  # of all its frames
    body: Samples


class End(NamedTuple):
    """Only windows without packs lie between `before` and `cursor`."""

    job: int
    dp_size: int
    session: Session
    before: Point
    cursor: Cursor
    passed: tuple
    released: bool


class Refusal(NamedTuple):
    """An `error` message: a sentence, and the class to raise it as."""

    session: Session
    reason: str
    text: str


class Waiting(NamedTuple):
    """What the sink waits for, and how long already."""

    session: Session
    since_ms: int
    text: str


FromSink = Union[Welcome, Pack, End, Refusal, Waiting]


def encode_subscribe(
    job: int,
    dp_size: int,
    dp_rank: int,
    peer: int,
    session: Session,
    seq: int,
    want: Optional[Cursor],
    room: int,
    done: bool,
    progress: dict,
) -> bytes:
    """The one frame of a Subscribe. `want` None asks which job this is (job 0)."""
    return h.pack(
        {
            "v": PROTOCOL_VERSION,
            "type": "subscribe",
            "job": job,
            "dp_size": dp_size,
            "dp_rank": dp_rank,
            "peer": peer,
            "session": session._asdict(),
            "seq": seq,
            "want": None if want is None else cursor_as_dict(want),
            "room": room,
            "done": done,
            "progress": progress,
        }
    )


def cursor_as_dict(cursor: Cursor) -> dict:
    return {
        "point": {
            "epoch": cursor.point.epoch,
            "window": cursor.point.window,
            "pack": cursor.point.pack,
        },
        "lanes": [
            {"epoch": p.epoch, "index": p.index, "position": p.position} for p in cursor.lanes
        ],
    }


def decode(frames: Sequence) -> FromSink:
    """A message of a sink from its frames (bytes-like). BadMessage with what is wrong."""
    if not frames:
        raise BadMessage(f"a message of no frames, of over {FRAMES_MAX}, or of over 4 GiB")
    m = h.unpack(bytes(frames[0]))
    version = h.u32(m, "v")
    if version != PROTOCOL_VERSION:
        raise BadMessage(
            f"the sink speaks protocol version {version}, this client {PROTOCOL_VERSION}: "
            "install the packline package that belongs to the line's executables"
        )
    kind = h.text(m, "type")
    decoder = _DECODERS.get(kind)
    if decoder is None:
        raise BadMessage(f"a message of type {kind[:40]!r}, which no sink sends")
    if kind != "pack" and len(frames) != 1:
        raise BadMessage(f"a {kind} of {len(frames)} frames, not 1")
    return decoder(m, frames)


def _welcome(m: dict, _frames) -> Welcome:
    identity = {}
    for pair in h.array(m, "identity"):
        if type(pair) is not list or len(pair) != 2 or not all(type(t) is str for t in pair):
            raise BadMessage("`identity` must be a list of [name, value]")
        identity[pair[0]] = pair[1]
    welcome = Welcome(
        job=h.uint(m, "job"),
        dp_size=h.u32(m, "dp_size"),
        session=_session(m),
        identity=identity,
        stream_version=h.u32(m, "stream_version"),
        ranks_per_dp_rank=h.u32(m, "ranks_per_dp_rank"),
        packs_per_optimizer_step=h.u32(m, "packs_per_optimizer_step"),
        capacity=h.u32(m, "capacity"),
        dp_size_multiple=h.u32(m, "dp_size_multiple"),
        padding=_padding(m),
        epochs=h.uint(m, "epochs"),
        packs_per_epoch=h.uint(m, "packs_per_epoch"),
        warn_after_ms=h.uint(m, "warn_after_ms"),
        fail_after_ms=h.uint(m, "fail_after_ms"),
        start=_cursor(h.mapping(m, "start")),
    )
    if welcome.dp_size == 0 or welcome.ranks_per_dp_rank == 0:
        raise BadMessage("a welcome with dp_size or ranks_per_dp_rank 0")
    return welcome


def _padding(m: dict) -> Padding:
    padding = Padding(
        h.u32(m, "sample_multiple_of"), h.u32(m, "pad_to_multiple_of"), h.uint(m, "pad_id", 2**31)
    )
    for name, multiple in zip(padding._fields[:2], padding):
        if multiple == 0 or m["capacity"] % multiple:  # or packs could be padded beyond it
            raise BadMessage(f"a welcome whose `{name}` {multiple} does not divide its capacity")
    return padding


def _pack(m: dict, frames) -> Pack:
    body = h.mapping(m, "body")
    own = h.u32(body, "frames")
    if own != len(frames) - 1:
        raise BadMessage(f"a pack that promises {own} frames and has {len(frames) - 1}")
    samples = decode_samples(frames[1:])
    counted = (h.u32(body, "samples"), h.u32(body, "tokens"))
    if counted != (samples.count, samples.tokens):
        raise BadMessage(
            f"a pack that says (samples, tokens) {counted} and has "
            f"{(samples.count, samples.tokens)}"
        )
    return Pack(
        job=h.uint(m, "job"),
        dp_size=h.u32(m, "dp_size"),
        session=_session(m),
        dp_rank=h.u32(m, "dp_rank"),
        before=_point(h.mapping(m, "from")),
        at=_point(h.mapping(m, "at")),
        after=_point(h.mapping(m, "after")),
        lanes=None if m.get("lanes") is None else _lanes(h.array(m, "lanes")),
        passed=_passed(m),
        digest=h.uint(body, "digest"),
        samples=counted[0],
        tokens=counted[1],
        nbytes=sum(map(len, frames)),
        body=samples,
    )


def _end(m: dict, _frames) -> End:
    return End(
        job=h.uint(m, "job"),
        dp_size=h.u32(m, "dp_size"),
        session=_session(m),
        before=_point(h.mapping(m, "from")),
        cursor=_cursor(h.mapping(m, "cursor")),
        passed=_passed(m),
        released=h.boolean(m, "released"),
    )


def _refusal(m: dict, _frames) -> Refusal:
    reason = h.text(m, "reason")
    if reason not in BY_REASON:
        raise BadMessage(f"an error with the reason {reason[:40]!r}, which this client lacks")
    return Refusal(_session(m), reason, readable(h.text(m, "text")))


def _waiting(m: dict, _frames) -> Waiting:
    return Waiting(_session(m), h.uint(m, "since_ms"), readable(h.text(m, "text")))


_DECODERS = {
    "welcome": _welcome,
    "pack": _pack,
    "end": _end,
    "error": _refusal,
    "waiting": _waiting,
}


def readable(text: str) -> str:
    """A text from the wire as it may be printed: no bytes that are not UTF-8, no control codes."""
    text = text.encode("utf-8", "replace").decode("utf-8")
    return "".join(c if c.isprintable() else " " for c in text)


class _Last:
    """What was made of a field last time: from message to message the most stay as they are, and
    to compare is cheaper than to check and build again."""

    def __init__(self, make):
        self._make = make
        self._kept: tuple = (object(), None)  # replaced as a whole: threads may share it

    def __call__(self, raw):
        was, value = self._kept
        if raw == was:
            return value
        value = self._make(raw)
        self._kept = (raw, value)
        return value


def _session(m: dict) -> Session:
    return _as_session(h.mapping(m, "session"))


@_Last
def _as_session(s: dict) -> Session:
    return Session(h.uint(s, "restart"), h.uint(s, "start_ms"), h.uint(s, "random"))


def _point(p: dict) -> Point:
    # msgpack has no number above 2^64 - 1; three points a pack are worth a look at all at once.
    point = p.get("epoch"), p.get("window"), p.get("pack")
    if type(point[0]) is type(point[1]) is type(point[2]) is int and min(point) >= 0:
        return Point._make(point)
    return Point(h.uint(p, "epoch"), h.uint(p, "window"), h.uint(p, "pack"))


def _cursor(c: dict) -> Cursor:
    return Cursor(_point(h.mapping(c, "point")), _lanes(h.array(c, "lanes")))


@_Last
def _lanes(places: list) -> tuple:
    lanes = []
    for place in places:
        if type(place) is not dict:
            raise BadMessage("a lane's place that is no map")
        position = h.text(place, "position", h.POSITION_BYTES_MAX)
        lanes.append(Place(h.uint(place, "epoch"), h.uint(place, "index"), position))
    return tuple(lanes)


def _passed(m: dict) -> tuple:
    passed = []
    for entry in h.array(m, "passed"):
        if type(entry) is not dict:
            raise BadMessage("an entry of `passed` that is no map")
        passed.append((h.uint(entry, "epoch"), _tally(h.mapping(entry, "tally"))))
    return tuple(passed)


def _tally(t: dict) -> Tally:
    read = h.mapping(t, "ledger")
    ledger = {}
    for name, n in LEDGER_FIELDS:
        if n == 0:
            ledger[name] = h.uint(read, name)
            continue
        numbers = h.array(read, name, n)
        if not all(type(v) is int and 0 <= v < 2**64 for v in numbers):
            raise BadMessage(f"`{name}` must be {n} numbers")
        ledger[name] = numbers
    return Tally(
        h.uint(t, "packs"), h.uint(t, "samples"), h.uint(t, "tokens"), h.uint(t, "digest"), ledger
    )
