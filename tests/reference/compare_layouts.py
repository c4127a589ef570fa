"""The client's layouts, over the frames that the line delivered, against plain ones over the reference's packs."""

import pathlib
import random
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "trainer"), str(ROOT / "trainer/tests")]
from plain_packs import as_plain, plain_batch, plain_pack  # noqa: E402
from raw import Field, Raw  # noqa: E402

from packline import layouts  # noqa: E402
from packline.batches import check_stackable, stack  # noqa: E402
from packline.cursor import Point  # noqa: E402
from packline.digest import pack_digest  # noqa: E402
from packline.padding import Padding  # noqa: E402
from packline.samples import decode_samples  # noqa: E402
from packline.torch_support import installed  # noqa: E402

PACKS = 24  # of a job, drawn from all
DTYPES = {"i": "i32", "q": "i64", "d": "f64"}  # of a column of the reference's
# Not "columns": whether labels travel as numbers or as spans is not the reference's matter.
LAYOUTS = [name for name in (layouts.LAYOUTS if installed() else ("rows", "numpy")) if name != "columns"]


def raw_of(pack):
    """A pack of the reference's as trainer/tests takes packs."""
    fields = {name: Field(DTYPES[letter], "per_token", (), [s.columns[name][1] for s in pack.samples])
              for name, letter in pack.fields.items()}
    for name, field in fields.items():
        if field.dtype == "f64":
            fields[name] = field._replace(values=[[float(v) for v in values] for values in field.values])
    fields.setdefault("input_ids", Field("i32", "per_token", (), []))
    return Raw([s.id for s in pack.samples], {**fields, "labels": Field("i32", "per_token", (), [
        s.labels for s in pack.samples])})


def first_difference(got, expected, where=""):
    """A sentence, or ""."""
    if type(got) is not type(expected):
        return f"{where} is {str(got)[:200]}, not {str(expected)[:200]}"
    if isinstance(expected, dict):
        if got.keys() != expected.keys():
            return f"{where} has {sorted(got)}, not {sorted(expected)}"
        return next(filter(None, (first_difference(got[k], expected[k], f"{where} {k}") for k in expected)), "")
    return "" if got == expected else f"{where} is {str(got)[:300]}, not {str(expected)[:300]}"


def differences(job, pairs):
    """Sentences about (pack as JSON with frames, pack of the reference's)."""
    settings = job["pack"]
    padding = (settings["sample_multiple_of"], settings.get("pad_to_multiple_of", 1), settings.get("pad_id", 0))
    rng = random.Random(str((job["seed"], len(pairs))))
    chosen = sorted(rng.sample(range(len(pairs)), min(PACKS, len(pairs))))
    drop = rng.choice([(), (), ("whole",)])
    for layout in LAYOUTS:
        batch = []
        for i in chosen:
            sent, pack = pairs[i]
            at = (pack.epoch, pack.window, pack.index)
            samples = decode_samples([bytes.fromhex(f) for f in sent["frames"]])
            raw = raw_of(pack)
            layouts.check_columns(layout, samples, drop)
            got = layouts.build(layout, samples, Point(*at), drop, Padding(*padding))
            if layout == "numpy" and not got["dropped"] and pack_digest(got) != pack.digest:
                yield f"pack {list(at)}: the digest over its arrays is {pack_digest(got):016x}"
            mine = tuple(name for name in drop if name in raw.fields)
            expected = plain_pack(layout, own_labels(layout, raw, samples), at, padding, mine)
            if wrong := first_difference(as_plain(got), expected, f"pack {list(at)}: {layout}"):
                yield wrong
            batch.append((got, expected))
        if wrong := batch_difference(layout, job, batch[:3], padding):
            yield wrong


def held(packs):
    """How many layouts of packs differences() looks at, of a job of so many packs."""
    return len(LAYOUTS) * min(PACKS, packs)


def own_labels(layout, raw, samples):
    """`numpy` lists the encoder's columns. Whether `labels` is one of them the reference cannot know."""
    if layout == "numpy" and "labels" not in samples.columns:
        return Raw(raw.ids, {k: f for k, f in raw.fields.items() if k != "labels"})
    return raw


def batch_difference(layout, job, batch, padding):
    try:
        check_stackable(layout, job["pack"]["capacity"], Padding(*padding))
    except ValueError:
        return ""
    if not batch:
        return ""
    got = stack(layout, [g for g, _ in batch])
    expected = plain_batch(layout, [e for _, e in batch])
    return first_difference(as_plain(got), expected, f"a micro batch of {layout}")
