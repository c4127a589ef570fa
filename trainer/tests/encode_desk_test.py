"""The pure half of an encoder process: what it holds, for whom, and what it says of it."""

import msgpack
import pytest

from packline.encode import messages
from packline.encode.desk import Desk
from packline.errors import BadMessage


def desk(producers=1, fail_after_s=60.0):
    d = Desk(99, "host, process 1", "python m:f", producers, fail_after_s, 0.0)
    d.ready = True
    return d


def records(number, session=7, lease_ms=1000):
    header = {"v": 1, "type": "records", "job": 0, "dp_size": 0, "session": session, "number": number,
              "lease_ms": lease_ms, "sources": [], "records": [], "frames": 0}  # fmt: skip
    return [msgpack.packb(header)]


def word(session=7, finished=False, refused=""):
    return [msgpack.packb({"v": 1, "type": "producer", "job": 0, "dp_size": 0, "session": session,
                           "finished": finished, "refused": refused})]  # fmt: skip


def state(d, p=0, now=1.0):
    return msgpack.unpackb(d.state(p, now)[0])


def test_it_says_what_it_holds_until_the_answer_was_written():
    d = desk()
    for n in (3, 4):
        d.on_message(0, records(n), 1.0)
    assert (state(d)["held"], state(d)["taken"], state(d)["working_ms"]) == ([3, 4], 4, 0)
    assert d.next_batch(1.0) is not None
    assert d.next_batch(1.0) is None  # one at a time
    s = state(d, now=1.5)
    assert (s["held"], s["working_ms"], s["producer"], s["room"]) == ([3, 4], 500, 7, 2)
    work = d.on_answer()
    assert (work.producer, work.session, work.number) == (0, 7, 3)
    assert state(d)["held"] == [4, 3]  # not written yet
    d.on_written(work)
    assert state(d)["held"] == [4]


def test_what_is_written_late_for_an_old_life_says_nothing_of_the_new_one():
    d = desk()
    d.on_message(0, records(1), 1.0)
    d.next_batch(1.0)
    old = d.on_answer()
    d.on_message(0, records(1, session=8), 1.0)
    d.next_batch(1.0)
    new = d.on_answer()
    d.on_written(old)
    assert state(d)["held"] == [1]
    d.on_written(new)
    assert state(d)["held"] == []


def test_states_are_numbered():
    d = desk(2)
    assert [state(d, p)["seq"] for p in (0, 1, 0)] == [1, 2, 3]


def test_without_a_worker_it_has_no_room_and_gives_nothing():
    d = desk()
    d.ready = False
    d.on_message(0, records(1), 1.0)
    assert d.next_batch(1.0) is None and state(d)["room"] == 0


def test_producers_take_turns():
    d = desk(3)
    for p, n in ((0, 1), (0, 2), (2, 5)):
        d.on_message(p, records(n, session=10 + p), 1.0)
    order = []
    while d.next_batch(1.0) is not None:
        order.append((d.work.producer, d.work.number))
        d.on_answer()
    assert order == [(0, 1), (2, 5), (0, 2)]


def test_a_batch_that_comes_twice_is_held_once():
    d = desk()
    d.on_message(0, records(1), 1.0)
    d.on_message(0, records(1), 1.0)
    assert state(d)["held"] == [1]


def test_another_life_of_a_producer_wants_nothing_of_the_old_ones():
    d = desk()
    d.on_message(0, records(8), 1.0)
    d.next_batch(1.0)
    d.on_message(0, records(9), 1.0)
    d.on_message(0, word(session=8), 1.0)
    s = state(d)
    assert (s["producer"], s["held"], s["taken"], s["working_ms"]) == (8, [], 0, 0)
    assert d.on_answer() is None  # nobody's
    d.on_message(0, records(1, session=8), 1.0)
    assert state(d)["held"] == [1]


def test_a_death_is_told_to_whom_it_worked_for():
    d = desk(2)
    d.on_message(1, records(6), 1.0)
    d.next_batch(1.0)
    work, frames = d.on_death(11, False, "signal 11 (Segmentation fault)")
    m = msgpack.unpackb(frames[0])
    assert (work.producer, m["type"], m["number"], m["signal"], m["overdue"]) == (1, "struck", 6, 11, False)
    assert (m["producer"], m["session"]) == (7, 99)
    assert not d.ready and d.work is None
    d.ready = True
    assert d.on_death(9, False, "signal 9") is None  # at no work


def test_the_lease_begins_with_the_work():
    d = desk()
    d.on_message(0, records(1, lease_ms=1000), 0.0)
    assert not d.overdue(50.0)
    d.next_batch(50.0)
    assert not d.overdue(50.9) and d.overdue(51.1)


def test_it_ends_when_every_producer_has_finished():
    d = desk(2)
    d.on_message(0, word(finished=True), 1.0)
    assert d.over(1.0) is None
    d.on_message(1, word(session=3, finished=True), 1.0)
    assert d.over(1.0).code == 0
    d.on_message(0, word(session=8), 1.0)  # another life, which has work
    assert d.over(1.0) is None


def test_it_ends_by_name_without_producers_and_when_it_is_refused():
    d = desk(fail_after_s=5)
    assert d.over(4.0) is None
    assert d.over(6.0).code == 4 and "no producer was heard for 5 s" in d.over(6.0).text
    d.on_message(0, word(), 6.0)
    assert d.over(10.0) is None
    d.on_message(0, word(refused="give both the same job file"), 10.0)
    assert d.over(10.0) == (2, "give both the same job file")


def test_it_names_whom_it_waits_for():
    d = desk(3)
    d.on_message(1, word(), 1.0)
    assert d.waits(1.0) == "waits for a word from producer 0, 2"
    for p in (0, 2):
        d.on_message(p, word(), 2.0)
    assert d.waits(2.0) == ""


@pytest.mark.parametrize("frames", [
    [], [b""], [b"\x80"], [b"\xc1" * 5], [b"\x91" * 100000], [msgpack.packb({"v": 2, "type": "producer"})],
    [msgpack.packb({"v": 1, "type": "window"})], [msgpack.packb({"v": 1, "type": "records", "session": -1})],
    [msgpack.packb({"v": 1, "type": "producer", "session": 1, "finished": 1, "refused": ""})],
])  # fmt: skip
def test_what_no_producer_sends_is_refused(frames):
    with pytest.raises(BadMessage):
        desk().on_message(0, frames, 1.0)


def test_every_flipped_byte_is_records_or_refused():
    header = {"v": 1, "type": "records", "job": 0, "dp_size": 0, "session": 7, "number": 3, "lease_ms": 1000,
              "sources": [{"format": "text", "fields": [["text", "body"]]}],
              "records": [{"id": "s0:1", "seed": 2**63, "source": 0, "form": "json"}], "frames": 1}  # fmt: skip
    whole = msgpack.packb(header)
    batch = messages.decode_batch([whole, b"{}"])
    assert batch.records[0] == ("s0:1", 2**63, ("text", {"text": "body"}), "json", b"{}")
    refused = 0
    for i in range(len(whole)):
        for mask in (1, 16, 128, 255):
            broken = bytearray(whole)
            broken[i] ^= mask
            try:
                messages.decode_batch([bytes(broken), b"{}"])
            except BadMessage:
                refused += 1
        with pytest.raises(BadMessage):
            messages.decode_batch([whole[:i], b"{}"])
    assert refused > len(whole)
    for frames in ([whole], [whole, b"", b""]):
        with pytest.raises(BadMessage):
            messages.decode_batch(frames)
