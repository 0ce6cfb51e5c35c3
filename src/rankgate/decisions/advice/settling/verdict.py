"""Estimate the difference, and the parts of its variance, from people's judgments."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from rankgate.core.frozen import dataclass
from rankgate.data.sample import Sample
from rankgate.decisions.comparison.designed import design_systems
from rankgate.decisions.comparison.values import pair_values
from rankgate.measurement.stats.interval import guarded_interval
from rankgate.measurement.stats.two_stage import TwoStage

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rankgate.data import Run
    from rankgate.data.comparison import ScoredRun
    from rankgate.decisions.advice.settling.frame import SamplingFrame
    from rankgate.measurement.evaluation.predicted import ModelJudgments
    from rankgate.measurement.evaluation.scored_system import Scorer

    Floats = NDArray[np.float64]

_PRIOR_SQUARED_ERROR = (
    0.25  # of the size: a model errs by half of what a grade can change, until people say
)
_PRIOR_DOCUMENTS = 5  # that the same counts for afterwards
_PRIOR_EXPLAINED = 0.5  # of the variance among queries, until people say
_MAX_CORRELATION = 0.99  # correlation
_MIN_BETWEEN = 0.1  # of the variance of estimates by query: what is left among whole queries


@dataclass(frozen=True)
class Estimate:
    """A difference, and the parts of its variance.

    Attributes:
        values: (n,) with the difference as mean and its standard error as spread.
        stages: of the variance.
        correlation: of people's and the model's differences; None where it is not known.
    """

    values: Floats
    stages: TwoStage
    correlation: float | None = None

    @property
    def mean(self) -> float:
        """The difference."""
        return float(self.values.mean())

    def interval(self, level: float) -> tuple[float, float, float]:
        """The difference and both ends."""
        interval = guarded_interval(self.values, level)
        return self.mean, float(interval.low[0]), float(interval.high[0])


def estimate_from_model(systems: Sequence[ScoredRun], frame: SamplingFrame) -> Estimate:
    """Estimate from the model's judgments alone; it is taken to explain half of the variance."""
    values = pair_values(systems[0], systems[1], "zero")
    gains = float(values.signs[0]) * values.gains[:, 0]
    defined_gains = gains[~np.isnan(gains)]
    variance = max(float(defined_gains.var(ddof=1)), 1e-12)
    stages = TwoStage(
        frame.sizes,
        len(frame.queries),
        (1 - _PRIOR_EXPLAINED) * variance,
        _PRIOR_EXPLAINED * variance,
        _PRIOR_SQUARED_ERROR,
    )
    return Estimate(defined_gains, stages)


def estimate_difference(
    people: Scorer,
    model: ModelJudgments,
    runs: Sequence[Run],
    drawn_documents: pl.DataFrame,
    frame: SamplingFrame,
) -> Estimate:
    """Estimate from people's judgments of the drawn documents.

    Args:
        people: scorer of their judgments.
        model: the model's judgments, and the judgments that it saw.
        runs: baseline and candidate.
        drawn_documents: the sample.
        frame: the documents that could be drawn.

    Raises:
        InputError, UsageError: as ``compare --predicted``.
    """
    sample = Sample("sample", _query_sample(drawn_documents), documents=drawn_documents)
    systems = [people.scored(run) for run in runs]
    designed_systems = design_systems(people, model, sample, systems, runs, "zero")
    (design,) = designed_systems.designs
    baseline, candidate = designed_systems.systems
    values = pair_values(baseline, candidate, "zero")
    is_defined = ~np.isnan(values.gains[:, 0])
    queries = [q for q, has_gain in zip(values.query_ids, is_defined, strict=True) if has_gain]
    sign = float(values.signs[0])

    def contrast(baseline: Floats, candidate: Floats) -> Floats:
        return sign * (candidate - baseline)

    estimate = design.estimate(queries, values.gains[is_defined, 0], people.metrics[0][0], contrast)
    assert design.documents is not None
    changes = design.documents.with_columns(part=pl.col("candidate") - pl.col("baseline"))
    squared = _squared_error(changes, frame, set(drawn_documents["query_id"].to_list()))
    total_variance, query_count = len(queries) * estimate.sampled_error**2, len(frame.queries)
    within_variance = TwoStage(frame.sizes, query_count, 0.0, 0.0, squared).within(
        frame.bought(drawn_documents).expected
    )
    between_variance = max(total_variance - within_variance, _MIN_BETWEEN * total_variance, 1e-12)
    correlation = _correct_correlation(estimate.correlation, total_variance / between_variance)
    explained = correlation**2 * between_variance
    stages = TwoStage(frame.sizes, query_count, between_variance - explained, explained, squared)
    # without further queries the model adds nothing to what the difference is of these
    differences = values.gains[is_defined, 0] if len(queries) == query_count else estimate.values
    return Estimate(differences, stages, correlation)


def _correct_correlation(correlation: float, times: float) -> float:
    """Remove from a correlation the variance that drawing documents adds to people's values.

    Args:
        correlation: of estimates by query.
        times: how many times their variance is that of whole queries (Spearman 1904).
    """
    corrected_correlation = 0.0 if np.isnan(correlation) else correlation * float(np.sqrt(times))
    return min(max(corrected_correlation, 0.0), _MAX_CORRELATION)


def _query_sample(drawn_documents: pl.DataFrame) -> pl.DataFrame:
    """The table of a `Sample`: each query once, with its chance."""
    null_text = pl.lit(None, pl.String)
    return (
        drawn_documents.select("query_id", inclusion="query_inclusion")
        .unique()
        .sort("query_id")
        .select(
            "query_id",
            "inclusion",
            pl.lit(None, pl.Float64).alias("share"),
            pl.lit(1.0).alias("weight"),
            null_text.alias("stratum"),
        )
    )


def _squared_error(changes: pl.DataFrame, frame: SamplingFrame, queries: set[str]) -> float:
    """e² of a document of size 1: Σ c²/π of what was drawn by Σ size² of what could be.

    A few documents count as erring by half of what a grade can change: a model without an error in
    a small sample may still err elsewhere.
    """
    sizes = frame.table.filter(pl.col("query_id").is_in(list(queries)))["size"].to_numpy()
    mean_square = float((sizes**2).mean())
    squared_error = float((changes["part"].to_numpy() ** 2 / changes["inclusion"].to_numpy()).sum())
    prior_weight = _PRIOR_DOCUMENTS * mean_square
    return (squared_error + _PRIOR_SQUARED_ERROR * prior_weight) / (
        float((sizes**2).sum()) + prior_weight
    )
