"""The bias of a judge, and its confusion matrix with people."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

import numpy as np
import polars as pl

from rankgate.core.frozen import dataclass
from rankgate.core.present.numbers import finite_or_none
from rankgate.judging.admission.judged_pairs import JUDGE, PEOPLE
from rankgate.measurement.stats.agreement.intervals import FEWEST_CLUSTERS, jackknife
from rankgate.measurement.stats.interval import t_interval

_INTERVAL_SCHEMA = {"low": pl.Float64, "high": pl.Float64}


@dataclass(frozen=True)
class Bias:
    """Differences of the judge's grades from people's.

    Attributes:
        mean, low, high: the mean difference over pairs with a 95 % interval; pairs of a query
            count as one observation, and fewer than 15 queries have no interval.
        grades: ``grade`` (people's), ``pairs``, ``mean`` (of the judge), ``bias``, ``equal``
            (share), ``low`` and ``high`` of the bias.
        confusion: ``people``, ``judge``, ``pairs``, ``share`` (of the pairs that people gave this
            grade) with ``low`` and ``high``. Intervals leave out one query at a time.
    """

    SCHEMAS: ClassVar[Mapping[str, Mapping[str, type[pl.DataType]]]] = {
        "grades": {
            "grade": pl.Float64,
            "pairs": pl.Int64,
            "mean": pl.Float64,
            "bias": pl.Float64,
            "equal": pl.Float64,
            **_INTERVAL_SCHEMA,
        },
        "confusion": {
            "people": pl.Float64,
            "judge": pl.Float64,
            "pairs": pl.Int64,
            "share": pl.Float64,
            **_INTERVAL_SCHEMA,
        },
    }

    mean: float | None
    low: float | None
    high: float | None
    grades: pl.DataFrame
    confusion: pl.DataFrame


def bias_of(pairs: pl.DataFrame) -> Bias:
    """The judge's mean grade minus people's, as a whole and for each grade of people."""
    gap = pl.col(JUDGE) - pl.col(PEOPLE)
    by_query = pairs.group_by("query_id", maintain_order=True).agg(
        gap.mean().alias("gap"), pl.len()
    )
    weights = by_query["len"].to_numpy().astype(float)
    estimate = t_interval(by_query["gap"].to_numpy(), weights=weights)
    mean, low, high = (
        finite_or_none(float(figure[0])) for figure in (estimate.mean, estimate.low, estimate.high)
    )
    if len(by_query) < FEWEST_CLUSTERS:
        low = high = None
    return Bias(mean, low, high, _grades(pairs.with_columns(gap.alias("gap"))), _confusion(pairs))


def _grades(pairs: pl.DataFrame) -> pl.DataFrame:
    gap = pl.col("gap")
    grades = pairs.group_by(pl.col(PEOPLE).alias("grade")).agg(
        pl.len().cast(pl.Int64).alias("pairs"),
        pl.col(JUDGE).mean().alias("mean"),
        gap.mean().alias("bias"),
        (gap == 0).mean().alias("equal"),
    )
    intervals = [
        (grade, *share_over_queries(grade_pairs, gap))
        for (grade,), grade_pairs in pairs.group_by(PEOPLE)
    ]
    schema = {"grade": pl.Float64, **_INTERVAL_SCHEMA}
    joined = grades.join(pl.DataFrame(intervals, schema=schema, orient="row"), on="grade")
    return joined.sort("grade")


def _confusion(pairs: pl.DataFrame) -> pl.DataFrame:
    rows = [
        (
            people,
            grade,
            grade_pairs.filter(pl.col(JUDGE) == grade).height,
            float((grade_pairs[JUDGE] == grade).mean() or 0.0),
            *share_over_queries(grade_pairs, pl.col(JUDGE) == grade),
        )
        for (people,), grade_pairs in pairs.group_by(PEOPLE)
        for grade in grade_pairs[JUDGE].unique().to_list()
    ]
    table = pl.DataFrame(rows, schema=Bias.SCHEMAS["confusion"], orient="row")
    return table.sort(PEOPLE, JUDGE)


def share_over_queries(pairs: pl.DataFrame, value: pl.Expr) -> tuple[float | None, float | None]:
    """The 95 % interval of a mean over pairs, leaving out one query at a time; None for few."""
    by_query = pairs.group_by("query_id", maintain_order=True).agg(
        value.cast(pl.Float64).sum().alias("sum"), pl.len()
    )
    total, n = by_query["sum"].to_numpy(), by_query["len"].to_numpy().astype(np.float64)
    if len(n) < FEWEST_CLUSTERS:
        return None, None
    interval = jackknife(float(total.sum() / n.sum()), (total.sum() - total) / (n.sum() - n))
    return (interval.low, interval.high) if np.isfinite(interval.low) else (None, None)
