"""See bench/stages and bench/README.md."""

import argparse
import json
import os
import statistics
import sys
import threading
from html import escape
from pathlib import Path

from line import ROOT, WORK, run_line, write_job
from processes import cpu_seconds, name_of, parents
from text_data import sentencepiece_model, text_files
from token_data import megatron_pair, token_file

STAGES = ("producer", "packer", "sink", "client")
EVERY_S = 0.02
PICTURE = ROOT / "docs/images/stages.svg"


class CpuWatch:
    """The CPU seconds of a launcher's children, by stage, when last seen."""

    def __init__(self, pid):
        self._seen, self._stop = {}, threading.Event()
        self._thread = threading.Thread(target=self._run, args=(pid,))
        self._thread.start()

    def _run(self, pid):
        while not self._stop.wait(EVERY_S):
            for child, parent in parents().items():
                name = name_of(child).removeprefix("packline-") if parent == pid else ""
                if name:  # one that has ended has none
                    self._seen[child] = (name if name in STAGES else "client", cpu_seconds(child))

    def stop(self):
        self._stop.set()
        self._thread.join()
        by_stage = dict.fromkeys(STAGES, 0.0)
        for stage, seconds in self._seen.values():
            by_stage[stage] += seconds
        return by_stage


def jobs():
    """[(what, job, layout)]"""
    _, texts = text_files(WORK, 24)
    spm = f"{{kind: sentencepiece, model: {sentencepiece_model()}, threads: {os.cpu_count()}}}"
    return [
        ("Megatron pair to columns", write_job("stages-bin", megatron_pair(WORK, 100_000_000).name), "columns"),
        ("JSONL of tokens to hf", write_job("stages-jsonl", token_file(WORK, 40_000_000).name), "hf"),
        (
            "text by sentencepiece to hf",
            write_job("stages-text", texts.name, format="text", encode=spm, over_long="split"),
            "hf",
        ),
    ]


def measured(job, layout):
    """(ns of CPU a token by stage, bytes a token on the last hop)"""
    found = run_line(job, "ready.py", [layout], watch=CpuWatch)
    spent, tokens = found["peaks"], found["tokens"]
    # The client's start, with its imports, is not the stream's.
    spent["client"] = max(0.0, found["cpu_seconds"] - sum(spent[stage] for stage in STAGES[:3]))
    return {stage: 1e9 * seconds / tokens for stage, seconds in spent.items()}


COLOURS = {"producer": "#4269d0", "packer": "#9c6b4e", "sink": "#3c9d72", "client": "#97579e"}
LEFT, WIDTH, ROW = 210, 430, 44


def picture(result):
    """The table as SVG: a bar a job, each on a scale of its own, every part with its name and figure."""
    height = 46 + ROW * len(result["jobs"])
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{LEFT + WIDTH + 110}" height="{height}" role="img">',
        "<title>CPU nanoseconds a token, by stage</title>",
        "<style>svg { background: #fff; color: #1b1f24; font: 12px system-ui, sans-serif; } text { fill: currentColor; } "
        "@media (prefers-color-scheme: dark) { svg { background: #14171a; color: #e6e8ea; } }</style>",
        f'<text x="12" y="20">CPU nanoseconds a token, by stage; {escape(result["date"])}</text>',
    ]
    for i, job in enumerate(result["jobs"]):
        y, x, whole = 36 + i * ROW, LEFT, sum(job["ns_a_token"].values())
        out.append(f'<text x="{LEFT - 10}" y="{y + 14}" text-anchor="end">{escape(job["what"])}</text>')
        for stage, ns in job["ns_a_token"].items():
            part = WIDTH * ns / whole
            out.append(f'<rect x="{x:.1f}" y="{y}" width="{part:.1f}" height="18" fill="{COLOURS[stage]}">'
                       f"<title>{stage}: {ns:.1f} ns</title></rect>")
            if part > 56:
                out.append(f'<text x="{x + 2:.1f}" y="{y + 31}">{stage} {ns:.1f}</text>')
            x += part
        out.append(f'<text x="{LEFT + WIDTH + 8}" y="{y + 14}">{whole:.1f} ns</text>')
    return "\n".join([*out, "</svg>\n"])


def main():
    parser = argparse.ArgumentParser(prog="bench/stages", description="CPU a token of each stage")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--write", action="store_true", help=f"write {PICTURE.relative_to(ROOT)}")
    arguments = parser.parse_args()
    WORK.mkdir(parents=True, exist_ok=True)
    from run import machine, now

    result = {"date": now(), "machine": machine(), "jobs": []}
    print(f"{result['date']}, {result['machine']}, {arguments.rounds} rounds, load {os.getloadavg()[0]:.1f} before")
    print(f"{'ns of CPU a token':30}" + "".join(f"{stage:>10}" for stage in STAGES) + f"{'in all':>10}")
    for what, job, layout in jobs():
        run_line(job, "ready.py", [layout])  # makes the index
        found = [measured(job, layout) for _ in range(arguments.rounds)]
        ns = {stage: statistics.median(one[stage] for one in found) for stage in STAGES}
        print(f"{what:30}" + "".join(f"{v:10.1f}" for v in ns.values()) + f"{sum(ns.values()):10.1f}", flush=True)
        result["jobs"].append({"what": what, "ns_a_token": ns})
    (WORK / "stages.json").write_text(json.dumps(result, indent=1) + "\n")
    if arguments.write:
        PICTURE.parent.mkdir(exist_ok=True)
        Path(PICTURE).write_text(picture(result))
        print(f"{PICTURE.relative_to(ROOT)} is written")
    return 0


if __name__ == "__main__":
    sys.exit(main())
