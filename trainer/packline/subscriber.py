"""One trainer rank's side of the delivery: the rules C1 to C4 of docs/delivery.md, pure. No socket,
no clock, no thread: time is an argument. The C++ sibling is lib/client/subscriber."""

from __future__ import annotations

from collections import deque
from typing import Optional, Union

from . import wire
from .cursor import START, Cursor
from .errors import BY_REASON, PacklineError
from .progress import Progress
from .ranks import Rank, Session

REPORT_S = 0.2  # a Subscribe at least this often
SILENT_S = 3.0  # a sink that was not heard for this long is not counted on

# A room that nobody chose follows the size of the packs: as many as make ROOM_BYTES.
ROOM_BYTES = 64 << 20
ROOM_FIRST, ROOM_MIN, ROOM_MAX = 4, 2, 64
ROOM_TOLD = 128  # a sink sends no more at a time, whatever it is told: SinkSettings::room_max


class Subscriber:
    """Asks which job its sink serves (`welcome` is the answer), then, from begin() on, wants what
    comes next. Keeps at most `room` packs that were received and not taken; with None as many as
    make ROOM_BYTES by the mean size of the latest.

    C1, "whenever want or room changed", in numbers: a Subscribe goes out at once when the sink may
    send half the room more than it knows of, or nothing is left; less room, and packs that came
    (want rises by what room falls: the sink may send no more than before), are told with the next
    one, REPORT_S later at most.

    Invariant: `buffer` is an unbroken chain of packs and ends from `handed` to `want`; `handed` is
    the cursor after the last one taken, which is what a checkpoint holds."""

    def __init__(
        self, rank: Rank, session: Session, room: Optional[int], now: float, dp_size: int = 0
    ):
        self.rank = rank
        self.session = session
        self.room = room or ROOM_FIRST
        self._follows_size = room is None
        self._room_max = ROOM_MAX  # of a room that follows the size
        self._mean_bytes = 0.0  # of a pack, the latest ten or so
        self.dp_size = dp_size  # as the line says it; 0 = not known before Welcome
        self.welcome: Optional[wire.Welcome] = None
        self.want: Optional[Cursor] = None
        self.handed: Optional[Cursor] = None
        self.progress: Optional[Progress] = None
        self.buffer: deque = deque()
        self.done = False
        self.released = False
        self.error: Optional[PacklineError] = None
        self.refused = 0  # messages of another job, dp_size, session or place; bad bytes
        self.last_refused = ""  # the sentence about the last of them that was not just late
        self.heard_at: Optional[float] = None  # anything of this sink's, for this session
        self.waiting: Optional[tuple] = None  # (heard at, since_ms, text)
        self._packs = 0  # in buffer
        self._limit = 0  # packs in buffer, and those that the sink may send or has sent
        self._room_since = now  # since when it has had room, or began
        self._seq = 0
        self.dirty = True  # there is something to say at once
        self._sent_at = now - REPORT_S

    # What the trainer does.

    def begin(self, cursor: Cursor, now: float) -> None:
        """From here on `cursor` is wanted; also to go back or ahead. Counts start anew."""
        self.want = self.handed = cursor
        self.progress = Progress(cursor.point)
        self._restart(now)

    def _restart(self, now: float) -> None:
        self.buffer.clear()
        self._packs = 0
        self._limit = self._free()
        self._room_since = now
        self.waiting = None
        self.dirty = True

    def first_pack(self) -> Optional[wire.Pack]:
        return next((m for m in self.buffer if isinstance(m, wire.Pack)), None)

    def head(self) -> Optional[Union[wire.Pack, wire.End]]:
        """What take() would hand out next; None when nothing is here."""
        return self.buffer[0] if self.buffer else None

    def take(self, now: float) -> Optional[Union[wire.Pack, wire.End]]:
        """The head, now handed out: the checkpoint's cursor stands behind it. None when there is
        none."""
        if not self.buffer:
            return None
        if self.buffer[0].before != self.handed.point:
            # An interrupt from the keyboard fell between two lines of these methods.
            self.want = self.handed
            self._restart(now)
            return None
        message = self.buffer.popleft()
        if isinstance(message, wire.Pack):
            if self._packs >= self.room:
                self._room_since = now
            self._packs -= 1
            self._limit -= 1
            self._look_at_room()
            self.handed = _after(message, self.handed)
            self.progress.add_pack(message.at.epoch, message)
        else:
            self.handed = message.cursor
        self.progress.pass_over(message.passed, self.handed.point)
        return message

    def limit_room(self, packs: int) -> None:
        """A room that nobody chose is to grow no larger: more packs than these are of no use."""
        if self._follows_size:
            self._room_max = max(ROOM_MIN, min(packs, ROOM_MAX))
            self.room = min(self.room, self._room_max)

    def finish(self) -> None:
        """The last pack was used and the last checkpoint is safe."""
        self.done = self.dirty = True

    def nothing_follows(self) -> bool:
        """Whether what was received reaches to the job's end."""
        return _is_end(self.welcome, self.want)

    def at_job_end(self) -> bool:
        w = self.welcome
        return w is not None and self.handed is not None and _is_end(w, self.handed)

    # What the sink hears.

    def subscribe_due(self, now: float) -> float:
        """Seconds until the next Subscribe is due; 0 = now."""
        if self.dirty:
            return 0.0
        return max(0.0, self._sent_at + REPORT_S - now)

    def subscribe(self, now: float) -> bytes:
        """The Subscribe to send. Each states all there is to say and replaces the one before."""
        self.dirty = False
        self._sent_at = now
        self._seq += 1
        asking = self.want is None
        free = self._free()
        self._limit = max(self._limit, self._packs + free)
        progress = self.progress or Progress(START.point)
        return wire.encode_subscribe(
            job=0 if asking else self.welcome.job,
            dp_size=self.dp_size if asking else self.welcome.dp_size,
            dp_rank=self.rank.dp_rank,
            peer=self.rank.peer,
            session=self.session,
            seq=self._seq,
            want=self.want,
            room=free,
            done=self.done,
            progress=progress.as_dict(all_epochs=self.done),
        )

    # What the sink says.

    def on_message(self, m: wire.FromSink, now: float) -> None:
        """Takes a decoded message, or counts it as refused."""
        if m.session != self.session:
            return self._late()
        self.heard_at = now
        if isinstance(m, wire.Waiting):
            self.waiting = (now, m.since_ms, m.text)
        elif isinstance(m, wire.Refusal):
            self.error = BY_REASON[m.reason](m.text or f"the sink refused this rank: {m.reason}")
        elif isinstance(m, wire.Welcome):
            self.welcome = self.welcome or m
        elif self.want is None:
            self._late()
        elif (m.job, m.dp_size) != (self.welcome.job, self.welcome.dp_size):
            self.refuse(
                f"a message of job {m.job:016x} at dp_size {m.dp_size} came, this is "
                f"{self.welcome.job:016x} at {self.welcome.dp_size}"
            )
        elif isinstance(m, wire.End) and m.released:
            self.released = True
        else:
            self._on_next(m)

    def refuse(self, sentence: str) -> None:
        """Counts a message that cannot be used; the sentence shows up where a wait is told."""
        self.refused += 1
        self.last_refused = sentence

    def silent_for(self, now: float) -> float:
        """Seconds for which the sink has owed an answer: it owes none while there is no room, nor
        at the job's end before this rank is done."""
        if self.want is not None and not self.done:
            if self._packs >= self.room or _is_end(self.welcome, self.want):
                return 0.0
        return now - max(self.heard_at or self._room_since, self._room_since)

    def _on_next(self, m: Union[wire.Pack, wire.End]) -> None:
        # C2: the chain is followed by `from` alone, never by the pack's own window.
        if m.before != self.want.point:
            return self._late()
        if isinstance(m, wire.End):
            if m.cursor.point != self.want.point:  # else it says that this is the job's end
                self._append(m, m.cursor)
            return None
        if m.dp_rank != self.rank.dp_rank:
            return self.refuse(f"a pack of dp_rank {m.dp_rank} came to {self.rank.dp_rank}")
        if self._packs >= self._limit:
            return self._late()  # more than was asked for: it will be sent again
        self._packs += 1
        self._follow_size(m.nbytes)
        self._look_at_room()
        return self._append(m, _after(m, self.want))

    def _append(self, m: Union[wire.Pack, wire.End], after: Cursor) -> None:
        if after.point <= m.before or len(after.lanes) != len(self.want.lanes):
            if isinstance(m, wire.Pack):
                self._packs -= 1
            return self.refuse(f"a message leads from {m.before} to {after.point}, not forwards")
        self.buffer.append(m)
        self.want = after
        self.waiting = None
        return None

    def _free(self) -> int:
        return max(0, min(self.room - self._packs, ROOM_TOLD))

    def _look_at_room(self) -> None:
        untold = self._free() - (self._limit - self._packs)
        if 2 * untold >= min(self.room, ROOM_TOLD) or self._limit <= 0:
            self.dirty = True

    def _follow_size(self, nbytes: int) -> None:
        if not self._follows_size:
            return
        self._mean_bytes += (nbytes - self._mean_bytes) * (0.1 if self._mean_bytes else 1.0)
        room = int(ROOM_BYTES / max(self._mean_bytes, 1.0))
        self.room = max(ROOM_MIN, min(self._room_max, room))

    def _late(self) -> None:
        self.refused += 1


