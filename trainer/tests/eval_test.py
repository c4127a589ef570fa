"""PackStream(job, split="eval") beside a stream of training, against sinks that are none."""

import os
import pickle
import threading
import time

import pytest
from fake_sink import FakeSink, Faults
from process_test import script
from small_job import SmallJob

from packline import BadState, InUse, LineFailed, NoLine, OtherJob, PackStream, close_all
from packline.subscriber import ROOM_MIN

TRAIN = SmallJob([[4, 2, 0, 2], [2, 0]], epochs=3, dp_size=2, seed=7)


def eval_job(windows=(6, 4), epochs=40, seed=8, dp_size=2):
    job = SmallJob([list(windows)], epochs=epochs, dp_size=dp_size, seed=seed)
    job.identity.append(["split", "eval"])
    return job


EVAL = eval_job()
PACKS = 5  # of a rank in one evaluation


@pytest.fixture
def eval_line(line, run_folder):
    """eval_line(job) starts eval sinks beside those of TRAIN, as `packline run` does; gives (path of
    the job file, training sinks, eval sinks)."""
    started = []
    folder = os.path.join(run_folder, "e")
    os.mkdir(folder)

    def start(job=EVAL, faults=None):
        mine = [FakeSink(job, folder, r, faults).__enter__() for r in range(job.dp_size)]
        started.extend(mine)
        path, sinks = line(TRAIN, eval_sinks=[s.base for s in mine])
        return path, sinks, mine

    yield start
    for s in started:
        s.__exit__()


def evaluation(path, dp_rank=0, **more):
    return PackStream(path, split="eval", dp_rank=dp_rank, layout="rows", **more)


def ids_of(pack):
    return [row["sample_id"] for row in pack]


def expected(job, dp_rank, epoch):
    return [s.raw.ids for s in job.packs_of_epoch(dp_rank, epoch)]


def test_each_for_is_one_whole_evaluation_whatever_the_last_one_left(eval_line):
    path, _, _ = eval_line()
    with evaluation(path, 1) as stream:
        assert [ids_of(p) for p in stream] == expected(EVAL, 1, 0)
        for taken in (1, 3, PACKS):  # broken off behind so many
            begun = stream.epoch
            for n, pack in enumerate(stream, 1):
                assert ids_of(pack) == expected(EVAL, 1, begun)[n - 1]
                if n == taken:
                    break
            epoch = stream.epoch if taken == PACKS else begun + 1
            assert [ids_of(p) for p in stream] == expected(EVAL, 1, epoch)
        assert stream.step == PACKS + (1 + PACKS) + (3 + PACKS) + 2 * PACKS


# Law L3: "Every rank gets the same number of packs."
def test_ranks_that_break_off_at_different_packs_begin_the_same_evaluation(eval_line):
    path, _, _ = eval_line()
    streams = [evaluation(path, r) for r in range(2)]
    for r, s in enumerate(streams):
        iterator = iter(s)
        for _ in range(1 + r * (PACKS - 1)):  # the last pack of an epoch is one of the last window
            next(iterator)
        del iterator
    again = [[ids_of(p) for p in s] for s in streams]
    assert again == [expected(EVAL, r, 1) for r in range(2)]
    assert [s.epoch for s in streams] == [2, 2]
    close_all(streams)


def test_the_first_pack_that_is_asked_for_begins_an_evaluation_a_peek_does_not(eval_line):
    path, _, _ = eval_line()
    with evaluation(path) as stream:
        assert ids_of(stream.peek()) == expected(EVAL, 0, 0)[0]
        assert [ids_of(p) for p in stream] == expected(EVAL, 0, 0)
        next(iter(stream))  # broken off at once
        assert ids_of(stream.peek()) == ids_of(stream.peek()) == expected(EVAL, 0, 2)[0]
        iterator = iter(stream)
        next(iterator)
        assert ids_of(stream.peek()) == expected(EVAL, 0, 2)[1]  # of the one that goes on
        assert [ids_of(p) for p in iterator] == expected(EVAL, 0, 2)[1:]


