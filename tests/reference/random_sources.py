"""Other forms for the sources of a random job, drawn apart from their records, which lie in JSONL files: arrays, plain
text, whole files, Megatron pairs, packed and not; chats; fields of other names; records set aside."""

import json
import re

import source_files

ROLES = ["system", "user", "user", "assistant", "assistant", "tool"]
BAD_TURNS = [[], [7], [{"content": "no role"}], [{"role": "user"}], [{"role": 1, "content": "x"}],
             [{"role": "user", "content": 5}], {"role": "user"}, "user: x"]
BAD_TEXT = [b"\xff\xfe", b"a\0b", b"\xc3", b"\xed\xa0\x80"]
BALANCED = re.compile(rb"^(\{.*\}|\[.*\]|null)$", re.DOTALL)
OTHER_NAMES = {"text": "body", "messages": "turns", "role": "from", "content": "value", "input_ids": "ids",
               "labels": "targets", "loss_mask": "mask", "id": "key"}
FILES_MAX = 40  # of `read_as: files`


def draw_sources(rng, job, folder):
    """Changes job["sources"], whose files lie in `folder`, and rewrites these."""
    if job["encode"]["kind"] == "bytes":
        job["encode"]["train"] = rng.choice(["assistant", "all"])
    pairs = job["encode"]["kind"] == "tokens" and rng.random() < 0.4
    for s, source in enumerate(job["sources"]):
        files = [f.read_bytes() for f in taken(folder, source["path"])]
        if pairs:  # a pair has no further columns, and a window's samples have the same ones
            files = [b"\n".join(map(without_columns, lines(data))) for data in files]
        if source["format"] == "text" and rng.random() < 0.3:
            source["format"] = "chat"
            files = [b"\n".join(as_chat(rng, line) for line in lines(data)) for data in files]
        if pairs and rng.random() < 0.7:
            write_pairs(rng, folder, s, source, files)
        elif source["format"] == "text" and rng.random() < 0.5:
            write_plain(rng, folder, s, source, files)
        else:
            write_json(rng, folder, s, source, files)


def taken(folder, pattern):
    """The files of the pattern, each gone once the next is asked for."""
    for file in sorted(folder.glob(pattern)):
        yield file
        file.unlink()


def lines(data):
    return data.removeprefix(b"\xef\xbb\xbf").split(b"\n")


def good(line):
    """The record as a dict, or None."""
    try:
        record = json.loads(line)
    except ValueError:
        return None
    return record if isinstance(record, dict) and line.count(b'"text"') + line.count(b'"input_ids"') == 1 else None


def without_columns(line):
    record = good(line)
    if record is None:
        return line
    return json.dumps({k: v for k, v in record.items() if k not in ("whole", "a real", "mixed")}).encode()


