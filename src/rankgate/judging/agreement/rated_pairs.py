"""Ratings as arrays for agreement, and the comparison of each rater with the other raters.

The arrays have pairs as rows and raters as columns, with the query of each pair. The comparisons
use kappas with intervals over queries.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from rankgate.core.errors import InputError
from rankgate.core.frozen import dataclass
from rankgate.data.qrels import on_scale, possible_grades
from rankgate.judging.counting_ratings import PAIR, counting_ratings
from rankgate.measurement.stats.rater_agreement import RatingMatrix, Tallies, cohen_values, jackknife, weights

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rankgate.core.arrays import Floats
    from rankgate.data.qrels import Ratings, Scale
    from rankgate.measurement.stats.rater_agreement import Agreement


@dataclass(frozen=True)
class RatedPairs:
    """The last rating of each rater on each pair: I pairs, R raters, K grades, Q queries.

    Attributes:
        name: the name of the ratings.
        last: the last rating of each rater and pair, with or without a grade; grades outside the
            scale are left out.
        given: the last ratings with a grade.
        outside: ``rater``, ``grade``, ``ratings``: grades that are not on the scale.
        corrected: ratings that a later rating of the same rater replaced.
        raters: names, in the order of the sheet.
        sheet: the grades.
        queries: (I,) the query of each pair, 0 to Q − 1.
        tallies: the sums of each query.
    """

    name: str
    last: pl.DataFrame
    given: pl.DataFrame
    outside: pl.DataFrame
    corrected: int
    raters: tuple[str, ...]
    sheet: RatingMatrix
    queries: NDArray[np.int64]
    tallies: Tallies

    def without(self, rater: str) -> RatedPairs:
        """The pairs without one rater; tables of ratings and sums of queries stay unchanged."""
        sheet = self.sheet.without_rater(self.raters.index(rater))
        raters = tuple(name for name in self.raters if name != rater)
        return replace(self, raters=raters, sheet=sheet)


def rated_pairs(ratings: Ratings, scale: Scale | None = None) -> RatedPairs:
    """Convert ratings to arrays.

    Args:
        ratings: the ratings of single raters; the last rating of each rater on a pair counts.
        scale: the possible grades; by default the scale of the ratings. Grades outside the scale
            are left out and counted: a single such grade would change every coefficient that
            depends on the range of the grades.

    Raises:
        InputError: the ratings have no grades, or no grades on the scale.
    """
    last_ratings = counting_ratings(ratings)
    table = last_ratings.table.select(*PAIR, "rater", "grade", "seconds", "at")
    bounds = scale or ratings.scale
    is_on_scale = on_scale(pl.col("grade"), bounds) if bounds else pl.lit(value=True)
    last = table.filter(is_on_scale | pl.col("grade").is_null())
    outside_grades = (
        table.filter(~is_on_scale & pl.col("grade").is_not_null())
        .group_by("rater", "grade")
        .agg(pl.len().cast(pl.Int64).alias("ratings"))
        .sort("rater", "grade")
    )
    graded_ratings = last.filter(pl.col("grade").is_not_null())
    if graded_ratings.is_empty():
        problem = "no rating has a grade on the scale." if len(outside_grades) else "no rating has a grade."
        raise InputError(problem, source=ratings.place.label, code="no-grades")
    sheet, raters, queries = _rating_matrix(graded_ratings, bounds)
    return RatedPairs(
        ratings.name,
        last,
        graded_ratings,
        outside_grades,
        last_ratings.corrected,
        raters,
        sheet,
        queries,
        Tallies.from_clusters(sheet, queries),
    )


def _rating_matrix(
    graded_ratings: pl.DataFrame, scale: Scale | None
) -> tuple[RatingMatrix, tuple[str, ...], NDArray[np.int64]]:
    raters = sorted(graded_ratings["rater"].unique())
    column = {rater: i for i, rater in enumerate(raters)}
    pairs = graded_ratings.select(PAIR).unique(maintain_order=True).with_row_index("item")
    numbered_ratings = graded_ratings.join(pairs, on=PAIR, maintain_order="left")
    possible = possible_grades(scale) if scale else ()
    sheet = RatingMatrix.from_ratings(
        (len(pairs), len(raters)),
        numbered_ratings["item"].to_numpy().astype(np.int64),
        numbered_ratings["rater"].replace_strict(column, return_dtype=pl.Int64).to_numpy(),
        numbered_ratings["grade"].to_numpy(),
        sorted({*possible, *graded_ratings["grade"].unique()}) if possible else None,
    )
    queries = pairs["query_id"].rank("dense").to_numpy().astype(np.int64) - 1
    return sheet, tuple(raters), queries


FALSE_ALARMS = 0.05
"""The share of sets of honest raters with at least one false alarm (docs/validity.md)."""


@dataclass(frozen=True)
class RaterCheck:
    """The comparison of one rater with all other raters.

    Attributes:
        rater: the name of the rater.
        overlap: the number of pairs that another rater also graded.
        queries: the number of queries of these pairs; with one query, the number of pairs.
        kappa: Cohen's kappa, linear weights, between the rater's grades and the others' grades.
        others: the kappa among the other raters; NaN if they share no pair.
        behind: an upper bound of ``kappa − others/2``; below 0 the rater agrees less than half as
            well with the others as the others agree with each other.
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
    """Compare each rater who shares a pair with another rater against all other raters.

    Intervals leave out one query at a time, or one pair if all ratings belong to one query.

    Args:
        pairs: the ratings.
        level: the confidence level of the intervals; by default 1 − 5 %/raters, so that all hold
            together (Bonferroni).
    """
    sheet = pairs.sheet
    raters_per_pair = sheet.counts.sum(axis=1)
    is_shared = raters_per_pair > 1
    if not is_shared.any():
        return ()
    counts, queries_of_pairs = sheet.counts[is_shared], pairs.queries[is_shared]
    # the query of each pair; if there is one query, each pair is its own cluster
    _, code = np.unique(queries_of_pairs, return_inverse=True)
    clusters = code if code.size and code.max() > 0 else np.arange(code.size)
    pair_weight = 1 / (raters_per_pair[is_shared] - 1)
    interval_level = level or 1 - FALSE_ALARMS / max(len(pairs.raters), 1)
    size, cluster_count = counts.shape[1], int(clusters.max()) + 1
    all_tables = np.empty((cluster_count, size, size))
    for first, second in np.ndindex(size, size):
        grade_pairs = counts[:, first] * counts[:, second] * pair_weight
        all_tables[:, first, second] = np.bincount(clusters, grade_pairs, cluster_count)
    for grade in range(size):
        same_ratings = np.bincount(clusters, counts[:, grade] * pair_weight, cluster_count)
        all_tables[:, grade, grade] -= same_ratings
    shared_ratings = np.flatnonzero(is_shared[sheet.items])
    shared_ratings = shared_ratings[np.argsort(sheet.raters[shared_ratings], kind="stable")]
    ends = np.searchsorted(sheet.raters[shared_ratings], np.arange(len(pairs.raters) + 1))
    row_of_pair = np.cumsum(is_shared) - 1
    checks = []
    for number, rater in enumerate(pairs.raters):
        ratings = shared_ratings[ends[number] : ends[number + 1]]
        if not ratings.size:
            continue
        rows, rater_grades = row_of_pair[sheet.items[ratings]], sheet.grade_index[ratings]
        other_counts = (counts[rows] - np.eye(size)[rater_grades]) * pair_weight[rows, None]
        cells = (clusters[rows] * size + rater_grades)[:, None] * size + np.arange(size)
        cell_sums = np.bincount(cells.ravel(), other_counts.ravel(), all_tables.size)
        rater_tables = np.asarray(cell_sums, np.float64).reshape(all_tables.shape)
        kappas = _kappas(rater_tables, all_tables, sheet.grades, interval_level)
        queries, reversal = len(np.unique(clusters[rows])), 1.0
        if kappas[0].value < 0:
            reversal = _reversal_chance(
                other_counts @ weights(sheet.grades, "linear"),
                rater_grades,
                queries_of_pairs[rows],
                1 - interval_level,
            )
        checks.append(RaterCheck(rater, len(rows), queries, *kappas, reversal))
    return tuple(checks)


