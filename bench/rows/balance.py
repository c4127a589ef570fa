"""The dearest pack of a step over the mean of its packs: 8 ranks, windows of 256 packs, `balance: attention`."""

from length_data import lists
from line import BIN, WORK, run_json
from rounds import Row

RANKS = 8
COST_PER_TOKEN = 4096  # a small model: a is about 6 x its hidden size


def measure(_):
    rows = []
    for name, path, capacity in lists(WORK):
        for label, cost, must in (("a*L + L*L", COST_PER_TOKEN, 1.05), ("L*L", 0, 1.08)):
            found = {
                kind: run_json(
                    [BIN / "bench_planning", "balance", path, capacity, RANKS, cost, kind]
                )["mean"]
                for kind in ("none", "attention")
            }
            rows.append(
                Row(
                    f"balance, {name}",
                    f"slowest rank's work over the mean, {label}",
                    f"random order: {found['none']:.3f}",
                    found["attention"],
                    must,
                    at_least=False,
                    unit="",
                )
            )
    return rows
