"""Text through sentencepiece to packs: against the linked library alone, with as many threads."""

import os

from line import BIN, WORK, run_json, run_line, write_job
from rounds import Row, in_turns, ratio
from text_data import sentencepiece_model, text_files

MIB = 24


def measure(rounds):
    threads = os.cpu_count()
    model, (texts, jsonl) = sentencepiece_model(), text_files(WORK, MIB)
    job = write_job(
        "text",
        jsonl.name,
        format="text",
        encode=f"{{kind: sentencepiece, model: {model}, threads: {threads}}}",
        over_long="split",
    )
    run_line(job, "ready.py", ["numpy"])
    alone = [BIN / "bench_tokenise", model, texts, threads]
    found = in_turns(
        rounds,
        {
            "packline": lambda: run_line(job, "ready.py", ["numpy"]),
            "sentencepiece": lambda: run_json(alone),
        },
    )
    rates = {side: [one["tokens"] / one["seconds"] / 1e6 for one in all_] for side, all_ in found.items()}
    what = f"text to packs by sentencepiece, {threads} threads, M tokens/s"
    against = "the library alone"
    return [Row("text", what, against, ratio(rates["packline"], rates["sentencepiece"]), 0.9, rounds=rates)]