def _kappas(
    rater_tables: Floats, all_tables: Floats, grades: Floats, level: float
) -> tuple[Agreement, float, float]:
    """The fields ``kappa``, ``others`` and ``behind`` of a check, from the tables of each query."""
    others_table = all_tables - rater_tables - rater_tables.transpose(0, 2, 1)
    others_table = np.where(np.abs(others_table) < 1e-9, 0.0, others_table)  # rounding errors
    has_rater = rater_tables.sum(axis=(1, 2)) > 0
    kappa, kappa_without = _leave_one_out(rater_tables[has_rater], grades)
    others_kappa, others_kappa_without = _leave_one_out(others_table, grades)
    gap_bound = float("nan")
    if np.isfinite(others_kappa) and others_kappa > 0:
        # kappa without each query; a query without a pair of the rater leaves it unchanged
        kappa_by_query = np.full(has_rater.size, kappa)
        kappa_by_query[has_rater] = kappa_without
        gap_interval = jackknife(kappa - others_kappa / 2, kappa_by_query - others_kappa_without / 2, level)
        gap_bound = gap_interval.high
    return jackknife(kappa, kappa_without, level), others_kappa, gap_bound


def _reversal_chance(
    agreement_by_grade: Floats, rater_grades: NDArray[np.int64], queries: NDArray[np.int64], level: float
) -> float:
    """The share of permutations within queries with the same agreement or less.

    Grades of a rater who gives them at random are as likely in any order within a query, so that
    the probability is exact for any number of queries; a permutation keeps how often each grade is used,
    and with it what chance agrees on. (Edgington and Onghena 2007, chapter 3.)

    Args:
        agreement_by_grade: (n, K) the agreement of each grade with the others, for each pair.
        rater_grades: (n,) the rater's grades, by number.
        queries: (n,) the query of each pair.
        level: the level of the test; fewer than 20 permutations beyond it are weak evidence.
    """
    n = len(rater_grades)
    order = np.argsort(queries, kind="stable")
    agreement_by_grade, rater_grades, queries = (
        agreement_by_grade[order],
        rater_grades[order],
        queries[order],
    )
    agreed = float(agreement_by_grade[np.arange(n), rater_grades].sum())
    rng, times = np.random.default_rng(0), int(max(_PERMUTATIONS, np.ceil(20 / level)))
    lower, step = 0, max(1, _CELLS // n)
    for begin in range(0, times, step):
        keys = queries + rng.random((min(step, times - begin), n))  # sorting within queries
        permuted_grades = rater_grades[np.argsort(keys, axis=1)]
        lower += int((agreement_by_grade[np.arange(n), permuted_grades].sum(axis=1) <= agreed + 1e-9).sum())
    return (lower + 1) / (times + 1)


_PERMUTATIONS, _CELLS = 999, 1 << 20


def _leave_one_out(tables: Floats, grades: Floats) -> tuple[float, Floats]:
    """Kappa of the sum of tables, and without each of them."""
    total = tables.sum(axis=0)
    return (
        float(cohen_values(total[None], grades, "linear")[0]),
        cohen_values(total - tables, grades, "linear"),
    )
