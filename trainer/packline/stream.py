"""PackStream: the packs of one trainer rank."""

from __future__ import annotations

import copy
import logging
import os
import threading
import time
import weakref
from typing import Any, Iterable, Optional, Sequence, Union

from . import ending, torch_support, wire
from .batches import check_stackable, stack
from .cursor import START, Saved, from_state, to_state
from .errors import Closed, InUse, PacklineError, WrongProcess
from .evaluation import SPLITS, Evaluation, check_eval_state, to_eval_state
from .joining import Way, check_welcome, find_way, packs_of_epoch, start_cursor
from .layouts import OF_TENSORS, build, check_columns, check_layout
from .padding import NO_PADDING
from .ranks import world
from .receiver import CLOSE_S, Receiver

logger = logging.getLogger("packline")

_WARN_AFTER_S = 30.0  # until the line has said its own
_FAIL_AFTER_S = 600.0


class PackStream:
    """The packs that a line delivers to this rank, in order, each once.

        stream = PackStream("job.yaml")
        for epoch in range(3):
            for pack in stream: ...
        state = stream.state_dict()      # anywhere; load_state_dict() continues exactly there
        stream.close()                   # after the last checkpoint is safe

    Opens nothing before it is iterated (or peeked into, or asked for its length); then a daemon
    thread receives, in the process that iterates. Starts no process, forks nothing, uses no
    collective, and may be pickled at any time (a copy stands where the original stood,
    unconnected). Give it to torch as `DataLoader(stream, batch_size=None, num_workers=0)` or
    torchdata's StatefulDataLoader; for micro batches see stack().

    One `for` hands out one epoch, or what is left of it: after `break`, and after loading a state,
    the next `for` goes on behind the last pack handed out. After the job's end it yields nothing.

    split="eval": the packs of the records that the job sets aside (`eval.fraction`), beside a stream
    of training or alone. One `for` is one whole evaluation, the same packs each time, as many on
    each rank; what a `break` left is passed over. See state_dict() and close() for what else
    differs.

    job: path of the job file, the one the line serves. It is found by the variable PACKLINE_LINE
        (set by `packline run JOB -- ...`), or the job file's `line.sinks`, of the eval split
        `line.eval_sinks` (needs PyYAML).
    dp_rank: which sink to read; by default from the launcher's RANK and WORLD_SIZE (or Slurm's,
        Open MPI's, PMI's), when the stream connects. peer: which of the ranks that share it, needed
        with dp_rank when deliver.ranks_per_dp_rank is over 1.
    layout: "hf", "flash", "megatron", "torchtitan" (torch tensors), "numpy", "columns" or
        "rows": see packline.layouts.
    endpoint: a sink's subscriber address, instead of looking for the line; needs dp_rank.
    prefetch: packs that are received ahead and not handed out yet, at most; None = as many as make
        64 MiB, between 2 and 64.
    warn_after_s, fail_after_s: a longer wait is logged (logger "packline"), again and again, or
        raises PacklineTimeout; by default the job's. The message names who waits for whom.
    drop: names of columns not to hand out, such as those that `model(**pack)` does not take. A column
        under a name that the layout itself uses is refused with the first pack that has it.
    """

    def __init__(
        self,
        job: Union[str, "os.PathLike[str]"],
        *,
        split: str = "train",
        dp_rank: Optional[int] = None,
        peer: Optional[int] = None,
        layout: str = "hf",
        endpoint: Optional[str] = None,
        prefetch: Optional[int] = None,
        warn_after_s: Optional[float] = None,
        fail_after_s: Optional[float] = None,
        drop: Sequence[str] = (),
    ):
        check_layout(layout, drop)
        if split not in SPLITS:
            raise ValueError(f"split must be one of {', '.join(SPLITS)}, is {split!r}")
        if prefetch is not None and (type(prefetch) is not int or not 1 <= prefetch < 2**16):
            raise ValueError(
                f"prefetch must be None or a number of packs, 1 to 65535, is {prefetch!r}"
            )
        if endpoint is not None and dp_rank is None:
            raise ValueError("endpoint= is the address of one sink: give its dp_rank= as well")
        self.job = os.path.abspath(os.fspath(job))
        self.layout = layout
        self.split = split
        self._evaluation = Evaluation() if split == "eval" else None
        self._settings = (dp_rank, peer, endpoint, prefetch, warn_after_s, fail_after_s)
        self._drop = tuple(drop)
        self._saved: Optional[Saved] = None  # where to stand when connected; None = job's start
        self._closed = False
        self._in_this_process()

    def _in_this_process(self) -> None:
        self._pid = os.getpid()
        self._receiver: Optional[Receiver] = None
        self._welcome: Optional[wire.Welcome] = None
        self._way: Optional[Way] = None
        self._iterator: Optional[weakref.ref] = None
        self._turn = threading.Lock()  # one thread at a time is in next() or peek()
        self._last: Optional[wire.Pack] = None
        self._progress: dict = {}
        self._shape = (0, NO_PADDING)  # capacity, and how packs are padded, once connected
        # (cursor, step) after the last pack handed out, replaced as a whole: read without a lock.
        self._position = _position(self._saved)
        torch_support.register(PackStream)

    # Torch asks isinstance(stream, IterableDataset), which looks at __class__; if torch came after
    # this package, that is the moment to become one.
    @property
    def __class__(self):
        torch_support.register(PackStream)
        return type(self)

    # Iterating.

    def __iter__(self) -> "_Epoch":
        self._refuse_wrong_process()
        wrapper = torch_support.wrapper_that_takes_packs()
        if wrapper and world().size > 1:
            raise InUse(
                f"this PackStream, which is this rank's own, is read through {wrapper}. Give the "
                "trainer a plain DataLoader(stream, batch_size=None) that it does not prepare"
            )
        if self.layout in OF_TENSORS:
            torch_support.require(self.layout)
        return _Epoch(self)

    def peek(self) -> Any:
        """The next pack, in the layout, without handing it out; None at the job's end. The next
        `for` yields it (the one after, when it belongs to the next epoch)."""
        self._refuse_wrong_process()
        with self._turn:
            if self._evaluation is not None and not self._iterated():
                self._stand_before_evaluation()
            found = self._wait(lambda s: s.first_pack() or (_END if s.nothing_follows() else None))
        if found is _END:
            return None
        check_columns(self.layout, found.body, self._drop)
        return self._build(found)

    def __len__(self) -> int:
        """This rank's packs in the whole epoch that the next `for` hands out, or the rest of; 0
        after the job's end. Connects, as peek() does. TypeError where it is not known before the
        packs are made: of evaluations before the first whole one."""
        self._refuse_wrong_process()
        if self._evaluation is not None and self._evaluation.packs is not None:
            return self._evaluation.packs
        w = self._welcome
        if w is None:
            with self._turn:
                self._connected()
                w = self._welcome
        return packs_of_epoch(w, self.epoch)

    def __bool__(self) -> bool:
        return True  # not by the length, which need not be known

    def stack(self, packs: Sequence[Any]) -> Any:
        """Several packs as one micro batch [B, T] (packline.batches.stack), for `DataLoader(stream,
        batch_size=B, collate_fn=stream.stack)`. ValueError where packs have not all one length,
        but in "flash", whose packs are joined."""
        check_stackable(self.layout, *self._shape)
        return stack(self.layout, packs)

    def _next(self, iterator: "_Epoch") -> Any:
        """The next pack of the iterator's epoch; StopIteration behind its last."""
        self._refuse_wrong_process()
        with self._turn:
            self._claim(iterator)
            if self._evaluation is not None and iterator.epoch is None:
                self._stand_before_evaluation(iterator)
            taken = self._wait(lambda s: self._take(s, iterator))
        if taken is _END:
            iterator.finished = True
            raise StopIteration
        iterator.packs += 1
        self._last = taken
        return self._build(taken)

    def _take(self, s, iterator: "_Epoch"):
        """The next pack, now handed out; _END behind the epoch's last; None when it must be waited
        for. An end of windows without packs is passed when the next pack is asked for, never
        before: so the cursor is the same on all ranks at one step."""
        if iterator.epoch is None:
            iterator.epoch = s.handed.point.epoch
        while s.handed.point.epoch == iterator.epoch:
            head = s.head()
            if isinstance(head, wire.Pack):  # refused before it counts as handed out
                check_columns(self.layout, head.body, self._drop)
            message = s.take(time.monotonic())
            if message is None:
                return _END if s.nothing_follows() else None
            is_pack = isinstance(message, wire.Pack)
            self._position = (s.handed, self._position[1] + is_pack)
            if is_pack:
                return message
        if self._evaluation is not None:
            self._evaluation.is_whole(iterator.packs, s)
        return _END

    def _stand_before_evaluation(self, iterator: Optional["_Epoch"] = None) -> None:
        """Where an evaluation starts that was not begun; `iterator` begins it. Asking for its first
        pack begins it, also where that fails: so ranks that try again do so in the same epoch."""

        def begin(s):
            self._pass_over_begun(s)
            if iterator is not None:
                iterator.epoch = self._evaluation.begun = s.handed.point.epoch

        self._connected().call(begin)

    def _pass_over_begun(self, s) -> None:
        self._evaluation.stand_before_next(s, time.monotonic())
        self._position = (s.handed, self._position[1])

    def _left(self) -> None:
        """An iterator was dropped: what it left of an evaluation nobody will ask for. Other ranks,
        in this process even, may want the next one before this rank does."""
        receiver, stream = self._receiver, weakref.ref(self)

        def pass_over(s):
            me = stream()
            if me is not None and me._receiver is receiver and me._iterated() is None:
                me._pass_over_begun(s)

        if receiver is not None and self._pid == os.getpid():
            receiver.call_soon(pass_over)

    def _wait(self, ready) -> Any:
        receiver = self._connected()
        try:
            return receiver.wait(ready, *self._patience(), self.step)
        except PacklineError:
            if receiver.failed():  # the next `for` connects anew
                self._let_go().stop()
                self._iterator = None
            raise

    def _iterated(self) -> Optional["_Epoch"]:
        """The iterator that is being used, if any."""
        it = self._iterator() if self._iterator is not None else None
        return it if it is not None and not it.finished else None

    def _on_drop(self):
        if self._evaluation is None:
            return None
        stream = weakref.ref(self)

        def dropped(_):
            me = stream()
            if me is not None:
                me._left()

        return dropped

    def _claim(self, iterator: "_Epoch") -> None:
        other = self._iterated()
        if other is not None and other is not iterator:
            raise InUse(
                "this PackStream is being iterated already, in this process: two iterators would "
                "take each other's packs. End the first (or drop it), or make a PackStream for "
                "each rank"
            )
        if other is not iterator:
            self._iterator = weakref.ref(iterator, self._on_drop())

    def _build(self, pack: wire.Pack) -> Any:
        return build(self.layout, pack.body, pack.at, self._drop, self._shape[1])

    def _refuse_wrong_process(self) -> None:
        worker = torch_support.worker_id()
        if worker is not None:
            raise WrongProcess(
                f"this PackStream is in DataLoader worker {worker}: each worker would take packs "
                "away from the others, and a worker that was forked inherits the trainer's CUDA "
                "state. Use DataLoader(stream, batch_size=None, num_workers=0); a thread receives "
                "ahead anyway"
            )
        if self._pid != os.getpid():
            raise WrongProcess(
                f"this PackStream was made in process {self._pid} and is used in its forked child "
                f"{os.getpid()}: threads and sockets do not survive a fork. Make it in the child, "
                "or start the child by exec (spawn) and pickle the stream"
            )
        if self._closed:
            raise Closed("this PackStream was closed: make a new one to go on")

    # Connecting.

    def _connected(self) -> Receiver:
        if self._receiver is not None:
            return self._receiver
        dp_rank, peer, endpoint, prefetch, _, _ = self._settings
        self._way = find_way(self.job, dp_rank, peer, endpoint, self.split)
        receiver = Receiver(self._way.endpoint, self._way.rank, prefetch, self._way.dp_size)
        try:
            welcome = receiver.wait(lambda s: s.welcome, *self._patience(), self.step)
            check_welcome(self._way, welcome)
            cursor = start_cursor(self._saved, welcome)
        except BaseException:
            receiver.stop()
            raise
        receiver.call(lambda s: s.begin(cursor, time.monotonic()))
        self._position = (cursor, self.step)
        self._welcome, self._receiver = welcome, receiver
        self._shape = (welcome.capacity, welcome.padding)
        ending.watch(self, receiver, self._way)
        return receiver

    def _patience(self) -> tuple:
        """(warn, fail) after seconds: what was given, else what the line says."""
        line, w = self._way.line if self._way else None, self._welcome
        given_warn, given_fail = self._settings[4:]
        warn = given_warn or (w and w.warn_after_ms / 1000) or (line and line.warn_after_s)
        fail = given_fail or (w and w.fail_after_ms / 1000) or (line and line.fail_after_s)
        return warn or _WARN_AFTER_S, fail or _FAIL_AFTER_S

    # Where it stands.

    def state_dict(self) -> dict:
        """What comes after the last pack handed out: {version, stream_version, job (16 hex digits),
        identity {setting: value}, epoch, window, pack, step, lanes {"0": [epoch, index,
        position]}}. JSON-able, equal on all ranks at one step, and free of side effects. Of the
        eval split {version, split}: the next `for` is a whole evaluation whatever was before."""
        return to_state(self._stand()) if self._evaluation is None else to_eval_state()

    def load_state_dict(self, state: dict) -> None:
        """Continues there, also while iterating. BadState when it is no state; OtherJob (naming the
        first setting that differs, old and new) or OtherStreamVersion when it is not this line's:
        at once when connected, otherwise on connecting. On the eval split it changes nothing."""
        if self._evaluation is not None:
            return check_eval_state(state)
        saved = from_state(state)
        receiver = self._receiver
        if receiver is None:
            self._saved, self._position = saved, _position(saved)
            return
        self._refuse_wrong_process()
        cursor = start_cursor(saved, self._welcome)

        def go(s):
            s.begin(cursor, time.monotonic())
            self._position = (cursor, saved.step)
            current = self._iterator() if self._iterator is not None else None
            if current is not None:
                current.epoch = None

        receiver.call(go)

    def _stand(self) -> Saved:
        w = self._welcome
        if w is None:
            return self._saved or _NOWHERE
        cursor, step = self._position
        return Saved(w.stream_version, f"{w.job:016x}", w.identity, cursor, step)

    @property
    def epoch(self) -> int:
        """The epoch, from 0, of what comes next."""
        return self._position[0].point.epoch

    @property
    def step(self) -> int:
        """Packs that this rank was handed since the job's start (a micro-step is one pack a
        rank)."""
        return self._position[1]

    @property
    def progress(self) -> dict:
        """What was handed out since this object connected or a state was loaded: {from, to,
        total {packs, samples, tokens, digest, ledger}, epochs}; {} before that, and after close()
        what it was then."""
        if self._receiver is None or self._pid != os.getpid():
            return self._progress
        return self._receiver.call(lambda s: s.progress.as_dict(all_epochs=True))

    @property
    def sample_ids(self) -> list:
        """The ids of the samples in the last pack handed out, in its order."""
        return [] if self._last is None else self._last.body.ids

    @property
    def place(self) -> Optional[tuple]:
        """(epoch, window, pack in the window) of the last pack handed out."""
        return None if self._last is None else self._last.at

    # Ending.

    def close(self) -> None:
        """Says that the last pack was used and the last checkpoint is safe, waits until the line
        lets go (5 s at most), and closes the connection. May be called again; state_dict()
        stays. Of the eval split: after the last evaluation. A line that `packline run` made serves
        on, for who evaluates anew, and ends with the training; nothing is waited for then."""
        close_all([self])

    def __enter__(self) -> "PackStream":
        return self

    def __exit__(self, kind, value, traceback) -> None:
        # A program that failed may come back to an older checkpoint: it is not done.
        if kind is None:
            self.close()
        elif self._receiver is not None:
            self._let_go().stop()

    def _let_go(self) -> Receiver:
        """Takes the connection away; the stream stands where it stood."""
        receiver = self._receiver
        self._saved, self._progress = self._stand(), self.progress
        self._receiver = self._welcome = None
        ending.forget(receiver)
        return receiver

    def _leave(self) -> Sequence[Receiver]:
        """Takes the connection away, and closes it where no end is to be told; else it is given."""
        receiver = self._let_go()
        if self._way.says_done:
            return [receiver]
        receiver.stop()
        return []

    def __getstate__(self) -> dict:
        return {
            "job": self.job,
            "layout": self.layout,
            "split": self.split,
            "evaluation": copy.copy(self._evaluation),
            "settings": self._settings,
            "drop": self._drop,
            "saved": self._stand(),
            "closed": self._closed,
        }

    def __setstate__(self, state: dict) -> None:
        self.job = state["job"]
        self.layout = state["layout"]
        self.split = state["split"]
        self._evaluation = state["evaluation"]
        self._settings = state["settings"]
        self._drop = state["drop"]
        self._saved = state["saved"]
        self._closed = state["closed"]
        self._in_this_process()

    def __repr__(self) -> str:
        where = "closed" if self._closed else "connected" if self._receiver else "not connected"
        split = "" if self.split == "train" else f", split={self.split!r}"
        return f"PackStream({self.job!r}, layout={self.layout!r}{split}): step {self.step}, {where}"


class _Epoch:
    """Iterates over what is left of the epoch in which its stream stands at the first next()."""

    def __init__(self, stream: PackStream):
        self._stream = stream
        self.epoch: Optional[int] = None
        self.packs = 0  # handed out
        self.finished = False

    def __iter__(self) -> "_Epoch":
        return self

    def __next__(self) -> Any:
        if self.finished:
            raise StopIteration
        return self._stream._next(self)


_END = object()
_NOWHERE = Saved(0, "", {}, START, 0)


def _position(saved: Optional[Saved]) -> tuple:
    return (saved.cursor, saved.step) if saved is not None else (START, 0)


def close_all(streams: Iterable[PackStream]) -> None:
    """close() on several streams of one process at once: a line lets no rank go before all are
    done, so one after the other each would wait in vain."""
    mine = [s for s in streams if not s._closed and s._pid == os.getpid()]
    open_ = [s for s in mine if s._receiver is not None]
    if not ending.finish_all([receiver for s in open_ for receiver in s._leave()]):
        logger.warning(
            "%s",
            f"the line has not let go within {CLOSE_S:.0f} s of close(): other ranks are not done, "
            "or it stopped; it keeps what it knows of this rank",
        )
    for stream in mine:
        stream._closed = True
