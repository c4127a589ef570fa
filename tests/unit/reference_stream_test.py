"""tests/reference on small jobs: samples, ledgers, positions, the global plan (docs/stream.md, sections 4 to 8)."""

import json
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "reference"))
pytest.importorskip("xxhash", reason="xxhash is not installed")
import packline_reference as reference  # noqa: E402
from reference_job import pack_settings  # noqa: E402
from reference_parts import IGNORE, LostSample, Sample, Stop, made_of  # noqa: E402


def sample(n, labels=None):
    ids = list(range(1, n + 1))
    labels = list(ids) if labels is None else labels
    labels[:1] = [IGNORE] * len(labels[:1])
    return Sample("s0:7", {"input_ids": ("i", ids), "w": ("d", [i / 2 for i in ids])}, labels)


def made(s, **pack):
    return made_of(s, pack_settings({"capacity": 4, **pack}, {}))


def test_a_sample_that_is_too_long():
    assert made(sample(5)) == [LostSample("over_long", 5)]
    assert made(sample(4)) == [sample(4)]
    assert made(sample(5), strategy="wrapped", over_long="error") == [sample(5)]
    with pytest.raises(Stop, match="s0:7"):
        made(sample(5), over_long="error")


def test_truncation_keeps_the_id():
    (right,), (left,) = (made(sample(6), over_long=f"truncate_{side}") for side in ("right", "left"))
    assert (right.id, right.cut, right.columns["input_ids"][1]) == ("s0:7", 2, [1, 2, 3, 4])
    assert (left.id, left.cut, left.columns["input_ids"][1]) == ("s0:7", 2, [3, 4, 5, 6])
    assert left.columns["w"] == ("d", [1.5, 2, 2.5, 3])
    assert (right.labels, left.labels) == ([IGNORE, 2, 3, 4], [IGNORE, 4, 5, 6])


def test_pieces_are_samples_of_their_own():
    pieces = made(sample(9), over_long="split")
    assert [(p.id, p.columns["input_ids"][1], p.cut) for p in pieces] == [
        ("s0:7", [1, 2, 3, 4], 0), ("s0:7~4", [5, 6, 7, 8], 0), ("s0:7~8", [9], 0)]
    assert [p.labels for p in pieces] == [[IGNORE, 2, 3, 4], [IGNORE, 6, 7, 8], [IGNORE]]


def test_what_carries_no_loss_is_dropped_when_all_else_is_done():
    pieces = made(sample(9), over_long="split", drop_unsupervised=True)
    assert pieces[2] == LostSample("unsupervised", 1)  # its first token never carries loss
    s = sample(6, [IGNORE] * 4 + [5, 6])
    assert made(s, over_long="truncate_right", drop_unsupervised=True) == [LostSample("unsupervised", 4, cut=2)]
    assert isinstance(made(s, over_long="truncate_left", drop_unsupervised=True)[0], Sample)
    assert made(sample(0), drop_unsupervised=True) == [LostSample("empty", 0)]


@pytest.fixture
def stream(tmp_path):
    """Windows of a job of token records of these lengths; record 3 is the ids 300, 301, ..."""

    def run(lengths, remainder="spread", repeat=1, epochs=1, lanes=1, **pack):
        lines = [json.dumps({"input_ids": [100 * i + t for t in range(n)]}) if n is not None else "bad"
                 for i, n in enumerate(lengths)]
        (tmp_path / "a.jsonl").write_text("\n".join(lines))
        job = {"seed": 7, "epochs": epochs, "lanes": lanes, "shuffle": {"kind": "none"}, "encode": {"kind": "tokens"},
               "sources": [{"path": "a.jsonl", "format": "tokens", "repeat": repeat}],
               "deliver": {"remainder": remainder}, "pack": {"capacity": 10, **pack}}
        (tmp_path / "job.yaml").write_text(json.dumps(job))
        return list(reference.windows(reference.load_job(tmp_path / "job.yaml")))

    return run


def ids(window):
    return [[s.id for s in p.samples] for p in window.packs]


def counted(window):
    return {k: n for k, n in window.ledger.items() if n}


def test_wrapped_positions_and_parts(stream):
    a, b = stream([7, 6, None, 4], strategy="wrapped", capacity=5, packs_per_window=2)
    assert (ids(a), a.after) == ([["s0:0"], ["s0:0~5", "s0:1"]], "1.0.3")
    assert (ids(b), b.after, b.last) == ([["s0:1~3", "s0:3"], ["s0:3~2"]], "4.0.0", True)
    assert [s.columns["input_ids"][1] for s in b.packs[0].samples] == [[103, 104, 105], [300, 301]]
    assert b.packs[0].samples[0].labels == [IGNORE, 104, 105]
    # A sample counts where its reading began, a further part where it is delivered.
    assert counted(a) == {"records_read": 2, "records_encoded": 2, "samples_made": 3, "tokens_made": 13}
    assert counted(b) == {
        "records_read": 2, "records_encoded": 1, "lost_parse": 1, "samples_made": 3, "tokens_made": 4}


def test_a_cut_may_fall_between_samples_or_again_into_the_same(stream):
    a, b, c = stream([5, 12], strategy="wrapped", capacity=5, packs_per_window=1, remainder="drop")[:3]
    assert (a.after, b.after, c.after) == ("1.0.0", "1.0.5", "1.0.10")
    a, b = stream([8], strategy="wrapped", capacity=5, packs_per_window=1)
    assert (a.after, b.after) == ("0.0.5", "1.0.0")


