"""PackStream over a real socket, against a sink that behaves and one that does not."""

import copy
import json
import os
import pickle
import threading
import time

import pytest
from fake_sink import FakeSink, Faults, digest
from small_job import SmallJob

from packline import (
    BadState,
    Closed,
    InUse,
    NoLine,
    OtherJob,
    OtherStreamVersion,
    PackStream,
    WrongRank,
    close_all,
)

# Two lanes of unequal length; windows without packs inside, at the end of an epoch, and alone.
JOB = SmallJob([[4, 2, 0, 2], [2, 0]], epochs=3, dp_size=2, seed=7)


def ids_of(rows):
    return [r["sample_id"] for r in rows]


def expected(job, dp_rank, epoch):
    return [s.raw.ids for s in job.packs_of_epoch(dp_rank, epoch)]


def stream_of(path, dp_rank=0, **more):
    return PackStream(path, dp_rank=dp_rank, layout="rows", **more)


def test_one_for_is_one_epoch_and_after_the_last_there_is_nothing(line):
    path, _ = line(JOB)
    with stream_of(path) as stream:
        for epoch in range(JOB.epochs):
            assert stream.epoch == epoch
            assert [ids_of(p) for p in stream] == expected(JOB, 0, epoch)
        assert stream.epoch == JOB.epochs
        assert list(stream) == [] and list(stream) == []
        assert stream.step == sum(len(expected(JOB, 0, e)) for e in range(3))


# Law L5: "each sample of an epoch reaches the trainer exactly once, in the same place of the
# stream."
@pytest.mark.parametrize("seed", range(6))
def test_loss_doubles_and_reordering_change_nothing(line, seed):
    path, sinks = line(JOB, Faults(seed, lose=0.25, double=0.2, delay=0.3))
    with stream_of(path, dp_rank=1, prefetch=1 + seed) as stream:
        for epoch in range(JOB.epochs):
            assert [ids_of(p) for p in stream] == expected(JOB, 1, epoch)


def test_states_are_equal_on_all_ranks_and_resume_exactly(line):
    path, _ = line(JOB)
    streams = [stream_of(path, r) for r in range(2)]
    states, rest = [], []
    for epoch in range(JOB.epochs):
        its = [iter(s) for s in streams]
        while True:
            a, b = ([next(i, None)] for i in its)
            pair = [s.state_dict() for s in streams]
            assert pair[0] == pair[1]
            assert json.loads(json.dumps(pair[0])) == pair[0]
            if a == [None]:
                break
            states.append(pair[0])
            rest.append(ids_of(a[0]))
    close_all(streams)
    assert sorted(states[0]) == ["epoch", "identity", "job", "lanes", "pack", "step",
                                 "stream_version", "version", "window"]  # fmt: skip
    for k in range(0, len(states), 3):
        stream = stream_of(path)
        stream.load_state_dict(json.loads(json.dumps(states[k])))
        assert stream.state_dict() == states[k]
        got = []
        while stream.epoch < JOB.epochs:
            got += [ids_of(p) for p in stream]
        assert got == rest[k + 1 :]
        assert stream.state_dict()["step"] == len(rest)


def test_the_state_at_an_epochs_end_is_the_start_of_the_next(line):
    path, _ = line(JOB)
    stream = stream_of(path)
    assert [ids_of(p) for p in stream] == expected(JOB, 0, 0)
    state = stream.state_dict()
    assert (state["epoch"], state["window"], state["pack"]) == (1, 0, 0)
    other = stream_of(path)
    other.load_state_dict(state)
    assert [ids_of(p) for p in other] == expected(JOB, 0, 1)


def test_the_state_counts_what_was_handed_out_not_what_was_received(line):
    path, sinks = line(JOB)
    stream = stream_of(path, prefetch=4)
    it = iter(stream)
    next(it)
    first = stream.state_dict()
    sinks[0].wait_for(lambda s: s["room"] == 0)
    assert stream.state_dict() == first and first["pack"] == JOB.dp_size
    began = time.perf_counter()
    for _ in range(100):
        stream.state_dict()
    assert (time.perf_counter() - began) / 100 < 1e-3


def test_going_back_while_iterating_reconnects_there(line):
    path, sinks = line(JOB)
    stream = stream_of(path)
    it = iter(stream)
    first = ids_of(next(it))
    state = stream.state_dict()
    got = [ids_of(next(it)), ids_of(next(it))]
    stream.load_state_dict(state)
    assert [ids_of(p) for p in it] == expected(JOB, 0, 0)[1:]
    assert expected(JOB, 0, 0)[:3] == [first, *got]
    point = {k: state[k] for k in ("epoch", "window", "pack")}
    wants = [s["want"]["point"] for s in sinks[0].subscribes if s["want"]]
    assert wants.count(point) >= 1 and max(map(tuple, (w.values() for w in wants)))[0] >= 0


