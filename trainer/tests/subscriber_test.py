"""The rules of docs/delivery.md for one rank, under a clock of the test's own."""

import msgpack
import pytest
from raw import Field, Raw, encode

from packline import Fenced, wire
from packline.cursor import START, Cursor, Place, Point
from packline.padding import NO_PADDING
from packline.progress import Progress, Tally
from packline.ranks import Rank, Session
from packline.samples import decode_samples
from packline.subscriber import REPORT_S, ROOM_TOLD, Subscriber, wait_sentence

ME = Session(0, 1000, 7)
JOB, SIZE = 0xABC, 2


def cursor(epoch, window, pack):
    return Cursor(Point(epoch, window, pack), (Place(epoch, window, ""),))


def welcome(epochs=2):
    return wire.Welcome(
        JOB, SIZE, ME, {"seed": "1"}, 1, 1, 1, 8, 2, NO_PADDING, epochs, 0, 30000, 60000,
        cursor(0, 0, 0),
    )  # fmt: skip


def pack(before, after, dp_rank=1, session=ME, job=JOB, passed=()):
    body = decode_samples(
        encode(Raw(["s0:0"], {"input_ids": Field("i32", "per_token", (), [[5]])}))
    )
    at = Point(before[0], before[1], before[2] + dp_rank)
    return wire.Pack(
        job, SIZE, session, dp_rank, Point(*before), at, Point(*after), cursor(*after).lanes, passed, 3, 1, 1, 64, body
    )


def end(before, after, released=False, passed=()):
    return wire.End(JOB, SIZE, ME, Point(*before), cursor(*after), passed, released)


def begun(room=2, epochs=2):
    s = Subscriber(Rank(1, 0), ME, room, 0.0)
    s.subscribe(0.0)
    s.on_message(welcome(epochs), 0.0)
    s.begin(cursor(0, 0, 0), 0.0)
    return s


def takes(s, message, now):
    """Whether the message changed anything that somebody may wait for."""
    before = (s.welcome, s.want, len(s.buffer), s.released, s.error)
    s.on_message(message, now)
    return (s.welcome, s.want, len(s.buffer), s.released, s.error) != before


def said(s, now):
    return msgpack.unpackb(s.subscribe(now))


def test_it_asks_which_job_this_is_before_it_wants_anything():
    s = Subscriber(Rank(1, 0), ME, 2, 0.0, dp_size=2)
    first = said(s, 0.0)
    assert (first["want"], first["job"], first["dp_size"], first["seq"]) == (None, 0, 2, 1)
    assert not takes(s, pack((0, 0, 0), (0, 0, 2)), 0.1) and not s.buffer
    assert takes(s, welcome(), 0.1) and not takes(s, welcome(), 0.2)
    s.begin(s.welcome.start, 0.2)
    second = said(s, 0.2)
    assert (second["job"], second["room"], second["seq"]) == (JOB, 2, 2)


# C1: "Every 200 ms, and whenever want or room changed".
def test_a_subscribe_is_due_every_report_and_at_once_when_room_is_free():
    s = begun(room=2)
    assert s.subscribe_due(0.0) == 0.0
    said(s, 0.0)
    assert s.subscribe_due(0.05) == pytest.approx(REPORT_S - 0.05)
    assert s.subscribe_due(REPORT_S) == 0.0
    s.on_message(pack((0, 0, 0), (0, 0, 2)), 0.1)
    s.take(0.1)
    assert s.subscribe_due(0.1) == 0.0
    assert said(s, 0.1)["want"]["point"] == {"epoch": 0, "window": 0, "pack": 2}


# C2: "accept only if `from` = want's (epoch, window, pack); then want = after".
def test_only_what_follows_is_taken_whatever_comes():
    s = begun(room=4)
    assert not takes(s, pack((0, 0, 2), (0, 0, 4)), 0.1)  # the one before it is missing
    assert takes(s, pack((0, 0, 0), (0, 0, 2)), 0.1)
    assert not takes(s, pack((0, 0, 0), (0, 0, 2)), 0.1)  # again
    assert not takes(s, pack((0, 0, 2), (0, 0, 4), dp_rank=0), 0.1)
    assert not takes(s, pack((0, 0, 2), (0, 0, 4), job=1), 0.1)
    assert not takes(s, pack((0, 0, 2), (0, 0, 4), session=Session(0, 1, 1)), 0.1)
    assert not takes(s, pack((0, 0, 2), (0, 0, 2)), 0.1)  # leads nowhere
    assert takes(s, pack((0, 0, 2), (0, 1, 0)), 0.1)
    assert len(s.buffer) == 2 and s.want == cursor(0, 1, 0)
    assert s.refused == 6 and "not forwards" in s.last_refused