def test_what_drop_loses_of_wrapped(stream):
    (w,) = stream([7, 6, 2], strategy="wrapped", capacity=5, packs_per_window=4, dp_size_multiple=2, remainder="drop")
    assert ids(w) == [["s0:0"], ["s0:0~5", "s0:1"]]
    assert counted(w) == {
        "records_read": 3, "records_encoded": 3, "samples_made": 4, "tokens_made": 15, "truncated_tokens": 3,
        "lost_remainder": 1, "tokens_remainder": 2}


def test_a_repetition_has_its_number_behind_its_id(stream):
    (w,) = stream([7, 6], strategy="wrapped", capacity=5, packs_per_window=5, dp_size_multiple=5, remainder="repeat")
    assert ids(w) == [["s0:0"], ["s0:0~5", "s0:1"], ["s0:1~3"], ["s0:0*1"], ["s0:0~5*1", "s0:1*1"]]
    assert counted(w) == {"records_read": 2, "records_encoded": 2, "samples_made": 4, "tokens_made": 13, "repeated": 3,
                          "repeated_tokens": 10}


def test_pieces_in_positions_and_ledger(stream):
    windows = stream([25, 10], over_long="split", strategy="sequential", packs_per_window=1)
    assert [w.after for w in windows] == ["0.1.0", "0.2.0", "1.0.0", "2.0.0"]
    assert [ids(w) for w in windows] == [[["s0:0"]], [["s0:0~10"]], [["s0:0~20"]], [["s0:1"]]]
    assert [counted(w).get("samples_made", 0) for w in windows] == [3, 0, 0, 1]


def plans(windows):
    return sorted(tuple(p) for w in windows for p in ids(w))


def test_a_global_plan_is_dealt_into_windows(stream):
    pack = {"plan": "global", "packs_per_window": 2}
    windows = stream([6, 4, 5, 5, 7, 3, 2, None, 0], lanes=2, **pack)
    assert [(w.number, len(w.packs), w.last, w.after) for w in windows] == [
        (0, 2, True, "1.0.0"), (1, 2, True, "1.0.0")]
    assert plans(windows) == [("s0:0", "s0:1"), ("s0:2", "s0:3"), ("s0:4", "s0:5"), ("s0:6",)]
    for w in windows:  # a record counts where its first sample stands
        mine = sum(len(p) for p in ids(w))
        assert w.ledger["samples_made"] - w.ledger["lost_empty"] == mine
    # One that has none counts by its place: 7 and 8 of 9 places, two windows.
    assert (windows[1].ledger["lost_parse"], windows[1].ledger["lost_empty"]) == (1, 1)
    windows = stream([6], lanes=3, **pack)
    assert [(w.number, len(w.packs), w.last) for w in windows] == [(0, 1, True), (1, 0, True), (2, 0, True)]
    windows = stream([9] * 9, lanes=2, **pack)
    assert [(len(w.packs), w.last, w.after) for w in windows] == [
        (2, False, "1.0.0"), (2, False, "1.0.0"), (2, False, "2.0.0"), (2, True, "2.0.0"), (1, True, "3.0.0")]


def test_a_record_counts_where_its_first_piece_stands(stream):
    windows = stream([25] + [10] * 5, plan="global", packs_per_window=1, over_long="split")
    (w,) = [w for w in windows if ids(w) == [["s0:0"]]]
    assert counted(w) == {"records_read": 1, "records_encoded": 1, "samples_made": 3, "tokens_made": 25}
    assert sum(w.ledger["records_read"] for w in windows) == 6


def test_the_losses_of_a_record_count_where_its_first_delivered_piece_stands(stream):
    windows = stream([14], plan="global", packs_per_window=2, over_long="split", remainder="drop", dp_size_multiple=2,
                     lanes=1)
    assert counted(windows[0])["tokens_made"] == 14 and not windows[0].ledger["lost_remainder"]
    windows = stream([14, 10], plan="global", packs_per_window=2, over_long="split", remainder="drop",
                     dp_size_multiple=2, lanes=1)
    assert plans(windows) == [("s0:0",), ("s0:1",)]
    assert (windows[0].ledger["lost_remainder"], windows[0].ledger["tokens_remainder"]) == (1, 4)


def test_an_epoch_has_the_packs_of_the_first_unless_it_is_planned_again(stream):
    lengths, pack = [3, 9, 4, 6, 5, 5, 2, 8, 7, 1], {"plan": "global", "repeat": 0.5, "packs_per_window": 50}
    first, second = stream(lengths, epochs=2, **pack)
    assert plans([first]) == plans([second])
    assert sum(len(p) for p in ids(first)) == 5
    one, two = stream(lengths, epochs=2, replan_each_epoch=True, **pack)
    assert plans([one]) == plans([first]) != plans([two])


def test_an_epoch_has_its_own_order_of_the_same_packs(stream):
    first, second = stream([10] * 20, epochs=2, plan="global", packs_per_window=50)
    assert ids(first) != ids(second) and plans([first]) == plans([second])
    assert [p.digest for p in first.packs] != [p.digest for p in second.packs]
