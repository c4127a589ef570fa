"""What a rank was handed since it began: the summary's counts come from here, because only the
client knows what was handed out. The C++ sibling is lib/delivery."""

from __future__ import annotations

from .cursor import Point

RECORD_LOSSES = 3  # parse, encode, encoder_killed
SAMPLE_LOSSES = 4  # empty, over_long, unsupervised, remainder
EPOCHS_KEPT = 64
_U64 = 2**64

# (field, how many numbers) in the order of docs/wire.md.
LEDGER_FIELDS = (
    ("records_read", 0),
    ("records_encoded", 0),
    ("records_lost", RECORD_LOSSES),
    ("samples_made", 0),
    ("tokens_made", 0),
    ("samples_lost", SAMPLE_LOSSES),
    ("tokens_lost", SAMPLE_LOSSES),
    ("tokens_truncated", 0),
    ("samples_repeated", 0),
    ("tokens_repeated", 0),
)


def empty_ledger() -> dict:
    return {name: [0] * n if n else 0 for name, n in LEDGER_FIELDS}


class Tally:
    """Sums over packs; `digest` is the sum of h(pack) modulo 2^64, `ledger` what the windows that
    were passed over read and lost."""

    __slots__ = ("packs", "samples", "tokens", "digest", "ledger")

    def __init__(self, packs=0, samples=0, tokens=0, digest=0, ledger=None):
        self.packs = packs
        self.samples = samples
        self.tokens = tokens
        self.digest = digest
        self.ledger = empty_ledger() if ledger is None else ledger

    def add_pack(self, samples: int, tokens: int, digest: int) -> None:
        self.packs += 1
        self.samples += samples
        self.tokens += tokens
        self.digest = (self.digest + digest) % _U64

    def add(self, other: "Tally") -> None:
        self.packs += other.packs
        self.samples += other.samples
        self.tokens += other.tokens
        self.digest = (self.digest + other.digest) % _U64
        for name, n in LEDGER_FIELDS:
            if n:
                mine, theirs = self.ledger[name], other.ledger[name]
                self.ledger[name] = [a + b for a, b in zip(mine, theirs)]
            else:
                self.ledger[name] += other.ledger[name]

    def as_dict(self) -> dict:
        """A copy, as the wire and `PackStream.progress` have it."""
        ledger = {k: list(v) if isinstance(v, list) else v for k, v in self.ledger.items()}
        return {
            "packs": self.packs,
            "samples": self.samples,
            "tokens": self.tokens,
            "digest": self.digest,
            "ledger": ledger,
        }


class Progress:
    """From where to where a rank was handed packs, with the sums in all and by epoch."""

    def __init__(self, begin: Point):
        self.begin = begin
        self.to = begin
        self.total = Tally()
        self.epochs: dict = {}  # epoch -> Tally, the latest EPOCHS_KEPT

    def add_pack(self, epoch: int, body) -> None:
        for tally in (self.total, self._epoch(epoch)):
            tally.add_pack(body.samples, body.tokens, body.digest)

    def pass_over(self, passed, to: Point) -> None:
        """Adds the ledgers of the windows that were finished: [(epoch, Tally)]."""
        for epoch, tally in passed:
            self.total.add(tally)
            self._epoch(epoch).add(tally)
        self.to = to

    def as_dict(self, all_epochs: bool) -> dict:
        """As the wire has it; `all_epochs` in a Subscribe that says done, else the present one
        alone: the epoch in which the stream now stands, or the latest that has counts."""
        shown = sorted(self.epochs)
        if not all_epochs:
            shown = [self.to.epoch] if self.to.epoch in self.epochs else shown[-1:]
        return {
            "from": self.begin._asdict(),
            "to": self.to._asdict(),
            "total": self.total.as_dict(),
            "epochs": [{"epoch": e, "tally": self.epochs[e].as_dict()} for e in shown],
        }

    def _epoch(self, epoch: int) -> Tally:
        if epoch not in self.epochs:
            self.epochs[epoch] = Tally()
            if len(self.epochs) > EPOCHS_KEPT:
                del self.epochs[min(self.epochs)]
        return self.epochs[epoch]