def as_chat(rng, line):
    record = good(line)
    if record is None or not isinstance(record["text"], str):
        return line
    turns, text = [], record.pop("text")
    if rng.random() < 0.03:
        record["messages"] = rng.choice(BAD_TURNS)
        return json.dumps(record).encode()
    for said in source_files.cut(rng, text) + source_files.cut(rng, text[: len(text) // 3]):
        turn = {"role": rng.choice(ROLES), "content": said}
        if rng.random() < 0.05:
            turn["content"] = None
        elif rng.random() < 0.05:
            turn = {"role": "assistant", "tool_calls": [{"role": "x", "role ": 1}]}
        turns.append(turn)
    record["messages"] = turns
    return json.dumps(record, ensure_ascii=rng.random() < 0.5).encode()


def renamed(value, names):
    if isinstance(value, dict):
        return {names.get(k, k): renamed(v, names) for k, v in value.items()}
    return [renamed(v, names) for v in value] if isinstance(value, list) else value


def rename_fields(rng, source, files):
    """Some keys get other names in the job and in the good records; ids that are numbers keep how they are written."""
    names = {a: b for a, b in OTHER_NAMES.items() if rng.random() < 0.5}
    if {"labels", "loss_mask"} & set(names):  # else what makes a record bad would not be read, and it would be good
        names["input_ids"] = OTHER_NAMES["input_ids"]
    source["fields"] = names

    def line_of(line):
        record = good_or_chat(line)
        return line if record is None else json.dumps(renamed(record, names)).encode()

    return [b"\n".join(map(line_of, lines(data))) for data in files]


def good_or_chat(line):
    record = good(line)
    if record is None and line.count(b'"messages"') == 1:
        try:
            record = json.loads(line)
        except ValueError:
            return None
    return record


def file_names(s, files):
    """(stem, pattern of the stems) of a source's files."""
    if len(files) == 1:
        return [f"s{s}"], f"s{s}"
    return [f"s{s}-{f}" for f in range(len(files))], f"s{s}-*"


def write_pairs(rng, folder, s, source, files):
    stems, pattern = file_names(s, files)
    source["path"] = pattern + rng.choice([".idx", ".bin", ".*"])
    source["record"] = rng.choice(["document", "document", "sequence"])
    if rng.random() < 0.5:
        source["read_as"] = "megatron"
    for stem, data in zip(stems, files):
        records = [good(line) for line in lines(data)]
        documents = [r["input_ids"] for r in records if r and all(0 <= v for v in r["input_ids"])]
        source_files.megatron(rng, folder / stem, documents, rng.choice(list(source_files.DTYPES)), source["record"])


def write_plain(rng, folder, s, source, files):
    """Lines of text, or a file a record."""
    records = [[good(line) for line in lines(data)] for data in files]
    texts = [[r["text"].encode() if rng.random() < 0.97 else rng.choice(BAD_TEXT) for r in of if r] for of in records]
    newline = rng.choice([b"\n", b"\r\n"])
    contents = [newline.join(t) + rng.choice([b"", newline]) for t in texts]
    source["read_as"] = "lines"
    if rng.random() < 0.3:
        source["read_as"] = "files"
        contents = [t for of in texts for t in of][:FILES_MAX] or [b""]
    stems, pattern = file_names(s, contents)
    ending = rng.choice([".txt", ".text"])
    if source["read_as"] == "lines" and ending == ".txt" and rng.random() < 0.5:
        source["read_as"] = "auto"
    source["path"] = pattern + ending + "*"
    for stem, data in zip(stems, contents):
        data = rng.choice([b"", b"", b"\xef\xbb\xbf"]) + data
        how = rng.choice(["", "", ".gz", ".zst"])
        (folder / (stem + ending + how)).write_bytes(source_files.packed(rng, data, how))


def write_json(rng, folder, s, source, files):
    """JSONL and arrays, each file in its own way where names decide."""
    if rng.random() < 0.3:
        files = rename_fields(rng, source, files)
    stems, pattern = file_names(s, files)
    source["path"] = pattern + ".*"
    forced = rng.choice([None, None, "jsonl", "json"])
    if forced:
        source["read_as"] = forced
    for stem, data in zip(stems, files):
        ending, is_array = rng.choice([(".jsonl", False), (".data", False), (".json", False), (".json", True)])
        if forced:
            is_array = forced == "json"
        if is_array:
            data = source_files.array(rng, [line for line in map(bytes.strip, lines(data)) if BALANCED.match(line)
                                            and balanced(line)])
        elif ending == ".json" and not forced and data.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"["):
            ending = ".jsonl"  # its first line would make an array of it
        how = rng.choice(["", "", ".gz", ".zst"])
        (folder / (stem + ending + how)).write_bytes(source_files.packed(rng, data, how))


def balanced(line):
    """Whether it may be an element: its brackets match and nothing stands behind it."""
    depth = [0]
    for mark in re.findall(rb'"(?:[^"\\]|\\.)*"|[][{}]', line):
        if mark in (b"[", b"{"):
            depth.append(depth[-1] + 1)
        elif mark in (b"]", b"}"):
            depth.append(depth[-1] - 1)
    return depth[-1] == 0 and 0 not in depth[1:-1] and line.count(b'"') % 2 == 0
