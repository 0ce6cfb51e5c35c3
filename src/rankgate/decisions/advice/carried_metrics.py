"""Power of a set of queries: what a metric can detect, from differences between runs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from rankgate.core.frozen import dataclass
from rankgate.decisions.comparison.many import value_matrix
from rankgate.decisions.comparison.values import pair_values

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rankgate.data.comparison import ScoredRun
    from rankgate.decisions.advice.facts import Answers

    Floats = NDArray[np.float64]

_CLOSE = 1e-12


@dataclass(frozen=True)
class MetricPower:
    """Differences that the queries can detect with one metric.

    Attributes:
        means: of each run, with its name.
        n: queries on which both runs of the widest pair have a value.
        sd: the standard deviation of the differences to the first run, that of the run that
            differs most unevenly; None with fewer than two runs, or where none differs.
        detectable: the smallest true difference that n queries show, two-sided.
        margin: the smallest margin at which a candidate that is as good passes with the wanted
            power, one-sided.
        needed: queries that the margin asked for takes.
        carries: true if n queries are enough.
        unmoved: the share of the lists with another page for which the metric does not move.
        e_rho2, low, high: how far the queries order these systems as others would; of three runs
            or more.
    """

    means: tuple[tuple[str, float | None], ...]
    n: int
    sd: float | None
    detectable: float | None
    margin: float | None
    needed: float | None
    carries: bool | None
    unmoved: float | None
    e_rho2: float | None
    low: float | None
    high: float | None


def metric_power(metric: str, systems: Sequence[ScoredRun], answers: Answers) -> MetricPower | None:
    """Compare the runs' differences to the first run with what a gate must detect.

    The sd is that of a paired comparison; n queries detect t-wise what Cohen (1988) and Sakai
    (2016) have: see ``stats.power``. Reliability as Urbano et al. (2013).

    Args:
        metric: its label.
        systems: the runs, all scored by it; the first is the baseline.
        answers: margin, alpha, power, page.

    Returns:
        None without runs.
    """
    if not systems:
        return None
    means = tuple((system.name, _mean(system, metric)) for system in systems)
    deltas = [_delta(metric, systems[0], system) for system in systems[1:]]
    usable_deltas = [delta for delta in deltas if len(delta) > 1 and np.ptp(delta) > _CLOSE]
    unmoved = _unmoved_share(metric, systems, answers.page)
    rho = _reliability(metric, systems)
    if not usable_deltas:
        n = max((len(delta) for delta in deltas), default=0)
        return MetricPower(means, n, None, None, None, None, None, unmoved, *rho)
    from rankgate.measurement.stats.planning.power import detectable_difference, queries_for_power

    widest_deltas = max(usable_deltas, key=lambda delta: float(delta.std(ddof=1)))
    sd, n = float(widest_deltas.std(ddof=1)), len(widest_deltas)
    needed_queries = queries_for_power(answers.margin, sd, answers.alpha, answers.power, sides=1)
    return MetricPower(
        means,
        n,
        sd,
        float(detectable_difference(sd, n, answers.alpha, answers.power)),
        float(detectable_difference(sd, n, answers.alpha, answers.power, sides=1)),
        needed_queries,
        n >= needed_queries,
        unmoved,
        *rho,
    )


def _mean(system: ScoredRun, metric: str) -> float | None:
    mean = system.scores.filter(pl.col("metric") == metric)["value"].mean()
    return mean if isinstance(mean, float) else None


def _delta(metric: str, baseline: ScoredRun, candidate: ScoredRun) -> Floats:
    values = pair_values(baseline, candidate, "zero")
    j = values.metrics.index(metric)
    delta = values.candidate[:, j] - values.baseline[:, j]
    return delta[~np.isnan(delta)]


def _unmoved_share(metric: str, systems: Sequence[ScoredRun], page: int) -> float | None:
    """The share of the lists with another page than the first run for which the metric is equal."""
    changed_count = unmoved_count = 0
    baseline_pages = _result_pages(systems[0], page)
    for system in systems[1:]:
        joined = baseline_pages.join(
            _result_pages(system, page), on="query_id", how="full", coalesce=True
        )
        changed_queries = joined.filter(pl.col("docs").ne_missing(pl.col("docs_right")))["query_id"]
        values = pair_values(systems[0], system, "zero")
        j, changed_query_ids = values.metrics.index(metric), set(changed_queries.to_list())
        delta = values.candidate[:, j] - values.baseline[:, j]
        changed_deltas = [
            d for q, d in zip(values.query_ids, delta, strict=True) if q in changed_query_ids
        ]
        changed_count += len(changed_deltas)
        unmoved_count += sum(abs(float(d)) <= _CLOSE for d in changed_deltas)
    return unmoved_count / changed_count if changed_count else None


def _result_pages(system: ScoredRun, page: int) -> pl.DataFrame:
    first_documents = system.lists.filter(pl.col("rank") <= page).sort("query_id", "rank")
    return first_documents.group_by("query_id", maintain_order=True).agg(
        pl.col("doc_id").alias("docs")
    )


def _reliability(
    metric: str, systems: Sequence[ScoredRun]
) -> tuple[float | None, float | None, float | None]:
    """Eρ² with its interval; None with fewer than three runs."""
    if len(systems) < 3:  # of two systems no variance is worth estimating
        return None, None, None
    from rankgate.measurement.stats.reliability import reliability

    coefficients = reliability(value_matrix(systems, metric))
    estimates = (coefficients.e_rho2, coefficients.e_rho2_low, coefficients.e_rho2_high)
    e_rho2, low, high = (None if np.isnan(estimate) else float(estimate) for estimate in estimates)
    return e_rho2, low, high
