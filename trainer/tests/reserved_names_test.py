"""A column of the encoder's under a name that a layout uses itself is refused, never lost or
written over."""

import random
import re

import pytest
import raw as R
from small_job import SmallJob

from packline import PackStream, layouts
from packline.cursor import Point
from packline.samples import decode_samples

# One lane of two windows; two packs each, of one rank.
JOB = SmallJob([[2, 2]], seed=5)
TENSORS = ("hf", "flash", "megatron", "torchtitan")


def column(raw, name, kind="per_token"):
    values = {
        "per_token": [[7] * n for n in raw.lengths],
        "ragged": [[7] * (i % 2) for i in range(len(raw.ids))],
        "opaque": [b"x" for _ in raw.ids],
    }[kind]
    dtype = "u8" if kind == "opaque" else "i64"
    return R.Raw(raw.ids, {**raw.fields, name: R.Field(dtype, kind, (), values)})


def a_pack(*columns):
    raw = R.random_pack(random.Random(3), 4, 6)
    for name, *kind in columns:
        raw = column(raw, name, *kind)
    return decode_samples(R.encode(raw))


def of_torch(layout):
    if layout in TENSORS:
        pytest.importorskip("torch", reason="torch is absent: layouts of tensors are NOT tested")


def made_by(layout):
    """The names in a pack of the layout, of an encoder that gives ids alone."""
    of_torch(layout)
    raw = R.random_pack(random.Random(3), 4, 6, "none")
    pack = layouts.build(layout, decode_samples(R.encode(raw)), Point(0, 0, 0), ())
    return set(pack[0] if layout in ("rows", "torchtitan") else pack)


@pytest.mark.parametrize("layout", layouts.LAYOUTS)
def test_every_name_that_a_layout_makes_is_refused_to_columns(layout):
    names = made_by(layout) - {"input_ids", "labels", "position_ids"}
    assert names
    for name in names:
        with pytest.raises(ValueError, match=f'column "{name}", a name that layout "{layout}"'):
            layouts.check_columns(layout, a_pack((name,)), ())
        layouts.check_columns(layout, a_pack((name,)), (name,))  # left out: no harm


@pytest.mark.parametrize("layout", layouts.LAYOUTS)
def test_names_that_other_layouts_make_are_columns_as_any(layout):
    own = made_by(layout)
    others = set().union(*(made_by(other) for other in layouts.LAYOUTS)) - own
    samples = a_pack(*[(n,) for n in others - {"input_ids", "labels", "position_ids"}])
    layouts.check_columns(layout, samples, ())
    pack = layouts.build(layout, samples, Point(0, 0, 0), ())
    pack = pack[0] if layout in ("rows", "torchtitan") else pack
    for name in others - {"input_ids", "labels", "position_ids"}:
        assert set(pack[name].flatten().tolist()) == {7}, name


def test_the_rows_of_a_ragged_column_have_a_name_too():
    samples = a_pack(("grid", "ragged"), ("grid_rows",))
    with pytest.raises(ValueError, match='column "grid_rows"'):
        layouts.check_columns("numpy", samples, ())
    for layout, drop in (("rows", ()), ("hf", ()), ("numpy", ("grid",)), ("numpy", ("grid_rows",))):
        layouts.check_columns(layout, samples, drop)
    layouts.check_columns("numpy", a_pack(("grid",), ("grid_rows",), ("_rows",)), ())


@pytest.mark.parametrize("kind", ["ragged", "opaque"])
def test_positions_that_are_none_are_refused_by_layouts_of_tensors(kind):
    samples = a_pack(("position_ids", kind))
    for layout in TENSORS:
        with pytest.raises(ValueError, match=f'"position_ids" of kind {kind}'):
            layouts.check_columns(layout, samples, ())
        layouts.check_columns(layout, samples, ("position_ids",))
    for layout in ("rows", "columns", "numpy"):
        layouts.check_columns(layout, samples, ())
    for layout in layouts.LAYOUTS:
        layouts.check_columns(layout, a_pack(("position_ids",)), ())


class OddJob(SmallJob):
    """Its packs have a column `lengths` from the third on."""

    def pack(self, epoch, window, index):
        raw = super().pack(epoch, window, index)
        return column(raw, "lengths") if window == 1 else raw


# Law L5: "each sample of an epoch reaches the trainer exactly once, in the same place of the
# stream."
def test_a_refused_pack_does_not_count_as_handed_out(line):
    job = OddJob(JOB.windows, seed=JOB.seed)
    path, _ = line(job)
    want = [s.raw.ids for s in job.packs_of_epoch(0, 0)]
    told = re.escape('column "lengths", a name that layout "numpy" uses itself')
    with PackStream(path, dp_rank=0, layout="numpy") as stream:
        packs = iter(stream)
        got = [next(packs)["sample_ids"] for _ in range(2)]
        for _ in range(2):  # again and again
            with pytest.raises(ValueError, match=told + r".*drop=\(.lengths.,\)"):
                next(packs)
        with pytest.raises(ValueError, match=told):
            stream.peek()
        assert stream.step == 2
        state = stream.state_dict()
    with PackStream(path, dp_rank=0, layout="numpy", drop=("lengths",)) as again:
        again.load_state_dict(state)
        rest = list(again)
        assert got + [p["sample_ids"] for p in rest] == want
        assert rest[0]["dropped"] == ("lengths",)
        assert rest[0]["lengths"].tolist() == job.pack(0, 1, 0).lengths
