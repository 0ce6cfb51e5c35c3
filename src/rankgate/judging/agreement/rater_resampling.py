"""Resample raters: the share of rater sets that would reverse a comparison."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from rankgate.core.declare import Count
from rankgate.core.errors import InputError
from rankgate.core.frozen import dataclass
from rankgate.core.present.codec import encode_fields
from rankgate.core.present.result import Notice, run_notices
from rankgate.core.progress import step
from rankgate.data import read_qrels, read_run
from rankgate.data.read_ratings import read_ratings
from rankgate.judging.agreement.components import RaterComponents, rater_components
from rankgate.judging.agreement.redrawing import RedrawnGrades
from rankgate.judging.resolution.apply_rule import resolve_ratings
from rankgate.measurement.evaluation.scored_system import Scorer

if TYPE_CHECKING:
    from rankgate.data import Qrels
    from rankgate.data.comparison import ScoredRun
    from rankgate.data.inputs import RatingsLike, RunLike
    from rankgate.data.ratings import Ratings
    from rankgate.measurement.metrics.declare import Metric
    from rankgate.measurement.scoring import Convention

DRAWS = 200
"""The number of random sets of raters."""

_LEVEL = 0.95


@dataclass(frozen=True)
class RaterEffect:
    """Effect of the choice of raters on the difference of two systems under one metric.

    Attributes:
        metric: its label.
        delta: candidate minus baseline, by the ratings as they are.
        low, high: 95 % of the drawn differences.
        reversed: the share of drawn sets of raters under which the sign is the other one.
    """

    metric: str
    delta: float
    low: float
    high: float
    reversed: float


@dataclass(frozen=True)
class RaterResampling:
    """Comparison of two systems by random sets of raters.

    Attributes:
        baseline, candidate: names.
        rule: how several grades become one.
        effects: one a metric.
        draws, seed: of the drawing.
        convention: name, axes and hash.
        components: the model system × query × judge of each metric, where judges share queries.
        notices: what the reader should know of the ratings and the runs.
    """

    baseline: str
    candidate: str
    rule: str
    effects: tuple[RaterEffect, ...]
    draws: int
    seed: int
    convention: Mapping[str, Any]
    components: tuple[RaterComponents, ...] = ()
    notices: tuple[Notice, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return encode_fields(self)


def resample_raters(
    ratings: RatingsLike,
    baseline: RunLike,
    candidate: RunLike,
    metrics: str | Metric | Sequence[str | Metric] = ("nDCG@10",),
    how: str | Convention = "trec",
    *,
    rule: str = "majority",
    draws: Count = DRAWS,
    seed: int = 0,
    from_: str | None = None,
) -> RaterResampling:
    """Draw raters again and again, and compare two systems by each set.

    Args:
        ratings: of single raters, some pairs by two or more.
        baseline: a run.
        candidate: a run.
        metrics: names or metrics.
        how: the convention.
        rule: how several grades become one for the comparison of two runs, as rankgate resolve
            has it.
        draws: the number of random sets of raters for the comparison of two runs.
        seed: of the drawing.
        from_: the name of the ratings' format.

    Raises:
        InputError: data that cannot be read; no pair with two grades; nothing is resolved.
        UsageError: unknown names.
    """
    all_ratings = read_ratings(ratings, from_=from_)
    redrawn_grades = RedrawnGrades.of(all_ratings)
    runs = [read_run(run) for run in (baseline, candidate)]
    first = Scorer.of(_resolved_qrels(all_ratings, rule), metrics, how, depth=1)
    systems = [first.scored(run) for run in runs]
    truth = _deltas(first, systems)
    rng = np.random.default_rng(seed)
    drawn_deltas = np.empty((draws, len(truth)))
    for i in range(draws):
        step(f"raters {i + 1} of {draws}")
        scorer = Scorer.of(_resolved_qrels(redrawn_grades.draw(rng), rule), metrics, how, depth=1)
        drawn_deltas[i] = _deltas(scorer, [scorer.scored(run) for run in runs])
    low, high = np.quantile(drawn_deltas, [(1 - _LEVEL) / 2, (1 + _LEVEL) / 2], axis=0)
    reversed_shares = (np.sign(drawn_deltas) * np.sign(truth) < 0).mean(axis=0)
    effects = tuple(
        RaterEffect(label, *map(float, figures))
        for (label, _), *figures in zip(
            first.metrics, truth, low, high, reversed_shares, strict=True
        )
    )
    return RaterResampling(
        runs[0].name,
        runs[1].name,
        rule,
        effects,
        draws,
        seed,
        first.how.to_dict(),
        rater_components(all_ratings, runs, metrics, how),
        tuple(notice for system in systems for notice in run_notices(system.name, system.cautions)),
    )


def _resolved_qrels(ratings: Ratings, rule: str) -> Qrels:
    result = resolve_ratings(ratings, rule).qrels
    if result is None:
        raise InputError(
            "no pair can be resolved by this rule.", source=ratings.place.label, code="no-grades"
        )
    return read_qrels(result)


def _deltas(scorer: Scorer, systems: Sequence[ScoredRun]) -> np.ndarray[Any, np.dtype[np.float64]]:
    """(M,) the differences of the means; an undefined mean is 0."""
    means = []
    for system in systems:
        table = system.scores.group_by("metric").agg(pl.col("value").mean())
        means.append(dict(table.iter_rows()))
    return np.array(
        [(means[1][label] or 0.0) - (means[0][label] or 0.0) for label, _ in scorer.metrics]
    )
