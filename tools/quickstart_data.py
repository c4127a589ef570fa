"""Writes the quickstart's chat records and its job file, the same bytes at every call.

    python3 quickstart_data.py OUT [--wheels FOLDER]

The records come from the Berkeley function calling leaderboard (package bfcl-eval), the tokenizer from
mistral-common; both are read out of their wheels in FOLDER, nothing is installed. A record is a chat: the
schemas of the functions as system message, each user turn, and the right calls, as JSON, as the assistant's
answer. Without those wheels the records are the docstrings (user) and sources (assistant) of the
functions of Python's own library, and the job's encoder is `bytes`.
"""

import argparse
import ast
import json
import os
import sys
import sysconfig
import textwrap
import zipfile
from pathlib import Path

CHATS = "bfcl_eval/data/BFCL_v4_"
ANSWERS = "bfcl_eval/data/possible_answer/BFCL_v4_"
NOT_JSONL = "format_sensitivity"
MODEL = "mistral_common/data/mistral_instruct_tokenizer_240323.model.v3"
REFUSAL = "None of the functions I can call answers this."

JOB = """\
# Written by tools/quickstart. Try: packline check {name}; packline count {name}
version: 1
name: quickstart
seed: 17
epochs: 1
state: .packline
sources:
  - {{path: "{data}", format: chat}}
shuffle: {{kind: full}}
lanes: 2
encode: {encode}
pack: {{capacity: 2048, strategy: best_fit_decreasing, packs_per_window: 64, lookahead_packs: 32,
       over_long: drop, dp_size_multiple: 4}}
deliver: {{dp_size: 4}}
"""
MODEL_ENCODER = "{kind: sentencepiece, model: tokenizer.model, threads: 2, roles: model, add_eos: true}"
BYTES_ENCODER = "{kind: bytes, threads: 2, add_eos: true}"


def as_json(value):
    return json.dumps(value, ensure_ascii=False)


def read_jsonl(archive, name):
    return [json.loads(line) for line in archive.read(name).decode().splitlines() if line.strip()]


def chat_of(row, answers):
    """One record: `answers` is the row's ground truth, None where no function fits."""
    messages = []
    if row.get("function"):
        schemas = "\n".join(as_json(schema) for schema in row["function"])
        messages.append({"role": "system", "content": "You can call these functions:\n" + schemas})
    turns = row["question"]
    for number, turn in enumerate(turns):
        # One turn has one answer; several turns have a list of calls each.
        answer = answers[number] if answers and len(turns) > 1 and number < len(answers) else answers
        added = row.get("missed_function", {}).get(str(number))
        if not turn and added:
            turn = [{"role": "user", "content": "You can now also call: " + ", ".join(map(str, added))}]
        messages.extend({"role": m["role"], "content": m["content"]} for m in turn)
        messages.append({"role": "assistant", "content": as_json(answer) if answer else REFUSAL})
    return {"id": row["id"], "messages": messages}


def bfcl_records(wheel):
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        chats = sorted(n for n in names if n.startswith(CHATS) and n.endswith(".json"))
        for name in chats:
            kind = name[len(CHATS):-len(".json")]
            if kind == NOT_JSONL:
                continue
            truth = f"{ANSWERS}{kind}.json"
            answers = {}
            if truth in names:
                answers = {row["id"]: row["ground_truth"] for row in read_jsonl(archive, truth)}
            for row in read_jsonl(archive, name):
                yield chat_of(row, answers.get(row["id"]))


def library_records(root):
    """Docstring and source of every documented function below `root` (Python's own library)."""
    skip = {"test", "tests", "site-packages", "dist-packages", "__pycache__"}
    for folder, folders, files in os.walk(root):
        folders[:] = sorted(f for f in folders if f not in skip)
        for file in sorted(f for f in files if f.endswith(".py")):
            path = Path(folder, file)
            yield from functions_of(path, path.relative_to(root).with_suffix(""))


def functions_of(path, module):
    try:
        text = path.read_text(encoding="utf-8")
        tree, lines = ast.parse(text), text.splitlines()
    except (SyntaxError, UnicodeDecodeError):
        return  # a template or a test of the parser
    for node in ast.walk(tree):
        if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            continue
        question = ast.get_docstring(node)
        answer = textwrap.dedent("\n".join(lines[node.lineno - 1:node.end_lineno]))
        if question:
            name = ".".join([*module.parts, node.name])
            yield {
                "id": f"{name}:{node.lineno}",
                "messages": [
                    {"role": "user", "content": f"Write {name}.\n{question}"},
                    {"role": "assistant", "content": answer},
                ],
            }


def write_whole(path, data):
    """A file is there whole or not at all, so an interrupted run is simply run again."""
    part = path.with_name(path.name + ".part")
    part.write_bytes(data)
    part.replace(path)


def write_jsonl(path, records):
    lines = [json.dumps(record, ensure_ascii=False) for record in records]
    write_whole(path, ("\n".join(lines) + "\n").encode())
    return len(lines)


def one_wheel(folder, prefix):
    found = sorted(Path(folder).glob(prefix + "*.whl")) if folder else []
    return found[-1] if found else None


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out", type=Path, help="folder for job.yaml, data/ and tokenizer.model")
    parser.add_argument("--wheels", type=Path, help="folder with the wheels of bfcl-eval and mistral-common")
    args = parser.parse_args()
    (args.out / "data").mkdir(parents=True, exist_ok=True)
    chats, tokenizer = one_wheel(args.wheels, "bfcl_eval"), one_wheel(args.wheels, "mistral_common")

    data = "data/functions.jsonl" if chats else "data/library.jsonl"
    if chats:
        count = write_jsonl(args.out / data, bfcl_records(chats))
        source = "Berkeley function calling chats (bfcl-eval)"
    else:
        count = write_jsonl(args.out / data, library_records(Path(sysconfig.get_paths()["stdlib"])))
        source = "docstrings and functions of Python's own library (bfcl-eval could not be had)"
    encode = BYTES_ENCODER
    if tokenizer:
        with zipfile.ZipFile(tokenizer) as archive:
            write_whole(args.out / "tokenizer.model", archive.read(MODEL))
        encode = MODEL_ENCODER
    job = JOB.format(name="job.yaml", data=data, encode=encode)
    write_whole(args.out / "job.yaml", job.encode())
    size = (args.out / data).stat().st_size
    print(f"{count:,} records, {size / 1e6:.1f} MB: {source}; tokenizer: "
          f"{'Mistral v3 (mistral-common)' if tokenizer else 'bytes (mistral-common could not be had)'}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
