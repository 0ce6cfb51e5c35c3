"""The tables of an agreement, and the drift of raters.

Tables go by grade, rater, pair of raters, query and month. Drift is the change of a rater's
difference from the others between the first and the second half of the ratings.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from statistics import NormalDist
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from rankgate.core.present.columns import Column, Columns
from rankgate.core.present.result_frames import make_frame
from rankgate.data.table_rows import in_row_order
from rankgate.judging.agreement.agreement_columns import BIASES, CONFUSION, KAPPAS, PAIRS
from rankgate.judging.counting_ratings import PAIR, counting_ratings
from rankgate.measurement.stats.rater_agreement import (
    FEWEST_CLUSTERS,
    cohen_values,
    jackknife,
    jackknife_bounds,
    kendall_values,
    mean_absolute,
    pearson_values,
    spearman_values,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rankgate.core.arrays import Floats
    from rankgate.data.qrels import Ratings
    from rankgate.judging.agreement.rated_pairs import RatedPairs, RaterCheck
    from rankgate.measurement.stats.rater_agreement import RatingMatrix

    Places = NDArray[np.int64]


def with_others_grades(graded_ratings: pl.DataFrame) -> pl.DataFrame:
    """Ratings of pairs that others also graded, with equal grades, others' mean, and a ``pair``."""
    pairs = graded_ratings.select(PAIR).unique().with_row_index("pair")
    numbered_ratings = graded_ratings.join(pairs, on=PAIR, maintain_order="left")
    count = pl.len().over("pair")
    grade = pl.col("grade")
    equal_count = pl.len().over("pair", "grade") - 1
    return numbered_ratings.filter(count > 1).with_columns(
        (equal_count / (count - 1)).alias("equal"),
        ((grade.sum().over("pair") - grade) / (count - 1)).alias("others"),
    )


def grade_table(sheet: RatingMatrix) -> pl.DataFrame:
    """A row for each grade: its number of ratings, its share, and the agreement on it."""
    counts = sheet.counts
    raters_per_pair = counts.sum(axis=1, keepdims=True)
    weight = np.where(raters_per_pair > 1, 1 / np.maximum(raters_per_pair - 1, 1), 0.0)
    agreeing_pairs = (counts * (counts - 1) * weight).sum(axis=0)
    all_pairs = (counts * (raters_per_pair - 1) * weight).sum(axis=0)
    total = counts.sum(axis=0)
    return pl.DataFrame(
        {
            "grade": sheet.grades,
            "ratings": total.astype(np.int64),
            "share": total / total.sum(),
            "agreement": np.where(
                all_pairs > 0, agreeing_pairs / np.where(all_pairs > 0, all_pairs, 1), np.nan
            ),
        }
    ).with_columns(pl.col("agreement").fill_nan(None))


def rater_table(
    last: pl.DataFrame, shared_ratings: pl.DataFrame, checks: Sequence[RaterCheck]
) -> pl.DataFrame:
    """A row for each rater: ratings, mean grade, and differences from the other raters."""
    grade = pl.col("grade")
    rater_figures = last.group_by("rater").agg(
        grade.count().cast(pl.Int64).alias("ratings"),
        grade.null_count().cast(pl.Int64).alias("cannot_tell"),
        in_row_order(grade).mean().alias("mean"),
        (grade.drop_nulls().value_counts().struct.field("count").max() / grade.count()).alias("top_share"),
        pl.col("seconds").median().alias("median_seconds"),
        grade.min().alias("lowest"),
        grade.max().alias("highest"),
    )
    difference = grade - pl.col("others")
    overlap_figures = shared_ratings.group_by("rater").agg(
        pl.len().cast(pl.Int64).alias("overlap"),
        in_row_order(difference).mean().alias("bias"),
        in_row_order(pl.col("equal")).mean().alias("agreement"),
    )
    kappas = [
        (c.rater, c.kappa.value, c.kappa.low, min(c.kappa.high, 1.0))
        if c.queries >= FEWEST_CLUSTERS
        else (c.rater, c.kappa.value, None, None)
        for c in checks
    ]
    return (
        rater_figures.join(overlap_figures, on="rater", how="left")
        .join(_bias_intervals(shared_ratings.with_columns(difference.alias("gap"))), on="rater", how="left")
        .join(pl.DataFrame(kappas, schema=KAPPAS, orient="row"), on="rater", how="left")
        .with_columns(pl.col("overlap").fill_null(0), pl.col(*list(KAPPAS)[1:]).fill_nan(None))
        .select(
            "rater",
            "ratings",
            "cannot_tell",
            "mean",
            "overlap",
            "bias",
            "agreement",
            "top_share",
            "median_seconds",
            "lowest",
            "highest",
            "bias_low",
            "bias_high",
            "kappa_linear",
            "kappa_low",
            "kappa_high",
        )
        .sort("ratings", "rater", descending=[True, False])
    )


