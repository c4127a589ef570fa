"""How long next() takes when the trainer computes for 20 ms between packs."""

import statistics

from line import WORK, run_line, write_job
from rounds import Row
from token_data import token_file

PACKS, MILLISECONDS = 400, 20


def measure(rounds):
    job = write_job("waiting", token_file(WORK, 40_000_000).name)
    run_line(job, "ready.py", ["numpy"])
    p99 = []
    for _ in range(rounds):
        waits = run_line(job, "sleeping.py", [PACKS, MILLISECONDS])["waits_ms"]
        p99.append(statistics.quantiles(waits, n=100)[98])
    what = f"next() after {MILLISECONDS} ms of work, 99th percentile of {PACKS}, ms"
    return [
        Row("waiting", what, "", statistics.median(p99), 1.0, at_least=False, unit="ms", rounds={"packline": p99})
    ]
