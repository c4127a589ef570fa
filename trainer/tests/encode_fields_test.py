"""What a field of a sample becomes, and what is no sample. docs/encoders.md has the table."""

import numpy as np
import pytest

from packline.encode import per_sample, per_token
from packline.encode.fields import BadSample, frames_of
from packline.samples import decode_samples


def decoded(sample):
    """The sample as a client reads it."""
    return decode_samples([bytes(f) for f in frames_of(sample)])


def column(sample, name="x"):
    return decoded({"input_ids": [1, 2, 3], **sample}).columns[name]


def test_the_least_sample_is_token_ids():
    for ids in ([5, 6], (5, 6), np.array([5, 6], np.uint16), np.array([5, 6], ">i8")):
        samples = decoded({"input_ids": ids})
        assert samples.input_ids.tolist() == [5, 6]
        assert list(samples.columns) == ["input_ids"] and samples.lengths.tolist() == [2]


def test_a_sample_may_have_no_tokens():
    assert decoded({"input_ids": []}).lengths.tolist() == [0]
    assert decoded({"input_ids": [], "labels": []}).columns["labels"].kind == "spans"


@pytest.mark.parametrize("dtype", ["i1", "u1", "i2", "i4", "i8", "f2", "f4", "f8", "?"])
def test_a_dtype_is_kept(dtype):
    value = np.array([0, 1, 1]).astype(dtype)
    got = column({"x": value})
    assert got.kind == "per_token" and got.data.dtype == value.dtype and got.data.tolist() == value.tolist()


def test_lists_are_i64_f64_and_bool():
    assert column({"x": [1, 2, 3]}).dtype == "i64"
    assert column({"x": [1, 2.5, 3]}).dtype == "f64"
    assert column({"x": [True, False, True]}).dtype == "bool"


def test_one_dimension_belongs_to_the_tokens_and_more_to_the_sample():
    ragged = column({"x": np.arange(24, dtype=np.float32).reshape(4, 3, 2)})
    assert ragged.kind == "ragged" and ragged.rows.tolist() == [4] and ragged.data.shape == (4, 3, 2)
    # The same shape is the same kind whatever the number of tokens: never by a length that fits.
    assert column({"x": np.zeros((3, 2))}).kind == "ragged"
    assert column({"x": per_token(np.zeros((3, 2), np.int16))}).kind == "per_token"
    assert column({"x": per_sample([7, 8, 9])}).rows.tolist() == [3]
    assert column({"x": 2.5}).rows.tolist() == [1]
    assert column({"x": np.zeros((0, 5), np.float16)}).rows.tolist() == [0]


def test_texts_and_bytes_are_opaque():
    for value in ("grün", "grün".encode(), bytearray("grün".encode())):
        got = column({"x": value})
        assert got.kind == "opaque" and got.data.tobytes() == "grün".encode()
    assert column({"x": ""}).rows.tolist() == [0]


def test_none_is_no_field_and_a_mask_of_ones_is_left_out():
    assert list(decoded({"input_ids": [1, 2], "x": None, "attention_mask": [1, 1]}).columns) == ["input_ids"]
    with pytest.raises(BadSample, match="without padding"):
        frames_of({"input_ids": [1, 2], "attention_mask": [1, 0]})


@pytest.mark.parametrize("labels, spans", [
    ([-100, 6, 7], [[1, 3]]), ([5, -100, 7], [[0, 1], [2, 3]]), ([-100] * 3, []), ([5, 6, 7], [[0, 3]]),
])  # fmt: skip
def test_labels_that_are_ids_under_a_mask_travel_as_spans(labels, spans):
    got = decoded({"input_ids": [5, 6, 7], "labels": labels}).columns["labels"]
    assert got.kind == "spans" and got.data.reshape(-1, 2).tolist() == spans
    mask = [int(v != -100) for v in labels]
    same = decoded({"input_ids": [5, 6, 7], "loss_mask": mask}).columns["labels"]
    assert same.data.tolist() == got.data.tolist()


def test_other_labels_travel_as_values():
    got = decoded({"input_ids": [5, 6, 7], "labels": [-100, 9, 7]}).columns["labels"]
    assert got.kind == "per_token" and got.dtype == "i32" and got.data.tolist() == [-100, 9, 7]


def test_tensors_of_torch_keep_their_dtype():
    torch = pytest.importorskip("torch")
    got = column({"x": torch.tensor([[1.5, -2.0]], dtype=torch.bfloat16)})
    assert (got.dtype, got.kind) == ("bf16", "ragged")
    assert got.data.tolist() == [[0x3FC0, 0xC000]]
    assert column({"x": torch.ones(2, 2, dtype=torch.float16).t()}).dtype == "f16"
    assert decoded({"input_ids": torch.tensor([3, 4])}).input_ids.tolist() == [3, 4]


def test_frames_depend_on_the_fields_and_not_on_their_order():
    a = {"input_ids": [1, 2], "z": "z", "a": [1, 2]}
    b = dict(reversed(list(a.items())))
    assert list(map(bytes, frames_of(a))) == list(map(bytes, frames_of(b)))


@pytest.mark.parametrize("sample, told", [
    ([1, 2], "must be a dict of fields"),
    ({"ids": [1]}, r"needs the field input_ids, and has 'ids'"),
    ({"input_ids": [[1, 2]]}, r"give input_ids\[0\]"),
    ({"input_ids": [1.5]}, "one list of integers"),
    ({"input_ids": "abc"}, "no array of numbers"),
    ({"input_ids": [-1]}, "holds -1"),
    ({"input_ids": [2**31]}, "holds 2147483648"),
    ({"input_ids": [1], "labels": [1, 2]}, "labels has 2 values for 1 tokens"),
    ({"input_ids": [1], "labels": [1], "loss_mask": [1]}, "give one of them"),
    ({"input_ids": [1], "loss_mask": [2]}, "0 or 1"),
    ({"input_ids": [1], "labels": [2**40]}, "32 bits"),
    ({"input_ids": [1], "x": [1, 2]}, r"packline.encode.per_sample\(x\)"),
    ({"input_ids": [1], "x": per_token([[1], [2]])}, "2 values for 1 tokens"),
    ({"input_ids": [1], "x": per_token(3)}, "one value"),
    ({"input_ids": [1], "x": [[1], [2, 3]]}, "no array"),
    ({"input_ids": [1], "x": {"a": 1}}, "no array of numbers"),
    ({"input_ids": [1], "x": ["a"]}, "no array of numbers"),
    ({"input_ids": [1], "x": np.zeros(1, np.complex64)}, "complex64"),
    ({"input_ids": [1], "x": np.zeros(1, np.uint32)}, "uint32"),
    ({"input_ids": [1], "x": np.zeros((2, 0))}, "no message can hold"),
    ({"input_ids": [1], "": 1}, "field's name"),
    ({"input_ids": [1], 7: 1}, "field's name"),
    ({"input_ids": [1], **{f"f{i}": 1 for i in range(300)}}, "at most 256"),
])  # fmt: skip
def test_what_is_no_sample_is_told(sample, told):
    with pytest.raises(BadSample, match=told):
        frames_of(sample)
