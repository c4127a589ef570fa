"""What makes a stream of the eval split another one than a stream of training: each `for` is one
whole evaluation, an epoch of the split from its start."""

from __future__ import annotations

from typing import Any, Optional

from .cursor import STATE_VERSION, Cursor, Place, Point
from .errors import BadState
from .subscriber import Subscriber

SPLITS = ("train", "eval")


class Evaluation:
    """Which evaluation was begun, and how many packs a rank has in one.

    Evaluations only go forwards, from epoch to epoch of the split, whose epochs are all alike: a
    rank that began one has left all earlier ones, so ranks that end theirs at different times never
    pull the line to and fro."""

    def __init__(self) -> None:
        self.begun: Optional[int] = None  # the latest epoch of which a pack was asked for
        self.packs: Optional[int] = None  # of one evaluation, known behind the first whole one

    def stand_before_next(self, s: Subscriber, now: float) -> None:
        """Has `s` want the start of an epoch that was not begun: the present one's if it was not,
        else the next one's, whatever is left of it."""
        point = s.handed.point
        if self.begun is not None and point.epoch <= self.begun:
            s.begin(start_of(self.begun + 1, len(s.handed.lanes)), now)

    def is_whole(self, packs: int, s: Subscriber) -> None:
        """An evaluation of so many packs came to its end: the next one needs no more room."""
        self.packs = packs
        s.limit_room(packs)


def start_of(epoch: int, lanes: int) -> Cursor:
    return Cursor(Point(epoch, 0, 0), (Place(epoch, 0, ""),) * lanes)


def to_eval_state() -> dict:
    """What a checkpoint holds of an eval stream: that it was one. There is nothing to continue."""
    return {"version": STATE_VERSION, "split": "eval"}


def check_eval_state(state: Any) -> None:
    """BadState where it is none that to_eval_state() gave."""
    if state != to_eval_state():
        raise BadState(
            'this is not the state of an eval stream, which is {"version": '
            f'{STATE_VERSION}, "split": "eval"}}: a training stream\'s state belongs to '
            "PackStream(job) without split="
        )
