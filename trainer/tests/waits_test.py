"""Law L7: "Any process that waits can say for what, for whom, and since when; past a limit it says
so unasked, and past a second one it fails with that sentence. A hang with no message is a bug." """

import logging
import time

import msgpack
import pytest
from fake_sink import FakeSink
from small_job import SmallJob

from packline import (
    DataRefused,
    Fenced,
    LineFailed,
    NotDivisible,
    OtherDpSize,
    PacklineTimeout,
    PackStream,
    WrongRank,
)

JOB = SmallJob([[2, 2]], epochs=1, dp_size=1)


def stream_of(path, **more):
    return PackStream(path, layout="rows", **more)


def test_the_wait_for_a_pack_names_what_the_sink_waits_for(line, caplog):
    path, sinks = line(JOB)
    sinks[0].hold_at = (0, 0, 1)
    sinks[0].waiting_text = "sink 0 misses window 0 (lane 0); producer 0 sent it 12 s ago"
    stream = stream_of(path, warn_after_s=0.6, fail_after_s=1.6)
    it = iter(stream)
    next(it)
    with caplog.at_level(logging.WARNING, "packline"):
        with pytest.raises(PacklineTimeout) as e:
            next(it)
    wanted = "rank 0 has waited 2 s for step 1: sink 0 misses window 0 (lane 0); producer 0 sent it"
    assert wanted in str(e.value)
    warned = [r.message for r in caplog.records]
    assert len(warned) == 2 and all("sink 0 misses window 0" in m for m in warned)
    sinks[0].hold_at = None
    assert len(list(it)) == 3  # a wait that was given up can be taken up again


def test_a_sink_that_is_not_there_is_named_with_its_address(line, caplog):
    path, sinks = line(JOB)
    sinks[0].answer = False
    stream = stream_of(path, warn_after_s=0.3, fail_after_s=0.7)
    began = time.monotonic()
    with caplog.at_level(logging.WARNING, "packline"), pytest.raises(PacklineTimeout) as e:
        next(iter(stream))
    assert 0.6 < time.monotonic() - began < 3
    assert "which job it serves" in str(e.value)
    assert f"sink 0 at {sinks[0].endpoint} has not answered for 1 s" in str(e.value)
    assert len(caplog.records) == 2


def test_the_lines_own_limits_hold_where_none_is_given(line):
    path, sinks = line(JOB)
    sinks[0].fail_after_ms = 500
    sinks[0].hold_at = (0, 0, 0)
    with pytest.raises(PacklineTimeout, match="step 0"):
        next(iter(stream_of(path)))


def test_a_sink_that_comes_back_is_found_again(line, run_folder):
    path, sinks = line(JOB)
    stream = stream_of(path, prefetch=1)
    it = iter(stream)
    first = next(it)
    sinks[0].__exit__()
    with FakeSink(JOB, run_folder) as again:
        assert len([first, *it]) == 4
        assert again.subscribes
    sinks.clear()


@pytest.mark.parametrize(
    "reason, kind",
    [("fenced", Fenced), ("other_dp_size", OtherDpSize), ("not_divisible", NotDivisible),
     ("wrong_rank", WrongRank), ("line_failed", LineFailed),
     ("data_refused", DataRefused)],
)  # fmt: skip
def test_a_refusal_is_raised_as_its_class_with_the_sinks_sentence(line, reason, kind):
    path, sinks = line(JOB)
    stream = stream_of(path, prefetch=1)
    it = iter(stream)
    next(it)
    sinks[0].error = (reason, "sink 0: a newer start of this rank has taken over")
    with pytest.raises(kind, match="a newer start"):
        list(it)
    state = stream.state_dict()
    sinks[0].error = None
    assert state["step"] >= 1 and len(list(stream)) == 4 - state["step"]  # connects anew


def test_refusals_of_other_sessions_are_not_ours(line):
    path, sinks = line(JOB)

    def other(frames):
        m = msgpack.unpackb(frames[0])
        m["session"]["random"] ^= 1
        m.update(type="error", reason="fenced", text="")
        return [msgpack.packb(m)]

    stream = stream_of(path, fail_after_s=1, prefetch=1)
    it = iter(stream)
    next(it)
    sinks[0].mangle = other
    with pytest.raises(PacklineTimeout):
        list(it)
    sinks[0].mangle = lambda frames: frames
    assert len(list(it)) + stream.step >= 4


@pytest.mark.parametrize(
    "hurt",
    [
        lambda f: [b"\xdd\xff\xff\xff\xff"],
        lambda f: [*f, b""],
        lambda f: [f[0], *([b"x"] * 5000)],
        lambda f: [b""],
        lambda f: [msgpack.packb({**msgpack.unpackb(f[0]), "job": 5}), *f[1:]],
        lambda f: [msgpack.packb({**msgpack.unpackb(f[0]), "dp_size": 5}), *f[1:]],
        lambda f: [msgpack.packb({**msgpack.unpackb(f[0]), "dp_rank": 5}), *f[1:]],
    ],
)
def test_hostile_messages_are_dropped_and_told_in_the_wait(line, hurt):
    path, sinks = line(JOB)
    stream = stream_of(path, fail_after_s=1, prefetch=1)
    assert len(stream.peek()) >= 1
    it = iter(stream)
    sinks[0].mangle = hurt
    with pytest.raises(PacklineTimeout, match="messages were refused, the last because"):
        list(it)
    sinks[0].mangle = lambda frames: frames
    done = stream.step
    assert done + len(list(it)) == 4
