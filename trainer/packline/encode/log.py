"""Sentences on stderr as the line's other processes write them."""

from __future__ import annotations

import json
import sys
import time
from datetime import datetime


class Log:
    def __init__(self, form: str, job: str, index: int):
        self._json = form == "json"
        self._job, self._index = job, index
        self._spoke: dict = {}  # key -> (when, held back since)

    def warning(self, text: str) -> None:
        self._write("warning", text)

    def error(self, text: str) -> None:
        self._write("error", text)

    def limited(self, key: str, now: float, text: str, every_s: float = 10.0) -> None:
        """A warning that comes at most once per key and period."""
        spoke, held_back = self._spoke.get(key, (now - every_s, 0))
        if now - spoke < every_s:
            self._spoke[key] = (spoke, held_back + 1)
            return
        self._spoke[key] = (now, 0)
        self.warning(text if held_back == 0 else f"{text} (and {held_back} more like it)")

    def _write(self, level: str, text: str) -> None:
        if self._json:
            time_text = datetime.now().astimezone().isoformat(timespec="milliseconds")
            about = {"time": time_text, "level": level, "job": self._job, "role": "encode", "index": self._index}
            line = json.dumps({**about, "text": text})
        else:
            now = time.time()
            stamp = time.strftime("%Y-%m-%dT%H:%M:%S", time.localtime(now)) + f".{int(now * 1000) % 1000:03d}"
            line = f"{stamp} {level:<7} encode-{self._index}: {text}"
        sys.stderr.write(line + "\n")
        sys.stderr.flush()
