"""encode.kind: hf, with a small tokenizer that the tests train themselves."""

import json
import random
import sys

import numpy as np
import pytest

pytest.importorskip("tokenizers")
from packline.encode import messages  # noqa: E402
from packline.encode.function import CannotStart  # noqa: E402
from packline.encode.hf import HfEncoder, identity  # noqa: E402
from packline.samples import decode_samples  # noqa: E402
from small_tokenizer import FORGETFUL, MARKED, PLAIN, STRICT, save_tokenizer, text  # noqa: E402


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    """name of a template -> the folder of its tokenizer."""
    made = {}

    def of(name):
        if name not in made:
            templates = {"plain": PLAIN, "marked": MARKED, "forgetful": FORGETFUL, "strict": STRICT, "none": None}
            made[name] = save_tokenizer(tmp_path_factory.mktemp(name), templates[name])
        return str(made[name])

    return of


def record(value, form="json", fmt="text", **fields):
    names = {"text": "text", "messages": "messages", "role": "role", "content": "content", "id": "id", **fields}
    data = value.encode() if form == "text" else json.dumps(value).encode()
    return messages.Record("s0:1", 7, messages.Source(fmt, names), form, data)


def chat(*turns, fmt="chat", **more):
    return record({"messages": [{"role": r, "content": c} for r, c in turns], **more}, fmt=fmt)


def sample(outcome):
    """(ids, labels or None)."""
    assert outcome.lost == "", outcome.text
    (frames,) = outcome.samples
    s = decode_samples([bytes(f) for f in frames])
    if "labels" not in s.columns:
        return s.input_ids.tolist(), None
    labels = np.full(len(s.input_ids), -100)
    for begin, end in s.columns["labels"].data.reshape(-1, 2):
        labels[begin:end] = s.input_ids[begin:end]
    return s.input_ids.tolist(), labels.tolist()


def tokenizer_of(folder):
    from tokenizers import Tokenizer

    return Tokenizer.from_file(f"{folder}/tokenizer.json")


def learnt(folder, outcome):
    """The texts that carry loss, one for each stretch."""
    ids, labels = sample(outcome)
    parts, tokenizer = [[]], tokenizer_of(folder)
    for label in labels:
        if label == -100:
            parts.append([])
        else:
            parts[-1].append(label)
    return [tokenizer.decode(p, skip_special_tokens=False) for p in parts if p]


@pytest.mark.parametrize("bos, eos", [(False, True), (True, False), (False, False)])
def test_texts_are_the_tokenizers_own_ids(folders, bos, eos):
    folder = folders("none")
    tokenizer = tokenizer_of(folder)
    encoder = HfEncoder(folder, "assistant", bos, eos, chats=False)
    texts = [text(random.Random(i), 1 + i * 7) for i in range(20)] + ["", "<|im_start|>", "\U0001f600 é"]
    records = [record({"text": t}) for t in texts] + [record(t, "text") for t in texts]
    for t, outcome in zip(texts * 2, encoder(records)):
        own = tokenizer.encode(t, add_special_tokens=False).ids
        before, behind = [tokenizer.token_to_id("<s>")] * bos, [tokenizer.token_to_id("<|im_end|>")] * eos
        assert sample(outcome) == ([*before, *own, *behind], None)


def test_a_batch_gives_what_its_records_give_alone(folders):
    pytest.importorskip("transformers")
    folder = folders("plain")
    encoder = HfEncoder(folder, "assistant", False, True, chats=True)
    rng = random.Random(5)
    records = []
    for i in range(60):
        if i % 3 == 0:
            records.append(record({"text": text(rng, rng.randint(0, 40))}))
        elif i % 7 == 0:
            records.append(record({"nothing": 1}))
        else:
            records.append(chat(("user", text(rng, 5)), ("assistant", text(rng, 9)), id=f"r{i}"))
    assert encoder(records) == [encoder([r])[0] for r in records]
    assert encoder([]) == []


CHATS = [
    [("user", "why ?"), ("assistant", "because .")],
    [("system", "short answer !"), ("user", "how"), ("assistant", "slow"), ("user", "why"), ("assistant", "never .")],
    [("user", "grün"), ("assistant", "été naïve \U0001f600")],
    [("user", "only a question")],
    [("assistant", "first"), ("user", "then")],
]


@pytest.mark.parametrize("name", ["marked", "plain"])
def test_only_what_the_assistant_wrote_carries_loss(folders, name):
    pytest.importorskip("transformers")
    folder = folders(name)
    encoder = HfEncoder(folder, "assistant", False, True, chats=True)
    for turns, outcome in zip(CHATS, encoder([chat(*c) for c in CHATS])):
        assert learnt(folder, outcome) == [c + "<|im_end|>" for r, c in turns if r == "assistant"]


def test_marks_and_prefixes_agree_and_are_what_transformers_says(folders):
    transformers = pytest.importorskip("transformers")
    marked = HfEncoder(folders("marked"), "assistant", False, True, chats=True)
    plain = HfEncoder(folders("plain"), "assistant", False, True, chats=True)
    theirs = transformers.AutoTokenizer.from_pretrained(folders("marked"))
    rng = random.Random(11)
    for _ in range(200):
        turns = [("system", text(rng, 4))] * rng.randrange(2)
        for _ in range(rng.randint(1, 4)):
            turns += [("user", text(rng, rng.randint(1, 12))), ("assistant", text(rng, rng.randint(1, 20)))]
        ours = sample(marked([chat(*turns)])[0])
        assert ours == sample(plain([chat(*turns)])[0])
        t = theirs.apply_chat_template(
            [{"role": r, "content": c} for r, c in turns], tokenize=True, return_dict=True,
            return_assistant_tokens_mask=True,
        )
        assert ours[0] == list(t["input_ids"])
        assert ours[1] == [i if m else -100 for i, m in zip(t["input_ids"], t["assistant_masks"])]


