"""Writes chats.jsonl: 800 questions about small sums, and their answers. The same file every
time."""

import json
import random
from pathlib import Path

WORDS = {"+": "plus", "-": "minus", "*": "times"}


def chats(rng, count):
    for _ in range(count):
        turns = []
        for _ in range(rng.choice((1, 1, 1, 2, 4))):
            a, b, sign = rng.randrange(10), rng.randrange(10), rng.choice("+-*")
            value = {"+": a + b, "-": a - b, "*": a * b}[sign]
            turns.append({"role": "user", "content": f"{a} {WORDS[sign]} {b}?"})
            turns.append({"role": "assistant", "content": f"{a} {sign} {b} = {value}"})
        yield {"messages": turns}


if __name__ == "__main__":
    with open(Path(__file__).with_name("chats.jsonl"), "w") as f:
        for chat in chats(random.Random(17), 800):
            f.write(json.dumps(chat) + "\n")
