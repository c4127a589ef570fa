"""The receiving side of one rank: one DEALER socket to one sink, in a zmq context of its own.

A context does not survive a fork and a thread is not copied by one, so a Receiver belongs to the
process that made it; PackStream sees to that."""

from __future__ import annotations

import logging
import os
import select
import threading
import time
from typing import Callable, Optional, Sequence

import zmq

from . import wire
from .errors import BadMessage, Fenced, NoLine, PacklineError, PacklineTimeout
from .ranks import Rank, new_session
from .subscriber import REPORT_S, ROOM_MAX, SILENT_S, Subscriber, wait_sentence

logger = logging.getLogger("packline")

CLOSE_S = 5.0  # how long done is repeated
JOIN_S = 1.0
_BURST = 16  # messages taken before the lock is let go, and before the next Subscribe
_KEPT_BYTES = 4096  # a frame from this size on is used where the socket put it


class Receiver:
    """Owns the socket, the Subscriber and a thread; every method may be called from any thread of
    this process. After stop() nothing is left open.

    Messages gather in zmq's own thread, without the interpreter. Whoever holds the lock receives
    them: the caller who wants a pack and finds none buffered, many at a time, or the thread, each
    REPORT_S, so that a rank in a long step still speaks, and has its packs decoded when it comes.
    A hand-over between threads for each message would cost more than the message.

    The socket tells of a message once (its descriptor is edge-triggered), and only to who has
    found it empty since its last use: so nobody waits on it who has not just done that, and while
    somebody waits the thread keeps away."""

    def __init__(self, endpoint: str, rank: Rank, room: Optional[int], dp_size: int):
        self.endpoint = endpoint
        self.pid = os.getpid()
        self._s = Subscriber(rank, new_session(), room, time.monotonic(), dp_size)
        self._link: Optional[_Link] = _Link(endpoint, self._s.session, room or ROOM_MAX)
        self._lock = threading.Lock()  # of all that follows, the Subscriber and the link
        self._stopped = threading.Condition(self._lock)
        self._waiters = 0
        self._failure: Optional[BaseException] = None
        self._later: Optional[Callable[[Subscriber], object]] = None
        self._stopping = False
        self._thread = threading.Thread(target=self._run, name="packline-receive", daemon=True)
        self._thread.start()

    # What the stream asks.

    def wait(
        self,
        ready: Callable[[Subscriber], object],
        warn_after_s: float,
        fail_after_s: float,
        step: int,
    ):
        """`ready(subscriber)` under the lock, again after every change, until it is not None; that
        value. Logs the sentence of the wait every `warn_after_s`, raises PacklineTimeout with it
        after `fail_after_s`, and the sink's refusal or the receiver's failure when there is one."""
        with self._lock:
            if isinstance(self._s.error, Fenced):
                raise self._s.error  # at once: what is buffered is another process's by now
            value = ready(self._s)
            if value is not None:
                self._tell_if_dirty()
                return value
        began = time.monotonic()
        warn_at, fail_at = began + warn_after_s, began + fail_after_s

        def patience(now: float) -> float:
            nonlocal warn_at
            self._raise_if_failed()
            if now >= fail_at:
                raise PacklineTimeout(self._sentence(began, now, step))
            if now >= warn_at:
                logger.warning("%s", self._sentence(began, now, step))
                warn_at += warn_after_s
            return min(warn_at, fail_at)

        return self._receive_until(ready, patience)

    def call(self, do: Callable[[Subscriber], object]):
        """`do(subscriber)` under the lock; what it changed is told to the sink at once."""
        with self._lock:
            value = do(self._s)
            if not self._waiters:  # else who waits tells it, REPORT_S later at most
                self._tell_if_dirty()
            return value

    def call_soon(self, do: Callable[[Subscriber], object]) -> None:
        """`do(subscriber)` under the lock, in the thread, REPORT_S later at most; the latest counts.
        Takes no lock: it may be called where an object is dropped, which is anywhere."""
        self._later = do

    def failed(self) -> bool:
        """Whether this connection is of no more use: refused by the sink, or its thread is gone."""
        return self._s.error is not None or self._failure is not None

    def stop(self) -> None:
        """Ends the thread and closes the socket; waits JOIN_S at most. May be called again."""
        if self.pid != os.getpid():
            return  # a forked child has a copy of this, and no thread
        self._stopping = True
        if self._thread is threading.current_thread():
            return  # it drops a stream, maybe in the midst of a turn: it looks at the flag behind it
        with self._lock:
            self._stopped.notify_all()
        self._thread.join(JOIN_S)

    def at_job_end(self) -> bool:
        # Without the lock: a stream may be dropped anywhere, also where this thread has it.
        return self._s.at_job_end()

    def say_done(self) -> None:
        self.call(Subscriber.finish)

    def wait_released(self, deadline: float) -> bool:
        """Waits until released, refused or `deadline` (monotonic seconds); whether released."""

        def over(s: Subscriber):
            if s.released or self.failed() or self._stopping or time.monotonic() >= deadline:
                return s.released
            return None

        return self._receive_until(over, lambda now: deadline)

    def _sentence(self, began: float, now: float, step: int) -> str:
        return wait_sentence(self._s, self.endpoint, began, now, step)

    def _raise_if_failed(self) -> None:
        if self._s.error is not None:
            raise self._s.error
        if self._failure is not None:
            raise PacklineError(
                f"receiving failed ({type(self._failure).__name__}: {self._failure})"
            ) from self._failure
        if self._stopping:
            raise PacklineError("this stream was closed while it waited")

    # Receiving.

    def _receive_until(self, ready: Callable, patience: Callable[[float], float]):
        """Receives until `ready(subscriber)` is not None. `patience(now)` may raise; it gives the
        time at which it wants to be asked again."""
        with self._lock:
            self._waiters += 1
        try:
            while True:
                with self._lock:
                    received = self._turn(time.monotonic())
                    value = ready(self._s)
                    if value is not None:
                        self._tell_if_dirty()
                        return value
                    now = time.monotonic()
                    until = min(patience(now), now + self._beat_in(now))
                    poll = self._link.poll if self._link is not None else None
                if not received and poll is not None:
                    poll(max(1, int((until - now) * 1000)))
        finally:
            with self._lock:
                self._waiters -= 1

    def _run(self) -> None:
        try:
            with self._lock:
                while not self._stopping:
                    now = time.monotonic()
                    later, self._later = self._later, None
                    if later is not None:
                        later(self._s)
                    if not self._waiters and self._turn(now) == _BURST:
                        self._stopped.wait(0.001)  # lets others have the lock
                        continue
                    self._stopped.wait(self._beat_in(now))
        except BaseException as e:  # told to whoever waits; a thread has nobody else to tell
            with self._lock:
                self._failure = e
        finally:
            with self._lock:
                link, self._link = self._link, None
                link.close()

    def _beat_in(self, now: float) -> float:
        """Seconds until the next Subscribe is due; over 0."""
        if self._ended():
            return REPORT_S
        return min(self._s.subscribe_due(now) or REPORT_S, REPORT_S)

    def _ended(self) -> bool:
        return self._s.error is not None or self._s.released

    def _turn(self, now: float) -> int:
        """Says what is due and takes what is here, _BURST messages at most; how many."""
        link = self._link
        if link is None or self._stopping:
            return 0
        if not self._ended():
            if self._s.subscribe_due(now) == 0.0:
                self._tell(now)
            elif self._s.silent_for(now) > SILENT_S:
                link.reopen_if_due(now)
        for n in range(_BURST):
            frames = link.receive()
            if frames is None:
                return n
            try:
                self._s.on_message(wire.decode(frames), now)
            except BadMessage as e:
                self._s.refuse(str(e))
        return _BURST

    def _tell_if_dirty(self) -> None:
        if self._s.dirty and self._link is not None and not self._ended():
            self._tell(time.monotonic())

    def _tell(self, now: float) -> None:
        if not self._link.send(self._s.subscribe(now)):
            self._s.dirty = True  # nobody there; a connection that comes up wakes who waits


