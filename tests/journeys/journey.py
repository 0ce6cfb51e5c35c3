"""A new user's way from files to a number and a verdict: every command is counted."""

from __future__ import annotations

import math
import re

from support.pasting import paste, printed_lines

MOST_TO_NUMBER, MOST_TO_VERDICT = 3, 5


class Journey:
    """Commands that are typed, or pasted as they were printed, until there is a verdict.

    Args:
        run: the fixture of the command.
        number: the value of `metric` of the system `system`, computed by the test.
    """

    def __init__(self, run, number, metric, system):
        self.run, self.number, self.metric, self.system = run, number, metric, system
        self.commands = 0
        self.lines = []
        self.number_at = self.verdict_at = None

    def type(self, *words):
        """A command that the user thinks of."""
        return self._ended(self.run(*words))

    def paste_all(self):
        """Every line that the last command printed; the results, by line."""
        return {line: self._ended(paste(self.run, line)) for line in list(self.lines)}

    def _ended(self, ended):
        self.commands += 1
        self.lines = printed_lines(ended.out + ended.err) or self.lines
        if self.number_at is None and self._shows_number(ended.out):
            self.number_at = self.commands
        if self.verdict_at is None and re.match("PASS|FAIL", ended.out):
            self.verdict_at = self.commands
        return ended

    def _shows_number(self, text):
        """True if a table has the value in the row of the metric, or of the system, as it is printed."""
        rows = (line.split() for line in text.splitlines())
        value = f"{self.number:.4f}"
        return any(row and row[0] in {self.metric, self.system} and value in row[1:] for row in rows)

    def check(self):
        assert self.number_at is not None, "no command showed the right number"
        assert self.number_at <= MOST_TO_NUMBER
        assert self.verdict_at is not None, "no command gave a verdict"
        assert self.verdict_at <= MOST_TO_VERDICT


def ndcg(grades, ranked, depth):
    """nDCG by its definition: grades over log2(rank + 1), by those of the best order."""
    gains = [grades.get(document, 0) / math.log2(rank + 1) for rank, document in enumerate(ranked[:depth], 1)]
    ideal = sorted(grades.values(), reverse=True)[:depth]
    return sum(gains) / sum(grade / math.log2(rank + 1) for rank, grade in enumerate(ideal, 1))
