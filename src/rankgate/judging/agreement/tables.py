"""The tables of an agreement: by grade, rater, pair of raters, query and month."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from rankgate.core.present.frames import frame
from rankgate.judging.standing import PAIR
from rankgate.measurement.stats.agreement.correlations import (
    kendall_values,
    mean_absolute,
    pearson_values,
    spearman_values,
)
from rankgate.measurement.stats.agreement.intervals import FEWEST_CLUSTERS, jackknife
from rankgate.measurement.stats.agreement.kappa import cohen_values

if TYPE_CHECKING:
    from rankgate.judging.agreement.rated_pairs import RatedPairs
    from rankgate.judging.agreement.rater_checks import RaterCheck
    from rankgate.measurement.stats.agreement.ratings import Floats, RatingMatrix


def compared(given: pl.DataFrame) -> pl.DataFrame:
    """Each rating of a pair that others graded too, with what the others said."""
    many = pl.len().over(PAIR)
    grade = pl.col("grade")
    same = pl.len().over(*PAIR, "grade") - 1
    return given.filter(many > 1).with_columns(
        (same / (many - 1)).alias("equal"),
        ((grade.sum().over(PAIR) - grade) / (many - 1)).alias("others"),
        grade.std(ddof=0).over(PAIR).alias("spread"),
        _gap(grade).alias("gap"),
    )


def _gap(grade: pl.Expr) -> pl.Expr:
    """The mean absolute difference of two ratings of a pair: Σ(2i − m − 1)g₍ᵢ₎ over m(m − 1)/2."""
    many = pl.len().cast(pl.Float64)
    place = grade.rank("ordinal").cast(pl.Float64)
    return (((2 * place - many - 1) * grade).sum() / (many * (many - 1) / 2)).over(PAIR)


def by_grade(sheet: RatingMatrix) -> pl.DataFrame:
    """Every grade: how often it was given, and how far raters agree on it."""
    counts = sheet.counts
    rated = counts.sum(axis=1, keepdims=True)
    weight = np.where(rated > 1, 1 / np.maximum(rated - 1, 1), 0.0)
    both = (counts * (counts - 1) * weight).sum(axis=0)
    any_ = (counts * (rated - 1) * weight).sum(axis=0)
    total = counts.sum(axis=0)
    return pl.DataFrame(
        {
            "grade": sheet.grades,
            "ratings": total.astype(np.int64),
            "share": total / total.sum(),
            "agreement": np.where(any_ > 0, both / np.where(any_ > 0, any_, 1), np.nan),
        }
    ).with_columns(pl.col("agreement").fill_nan(None))


def by_rater(
    last: pl.DataFrame, others: pl.DataFrame, checks: Sequence[RaterCheck]
) -> pl.DataFrame:
    """Every rater: how many grades, which, and how far from the others."""
    grade = pl.col("grade")
    alone = last.group_by("rater").agg(
        grade.count().cast(pl.Int64).alias("ratings"),
        grade.null_count().cast(pl.Int64).alias("cannot_tell"),
        grade.mean().alias("mean"),
        (grade.drop_nulls().value_counts().struct.field("count").max() / grade.count()).alias(
            "top_share"
        ),
        pl.col("seconds").median().alias("median_seconds"),
        grade.min().alias("lowest"),
        grade.max().alias("highest"),
    )
    gap = grade - pl.col("others")
    compared_ = others.group_by("rater").agg(
        pl.len().cast(pl.Int64).alias("overlap"),
        gap.mean().alias("bias"),
        pl.col("equal").mean().alias("agreement"),
    )
    kappas = [
        (c.rater, c.kappa.value, c.kappa.low, min(c.kappa.high, 1.0))
        if c.queries >= FEWEST_CLUSTERS
        else (c.rater, c.kappa.value, None, None)
        for c in checks
    ]
    return (
        alone.join(compared_, on="rater", how="left")
        .join(_bias_intervals(others.with_columns(gap.alias("gap"))), on="rater", how="left")
        .join(pl.DataFrame(kappas, schema=_KAPPAS, orient="row"), on="rater", how="left")
        .with_columns(pl.col("overlap").fill_null(0), pl.col(*list(_KAPPAS)[1:]).fill_nan(None))
        .select("rater", "ratings", "cannot_tell", "mean", "overlap", "bias", "agreement",
                "top_share", "median_seconds", "lowest", "highest", "bias_low", "bias_high",
                "kappa_linear", "kappa_low", "kappa_high")
        .sort("ratings", "rater", descending=[True, False])
    )  # fmt: skip


_KAPPAS = {
    "rater": pl.String,
    "kappa_linear": pl.Float64,
    "kappa_low": pl.Float64,
    "kappa_high": pl.Float64,
}
_BIASES = {"rater": pl.String, "bias_low": pl.Float64, "bias_high": pl.Float64}


def _bias_intervals(others: pl.DataFrame) -> pl.DataFrame:
    """The interval of each rater's bias, leaving out one query at a time."""
    rows = []
    by_query = others.group_by("rater", "query_id").agg(pl.col("gap").sum(), pl.len())
    for (rater,), part in by_query.sort("rater", "query_id").group_by("rater", maintain_order=True):
        gap, n = part["gap"].to_numpy(), part["len"].to_numpy().astype(np.float64)
        if len(part) >= FEWEST_CLUSTERS:
            left = (gap.sum() - gap) / (n.sum() - n)
            result = jackknife(float(gap.sum() / n.sum()), left)
            rows.append((rater, result.low, result.high))
    return pl.DataFrame(rows, schema=_BIASES, orient="row")


