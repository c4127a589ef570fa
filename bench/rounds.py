"""Measurements in turns, and what became of them: the rows of bench/run's table."""

import json
import statistics
import subprocess
from dataclasses import dataclass, field


@dataclass
class Row:
    """One line of the table. `value` is what is held against `must`: a ratio of medians where there is something to
    compare with, else the figure itself."""

    name: str
    what: str
    against: str
    value: float
    must: float
    at_least: bool = True
    unit: str = "x"
    rounds: dict = field(default_factory=dict)  # {side: its figure of each round}
    note: str = ""

    @property
    def met(self):
        return self.value >= self.must if self.at_least else self.value <= self.must

    def spread(self):
        """Of each side: the median, the least and the most."""
        return {side: (statistics.median(v), min(v), max(v)) for side, v in self.rounds.items()}


def in_turns(rounds, sides):
    """{side: [its answer of each round]}: every round asks each side once, the order turned by one each time, so that
    what else the machine does meets all alike."""
    answers = {side: [] for side in sides}
    order = list(sides)
    for _ in range(rounds):
        for side in order:
            answers[side].append(sides[side]())
        order = order[1:] + order[:1]
    return answers


def ratio(over, under):
    """Of the medians."""
    return statistics.median(over) / statistics.median(under)


class Peer:
    """A program that has made itself ready and measures one round for each line that it is sent."""

    def __init__(self, command, log):
        with log.open("w") as errors:
            self._process = subprocess.Popen(
                list(map(str, command)), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, text=True
            )
        self._log = log
        self._answer()

    def _answer(self):
        line = self._process.stdout.readline()
        if not line:
            raise SystemExit(f"{self._process.args} ended:\n{self._log.read_text()[-3000:]}")
        return json.loads(line)

    def __call__(self):
        self._process.stdin.write("\n")
        self._process.stdin.flush()
        return self._answer()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._process.stdin.close()
        self._process.stdout.close()
        self._process.wait()
