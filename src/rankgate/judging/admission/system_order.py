"""Compare the order of systems under people's grades and under a judge's grades."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from rankgate.core.frozen import dataclass
from rankgate.core.present.columns import Column, Columns
from rankgate.core.present.common_columns import METRIC, SYSTEM
from rankgate.core.present.number_formats import finite_or_none
from rankgate.core.progress import step
from rankgate.data import Qrels
from rankgate.judging.admission.judged_pairs import JUDGE, PEOPLE
from rankgate.measurement.evaluation.scored_system import Scorer
from rankgate.measurement.scoring.scoring_facts import with_run_name

if TYPE_CHECKING:
    from rankgate.core.arrays import Floats
    from rankgate.core.value_types import JsonObject
    from rankgate.data.input_types import RunLike
    from rankgate.measurement.metrics.metric_declaration import Metric
    from rankgate.measurement.scoring import Convention


MIN_SYSTEMS = 3
"""The smallest number of systems for comparing orders."""

TOP = 5
"""The number of people's best systems for which tau@k is also computed."""

SYSTEMS = Columns(
    "One row per metric and system.",
    METRIC,
    SYSTEM,
    Column("people", pl.Float64, "the mean by people's judgments"),
    Column("judge", pl.Float64, "the mean by the judge's grades"),
    Column("delta", pl.Float64, "judge − people", "signed"),
)
ORDERS = Columns(
    "One row per metric: the order of systems by people and by the judge.",
    METRIC,
    Column("tau", pl.Float64, "Kendall's tau", ".3f", header="tau, 95% of\nquery samples"),
    Column("tau_low", pl.Float64, "the low end of its interval", "+.2f"),
    Column("tau_high", pl.Float64, "the high end of its interval", "+.2f"),
    Column("spearman", pl.Float64, "Spearman's rho", ".3f", header="Spearman's rho"),
    Column("spearman_low", pl.Float64, "the low end of its interval", "+.2f"),
    Column("spearman_high", pl.Float64, "the high end of its interval", "+.2f"),
    Column("tau_ap", pl.Float64, "tau AP", ".3f", header="tau AP"),
    Column("pairs", pl.Int64, "pairs of systems"),
    Column("flips", pl.Int64, "pairs in the opposite order", header="swapped"),
    Column("lost", pl.Int64, "pairs that only people distinguish", header="significance\nlost"),
    Column("reversed", pl.Int64, "pairs with opposite signs", header="significantly\nreversed"),
    Column(
        "agreed",
        pl.Int64,
        "pairs that people distinguish, in the same order",
        header="significant by people,\nsame direction by judge",
    ),
    Column("significant", pl.Int64, "pairs that people distinguish"),
    Column("tau_top", pl.Float64, "tau of people's best systems", ".3f"),
)
"""The columns of `SystemOrder` in tables for people."""

_ALPHA = 0.05