def _bias_intervals(shared_ratings: pl.DataFrame) -> pl.DataFrame:
    """The interval of each rater's bias, leaving out one query at a time."""
    rows = []
    by_query = shared_ratings.group_by("rater", "query_id").agg(in_row_order(pl.col("gap")).sum(), pl.len())
    for (rater,), rater_rows in by_query.sort("rater", "query_id").group_by("rater", maintain_order=True):
        differences, n = (rater_rows["gap"].to_numpy(), rater_rows["len"].to_numpy().astype(np.float64))
        if len(rater_rows) >= FEWEST_CLUSTERS:
            bias_without = (differences.sum() - differences) / (n.sum() - n)
            result = jackknife(float(differences.sum() / n.sum()), bias_without)
            rows.append((rater, result.low, result.high))
    return pl.DataFrame(rows, schema=BIASES, orient="row")


def pair_table(pairs: RatedPairs) -> pl.DataFrame:
    """A row for each pair of raters who graded at least one pair in common."""
    frames = [
        _pair_figures(pairs, first, second, tables)
        for raters_by_chunk in _tables_of_pairs(pairs)
        for first, second, tables in raters_by_chunk
    ]
    return pl.concat([make_frame([], PAIRS), *frames]).sort(
        "overlap", "first", "second", descending=[True, False, False]
    )


_CELLS = 1 << 20
"""The number of pairs of ratings with tables in memory at the same time."""