# One process may drive several ranks, one after the other: none may wait for what another left.
def test_what_a_break_left_is_passed_over_before_the_next_evaluation_is_asked_for(eval_line):
    path, _, sinks = eval_line()
    with evaluation(path, prefetch=1) as stream:
        next(iter(stream))
        assert sinks[0].wait_for(lambda s: s["want"] and s["want"]["point"]["epoch"] == 1)
        assert stream.epoch == 1 and stream.step == 1
        assert [ids_of(p) for p in stream] == expected(EVAL, 0, 1)


def test_evaluating_leaves_the_training_stream_alone(eval_line):
    path, _, sinks = eval_line()
    with PackStream(path, dp_rank=0, layout="rows") as train, evaluation(path) as stream:
        got = []
        for epoch in range(TRAIN.epochs):
            for n, pack in enumerate(train):
                got.append(ids_of(pack))
                state = train.state_dict()
                if n % 2 == 1:
                    before = stream.epoch
                    assert [ids_of(p) for p in stream] == expected(EVAL, 0, before)
                assert train.state_dict() == state
        assert got == [ids for e in range(TRAIN.epochs) for ids in expected(TRAIN, 0, e)]
    assert not any(s["done"] for s in sinks[0].subscribes)


@pytest.mark.parametrize("seed", range(3))
def test_a_bad_network_and_breaks_change_no_evaluation(eval_line, seed):
    path, _, _ = eval_line(faults=Faults(seed, lose=0.2, double=0.2, delay=0.3))
    with evaluation(path, prefetch=1 + 2 * seed) as stream:
        for k in range(6):
            if k % 2:
                next(iter(stream))
            epoch = k + k // 2 + k % 2
            assert [ids_of(p) for p in stream] == expected(EVAL, 0, epoch)


def test_len_is_known_behind_the_first_whole_evaluation(eval_line):
    path, _, _ = eval_line()
    with evaluation(path) as stream:
        with pytest.raises(TypeError, match="not known before they are made"):
            len(stream)
        next(iter(stream))
        with pytest.raises(TypeError):
            len(stream)
        list(stream)
        assert len(stream) == PACKS
        next(iter(stream))
        assert len(stream) == PACKS
        other = pickle.loads(pickle.dumps(stream))
        assert len(other) == PACKS and other.split == "eval"
    with evaluation(path) as fresh:
        assert len(list(fresh)) == PACKS  # list() asks for the length first


def test_no_more_is_received_ahead_than_the_next_evaluation(eval_line):
    path, _, sinks = eval_line(eval_job((2, 2), epochs=200))
    with evaluation(path) as stream:
        for _ in range(50):  # of the first one more is here than is known of
            list(stream)
        told = len(sinks[0].subscribes)
        for _ in range(50):
            list(stream)
        assert stream._receiver.call(lambda s: s.room) == max(ROOM_MIN, 2)
        late = [s["room"] for s in sinks[0].subscribes[told + 1 :]]
        assert late and max(late) <= 2


def test_there_is_nothing_to_resume(eval_line):
    path, _, _ = eval_line()
    with evaluation(path) as stream, PackStream(path, dp_rank=0, layout="rows") as train:
        assert stream.state_dict() == {"version": 1, "split": "eval"}
        next(iter(stream))
        stream.load_state_dict(stream.state_dict())
        assert [ids_of(p) for p in stream] == expected(EVAL, 0, 1)
        next(iter(train))
        with pytest.raises(BadState, match="belongs to PackStream"):
            stream.load_state_dict(train.state_dict())
        with pytest.raises(BadState, match="the state of an eval stream"):
            train.load_state_dict(stream.state_dict())


def test_a_pickled_stream_goes_on_with_the_next_evaluation(eval_line):
    path, _, _ = eval_line()
    with evaluation(path) as stream:
        next(iter(stream))
        kept = pickle.dumps(stream)
    with pickle.loads(kept) as other:
        assert [ids_of(p) for p in other] == expected(EVAL, 0, 1)


def test_two_iterators_of_one_eval_stream_are_refused(eval_line):
    path, _, _ = eval_line()
    with evaluation(path) as stream:
        first = iter(stream)
        next(first)
        with pytest.raises(InUse, match="iterated already"):
            next(iter(stream))
        assert len(list(first)) == PACKS - 1
        said = []

        def other():
            try:
                next(iter(stream))
            except InUse as e:
                said.append(str(e))

        running = iter(stream)
        next(running)
        thread = threading.Thread(target=other)
        thread.start()
        thread.join(10)
        assert said and len(list(running)) == PACKS - 1


