"""The packs of `plan: global` over published length lists: as many as best fit decreasing needs, list by list."""

import csv

from length_data import HISTOGRAMS, whole_list, write_lengths
from line import BIN, WORK, run_json
from rounds import Row

FILES = {"squad11": "squad11_bert_384", "wikipedia": "wikipedia_bert_512", "openchat": "openchat_v1_2048"}


def measure(_):
    with (HISTOGRAMS / "golden_bfd_counts.csv").open() as file:
        golden = [row for row in csv.DictReader(line for line in file if not line.startswith("#"))]
    wrong, compared = [], 0
    for dataset, stem in FILES.items():
        path = write_lengths(WORK / f"{stem}.all.u32", whole_list(stem))
        for row in golden:
            if row["dataset"] != dataset:
                continue
            compared += 1
            packs = run_json([str(BIN / "bench_planning"), "global", str(path), row["capacity"]])["bins"]
            if packs != int(row["BFD_bins"]):
                wrong.append(f"{dataset} at {row['capacity']}: {packs}, not {row['BFD_bins']}")
    assert compared, "no golden count belongs to a list that is here"
    note = f"{compared} counts" + "".join(f"; {sentence}" for sentence in wrong)
    return [Row("fill", "packs of plan: global that differ", "golden counts", len(wrong), 0, False, "", note=note)]
