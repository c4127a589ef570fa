"""The ledgers: docs/stream.md section 8."""

from reference_parts import LostSample

REASONS = ["empty", "over_long", "unsupervised", "remainder"]
LEDGER = ["records_read", "records_encoded", "lost_parse", "lost_encode", "samples_made", "tokens_made",
          "truncated_tokens", "repeated", "repeated_tokens", *("lost_" + r for r in REASONS),
          *("tokens_" + r for r in REASONS)]


def new_ledger():
    return dict.fromkeys(LEDGER, 0)


def add_ledgers(a, b):
    return {k: a[k] + b[k] for k in LEDGER}


def record_ledger(record):
    """What one record counts, from what became of it (reference_records.Record), whatever is packed of it."""
    ledger = new_ledger()
    if record.passed_over:
        return ledger
    ledger["records_read"] = 1
    if record.lost:
        ledger["lost_" + record.lost] = 1
        return ledger
    ledger["records_encoded"] = 1
    for s in record.made:
        ledger["samples_made"] += 1
        ledger["tokens_made"] += s.tokens + s.cut
        ledger["truncated_tokens"] += s.cut
        if isinstance(s, LostSample):
            lose(ledger, s.reason, s.tokens)
    return ledger


def lose(ledger, reason, tokens):
    ledger["lost_" + reason] += 1
    ledger["tokens_" + reason] += tokens


def placed_ledger(placed):
    """What a pack adds: the parts that come after a sample's first, and the repetitions."""
    ledger = new_ledger()
    for p in placed:
        if p.repetition > 0:
            ledger["repeated"] += 1
            ledger["repeated_tokens"] += p.end - p.begin
        elif p.begin > 0:
            ledger["samples_made"] += 1
    return ledger


def remainder_ledger(lost):
    """What remainder: drop loses; the rest of a sample that was delivered in part counts as truncated."""
    ledger = new_ledger()
    for p in lost:
        if p.begin > 0:
            ledger["truncated_tokens"] += p.end - p.begin
        else:
            lose(ledger, "remainder", p.end - p.begin)
    return ledger
