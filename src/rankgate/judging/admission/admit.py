"""May a judge's grades stand beside people's?"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from rankgate.data import Qrels, read_qrels
from rankgate.evaluation.scored_system import Scorer
from rankgate.judging.admission.demands import (
    JUDGE,
    PEOPLE,
    Admission,
    Demands,
    Order,
    bias_of,
    demanded,
    overlap,
    ratings_of,
    to_dict,
)
from rankgate.judging.agreement.figures import agreements
from rankgate.judging.agreement.rated_pairs import rated_pairs
from rankgate.judging.scales import scale_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

    from rankgate.metrics.declare import Metric
    from rankgate.scoring import Convention

    Floats = NDArray[np.float64]

METRICS = ("nDCG@10",)
"""Metrics under which the order of systems is looked at when none is named."""

DEMANDS = Demands()
"""What a judge must show where nothing else is asked."""

FEWEST = 3
"""Systems from which on their order is looked at."""

_ALPHA = 0.05


@dataclass(frozen=True)
class Admitted:
    """What was found and what was asked.

    Attributes:
        admission: the verdict, its demands and their figures.
        asked: the demands' bounds.
        convention: that systems were scored by; None without runs.
        resamples, seed: of the intervals of agreement.
    """

    admission: Admission
    asked: Demands
    convention: Mapping[str, Any] | None
    resamples: int
    seed: int

    @property
    def status(self) -> int:
        """The exit code: 0 admitted, 1 refused, 3 inconclusive."""
        return {"pass": 0, "fail": 1, "inconclusive": 3}[self.admission.verdict]

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {
            **to_dict(self.admission),
            "asked": vars(self.asked),
            "convention": self.convention,
            "resamples": self.resamples,
            "seed": self.seed,
        }


def admit(
    people: Any,  # noqa: ANN401 - a path, a frame, a dict of dicts
    judge: Any,  # noqa: ANN401 - as above
    runs: Sequence[Any] = (),
    metrics: str | Metric | Sequence[str | Metric] = METRICS,
    how: str | Convention = "trec",
    *,
    demands: Demands = DEMANDS,
    scale: str | None = None,
    resamples: int = 2000,
    seed: int = 0,
    on_progress: Callable[[str], None] | None = None,
) -> Admitted:
    """Hold a judge's grades, of a language model or of clicks, against people's.

    Both are compared on the pairs that both judged. Runs are scored by these pairs alone, once
    with people's grades and once with the judge's, so that nothing but the grades differs.

    Args:
        people: judgments by people, as ``evaluate`` takes them.
        judge: judgments by the judge.
        runs: systems whose order is looked at; three or more.
        metrics: under which it is.
        how: the convention.
        demands: what the judge must show.
        scale: the grades that were possible, as ``scale_of`` reads it.
        resamples: replicates of the intervals of agreement.
        seed: of the replicates.
        on_progress: told what is being done.

    Raises:
        InputError: data that cannot be read; no pair that both judged.
        UsageError: unknown names.
    """
    say = on_progress or (lambda _: None)
    ours, theirs = read_qrels(people), read_qrels(judge)
    both = overlap(ours, theirs)
    say("agreement")
    graded_on = scale_of(scale) if scale else ours.scale
    found = agreements(rated_pairs(ratings_of(both), graded_on), samples=resamples, seed=seed)
    systems, orders, convention = _systems(both, runs, metrics, how, say)
    told = Admission(
        (ours.name, ours.sha256), (theirs.name, theirs.sha256), len(both),
        both["query_id"].n_unique(), found, bias_of(both), systems, orders,
    )  # fmt: skip
    told = replace(told, demands=demanded(told, demands))
    return Admitted(told, demands, convention, resamples, seed)


_SYSTEMS = {"metric": pl.String, "system": pl.String, "people": pl.Float64, "judge": pl.Float64,
            "delta": pl.Float64}  # fmt: skip


def _systems(
    both: pl.DataFrame,
    runs: Sequence[Any],
    metrics: str | Metric | Sequence[str | Metric],
    how: str | Convention,
    say: Callable[[str], None],
) -> tuple[pl.DataFrame, tuple[Order, ...], Mapping[str, Any] | None]:
    """Every system's mean under both, and how both order them."""
    if not runs:
        return pl.DataFrame(schema=_SYSTEMS), (), None
    scorers = {
        name: Scorer.of(_graded(both, name), metrics, how, depth=1) for name in (PEOPLE, JUDGE)
    }
    names, values = [], []
    for run in runs:
        say(str(run))
        sides = [scorer.side(run) for scorer in scorers.values()]
        names.append(sides[0].name)
        values.append([_values(side.scores) for side in sides])
    labels = [label for label, _ in scorers[PEOPLE].metrics]
    rows, orders = [], []
    for label in labels:
        tables = [np.column_stack([each[i][label] for each in values]) for i in (0, 1)]
        means = [np.nanmean(table, axis=0) for table in tables]
        rows += [
            (label, name, ours, theirs, theirs - ours)
            for name, ours, theirs in zip(names, *means, strict=True)
        ]
        if len(runs) >= FEWEST:
            orders.append(_order(label, tables, means))
    return (
        pl.DataFrame(rows, schema=_SYSTEMS, orient="row"),
        tuple(orders),
        scorers[PEOPLE].how.to_dict(),
    )


def _graded(both: pl.DataFrame, who: str) -> Qrels:
    return Qrels(both.select("query_id", "doc_id", pl.col(who).alias("grade")), who)


def _values(scores: pl.DataFrame) -> dict[str, Floats]:
    """Each metric's values in the order of queries, NaN where undefined."""
    return {
        str(label): part.sort("query_id")["value"].to_numpy()
        for (label,), part in scores.group_by("metric", maintain_order=True)
    }


def _order(label: str, tables: list[Floats], means: list[Floats]) -> Order:
    from rankgate.stats.order import tau, tau_ap  # noqa: PLC0415 - statistics where needed

    flips = lost = turned = 0
    pairs = list(combinations(range(tables[0].shape[1]), 2))
    for i, j in pairs:
        signs = [np.sign(mean[i] - mean[j]) for mean in means]
        sure = [_p(table[:, i] - table[:, j]) <= _ALPHA for table in tables]
        flips += bool(signs[0] * signs[1] < 0)
        lost += bool(sure[0] and not sure[1])
        turned += bool(all(sure) and signs[0] * signs[1] < 0)
    return Order(
        label, tau(means[0], means[1]), tau_ap(means[1], means[0]), flips, lost, turned, len(pairs)
    )


def _p(delta: Floats) -> float:
    from rankgate.stats.paired import student  # noqa: PLC0415 - as above

    known = delta[~np.isnan(delta)]
    return float(student(known).p_value[0]) if len(known) > 1 and known.any() else 1.0
