"""See bench/run and bench/README.md."""

import argparse
import datetime
import importlib
import json
import os
import platform
import sys
import time

from chart import chart
from line import WORK
from rows import RUN


def machine():
    """This machine in words."""
    model = platform.machine()
    with open("/proc/cpuinfo") as file:
        names = [line.partition(":")[2].strip() for line in file if line.startswith("model name")]
    with open("/proc/meminfo") as file:
        gib = int(file.readline().split()[1]) / 2**20
    return f"{os.cpu_count()} cores ({names[0] if names else model}), {gib:.0f} GiB, {platform.system()} {platform.release()}"


def now():
    return datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d %H:%M UTC")


def figure(row, value):
    return f"{value:.3g}{' ' if row.unit == 'ms' else ''}{row.unit}"


def sides(row):
    return "; ".join(
        f"{side} {middle:.3g} ({least:.3g} .. {most:.3g})" for side, (middle, least, most) in row.spread().items()
    )


def told(row):
    sign = "≥" if row.at_least else "≤"
    verdict = "met" if row.met else "MISSED"
    print(f"{row.name:28} {figure(row, row.value):>10}  must {sign} {figure(row, row.must):<8} {verdict:7} {row.against}")
    for more in (f"{row.what}: {sides(row)}" if row.rounds else row.what, row.note):
        if more:
            print(f"{'':29}{more}")
    sys.stdout.flush()


def as_json(row):
    return {
        "name": row.name,
        "what": row.what,
        "against": row.against,
        "value": row.value,
        "must": row.must,
        "at_least": row.at_least,
        "met": row.met,
        "rounds": {str(side): values for side, values in row.rounds.items()},
        "note": row.note,
    }


def main():
    parser = argparse.ArgumentParser(prog="bench/run", description="packline's figures, measured against its peers")
    parser.add_argument("rows", nargs="*", help=f"some of: {', '.join(RUN)}")
    parser.add_argument("--rounds", type=int, default=5)
    arguments = parser.parse_args()
    unknown = set(arguments.rows) - set(RUN)
    if unknown:
        parser.error(f"no such row: {', '.join(sorted(unknown))}; there are {', '.join(RUN)}")

    WORK.mkdir(parents=True, exist_ok=True)
    date = now()
    print(f"{date}, {machine()}, {arguments.rounds} rounds in turns, load {os.getloadavg()[0]:.1f} before")
    rows = []
    for name in arguments.rows or RUN:
        began = time.perf_counter()
        made = importlib.import_module(f"rows.{name}").measure(arguments.rounds)
        for row in made:
            told(row)
        rows += made
        print(f"{'':29}{name}: {time.perf_counter() - began:.0f} s", flush=True)
    result = {"date": date, "machine": machine(), "rounds": arguments.rounds, "rows": [as_json(row) for row in rows]}
    (WORK / "run.json").write_text(json.dumps(result, indent=1) + "\n")
    (WORK / "run.svg").write_text(chart(result))
    missed = [row.name for row in rows if not row.met]
    print(f"{len(rows) - len(missed)} of {len(rows)} met; {WORK / 'run.json'}, {WORK / 'run.svg'}")
    if missed:
        print(f"missed: {', '.join(missed)}")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
