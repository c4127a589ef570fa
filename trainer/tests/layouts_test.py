"""Layouts, codec and digest against plain Python, and the worked example of docs/wire.md."""

import random
import re
from pathlib import Path

import numpy as np
import pytest
import raw as R

from packline import layouts, wire
from packline.cursor import Place, Point
from packline.digest import pack_digest
from packline.errors import BadMessage
from packline.samples import decode_samples

DOCS = Path(__file__).parents[2] / "docs"
AT = Point(3, 5, 7)


def _packs():
    rng = random.Random(5)
    for labels in ("spans", "values", "none"):
        for samples, longest in ((1, 1), (3, 5), (40, 6), (2, 1200), (7, 300), (0, 1)):
            yield R.random_pack(rng, samples, longest, labels)
    yield R.rich_pack(rng, 6)
    yield R.rich_pack(rng, 0)
    yield R.Raw([], {"input_ids": R.Field("i32", "per_token", (), [])})


PACKS = list(_packs())


@pytest.mark.parametrize("raw", PACKS)
def test_rows_are_the_samples_of_the_pack(raw):
    rows = layouts.rows(decode_samples(R.encode(raw)))
    assert [r["sample_id"] for r in rows] == raw.ids
    labels = R.labels_of(raw)
    for i, row in enumerate(rows):
        assert row["input_ids"].tolist() == raw.fields["input_ids"].values[i]
        assert row["labels"].tolist() == labels[i]
        assert row["input_ids"].dtype == row["labels"].dtype == np.int32
        row["input_ids"][:] = 0  # may be written to
        for name, f in raw.fields.items():
            if name in ("input_ids", "labels"):
                continue
            if f.kind == "opaque":
                assert row[name] == f.values[i]
            else:
                want = np.array(f.values[i], R.WIRE[f.dtype]).reshape((-1, *f.shape))
                assert row[name].dtype == want.dtype and (row[name] == want).all()


@pytest.mark.parametrize("raw", PACKS)
def test_columns_are_what_was_received_and_no_copy(raw):
    frames = R.encode(raw)
    pack = layouts.build("columns", decode_samples(frames), AT, ())
    assert pack.pop("lengths").tolist() == raw.lengths
    for name, f in raw.fields.items():
        data = pack.pop(name)
        if f.kind == "opaque":
            assert data.dtype == np.uint8 and data.tobytes() == b"".join(f.values)
        elif f.kind == "spans":
            assert data.dtype == np.uint32 and data.tolist() == [list(s) for v in f.values for s in v]
        else:
            want = np.array([x for v in f.values for x in v], R.WIRE[f.dtype]).reshape((-1, *f.shape))
            assert data.dtype == want.dtype and data.shape == want.shape and (data == want).all()
        if f.kind != "per_token":
            rows = pack.pop(name + "_rows")
            assert rows.dtype == np.uint32 and rows.tolist() == [len(v) for v in f.values]
        assert data.size == 0 or not data.flags.writeable
    assert not pack


def test_columns_that_are_dropped_are_left_out_with_their_rows():
    raw = R.rich_pack(random.Random(5), 6)
    ragged = next(name for name, f in raw.fields.items() if f.kind == "ragged")
    whole = layouts.build("columns", decode_samples(R.encode(raw)), AT, ())
    pack = layouts.build("columns", decode_samples(R.encode(raw)), AT, (ragged,))
    assert set(whole) - set(pack) == {ragged, ragged + "_rows"}


@pytest.mark.parametrize("raw", PACKS)
def test_the_numpy_layout_is_one_dict_of_arrays(raw):
    pack = layouts.build("numpy", decode_samples(R.encode(raw)), AT, ())
    n = raw.lengths
    assert pack["input_ids"].tolist() == sum(raw.fields["input_ids"].values, [])
    assert pack["labels"].tolist() == sum(R.labels_of(raw), [])
    assert pack["position_ids"].tolist() == [k for m in n for k in range(m)]
    assert pack["cu_seqlens"].tolist() == [sum(n[:i]) for i in range(len(n) + 1)]
    assert pack["lengths"].tolist() == n and pack["sample_ids"] == raw.ids
    assert (pack["epoch"], pack["window"], pack["pack"]) == AT
    assert pack["max_seqlen"] == max(n, default=0)
    for name in ("input_ids", "labels", "position_ids", "cu_seqlens", "lengths"):
        assert pack[name].dtype == np.int32, name
    if "image_grid_thw" in raw.fields:
        f = raw.fields["image_grid_thw"]
        assert pack["image_grid_thw"].tolist() == sum(f.values, [])
        assert pack["image_grid_thw_rows"].tolist() == [len(v) for v in f.values]
        assert pack["channel"] == raw.fields["channel"].values


