"""Accuracy of predicted ratings: the verb ``rating_accuracy``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import polars as pl

from rankgate.core.errors import InputError, UsageError
from rankgate.core.frozen import dataclass
from rankgate.core.present.frames import frame
from rankgate.core.present.result import Notice, Result
from rankgate.data import read_qrels, read_run
from rankgate.measurement.metrics.ratings import RATING_METRICS, RatingMetric

if TYPE_CHECKING:
    from rankgate.data.inputs import QrelsLike, RunLike

DEFAULT = ("RMSE", "MAE", "R2", "ExplainedVariance", "NDPM", "Spearman", "Kendall")
"""What is computed when no metric is named; the others are of probabilities."""

_PAIR = ["query_id", "doc_id"]


@dataclass(frozen=True)
class RatingAccuracy(Result):
    """Predicted ratings against those that users gave.

    Attributes:
        qrels: the name of the ratings.
        run: the name of the predictions.
        values: by metric; NaN where there is nothing to take it of.
        pairs: rated pairs that are predicted, which is what the values are of.
        users: of these.
        unpredicted: rated pairs without a prediction; they are left out.
    """

    kind: ClassVar[str] = "rating_accuracy"
    document_from: ClassVar[str] = "rankgate.recommenders.documents.rating_accuracy:document"

    qrels: str
    run: str
    values: Mapping[str, float]
    pairs: int
    users: int
    unpredicted: int

    @property
    def notices(self) -> tuple[Notice, ...]:
        """Rated pairs that nothing was predicted for."""
        if not self.unpredicted:
            return ()
        text = (
            f"{self.unpredicted:,} of {self.pairs + self.unpredicted:,} rated pairs have no "
            "prediction and are left out; a system that predicts less can look better"
        )
        return (Notice("pairs-without-prediction", text, self.run),)

    def __getitem__(self, metric: str) -> float:
        """The value of a metric, as in ``result["RMSE"]``."""
        return self.values[metric]

    def _table(self) -> pl.DataFrame:
        rows = {"metric": list(self.values), "value": list(self.values.values())}
        return frame(rows, {"metric": pl.String, "value": pl.Float64})


def rating_accuracy(
    qrels: QrelsLike,
    run: RunLike,
    metrics: Sequence[str] = DEFAULT,
) -> RatingAccuracy:
    """Compare predicted ratings with those that users gave, pair by pair.

    RMSE, MAE, R2, ExplainedVariance, LogLoss and CalibrationError are of all pairs at once; NDPM,
    Spearman and Kendall of each user with two ratings or more, and then the mean of the users
    that have a value. LogLoss and CalibrationError need ratings of 0 and 1, and probabilities.

    Args:
        qrels: the ratings: a path, a frame, ``{user: {item: rating}}``, a matrix.
        run: the predictions, as scores of a run in any form.
        metrics: names of `rankgate.measurement.metrics.ratings.RATING_METRICS`.

    Raises:
        InputError: data that cannot be read; no rated pair is predicted; ratings that are not 0
            or 1, or predictions that are no probabilities, where a metric needs them.
        UsageError: an unknown metric.

    >>> found = rating_accuracy({"u": {"a": 4, "b": 2}}, {"u": {"a": 3.5, "b": 2.0}})
    >>> round(found["RMSE"], 4), found["NDPM"]
    (0.3536, 0.0)
    """
    chosen = [_named(name) for name in metrics]
    given, predicted = read_qrels(qrels), read_run(run)
    rated = given.table.select(*_PAIR, "grade")
    both = rated.join(predicted.table, on=_PAIR, how="inner", maintain_order="left")
    if both.is_empty():
        problem = "no rated pair has a prediction; check that both use the same ids."
        raise InputError(problem, source=predicted.place.label, code="no-shared-ids")
    both = both.sort("query_id", maintain_order=True)
    if any(metric.binary for metric in chosen):
        _refuse_unlikely(both, given.place.label, predicted.place.label)
    return RatingAccuracy(
        qrels=given.name,
        run=predicted.name,
        values={metric.name: _value(metric, both) for metric in chosen},
        pairs=len(both),
        users=both["query_id"].n_unique(),
        unpredicted=len(rated) - len(both),
    )


def _named(name: str) -> RatingMetric:
    if name not in RATING_METRICS:
        known = ", ".join(RATING_METRICS)
        raise UsageError(
            f"unknown metric '{name}' of ratings; there are {known}.", code="unknown-metric"
        )
    return RATING_METRICS[name]


def _value(metric: RatingMetric, both: pl.DataFrame) -> float:
    given, predicted = both["grade"].to_numpy(), both["score"].to_numpy()
    if metric.over == "pairs":
        return metric.kernel(given, predicted)
    starts = both["query_id"].rle().struct.field("len").to_numpy().cumsum()[:-1]
    users = zip(np.split(given, starts), np.split(predicted, starts), strict=True)
    values = np.array([metric.kernel(*user) for user in users])
    known = values[~np.isnan(values)]
    return float(known.mean()) if len(known) else float("nan")


def _refuse_unlikely(both: pl.DataFrame, given: str, predicted: str) -> None:
    """Check that ratings are 0 or 1, and predictions probabilities."""
    if not both["grade"].is_in([0.0, 1.0]).all():
        problem = "a rating that is not 0 or 1, which LogLoss and CalibrationError need."
        raise InputError(problem, source=given, code="out-of-range")
    if not both["score"].is_between(0, 1).all():
        problem = "a prediction outside 0 to 1; LogLoss and CalibrationError need probabilities."
        raise InputError(problem, source=predicted, code="out-of-range")
