"""Random jobs: what the production state machines give in one process against the reference, byte for byte.

    python tests/reference/compare.py --seed 1 --count 500
    python tests/reference/compare.py --seed 1 --only 37 --keep /tmp/j       one job, its files kept

Needs xxhash, what the client needs (torch too, for its layouts of tensors) and the executable packline-one-process
(PACKLINE_BIN, else build/release/bin).
"""

import argparse
import concurrent.futures
import json
import multiprocessing
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time

os.environ.setdefault("OMP_NUM_THREADS", "1")  # one process a core is what there is to do
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import compare_layouts  # noqa: E402
import packline_reference as reference  # noqa: E402
from random_jobs import random_job  # noqa: E402
from reference_job import EVAL_EPOCHS  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[2]
BIN = pathlib.Path(os.environ.get("PACKLINE_BIN", ROOT / "build/release/bin"))
COUNTED = ("jobs", "packs", "tokens", "layouts")  # layouts: how many were made of a pack and held against plain ones
BATCH = 10
WITH_LAYOUTS = 3  # of so many batches one goes through the client's layouts too
REPEATED = re.compile(r"s\d+:\d+(\+\d+)?(/\d+)?(~\d+)?\*\d+$")  # the id of a repeated sample


class Differs(Exception):
    """The two disagree, or a law is broken: a sentence."""


def delivered(jobs, shuffle_seed, eval_epochs=0, frames=False, timeout=300):
    """[(packs, end)] of each job, as packline-one-process prints them; with `eval_epochs` of its eval split."""
    options = ["--shuffle-seed", str(shuffle_seed), "--eval-epochs", str(eval_epochs), *["--frames"] * frames]
    command = [str(BIN / "packline-one-process"), *options, *map(str, jobs)]
    try:
        done = subprocess.run(command, capture_output=True, timeout=timeout, check=False)
    except subprocess.TimeoutExpired as e:
        raise Differs(f"{' '.join(command[:3])} ... did not end within {timeout} s") from e
    if done.returncode != 0:
        raise Differs(f"{' '.join(command[:3])} ... ended with {done.returncode}: {done.stderr.decode()}")
    found, packs = [], []
    for line in done.stdout.decode().splitlines():
        line = json.loads(line)
        if "job" in line:
            found.append((packs, line))
            packs = []
        else:
            packs.append(line)
    if len(found) != len(jobs):
        raise Differs(f"{len(jobs)} jobs gave {len(found)} results")
    return found


def by_rank(job, windows):
    ranks = [[] for _ in range(job["deliver"]["dp_size"])]
    for w in windows:
        for p in w.packs:
            ranks[p.dp_rank].append(p)
    return ranks


def compare_packs(job, packs, windows):
    """Every pack of every rank, in its order: law L1."""
    expected = [[p.as_line() for p in rank] for rank in by_rank(job, windows)]
    got = [[] for _ in expected]
    for p in packs:
        if p.pop("step") != len(got[p["dp_rank"]]):
            raise Differs("a rank's steps do not follow one another")
        got[p["dp_rank"]].append(p)
    for rank, (e, g) in enumerate(zip(expected, got)):
        for a, b in zip(e, g):
            for key in a:
                if a[key] != b[key]:
                    at = [a["epoch"], a["window"], a["pack"]]
                    raise Differs(f"rank {rank}, pack {at}: {key} is {str(b[key])[:300]}, not {str(a[key])[:300]}")
            if a.keys() != b.keys() - {"frames"}:
                raise Differs(f"the keys of a pack differ: {a.keys() ^ b.keys()}")
        if len(e) != len(g):
            raise Differs(f"rank {rank} got {len(g)} packs, not {len(e)}")
    return got


def compare_windows(got, windows):
    expected = [{"epoch": w.epoch, "window": w.number, "packs": len(w.packs), "last": w.last, "after": w.after,
                 "ledger": w.ledger} for w in windows]
    got = sorted(got, key=lambda w: (w["epoch"], w["window"]))
    for e, g in zip(expected, got):
        if e != g:
            raise Differs(f"window {e['epoch']}.{e['window']}: {g}, not {e}")
    if len(expected) != len(got):
        raise Differs(f"{len(got)} windows were made, not {len(expected)}")


