"""The Hugging Face encoder, `encode.kind: hf`: a fast tokenizer's folder, texts and chats.

Texts need the tokenizers library alone. Chats are rendered by the folder's chat template, which transformers does.
"""

from __future__ import annotations

import json
import os
import re
from typing import Any, List, Optional, Tuple

import numpy as np

from . import function, messages
from .fields import IGNORE, frames_of
from .function import CannotStart

FILES = ("tokenizer.json", "tokenizer_config.json", "chat_template.jinja")
GENERATION = re.compile(r"\{%[-+]?\s*generation\b")
_NAME = "encode.kind: hf"


def identity(folder: str, train: str, add_bos: bool, add_eos: bool, version: str) -> str:
    """What an encoder of these settings is, in one line; lib/encode/process_identity.cc says the same. The sizes of
    the files tell most other tokenizers apart; the job's fingerprint has their content."""
    sizes = ",".join(f"{name}:{_size(os.path.join(folder, name))}" for name in FILES)
    text = f"hf train={train} add_bos={int(add_bos)} add_eos={int(add_eos)} files={sizes}"
    return text + (f" version={version}" if version else "")


def _size(path: str) -> int:
    try:
        return os.path.getsize(path)
    except OSError:
        return 0


class HfEncoder:
    """Batches of records through one tokenizer. `chats`: whether the job has any."""

    def __init__(self, folder: str, train: str, add_bos: bool, add_eos: bool, chats: bool):
        self._tokenizer = _tokenizer(folder)
        self._encode_fast = getattr(self._tokenizer, "encode_batch_fast", self._tokenizer.encode_batch)
        config = _config(folder)
        self._before = [self._special(config, "bos_token", "encode.add_bos")] if add_bos else []
        self._behind = [self._special(config, "eos_token", "encode.add_eos")] if add_eos else []
        self._assistant_only = train == "assistant"
        self._chats = Chats(folder) if chats else None
        self._describe = function.Describer()

    def _special(self, config: dict, key: str, setting: str) -> int:
        token = config.get(key)
        token = token.get("content") if isinstance(token, dict) else token
        number = self._tokenizer.token_to_id(token) if isinstance(token, str) else None
        if number is None:
            raise CannotStart(
                f"{_NAME}: the tokenizer names no {key}: set {setting}: false, or name it in tokenizer_config.json"
            )
        return number

    def __call__(self, records: List[messages.Record]) -> List[messages.Outcome]:
        outcomes: List[Optional[messages.Outcome]] = [None] * len(records)
        texts, spans, at, ids = [], [], [], []
        for i, r in enumerate(records):
            try:
                text, loss, own = self._text_of(r)
            except ValueError as e:
                outcomes[i] = messages.Outcome("parse", str(e), "", [])
                continue
            except Exception as e:  # of a template
                outcomes[i] = messages.Outcome("encode", self._describe(e, "the chat template"), "", [])
                continue
            texts.append(text)
            spans.append(loss)
            at.append(i)
            ids.append(own)
        for i, own, sample in zip(at, ids, self._samples(texts, spans)):
            outcomes[i] = messages.Outcome("", "", own, [frames_of(sample)])
        return outcomes

    def _text_of(self, r: messages.Record) -> tuple:
        """(text, spans of its characters that carry loss or None for all, the record's own id)."""
        from .worker import own_id, value_of

        record = value_of(r)
        own = own_id(r, record)
        if isinstance(record, str):
            return record, None, own
        if r.source.format == "chat":
            if self._chats is None:
                raise ValueError("the record is a chat, and the job has no source of chats")
            text, loss = self._chats.render(record, r.source.fields, self._assistant_only)
            return text, loss, own
        key = r.source.fields.get("text", "text")
        text = record.get(key)
        if not isinstance(text, str):
            raise ValueError(f"`{key}` is {'missing' if text is None else 'no text'}")
        return text, None, own

    def _samples(self, texts: List[str], spans: list) -> list:
        if all(s is None for s in spans):
            encodings = self._encode_fast(texts, add_special_tokens=False)
        else:  # where a token stands in its text is worked out for these alone
            encodings = self._tokenizer.encode_batch(texts, add_special_tokens=False)
        samples = []
        for encoding, loss in zip(encodings, spans):
            if loss is None:
                samples.append({"input_ids": [*self._before, *encoding.ids, *self._behind]})
            elif loss is ALL:
                samples.append({"input_ids": encoding.ids})
            else:
                ids = np.array(encoding.ids, np.int64)
                samples.append({"input_ids": ids, "labels": np.where(_inside(encoding.offsets, loss), ids, IGNORE)})
        return samples


ALL: Tuple = ("all",)  # of a chat: every token carries loss


def _inside(offsets: list, spans: list) -> np.ndarray:
    """Which tokens begin in one of the spans, which ascend."""
    begins = np.fromiter((begin for begin, _ in offsets), np.int64, len(offsets))
    inside = np.zeros(len(offsets), bool)
    for begin, end in spans:
        inside |= (begins >= begin) & (begins < end)
    return inside