def _after(pack: wire.Pack, before: Cursor) -> Cursor:
    """What comes behind a pack that was wanted at `before`."""
    return Cursor(pack.after, before.lanes if pack.lanes is None else pack.lanes)


def _is_end(welcome: wire.Welcome, cursor: Cursor) -> bool:
    return welcome.epochs != wire.NO_END and cursor.point.epoch >= welcome.epochs


def wait_sentence(s: Subscriber, where: str, began: float, now: float, step: int) -> str:
    """Who waits for whom since when (law L7): the rank's own wait, then what its sink waits for, or
    that the sink itself does not answer. `where`: the sink's address."""
    rank = f"rank {s.rank.dp_rank}"
    if s.rank.peer:
        rank += f" (peer {s.rank.peer})"
    for_what = f"step {step}" if s.want is not None else "its sink to say which job it serves"
    sink = f"sink {s.rank.dp_rank}"
    silent = s.silent_for(now)
    if silent >= SILENT_S or s.heard_at is None:
        why = f"{sink} at {where} has not answered for {silent:.0f} s"
    elif s.waiting is not None:
        heard_at, _, text = s.waiting
        why = text if now - heard_at < SILENT_S else f"{sink} last said: {text}"
    else:
        why = f"{sink} at {where} answers, and has not said what it waits for"
    sentence = f"{rank} has waited {now - began:.0f} s for {for_what}: {why}"
    if s.last_refused:
        sentence += f" ({s.refused} messages were refused, the last because {s.last_refused})"
    return sentence