def check_laws(job, ranks, end):
    """Laws L2 to L4, from what was delivered alone."""
    pack = job["pack"]
    by_window = {}
    for rank in ranks:
        for p in rank:
            by_window.setdefault((p["epoch"], p["window"]), []).append(p)
    for w in end["windows"]:
        packs = by_window.get((w["epoch"], w["window"]), [])
        if sorted(p["pack"] for p in packs) != list(range(w["packs"])) or w["packs"] % pack["dp_size_multiple"]:
            raise Differs(f"L2: window {w['epoch']}.{w['window']} has {len(packs)} packs")
        if w["packs"] > pack["packs_per_window"] or (not w["last"] and w["packs"] != pack["packs_per_window"]):
            raise Differs(f"L2: window {w['epoch']}.{w['window']} has {w['packs']} packs and is not its lane's last")
    for epoch in range(job["epochs"]):
        mine = [[p for p in rank if p["epoch"] == epoch] for rank in ranks]
        if len({len(m) for m in mine}) > 1:
            raise Differs(f"L3: epoch {epoch} has {[len(m) for m in mine]} packs on the ranks")
        ids = [i for m in mine for p in m for i in p["sample_ids"]]
        if len(ids) != len(set(ids)):
            raise Differs(f"L1: epoch {epoch} delivers a sample twice")
        ledger = next((e["ledger"] for e in end["epochs"] if e["epoch"] == epoch), None)
        tokens = sum(sum(p["lengths"]) for m in mine for p in m)
        ledger = ledger or dict.fromkeys(reference.LEDGER, 0)
        check_ledger(epoch, ledger, len(ids), tokens)
        repeated = sum(1 for i in ids if REPEATED.search(i))
        if repeated != ledger["repeated"]:
            raise Differs(f"L4: epoch {epoch}: {repeated} repetitions, the ledger has {ledger['repeated']}")
        for m in mine:
            for p in m:
                check_pack(p, pack)