def test_a_sink_that_ignores_the_room_does_not_grow_the_buffer():
    s = begun(room=1)
    assert takes(s, pack((0, 0, 0), (0, 0, 2)), 0.1)
    assert not takes(s, pack((0, 0, 2), (0, 0, 4)), 0.1)
    assert len(s.buffer) == 1 and said(s, 0.1)["room"] == 0


# C3: "state_dict = the `after` of the last pack (the cursor of the last End) handed out".
def test_the_cursor_follows_what_was_handed_out_and_ends_are_counted_with_it():
    ledger = Tally()
    ledger.ledger["records_read"] = 9
    s = begun()
    s.on_message(pack((0, 0, 0), (0, 0, 2)), 0.1)
    s.on_message(end((0, 0, 2), (1, 0, 0), passed=((0, ledger),)), 0.1)
    assert s.handed == cursor(0, 0, 0)
    s.take(0.2)
    assert s.handed == cursor(0, 0, 2) and s.progress.total.ledger["records_read"] == 0
    s.take(0.2)
    assert s.handed == cursor(1, 0, 0)
    assert s.progress.as_dict(True)["epochs"][0]["tally"]["ledger"]["records_read"] == 9
    assert (s.progress.total.packs, s.progress.total.digest) == (1, 3)
    s.begin(cursor(0, 0, 0), 0.3)
    assert s.progress.total.packs == 0 and not s.buffer


# C4: "Repeat until `released`".
def test_done_is_said_until_released():
    s = begun(epochs=1)
    s.on_message(pack((0, 0, 0), (1, 0, 0)), 0.1)
    assert not s.at_job_end() and s.nothing_follows()
    s.take(0.1)
    assert s.at_job_end()
    s.finish()
    assert s.subscribe_due(0.1) == 0.0
    assert said(s, 0.1)["done"] and said(s, 0.4)["done"]
    assert not takes(s, end((1, 0, 0), (1, 0, 0)), 0.4) and not s.released
    assert takes(s, end((1, 0, 0), (1, 0, 0), released=True), 0.4) and s.released


def test_an_error_of_this_session_is_kept_to_be_raised():
    s = begun()
    assert not takes(s, wire.Refusal(Session(0, 1, 1), "fenced", "x"), 0.1)
    assert s.error is None
    assert takes(s, wire.Refusal(ME, "fenced", "a newer start took over"), 0.1)
    assert isinstance(s.error, Fenced) and str(s.error) == "a newer start took over"


# Law L7: "rank 3 has waited 30 s for step 1,204: sink 3 misses window 37; ..."
def test_the_sentence_tells_a_silent_sink_from_one_that_waits_itself():
    s = begun(room=1)
    s.on_message(wire.Waiting(ME, 4000, "sink 1 misses window 37"), 20.0)
    told = wait_sentence(s, "ipc:///s1", 0.0, 21.0, 1204)
    assert told == "rank 1 has waited 21 s for step 1204: sink 1 misses window 37"
    told = wait_sentence(s, "ipc:///s1", 0.0, 32.0, 1204)
    assert told.endswith("step 1204: sink 1 at ipc:///s1 has not answered for 12 s")
    s.on_message(pack((0, 0, 0), (0, 0, 2)), 32.0)
    assert s.silent_for(99.0) == 0.0  # a full client is owed nothing
    s.take(99.0)
    assert s.silent_for(100.0) == 1.0


def test_progress_keeps_the_latest_64_epochs():
    p = Progress(START.point)
    for epoch in range(70):
        p.add_pack(epoch, pack((0, 0, 0), (0, 0, 2)))
        p.pass_over((), Point(epoch, 0, 0))
    kept = [e["epoch"] for e in p.as_dict(True)["epochs"]]
    assert kept == list(range(6, 70)) and p.total.packs == 70
    assert [e["epoch"] for e in p.as_dict(False)["epochs"]] == [69]


