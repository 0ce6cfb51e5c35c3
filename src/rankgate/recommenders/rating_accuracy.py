"""The verb ``rating_accuracy``, the accuracy of predicted ratings, and its document."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from rankgate.core.errors import InputError, UsageError
from rankgate.core.frozen import dataclass
from rankgate.core.present.base_result import NoticeText, Result
from rankgate.core.present.layout import NOTICES, View
from rankgate.core.present.result_frames import make_frame
from rankgate.data.collection import Collection
from rankgate.data.id_match import IdMatch
from rankgate.data.spark_tables import any_on_spark, run_on_spark
from rankgate.measurement.metrics.rating_errors import RATING_METRICS, RatingMetric
from rankgate.measurement.scoring.scoring_facts import refuse_misfits

if TYPE_CHECKING:
    from rankgate.data.input_types import QrelsLike, RunLike


DEFAULT = ("RMSE", "MAE", "R2", "ExplainedVariance", "NDPM", "Spearman", "Kendall")
"""The default metrics; the others need probabilities."""

_PAIR = ["query_id", "doc_id"]


@dataclass(frozen=True)
class RatingAccuracy(Result):
    """Predicted ratings against those that users gave.

    Attributes:
        qrels: the name of the ratings.
        run: the name of the predictions.
        values: the values by metric; NaN if undefined.
        pairs: rated pairs with a prediction, over which values are computed.
        users: the users of these pairs.
        unpredicted: rated pairs without a prediction; they are left out.
    """

    kind = "rating_accuracy"
    headline_text = "Predicted ratings"
    lead = ("{pairs:n rated pair} of {users:n user} of {qrels}, predicted by {run}",)
    main_table = "table"
    layout = (View("marked_values", formats={"value": "values"}), NOTICES)
    notice_texts = (
        NoticeText(
            "pairs-without-prediction",
            "{unpredicted:,} of {all_pairs:n rated pair} {unpredicted:v has/have} no prediction and "
            "{unpredicted:v is/are} left out; a system that predicts less can look better",
            "unpredicted",
            subject="{run}",
        ),
    )

    qrels: str
    run: str
    values: Mapping[str, float]
    pairs: int
    users: int
    unpredicted: int

    @property
    def all_pairs(self) -> int:
        """The number of rated pairs, with a prediction or without."""
        return self.pairs + self.unpredicted

    def __getitem__(self, metric: str) -> float:
        """The value of a metric, as in ``result["RMSE"]``."""
        return self.values[metric]

    @property
    def table(self) -> pl.DataFrame:
        """The values: ``metric``, ``value``."""
        rows = {"metric": list(self.values), "value": list(self.values.values())}
        return make_frame(rows, {"metric": pl.String, "value": pl.Float64})

    @property
    def marked_values(self) -> pl.DataFrame:
        """`table`, with the direction of improvement in the name of each metric."""
        arrows = {name: "↑" if RATING_METRICS[name].higher_is_better else "↓" for name in self.values}
        return self.table.with_columns(
            pl.col("metric").replace({name: f"{name} {arrow}" for name, arrow in arrows.items()})
        )


def rating_accuracy(
    collection: Collection | QrelsLike, run: RunLike, metrics: Sequence[str] = DEFAULT
) -> RatingAccuracy:
    """Compare predicted ratings with those that users gave, pair by pair.

    RMSE, MAE, R2, ExplainedVariance, LogLoss and CalibrationError are of all pairs at once; NDPM,
    Spearman and Kendall of each user with two ratings or more, and then the mean of the users
    that have a value. LogLoss and CalibrationError need ratings of 0 and 1, and probabilities.

    Args:
        collection: the ratings: a path, a frame, ``{user: {item: rating}}``, a matrix, a collection.
            If they or the predictions are on Spark, executors pair them.
        run: the predictions, as scores of a run in any form.
        metrics: names of `rankgate.measurement.metrics.rating_errors.RATING_METRICS`.

    Raises:
        InputError: data that cannot be read; ids of users or items that do not fit; no rated pair
            is predicted; ratings that are not 0
            or 1, or predictions that are not probabilities, where a metric needs them.
        UsageError: an unknown metric.

    >>> found = rating_accuracy({"u": {"a": 4, "b": 2}}, {"u": {"a": 3.5, "b": 2.0}})
    >>> round(found["RMSE"], 4), found["NDPM"]
    (0.3536, 0.0)
    """
    rating_metrics = [_rating_metric(name) for name in metrics]
    source = Collection.of(collection)
    on_spark = any_on_spark(source.judgments, run)
    rated: RatedPairs = (
        run_on_spark("rating_accuracy", source, run) if on_spark else _pair_ratings(source, run)
    )
    pairs, labels = rated.pairs, rated.labels
    if pairs.is_empty():
        problem = "no rated pair has a prediction; check that both use the same ids."
        raise InputError(problem, source=labels[1], code="no-shared-ids")
    pairs = pairs.sort("query_id", maintain_order=True)
    if any(metric.binary for metric in rating_metrics):
        _refuse_unlikely(pairs, *labels)
    return RatingAccuracy(
        *rated.names,
        values={metric.name: _metric_value(metric, pairs) for metric in rating_metrics},
        pairs=len(pairs),
        users=pairs["query_id"].n_unique(),
        unpredicted=rated.count - len(pairs),
    )


@dataclass(frozen=True)
class RatedPairs:
    """Ratings with their predictions.

    Attributes:
        pairs: ``query_id``, ``grade`` and ``score`` of each rated pair that has a prediction.
        count: the number of rated pairs, with and without a prediction.
        names: the names of ratings and predictions, in the result.
        labels: the names of both, in errors.
    """

    pairs: pl.DataFrame
    count: int
    names: tuple[str, str]
    labels: tuple[str, str]


def _pair_ratings(source: Collection, run: RunLike) -> RatedPairs:
    ratings, predictions = source.qrels(), source.run(run)
    matches = {
        kind: IdMatch.from_ids(
            *(table[column].unique(maintain_order=True) for table in (ratings.table, predictions.table))
        )
        for kind, column in (("user", "query_id"), ("item", "doc_id"))
    }
    refuse_unfit_ids(matches, predictions.place.label, accepts_ids=ratings.ids.accept)
    rated_pairs = ratings.table.select(*_PAIR, "grade")
    return RatedPairs(
        rated_pairs.join(predictions.table, on=_PAIR, how="inner", maintain_order="left"),
        len(rated_pairs),
        (ratings.name, predictions.name),
        (ratings.place.label, predictions.place.label),
    )


def refuse_unfit_ids(matches: Mapping[str, IdMatch], label: str, *, accepts_ids: bool) -> None:
    """Check that ratings and predictions have the same users, and items that do not only nearly fit.

    Args:
        matches: how users and items fit.
        label: the name of the predictions in errors.
        accepts_ids: True if ids that do not fit are accepted.

    Raises:
        InputError: the ids do not fit.
    """
    tables = ("the ratings", "the predictions")
    refuse_misfits(matches, label, accepts_ids=accepts_ids, tables=tables)


def _rating_metric(name: str) -> RatingMetric:
    if name not in RATING_METRICS:
        names = ", ".join(RATING_METRICS)
        raise UsageError(f"unknown metric '{name}' of ratings; known: {names}.", code="unknown-metric")
    return RATING_METRICS[name]


def _metric_value(metric: RatingMetric, joined: pl.DataFrame) -> float:
    ratings, predictions = joined["grade"].to_numpy(), joined["score"].to_numpy()
    if metric.over == "pairs":
        return metric.kernel(ratings, predictions)
    starts = joined["query_id"].rle().struct.field("len").to_numpy().cumsum()[:-1]
    users = zip(np.split(ratings, starts), np.split(predictions, starts), strict=True)
    values = np.array([metric.kernel(*user) for user in users])
    known_values = values[~np.isnan(values)]
    return float(known_values.mean()) if len(known_values) else float("nan")


def _refuse_unlikely(joined: pl.DataFrame, ratings_label: str, predictions_label: str) -> None:
    """Check that ratings are 0 or 1, and predictions probabilities."""
    if not joined["grade"].is_in([0.0, 1.0]).all():
        problem = "a rating that is not 0 or 1, which LogLoss and CalibrationError need."
        raise InputError(problem, source=ratings_label, code="out-of-range")
    if not joined["score"].is_between(0, 1).all():
        problem = "a prediction outside 0 to 1; LogLoss and CalibrationError need probabilities."
        raise InputError(problem, source=predictions_label, code="out-of-range")