class Chats:
    """Chats as texts, by a tokenizer's chat template."""

    def __init__(self, folder: str):
        try:
            os.environ.setdefault("HF_HUB_OFFLINE", "1")  # a folder is all there is
            from transformers import AutoTokenizer
            from transformers.utils.chat_template_utils import render_jinja_template
        except ImportError as e:
            raise CannotStart(
                f"{_NAME}: a source of chats needs transformers, which renders the chat template: "
                f"pip install transformers jinja2 ({e})"
            ) from None
        try:
            self._tokenizer = AutoTokenizer.from_pretrained(folder)
            template = self._tokenizer.get_chat_template()
        except Exception as e:
            raise CannotStart(f"{_NAME}: {folder} has no chat template that can be used: {e}") from None
        self._render = render_jinja_template
        self._template = {"chat_template": template, **self._tokenizer.special_tokens_map}
        self._has_marks = GENERATION.search(template) is not None

    def render(self, record: dict, fields: dict, assistant_only: bool) -> tuple:
        """(text, spans of characters that carry loss or ALL). ValueError: the record is no chat."""
        turns = turns_of(record, fields)
        tools = record.get("tools")
        more = {"tools": tools} if isinstance(tools, list) and tools else {}
        if not assistant_only:
            return self._text(turns, **more), ALL
        if self._has_marks:
            return self._marked(turns, more)
        return self._by_prefixes(turns, more)

    def _text(self, turns: list, **more) -> str:
        """As apply_chat_template(tokenize=False), which takes no chat of no turns."""
        return self._render(conversations=[turns], **self._template, **more)[0][0]

    def _marked(self, turns: list, more: dict) -> tuple:
        """The template says itself, by {% generation %}, what the assistant wrote."""
        rendered, spans = self._render(
            conversations=[turns], return_assistant_tokens_mask=True, **self._template, **more
        )
        return rendered[0], [tuple(s) for s in spans[0]]

    def _by_prefixes(self, turns: list, more: dict) -> tuple:
        """An assistant's turn is what its chat has beyond the chat before it with the generation prompt behind,
        without the white space at its end. The template must write each turn the same whatever follows."""
        text = self._text(turns, **more)
        spans = []
        for i, turn in enumerate(turns):
            if turn.get("role") != "assistant":
                continue
            before = self._before(turns[:i], more)
            until = self._text(turns[: i + 1], **more) if i + 1 < len(turns) else text
            if not text.startswith(until) or not until.startswith(before):
                raise NotByPrefixes(
                    f"where turn {i} begins and ends cannot be seen from this chat template, which writes turns "
                    "otherwise when others follow: mark it with {% generation %} in the template, or set "
                    "encode.train: all"
                )
            end = len(until.rstrip())  # a template's newline is no part of what was written
            if end > len(before):
                spans.append((len(before), end))
        return text, spans


    def _before(self, turns: list, more: dict) -> str:
        """What the assistant is given to go on from."""
        try:
            return self._text(turns, add_generation_prompt=True, **more)
        except Exception:
            if turns:
                raise
            raise NotByPrefixes(
                "the assistant's turn is the first, and this chat template writes no chat of no turns: mark it with "
                "{% generation %} in the template, or set encode.train: all"
            ) from None


class NotByPrefixes(Exception):
    """Where an assistant's turn begins and ends cannot be seen from a template without marks."""


def turns_of(record: dict, fields: dict) -> List[dict]:
    """The messages as a template expects them: role and content under these names, all else as it is."""
    key = fields.get("messages", "messages")
    turns = record.get(key)
    if not isinstance(turns, list) or not turns:
        raise ValueError(f"`{key}` is {'missing' if turns is None else 'no list of messages'}")
    role, content = fields.get("role", "role"), fields.get("content", "content")
    out = []
    for i, turn in enumerate(turns):
        if not isinstance(turn, dict) or not isinstance(turn.get(role), str):
            raise ValueError(f"message {i} of `{key}` has no `{role}`")
        if (role, content) != ("role", "content"):
            rest = {k: v for k, v in turn.items() if k not in (role, content)}
            turn = {**rest, "role": turn[role], "content": turn.get(content)}
        out.append(turn)
    return out


def _tokenizer(folder: str) -> Any:
    try:
        from tokenizers import Tokenizer
    except ImportError as e:
        raise CannotStart(f"{_NAME} needs the tokenizers library: pip install tokenizers ({e})") from None
    path = os.path.join(folder, FILES[0])
    try:
        tokenizer = Tokenizer.from_file(path)
    except Exception as e:  # tokenizers raises Exception itself
        raise CannotStart(f"encode.model: {path} is no fast tokenizer: {e}") from None
    tokenizer.no_padding()
    tokenizer.no_truncation()
    return tokenizer


def _config(folder: str) -> dict:
    path = os.path.join(folder, FILES[1])
    try:
        with open(path, "rb") as f:
            config = json.load(f)
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as e:
        raise CannotStart(f"encode.model: {path} cannot be read: {e}") from None
    return config if isinstance(config, dict) else {}