def test_a_break_loses_nothing(line):
    path, _ = line(JOB)
    stream = stream_of(path)
    for pack in stream:
        first = ids_of(pack)
        break
    assert [first, *(ids_of(p) for p in stream)] == expected(JOB, 0, 0)


def test_peek_consumes_nothing(line):
    path, _ = line(JOB)
    stream = stream_of(path)
    before = ids_of(stream.peek())
    state = stream.state_dict()
    assert ids_of(stream.peek()) == before and stream.state_dict() == state and stream.step == 0
    assert [ids_of(p) for p in stream][0] == before
    assert ids_of(stream.peek()) == expected(JOB, 0, 1)[0]
    for _ in range(2):
        list(stream)
    assert stream.peek() is None


def test_progress_counts_what_was_handed_out(line):
    path, sinks = line(JOB)
    with stream_of(path) as stream:
        for _ in range(JOB.epochs):
            list(stream)
        steps = [s for s in JOB.chain(0) if s.raw is not None]
        progress = stream.progress
    total = progress["total"]
    assert total["packs"] == len(steps)
    assert total["samples"] == sum(len(s.raw.ids) for s in steps)
    assert total["tokens"] == sum(sum(s.raw.lengths) for s in steps)
    assert total["digest"] == sum(map(digest, steps)) % 2**64
    passed = [p for s in JOB.chain(0) for p in s.passed]
    assert total["ledger"]["records_read"] == sum(n for _, n in passed)
    assert [e["epoch"] for e in progress["epochs"]] == [0, 1, 2]
    assert progress["to"] == {"epoch": 3, "window": 0, "pack": 0}
    done = sinks[0].wait_for(lambda s: s["done"])
    assert done["progress"] == progress == stream.progress


def test_a_pickled_stream_stands_where_the_original_stood(line):
    path, sinks = line(JOB)
    stream = stream_of(path)
    assert pickle.loads(pickle.dumps(stream)).state_dict() == stream.state_dict()
    it = iter(stream)
    first = ids_of(next(it))
    other = copy.deepcopy(stream)
    assert other.state_dict() == stream.state_dict()
    del it, stream
    assert [first, *(ids_of(p) for p in other)] == expected(JOB, 0, 0)


def test_two_iterators_at_once_are_refused(line):
    path, _ = line(JOB)
    stream = stream_of(path)
    first = iter(stream)
    next(first)
    with pytest.raises(InUse, match="iterated already"):
        next(iter(stream))
    del first
    assert len(list(stream)) == len(expected(JOB, 0, 0)) - 1


def test_a_checkpoint_of_another_job_is_refused_by_its_first_differing_setting(line):
    path, _ = line(JOB)
    stream = stream_of(path)
    next(iter(stream))
    state = stream.state_dict()
    other = {**state, "job": "0" * 15 + "1", "identity": {"seed": "7", "pack.capacity": "4096"}}
    with pytest.raises(OtherJob, match="pack.capacity is 64, was 4096"):
        stream.load_state_dict(other)
    assert stream.state_dict() == state
    late = stream_of(path)
    late.load_state_dict(other)  # nobody to ask yet
    with pytest.raises(OtherJob, match="pack.capacity is 64, was 4096"):
        next(iter(late))
    with pytest.raises(OtherStreamVersion, match="stream_version is 9, this line's is 1"):
        stream.load_state_dict({**state, "stream_version": 9})


@pytest.mark.parametrize(
    "hurt",
    [{"version": 2}, {"job": "xyz"}, {"epoch": -1}, {"window": True}, {"pack": "0"}, {"lanes": []},
     {"lanes": {"0": [0, 0]}}, {"lanes": {"1": [0, 0, ""]}}, {"identity": {"a": 1}}],
)  # fmt: skip
def test_what_is_no_state_is_refused_by_name(line, hurt):
    path, _ = line(JOB)
    stream = stream_of(path)
    next(iter(stream))
    state = stream.state_dict()
    with pytest.raises(BadState, match=next(iter(hurt)) if "lanes" not in hurt else "lane"):
        stream.load_state_dict({**state, **hurt})
    with pytest.raises(BadState, match="is a dict"):
        stream.load_state_dict([])
    assert stream.state_dict() == state


