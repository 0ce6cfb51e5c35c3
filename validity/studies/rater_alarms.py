"""Alarms about raters: how often honest ones are accused, and bad ones are found.

Raters see the true grade of a document with noise of their own; queries differ in how hard they
are. The bad one among them reverses the scale, draws grades at random as often as the others give
them, or follows the document in one rating of four only; or one of five reverses the scale and
another draws grades.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from rankgate.data.qrels import Ratings
from rankgate.judging.agreement.agreement_alarms import rater_alarms
from rankgate.judging.agreement.rated_pairs import FALSE_ALARMS, rated_pairs

if TYPE_CHECKING:
    from collections.abc import Sequence

RATERS, PAIRS, QUERIES = (2, 3, 5, 10), (40, 100, 300), (10, 30)
BAD = ("none", "reversed", "random", "against-all", "reversed and random")
TWO = 5  # raters among whom two are bad
REPLICATIONS = 200
_SHARES, _GRADES = (0.4, 0.25, 0.2, 0.15), 4
_FOLLOWS = 0.25


@dataclass(frozen=True)
class Cell:
    """Alarms in one kind of data.

    Attributes:
        raters, queries, pairs: how many; all raters grade all pairs.
        bad: what the first rater does; ``none``: all are honest.
        replications: sets of ratings.
        named: share of the sets in which the bad raters (of two: the pair) have the right alarm.
        any_alarm: share in which each of them has one of the three alarms.
        accused: share of the sets in which an honest rater has an alarm.
    """

    raters: int
    queries: int
    pairs: int
    bad: str
    replications: int
    named: float
    any_alarm: float
    accused: float

    @property
    def holds(self) -> bool:
        """Whether honest raters are accused in 5 % of the sets at most, within noise."""
        noise = 2 * np.sqrt(FALSE_ALARMS * (1 - FALSE_ALARMS) / self.replications)
        return bool(self.accused <= FALSE_ALARMS + noise)


def run(replications: int = REPLICATIONS, seed: int = 0) -> list[Cell]:
    """Every number of raters, queries and pairs, with each kind of bad rater."""
    rng = np.random.default_rng(seed)
    cells = []
    for raters in RATERS:
        for queries in QUERIES:
            for pairs in PAIRS:
                for bad in BAD:
                    if _possible(raters, bad):
                        trial_results = [_one(rng, raters, queries, pairs, bad) for _ in range(replications)]
                        cells.append(
                            Cell(
                                raters,
                                queries,
                                pairs,
                                bad,
                                replications,
                                *map(float, np.mean(trial_results, axis=0)),
                            )
                        )
    return cells


def _possible(raters: int, bad: str) -> bool:
    return raters == TWO if bad == BAD[-1] else not (bad == "against-all" and raters == RATERS[0])


def section(cells: Sequence[Any]) -> str:
    """Give the part of the page: the worst and the best case of each size."""
    from tables import percent, table

    rows = []
    for pairs in sorted({c.pairs for c in cells}):
        for bad in dict.fromkeys(c.bad for c in cells if c.bad != "none"):
            group_cells = [c for c in cells if (c.pairs, c.bad) == (pairs, bad)]
            ends = [percent(end([c.any_alarm for c in group_cells])) for end in (min, max)]
            rows.append((str(pairs), bad, *ends))
    worst = max(c.accused for c in cells)
    introduction = (
        f"{len(cells)} kinds of data (2 to 10 raters, 10 or 30 queries), {cells[0].replications} sets of "
        f"ratings each. An honest rater has an alarm in at most {percent(worst)} of the sets; 5 % are "
        "allowed. The share of bad raters with an alarm, from the hardest kind of data to the easiest; a "
        "rater who follows the document in one rating of four is often missed:"
    )
    heads = ("pairs", "behaviour of the bad rater", "found, least", "found, most")
    return f"## Alarms about raters\n\n{introduction}\n\n{table(heads, rows)}"


def _one(
    rng: np.random.Generator, raters: int, queries: int, pairs: int, bad: str
) -> tuple[bool, bool, bool]:
    query = np.arange(pairs) % queries
    truth = rng.choice(_GRADES, pairs, p=_SHARES)
    hard = rng.lognormal(0, 0.4, queries)[query]
    noise = rng.uniform(0.4, 1.0, raters)
    severe = rng.normal(0, 0.2, raters)
    perceived_grades = truth[:, None] + severe + hard[:, None] * noise * rng.normal(size=(pairs, raters))
    grades = np.clip(np.rint(perceived_grades), 0, _GRADES - 1)
    kinds = [] if bad == "none" else bad.split(" and ")
    bad_raters = {f"r{j}": kind for j, kind in enumerate(kinds)}
    for j, kind in enumerate(bad_raters.values()):
        if kind == "reversed":
            grades[:, j] = _GRADES - 1 - grades[:, j]
        else:
            share = 0.0 if kind == "random" else _FOLLOWS
            shuffled_grades = rng.permutation(grades[:, j])
            grades[:, j] = np.where(rng.random(pairs) < share, grades[:, j], shuffled_grades)
    alarms = rater_alarms(rated_pairs(_ratings(query, grades)))
    alarm_kinds = {
        rater: alarm.kind for alarm in alarms for rater in alarm.who.split(", ") if rater in bad_raters
    }
    return (
        bool(bad_raters) and alarm_kinds == bad_raters,
        bool(bad_raters) and alarm_kinds.keys() == bad_raters.keys(),
        any(not bad_raters.keys() & set(alarm.who.split(", ")) for alarm in alarms),
    )


def _ratings(query: np.ndarray, grades: np.ndarray) -> Ratings:
    pairs, raters = grades.shape
    return Ratings(
        pl.DataFrame(
            {
                "query_id": [f"q{q}" for q in query for _ in range(raters)],
                "doc_id": [f"d{i}" for i in range(pairs) for _ in range(raters)],
                "rater": [f"r{j}" for _ in range(pairs) for j in range(raters)],
                "grade": grades.ravel(),
            }
        )
    )
