"""hf, flash, megatron and torchtitan, padded and not, and micro batches, against plain Python."""

import random

import pytest
import raw as R
from plain_layouts import plain, under_spans

from packline import layouts
from packline.batches import stack
from packline.cursor import Point
from packline.padding import Padding
from packline.samples import decode_samples

torch = pytest.importorskip("torch", reason="torch is absent: layouts of tensors are NOT tested")

AT = Point(3, 5, 7)
# (sample_multiple_of, pad_to_multiple_of, pad_id); in the last ones neither divides the other.
PADDINGS = [(1, 1, 0), (1, 1, 9), (4, 1, 7), (1, 16, 7), (4, 16, 7), (1, 4096, 151643), (8, 4096, 7),
            (16, 24, 5), (6, 4, 5)]  # fmt: skip


def _packs():
    rng = random.Random(11)
    for labels in ("spans", "values", "none"):
        for samples, longest in ((1, 1), (3, 5), (40, 6), (2, 1200), (1, 3000), (7, 300), (0, 1)):
            yield R.random_pack(rng, samples, longest, labels)
    for samples in (0, 1, 6):
        yield R.rich_pack(rng, samples)
    rich = R.rich_pack(rng, 5)
    rich.fields["marked"] = R.Field("i32", "spans", (), [R._spans(rng, n) for n in rich.lengths])
    own = [[3 + k for k in range(n)] for n in rich.lengths]
    rich.fields["position_ids"] = R.Field("i32", "per_token", (), own)
    yield rich
    mrope = R.random_pack(rng, 4, 9)
    own = [[[k, 10 + k, 20 + k] for k in range(n)] for n in mrope.lengths]
    mrope.fields["position_ids"] = R.Field("i64", "per_token", (3,), own)
    yield mrope
    holes = [[], [1, 2, 3], [], [4, 5], []]
    yield R.Raw(list("abcde"), {"input_ids": R.Field("i32", "per_token", (), holes)})
    yield R.Raw(list("ab"), {"input_ids": R.Field("i32", "per_token", (), [[], []])})
    yield R.Raw([], {"input_ids": R.Field("i32", "per_token", (), [])})


PACKS = list(_packs())
CASES = [(r, p) for r in PACKS for p in PADDINGS]


def build(layout, raw, padding, drop=()):
    return layouts.build(layout, decode_samples(R.encode(raw)), AT, drop, Padding(*padding))


def ints(tensor, dtype, shape):
    """The tensor as a list of ints, after its dtype and shape were found right."""
    assert tensor.dtype == dtype and tuple(tensor.shape) == shape
    assert tensor.is_contiguous()
    return tensor.flatten().tolist()


def check_positions(tensor, p, batched):
    if p.positions and isinstance(p.positions[0], list):  # k rows a token
        k = len(p.positions[0])
        shape = (k, 1, len(p.ids)) if batched else (k, len(p.ids))
        want = [row[j] for j in range(k) for row in p.positions]
    else:
        shape = (1, len(p.ids)) if batched else (len(p.ids),)
        want = p.positions
    assert ints(tensor, torch.int64, shape) == want


def check_columns(pack, raw, p, batched):
    """Every column of the encoder's that the layout does not make itself."""
    samples = sum(raw.lengths) > 0
    for name, f in raw.fields.items():
        if name in ("input_ids", "labels", "position_ids"):
            continue
        value = pack[name]
        if f.kind == "opaque":
            assert value == (f.values if samples else [b""])
        elif f.kind == "ragged":
            assert value.tolist() == ([v for s in f.values for v in s] if samples else [])
        else:
            want = under_spans(raw, name, p) if f.kind == "spans" else p.columns[name]
            value = value[0] if batched else value
            if f.dtype == "bf16":
                assert value.dtype == torch.bfloat16
                assert value.tolist() == [1.0 if v else 0.0 for v in want]
            elif f.dtype == "f32":
                assert value.tolist() == pytest.approx(want, rel=1e-6)
            else:
                assert value.tolist() == want


