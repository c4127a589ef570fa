"""A record as samples: docs/stream.md section 4, with lib/encode/README.md for what each encoder makes."""

import json
from dataclasses import dataclass, field

from reference_packing import Candidate
from reference_parts import IGNORE, Sample, made_of
from reference_sources import Ids, Json

BYTES_BOS, BYTES_EOS = 256, 257
INT32_MAX = 2**31 - 1


class Lost(Exception):
    """The record is lost; the argument is the word of the ledger."""


class Number(int):
    """An integer that remembers how it was written."""

    written = ""


class Real(float):
    written = ""


class Object(dict):
    """A JSON object that remembers which keys it had twice."""

    def __init__(self, items):
        super().__init__(items)
        names = [k for k, _ in items]
        self.twice = {k for k in names if names.count(k) > 1}


def _number(kind, text):
    n = kind(text)
    n.written = text
    return n


@dataclass
class Record:
    lost: str = ""  # "parse" or "encode": it gave no samples
    made: list = field(default_factory=list)  # of Sample and LostSample, in order
    passed_over: bool = False  # of the other split: it has its place and no more


def candidates_of(records):
    """The samples that are to be packed, in order; `number` is the record's place in `records`."""
    return [Candidate(s.tokens, number=number, index=i, last=i + 1 == len(record.made), sample=s)
            for number, record in enumerate(records) for i, s in enumerate(record.made) if isinstance(s, Sample)]


def parse(data, read_keys):
    """The record as an Object. Lost when it is no JSON object in UTF-8, or has a key that is read twice."""
    def refuse(name):
        raise ValueError(name)

    try:
        record = json.loads(data.decode("utf-8"), parse_int=lambda t: _number(Number, t), parse_constant=refuse,
                            parse_float=lambda t: _number(Real, t), object_pairs_hook=Object)
    except ValueError as e:
        raise Lost("parse") from e
    if not isinstance(record, dict) or record.twice & read_keys:
        raise Lost("parse")
    return record


def own_id(record, key):
    value = record.get(key)
    if isinstance(value, str):
        text = value
    else:
        text = value.written if isinstance(value, (Number, Real)) else ""
    if len(text.encode()) > 1024:
        raise Lost("parse")
    return text


def integers(values, least):
    if not isinstance(values, list):
        raise Lost("parse")
    for v in values:
        if not isinstance(v, Number) or not least <= v <= INT32_MAX:
            raise Lost("parse")
    return [int(v) for v in values]


def tokens_columns(record, fields):
    """(columns, labels) of a record of ready tokens; labels None: every token carries loss."""
    key = fields["input_ids"]
    if key not in record:
        raise Lost("parse")
    ids = integers(record[key], 0)
    labels, mask = record.get(fields["labels"]), record.get(fields["loss_mask"])
    if labels is not None and mask is not None:
        raise Lost("parse")
    if labels is not None:
        labels = integers(labels, -(2**31))
    if mask is not None:
        if not isinstance(mask, list) or not all(isinstance(v, (bool, Number)) and v in (0, 1) for v in mask):
            raise Lost("parse")
        if len(mask) == len(ids):
            labels = [t if m else IGNORE for t, m in zip(ids, mask)]
        else:
            raise Lost("parse")
    if labels is not None and len(labels) != len(ids):
        raise Lost("parse")
    columns = {"input_ids": ("i", ids)}
    read = [fields[k] for k in ("input_ids", "labels", "loss_mask", "id")]
    for name, values in record.items():
        if name in ("input_ids", "labels", *read) or not isinstance(values, list) or not values:
            continue
        if len(values) == len(ids) and all(isinstance(v, (Number, Real)) for v in values):
            columns[name] = ("q" if all(isinstance(v, Number) for v in values) else "d", values)
    return columns, labels


def text_tokens(record, job, fields):
    text = record.get(fields["text"])
    if not isinstance(text, str):
        raise Lost("parse")
    return plain_tokens(text.encode(), job)


def plain_tokens(text, job):
    encode = job["encode"]
    ids = [BYTES_BOS] * encode["add_bos"] + list(text) + [BYTES_EOS] * encode["add_eos"]
    return {"input_ids": ("i", ids)}, None


def checked_text(data):
    """Plain text: UTF-8 without a NUL."""
    try:
        data.decode("utf-8")
    except ValueError as e:
        raise Lost("parse") from e
    if b"\0" in data:
        raise Lost("parse")
    return data


def turn_of(turn, fields):
    """(role, content) of a chat's turn."""
    role, content = fields["role"], fields["content"]
    if not isinstance(turn, dict) or turn.twice & {role, content} or not isinstance(turn.get(role), str):
        raise Lost("parse")
    if content not in turn and "tool_calls" not in turn:
        raise Lost("parse")
    said = turn.get(content)
    if said is not None and not isinstance(said, str):
        raise Lost("parse")
    return turn[role].encode(), (said or "").encode()


def chat_tokens(record, job, fields):
    """Roles as text; loss on the assistant's turns, or on all."""
    turns = record.get(fields["messages"])
    if not isinstance(turns, list) or not turns:
        raise Lost("parse")
    turns = [turn_of(turn, fields) for turn in turns]
    encode, ids, labels = job["encode"], [], []

    def add(tokens, loss):
        ids.extend(tokens)
        labels.extend(tokens if loss else [IGNORE] * len(tokens))

    if encode["add_bos"]:
        add([BYTES_BOS], False)
    eos, newline = encode["add_eos"], b""
    for role, content in turns:
        add(newline + b"<|" + role + b"|>\n", False)
        if role == b"assistant":
            add(content if eos else content + b"\n", True)
            add([BYTES_EOS] * eos, True)
            newline = b"\n" if eos else b""
        else:
            add(content, False)
            newline = b"\n"
    if role != b"assistant":
        add(newline, False)
        add([BYTES_EOS] * eos, False)
    return {"input_ids": ("i", ids)}, labels if encode["train"] == "assistant" else None


def columns_of(job, settings, record):
    """(columns, labels, its own id) of a record as it is stored."""
    names = ("text", "messages", "role", "content", "input_ids", "labels", "loss_mask", "id")
    fields = {**{n: n for n in names}, **settings.get("fields", {})}
    if isinstance(record, Ids):
        if not all(0 <= v <= INT32_MAX for v in record.values):
            raise Lost("parse")
        return {"input_ids": ("i", record.values)}, None, ""
    if not isinstance(record, Json):
        return *plain_tokens(checked_text(record.data), job), ""
    kind = settings["format"]
    read = {"text": ["text"], "chat": ["messages"], "tokens": ["input_ids", "labels", "loss_mask"]}[kind]
    record = parse(record.data, {fields[k] for k in [*read, "id"]})
    name = own_id(record, fields["id"])
    if kind == "tokens":
        return *tokens_columns(record, fields), name
    return *(text_tokens if kind == "text" else chat_tokens)(record, job, fields), name


def samples_of(job, source, number, copy, record):
    """What becomes of a record: its one sample or the pieces of it, or how it or they were lost."""
    try:
        columns, labels, name = columns_of(job, job["sources"][source], record)
    except Lost as e:
        return Record(lost=e.args[0])
    sample_id = f"s{source}:{number}" + (f"+{copy}" if copy else "")
    if name:
        sample_id = f"{name}@{sample_id}"
    labels = list(columns["input_ids"][1] if labels is None else labels)
    labels[:1] = [IGNORE] * len(labels[:1])
    return Record(made=made_of(Sample(sample_id, columns, labels), job["pack"]))
