"""Power of a set of queries: what a metric can detect, from differences between runs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from rankgate.core.frozen import dataclass
from rankgate.decisions.comparison.many import matrix_of
from rankgate.decisions.comparison.values import values_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rankgate.data.comparison import ScoredRun
    from rankgate.decisions.advice.facts import Answers

    Floats = NDArray[np.float64]

_CLOSE = 1e-12


@dataclass(frozen=True)
class Carrying:
    """What queries show by one metric.

    Attributes:
        means: of each run, with its name.
        n: queries on which both runs of the widest pair have a value.
        sd: the standard deviation of the differences to the first run, that of the run that
            differs most unevenly; None with fewer than two runs, or where none differs.
        detectable: the smallest true difference that n queries show, two-sided.
        margin: the smallest margin at which a candidate that is as good passes with the wanted
            power, one-sided.
        needed: queries that the margin asked for takes.
        carries: whether n queries are as many.
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


def carrying(metric: str, systems: Sequence[ScoredRun], said: Answers) -> Carrying | None:
    """Hold the differences of each run to the first against what a gate shall show.

    The sd is that of a paired comparison; n queries detect t-wise what Cohen (1988) and Sakai
    (2016) have: see ``stats.power``. Reliability as Urbano et al. (2013).

    Args:
        metric: its label.
        systems: the runs, all scored by it; the first is the baseline.
        said: margin, alpha, power, page.

    Returns:
        None without runs.
    """
    if not systems:
        return None
    means = tuple((system.name, _mean(system, metric)) for system in systems)
    deltas = [_delta(metric, systems[0], system) for system in systems[1:]]
    usable = [delta for delta in deltas if len(delta) > 1 and np.ptp(delta) > _CLOSE]
    unmoved = _unmoved(metric, systems, said.page)
    rho = _reliable(metric, systems)
    if not usable:
        n = max((len(delta) for delta in deltas), default=0)
        return Carrying(means, n, None, None, None, None, None, unmoved, *rho)
    from rankgate.measurement.stats.planning.power import detectable, needed

    widest = max(usable, key=lambda delta: float(delta.std(ddof=1)))
    sd, n = float(widest.std(ddof=1)), len(widest)
    wanted = needed(said.margin, sd, said.alpha, said.power, sides=1)
    return Carrying(
        means,
        n,
        sd,
        float(detectable(sd, n, said.alpha, said.power)),
        float(detectable(sd, n, said.alpha, said.power, sides=1)),
        wanted,
        n >= wanted,
        unmoved,
        *rho,
    )


def _mean(system: ScoredRun, metric: str) -> float | None:
    mean = system.scores.filter(pl.col("metric") == metric)["value"].mean()
    return mean if isinstance(mean, float) else None


def _delta(metric: str, before: ScoredRun, after: ScoredRun) -> Floats:
    values = values_of(before, after, "zero")
    j = values.metrics.index(metric)
    delta = values.candidate[:, j] - values.baseline[:, j]
    return delta[~np.isnan(delta)]


def _unmoved(metric: str, systems: Sequence[ScoredRun], page: int) -> float | None:
    """Over all runs against the first: of the queries whose page changed, where it is still."""
    changed = still = 0
    first = _pages(systems[0], page)
    for system in systems[1:]:
        both = first.join(_pages(system, page), on="query_id", how="full", coalesce=True)
        other = both.filter(pl.col("docs").ne_missing(pl.col("docs_right")))["query_id"]
        values = values_of(systems[0], system, "zero")
        j, asked = values.metrics.index(metric), set(other.to_list())
        delta = values.candidate[:, j] - values.baseline[:, j]
        own = [d for q, d in zip(values.query_ids, delta, strict=True) if q in asked]
        changed += len(own)
        still += sum(abs(float(d)) <= _CLOSE for d in own)
    return still / changed if changed else None


def _pages(system: ScoredRun, page: int) -> pl.DataFrame:
    top = system.lists.filter(pl.col("rank") <= page).sort("query_id", "rank")
    return top.group_by("query_id", maintain_order=True).agg(pl.col("doc_id").alias("docs"))


def _reliable(
    metric: str, systems: Sequence[ScoredRun]
) -> tuple[float | None, float | None, float | None]:
    """Eρ² with its interval; nothing of fewer than three runs."""
    if len(systems) < 3:  # of two systems no variance is worth estimating
        return None, None, None
    from rankgate.measurement.stats.reliability import reliability

    values = reliability(matrix_of(systems, metric))
    ends = (values.e_rho2, values.e_rho2_low, values.e_rho2_high)
    one, low, high = (None if np.isnan(each) else float(each) for each in ends)
    return one, low, high
