"""What a stream makes of the welcome's padding and count of packs."""

import pickle

import msgpack
import pytest
from plain_layouts import plain
from small_job import SmallJob

from packline import PackStream, wire
from packline.errors import BadMessage

# Two lanes, 3 packs a rank and epoch; a capacity of 64 (FakeSink), which no pack reaches.
JOB = SmallJob([[2, 2], [2]], epochs=2, dp_size=2, seed=3)
FULL = {"sample_multiple_of": 4, "pad_to_multiple_of": 64, "pad_id": 9}


def raws(epoch, dp_rank=0):
    return [s.raw for s in JOB.packs_of_epoch(dp_rank, epoch)]


def served(line, padding=FULL, packs=0):
    path, sinks = line(JOB)
    for sink in sinks:
        sink.padding, sink.packs_per_epoch = padding, packs
    return path


def torch_loader():
    torch = pytest.importorskip("torch", reason="torch is absent: loaders are NOT tested")
    return torch.utils.data.DataLoader


def test_packs_are_padded_as_the_job_says(line):
    torch_loader()
    with PackStream(served(line), dp_rank=0, layout="hf") as stream:
        assert stream.peek()["input_ids"].tolist() == [plain(raws(0)[0], 4, 64, 9).ids]
        for epoch in range(2):
            got = [p["input_ids"].tolist() for p in stream]
            assert got == [[plain(r, 4, 64, 9).ids] for r in raws(epoch)]


def test_the_numpy_layout_is_told_and_not_padded(line):
    with PackStream(served(line), dp_rank=1, layout="numpy") as stream:
        for pack, raw in zip(stream, raws(0, 1)):
            assert len(pack["input_ids"]) == sum(raw.lengths)
            assert {k: pack[k] for k in FULL} == FULL


# Law L5: "each sample of an epoch reaches the trainer exactly once, in the same place of the
# stream."
def test_a_loader_of_micro_batches_resumes_behind_the_last_one(line):
    loader = torch_loader()
    path = served(line)
    want = [plain(r, 4, 64, 9).ids for r in raws(0)]
    stream = PackStream(path, dp_rank=0, layout="megatron")
    states, got = [], []
    for batch in loader(stream, batch_size=2, collate_fn=stream.stack):
        got.append(batch["tokens"].tolist())
        states.append(stream.state_dict())
    assert got == [want[:2], want[2:]]
    assert [s["step"] for s in states] == [2, 3]
    other = PackStream(path, dp_rank=0, layout="megatron")
    other.load_state_dict(states[0])
    rest = [b["tokens"].tolist() for b in loader(other, batch_size=2, collate_fn=other.stack)]
    assert rest == [want[2:]]


def test_packs_of_many_lengths_are_not_stacked(line):
    torch_loader()
    path = served(line, {"sample_multiple_of": 4, "pad_to_multiple_of": 32, "pad_id": 9})
    stream = PackStream(path, dp_rank=0, layout="hf")
    packs = list(stream)
    with pytest.raises(ValueError, match=r"set pack.pad_to_multiple_of: 64 .*\(it is 32\)"):
        stream.stack(packs[:1])
    joined = PackStream(path, dp_rank=0, layout="flash")
    packs = list(joined)
    tokens = joined.stack(packs)["input_ids"]
    assert tokens.tolist() == sum((plain(r, 4, 32, 9).ids for r in raws(0)), [])
    with pytest.raises(ValueError, match='layout "rows" has no micro batches'):
        PackStream(path, dp_rank=0, layout="rows").stack([])


@pytest.mark.parametrize("layout", ["hf", "flash", "megatron", "torchtitan"])
def test_tensors_without_torch_are_refused_by_the_layouts_name(line, monkeypatch, layout):
    path = served(line)
    monkeypatch.setattr("packline.torch_support.installed", lambda: False)
    with pytest.raises(ImportError, match=f'layout "{layout}" makes torch tensors'):
        iter(PackStream(path, dp_rank=0, layout=layout))


def test_the_length_is_this_ranks_packs_of_the_epoch(line):
    stream = PackStream(served(line, packs=6), dp_rank=0, layout="rows")
    assert len(stream) == 3  # connects
    for epoch in range(2):
        assert len(stream) == len(list(stream)) == len(raws(epoch))
    assert len(stream) == 0 and list(stream) == [] and stream
    copy = pickle.loads(pickle.dumps(stream))
    assert len(copy) == 0


def test_the_length_of_an_epoch_that_is_not_counted_is_a_type_error(line):
    stream = PackStream(served(line), dp_rank=0, layout="rows")
    with pytest.raises(TypeError, match="pack.plan: streaming .*packline count"):
        len(stream)
    assert stream  # a truth value that does not ask for the length
    assert len(list(stream)) == 3
    list(stream)
    assert len(stream) == 0  # known all the same: the job is at its end


def test_a_loader_knows_how_many_micro_batches_come(line):
    stream = PackStream(served(line, packs=6), dp_rank=0, layout="torchtitan")
    loader = torch_loader()(stream, batch_size=2, collate_fn=stream.stack)
    assert len(loader) == 2
    assert [(b["input"].shape[0], t.shape[0]) for b, t in loader] == [(2, 2), (1, 1)]


WELCOME = {
    "v": 1, "type": "welcome", "job": 1, "dp_size": 2,
    "session": {"restart": 0, "start_ms": 1, "random": 2}, "identity": [["seed", "1"]],
    "stream_version": 1, "ranks_per_dp_rank": 1, "packs_per_optimizer_step": 1, "capacity": 64,
    "dp_size_multiple": 2, "sample_multiple_of": 4, "pad_to_multiple_of": 64, "pad_id": 2**31 - 1,
    "epochs": 1, "packs_per_epoch": 2**64 - 1, "warn_after_ms": 1, "fail_after_ms": 1,
    "start": {"point": {"epoch": 0, "window": 0, "pack": 0}, "lanes": []},
}  # fmt: skip


def test_a_welcome_says_how_packs_are_padded():
    welcome = wire.decode([msgpack.packb(WELCOME)])
    assert welcome.padding == (4, 64, 2**31 - 1) and welcome.packs_per_epoch == 2**64 - 1


@pytest.mark.parametrize(
    "key, value",
    [("sample_multiple_of", 0), ("sample_multiple_of", 3), ("pad_to_multiple_of", 128),
     ("pad_id", 2**31), ("pad_id", -1), ("packs_per_epoch", None)],
)  # fmt: skip
def test_a_welcome_of_impossible_padding_is_refused(key, value):
    with pytest.raises(BadMessage, match=key):
        wire.decode([msgpack.packb({**WELCOME, key: value})])