@pytest.mark.parametrize("raw, padding", CASES)
def test_hf_is_the_plain_pack(raw, padding):
    pack, p = build("hf", raw, padding), plain(raw, *padding)
    row = (1, len(p.ids))
    assert ints(pack["input_ids"], torch.int64, row) == p.ids
    assert ints(pack["labels"], torch.int64, row) == p.labels
    check_positions(pack["position_ids"], p, True)
    for name in ("cu_seq_lens_q", "cu_seq_lens_k"):
        assert ints(pack[name], torch.int32, (len(p.padded) + 1,)) == p.padded_bounds
    assert pack["max_length_q"] == pack["max_length_k"] == max(p.padded)
    assert type(pack["max_length_q"]) is int
    check_columns(pack, raw, p, True)


@pytest.mark.parametrize("raw, padding", CASES)
def test_flash_is_the_plain_pack_without_a_batch_dimension(raw, padding):
    pack, p = build("flash", raw, padding), plain(raw, *padding)
    assert ints(pack["input_ids"], torch.int64, (len(p.ids),)) == p.ids
    assert ints(pack["labels"], torch.int64, (len(p.ids),)) == p.labels
    check_positions(pack["position_ids"], p, False)
    assert ints(pack["cu_seqlens"], torch.int32, (len(p.padded) + 1,)) == p.padded_bounds
    assert pack["max_seqlen"] == max(p.padded) and type(pack["max_seqlen"]) is int
    check_columns(pack, raw, p, False)


@pytest.mark.parametrize("raw, padding", CASES)
def test_megatron_has_shifted_labels_and_real_and_padded_bounds(raw, padding):
    pack, p = build("megatron", raw, padding), plain(raw, *padding)
    row = (1, len(p.ids))
    assert ints(pack["tokens"], torch.int64, row) == p.ids
    assert ints(pack["labels"], torch.int64, row) == p.targets
    assert ints(pack["loss_mask"], torch.float32, row) == [float(t != -100) for t in p.targets]
    check_positions(pack["position_ids"], p, True)
    assert ints(pack["cu_seqlens"], torch.int32, (len(p.real) + 1,)) == p.real_bounds
    assert ints(pack["cu_seqlens_padded"], torch.int32, (len(p.real) + 1,)) == p.padded_bounds
    assert p.padded_bounds[-1] == len(p.ids)
    assert pack["max_seqlen"] == max(p.padded) and type(pack["max_seqlen"]) is int
    assert "input_ids" not in pack
    check_columns(pack, raw, p, True)


@pytest.mark.parametrize("raw, padding", CASES)
def test_torchtitan_is_a_pair_with_shifted_labels(raw, padding):
    (pack, labels), p = build("torchtitan", raw, padding), plain(raw, *padding)
    row = (1, len(p.ids))
    assert ints(pack["input"], torch.int64, row) == p.ids
    assert ints(labels, torch.int64, row) == p.targets
    check_positions(pack["positions"], p, True)
    own = set(raw.fields) - {"input_ids", "labels", "position_ids"}
    assert set(pack) == {"input", "positions"} | own
    check_columns(pack, raw, p, True)


# LLaMA-Factory 10452: padding with position 0 everywhere was thousands of sequences of one token,
# beyond what kernels take.
@pytest.mark.parametrize("layout", layouts.OF_TENSORS)
def test_padding_is_one_segment_however_long(layout):
    raw = R.random_pack(random.Random(1), 3, 9)
    tokens = sum(raw.lengths)
    pack = build(layout, raw, (1, 8192, 0))
    pack = pack[0] if layout == "torchtitan" else pack
    at = pack["positions" if layout == "torchtitan" else "position_ids"].flatten().tolist()
    assert at[tokens:] == list(range(8192 - tokens)) and at.count(0) == 4
    bounds = {"hf": "cu_seq_lens_q", "flash": "cu_seqlens", "megatron": "cu_seqlens_padded"}
    if layout in bounds:
        assert pack[bounds[layout]].tolist()[-2:] == [tokens, 8192]
        assert len(pack[bounds[layout]]) == 5


@pytest.mark.parametrize("padding", PADDINGS)
def test_rows_and_numpy_are_not_padded(padding):
    raw = R.rich_pack(random.Random(4), 5)
    rows = build("rows", raw, padding)
    assert [r["input_ids"].tolist() for r in rows] == raw.fields["input_ids"].values
    pack = build("numpy", raw, padding)
    assert pack["input_ids"].tolist() == sum(raw.fields["input_ids"].values, [])
    told = (pack["sample_multiple_of"], pack["pad_to_multiple_of"], pack["pad_id"])
    assert told == padding


