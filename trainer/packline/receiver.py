"""The receiving thread: one DEALER socket to one sink, in a zmq context of its own.

A context does not survive a fork and a thread is not copied by one, so a Receiver belongs to the
process that made it; PackStream sees to that."""

from __future__ import annotations

import logging
import os
import threading
import time
from typing import Callable, Optional, Sequence

import zmq

from . import wire
from .errors import BadMessage, Fenced, PacklineError, PacklineTimeout
from .ranks import Rank, new_session
from .subscriber import REPORT_S, SILENT_S, Subscriber, wait_sentence

logger = logging.getLogger("packline")

CLOSE_S = 5.0  # how long done is repeated
JOIN_S = 1.0
_BURST = 64  # messages taken before the next Subscribe
_BLOCK_S = 1.0  # a wait looks up at least this often, so that a dead thread is noticed


class Receiver:
    """Owns the thread and the Subscriber; every other method may be called from any thread of this
    process. After stop() nothing is left open."""

    def __init__(self, endpoint: str, rank: Rank, room: int, dp_size: int):
        self.endpoint = endpoint
        self.pid = os.getpid()
        self._s = Subscriber(rank, new_session(), room, time.monotonic(), dp_size)
        self._changed = threading.Condition()
        self._waiters = 0
        self._failure: Optional[BaseException] = None
        self._stopping = False
        self._woken = False
        self._wake_read, self._wake_write = os.pipe()
        os.set_blocking(self._wake_write, False)
        os.set_blocking(self._wake_read, False)
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
        after `fail_after_s`, and the sink's refusal or the thread's failure when there is one."""
        with self._changed:
            if isinstance(self._s.error, Fenced):
                raise self._s.error  # at once: what is buffered is another process's by now
            value = ready(self._s)
            if value is None:
                self._waiters += 1
                try:
                    value = self._wait(ready, warn_after_s, fail_after_s, step)
                finally:
                    self._waiters -= 1
            self._wake_if_due()
            return value

    def _wait(self, ready, warn_after_s: float, fail_after_s: float, step: int):
        began = time.monotonic()
        warn_at, fail_at = began + warn_after_s, began + fail_after_s
        while True:
            self._raise_if_failed()
            now = time.monotonic()
            if now >= fail_at:
                raise PacklineTimeout(self._sentence(began, now, step))
            if now >= warn_at:
                logger.warning("%s", self._sentence(began, now, step))
                warn_at += warn_after_s
            self._changed.wait(max(0.0, min(warn_at, fail_at, now + _BLOCK_S) - now))
            value = ready(self._s)
            if value is not None:
                return value

    def call(self, do: Callable[[Subscriber], object]):
        """`do(subscriber)` under the lock; what it changed is told to the sink at once."""
        with self._changed:
            value = do(self._s)
            self._wake_if_due()
            return value

    def failed(self) -> bool:
        """Whether this connection is of no more use: refused by the sink, or its thread is gone."""
        return self._s.error is not None or self._failure is not None

    def released(self) -> bool:
        """Whether the line let this rank go."""
        return self._s.released

    def stop(self) -> None:
        """Ends the thread and its sockets; waits JOIN_S at most. May be called again."""
        if self.pid != os.getpid():
            return  # a forked child has a copy of this, and no thread
        with self._changed:
            self._stopping = True
            self._woken = False
            self._wake()
            self._changed.notify_all()
        if self._thread is not threading.current_thread():
            self._thread.join(JOIN_S)

    def at_job_end(self) -> bool:
        with self._changed:
            return self._s.at_job_end()

    def _sentence(self, began: float, now: float, step: int) -> str:
        return wait_sentence(self._s, self.endpoint, began, now, step)

    def _raise_if_failed(self) -> None:
        if self._s.error is not None:
            raise self._s.error
        if self._failure is not None:
            raise PacklineError(
                f"the receiving thread failed ({type(self._failure).__name__}: {self._failure})"
            ) from self._failure
        if self._stopping:
            raise PacklineError("this stream was closed while it waited")

    def _wake_if_due(self) -> None:
        if self._s.dirty:
            self._wake()

    def _wake(self) -> None:
        if self._woken or self._wake_write < 0:
            return
        self._woken = True
        try:
            os.write(self._wake_write, b"w")
        except BlockingIOError:
            pass  # it is full of wakes already

    def say_done(self) -> None:
        self.call(Subscriber.finish)

    def wait_released(self, deadline: float) -> bool:
        """Waits until released, refused or `deadline` (monotonic seconds); whether released."""
        with self._changed:
            self._waiters += 1
            while not (self._s.released or self.failed() or self._stopping):
                left = deadline - time.monotonic()
                if left <= 0:
                    break
                self._changed.wait(left)
            self._waiters -= 1
            return self._s.released

    # The thread.

    def _run(self) -> None:
        link = None
        try:
            link = _Link(self.endpoint, self._s.session, self._s.room)
            while self._turn(link):
                pass
        except BaseException as e:  # told to whoever waits; a thread has nobody else to tell
            with self._changed:
                self._failure = e
                self._changed.notify_all()
        finally:
            if link is not None:
                link.close()
            with self._changed:
                os.close(self._wake_read)
                os.close(self._wake_write)
                self._wake_read = self._wake_write = -1

    def _turn(self, link: "_Link") -> bool:
        now = time.monotonic()
        with self._changed:
            if self._stopping:
                return False
            ended = self._s.error is not None or self._s.released
            due = None if ended else self._s.subscribe_due(now)
            frame = self._s.subscribe(now) if due == 0.0 else None
            silent = self._s.silent_for(now)
        if frame is not None:
            link.send(frame)
        elif due is not None and silent > SILENT_S:
            link.reopen_if_due(now)
        if self._receive(link) == 0:
            if link.poll(
                self._wake_read, REPORT_S if due is None else min(due or REPORT_S, REPORT_S)
            ):
                with self._changed:
                    self._woken = False
                    _drain(self._wake_read)
        return True

    def _receive(self, link: "_Link") -> int:
        """Takes what is here, _BURST messages at most; how many."""
        for n in range(_BURST):
            frames = link.receive()
            if frames is None:
                return n
            self._on_frames(frames)
        return _BURST

    def _on_frames(self, frames: list) -> None:
        try:
            message = wire.decode(frames)
        except BadMessage as e:
            with self._changed:
                self._s.refuse(str(e))
            return
        with self._changed:
            if self._s.on_message(message, time.monotonic()) and self._waiters:
                self._changed.notify_all()


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


def _drain(pipe: int) -> None:
    try:
        while os.read(pipe, 64):
            pass
    except BlockingIOError:
        pass


class _Link:
    """The socket. Used by the receiving thread alone."""

    def __init__(self, endpoint: str, session, room: int):
        self._endpoint = endpoint
        # The room governs; this bounds a sink that ignores it. What is lost is sent again whole.
        self._mark = min(2 * room + 8, 1 << 16)
        # Unique to the session and kept over reconnects, so that the sink's ROUTER knows us again.
        self._routing_id = b"t%x.%x.%x" % tuple(session)
        self._context = zmq.Context()
        self._context.setsockopt(zmq.LINGER, 0)
        self._poller = zmq.Poller()
        self._wake_fd = None
        self._opened_at = time.monotonic()
        self._socket = self._open()

    def _open(self):
        s = self._context.socket(zmq.DEALER)
        s.setsockopt(zmq.ROUTING_ID, self._routing_id)
        s.setsockopt(zmq.LINGER, 0)
        s.setsockopt(zmq.IMMEDIATE, 1)  # each Subscribe replaces the last: none waits for a peer
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
        self._poller.register(s, zmq.POLLIN)
        return s

    def reopen_if_due(self, now: float) -> None:
        """A new connection, when the present one is old enough to have proved silent."""
        if now - self._opened_at < SILENT_S:
            return
        self._poller.unregister(self._socket)
        self._socket.close()
        self._opened_at = now
        self._socket = self._open()

    def send(self, frame: bytes) -> None:
        try:
            self._socket.send(frame, zmq.DONTWAIT)
        except zmq.Again:
            pass  # nobody there; the next one says it all again

    def poll(self, wake: int, timeout_s: float) -> bool:
        """Waits for a message or a wake; whether it was woken."""
        if self._wake_fd is None:
            self._wake_fd = wake
            self._poller.register(wake, zmq.POLLIN)
        return any(s == wake for s, _ in self._poller.poll(max(1, int(timeout_s * 1000))))

    def receive(self) -> Optional[list]:
        """The frames of a message, or None. Of one with too many frames or bytes the rest is let
        go, so that it takes no memory here; it then breaks the grammar and is counted."""
        try:
            frames = [self._socket.recv(zmq.DONTWAIT)]
        except zmq.Again:
            return None
        size, whole = len(frames[0]), True
        while self._socket.getsockopt(zmq.RCVMORE):
            frame = self._socket.recv()
            size += len(frame)
            whole = whole and len(frames) < wire.FRAMES_MAX and size <= wire.MESSAGE_BYTES_MAX
            if whole:
                frames.append(frame)
        return frames if whole else []

    def close(self) -> None:
        self._socket.close()
        self._context.term()
