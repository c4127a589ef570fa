"""An encoder process: connects to every producer, keeps one worker process going (by exec, in a
clean environment) and hands it batch after batch. It never runs the user's code itself, so that it
can always say what becomes of it."""

from __future__ import annotations

import json
import os
import random
import signal
import socket
import subprocess
import sys
import time
from collections import deque
from typing import List, Optional

import zmq

from ..errors import BadMessage
from . import worker as worker_module
from .desk import Desk, Ended
from .log import Log
from .pipe import PolledPipe
from .settings import Settings

STATE_S = 0.2
TURN_MS = 50
DEATHS_MAX = 5  # of workers that never became ready
LINGER_MS = 500
MESSAGE_BYTES_MAX = 4 << 30

# One process a core is how encoders scale: a library that starts threads of its own in each of them
# would only get in the way. No encoder uses an accelerator that a trainer owns.
SET = {
    "CUDA_VISIBLE_DEVICES": "",
    "HIP_VISIBLE_DEVICES": "",
    "OMP_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "NUMEXPR_NUM_THREADS": "1",
    "RAYON_NUM_THREADS": "1",
    "TOKENIZERS_PARALLELISM": "false",
}
# What a launcher of trainers says to them.
DROPPED = {
    "RANK", "LOCAL_RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE", "GROUP_RANK", "ROLE_RANK", "ROLE_WORLD_SIZE",
    "MASTER_ADDR", "MASTER_PORT", "PACKLINE_LINE",
}  # fmt: skip


def clean_environment(environ) -> dict:
    env = {k: v for k, v in environ.items() if k not in DROPPED and not k.startswith("TORCHELASTIC_")}
    env.update(SET)
    env["PYTHONUNBUFFERED"] = "1"
    return env


class Worker:
    """One worker process and the pipes to it."""

    def __init__(self, settings: Settings, session: int):
        down_read, down_write = os.pipe()
        up_read, up_write = os.pipe()
        told = {
            **settings.of_worker,
            "session": session,
            "parent": os.getpid(),
            "read_fd": down_read,
            "write_fd": up_write,
        }
        try:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "packline.encode.worker", json.dumps(told)],
                stdin=subprocess.DEVNULL,
                stdout=sys.stderr.fileno(),  # what a function prints is no output of this program
                env=clean_environment(os.environ),
                pass_fds=(down_read, up_write),
                start_new_session=False,
            )
        finally:
            os.close(down_read)
            os.close(up_write)
        self.pid = self._process.pid
        self.pipe = PolledPipe(up_read, down_write)

    def kill(self) -> None:
        self._process.kill()

    def end(self) -> int:
        """After the pipe has ended, or a kill: minus the signal, or the exit code."""
        try:
            code = self._process.wait(timeout=2)
        except subprocess.TimeoutExpired:  # it closed its pipe and lives on
            self._process.kill()
            code = self._process.wait()
        self.pipe.close()
        return code


