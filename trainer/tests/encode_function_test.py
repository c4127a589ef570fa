"""How a user's function is found, and what it raises put into words."""

import sys
import textwrap

import pytest

from packline.encode import function, messages, worker


@pytest.fixture
def module(tmp_path, monkeypatch):
    """module(code): a module of that code; gives (its name, its folder)."""
    made = []

    def write(code):
        name = f"encoder_{tmp_path.name.replace('-', '_')}_{len(made)}"
        (tmp_path / f"{name}.py").write_text(textwrap.dedent(code))
        made.append(name)
        return name, str(tmp_path)

    monkeypatch.setattr(sys, "path", list(sys.path))
    yield write
    for name in made:
        sys.modules.pop(name, None)


def record(data=b'{"text": "ab", "id": "q7"}', form="json", seed=5, **fields):
    return messages.Record("s0:1", seed, messages.Source("any", {"id": "id", **fields}), form, data)


def outcome(module, code, r=None):
    name, folder = module(code)
    return worker.FunctionEncoder(f"{name}:encode", folder)([r or record()])[0]


def test_a_function_gets_the_record_and_its_seed(module):
    o = outcome(module, "def encode(record, seed): return {'input_ids': [len(record['text']), seed]}")
    assert (o.lost, o.id, len(o.samples)) == ("", "q7", 1)
    assert bytes(o.samples[0][3]) == b"\2\0\0\0\5\0\0\0"


@pytest.mark.parametrize("result, count", [
    ("None", 0), ("[]", 0), ("({'input_ids': [i]} for i in range(3))", 3), ("[{'input_ids': []}]", 1),
])  # fmt: skip
def test_any_number_of_samples(module, result, count):
    assert len(outcome(module, f"def encode(record, seed): return {result}").samples) == count


def test_a_class_is_made_once(module):
    code = """
        class encode:
            def __init__(self): self.calls = 0
            def __call__(self, record, seed):
                self.calls += 1
                return {'input_ids': [self.calls]}
    """
    name, folder = module(code)
    encoder = worker.FunctionEncoder(f"{name}:encode", folder)
    assert [bytes(o.samples[0][3])[0] for o in encoder([record(), record()])] == [1, 2]


def test_an_exception_is_told_with_its_place_and_the_first_ones_with_their_stack(module):
    code = """
        import json
        def inner(record):
            return json.loads('{')
        def encode(record, seed):
            return inner(record)
    """
    name, folder = module(code)
    encoder = worker.FunctionEncoder(f"{name}:encode", folder)
    told = [o.text for o in encoder([record()] * (function.TRACEBACKS + 1))]
    first, last = told[0], told[-1]
    assert first.startswith(f"{folder}/{name}.py:4: json.decoder.JSONDecodeError: Expecting property name")
    assert f"(in {name}:encode)" in first.splitlines()[0]
    assert "Traceback (most recent call last)" in first and "in inner" in first
    assert "worker.py" not in first
    assert len(last.splitlines()) == 1


def test_what_a_function_must_not_do_costs_the_record_alone(module):
    assert outcome(module, "import sys\ndef encode(record, seed): sys.exit(3)").lost == "encode"
    assert outcome(module, "def encode(record, seed): return encode(record, seed)").lost == "encode"
    o = outcome(module, "def encode(record, seed): yield {'input_ids': [1]}; raise KeyError('later')")
    assert (o.lost, o.samples) == ("encode", []) and "KeyError: 'later'" in o.text
    o = outcome(module, "def encode(record, seed): return 7")
    assert o.lost == "encode" and "'int' object is not iterable" in o.text
    o = outcome(module, "def encode(record, seed): return {'input_ids': [-1]}")
    assert o.lost == "encode" and "returned what is no sample: input_ids holds -1" in o.text


def test_whatever_an_exception_says_can_be_told(module):
    o = outcome(module, "def encode(record, seed): raise ValueError(chr(0xD800) + 'x' * 100000)")
    frames = messages.encode_encoded(1, 2, 3, [o])
    assert len(frames) == 1 and 4000 < len(frames[0]) < 20000


def test_records_of_every_form(module):
    code = "def encode(record, seed): return {'input_ids': [1], 'x': repr(record)}"

    def seen(r):
        o = outcome(module, code, r)
        return bytes(o.samples[0][4]).decode() if not o.lost else (o.lost, o.text)

    assert seen(record(b"gr\xc3\xbcn", "text")) == "'grün'"
    assert seen(record(b"\1\0\2\0", "u16")) == "{'input_ids': array([1, 2], dtype=uint16)}"
    assert seen(record(b"[1]")) == ("parse", "the line is a JSON list, not an object")
    assert seen(record(b"{"))[0] == "parse"
    assert seen(record(b"\xff", "text")) == ("parse", "the text is not UTF-8: invalid start byte at byte 0")
    assert seen(record(b"[" * 100000))[0] == "parse"


@pytest.mark.parametrize("data, own", [
    (b'{"id": "q7"}', "q7"), (b'{"id": 12}', "12"), (b'{"id": ""}', ""), (b'{"id": true}', ""), (b'{"id": 1.5}', ""),
    (b'{"id": "\\ud800"}', ""), (b'{"id": null}', ""), (b'{}', ""), (b'{"id": "' + b"x" * 2000 + b'"}', ""),
])  # fmt: skip
def test_a_records_own_id(data, own):
    r = record(data)
    assert worker.own_id(r, worker.value_of(r)) == own


def test_an_own_id_under_another_key():
    r = record(b'{"key": "k1"}', id="key")
    assert worker.own_id(r, worker.value_of(r)) == "k1"


@pytest.mark.parametrize("code, attribute, told", [
    ("import nothing_of_this_name", "encode", "importing .* failed: .*ModuleNotFoundError"),
    ("def encode(:", "encode", r"\.py:1: SyntaxError"),
    ("x = 1/0", "encode", r"\.py:1: ZeroDivisionError"),
    ("import sys; sys.exit(1)", "encode", "SystemExit"),
    ("def other(): pass", "encode", r"\.py\) has no encode"),
    ("encode = 5", "encode", "is a int, which cannot be called"),
    ("class encode:\n    def __init__(self, x): pass", "encode", "making a encode failed"),
])  # fmt: skip
def test_a_function_that_cannot_be_had_is_told(module, code, attribute, told):
    name, folder = module(code)
    with pytest.raises(function.CannotStart, match=told) as e:
        function.load(f"{name}:{attribute}", folder)
    assert str(e.value).startswith(f"encode.function: {name}:{attribute}: ")


def test_a_module_that_is_nowhere_says_where_it_was_looked_for(tmp_path):
    with pytest.raises(function.CannotStart, match="there is no module nowhere.*PYTHONPATH"):
        function.load("nowhere.at_all:encode", str(tmp_path))
    with pytest.raises(function.CannotStart, match="encode.path: /no/such is no folder"):
        function.load("m:f", "/no/such")
