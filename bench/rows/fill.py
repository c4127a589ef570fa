"""The packs of `plan: global` over published length lists: as many as best fit decreasing needs, list by list."""

import csv

from length_data import HISTOGRAMS, whole_list, write_lengths
from line import BIN, WORK, run_json
from rounds import Row


def measure(_):
    with (HISTOGRAMS / "golden_bfd_counts.csv").open() as file:
        golden = list(csv.DictReader(line for line in file if not line.startswith("#")))
    paths = {
        dataset: write_lengths(WORK / f"{dataset}.all.u32", whole_list(dataset))
        for dataset in sorted({row["dataset"] for row in golden})
    }
    wrong = []
    for row in golden:
        dataset, capacity = row["dataset"], row["capacity"]
        packs = run_json([BIN / "bench_planning", "global", paths[dataset], capacity])["bins"]
        if packs != int(row["bins"]):
            wrong.append(f"{dataset} at {capacity}: {packs}, not {row['bins']}")
    note = "; ".join([f"{len(golden)} counts", *wrong])
    return [Row("fill", "packs of plan: global that differ", "golden counts", len(wrong), 0, False, "", note=note)]
