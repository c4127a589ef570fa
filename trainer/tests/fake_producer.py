"""A producer's encoder side for tests, over a real ROUTER socket, by docs/wire.md and by no code of
the package. Of one thread: whoever waits for something polls."""

from __future__ import annotations

import os
import time

import msgpack
import zmq

WORD_S = 0.2


class FakeProducer:
    """Used as a context manager. `states`: the newest of each encoder, by routing id."""

    def __init__(self, folder, index=0, session=7):
        self.address = f"ipc://{folder}/p{index}.3"
        self.session = session
        self.states: dict = {}
        self.answers: list = []  # (header, frames) of encoded
        self.struck: list = []  # headers
        self.finished = False
        self.refused = ""
        self._told = 0.0
        self._number = 0

    def __enter__(self):
        self._context = zmq.Context()
        self._router = self._context.socket(zmq.ROUTER)
        self._router.setsockopt(zmq.LINGER, 0)
        self._router.setsockopt(zmq.ROUTER_MANDATORY, 1)
        if os.path.exists(self.address[6:]):
            os.unlink(self.address[6:])
        self._router.bind(self.address)
        return self

    def __exit__(self, *_):
        self._router.close()
        self._context.term()

    def wait_for(self, seen, timeout_s=20.0):
        """What `seen` gives, as soon as it is true."""
        end = time.monotonic() + timeout_s
        while not (found := seen()):
            assert time.monotonic() < end, (self.states, self.struck)
            self.turn()
        return found

    def wait_for_encoders(self, n=1):
        ready = lambda: [p for p, s in self.states.items() if s["room"] > 0]  # noqa: E731
        return self.wait_for(lambda: len(ready()) >= n and ready())

    def turn(self):
        while self._router.poll(20):
            peer, header, *frames = self._router.recv_multipart()
            m = msgpack.unpackb(header)
            assert (m["v"], m["job"], m["dp_size"]) == (1, 0, 0)
            if m["type"] == "encoder":
                self.states[peer] = m
            elif m["type"] == "encoded":
                self.answers.append((m, frames))
            else:
                assert m["type"] == "struck"
                self.struck.append(m)
        if time.monotonic() - self._told > WORD_S:
            self._told = time.monotonic()
            for peer in list(self.states):
                self._send(peer, "producer", session=self.session, finished=self.finished, refused=self.refused)

    def give(self, peer, records, lease_ms=60000, form="json"):
        """Records as bytes; returns the batch's number."""
        self._number += 1
        headers = [{"id": f"s0:{i}", "seed": 100 + i, "source": 0, "form": form} for i in range(len(records))]
        self._send(peer, "records", *records, session=self.session, number=self._number, lease_ms=lease_ms,
                   sources=[{"format": "any", "fields": [["id", "id"]]}], records=headers,
                   frames=len(records))  # fmt: skip
        return self._number

    def answer_to(self, number, timeout_s=20.0):
        """(header, frames) of the answer to a batch."""
        return self.wait_for(lambda: next((a for a in self.answers if a[0]["number"] == number), None), timeout_s)

    def _send(self, peer, kind, *frames, **fields):
        head = msgpack.packb({"v": 1, "type": kind, "job": 0, "dp_size": 0, **fields, "of_a_later_version": [1]})
        try:
            self._router.send_multipart([peer, head, *frames])
        except zmq.ZMQError as e:
            assert e.errno == zmq.EHOSTUNREACH
            self.states.pop(peer, None)