def test_without_a_prefetch_the_room_follows_the_size_of_the_packs():
    s = Subscriber(Rank(1, 0), ME, None, 0.0)
    s.subscribe(0.0)
    s.on_message(welcome(2), 0.0)
    s.begin(cursor(0, 0, 0), 0.0)
    assert said(s, 0.0)["room"] == 4
    s.on_message(pack((0, 0, 0), (0, 1, 0)), 0.1)
    assert s.room == 64 and s.dirty  # packs of 64 bytes: as many as are allowed at all
    s.on_message(pack((0, 1, 0), (0, 2, 0))._replace(nbytes=1 << 40), 0.1)
    assert s.room == 2  # and of a terabyte as few


def test_a_subscribe_goes_out_at_once_when_nothing_is_left_or_promised():
    s = begun(room=4)
    assert said(s, 0.1)["room"] == 4
    s.on_message(pack((0, 0, 0), (0, 1, 0)), 0.1)
    s.take(0.1)
    assert s.subscribe_due(0.1) > 0  # the sink may still send three
    s.on_message(pack((0, 1, 0), (0, 2, 0)), 0.1)
    s.take(0.1)
    assert s.subscribe_due(0.1) == 0.0


def test_of_a_large_room_more_is_asked_for_as_packs_come():
    s = begun(room=1000)
    assert said(s, 0.0)["room"] == ROOM_TOLD
    for n in range(ROOM_TOLD // 2):
        assert s.subscribe_due(0.1) > 0
        s.on_message(pack((0, n, 0), (0, n + 1, 0)), 0.1)
    assert s.subscribe_due(0.1) == 0.0
    told = said(s, 0.1)
    assert (told["want"]["point"]["window"], told["room"]) == (ROOM_TOLD // 2, ROOM_TOLD)


def test_a_room_that_shrinks_does_not_refuse_what_was_asked_for():
    s = Subscriber(Rank(1, 0), ME, None, 0.0)
    s.subscribe(0.0)
    s.on_message(welcome(2), 0.0)
    s.begin(cursor(0, 0, 0), 0.0)
    assert said(s, 0.0)["room"] == 4
    for n in range(4):
        large = pack((0, n, 0), (0, n + 1, 0))._replace(nbytes=1 << 40)
        assert takes(s, large, 0.1)
    assert s.room == 2 and said(s, 0.1)["room"] == 0
    assert not takes(s, pack((0, 4, 0), (0, 5, 0)), 0.1)
    for n in range(3):
        s.take(0.2)
    assert said(s, 0.2)["room"] == 1
    assert takes(s, pack((0, 4, 0), (0, 5, 0)), 0.3)


# Ctrl-C in a notebook raises between any two lines; what it left half done must not become a lost
# or a doubled pack.
def test_an_interrupt_while_a_pack_was_taken_in_loses_and_doubles_nothing():
    s = begun(room=4)
    said(s, 0.0)
    first, second = pack((0, 0, 0), (0, 1, 0)), pack((0, 1, 0), (0, 2, 0))
    s.on_message(first, 0.1)
    s.buffer.append(first)  # it came again, since `want` had not been moved on
    assert s.take(0.2) is first and s.take(0.2) is None and s.want == cursor(0, 1, 0)
    said(s, 0.2)
    s.on_message(second, 0.3)
    s.buffer.popleft()  # and was gone before it counted as handed out
    s.on_message(pack((0, 2, 0), (0, 3, 0)), 0.3)
    assert s.take(0.4) is None and s.want == cursor(0, 1, 0)
    said(s, 0.4)
    assert takes(s, second, 0.5) and s.take(0.5) is second


def test_a_pack_that_says_no_lanes_leaves_them_where_they_stand():
    s = begun(room=3)
    first = pack((0, 0, 0), (0, 0, 2))
    s.on_message(first._replace(lanes=None), 0.1)
    s.on_message(pack((0, 0, 2), (0, 1, 0)), 0.1)
    assert s.want == cursor(0, 1, 0)
    s.take(0.2)
    assert s.handed == Cursor(Point(0, 0, 2), cursor(0, 0, 0).lanes)
    s.take(0.2)
    assert s.handed == cursor(0, 1, 0)