def _tables_of_pairs(pairs: RatedPairs) -> Iterator[list[tuple[Places, Places, Floats]]]:
    """Count the grades of pairs of raters by query, grouped by the number of queries.

    Yields:
        in chunks of first raters: (P,) first raters, (P,) second raters, (P, Q, K, K) how often
        the first gave a grade and the second another, in each query that both rated.
    """
    sheet, size = pairs.sheet, pairs.sheet.grades.size
    query_count = int(pairs.queries.max()) + 1
    items, raters, grades = sheet.items, sheet.raters, sheet.grade_index
    later_ratings = np.searchsorted(items, items, side="right") - 1 - np.arange(items.size)
    order = np.argsort(raters, kind="stable")
    pair_count = np.bincount(raters, later_ratings, minlength=len(pairs.raters))
    chunk_of_rater = (np.cumsum(pair_count) - pair_count) // _CELLS
    for chunk in np.unique(chunk_of_rater):
        ratings = order[chunk_of_rater[raters[order]] == chunk]
        count = later_ratings[ratings]
        first_rating = np.repeat(ratings, count)
        distance = np.arange(1, first_rating.size + 1) - np.repeat(np.cumsum(count) - count, count)
        second_rating = first_rating + distance
        rater_pair = raters[first_rating] * len(pairs.raters) + raters[second_rating]
        keys, key_index = np.unique(
            rater_pair * query_count + pairs.queries[items[first_rating]], return_inverse=True
        )
        cell = (key_index * size + grades[first_rating]) * size + grades[second_rating]
        tables = np.bincount(cell, minlength=keys.size * size * size).astype(np.float64)
        tables = tables.reshape(-1, size, size)
        codes, begins, queries = np.unique(keys // query_count, return_index=True, return_counts=True)
        yield [
            (
                *np.divmod(codes[queries == number], len(pairs.raters)),
                tables[begins[queries == number, None] + np.arange(number)],
            )
            for number in np.unique(queries)
        ]


def _pair_figures(pairs: RatedPairs, first: Places, second: Places, tables: Floats) -> pl.DataFrame:
    """The rows of pairs of raters, with intervals that leave out one query at a time."""
    grades, raters = pairs.sheet.grades, np.array(pairs.raters, object)
    total = tables.sum(axis=1)
    without = (total[:, None] - tables).reshape(-1, *total.shape[1:])
    n = total.sum(axis=(1, 2))
    figures = {
        "first": raters[first],
        "second": raters[second],
        "overlap": n.astype(np.int64),
        "agreement": np.trace(total, axis1=1, axis2=2) / n,
        "kappa_linear": cohen_values(total, grades, "linear"),
        "bias": (total.sum(axis=2) - total.sum(axis=1)) @ grades / n,
        "mae": mean_absolute(total, grades),
        "pearson": pearson_values(total, grades),
    }
    for name, coefficient, lowest in (
        ("kappa", cohen_values, -np.inf),
        ("spearman", spearman_values, -1.0),
        ("kendall", kendall_values, -1.0),
    ):
        values = coefficient(total, grades)
        low, high = jackknife_bounds(
            values, coefficient(without, grades).reshape(len(values), -1), least_clusters=FEWEST_CLUSTERS
        )
        figures |= {
            name: values,
            f"{name}_low": np.maximum(low, lowest),
            f"{name}_high": np.minimum(high, 1.0),
        }
    return make_frame({name: figures[name] for name in PAIRS}, PAIRS)


def consensus_table(pairs: RatedPairs) -> pl.DataFrame:
    """Each rater's grades against the majority grade of the other raters."""
    sheet, size = pairs.sheet, pairs.sheet.grades.size
    shape = (len(pairs.raters), size, size)
    counts = np.zeros(math.prod(shape), np.int64)
    step = max(1, _CELLS // max(size, 1))
    for begin in range(0, sheet.items.size, step):
        rows = slice(begin, begin + step)
        grade_index = sheet.grade_index[rows]
        votes = sheet.counts[sheet.items[rows]]
        votes[np.arange(len(votes)), grade_index] -= 1
        top = votes.max(axis=1)
        is_majority = (top > 0) & ((votes == top[:, None]).sum(axis=1) == 1)
        cells = np.ravel_multi_index((sheet.raters[rows], votes.argmax(axis=1), grade_index), shape)
        counts += np.bincount(cells[is_majority], minlength=counts.size)
    raters, consensus, grades = np.nonzero(counts.reshape(shape))
    return pl.DataFrame(
        {
            "rater": np.array(pairs.raters, object)[raters],
            "consensus": sheet.grades[consensus],
            "grade": sheet.grades[grades],
            "count": counts[counts > 0],
        },
        CONFUSION,
    )


def query_table(shared_ratings: pl.DataFrame) -> pl.DataFrame:
    """A row for each query that has a pair with two grades, least agreement first."""
    grade, count = pl.col("grade"), pl.len().over("pair").cast(pl.Float64)
    # the mean difference of two of m ratings of a pair: Σ(2i − m − 1)g₍ᵢ₎ over m(m − 1)/2
    # the position, from 1, of each grade among the sorted grades of its pair
    pairs = shared_ratings["pair"].to_numpy()
    order = np.lexsort((shared_ratings["grade"].to_numpy(), pairs))
    begins = np.searchsorted(pairs[order], pairs[order])
    positions = np.empty(len(pairs))
    positions[order] = np.arange(1, len(pairs) + 1) - begins
    weighted = (2 * pl.lit(pl.Series(positions)) - count - 1) * grade
    return (
        shared_ratings.with_columns(weighted=weighted)
        .with_columns(
            grade.std(ddof=0).over("pair").alias("spread"),
            (pl.col("weighted").sum().over("pair") / (count * (count - 1) / 2)).alias("gap"),
        )
        .group_by("query_id")
        .agg(
            pl.col("doc_id").n_unique().cast(pl.Int64).alias("overlap"),
            in_row_order(pl.col("equal")).mean().alias("agreement"),
            in_row_order(pl.col("spread")).mean(),
            in_row_order(pl.col("gap")).mean().alias("mae"),
        )
        .sort("agreement", "query_id")
    )


def period_table(shared_ratings: pl.DataFrame) -> pl.DataFrame:
    """A row for each month, for ratings with a time."""
    return (
        shared_ratings.filter(pl.col("at").is_not_null())
        .group_by(pl.col("at").dt.strftime("%Y-%m").alias("period"))
        .agg(
            pl.col("pair").n_unique().cast(pl.Int64).alias("overlap"),
            in_row_order(pl.col("equal")).mean().alias("agreement"),
            in_row_order(pl.col("grade")).mean().alias("mean"),
        )
        .sort("period")
    )


LEVEL = 0.95
"""The confidence level of all raters' intervals together (Bonferroni)."""

SCHEMA = Columns(
    "One row per rater with at least 20 ratings of pairs that others graded too: the first half of the "
    "ratings, by time, against the second half.",
    Column("rater", pl.String, "the name of the rater"),
    Column("pairs", pl.Int64, "ratings of both halves"),
    Column(
        "first_agreement",
        pl.Float64,
        "the share of the other ratings of the same pair that are equal, in the first half",
    ),
    Column(
        "last_agreement",
        pl.Float64,
        "the share of the other ratings of the same pair that are equal, in the second half",
    ),
    Column(
        "first_bias",
        pl.Float64,
        "the mean of the grade minus the mean of the others' grades, in the first half",
    ),
    Column(
        "last_bias",
        pl.Float64,
        "the mean of the grade minus the mean of the others' grades, in the second half",
    ),
    Column("change", pl.Float64, "last_bias − first_bias"),
    Column("low", pl.Float64, "the low end of Welch's interval of the change"),
    Column("high", pl.Float64, "the high end of Welch's interval of the change"),
    Column("drifts", pl.Boolean, "true if the interval of the change excludes 0"),
)
_MIN_RATINGS = 20


def drift(ratings: Ratings) -> pl.DataFrame:
    """Compare the first half of each rater's ratings, by time, with the second half.

    Only pairs that other raters also graded count. The bias is the mean of the grade minus the mean
    grade of the others; its change has Welch's interval, ``change ± z·√(s₁²/n₁ + s₂²/n₂)``, at 95 %
    for all raters together. Raters with fewer than 20 such ratings have no row.

    Args:
        ratings: all of them; ratings without a time keep their position in the order.

    Returns:
        The columns of ``SCHEMA``; ``drifts`` where the interval of the change excludes 0.
    """
    table = counting_ratings(ratings).table.select(*PAIR, "rater", "grade")
    graded_ratings = table.filter(pl.col("grade").is_not_null())
    shared_ratings = with_others_grades(graded_ratings).with_columns(bias=pl.col("grade") - pl.col("others"))
    count = pl.len().over("rater")
    position = pl.int_range(pl.len()).over("rater")
    shared_ratings = shared_ratings.with_columns(many=count, late=position * 2 >= count).filter(
        pl.col("many") >= _MIN_RATINGS
    )
    halves = shared_ratings.group_by("rater", "late").agg(
        pl.len().cast(pl.Int64).alias("pairs"),
        in_row_order(pl.col("equal")).mean().alias("agreement"),
        in_row_order(pl.col("bias")).mean().alias("bias"),
        (pl.col("bias").var() / pl.len()).alias("error"),
    )
    first, last = (halves.filter(pl.col("late") == late).drop("late") for late in (False, True))
    joined = first.join(last, on="rater", suffix="_last").sort("rater")
    if joined.is_empty():
        return pl.DataFrame(schema=SCHEMA)
    z = NormalDist().inv_cdf(1 - (1 - LEVEL) / len(joined) / 2)
    change = pl.col("bias_last") - pl.col("bias")
    half_width = z * (pl.col("error") + pl.col("error_last")).sqrt()
    return joined.select(
        "rater",
        (pl.col("pairs") + pl.col("pairs_last")).alias("pairs"),
        pl.col("agreement").alias("first_agreement"),
        pl.col("agreement_last").alias("last_agreement"),
        pl.col("bias").alias("first_bias"),
        pl.col("bias_last").alias("last_bias"),
        change.alias("change"),
        (change - half_width).alias("low"),
        (change + half_width).alias("high"),
        (change.abs() > half_width).alias("drifts"),
    )