@pytest.mark.parametrize("layout", layouts.OF_TENSORS)
def test_what_was_dropped_is_in_no_layout(layout):
    raw = R.rich_pack(random.Random(4), 5)
    own = [[3 + k for k in range(n)] for n in raw.lengths]
    raw.fields["position_ids"] = R.Field("i32", "per_token", (), own)
    pack = build(layout, raw, (4, 32, 1), ("channel", "position_ids"))
    pack = pack[0] if layout == "torchtitan" else pack
    assert "channel" not in pack and "half" in pack
    del raw.fields["position_ids"]
    found = pack["positions" if layout == "torchtitan" else "position_ids"]
    assert found.flatten().tolist() == plain(raw, 4, 32, 1).positions


def batch_of(layout, raws, padding):
    return stack(layout, [build(layout, raw, padding) for raw in raws])


def chained(bounds):
    out = [0]
    for b in bounds:
        out += [out[-1] + n for n in b[1:]]
    return out


@pytest.mark.parametrize("size", [1, 2, 5])
def test_a_micro_batch_is_its_packs_row_by_row(size):
    rng = random.Random(size)
    raws = [R.rich_pack(rng, rng.randrange(5)) for _ in range(size)]
    padding = (4, 64, 3)
    ps = [plain(raw, *padding) for raw in raws]
    hf, megatron = batch_of("hf", raws, padding), batch_of("megatron", raws, padding)
    titan, targets = batch_of("torchtitan", raws, padding)
    for name, pack in (("input_ids", hf), ("tokens", megatron), ("input", titan)):
        assert pack[name].tolist() == [p.ids for p in ps]
    assert hf["labels"].tolist() == [p.labels for p in ps]
    assert megatron["labels"].tolist() == targets.tolist() == [p.targets for p in ps]
    assert megatron["loss_mask"].tolist() == [[float(t != -100) for t in p.targets] for p in ps]
    for found in (hf["position_ids"], megatron["position_ids"], titan["positions"]):
        assert found.tolist() == [p.positions for p in ps]
    padded = chained(p.padded_bounds for p in ps)
    assert hf["cu_seq_lens_q"].tolist() == hf["cu_seq_lens_k"].tolist() == padded
    assert megatron["cu_seqlens_padded"].tolist() == padded
    assert megatron["cu_seqlens"].tolist() == chained(p.real_bounds for p in ps)
    assert hf["cu_seq_lens_q"].dtype == megatron["cu_seqlens"].dtype == torch.int32
    assert hf["max_length_q"] == megatron["max_seqlen"] == max(max(p.padded) for p in ps)
    assert hf["pairs"].tolist() == [p.columns["pairs"] for p in ps]
    grid = [g for raw in raws for v in raw.fields["image_grid_thw"].values for g in v]
    assert hf["image_grid_thw"].tolist() == grid
    assert hf["channel"] == sum([raw.fields["channel"].values or [b""] for raw in raws], [])


def test_flash_packs_are_joined_whatever_their_lengths():
    rng = random.Random(2)
    raws = [R.random_pack(rng, n, 9) for n in (3, 1, 4)]
    ps = [plain(raw) for raw in raws]
    pack = batch_of("flash", raws, (1, 1, 0))
    assert pack["input_ids"].tolist() == sum((p.ids for p in ps), [])
    assert pack["position_ids"].tolist() == sum((p.positions for p in ps), [])
    assert pack["cu_seqlens"].tolist() == chained(p.padded_bounds for p in ps)


def test_positions_of_several_rows_keep_them_in_front():
    raw = R.random_pack(random.Random(1), 2, 4)
    own = [[[k, 10 + k, 20 + k] for k in range(n)] for n in raw.lengths]
    raw.fields["position_ids"] = R.Field("i32", "per_token", (3,), own)
    two = batch_of("hf", [raw, raw], (1, 16, 0))["position_ids"]
    assert tuple(two.shape) == (3, 2, 16) and (two[:, 0] == two[:, 1]).all()
    assert tuple(batch_of("flash", [raw, raw], (1, 16, 0))["position_ids"].shape) == (3, 32)


def test_packs_of_other_columns_make_no_micro_batch():
    rng = random.Random(2)
    with pytest.raises(ValueError, match="packs 0 and 1 .* channel, .*drop="):
        batch_of("hf", [R.rich_pack(rng, 2), R.random_pack(rng, 2, 9)], (1, 64, 0))