@pytest.mark.parametrize("raw", PACKS)
def test_the_hf_layout_is_what_a_model_takes(raw):
    torch = pytest.importorskip("torch", reason="torch is absent: the hf layout is NOT tested")
    pack = layouts.build("hf", decode_samples(R.encode(raw)), AT, ("channel",))
    n = raw.lengths or [1]
    ids = sum(raw.fields["input_ids"].values, []) or [0]
    assert pack["input_ids"].tolist() == [ids]
    assert pack["labels"].tolist() == [sum(R.labels_of(raw), []) or [-100]]
    assert pack["position_ids"].tolist() == [[k for m in n for k in range(m)]]
    bounds = [sum(n[:i]) for i in range(len(n) + 1)]
    for name in ("cu_seq_lens_q", "cu_seq_lens_k"):
        assert pack[name].dtype == torch.int32 and pack[name].tolist() == bounds
    assert pack["max_length_q"] == pack["max_length_k"] == max(n)
    assert type(pack["max_length_q"]) is int
    for name in ("input_ids", "labels", "position_ids"):
        assert pack[name].dtype == torch.int64, name
    assert "attention_mask" not in pack and "channel" not in pack
    if "half" in raw.fields:
        assert pack["half"].dtype == torch.bfloat16
        assert pack["half"].shape == (1, sum(n))
        assert pack["pairs"].shape == (1, sum(n), 2)
        assert pack["image_grid_thw"].dtype == torch.int64
        assert (pack["half"] == 1).all() or not raw.ids


def test_a_pack_of_nothing_at_all_has_every_part():
    nothing = decode_samples([b"\x82\xa1n\x00\xa7columns\x90", b"", b""])
    pack = layouts.build("numpy", nothing, AT, ())
    assert pack["input_ids"].size == pack["labels"].size == 0 and pack["columns"] == ()
    assert layouts.rows(nothing) == []
    pytest.importorskip("torch", reason="torch is absent: the hf layout is NOT tested")
    pack = layouts.hf(nothing)
    assert pack["input_ids"].tolist() == [[0]] and pack["labels"].tolist() == [[-100]]


def test_the_encoders_own_position_ids_win():
    pytest.importorskip("torch", reason="torch is absent: own position_ids are NOT tested")
    raw = R.random_pack(random.Random(1), 2, 4)
    own = [[[i, 10 + i, 20 + i] for i in range(n)] for n in raw.lengths]
    raw.fields["position_ids"] = R.Field("i32", "per_token", (3,), own)
    pack = layouts.hf(decode_samples(R.encode(raw)))
    assert tuple(pack["position_ids"].shape) == (3, 1, sum(raw.lengths))
    assert pack["position_ids"][1, 0, 0] == 10


# Law L1: "Every delivered pack is folded into a digest; equal digests mean equal streams."
@pytest.mark.parametrize("raw", PACKS)
def test_the_digest_is_that_of_the_documented_bytes(raw):
    xxhash = pytest.importorskip("xxhash", reason="xxhash is absent: digests are NOT tested")
    pack = layouts.build("numpy", decode_samples(R.encode(raw)), AT, ())
    assert pack_digest(pack) == xxhash.xxh3_64_intdigest(R.digest_bytes(raw, *AT))


def test_a_digest_over_dropped_columns_is_refused():
    pytest.importorskip("xxhash", reason="xxhash is absent: digests are NOT tested")
    pack = layouts.build("numpy", decode_samples(R.encode(R.rich_pack(random.Random(1), 2))), AT,
                         ("channel",))  # fmt: skip
    with pytest.raises(ValueError, match="channel"):
        pack_digest(pack)


def example_frames():
    blocks = re.findall(r"```hex\n(.*?)```", (DOCS / "wire.md").read_text(), re.S)
    return [bytes.fromhex(b) for b in blocks]


def test_the_worked_example_of_the_wire_page_is_read():
    m = wire.decode(example_frames())
    assert isinstance(m, wire.Pack)
    assert (m.job, m.dp_size, m.dp_rank) == (0x0123456789ABCDEF, 2, 0)
    assert m.before == m.at == Point(0, 1, 2)
    assert (m.after, m.lanes) == (Point(0, 2, 0), (Place(0, 1, "12.0.0"), Place(0, 1, "9.0.0")))
    pack = layouts.build("numpy", m.body, m.at, ())
    assert pack["input_ids"].tolist() == [5, 6, 7, 8, 9]
    assert pack["labels"].tolist() == [-100, 6, 7, -100, 9]
    assert pack["sample_ids"] == ["s0:7", "q1@s0:2"]
    assert pack["channel"] == [b"xyz", b""]
    pytest.importorskip("xxhash", reason="xxhash is absent: the example's digest is NOT tested")
    assert pack_digest(pack) == m.digest


def test_every_cut_and_flip_of_the_example_is_read_or_refused():
    frames = example_frames()
    read = refused = 0
    for i, frame in enumerate(frames):
        hurt = [frame[:k] for k in range(len(frame))]
        for k in range(len(frame)):
            for bit in (1, 0x80, 0xFF):
                hurt.append(frame[:k] + bytes([frame[k] ^ bit]) + frame[k + 1 :])
        for other in hurt:
            try:
                m = wire.decode([*frames[:i], other, *frames[i + 1 :]])
                if isinstance(m, wire.Pack):
                    layouts.build("numpy", m.body, m.at, ())
                    layouts.rows(m.body)
                read += 1
            except BadMessage:
                refused += 1
    assert read > 100 and refused > 1000
    for k in range(len(frames)):
        with pytest.raises(BadMessage):
            wire.decode(frames[:k] + frames[k + 1 :])
