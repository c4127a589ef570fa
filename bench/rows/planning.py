"""How many lengths a second are planned, all at once and window by window: against lightbinpack's OBFD."""

from length_data import lists
from line import BIN, ROOT, WORK, run_json
from rounds import Peer, Row, in_turns, ratio


def measure(rounds):
    rows = []
    for name, path, capacity in lists(WORK)[:2]:
        ours = {
            what: (lambda what=what: run_json([BIN / "bench_planning", what, path, capacity]))
            for what in ("once", "windows")
        }
        command = [ROOT / "build/peers/bin/python", ROOT / "bench/peers/obfd.py", path, capacity]
        with Peer(command, WORK / "obfd.log") as obfd:
            found = in_turns(rounds, {**ours, "OBFD": obfd})
        count = found["once"][0]["lengths"]
        bins = {side: all_[0]["bins"] for side, all_ in found.items()}
        assert bins["once"] <= bins["OBFD"], f"{name}: fewer tokens a pack than OBFD"
        rates = {side: [count / one["seconds"] / 1e6 for one in all_] for side, all_ in found.items()}
        for label, side, must in (("planning", "once", 5), ("windows", "windows", 2)):
            what = {"once": "all lengths at once", "windows": "closing windows, looking ahead"}[side]
            fill = found[side][0]["tokens"] / (bins[side] * capacity)
            rows.append(
                Row(
                    f"{label}, {name}",
                    f"{what}, M lengths/s",
                    "lightbinpack 0.1.1 OBFD",
                    ratio(rates[side], rates["OBFD"]),
                    must,
                    rounds={"packline": rates[side], "OBFD": rates["OBFD"]},
                    note=f"{count:,} lengths; fill {fill:.2%}",
                )
            )
    return rows
