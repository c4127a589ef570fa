"""Ready tokens, JSONL on disk, to `hf` tensors in the trainer's process: against ms-swift's streaming path."""

import statistics

from line import ROOT, WORK, run_line, write_job
from rounds import Peer, Row, in_turns, ratio
from token_data import token_file

OURS, THEIRS = 40_000_000, 2_000_000  # tokens: seconds of work for either


def measure(rounds):
    job = write_job("jsonl", token_file(WORK, OURS).name)
    run_line(job, "ready.py")  # makes the index, which later runs keep
    command = [ROOT / "build/peers/bin/python", ROOT / "bench/peers/swift_stream.py", token_file(WORK, THEIRS), "all"]
    with Peer(command, WORK / "swift_stream.log") as swift:
        found = in_turns(rounds, {"packline": lambda: run_line(job, "ready.py"), "ms-swift": swift})
    for side, least in (("packline", OURS), ("ms-swift", THEIRS)):
        assert all(one["tokens"] >= least for one in found[side]), f"{side} lost tokens"
    rows = []
    for name, by, must, unit in (
        ("jsonl", "seconds", 45, "M tokens/s"),
        ("jsonl, CPU", "cpu_seconds", 25, "M tokens per CPU second"),
    ):
        rates = {side: [one["tokens"] / one[by] / 1e6 for one in all_] for side, all_ in found.items()}
        value = ratio(rates["packline"], rates["ms-swift"])
        what = f"JSONL of ready tokens to hf tensors, {unit}"
        rows.append(Row(name, what, "ms-swift 4.6.0, streaming, its DataLoader", value, must, rounds=rates))
    packs = statistics.median(one["packs"] for one in found["packline"])
    rows[0].note = f"{OURS:,} tokens in {packs:,.0f} packs of 8,192; ms-swift {THEIRS:,} tokens a round"
    return rows