def finish(receivers: Sequence[Receiver], timeout_s: float = CLOSE_S) -> bool:
    """Says done on all, repeats it until each is released, `timeout_s` at most, and stops them.
    Whether the line let all go."""
    for receiver in receivers:
        receiver.say_done()
    deadline = time.monotonic() + timeout_s
    released = [r.wait_released(deadline) for r in receivers]
    for receiver in receivers:
        receiver.stop()
    return all(released)


class _Link:
    """The socket. Used by one thread at a time, but for poll(), which may go on while another uses
    or closes the rest."""

    def __init__(self, endpoint: str, session, room: int):
        self._endpoint = endpoint
        # The room governs; this bounds a sink that ignores it. What is lost is sent again whole.
        self._mark = min(2 * room + 8, 1 << 16)
        # Unique to the session and kept over reconnects, so that the sink's ROUTER knows us again.
        self._routing_id = b"t%x.%x.%x" % tuple(session)
        self._context = zmq.Context()
        self._context.setsockopt(zmq.LINGER, 0)
        self._opened_at = time.monotonic()
        try:
            self._socket = self._open()
        except BaseException:
            self._context.term()
            raise

    def _open(self):
        s = self._context.socket(zmq.DEALER)
        try:
            return self._connect(s)
        except zmq.ZMQError as e:
            s.close()
            raise NoLine(f"{self._endpoint} cannot be connected to: {e.strerror}") from None

    def _connect(self, s):
        s.setsockopt(zmq.ROUTING_ID, self._routing_id)
        s.setsockopt(zmq.LINGER, 0)
        # Never IMMEDIATE on a socket that receives: libzmq then drops a dead peer's pipe at once, and
        # aborts the process when half of a message had been read (fq.cpp, !_more). So some Subscribes
        # may wait for a peer; each states all there is to say, and the sink takes the latest.
        s.setsockopt(zmq.SNDHWM, 8)
        s.setsockopt(zmq.RCVHWM, self._mark)
        s.setsockopt(zmq.MAXMSGSIZE, wire.MESSAGE_BYTES_MAX)  # of one frame
        s.setsockopt(zmq.RECONNECT_IVL, 100)
        s.setsockopt(zmq.RECONNECT_IVL_MAX, 1000)
        if self._endpoint.startswith("tcp:"):
            s.setsockopt(zmq.TCP_MAXRT, 1000)  # a black hole ends in seconds, not minutes
            # With IPv6 on, a name is looked up as IPv6 alone: only for addresses written so.
            s.setsockopt(zmq.IPV6, int("[" in self._endpoint))
        s.connect(self._endpoint)
        poller = select.poll()
        poller.register(s.getsockopt(zmq.FD), select.POLLIN)
        self.poll = poller.poll  # (milliseconds); a thread that began it keeps the one it has
        return s

    def reopen_if_due(self, now: float) -> None:
        """A new connection, when the present one is old enough to have proved silent."""
        if now - self._opened_at < SILENT_S:
            return
        self._socket.close()
        self._opened_at = now
        self._socket = self._open()

    def send(self, frame: bytes) -> bool:
        """False when nobody is there; a later frame says it all again."""
        try:
            self._socket.send(frame, zmq.DONTWAIT)
        except zmq.Again:
            return False
        return True

    def receive(self) -> Optional[list]:
        """The frames of a message, or None. Of one with too many frames or bytes the rest is let
        go, so that it takes no memory here; it then breaks the grammar and is counted."""
        recv = self._socket.recv
        try:
            frame = recv(zmq.DONTWAIT, False, False)
        except zmq.Again:
            return None
        frames, size, whole = [frame.bytes], len(frame), True
        while frame.more:  # with copies, to ask whether more follows is a slow call a frame
            frame = recv(0, False, False)
            n = len(frame)
            size += n
            whole = whole and len(frames) < wire.FRAMES_MAX and size <= wire.MESSAGE_BYTES_MAX
            if whole:
                frames.append(frame.bytes if n < _KEPT_BYTES else frame.buffer)
        return frames if whole else []

    def close(self) -> None:
        self._socket.close()
        self._context.term()
