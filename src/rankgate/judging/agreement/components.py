"""Variance of metric values by system, query and judge, and the difference of two systems."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from rankgate.core.frozen import dataclass
from rankgate.data import Qrels
from rankgate.judging.standing import PAIR, counting_ratings
from rankgate.measurement.evaluation.scored_system import Scorer

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rankgate.data import Run
    from rankgate.data.ratings import Ratings
    from rankgate.measurement.metrics.declare import Metric
    from rankgate.measurement.scoring import Convention

    Floats = NDArray[np.float64]

_LEVEL = 0.95


@dataclass(frozen=True)
class RaterComponents:
    """Values of one metric by each judge's own grades, in a model with crossed random effects.

    Attributes:
        metric: its label.
        queries: that all these judges graded, and both systems have a value of.
        judges: whose grades are in the model.
        left_out: judges with too few queries in common with the others.
        delta: candidate minus baseline, mean over queries and judges.
        low, high: its interval for other queries and other judges.
        p_value: of no difference.
        shares: by effect, its share of the variance of a single value.
    """

    metric: str
    queries: int
    judges: tuple[str, ...]
    left_out: tuple[str, ...]
    delta: float
    low: float
    high: float
    p_value: float
    shares: Mapping[str, float]


def rater_components(
    ratings: Ratings,
    runs: Sequence[Run],
    metrics: str | Metric | Sequence[str | Metric],
    how: str | Convention,
) -> tuple[RaterComponents, ...]:
    """The model of each metric; none where no two judges graded two queries in common.

    The design is balanced: of the judges with most queries those are kept whose common queries
    make the most values. Documents that a judge did not grade are unjudged for that judge.
    """
    graded_ratings = counting_ratings(ratings).table.filter(pl.col("grade").is_not_null())
    counts = graded_ratings.group_by("rater").agg(pl.col("query_id").n_unique())
    order = counts.sort("query_id", "rater", descending=[True, False])["rater"].to_list()
    if len(order) < 2:
        return ()
    values = {
        rater: _values(graded_ratings.filter(pl.col("rater") == rater), runs, metrics, how)
        for rater in order
    }
    labels = list(
        dict.fromkeys(label for values_by_label in values.values() for label in values_by_label)
    )
    models = (_fit_metric(label, order, values) for label in labels)
    return tuple(model for model in models if model is not None)


_Values = Mapping[str, Mapping[str, tuple[float, ...]]]


def _values(
    rater_ratings: pl.DataFrame,
    runs: Sequence[Run],
    metrics: str | Metric | Sequence[str | Metric],
    how: str | Convention,
) -> _Values:
    """By metric and query, the values of all systems by one judge's grades."""
    scorer = Scorer.of(Qrels(rater_ratings.select(*PAIR, "grade"), "judge"), metrics, how, depth=1)
    tables = [scorer.scored(run).scores.drop_nulls("value") for run in runs]
    values_by_metric: dict[str, dict[str, tuple[float, ...]]] = {}
    columns = [
        {(metric, query): value for query, metric, value, *_ in table.iter_rows()}
        for table in tables
    ]
    for metric, query in columns[0]:
        if all((metric, query) in column for column in columns):
            row = tuple(column[metric, query] for column in columns)
            values_by_metric.setdefault(metric, {})[query] = row
    return values_by_metric


def _fit_metric(
    label: str, order: Sequence[str], values: Mapping[str, _Values]
) -> RaterComponents | None:
    from rankgate.measurement.stats.crossed import EFFECTS, crossed

    best: tuple[int, list[str]] = (0, [])
    common: set[str] | None = None
    for count, rater in enumerate(order, 1):
        rater_queries = set(values[rater].get(label, {}))
        common = rater_queries if common is None else common & rater_queries
        if count > 1 and len(common) > 1 and count * len(common) > best[0] * max(len(best[1]), 1):
            best = (len(common), list(order[:count]))
    queries, judges = best
    if not judges:
        return None
    shared = sorted(set.intersection(*(set(values[rater][label]) for rater in judges)))
    table = np.array(
        [[values[rater][label][query] for rater in judges] for query in shared], np.float64
    ).transpose(0, 2, 1)
    result = crossed(table, _LEVEL)
    total_variance = result.components.sum()
    variance_shares = (
        result.components / total_variance if total_variance > 0 else np.full(len(EFFECTS), np.nan)
    )
    return RaterComponents(
        label,
        queries,
        tuple(judges),
        tuple(rater for rater in order if rater not in judges),
        float(result.delta[1]),
        float(result.low[1]),
        float(result.high[1]),
        float(result.p_value[1]),
        dict(zip(EFFECTS, map(float, variance_shares), strict=True)),
    )
