"""The messages between producers and encoders, as docs/wire.md has them."""

from __future__ import annotations

from typing import Any, List, NamedTuple, Sequence

from .. import header as h
from ..errors import BadMessage
from ..wire import PROTOCOL_VERSION

FORMS = ("json", "text", "u8", "i8", "i16", "u16", "i32", "i64")
TEXT_BYTES = 16384  # of a cause; more is cut


class Source(NamedTuple):
    format: str  # text, chat, tokens, any
    fields: dict  # "text" -> what the record calls it


class Record(NamedTuple):
    id: str
    seed: int
    source: Source
    form: str
    data: Any  # bytes-like


class Batch(NamedTuple):
    session: int  # of the producer
    number: int
    lease_ms: int
    records: List[Record]


class Word(NamedTuple):
    session: int
    finished: bool
    refused: str


class Outcome(NamedTuple):
    """What became of a record: `samples` as frames, or why it is lost ("parse", "encode")."""

    lost: str
    text: str
    id: str
    samples: List[list]


def kind_of(frames: Sequence) -> tuple:
    """(type, header) of a message. BadMessage for what is none, or of another version."""
    if not frames:
        raise BadMessage("a message of no frames")
    m = h.unpack(bytes(frames[0]))
    version = h.u32(m, "v")
    if version != PROTOCOL_VERSION:
        raise BadMessage(
            f"the producer speaks protocol version {version}, this encoder {PROTOCOL_VERSION}: install the "
            "packline package that belongs to the line's executables"
        )
    return h.text(m, "type"), m


def peek_batch(m: dict) -> tuple:
    """(session, number, lease_ms) of a `records` message; the rest is the worker's to read."""
    return h.uint(m, "session"), h.uint(m, "number"), h.uint(m, "lease_ms")


def decode_batch(frames: Sequence) -> Batch:
    kind, m = kind_of(frames)
    if kind != "records":
        raise BadMessage(f"a {kind[:40]} came where records were expected")
    session, number, lease_ms = peek_batch(m)
    sources = [_source(s) for s in h.array(m, "sources")]
    headers = h.array(m, "records")
    if h.u32(m, "frames") != len(headers) or len(frames) != 1 + len(headers):
        raise BadMessage(f"records: {len(headers)} records in {len(frames) - 1} frames")
    records = []
    for r, data in zip(headers, frames[1:]):
        if type(r) is not dict:
            raise BadMessage("records: a record's header must be a map")
        form, source = h.text(r, "form"), h.u32(r, "source")
        if form not in FORMS or source >= len(sources):
            raise BadMessage("records: a form or a source that is none")
        records.append(Record(h.text(r, "id"), h.uint(r, "seed"), sources[source], form, data))
    return Batch(session, number, lease_ms, records)


def _source(s: Any) -> Source:
    if type(s) is not dict:
        raise BadMessage("records: a source must be a map")
    fields = {}
    for pair in h.array(s, "fields"):
        if type(pair) is not list or len(pair) != 2 or not all(type(t) is str for t in pair):
            raise BadMessage("records: fields must be a list of [name, key]")
        fields[pair[0]] = pair[1]
    return Source(h.text(s, "format"), fields)


def decode_word(m: dict) -> Word:
    return Word(h.uint(m, "session"), h.boolean(m, "finished"), h.text(m, "refused"))


def encode_encoded(producer: int, session: int, number: int, outcomes: List[Outcome]) -> list:
    records, frames = [], []
    for o in outcomes:
        records.append(
            {"lost": o.lost, "text": cut(o.text), "id": o.id, "samples": [len(s) for s in o.samples]}
        )
        for s in o.samples:
            frames.extend(s)
    head = _envelope("encoded", producer=producer, session=session, number=number, records=records)
    return [h.pack(head), *frames]


def encode_struck(producer: int, session: int, number: int, signal: int, overdue: bool, text: str) -> list:
    return [
        h.pack(
            _envelope(
                "struck", producer=producer, session=session, number=number, signal=signal, overdue=overdue,
                text=cut(text),
            )  # fmt: skip
        )
    ]


def encode_state(**fields) -> list:
    return [h.pack(_envelope("encoder", **fields))]


def cut(text: str) -> str:
    """At most TEXT_BYTES of it, as UTF-8 whatever a function said."""
    return text.encode("utf-8", "replace")[:TEXT_BYTES].decode("utf-8", "ignore")


def _envelope(kind: str, **fields) -> dict:
    return {"v": PROTOCOL_VERSION, "type": kind, "job": 0, "dp_size": 0, **fields}