_PAIRS = {
    "first": pl.String,
    "second": pl.String,
    "overlap": pl.Int64,
    "agreement": pl.Float64,
    "kappa": pl.Float64,
    "kappa_linear": pl.Float64,
    "bias": pl.Float64,
    "kappa_low": pl.Float64,
    "kappa_high": pl.Float64,
    "mae": pl.Float64,
    "pearson": pl.Float64,
    "spearman": pl.Float64,
    "spearman_low": pl.Float64,
    "spearman_high": pl.Float64,
    "kendall": pl.Float64,
    "kendall_low": pl.Float64,
    "kendall_high": pl.Float64,
}


def _correlations(table: Floats, without: Floats, grades: Floats) -> tuple[float, ...]:
    """Mean absolute difference, r, and rho and tau with intervals that leave out one query."""
    found = [float(of(table[None], grades)[0]) for of in (mean_absolute, pearson_values)]
    for of in (spearman_values, kendall_values):
        value = float(of(table[None], grades)[0])
        ends = jackknife(value, of(without, grades), fewest=FEWEST_CLUSTERS)
        found += [value, max(ends.low, -1.0), min(ends.high, 1.0)]
    return tuple(found)


def by_pair(pairs: RatedPairs) -> pl.DataFrame:
    """Every two raters who graded something in common."""
    place, grades = pairs.place, pairs.sheet.grades
    rated = (place >= 0).astype(np.int64)
    together, size = rated.T @ rated, grades.size
    rows = []
    for i, j in zip(*np.nonzero(np.triu(together, 1)), strict=True):
        both = (place[:, i] >= 0) & (place[:, j] >= 0)
        _, query = np.unique(pairs.queries[both], return_inverse=True)
        cell = (query * size + place[both, i]) * size + place[both, j]
        by_query = np.bincount(cell, minlength=(query.max() + 1) * size * size)
        queries = by_query.reshape(-1, size, size).astype(np.float64)
        table = queries.sum(axis=0)
        n = table.sum()
        kappa, linear = (
            float(cohen_values(table[None], grades, kind)[0]) for kind in ("identity", "linear")
        )
        left = cohen_values(table - queries, grades)
        result = jackknife(kappa, left, fewest=FEWEST_CLUSTERS)
        bias = float((table.sum(axis=1) - table.sum(axis=0)) @ grades / n)
        rows.append((pairs.raters[i], pairs.raters[j], int(n), float(np.trace(table) / n), kappa,
                     linear, bias, result.low, min(result.high, 1.0),
                     *_correlations(table, table - queries, grades)))  # fmt: skip
    return frame(rows, _PAIRS).sort("overlap", "first", "second", descending=[True, False, False])


def by_consensus(given: pl.DataFrame) -> pl.DataFrame:
    """A rater's grade against the grade of most others; a rater's own grade is not counted."""
    votes = given.select(*PAIR, pl.col("rater").alias("other"), pl.col("grade").alias("consensus"))
    pairs = given.select(*PAIR, "rater", "grade").join(votes, on=PAIR)
    counted = (
        pairs.filter(pl.col("rater") != pl.col("other"))
        .group_by(*PAIR, "rater", "grade", "consensus")
        .len()
    )
    key = (*PAIR, "rater")
    most = counted.filter(pl.col("len") == pl.col("len").max().over(key))
    sure = most.filter(pl.len().over(key) == 1)
    return (
        sure.group_by("rater", "consensus", "grade")
        .agg(pl.len().cast(pl.Int64).alias("count"))
        .sort("rater", "consensus", "grade")
    )


def by_query(others: pl.DataFrame) -> pl.DataFrame:
    """Every query with a pair of two grades, least agreement first."""
    return (
        others.group_by("query_id")
        .agg(
            pl.col("doc_id").n_unique().cast(pl.Int64).alias("overlap"),
            pl.col("equal").mean().alias("agreement"),
            pl.col("spread").mean(),
            pl.col("gap").mean().alias("mae"),
        )
        .sort("agreement", "query_id")
    )


def by_period(others: pl.DataFrame) -> pl.DataFrame:
    """Every month, where times are known."""
    return (
        others.filter(pl.col("at").is_not_null())
        .group_by(pl.col("at").dt.strftime("%Y-%m").alias("period"))
        .agg(
            pl.struct(PAIR).n_unique().cast(pl.Int64).alias("overlap"),
            pl.col("equal").mean().alias("agreement"),
            pl.col("grade").mean().alias("mean"),
        )
        .sort("period")
    )
