"""Tests of interleaving: users without a preference, and users who prefer the second system.

Two nulls: both systems return the same list and users click as they judge (A/A), and lists differ
but users click at random. 1,000 experiments of 100 requests each, ten slots, every method. The sign
test leaves out ties and is exact, so that it rejects somewhat less often than 5 %. The interval is
the one printed by `rankgate online interleave score`. The interval and the marked test use one
estimate: wins if the sign test keeps its level, else credits, because wins need not be equally
frequent if mean credits are equal. Before, every method had the bootstrap interval of wins, and
left out 0 under random clicks, one list moved up, in 97.6 % (optimised), 100 % (optimised_linear)
and 100 % (balanced, whose sign test found a preference as often). Balanced credits are now taken
less the mean of the same clicked slots in all requests of a query.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt
from typing import TYPE_CHECKING, Any

import numpy as np

from rankgate.measurement.stats.paired_tests import sign_test, student_test
from rankgate.online.clicks.simulated_users import USERS, grades_of_lists, simulate_clicks
from rankgate.online.interleaving.interleave import interleave
from rankgate.online.interleaving.interleaving_methods import METHODS
from rankgate.online.interleaving.score_interleaving import pair_test
from rankgate.online.interleaving.simulate_tests import credits_of_clicks
from tables import marked, table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from rankgate.online.interleaving.interleaving_method import Assignment

    Floats = NDArray[np.float64]

ALPHA, EXPERIMENTS, REQUESTS, SLOTS = 0.05, 1000, 100, 10
KEPT = 10_000
"""Lists that are drawn for each null and method; experiments take theirs from them."""

_DOCS = [f"d{number}" for number in range(SLOTS + 5)]
PREFERRED = "users prefer the second, one list moved up"
NULLS = {
    "same lists": (_DOCS[:SLOTS], _DOCS[:SLOTS]),
    "random clicks, one list moved up": (_DOCS[:SLOTS], [*_DOCS[1:SLOTS], _DOCS[0]]),
    "random clicks, other documents": (_DOCS[:SLOTS], [*_DOCS[SLOTS:], *_DOCS[:5]]),
    PREFERRED: (_DOCS[:SLOTS], [*_DOCS[1:SLOTS], _DOCS[0]]),
}
"""The lists of both systems."""


@dataclass(frozen=True)
class Cell:
    """Rejections of one test.

    Attributes:
        null, method, test: of what.
        rejected: the share of experiments that find a preference at 5 %.
        error: its standard error.
    """

    null: str
    method: str
    test: str
    rejected: float
    error: float

    @property
    def holds(self) -> bool | None:
        """Whether at most 5 % and three standard errors are rejected; None of tests not taken."""
        if self.null == PREFERRED or self.test not in (METHODS[self.method].test, "t", "interval"):
            return None
        return self.rejected <= ALPHA + 3 * sqrt(ALPHA * (1 - ALPHA) / EXPERIMENTS)


def run(experiments: int = EXPERIMENTS, seed: int = 0) -> list[Cell]:
    """Every null, method and test."""
    cells = []
    for null, lists in NULLS.items():
        for method in METHODS:
            random = np.random.default_rng([seed, len(null), len(method)])
            assignments = [
                interleave(lists, str(number), method=method, length=SLOTS, seed=seed)
                for number in range(KEPT)
            ]
            cells += _cells(null, method, assignments, experiments, random)
    return cells


def _cells(
    null: str, method: str, shown: list[Assignment], experiments: int, random: np.random.Generator
) -> list[Cell]:
    """Each experiment takes lists at random and has new clicks."""
    rejected = {"sign": 0, "t": 0, "interval": 0}
    for _ in range(experiments):
        sampled = [shown[index] for index in random.integers(KEPT, size=REQUESTS)]
        clicks = _clicks(null, sampled, random)
        credit = credits_of_clicks(sampled, clicks)
        delta = (credit[:, 1] - credit[:, 0])[clicks.any(axis=1)]
        rejected["sign"] += bool(sign_test(delta).p_value[0] < ALPHA)
        rejected["t"] += bool(student_test(delta).p_value[0] < ALPHA)
        result = pair_test(delta, 1 - ALPHA, METHODS[method].test)
        rejected["interval"] += result.low > 0 or result.high < 0
    return [
        Cell(null, method, test, count / experiments, _error(count / experiments, experiments))
        for test, count in rejected.items()
    ]


def _clicks(null: str, taken: list[Assignment], random: np.random.Generator) -> NDArray[np.bool_]:
    docs = [assignment.docs for assignment in taken]
    if null in ("same lists", PREFERRED):
        grades = {doc: index % 3 / 2 for index, doc in enumerate(_DOCS)}
        return simulate_clicks(grades_of_lists(docs, [grades] * len(docs)), USERS["informational"], random)
    rates = 0.3 * 0.85 ** np.arange(max(map(len, docs)))
    return random.random((len(docs), len(rates))) < rates


def _error(share: float, count: int) -> float:
    return sqrt(max(share * (1 - share), 1e-9) / count)


def section(cells: Sequence[Any]) -> str:
    """Give the part of the page."""
    title, _, text = (__doc__ or "").strip().partition("\n")
    tests = list(dict.fromkeys(cell.test for cell in cells))
    rows = []
    for key in dict.fromkeys((cell.null, cell.method) for cell in cells):
        method_cells = {cell.test: cell for cell in cells if (cell.null, cell.method) == key}
        rows.append(
            (*key, *(marked(method_cells[test].rejected, method_cells[test].holds) for test in tests))
        )
    missed = sum(cell.holds is False for cell in cells)
    end = f"{missed} of {sum(cell.holds is not None for cell in cells)} marked cells miss.\n"
    header = ("null", "method", *tests)
    return f"## {title.rstrip('.')}\n\n{text.strip()}\n\n{table(header, rows)}\n{end}"
