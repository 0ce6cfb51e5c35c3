"""How far raters agree: together, one by one, by query, by grade and over time."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from rankgate.errors import InputError, UsageError
from rankgate.judging.methods.standing import PAIR, standing
from rankgate.stats.agreement import Agreement, with_interval
from rankgate.stats.kappa import (
    agreement,
    brennan_prediger,
    cohen,
    confusion,
    conger,
    fleiss,
    gwet,
)
from rankgate.stats.krippendorff import alpha
from rankgate.stats.ratings import Sheet

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray

    from rankgate.data.qrels import Scale
    from rankgate.data.ratings import Ratings
    from rankgate.stats.ratings import Floats

COEFFICIENTS: tuple[tuple[str, str, Callable[..., Floats], str], ...] = (
    ("raw agreement", "share of pairs of ratings that are equal", agreement, "identity"),
    ("alpha, ordinal", "Krippendorff; the usual choice for grades", alpha, "ordinal"),
    ("alpha, nominal", "Krippendorff; any two grades differ alike", alpha, "nominal"),
    ("alpha, interval", "Krippendorff; squared differences", alpha, "interval"),
    ("alpha, ratio", "Krippendorff; differences relative to size", alpha, "ratio"),
    ("Fleiss' kappa", "chance from all raters' grades", fleiss, "identity"),
    ("Conger's kappa", "chance from each rater's own grades", conger, "identity"),
    ("Conger's kappa, linear", "weighted; of two raters: Cohen's", conger, "linear"),
    ("Conger's kappa, quadratic", "as above", conger, "quadratic"),
    ("Gwet's AC1", "holds its ground where one grade prevails", gwet, "identity"),
    ("Gwet's AC2, linear", "AC1 with partial agreement", gwet, "linear"),
    ("Gwet's AC2, quadratic", "as above", gwet, "quadratic"),
    ("Brennan-Prediger", "chance as if all grades were alike", brennan_prediger, "identity"),
)
"""Name, what it is, and the coefficient of a sheet with its weights or level."""


@dataclass(frozen=True)
class Agreements:
    """What the ratings that stand say about each other.

    Attributes:
        name: of the ratings.
        counts: ratings, raters, pairs, overlap (pairs with two grades or more), cannot_tell,
            corrected, ties (pairs of the overlap without a majority).
        grades: ``grade``, ``ratings``, ``share`` (prevalence), ``agreement`` (of the pairs of
            ratings in which one has the grade, the share in which both have it: specific
            agreement, Fleiss 1981).
        coefficients: by name, over the pairs that two raters or more graded; kappas and Gwet's
            take the chance of agreement from all grades, as their authors do.
        raters: ``rater``, ``ratings``, ``cannot_tell``, ``mean``, ``overlap``, ``bias`` (mean of
            the grade minus the mean of the others'), ``agreement`` (share of the other ratings of
            the same pair that are equal), ``top_share`` (of their most frequent grade),
            ``median_seconds``, ``lowest`` and ``highest`` grade.
        pairs: ``first``, ``second``, ``overlap``, ``agreement``, ``kappa`` (Cohen's),
            ``kappa_linear``, ``bias`` (first minus second).
        confusion: ``rater``, ``consensus``, ``grade``, ``count``: a rater's grade against the
            grade that most others gave; ties of the others are left out.
        queries: ``query_id``, ``overlap``, ``agreement``, ``spread`` (mean standard deviation of
            the grades of a pair), least agreement first.
        periods: ``period`` (month), ``overlap``, ``agreement``, ``mean``: where times are known.
    """

    name: str
    counts: Mapping[str, int]
    grades: pl.DataFrame
    coefficients: Mapping[str, Agreement]
    raters: pl.DataFrame
    pairs: pl.DataFrame
    confusion: pl.DataFrame
    queries: pl.DataFrame
    periods: pl.DataFrame


def agreements(
    ratings: Ratings, *, scale: Scale | None = None, samples: int = 2000, seed: int = 0
) -> Agreements:
    """Everything in ``Agreements``.

    Args:
        ratings: of single raters; the last word of each rater on a pair counts.
        scale: the grades that were possible; without it, that of the ratings, or the grades that
            occur.
        samples: replicates of the bootstrap over pairs.
        seed: of the bootstrap.

    Raises:
        InputError: no rating has a grade.
        UsageError: no replicate.
    """
    if samples < 1:
        raise UsageError(f"resamples={samples}: an interval takes 1 or more.", code="out-of-range")
    stand = standing(ratings)
    given = stand.table.filter(pl.col("grade").is_not_null())
    if given.is_empty():
        raise InputError("no rating has a grade.", source=ratings.place.label, code="no-grades")
    told = _compared(given)
    sheet, raters = sheet_of(given, scale or ratings.scale)
    rated = sheet.counts.sum(axis=1)
    both = Sheet(sheet.grades, sheet.said[rated > 1])
    top = np.sort(both.counts, axis=1)
    tied = int((top[:, -1] == top[:, -2]).sum()) if sheet.grades.size > 1 else 0
    return Agreements(
        ratings.name,
        {
            "ratings": len(given),
            "raters": given["rater"].n_unique(),
            "pairs": stand.table.select(PAIR).n_unique(),
            "overlap": len(both.said),
            "cannot_tell": len(stand.table) - len(given),
            "corrected": stand.corrected,
            "ties": tied,
        },
        _by_grade(sheet),
        {
            name: with_interval(
                partial(of, sheet, kind), len(sheet.said), samples=samples, seed=seed
            )
            for name, _, of, kind in COEFFICIENTS
        },
        _by_rater(stand.table, told),
        _by_pair(sheet, raters),
        _by_consensus(given),
        _by_query(told),
        _by_period(told),
    )


def sheet_of(given: pl.DataFrame, scale: Scale | None) -> tuple[Sheet, list[str]]:
    """The sheet of ratings that have a grade, and who its raters are, in order."""
    raters = sorted(given["rater"].unique())
    place = {rater: i for i, rater in enumerate(raters)}
    items = given.select(PAIR).unique(maintain_order=True).with_row_index("item")
    coded = given.join(items, on=PAIR, maintain_order="left")
    matrix: NDArray[np.float64] = np.full((len(items), len(raters)), np.nan)
    columns = coded["rater"].replace_strict(place, return_dtype=pl.Int64).to_numpy()
    matrix[coded["item"].to_numpy(), columns] = coded["grade"].to_numpy()
    labels = [grade for grade, _ in scale.labels] if scale else []
    whole = sorted({*labels, *given["grade"].to_list()}) if labels else None
    return Sheet.of(matrix, whole), raters


def _compared(given: pl.DataFrame) -> pl.DataFrame:
    """Each rating of a pair that others graded too, beside what the others said."""
    many = pl.len().over(PAIR)
    grade = pl.col("grade")
    same = pl.len().over(*PAIR, "grade") - 1
    return given.filter(many > 1).with_columns(
        (same / (many - 1)).alias("equal"),
        ((grade.sum().over(PAIR) - grade) / (many - 1)).alias("others"),
        grade.std(ddof=0).over(PAIR).alias("spread"),
    )


def _by_grade(sheet: Sheet) -> pl.DataFrame:
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


def _by_rater(stand: pl.DataFrame, told: pl.DataFrame) -> pl.DataFrame:
    grade = pl.col("grade")
    alone = stand.group_by("rater").agg(
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
    beside = told.group_by("rater").agg(
        pl.len().cast(pl.Int64).alias("overlap"),
        (grade - pl.col("others")).mean().alias("bias"),
        pl.col("equal").mean().alias("agreement"),
    )
    return (
        alone.join(beside, on="rater", how="left")
        .with_columns(pl.col("overlap").fill_null(0))
        .select("rater", "ratings", "cannot_tell", "mean", "overlap", "bias", "agreement",
                "top_share", "median_seconds", "lowest", "highest")
        .sort("ratings", "rater", descending=[True, False])
    )  # fmt: skip


def _by_pair(sheet: Sheet, raters: list[str]) -> pl.DataFrame:
    """Every two raters who graded something in common."""
    rated = sheet.said.sum(axis=2)
    together = rated.T @ rated
    rows = []
    for i, j in zip(*np.nonzero(np.triu(together, 1)), strict=True):
        table = confusion(sheet, i, j)
        n = table.sum()
        rows.append(
            {
                "first": raters[i],
                "second": raters[j],
                "overlap": int(n),
                "agreement": float(np.trace(table) / n),
                "kappa": cohen(table, sheet.grades).value,
                "kappa_linear": cohen(table, sheet.grades, "linear").value,
                "bias": float((table.sum(axis=1) - table.sum(axis=0)) @ sheet.grades / n),
            }
        )
    schema = {"first": pl.String, "second": pl.String, "overlap": pl.Int64, "agreement": pl.Float64,
              "kappa": pl.Float64, "kappa_linear": pl.Float64, "bias": pl.Float64}  # fmt: skip
    table_ = pl.DataFrame(rows, schema=schema).with_columns(pl.col(pl.Float64).fill_nan(None))
    return table_.sort("overlap", "first", "second", descending=[True, False, False])


def _by_consensus(given: pl.DataFrame) -> pl.DataFrame:
    """A rater's grade against the grade of most others; the rater is not their own witness."""
    votes = given.select(*PAIR, pl.col("rater").alias("other"), pl.col("grade").alias("consensus"))
    beside = given.select(*PAIR, "rater", "grade").join(votes, on=PAIR)
    counted = (
        beside.filter(pl.col("rater") != pl.col("other"))
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


def _by_query(told: pl.DataFrame) -> pl.DataFrame:
    return (
        told.group_by("query_id")
        .agg(
            pl.col("doc_id").n_unique().cast(pl.Int64).alias("overlap"),
            pl.col("equal").mean().alias("agreement"),
            pl.col("spread").mean(),
        )
        .sort("agreement", "query_id")
    )


def _by_period(told: pl.DataFrame) -> pl.DataFrame:
    return (
        told.filter(pl.col("at").is_not_null())
        .group_by(pl.col("at").dt.strftime("%Y-%m").alias("period"))
        .agg(
            pl.struct(PAIR).n_unique().cast(pl.Int64).alias("overlap"),
            pl.col("equal").mean().alias("agreement"),
            pl.col("grade").mean().alias("mean"),
        )
        .sort("period")
    )
