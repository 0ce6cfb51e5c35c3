"""Compare the order of systems by people's and by a judge's grades."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from rankgate.core.frozen import dataclass
from rankgate.core.present.numbers import known
from rankgate.core.progress import step
from rankgate.data import Qrels
from rankgate.judging.admission.judged_pairs import JUDGE, PEOPLE
from rankgate.measurement.evaluation.scored_system import Scorer
from rankgate.measurement.scoring.input_cautions import prefixed

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rankgate.measurement.metrics.declare import Metric
    from rankgate.measurement.scoring import Convention

    Floats = NDArray[np.float64]

FEWEST = 3
"""Systems from which on their order is compared."""

TOP = 5
"""The best systems by people, whose order is compared too."""

SYSTEMS = {
    "metric": pl.String,
    "system": pl.String,
    "people": pl.Float64,
    "judge": pl.Float64,
    "delta": pl.Float64,
}
_ALPHA = 0.05


@dataclass(frozen=True)
class SystemOrder:
    """How one metric orders systems by people and by the judge.

    Attributes:
        metric: its label.
        tau, tau_ap: rank correlation of the systems' means; None where all means are equal.
        flips: pairs of systems that the judge puts the other way round.
        lost: pairs that people distinguish (paired t, 5 %) and the judge does not.
        reversed: pairs that both distinguish, the other way round.
        pairs: of systems.
        spearman: Spearman's rho of the systems' means; None where all means are equal.
        tau_low, tau_high, spearman_low, spearman_high: 95 % of resampled queries; None where there
            are too few, or a resample ties all systems.
        significant: pairs that people distinguish.
        agreed: those of them that the judge puts the same way round.
        tau_top: tau@k, of the k best systems by people; None where there are no more, or all
            means are equal.
        top: k.
    """

    metric: str
    tau: float | None
    tau_ap: float | None
    flips: int
    lost: int
    reversed: int
    pairs: int
    spearman: float | None = None
    tau_low: float | None = None
    tau_high: float | None = None
    spearman_low: float | None = None
    spearman_high: float | None = None
    significant: int = 0
    agreed: int = 0
    tau_top: float | None = None
    top: int = TOP


@dataclass(frozen=True)
class OrderedSystems:
    """Systems by people and by the judge.

    Attributes:
        table: the columns of `SYSTEMS`.
        orders: one a metric; empty with fewer than three systems.
        convention: by which they were scored; None without runs.
        names: of the systems.
        values: by metric (T, S) values by people and by the judge, NaN where undefined.
        cautions: sentences about runs and the judgments.
    """

    table: pl.DataFrame
    orders: tuple[SystemOrder, ...]
    convention: Mapping[str, Any] | None
    names: tuple[str, ...] = ()
    values: Mapping[str, tuple[Floats, Floats]] = field(default_factory=dict)
    cautions: tuple[str, ...] = ()


def systems_of(
    both: pl.DataFrame,
    runs: Sequence[Any],
    metrics: str | Metric | Sequence[str | Metric],
    convention: str | Convention,
    top: int = TOP,
) -> OrderedSystems:
    """Every system's mean and values by both, how both order them, and the convention."""
    if not runs:
        return OrderedSystems(pl.DataFrame(schema=SYSTEMS), (), None)
    scorers = {
        name: Scorer.of(_graded(both, name), metrics, convention, depth=1)
        for name in (PEOPLE, JUDGE)
    }
    names, values, cautions = [], [], dict[str, None]()
    for run in runs:
        step(str(run))
        scored = [scorer.scored(run) for scorer in scorers.values()]
        names.append(scored[0].name)
        values.append([_values(each.scores) for each in scored])
        for system in scored:
            cautions |= dict.fromkeys(prefixed(system.name, system.cautions))
    rows, orders = [], []
    every: dict[str, tuple[Floats, Floats]] = {}
    for label, metric in scorers[PEOPLE].metrics:
        tables = [np.column_stack([each[i][label] for each in values]) for i in (0, 1)]
        every[label] = tables[0], tables[1]
        means = [np.nanmean(table, axis=0) for table in tables]
        rows += [
            (label, name, ours, theirs, theirs - ours)
            for name, ours, theirs in zip(names, *means, strict=True)
        ]
        if len(runs) >= FEWEST:
            sign = 1 if metric.higher_is_better else -1
            orders.append(_order(label, tables, means, sign, top))
    return OrderedSystems(
        pl.DataFrame(rows, schema=SYSTEMS, orient="row"),
        tuple(orders),
        scorers[PEOPLE].how.to_dict(),
        tuple(names),
        every,
        tuple(cautions),
    )


def _graded(both: pl.DataFrame, who: str) -> Qrels:
    return Qrels(both.select("query_id", "doc_id", pl.col(who).alias("grade")), who)


def _values(scores: pl.DataFrame) -> dict[str, Floats]:
    """Each metric's values in the order of queries, NaN where undefined."""
    return {
        str(label): part.sort("query_id")["value"].to_numpy()
        for (label,), part in scores.group_by("metric", maintain_order=True)
    }


def _order(
    label: str, tables: list[Floats], means: list[Floats], sign: int, top: int
) -> SystemOrder:
    from rankgate.decisions.comparison.orders import redrawn_pair
    from rankgate.measurement.stats.ranks.correlation import rank_correlation
    from rankgate.measurement.stats.ranks.order import tau, tau_ap

    flips = lost = turned = significant = agreed = 0
    pairs = list(combinations(range(tables[0].shape[1]), 2))
    for i, j in pairs:
        signs = [np.sign(mean[i] - mean[j]) for mean in means]
        sure = [_p(table[:, i] - table[:, j]) <= _ALPHA for table in tables]
        flips += bool(signs[0] * signs[1] < 0)
        significant += sure[0]
        agreed += bool(sure[0] and signs[0] * signs[1] > 0)
        lost += bool(sure[0] and not sure[1])
        turned += bool(all(sure) and signs[0] * signs[1] < 0)
    return SystemOrder(
        label,
        known(tau(means[0], means[1])),
        known(tau_ap(sign * means[1], sign * means[0])),
        flips,
        lost,
        turned,
        len(pairs),
        known(rank_correlation(means[0], means[1])),
        **{
            name: known(end)
            for name, end in redrawn_pair(tables[0], tables[1], 1 - _ALPHA, 0).items()
        },
        significant=significant,
        agreed=agreed,
        tau_top=_of_best([sign * each for each in means], top),
        top=top,
    )


def _of_best(means: list[Floats], top: int) -> float | None:
    from rankgate.measurement.stats.ranks.order import tau

    if len(means[0]) <= top:
        return None
    best = np.argsort(-means[0], kind="stable")[:top]
    return known(tau(means[0][best], means[1][best]))


def _p(delta: Floats) -> float:
    from rankgate.measurement.stats.paired import student

    known = delta[~np.isnan(delta)]
    return float(student(known).p_value[0]) if len(known) > 1 and known.any() else 1.0
