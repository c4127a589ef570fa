"""Multipart messages over a pair of pipes: u32 number of frames, u64 bytes of each, the frames."""

from __future__ import annotations

import os
import struct
from collections import deque
from typing import List, Optional

_COUNT = struct.Struct("<I")
FRAMES_MAX = 1 << 20
BYTES_MAX = 4 << 30
_READ = 1 << 20


def head_of(frames) -> bytes:
    sizes = [memoryview(f).nbytes for f in frames]
    return _COUNT.pack(len(sizes)) + struct.pack(f"<{len(sizes)}Q", *sizes)


class BlockingPipe:
    """A worker's end: waits for messages, and until they are written."""

    def __init__(self, read_fd: int, write_fd: int):
        self._in = os.fdopen(read_fd, "rb", buffering=1 << 20)
        self._out = os.fdopen(write_fd, "wb", buffering=1 << 20)

    def receive(self) -> Optional[list]:
        """None: the other end is gone."""
        head = self._in.read(4)
        if len(head) < 4:
            return None
        (count,) = _COUNT.unpack(head)
        sizes = self._in.read(8 * count)
        if len(sizes) < 8 * count:
            return None
        frames = []
        for size in struct.unpack(f"<{count}Q", sizes):
            frame = self._in.read(size)
            if len(frame) < size:
                return None
            frames.append(frame)
        return frames

    def send(self, frames) -> None:
        self._out.write(head_of(frames))
        for frame in frames:
            self._out.write(frame)
        self._out.flush()


class PolledPipe:
    """A supervisor's end: never waits. What a worker sends is bounded by what is asked of it."""

    def __init__(self, read_fd: int, write_fd: int):
        self.read_fd, self.write_fd = read_fd, write_fd
        for fd in (read_fd, write_fd):
            os.set_blocking(fd, False)
        self._got = bytearray()
        self._unsent: deque = deque()
        self.ended = False  # the other end is gone

    def close(self) -> None:
        os.close(self.read_fd)
        os.close(self.write_fd)

    @property
    def writing(self) -> bool:
        return bool(self._unsent)

    def send(self, frames) -> None:
        self._unsent.append(memoryview(head_of(frames)))
        self._unsent.extend(memoryview(f).cast("B") for f in frames if memoryview(f).nbytes)
        self.write()

    def write(self) -> None:
        while self._unsent:
            part = self._unsent[0]
            try:
                n = os.write(self.write_fd, part[:_READ])
            except BlockingIOError:
                return
            except OSError:  # the worker is gone, which read() tells
                self._unsent.clear()
                return
            if n == len(part):
                self._unsent.popleft()
            else:
                self._unsent[0] = part[n:]

    def receive(self) -> List[list]:
        """The messages that came; [] when none is whole yet."""
        while True:
            try:
                data = os.read(self.read_fd, _READ)
            except BlockingIOError:
                break
            if not data:
                self.ended = True
                break
            self._got += data
        messages = []
        while (message := self._take()) is not None:
            messages.append(message)
        return messages

    def _take(self) -> Optional[list]:
        got = self._got
        if len(got) < 4:
            return None
        (count,) = _COUNT.unpack_from(got)
        if count > FRAMES_MAX:
            raise ValueError(f"a message of {count} frames from the worker")
        at = 4 + 8 * count
        if len(got) < at:
            return None
        sizes = struct.unpack_from(f"<{count}Q", got, 4)
        if sum(sizes) > BYTES_MAX:
            raise ValueError(f"a message of {sum(sizes)} bytes from the worker")
        if len(got) < at + sum(sizes):
            return None
        frames = []
        for size in sizes:
            frames.append(bytes(got[at : at + size]))
            at += size
        del got[:at]
        return frames
