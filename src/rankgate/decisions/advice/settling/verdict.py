"""The difference as people's judgments of a sample show it, and what its variance is made of."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from rankgate.core.frozen import dataclass
from rankgate.data.sample import Sample
from rankgate.decisions.comparison.designed import of_both
from rankgate.decisions.comparison.values import values_of
from rankgate.measurement.stats.interval import guarded_interval
from rankgate.measurement.stats.two_stage import TwoStage

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rankgate.data import Run
    from rankgate.data.comparison import ScoredRun
    from rankgate.decisions.advice.settling.frame import Frame
    from rankgate.measurement.evaluation.predicted import ModelJudgments
    from rankgate.measurement.evaluation.scored_system import Scorer

    Floats = NDArray[np.float64]

_SQUARED = 0.25  # of the size: a model errs by half of what a grade can change, until people say
_DOCUMENTS = 5  # that the same counts for afterwards
_EXPLAINED = 0.5  # of the variance among queries, until people say
_HIGHEST = 0.99  # correlation
_SMALLEST = 0.1  # of the variance of estimates by query: what is left among whole queries


@dataclass(frozen=True)
class Estimate:
    """A difference, and what its variance is made of.

    Attributes:
        values: (n,) whose mean is the difference and whose spread its standard error.
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
        ends = guarded_interval(self.values, level)
        return self.mean, float(ends.low[0]), float(ends.high[0])


def before_people(systems: Sequence[ScoredRun], frame: Frame) -> Estimate:
    """What the model says alone: it explains half of what differs, until people say."""
    values = values_of(systems[0], systems[1], "zero")
    gains = float(values.signs[0]) * values.gains[:, 0]
    known = gains[~np.isnan(gains)]
    spread = max(float(known.var(ddof=1)), 1e-12)
    stages = TwoStage(
        frame.sizes, len(frame.queries), (1 - _EXPLAINED) * spread, _EXPLAINED * spread, _SQUARED
    )
    return Estimate(known, stages)


def estimated(
    people: Scorer, model: ModelJudgments, runs: Sequence[Run], drawn: pl.DataFrame, frame: Frame
) -> Estimate:
    """What people's judgments of the drawn documents say.

    Args:
        people: scorer of their judgments.
        model: its judgments, and what it saw.
        runs: both.
        drawn: the sample.
        frame: that it was drawn from.

    Raises:
        InputError, UsageError: as ``compare --predicted``.
    """
    sample = Sample("sample", _chances(drawn), documents=drawn)
    systems = [people.scored(run) for run in runs]
    own, (design,) = of_both(people, model, sample, systems, runs, "zero")
    values = values_of(own[0], own[1], "zero")
    known = ~np.isnan(values.gains[:, 0])
    queries = [q for q, there in zip(values.query_ids, known, strict=True) if there]
    sign = float(values.signs[0])

    def contrast(baseline: Floats, candidate: Floats) -> Floats:
        return sign * (candidate - baseline)

    found = design.estimate(queries, values.gains[known, 0], people.metrics[0][0], contrast)
    assert design.documents is not None
    changes = design.documents.with_columns(part=pl.col("candidate") - pl.col("baseline"))
    squared = _squared(changes, frame, set(drawn["query_id"].to_list()))
    whole, size = len(queries) * found.sampled_error**2, len(frame.queries)
    within = TwoStage(frame.sizes, size, 0.0, 0.0, squared).within(frame.bought(drawn).expected)
    between = max(whole - within, _SMALLEST * whole, 1e-12)
    correlation = _of_whole_queries(found.correlation, whole / between)
    explained = correlation**2 * between
    stages = TwoStage(frame.sizes, size, between - explained, explained, squared)
    # without further queries the model adds nothing to what the difference is of these
    alike = values.gains[known, 0] if len(queries) == size else found.values
    return Estimate(alike, stages, correlation)


def _of_whole_queries(correlation: float, times: float) -> float:
    """Take out of a correlation what drawn documents add to the variance of people's values.

    Args:
        correlation: of estimates by query.
        times: how many times their variance is that of whole queries (Spearman 1904).
    """
    own = 0.0 if np.isnan(correlation) else correlation * float(np.sqrt(times))
    return min(max(own, 0.0), _HIGHEST)


def _chances(drawn: pl.DataFrame) -> pl.DataFrame:
    """The table of a `Sample`: each query once, with its chance."""
    none = pl.lit(None, pl.String)
    return drawn.select("query_id", inclusion="query_inclusion").unique().sort("query_id").select(
        "query_id", "inclusion", pl.lit(None, pl.Float64).alias("share"),
        pl.lit(1.0).alias("weight"), none.alias("stratum"),
    )  # fmt: skip


def _squared(changes: pl.DataFrame, frame: Frame, queries: set[str]) -> float:
    """e² of a document of size 1: Σ c²/π of what was drawn by Σ size² of what could be.

    A few documents count as erring by half of what a grade can change: a model without an error in
    a small sample may still err elsewhere.
    """
    sizes = frame.table.filter(pl.col("query_id").is_in(list(queries)))["size"].to_numpy()
    usual = float((sizes**2).mean())
    shown = float((changes["part"].to_numpy() ** 2 / changes["inclusion"].to_numpy()).sum())
    more = _DOCUMENTS * usual
    return (shown + _SQUARED * more) / (float((sizes**2).sum()) + more)
