"""The anonymous memory of the roles at 8 ranks, over an epoch of 1 M records and one of 10 M."""

from line import WORK, peaks_of, write_job
from rounds import Row, in_turns, ratio
from token_data import record_file

ROLES = ("producer", "packer", "sink")


def measure(rounds):
    sizes = (1_000_000, 10_000_000)
    jobs = {n: write_job(f"memory-{n}", record_file(WORK, n).name, dp_size=8) for n in sizes}
    peaks_of(jobs[sizes[1]])  # makes the index
    peaks_of(jobs[sizes[0]])
    found = in_turns(rounds, {n: (lambda n=n: peaks_of(jobs[n])) for n in sizes})
    rows = []
    for role in ROLES:
        mib = {f"{n:,} records": [one[f"packline-{role}"] / 2**20 for one in found[n]] for n in sizes}
        small, large = mib.values()
        rows.append(
            Row(
                f"memory, {role}",
                "anonymous memory at its peak, 10 M records, MiB",
                "1 M records",
                ratio(large, small),
                1.05,
                at_least=False,
                rounds=mib,
            )
        )
    return rows
