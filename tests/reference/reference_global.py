"""The whole epoch planned at once: docs/stream.md section 5.5."""

from reference_ledger import add_ledgers, new_ledger, placed_ledger, record_ledger, remainder_ledger
from reference_order import MASK
from reference_pack_order import order_packs
from reference_packing import plan, sizes_of
from reference_remainder import bring_to_multiple, halve
from reference_same_kind import bring_kinds_to_multiple, plan_by_kind


def only_halves(bins, sizes, q, _pack):
    return halve(bins, sizes, q)


def plan_epoch(candidates, pack, seed, epoch):
    """(packs in the order of delivery, lost)."""
    sizes, everything = sizes_of(candidates, pack), range(len(candidates))
    if pack["same_kind"]:
        media, others = plan_by_kind(everything, candidates, sizes, pack)
        packs, lost = bring_kinds_to_multiple(media, others, candidates, pack, only_halves)
    else:
        packs, lost = bring_to_multiple(plan(everything, sizes, pack), candidates, pack, only_halves)
    return order_packs(packs, candidates, pack, seed, epoch, MASK), lost


def cut_into_windows(packs, n, lanes):
    """The packs of each window; at least one window a lane."""
    count = max(lanes, (len(packs) + n - 1) // n)
    return [packs[w * n : (w + 1) * n] for w in range(count)]


def ledgers_of(windows, lost, candidates, records):
    """The ledger of each window. A record counts where its first sample that is delivered stands, else by its place."""
    ledgers = [new_ledger() for _ in windows]
    window_of = {}  # of a candidate
    for w, packs in enumerate(windows):
        for placed in packs:
            ledgers[w] = add_ledgers(ledgers[w], placed_ledger(placed))
            window_of |= {p.candidate: w for p in placed if p.repetition == 0}
    of_record = [i * len(windows) // len(records) for i in range(len(records))]
    for i in sorted(window_of, reverse=True):  # so that a record's first sample has the last word
        of_record[candidates[i].number] = window_of[i]
    for number, record in enumerate(records):
        ledgers[of_record[number]] = add_ledgers(ledgers[of_record[number]], record_ledger(record))
    for p in lost:
        w = of_record[candidates[p.candidate].number]
        ledgers[w] = add_ledgers(ledgers[w], remainder_ledger([p]))
    return ledgers