def check_pack(p, pack):
    to, most = pack["sample_multiple_of"], pack["max_samples"]
    size = sum(-(-n // to) * to for n in p["lengths"])
    if size > pack["capacity"]:
        raise Differs(f"a pack of {size} tokens, padding among them, at capacity {pack['capacity']}")
    if 0 < most < len(p["lengths"]):
        raise Differs(f"a pack of {len(p['lengths'])} samples at max_samples {most}")


def check_ledger(epoch, ledger, samples, tokens):
    def lost(what):
        return sum(ledger[f"{what}_{reason}"] for reason in reference.REASONS)

    lost_records = ledger["lost_parse"] + ledger["lost_encode"]
    balances = [
        ("records", ledger["records_read"], ledger["records_encoded"] + lost_records),
        ("samples", ledger["samples_made"] + ledger["repeated"], samples + lost("lost")),
        ("tokens", ledger["tokens_made"] + ledger["repeated_tokens"],
         tokens + ledger["truncated_tokens"] + lost("tokens")),
    ]
    for what, a, b in balances:
        if a != b:
            raise Differs(f"L4: epoch {epoch}: {a} {what} and {b} do not balance")


def compare(path, packs, end, frames=False, split="train"):
    """`frames`: the packs have them, and go through the client's layouts."""
    job = reference.load_job(path, split)
    windows = list(reference.windows(job))
    compare_windows(end["windows"], windows)
    ranks = compare_packs(job, packs, windows)
    for e in end["epochs"]:
        total = dict.fromkeys(reference.LEDGER, 0)
        for w in windows:
            if w.epoch == e["epoch"]:
                total = reference.add_ledgers(total, w.ledger)
        if total != e["ledger"]:
            raise Differs(f"L4: the ranks were told {e['ledger']}, not {total}")
    check_laws(job, ranks, end)
    if frames:
        pairs = [pair for mine, theirs in zip(ranks, by_rank(job, windows)) for pair in zip(mine, theirs)]
        for wrong in compare_layouts.differences(job, pairs):
            raise Differs(wrong)
    held = compare_layouts.held(len(packs)) if frames else 0
    return {"jobs": 1, "packs": len(packs), "tokens": sum(len(p["input_ids"]) for p in packs), "layouts": held}


def check_evaluations(ranks):
    """Every evaluation is the same, on every rank; what differs is the epoch alone."""
    for rank in ranks:
        by_epoch = {}
        for p in rank:
            same = {k: v for k, v in p.items() if k not in ("epoch", "digest")}
            by_epoch.setdefault(p["epoch"], []).append(same)
        if any(packs != by_epoch[0] for packs in by_epoch.values()):
            raise Differs("two evaluations differ")


def compare_eval(path, seed):
    """The eval split of a job that has one; the counts."""
    if "eval" not in json.loads(path.read_text(encoding="utf-8")):
        return dict.fromkeys(COUNTED, 0)
    [(packs, end)] = delivered([path], seed, EVAL_EPOCHS)
    counts = {**compare(path, packs, end, split="eval"), "jobs": 0}
    ranks = {}
    for p in packs:
        ranks.setdefault(p["dp_rank"], []).append(p)
    check_evaluations(ranks.values())
    return counts


def batch(seed, numbers, folder):
    """Compares these jobs; the counts and the sentences of those that differ."""
    frames = numbers[0] // BATCH % WITH_LAYOUTS == 0
    wrong, counts = [], dict.fromkeys(COUNTED, 0)
    with tempfile.TemporaryDirectory(prefix="packline-random-") as private:
        root = pathlib.Path(folder or private)
        jobs = [random_job(seed, n, root / str(n)) for n in numbers]
        try:
            results = delivered(jobs, seed, frames=frames)
        except Differs as together:
            if len(numbers) == 1:
                return {**counts, "jobs": 1}, [f"--seed {seed} --only {numbers[0]}: {together}"]
            alone = [batch(seed, [n], folder) for n in numbers]
            return {k: sum(a[0][k] for a in alone) for k in COUNTED}, [s for a in alone for s in a[1]]
        for n, job, (got, end) in zip(numbers, jobs, results):
            try:
                for more in (compare(job, got, end, frames), compare_eval(job, seed)):
                    counts = {k: counts[k] + more[k] for k in COUNTED}
            except Differs as e:
                wrong.append(f"--seed {seed} --only {n}: {e}")
    return {**counts, "jobs": len(numbers)}, wrong


def compare_many(seed, numbers, workers=None, folder=None):
    """Random jobs of these numbers, on all cores. Returns (counts, sentences)."""
    parts = [numbers[i : i + BATCH] for i in range(0, len(numbers), BATCH)]
    counts, wrong = dict.fromkeys(COUNTED, 0), []
    # Not forked: this process may have used torch, whose threads a child would miss.
    spawn = multiprocessing.get_context("spawn")
    with concurrent.futures.ProcessPoolExecutor(workers or os.cpu_count(), spawn) as pool:
        for c, w in pool.map(batch, [seed] * len(parts), parts, [folder] * len(parts)):
            counts = {k: counts[k] + c[k] for k in counts}
            wrong += w
    return counts, wrong


def main():
    ap = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    ap.add_argument("--seed", type=int, default=1)
    ap.add_argument("--count", type=int, default=500)
    ap.add_argument("--only", type=int, help="only the job of this number")
    ap.add_argument("--keep", help="write the jobs there and keep them")
    ap.add_argument("--workers", type=int)
    o = ap.parse_args()
    started = time.monotonic()
    numbers = list(range(o.count)) if o.only is None else [o.only]
    counts, wrong = compare_many(o.seed, numbers, o.workers, o.keep)
    for sentence in wrong[:20]:
        print(sentence, file=sys.stderr)
    print(f"{counts['jobs']} jobs, {counts['packs']} packs, {counts['tokens']} tokens, {counts['layouts']} layouts: "
          f"{len(wrong)} differ ({time.monotonic() - started:.1f} s)")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
