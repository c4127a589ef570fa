"""A Megatron pair to arrays as received: against libzmq alone, and against a loader in the trainer's own process."""

from line import BIN, ROOT, WORK, run_json, run_line, write_job
from rounds import Row, in_turns, ratio
from token_data import megatron_pair

TOKENS = 100_000_000
PACK_BYTES = 4 * 8192
WINDOW_BYTES = 64 * PACK_BYTES  # packs_per_window of the job


def measure(rounds):
    pair = megatron_pair(WORK, TOKENS)
    job = write_job("megatron", pair.name)
    python = ROOT / "build/peers/bin/python"
    chain = [python, ROOT / "bench/peers/chain.py", BIN / "bench_chain", pair.with_suffix(".bin"), WINDOW_BYTES, PACK_BYTES]

    mosaic = [python, ROOT / "bench/peers/mosaic.py", pair, WORK / f"{pair.stem}.mds"]
    run_line(job, "ready.py", ["columns"])  # makes the index, which later runs keep
    run_json(mosaic)  # writes the shards
    found = in_turns(
        rounds,
        {
            "packline": lambda: run_line(job, "ready.py", ["columns"]),
            "libzmq": lambda: run_json(chain),
            "mosaicml": lambda: run_json(mosaic),
        },
    )
    rates = {side: [one["tokens"] / one["seconds"] / 1e6 for one in found[side]] for side in ("packline", "mosaicml")}
    rates["libzmq"] = [one["bytes"] / 4 / one["seconds"] / 1e6 for one in found["libzmq"]]
    rows = []
    for name, peer, against, must in (
        ("megatron", "libzmq", "libzmq alone: three hops, a copy a hop, pyzmq at the end", 0.6),
        ("megatron, loader", "mosaicml", "mosaicml-streaming 0.13.0 in process, no packing", 10),
    ):
        what = "Megatron pair to int32 arrays, M tokens/s"
        sides = {side: rates[side] for side in ("packline", peer)}
        rows.append(Row(name, what, against, ratio(rates["packline"], rates[peer]), must, rounds=sides))
    return rows
