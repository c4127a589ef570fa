"""A small job, made up: which windows and packs it has, and the chain of what one rank is sent. The
arithmetic is that of docs/delivery.md section 1, written again."""

from __future__ import annotations

import random
from typing import List, NamedTuple, Optional

import raw


class Step(NamedTuple):
    """One pack (or, with raw None, one end) of a rank's chain; points are (epoch, window, pack),
    cursors (point, [(epoch, index, position)])."""

    before: tuple
    at: Optional[tuple]
    after: tuple
    passed: list  # of (epoch, records read)
    raw: Optional[raw.Raw]


class SmallJob:
    """`windows[lane]`: packs of each window of the lane, the same in every epoch, multiples of
    dp_size; 0 is a window without packs."""

    def __init__(self, windows, epochs=1, dp_size=1, seed=1, samples=3, longest=6):
        self.windows = windows
        self.epochs = epochs
        self.dp_size = dp_size
        self.seed = seed
        self.samples = samples
        self.longest = longest
        self.fingerprint = 0xA000000000000000 + seed
        self.identity = [["seed", str(seed)], ["pack.capacity", "64"]]

    @property
    def lanes(self) -> int:
        return len(self.windows)

    def start(self) -> tuple:
        return ((0, 0, 0), [(0, 0, "")] * self.lanes)

    def pack(self, epoch: int, window: int, index: int) -> raw.Raw:
        rng = random.Random(f"{self.seed} {epoch} {window} {index}")
        return raw.random_pack(rng, rng.randint(1, self.samples), self.longest)

    def records(self, epoch: int, window: int) -> int:
        return 10 + epoch + window

    def after_window(self, cursor: tuple) -> tuple:
        (epoch, window, _), lanes = cursor
        lane, index = window % self.lanes, window // self.lanes
        lanes = list(lanes)
        last = index + 1 == len(self.windows[lane])
        lanes[lane] = (epoch + 1, 0, "") if last else (epoch, index + 1, f"{index + 1}.0.0")
        window += 1
        if all(place[0] > epoch for place in lanes):
            return ((epoch + 1, 0, 0), lanes)
        while lanes[window % self.lanes][0] > epoch:
            window += 1
        return ((epoch, window, 0), lanes)

    def chain(self, dp_rank: int) -> List[Step]:
        steps, cursor, before, passed = [], self.start(), (0, 0, 0), []
        while cursor[0][0] < self.epochs:
            epoch, window, _ = cursor[0]
            packs = self.windows[window % self.lanes][window // self.lanes]
            if packs and epoch > before[0]:
                steps.append(Step(before, None, cursor, passed, None))
                before, passed = cursor[0], []
            for k in range(0, packs, self.dp_size):
                after = ((epoch, window, k + self.dp_size), cursor[1])
                if k + self.dp_size == packs:
                    after = self.after_window(cursor)
                    passed = [*passed, (epoch, self.records(epoch, window))]
                at = (epoch, window, k + dp_rank)
                steps.append(Step(before, at, after, passed, self.pack(*at)))
                before, passed = after[0], []
            if packs:
                cursor = after
            else:
                passed = [*passed, (epoch, self.records(epoch, window))]
                cursor = self.after_window(cursor)
        if cursor[0] != before:
            steps.append(Step(before, None, cursor, passed, None))
        return steps

    def packs_of_epoch(self, dp_rank: int, epoch: int) -> List[Step]:
        return [s for s in self.chain(dp_rank) if s.raw is not None and s.at[0] == epoch]