class Supervisor:
    def __init__(self, settings: Settings, log: Log):
        self._settings = settings
        self._log = log
        self._session = random.SystemRandom().getrandbits(63) | 1
        name = f"{socket.gethostname()}, process {os.getpid()}"
        now = time.monotonic()
        self._desk = Desk(
            self._session, name, settings.identity, len(settings.connect), settings.fail_after_s, now
        )
        self._context = zmq.Context()
        self._sockets = [self._connect(a) for a in settings.connect]
        self._outboxes: List[deque] = [deque() for _ in self._sockets]  # of (what it is about, frames)
        self._worker: Optional[Worker] = None
        self._deaths = 0  # of workers that never became ready, in a row
        self._start_at = now
        self._tell_at = now
        self._waits_since: Optional[float] = None
        self._stop = 0
        self._overdue = False

    def _connect(self, address: str):
        s = self._context.socket(zmq.DEALER)
        s.setsockopt(zmq.ROUTING_ID, b"encode-%016x" % self._session)
        s.setsockopt(zmq.LINGER, LINGER_MS)
        s.setsockopt(zmq.IMMEDIATE, 1)  # nothing queues for a producer that is not there
        s.setsockopt(zmq.SNDHWM, 16)
        s.setsockopt(zmq.RCVHWM, 16)
        s.setsockopt(zmq.MAXMSGSIZE, MESSAGE_BYTES_MAX)
        s.setsockopt(zmq.RECONNECT_IVL, 100)
        s.setsockopt(zmq.RECONNECT_IVL_MAX, 1000)
        s.setsockopt(zmq.TCP_MAXRT, 5000)
        if address.startswith("tcp://["):
            s.setsockopt(zmq.IPV6, 1)
        s.connect(address)
        return s

    def run(self) -> Ended:
        signal.signal(signal.SIGTERM, self._on_signal)
        signal.signal(signal.SIGINT, self._on_signal)
        try:
            while True:
                ended = self._turn(time.monotonic())
                if ended is not None:
                    return ended
        finally:
            if self._worker is not None:
                self._worker.kill()
                self._worker.end()
            for s in self._sockets:
                s.close()
            self._context.term()

    def _on_signal(self, number, _frame) -> None:
        self._stop = number

    def _turn(self, now: float) -> Optional[Ended]:
        if self._stop:
            return Ended(128 + self._stop, "ended by a signal")
        self._wait()
        now = time.monotonic()
        for p, s in enumerate(self._sockets):
            self._receive(p, s, now)
        ended = self._look_after_worker(now) or self._desk.over(now)
        if ended is not None:
            return ended
        self._give_work(now)
        for p in range(len(self._sockets)):
            self._flush(p)
        if now >= self._tell_at:
            self._tell(now)
        self._say_waits(now)
        return None

    def _wait(self) -> None:
        poller = zmq.Poller()
        for s, outbox in zip(self._sockets, self._outboxes):
            poller.register(s, zmq.POLLIN | (zmq.POLLOUT if outbox else 0))
        if self._worker is not None:
            poller.register(self._worker.pipe.read_fd, zmq.POLLIN)
            if self._worker.pipe.writing:
                poller.register(self._worker.pipe.write_fd, zmq.POLLOUT)
        poller.poll(TURN_MS)

    def _receive(self, p: int, s, now: float) -> None:
        while True:
            try:
                frames = [f.buffer if len(f) > 4096 else f.bytes for f in s.recv_multipart(zmq.NOBLOCK, copy=False)]
            except zmq.Again:
                return
            try:
                self._desk.on_message(p, frames, now)
            except BadMessage as e:
                peer = self._settings.connect[p]
                self._log.limited("bad", now, f"dropped what is no producer's message, from {peer}: {e}")

    def _look_after_worker(self, now: float) -> Optional[Ended]:
        if self._worker is None:
            if now >= self._start_at:
                self._worker = Worker(self._settings, self._session)
            return None
        self._worker.pipe.write()
        ended = None
        for message in self._worker.pipe.receive():
            ended = self._on_worker(message) or ended
        if ended is not None:
            return ended
        if self._desk.overdue(now) and not self._worker.pipe.ended and not self._overdue:
            self._overdue = True
            self._worker.kill()
        if self._worker.pipe.ended:
            return self._bury(now)
        return None

    def _on_worker(self, message: list) -> Optional[Ended]:
        kind = message[0]
        if kind == worker_module.READY:
            self._desk.ready = True
            self._deaths = 0
            self._tell_at = 0.0
        elif kind == worker_module.FAILED:
            return Ended(2, message[1].decode("utf-8", "surrogateescape"))
        elif kind == worker_module.ANSWER:
            work = self._desk.on_answer()
            if work is not None:
                self._outboxes[work.producer].append((work, message[1:]))
        return None

    def _bury(self, now: float) -> Optional[Ended]:
        code = self._worker.end()
        pid, self._worker = self._worker.pid, None
        was_ready = self._desk.ready
        overdue, self._overdue = self._overdue, False
        text = ending(code)
        if overdue and self._desk.work is not None:
            text = f"no answer within {self._desk.work.lease_s:g} s"
        struck = self._desk.on_death(max(0, -code), overdue, text)
        if struck is not None:
            work, frames = struck
            self._outboxes[work.producer].append((work, frames))
        if not was_ready:
            self._deaths += 1
            if self._deaths >= DEATHS_MAX:
                return Ended(4, f"its worker died {self._deaths} times before it was ready, the last time by {text}")
            self._start_at = now + 0.2 * 2**self._deaths
        self._log.warning(f"its worker (pid {pid}) ended by {text}; it is started again")
        self._tell_at = 0.0
        return None

    def _give_work(self, now: float) -> None:
        # An answer that cannot be written yet is memory that must not grow.
        if self._worker is None or any(len(o) > 2 for o in self._outboxes):
            return
        frames = self._desk.next_batch(now)
        if frames is not None:
            self._worker.pipe.send(frames)

    def _flush(self, p: int) -> None:
        outbox = self._outboxes[p]
        while outbox:
            try:
                self._sockets[p].send_multipart(outbox[0][1], zmq.NOBLOCK, copy=False)
            except zmq.Again:
                return
            self._desk.on_written(outbox.popleft()[0])

    def _tell(self, now: float) -> None:
        self._tell_at = now + STATE_S
        for p, s in enumerate(self._sockets):
            try:
                s.send_multipart(self._desk.state(p, now), zmq.NOBLOCK)
            except zmq.Again:
                pass  # the next one says the same

    def _say_waits(self, now: float) -> None:
        text = self._desk.waits(now)
        if not text:
            self._waits_since = None
            return
        if self._waits_since is None:
            self._waits_since = now
        since = now - self._waits_since
        if since > self._settings.warn_after_s:
            self._log.limited("waits", now, f"{text} since {since:.0f} s", self._settings.warn_after_s)


def ending(code: int) -> str:
    """Of a process: "signal 11 (Segmentation fault)" or "exit code 1"."""
    if code >= 0:
        return f"exit code {code}"
    return f"signal {-code} ({signal.strsignal(-code) or 'unknown'})"
