"""What can go wrong in a stream. Every message is a sentence: what is wrong, where, what to do."""

from __future__ import annotations


class PacklineError(RuntimeError):
    """Base of everything this package raises by itself."""


class PacklineTimeout(PacklineError, TimeoutError):
    """A wait passed `fail_after_s`; the message names who waits for whom."""


class Fenced(PacklineError):
    """A newer process subscribed as this rank; this one was shut out."""


class OtherJob(PacklineError):
    """The line serves another job than the checkpoint, the caller or this session."""


class OtherDpSize(PacklineError):
    """The line was started for another dp_size."""


class NotDivisible(PacklineError):
    """The cursor's pack cannot be dealt over this dp_size."""


class WrongRank(PacklineError):
    """This rank has no place in the job, or asked the sink of another rank."""


class LineFailed(PacklineError):
    """The line stopped; the message says which role and why."""


class DataRefused(PacklineError):
    """The records cannot be had: they came through a pipe, which cannot go back, or an epoch without end lost all."""


class OtherStreamVersion(PacklineError):
    """The checkpoint's packs were made by other rules than this line's."""


class BadState(PacklineError, ValueError):
    """What was given to `load_state_dict` is not a stream's state."""


class NoLine(PacklineError):
    """There is no line to join, or it cannot be found from what was given."""


class WrongProcess(PacklineError):
    """Iterated in a DataLoader worker or in a forked child."""


class InUse(PacklineError):
    """A second iterator over one stream, or a wrapper that would take packs away."""


class Closed(PacklineError):
    """Iterated after `close()`."""


class BadMessage(PacklineError):
    """Bytes that break docs/wire.md or its limits. Counted and dropped, never raised to users."""


# The reasons of an `error` message, docs/wire.md section 3.
BY_REASON = {
    "fenced": Fenced,
    "other_job": OtherJob,
    "other_dp_size": OtherDpSize,
    "not_divisible": NotDivisible,
    "wrong_rank": WrongRank,
    "line_failed": LineFailed,
    "data_refused": DataRefused,
}
