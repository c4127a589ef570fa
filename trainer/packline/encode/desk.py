"""What an encoder process holds and for whom: the pure half of the supervisor. No socket, no clock,
no process: time is an argument. The producer's half is lib/encoders/record_dispatch.h."""

from __future__ import annotations

from collections import deque
from typing import List, NamedTuple, Optional

from . import messages

ROOM = 2  # batches of one producer: one to work on, one that waits
SILENT_S = 3.0  # a producer that was not heard for this long is not counted on


class Work(NamedTuple):
    """A batch that is being worked on."""

    producer: int  # index
    session: int  # of that producer
    number: int
    lease_s: float
    since: float


class Ended(NamedTuple):
    """How the process is over."""

    code: int
    text: str


class _Producer:
    def __init__(self):
        self.session = 0
        self.heard_at: Optional[float] = None
        self.finished = False
        self.taken = 0
        self.queue: deque = deque()  # (number, lease_s, frames)
        self.unsent: List[int] = []  # numbers whose answer is not written yet


class Desk:
    """Works for `producers` producers in turn, on one batch at a time. What it says it holds is what
    it holds: nothing of a batch is forgotten until its answer was written."""

    def __init__(self, session: int, name: str, encoder: str, producers: int, fail_after_s: float, now: float):
        self.session, self.name, self.encoder = session, name, encoder
        self.ready = False  # the worker can take a batch
        self.work: Optional[Work] = None
        self._producers = [_Producer() for _ in range(producers)]
        self._fail_after_s = fail_after_s
        self._heard_at = now  # any producer
        self._turn = 0
        self._seq = 0
        self._refused = ""

    def on_message(self, p: int, frames: list, now: float) -> None:
        """BadMessage for what no producer sends."""
        kind, m = messages.kind_of(frames)
        if kind == "producer":
            word = messages.decode_word(m)
            self._hear(p, word.session, now)
            self._producers[p].finished = word.finished
            if word.refused:
                self._refused = word.refused
        elif kind == "records":
            session, number, lease_ms = messages.peek_batch(m)
            self._hear(p, session, now)
            producer = self._producers[p]
            producer.taken = max(producer.taken, number)
            if number not in self._held(p) and len(producer.queue) < 64:
                producer.queue.append((number, lease_ms / 1000, frames))
        else:
            raise messages.BadMessage(f"a {kind[:40]}, which no producer sends")

    def _hear(self, p: int, session: int, now: float) -> None:
        producer = self._producers[p]
        if producer.session != session:  # another life: what the old one asked for is nobody's
            self._producers[p] = producer = _Producer()
            producer.session = session
        producer.heard_at = self._heard_at = now

    def next_batch(self, now: float) -> Optional[list]:
        """The frames for the worker, which must be ready; the producers take turns."""
        if not self.ready or self.work is not None:
            return None
        for k in range(len(self._producers)):
            p = (self._turn + k) % len(self._producers)
            producer = self._producers[p]
            if producer.queue:
                number, lease_s, frames = producer.queue.popleft()
                self.work = Work(p, producer.session, number, lease_s, now)
                self._turn = p + 1
                return frames
        return None

    def on_answer(self) -> Optional[Work]:
        """The worker is done. What its answer is for; None when that producer has another life."""
        return self._done()

    def on_death(self, signal: int, overdue: bool, text: str) -> Optional[tuple]:
        """The worker ended. (what it was at, the message that says so) when it was at work."""
        self.ready = False
        work = self._done()
        if work is None:
            return None
        return work, messages.encode_struck(work.session, self.session, work.number, signal, overdue, text)

    def _done(self) -> Optional[Work]:
        work, self.work = self.work, None
        if work is None or self._producers[work.producer].session != work.session:
            return None
        self._producers[work.producer].unsent.append(work.number)
        return work

    def on_written(self, work: Work) -> None:
        """What was to be said of it is on its way."""
        producer = self._producers[work.producer]
        if producer.session == work.session and work.number in producer.unsent:
            producer.unsent.remove(work.number)

    def overdue(self, now: float) -> bool:
        return self.work is not None and now - self.work.since > self.work.lease_s

    def _held(self, p: int) -> List[int]:
        producer = self._producers[p]
        held = []
        if self.work is not None and self.work.producer == p and self.work.session == producer.session:
            held.append(self.work.number)
        return [*held, *(number for number, _, _ in producer.queue), *producer.unsent]

    def state(self, p: int, now: float) -> list:
        self._seq += 1
        producer = self._producers[p]
        at_work = self.work is not None and self.work.producer == p and self.work.session == producer.session
        return messages.encode_state(
            session=self.session,
            seq=self._seq,
            name=self.name,
            encoder=self.encoder,
            room=ROOM if self.ready else 0,
            producer=producer.session,
            taken=producer.taken,
            held=self._held(p),
            working_ms=max(1, int((now - self.work.since) * 1000)) if at_work else 0,
        )

    def over(self, now: float) -> Optional[Ended]:
        if self._refused:
            return Ended(2, self._refused)
        if all(p.finished for p in self._producers):
            return Ended(0, "every producer has finished")
        if now - self._heard_at > self._fail_after_s:
            return Ended(4, f"no producer was heard for {self._fail_after_s:g} s: is the line running?")
        return None

    def waits(self, now: float) -> str:
        """What it waits for, in words; "" for nothing that lasts."""
        silent = [i for i, p in enumerate(self._producers) if not p.finished and not self._speaks(p, now)]
        if silent:
            return f"waits for a word from producer {', '.join(map(str, silent))}"
        return ""

    @staticmethod
    def _speaks(p: _Producer, now: float) -> bool:
        return p.heard_at is not None and now - p.heard_at < SILENT_S
