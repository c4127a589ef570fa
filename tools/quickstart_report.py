"""Shows what the quickstart's line did: `python quickstart_report.py WORK_FOLDER`.

Reads the line's summary, what each rank wrote down and the quarantine; computes what packing in the
trainer's usual ways would have filled.
"""

import json
import sys
from pathlib import Path

CAPACITY = 2048
WIDTH = 46  # characters of the longest bar


def read_ranks(folder):
    return [json.loads(path.read_text()) for path in sorted(folder.glob("rank*.json"))]


def record_of(sample_id):
    """The record's number in its file, out of "name@s0:4711/0"."""
    place = sample_id.rsplit("@", 1)[-1]
    return int(place.split(":")[1].split("+")[0].split("/")[0])


def greedy_packs(lengths, capacity):
    """Packs of a loader that fills a row in order and opens the next when a sample does not fit."""
    packs, room = 0, 0
    for length in lengths:
        if length > room:
            packs, room = packs + 1, capacity
        room -= length
    return packs


def bars(rows):
    """Lines of a small plot: [(label, count)] -> a bar each, the longest WIDTH characters."""
    most = max((count for _, count in rows), default=0) or 1
    for label, count in rows:
        bar = "#" * max(round(count / most * WIDTH), 1 if count else 0)
        yield f"    {label:>13} {bar:<{WIDTH}} {count:,}"


def histogram(values, edges):
    """[(label, count)] of values below each edge and not below the edge before it."""
    rows, low = [], 0
    for edge in edges:
        rows.append((f"{low:,}..{edge - 1:,}", sum(low <= v < edge for v in values)))
        low = edge
    return rows


def loss_examples(quarantine):
    """{reason: the first such line of the quarantine, as a dict}."""
    found = {}
    for path in sorted(Path(quarantine).glob("**/*.jsonl")):
        for line in path.read_text(encoding="utf-8").splitlines():
            loss = json.loads(line)
            found.setdefault(loss["reason"], loss)
    return found


def lengths_in_file_order(ranks):
    samples = [sample for rank in ranks for sample in rank["samples"]]
    return [length for _, length in sorted(samples, key=lambda s: record_of(s[0]))]


def fill_lines(summary, lengths):
    tokens = sum(lengths)
    one_a_row = tokens / (len(lengths) * CAPACITY)
    greedy = tokens / (greedy_packs(lengths, CAPACITY) * CAPACITY)
    yield f"  fill          {summary['fill']:.2%} of every row is real tokens"
    yield f"                {one_a_row:.1%} with one sample a row, {greedy:.1%} with in-order greedy packing"


def loss_lines(summary):
    examples = loss_examples(summary["quarantine"]) if summary.get("quarantine") else {}
    lost = {reason: count for reason, count in summary["lost"].items() if count}
    for reason, count in lost.items():
        loss = examples.get(reason)
        told = f", e.g. {Path(loss['source']).name}: {loss['cause']}" if loss else ""
        yield f"  lost          {count:,} {reason}{told}"
    if not lost:
        yield "  lost          nothing"
    if examples:
        yield f"                all of them, with place and cause, in {summary['quarantine']}"


def rank_line(ranks):
    counts = [len(rank["packs"]) for rank in ranks]
    if len(set(counts)) == 1:
        return f"{counts[0]:,} to each of {len(counts)} ranks"
    return "UNEQUAL over the ranks: " + ", ".join(map(str, counts))


def report(work):
    summary = json.loads((work / "summary.json").read_text())
    ranks = read_ranks(work / "ranks")
    lengths = lengths_in_file_order(ranks)
    fills = [round(100 * tokens / CAPACITY, 1) for rank in ranks for tokens in rank["packs"]]
    yield ""
    yield "packline quickstart: " + (work / "about").read_text().strip()
    yield ""
    yield f"  records       {summary['records']:,} read, {summary['samples']:,} samples delivered"
    yield f"  tokens        {summary['tokens']:,}"
    yield f"  packs         {summary['packs']:,} of {CAPACITY:,} tokens: {rank_line(ranks)}"
    yield from fill_lines(summary, lengths)
    yield (f"  speed         {summary['tokens_per_s']:,.0f} tokens/s, {summary['seconds']:.1f} s from first start to "
           "last exit")
    yield "                (2 producers, 2 packers, 4 sinks, 4 Python ranks on this host)"
    yield from loss_lines(summary)
    yield f"  digest        {summary['stream_digest']}: the same however many processes do the work"
    yield ""
    yield "  sample lengths (tokens)"
    yield from bars(histogram(lengths, [64, 128, 256, 384, 512, 768, 1024, 1536, 2049]))
    yield "  pack fill"
    full = [("100 %", sum(f >= 100 for f in fills)), ("99 to 100 %", sum(99 <= f < 100 for f in fills)),
            ("95 to 99 %", sum(95 <= f < 99 for f in fills)), ("below 95 %", sum(f < 95 for f in fills))]
    yield from bars(full)
    yield ""
    yield f"  Next: read {work / 'job.yaml'}, try `build/release/bin/packline tail {work / 'job.yaml'} --dp-rank 0`."


if __name__ == "__main__":
    print("\n".join(report(Path(sys.argv[1]))))