def test_close_says_done_until_released_and_then_refuses(line):
    path, sinks = line(JOB)
    stream = stream_of(path)
    next(iter(stream))
    stream.close()
    assert sinks[0].subscribes[-1]["done"]
    with pytest.raises(Closed):
        next(iter(stream))
    assert stream.state_dict()["step"] == 1
    stream.close()


def test_a_block_that_fails_does_not_say_done(line):
    path, sinks = line(JOB)
    with pytest.raises(KeyError):
        with stream_of(path) as stream:
            next(iter(stream))
            raise KeyError
    assert not any(s["done"] for s in sinks[0].subscribes)


def test_close_waits_five_seconds_at_most(line, monkeypatch):
    path, sinks = line(JOB)
    sinks[0].release = False
    stream = stream_of(path)
    next(iter(stream))
    began = time.monotonic()
    stream.close()
    assert 4.5 < time.monotonic() - began < 7


def test_a_dropped_stream_ends_its_thread(line):
    path, _ = line(JOB)
    before = threading.active_count()
    stream = stream_of(path)
    next(iter(stream))
    assert threading.active_count() == before + 1
    del stream
    assert threading.active_count() == before


def test_a_line_of_another_shape_is_refused(line):
    path, sinks = line(JOB)
    with pytest.raises(WrongRank, match="dp_rank 9"):
        next(iter(stream_of(path, 9)))
    with pytest.raises(WrongRank, match="world has 1 ranks"):
        next(iter(PackStream(path, layout="rows")))


def test_ranks_that_share_a_sink_are_told_apart(line, monkeypatch):
    job = SmallJob([[2]], dp_size=1)
    path, sinks = line(job, ranks_per_dp_rank=2)
    sinks[0].ranks_per_dp_rank = 2
    monkeypatch.setenv("RANK", "1")
    monkeypatch.setenv("WORLD_SIZE", "2")
    assert len(list(PackStream(path, layout="rows"))) == 2
    assert {s["peer"] for s in sinks[0].subscribes} == {1}


def test_an_endpoint_needs_no_line(line, monkeypatch):
    path, sinks = line(JOB)
    monkeypatch.delenv("PACKLINE_LINE")
    stream = stream_of("no-such-file.yaml", 1, endpoint=sinks[1].endpoint)
    assert [ids_of(p) for p in stream] == expected(JOB, 1, 0)


def test_tcp_is_spoken_too(run_folder):
    with FakeSink(JOB, run_folder, 0, endpoint="tcp://127.0.0.1:*") as sink:
        for endpoint in (sink.endpoint, sink.endpoint.replace("127.0.0.1", "localhost")):
            with stream_of("job.yaml", endpoint=endpoint) as stream:
                assert [ids_of(p) for p in stream] == expected(JOB, 0, 0)


@pytest.mark.parametrize(
    "wrong", [{"layout": "x"}, {"prefetch": 0}, {"drop": ("labels",)}, {"endpoint": "ipc:///x"}]
)
def test_wrong_arguments_are_named(wrong):
    with pytest.raises(ValueError, match=next(iter(wrong))):
        PackStream("job.yaml", **wrong)


def test_an_empty_job_ends_at_once(line):
    path, _ = line(SmallJob([[0], [0, 0]], epochs=2))
    with stream_of(path) as stream:
        assert list(stream) == [] and list(stream) == []
        assert stream.epoch == 2 and stream.peek() is None


@pytest.mark.parametrize(
    "endpoint",
    ["", "nonsense", "tcp://", "tcp://host", "tcp://host:0", "tcp://host:99999", "tcp://:7", "udp://host:7",
     "ipc://", "ipc://relative", "ipc:///a\0b", "ipc:///" + "x" * 120, "inproc://x", "tcp://ho st:7"],
)  # fmt: skip
def test_an_endpoint_that_is_none_is_named_and_leaves_nothing_open(endpoint):
    before = len(os.listdir("/proc/self/fd")), threading.active_count()
    with pytest.raises(NoLine) as e:
        next(iter(stream_of("job.yaml", endpoint=endpoint)))
    assert endpoint in str(e.value) or repr(endpoint) in str(e.value)
    assert (len(os.listdir("/proc/self/fd")), threading.active_count()) == before


class OwnStream(PackStream):
    """A user's."""


def test_a_subclass_stays_what_it_is(line):
    path, _ = line(JOB)
    stream = OwnStream(path, dp_rank=0, layout="rows")
    assert stream.__class__ is OwnStream
    copy = pickle.loads(pickle.dumps(stream))
    assert type(copy) is OwnStream and [ids_of(p) for p in copy] == expected(JOB, 0, 0)