def test_an_evaluation_without_packs_is_one(eval_line):
    path, _, _ = eval_line(eval_job((0,), epochs=3))
    with evaluation(path) as stream:
        assert list(stream) == [] and len(stream) == 0


def test_a_line_without_an_eval_split_says_what_to_set(line):
    path, _ = line(TRAIN)
    with pytest.raises(NoLine, match="serves no eval split: set eval.fraction"):
        next(iter(evaluation(path)))


def test_the_other_split_is_refused_by_name(eval_line, run_folder):
    path, sinks, evals = eval_line()
    with pytest.raises(OtherJob, match="serves split: train"):
        next(iter(evaluation(path, endpoint=sinks[0].endpoint)))
    with pytest.raises(OtherJob, match="serves split: eval"):
        next(iter(PackStream(path, dp_rank=0, layout="rows", endpoint=evals[0].endpoint)))
    with pytest.raises(ValueError, match="split must be one of train, eval"):
        PackStream(path, split="test")


def test_close_leaves_a_line_that_its_launcher_ends(eval_line):
    path, _, sinks = eval_line()
    sinks[0].release = False
    stream = evaluation(path)
    list(stream)
    began = time.monotonic()
    stream.close()
    assert time.monotonic() - began < 2
    assert not any(s["done"] for s in sinks[0].subscribes)
    with evaluation(path) as another:  # evaluates anew, from the start
        assert [ids_of(p) for p in another] == expected(EVAL, 0, 0)


def write_hand_line(run_folder, sinks):
    """A job file that names eval sinks which were started by hand."""
    path = os.path.join(run_folder, "hand.yaml")
    with open(path, "w") as f:
        addresses = [s.base for s in sinks]
        f.write(f"deliver: {{dp_size: {len(sinks)}}}\nline: {{eval_sinks: {addresses}}}\n")
    return path


def test_close_ends_roles_that_were_started_by_hand(eval_line, run_folder, monkeypatch):
    pytest.importorskip("yaml")
    _, _, sinks = eval_line()
    monkeypatch.delenv("PACKLINE_LINE")
    path = write_hand_line(run_folder, sinks)
    streams = [evaluation(path, r) for r in range(2)]
    for s in streams:
        assert len(list(s)) == PACKS
    close_all(streams)
    for sink in sinks:
        assert sink.wait_for(lambda s: s["done"])
    with pytest.raises(NoLine, match="names no line.sinks"):
        next(iter(PackStream(path, dp_rank=0, layout="rows")))


ENDS = """
import packline
train = packline.PackStream(job, dp_rank=0, layout="rows", endpoint=os.environ["TRAIN"])
evals = packline.PackStream(job, split="eval", dp_rank=0, layout="rows")
for _ in range(int(os.environ["EPOCHS"])):
    for pack in train:
        pass
    list(evals)
if os.environ["EPOCHS"] == "0":
    next(iter(train))
    list(evals)
"""


# "...or by just exiting: nothing hangs, nothing left behind."
@pytest.mark.parametrize("epochs", [TRAIN.epochs, 0])
def test_a_trainer_that_just_exits_is_done_with_both_or_with_none(
    eval_line, run_folder, monkeypatch, epochs
):
    pytest.importorskip("yaml")
    _, sinks, evals = eval_line()
    monkeypatch.delenv("PACKLINE_LINE")
    monkeypatch.setenv("TRAIN", sinks[0].endpoint)
    monkeypatch.setenv("EPOCHS", str(epochs))
    done = script(ENDS, write_hand_line(run_folder, evals))
    assert done.returncode == 0 and not done.stderr, done
    for sink in (sinks[0], evals[0]):
        assert any(s["done"] for s in sink.subscribes) == (epochs > 0)


def test_a_stream_that_failed_evaluates_anew_from_an_epochs_start(eval_line):
    path, _, sinks = eval_line()
    stream = evaluation(path, prefetch=1)
    iterator = iter(stream)
    next(iterator)
    sinks[0].error = ("line_failed", "producer 0 has not been heard")
    with pytest.raises(LineFailed, match="producer 0 has not been heard"):
        list(iterator)
    sinks[0].error = None
    assert [ids_of(p) for p in stream] == expected(EVAL, 0, 1)
    stream.close()
