"""Does a rater agree with the others, and with certainty? Kappas with intervals over queries."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rankgate.core.frozen import dataclass
from rankgate.measurement.stats.agreement.intervals import jackknife
from rankgate.measurement.stats.agreement.kappa import cohen_values
from rankgate.measurement.stats.agreement.ratings import weights

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rankgate.judging.agreement.rated_pairs import RatedPairs
    from rankgate.measurement.stats.agreement.intervals import Agreement
    from rankgate.measurement.stats.agreement.ratings import Floats

FALSE_ALARMS = 0.05
"""The share of sets of honest raters in which any of them may be reported (docs/validity.md)."""


@dataclass(frozen=True)
class RaterCheck:
    """One rater against all others.

    Attributes:
        rater: the name.
        overlap: pairs that another rater graded too.
        queries: that these pairs are of; of one query, the number of pairs.
        kappa: Cohen's kappa, linear weights, of the rater's grades against those of the others.
        others: the same among the others, without the rater; NaN where they share no pair.
        behind: an upper bound of ``kappa − others/2``; below 0 the rater agrees less than half as
            well with the others as they do with each other.
        reversal: chance that a rater of random grades is as far below chance as this one; 1 where
            kappa is not below 0.
    """

    rater: str
    overlap: int
    queries: int
    kappa: Agreement
    others: float
    behind: float
    reversal: float = 1.0


def rater_checks(pairs: RatedPairs, level: float | None = None) -> tuple[RaterCheck, ...]:
    """Each rater with a pair in common with another, against all others.

    Intervals leave out one query at a time; where all ratings are of one query, one pair.

    Args:
        pairs: the ratings.
        level: of the intervals; without it 1 − 5 %/raters, so that all hold together (Bonferroni).
    """
    counts = pairs.sheet.counts
    rated = counts.sum(axis=1)
    both = rated > 1
    place, clusters = pairs.place[both], _clusters(pairs.queries[both])
    counts, once = counts[both], 1 / np.maximum(rated[both] - 1, 1)
    if not both.any():
        return ()
    wanted = level or 1 - FALSE_ALARMS / max(len(pairs.raters), 1)
    everyone = _sums(clusters, (counts[:, :, None] * counts[:, None, :]) * once[:, None, None])
    size = counts.shape[1]
    everyone -= np.eye(size) * _sums(clusters, counts * once[:, None])[:, None, :]
    checks = []
    for column, rater in enumerate(pairs.raters):
        own = place[:, column]
        mine = own >= 0
        if not mine.any():
            continue
        result = np.eye(size)[own[mine]]
        table = result[:, :, None] * ((counts[mine] - result) * once[mine, None])[:, None, :]
        against = np.zeros_like(everyone)
        np.add.at(against, clusters[mine], table)
        kappas = _kappas(against, everyone, pairs.sheet.grades, wanted)
        queries, reversal = len(np.unique(clusters[mine])), 1.0
        if kappas[0].value < 0:
            others = (counts[mine] - result) * once[mine, None]
            near = others @ weights(pairs.sheet.grades, "linear")
            reversal = _reversal(near, own[mine], pairs.queries[both][mine], 1 - wanted)
        checks.append(RaterCheck(rater, int(mine.sum()), queries, *kappas, reversal))
    return tuple(checks)


def _kappas(
    against: Floats, everyone: Floats, grades: Floats, level: float
) -> tuple[Agreement, float, float]:
    """The fields ``kappa``, ``others`` and ``behind`` of a check, from tables of each query."""
    among = everyone - against - against.transpose(0, 2, 1)
    among = np.where(np.abs(among) < 1e-9, 0.0, among)  # what rounding leaves
    here = against.sum(axis=(1, 2)) > 0
    kappa, left = _left_out(against[here], grades)
    rest, rest_left = _left_out(among, grades)
    behind = float("nan")
    if np.isfinite(rest) and rest > 0:
        gap = jackknife(kappa - rest / 2, _spread(left, here, kappa) - rest_left / 2, level)
        behind = gap.high
    return jackknife(kappa, left, level), rest, behind


def _reversal(near: Floats, own: NDArray[np.int64], queries: NDArray[np.int64],
              level: float) -> float:  # fmt: skip
    """The share of permutations within queries that agree with the others as little, or less.

    Grades of a rater who gives them at random are as likely in any order within a query, so that
    the chance is exact for any number of queries; a permutation keeps how often each grade is used,
    and with it what chance agrees on. (Edgington and Onghena 2007, chapter 3.)

    Args:
        near: (n, K) the agreement of each grade with those of the others, for each pair.
        own: (n,) the rater's grades, by number.
        queries: (n,) the query of each pair.
        level: that the chance is compared with: fewer than 20 permutations beyond it say little.
    """
    n = len(own)
    order = np.argsort(queries, kind="stable")
    near, own, queries = near[order], own[order], queries[order]
    agreed = float(near[np.arange(n), own].sum())
    rng, times = np.random.default_rng(0), int(max(_PERMUTATIONS, np.ceil(20 / level)))
    lower, step = 0, max(1, _CELLS // n)
    for begin in range(0, times, step):
        keys = queries + rng.random((min(step, times - begin), n))  # sorts within queries
        mixed = own[np.argsort(keys, axis=1)]
        lower += int((near[np.arange(n), mixed].sum(axis=1) <= agreed + 1e-9).sum())
    return (lower + 1) / (times + 1)


_PERMUTATIONS, _CELLS = 999, 1 << 20


def _spread(left: Floats, here: NDArray[np.bool_], value: float) -> Floats:
    """Leaving out a query in which the rater has no pair changes nothing of the rater."""
    every = np.full(here.size, value)
    every[here] = left
    return every


def _left_out(tables: Floats, grades: Floats) -> tuple[float, Floats]:
    """Kappa of the sum of tables, and without each of them."""
    whole = tables.sum(axis=0)
    return (
        float(cohen_values(whole[None], grades, "linear")[0]),
        cohen_values(whole - tables, grades, "linear"),
    )


def _clusters(queries: NDArray[np.int64]) -> NDArray[np.int64]:
    """The query of each pair; each pair alone where there is one query."""
    _, code = np.unique(queries, return_inverse=True)
    return code if code.size and code.max() > 0 else np.arange(code.size)


def _sums(clusters: NDArray[np.int64], each: Floats) -> Floats:
    total = np.zeros((int(clusters.max()) + 1, *each.shape[1:]))
    np.add.at(total, clusters, each)
    return total
