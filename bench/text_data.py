"""Real text for the tokenizer measurement: Python sources that pip installed for the peers, cut to samples."""

import json

from length_data import drawn
from line import ROOT

BYTES_A_TOKEN = 3  # roughly, of source text: lengths are drawn in tokens


def sentencepiece_model():
    """The model that comes in mistral-common."""
    (found,) = ROOT.glob("build/peers/lib/python3*/site-packages/mistral_common/data/tokenizer.model.v1")
    return found


def _texts(mib):
    lengths, left = iter(drawn("openchat_v1_2048", 5)), mib << 20
    for path in sorted(ROOT.glob("build/peers/lib/python3*/site-packages/**/*.py")):
        try:
            text = path.read_text("utf-8")
        except UnicodeDecodeError:
            continue
        at = 0
        while at < len(text):
            size = next(lengths) * BYTES_A_TOKEN
            part, at = text[at : at + size], at + size
            if part.strip() and "\0" not in part:
                yield part
                left -= len(part.encode())
                if left < 0:
                    return


def text_files(folder, mib):
    """The same texts, each ended by a zero byte, and as JSONL of {"text"}."""
    plain, jsonl = folder / f"texts-{mib}.bin", folder / f"texts-{mib}.jsonl"
    if not jsonl.exists():
        texts = list(_texts(mib))
        plain.write_bytes(b"".join(text.encode() + b"\0" for text in texts))
        part = jsonl.with_suffix(".part")
        with part.open("w") as file:
            file.writelines(json.dumps({"text": text}, ensure_ascii=False) + "\n" for text in texts)
        part.replace(jsonl)
    return plain, jsonl
