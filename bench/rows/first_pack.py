"""How long until the first pack of ready tokens, indexed before: against ms-swift's streaming path."""

from line import CLIENT_PYTHON, ROOT, WORK, run_line, write_job
from rounds import Peer, Row, in_turns, ratio
from token_data import record_file


def measure(rounds):
    rows = []
    for records in (50_000, 10_000_000):
        data = record_file(WORK, records)
        job = write_job(f"first-{records}", data.name)
        client = [CLIENT_PYTHON, ROOT / "bench/clients/first.py", job]
        swift = [ROOT / "build/peers/bin/python", ROOT / "bench/peers/swift_stream.py", data, "first"]
        with Peer(client, WORK / "first.log") as ours, Peer(swift, WORK / "swift_first.log") as theirs:
            ours()  # makes the index
            found = in_turns(rounds, {"packline": ours, "ms-swift": theirs})
        seconds = {side: [one["seconds"] for one in all_] for side, all_ in found.items()}
        rows.append(
            Row(
                f"first pack, {records:,} records",
                "seconds until the first pack, executables started",
                "ms-swift 4.6.0, streaming",
                ratio(seconds["packline"], seconds["ms-swift"]),
                0.3,
                at_least=False,
                rounds=seconds,
            )
        )
    return rows
