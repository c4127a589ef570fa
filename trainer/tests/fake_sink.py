"""A sink for tests: serves a SmallJob over a real ROUTER socket by docs/wire.md, and can lose,
double, reorder, keep silent and refuse. Speaks in plain dicts, by no code of the package."""

from __future__ import annotations

import os
import random
import threading
import time
from typing import Callable, List, Optional

import msgpack
import raw as raw_packs
import zmq

RESEND_S = 0.05


class Faults:
    """Chances a message, drawn from a seeded generator."""

    def __init__(self, seed=0, lose=0.0, double=0.0, delay=0.0):
        self.rng = random.Random(seed)
        self.lose, self.double, self.delay = lose, double, delay


class FakeSink:
    """Used as a context manager. `subscribes` has every Subscribe; `reply` may be replaced to
    answer one in another way (None: not at all); `answer` False is silence."""

    def __init__(self, job, folder, dp_rank=0, faults=None, endpoint=None):
        self.job = job
        self.dp_rank = dp_rank
        self.base = f"ipc://{folder}/s{dp_rank}"
        self.endpoint = endpoint or self.base + ".1"
        self.faults = faults or Faults()
        self.subscribes: List[dict] = []
        self.answer = True
        self.release = True
        self.ranks_per_dp_rank = 1
        self.stream_version = 1
        self.padding = {"sample_multiple_of": 1, "pad_to_multiple_of": 1, "pad_id": 0}
        self.packs_per_epoch = 0
        self.warn_after_ms, self.fail_after_ms = 30000, 60000
        self.hold_at: Optional[tuple] = None  # send nothing from this point on
        self.waiting_text = ""
        self.error: Optional[tuple] = None  # (reason, text) for every Subscribe
        self.mangle: Callable[[list], list] = lambda frames: frames
        self._chain = job.chain(dp_rank)
        self._index = {s.before: i for i, s in enumerate(self._chain)}
        self._changed = threading.Condition()
        self._stop = threading.Event()
        self._bound = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self):
        self._thread.start()
        assert self._bound.wait(10)
        return self

    def __exit__(self, *_):
        self._stop.set()
        self._thread.join(10)
        assert not self._thread.is_alive()

    def wait_for(self, seen: Callable[[dict], bool], timeout_s=10.0) -> dict:
        """The first Subscribe, already here or still to come, of which `seen` is true."""
        with self._changed:
            found = []

            def look():
                found[:] = [s for s in self.subscribes if seen(s)]
                return bool(found)

            assert self._changed.wait_for(look, timeout_s), "no such Subscribe"
            return found[0]

    # The thread.

    def _run(self):
        context = zmq.Context()
        router = context.socket(zmq.ROUTER)
        router.setsockopt(zmq.LINGER, 0)
        router.setsockopt(zmq.ROUTER_HANDOVER, 1)
        if self.endpoint.startswith("ipc:") and os.path.exists(self.endpoint[6:]):
            os.unlink(self.endpoint[6:])
        router.bind(self.endpoint)
        self.endpoint = router.getsockopt_string(zmq.LAST_ENDPOINT)
        self._bound.set()
        sent, late = {}, []
        while not self._stop.is_set():
            if router.poll(20):
                address, header = router.recv_multipart()
                s = msgpack.unpackb(header)
                with self._changed:
                    self.subscribes.append(s)
                    self._changed.notify_all()
                if self.answer:
                    for frames in self._replies(s, sent):
                        self._send(router, address, frames, late)
            late = self._send_late(router, late)
        router.close()
        context.term()

    def _send(self, router, address, frames, late):
        f = self.faults
        if f.rng.random() < f.lose:
            return
        for _ in range(2 if f.rng.random() < f.double else 1):
            if f.rng.random() < f.delay:
                late.append((time.monotonic() + f.rng.random() * 0.2, address, frames))
            else:
                router.send_multipart([address, *self.mangle(frames)])

    def _send_late(self, router, late):
        now = time.monotonic()
        for at, address, frames in late:
            if at <= now:
                router.send_multipart([address, *self.mangle(frames)])
        return [m for m in late if m[0] > now]

    def _replies(self, s: dict, sent: dict) -> list:
        if self.error:
            reason, text = self.error
            return [[self._header("error", s, reason=reason, text=text)]]
        if s["want"] is None:
            return [[self._welcome(s)]]
        want = _point(s["want"]["point"])
        if s["done"] and self.release:
            cursor = s["want"]
            return [[self._header("end", s, **{"from": cursor["point"]}, cursor=cursor, passed=[],
                                  released=True)]]  # fmt: skip
        replies, room, now = [], s["room"], time.monotonic()
        if now - sent.get(want, 0) > RESEND_S:
            sent.clear()
        for step in self._chain[self._index.get(want, len(self._chain)) :]:
            if step.before == self.hold_at or (step.raw is not None and room == 0):
                break
            room -= step.raw is not None
            if step.before not in sent:
                sent[step.before] = now
                replies.append(self.message(step, s))
        if not replies and self.waiting_text:
            replies.append([self._header("waiting", s, since_ms=5, text=self.waiting_text)])
        return replies

    def message(self, step, s: dict) -> list:
        passed = [{"epoch": e, "tally": _tally(n)} for e, n in step.passed]
        if step.raw is None:
            return [self._header("end", s, **{"from": _as_point(step.before)},
                                 cursor=_as_cursor(step.after), passed=passed,
                                 released=False)]  # fmt: skip
        frames = raw_packs.encode(step.raw)
        body = {"digest": digest(step), "samples": len(step.raw.ids),
                "tokens": sum(step.raw.lengths), "frames": len(frames)}  # fmt: skip
        header = self._header("pack", s, dp_rank=self.dp_rank, **{"from": _as_point(step.before)},
                              at=_as_point(step.at), after=_as_point(step.after[0]),
                              lanes=self._lanes_told(step), passed=passed,
                              body=body, a_key_of_a_later_version=[1])  # fmt: skip
        return [header, *frames]

    def _lanes_told(self, step):
        """None where the lanes are those of the cursor before, as a sink has it."""
        before = self._chain[self._index[step.before] - 1].after if self._index[step.before] else self.job.start()
        return None if step.after[1] == before[1] else _as_cursor(step.after)["lanes"]

    def _welcome(self, s: dict) -> bytes:
        return self._header(
            "welcome", s, identity=self.job.identity, stream_version=self.stream_version,
            ranks_per_dp_rank=self.ranks_per_dp_rank, packs_per_optimizer_step=1, capacity=64,
            dp_size_multiple=self.job.dp_size, **self.padding, epochs=self.job.epochs,
            packs_per_epoch=self.packs_per_epoch,
            warn_after_ms=self.warn_after_ms, fail_after_ms=self.fail_after_ms,
            start=_as_cursor(self.job.start()),
        )  # fmt: skip

    def _header(self, kind: str, s: dict, **fields) -> bytes:
        envelope = {"v": 1, "type": kind, "job": self.job.fingerprint, "dp_size": self.job.dp_size}
        return msgpack.packb({**envelope, "session": s["session"], **fields})


def digest(step) -> int:
    """A stand-in that is cheap and tells packs apart; the real one is tested by itself."""
    return hash((step.at, tuple(step.raw.ids))) % 2**64


def _point(p: dict) -> tuple:
    return (p["epoch"], p["window"], p["pack"])


def _as_point(p: tuple) -> dict:
    return {"epoch": p[0], "window": p[1], "pack": p[2]}


def _as_cursor(c: tuple) -> dict:
    lanes = [{"epoch": e, "index": i, "position": p} for e, i, p in c[1]]
    return {"point": _as_point(c[0]), "lanes": lanes}


def _tally(records: int) -> dict:
    ledger = {"records_read": records, "records_encoded": records, "records_lost": [0] * 3,
              "samples_made": records, "tokens_made": records, "samples_lost": [0] * 4,
              "tokens_lost": [0] * 4, "tokens_truncated": 0, "samples_repeated": 0,
              "tokens_repeated": 0}  # fmt: skip
    return {"packs": 0, "samples": 0, "tokens": 0, "digest": 0, "ledger": ledger}