def test_all_of_a_chat_carries_loss_when_the_job_says_so(folders):
    pytest.importorskip("transformers")
    folder = folders("forgetful")
    encoder = HfEncoder(folder, "all", False, True, chats=True)
    ids, labels = sample(encoder([chat(("user", "why"), ("assistant", "because"))])[0])
    assert labels is None
    want = "<|im_start|>user\nwhy<|im_end|>\n<|im_start|>assistant\nbecause<|im_end|>\n"
    assert tokenizer_of(folder).decode(ids, skip_special_tokens=False) == want


def test_a_template_whose_turns_depend_on_what_follows_is_refused_by_name(folders):
    pytest.importorskip("transformers")
    encoder = HfEncoder(folders("forgetful"), "assistant", False, True, chats=True)
    one = chat(("user", "why"), ("assistant", "hm</think>because"))
    two = chat(("user", "why"), ("assistant", "hm</think>because"), ("user", "how"), ("assistant", "so"))
    good, bad = encoder([one, two])
    assert learnt(folders("forgetful"), good) == ["hm</think>because<|im_end|>"]
    assert bad.lost == "encode"
    assert "mark it with {% generation %} in the template, or set encode.train: all" in bad.text


def test_an_assistant_who_begins_needs_marks_where_a_template_needs_a_user(folders):
    pytest.importorskip("transformers")
    encoder = HfEncoder(folders("strict"), "assistant", False, True, chats=True)
    outcome = encoder([chat(("assistant", "first"))])[0]
    assert outcome.lost == "encode" and "a chat begins with the user" in outcome.text


def test_keys_of_a_record_may_have_other_names(folders):
    pytest.importorskip("transformers")
    encoder = HfEncoder(folders("plain"), "assistant", False, True, chats=True)
    names = {"messages": "conversation", "role": "from", "content": "value"}
    value = {"conversation": [{"from": "user", "value": "why"}, {"from": "assistant", "value": "so"}]}
    other = encoder([record(value, fmt="chat", **names)])[0]
    assert sample(other) == sample(encoder([chat(("user", "why"), ("assistant", "so"))])[0])
    assert encoder([record({"body": "why"}, text="body")])[0].lost == ""


@pytest.mark.parametrize("bad, lost, told", [
    (record({"messages": []}, fmt="chat"), "parse", "`messages` is no list of messages"),
    (record({}, fmt="chat"), "parse", "`messages` is missing"),
    (record({"messages": [{"content": "x"}]}, fmt="chat"), "parse", "message 0 of `messages` has no `role`"),
    (record({"text": 5}), "parse", "`text` is no text"),
    (record({}), "parse", "`text` is missing"),
    (chat(("system", "x"), ("user", "y")), "encode", "a chat begins with the user"),
])  # fmt: skip
def test_a_record_that_is_none_costs_itself_alone(folders, bad, lost, told):
    pytest.importorskip("transformers")
    encoder = HfEncoder(folders("strict"), "assistant", False, True, chats=True)
    good = chat(("user", "why"), ("assistant", "so"))
    before, outcome, behind = encoder([good, bad, good])
    assert (outcome.lost, outcome.samples) == (lost, []) and told in outcome.text
    assert before == behind and before.lost == ""


def test_what_cannot_be_a_tokenizer_is_told(folders, tmp_path):
    with pytest.raises(CannotStart, match="tokenizer.json is no fast tokenizer"):
        HfEncoder(str(tmp_path), "all", False, False, chats=False)
    nameless = save_tokenizer(tmp_path / "nameless", None, eos_token=None)
    with pytest.raises(CannotStart, match="names no eos_token: set encode.add_eos: false"):
        HfEncoder(str(nameless), "all", False, True, chats=False)
    HfEncoder(str(nameless), "all", False, False, chats=False)


def test_chats_need_transformers_and_a_template(folders, monkeypatch):
    pytest.importorskip("transformers")
    with pytest.raises(CannotStart, match="no chat template that can be used"):
        HfEncoder(folders("none"), "all", False, False, chats=True)
    monkeypatch.setitem(sys.modules, "transformers", None)
    with pytest.raises(CannotStart, match="pip install transformers"):
        HfEncoder(folders("plain"), "all", False, False, chats=True)
    HfEncoder(folders("plain"), "all", False, False, chats=False)  # texts do not


def test_its_identity_has_its_settings_and_files(folders):
    line = identity(folders("plain"), "all", False, True, "")
    assert line.startswith("hf train=all add_bos=0 add_eos=1 files=tokenizer.json:")
    assert line.endswith(",chat_template.jinja:0")
    assert line != identity(folders("marked"), "all", False, True, "")
    assert identity("/no/such", "assistant", True, False, "2") == (
        "hf train=assistant add_bos=1 add_eos=0 "
        "files=tokenizer.json:0,tokenizer_config.json:0,chat_template.jinja:0 version=2"
    )