@dataclass(frozen=True)
class SystemOrder:
    """The order of systems under one metric, by people and by the judge.

    Attributes:
        metric: the label of the metric.
        tau, tau_ap: the rank correlation of the systems' means; None if all means are equal.
        flips: pairs of systems that the judge orders in the opposite way.
        lost: pairs that people distinguish (paired t, 5 %) and the judge does not distinguish.
        reversed: pairs that both distinguish, in opposite order.
        pairs: the number of pairs of systems.
        spearman: Spearman's rho of the systems' means; None if all means are equal.
        tau_low, tau_high, spearman_low, spearman_high: 95 % of resampled queries; None with too few
            queries, or if a resample ties all systems.
        significant: pairs that people distinguish.
        agreed: the number of these that the judge orders the same way.
        tau_top: tau@k, of people's k best systems; None without more than k systems, or if all
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
    """Systems with their order by people and by the judge.

    Attributes:
        table: the columns of `SYSTEMS`.
        orders: one for each metric; empty with fewer than three systems.
        convention: the convention of the scores; None without runs.
        names: the names of the systems.
        values: (T, S) values by people and by the judge, by metric; NaN where undefined.
        cautions: sentences about runs and the judgments.
    """

    table: pl.DataFrame
    orders: tuple[SystemOrder, ...]
    convention: JsonObject | None
    names: tuple[str, ...] = ()
    values: Mapping[str, tuple[Floats, Floats]] = field(default_factory=dict)
    cautions: tuple[str, ...] = ()


def order_systems(
    common_pairs: pl.DataFrame,
    runs: Sequence[RunLike],
    metrics: str | Metric | Sequence[str | Metric],
    convention: str | Convention,
    top: int = TOP,
) -> OrderedSystems:
    """Score every system by both sets of grades, and compare the two orders."""
    if not runs:
        return OrderedSystems(pl.DataFrame(schema=SYSTEMS), (), None)
    scorers = {
        name: Scorer.from_metrics(
            Qrels(common_pairs.select("query_id", "doc_id", pl.col(name).alias("grade")), name),
            metrics,
            convention,
            depth=1,
        )
        for name in (PEOPLE, JUDGE)
    }
    names, values, cautions = [], [], dict[str, None]()
    for run in runs:
        step(str(run))
        scored = [scorer.scored(run) for scorer in scorers.values()]
        names.append(scored[0].name)
        values.append([_values_by_metric(scored_run.scores) for scored_run in scored])
        for system in scored:
            cautions |= dict.fromkeys(with_run_name(system.name, system.cautions))
    rows, orders = [], []
    values_by_metric: dict[str, tuple[Floats, Floats]] = {}
    for label, metric in scorers[PEOPLE].metrics:
        tables = [np.column_stack([system_values[i][label] for system_values in values]) for i in (0, 1)]
        values_by_metric[label] = tables[0], tables[1]
        means = [np.nanmean(table, axis=0) for table in tables]
        rows += [
            (label, name, people_mean, judge_mean, judge_mean - people_mean)
            for name, people_mean, judge_mean in zip(names, *means, strict=True)
        ]
        if len(runs) >= MIN_SYSTEMS:
            sign = 1 if metric.higher_is_better else -1
            orders.append(_order(label, tables, means, sign, top))
    return OrderedSystems(
        pl.DataFrame(rows, schema=SYSTEMS, orient="row"),
        tuple(orders),
        scorers[PEOPLE].how.to_dict(),
        tuple(names),
        values_by_metric,
        tuple(cautions),
    )


def _values_by_metric(scores: pl.DataFrame) -> dict[str, Floats]:
    """Each metric's values in the order of queries; NaN for undefined values."""
    return {
        str(label): metric_rows.sort("query_id")["value"].to_numpy()
        for (label,), metric_rows in scores.group_by("metric", maintain_order=True)
    }


def _order(label: str, tables: list[Floats], means: list[Floats], sign: int, top: int) -> SystemOrder:
    from rankgate.decisions.comparison.many_systems import pair_intervals
    from rankgate.measurement.stats.rank_correlation import rank_correlation, tau, tau_ap

    flips = lost = turned = significant = agreed = 0
    pairs = list(combinations(range(tables[0].shape[1]), 2))
    for i, j in pairs:
        signs = [np.sign(mean[i] - mean[j]) for mean in means]
        is_significant = [_p_value(table[:, i] - table[:, j]) <= _ALPHA for table in tables]
        flips += bool(signs[0] * signs[1] < 0)
        significant += is_significant[0]
        agreed += bool(is_significant[0] and signs[0] * signs[1] > 0)
        lost += bool(is_significant[0] and not is_significant[1])
        turned += bool(all(is_significant) and signs[0] * signs[1] < 0)
    return SystemOrder(
        label,
        finite_or_none(tau(means[0], means[1])),
        finite_or_none(tau_ap(sign * means[1], sign * means[0])),
        flips,
        lost,
        turned,
        len(pairs),
        finite_or_none(rank_correlation(means[0], means[1])),
        **{
            name: finite_or_none(end)
            for name, end in pair_intervals(tables[0], tables[1], 1 - _ALPHA, 0).items()
        },
        significant=significant,
        agreed=agreed,
        tau_top=_tau_of_best([sign * mean for mean in means], top),
        top=top,
    )


def _tau_of_best(means: list[Floats], top: int) -> float | None:
    from rankgate.measurement.stats.rank_correlation import tau

    if len(means[0]) <= top:
        return None
    best = np.argsort(-means[0], kind="stable")[:top]
    return finite_or_none(tau(means[0][best], means[1][best]))


def _p_value(delta: Floats) -> float:
    from rankgate.measurement.stats.paired_tests import student_test

    known = delta[~np.isnan(delta)]
    return float(student_test(known).p_value[0]) if len(known) > 1 and known.any() else 1.0
