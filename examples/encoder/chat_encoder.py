"""Chats as bytes, one token a byte, with a field of its own: an encoder without any library.

A record's chance comes from its seed alone, so that it is the same on every host and after every restart.
"""

import random

ROLES = {"system": 256, "user": 257, "assistant": 258}
END = 259


def encode(record, seed):
    rng = random.Random(seed)
    ids, labels, turn_of = [], [], []
    for number, message in enumerate(record["messages"]):
        if message["role"] not in ROLES:
            raise ValueError(f"message {number} has the role {message['role']!r}")
        text = list(message["content"].encode())
        tokens = [ROLES[message["role"]], *text, END]
        learnt = message["role"] == "assistant"
        ids += tokens
        labels += [-100, *text, END] if learnt else [-100] * len(tokens)
        turn_of += [number] * len(tokens)
    return {
        "input_ids": ids,
        "labels": labels,
        "turn_of": turn_of,  # one a token, so it is cut and packed with them
        "loss_weight": [round(0.5 + rng.random(), 3)] * len(ids),
    }
