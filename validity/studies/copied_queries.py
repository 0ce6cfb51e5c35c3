"""Copies of queries: verdicts that count queries, and verdicts that count clusters."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from rankgate.data.query_sample import Sample
from rankgate.decisions.comparison.design import Design
from rankgate.decisions.gating.bounds import decide_statuses, scale_into_range
from rankgate.decisions.gating.rule import Terms
from rankgate.measurement.stats.mean_intervals import student_quantile
from rankgate.measurement.stats.weighted_means import QueryClusters
from tables import marked, percent, table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

ALPHA, MARGIN, SD = 0.05, 0.02, 0.15
REPLICATIONS = 1000
RANGE = (-1.0, 1.0)


@dataclass(frozen=True)
class Cell:
    """One set of clusters and one interval.

    Attributes:
        clusters: how many, and how many queries each has.
        interval: t or guaranteed.
        near: standard deviation of copies around their query.
        false_pass, false_pass_before: passes where the loss is the margin; before: of queries.
        false_fail, false_fail_before: fails where the loss is the margin.
        passes, passes_before: passes where the candidate gains .05.
        decided: share with a decision possible.
        holds: if false passes and fails are at most 5 %, within three standard errors.
    """

    clusters: str
    interval: str
    near: float
    false_pass: float
    false_pass_before: float
    false_fail: float
    false_fail_before: float
    passes: float
    passes_before: float
    decided: float
    holds: bool


@dataclass(frozen=True)
class Model:
    """A model's judgments of all queries, people's of a tenth, five copies of each query.

    Attributes:
        covers, covers_before: 95 % intervals that hold the truth.
    """

    covers: float
    covers_before: float


SIZES: dict[str, NDArray[np.int64]] = {
    "30 of 5": np.full(30, 5),
    "60 of 5": np.full(60, 5),
    "12 of 6": np.full(12, 6),
    "60 of 1 to 3": np.tile([1, 2, 3], 20),
    "100 of 1, 10 of 4": np.r_[np.ones(100, int), np.full(10, 4)],
    "50 of 1, one of 50": np.r_[np.ones(50, int), 50],
    "60 of 1": np.ones(60, int),
}


def run(replications: int = REPLICATIONS, seed: int = 436) -> list[Cell | Model]:
    """Every set of clusters, with exact and near copies."""
    cells: list[Cell | Model] = [
        _cell(name, interval, near, replications, seed)
        for name in SIZES
        for interval in ("t", "guaranteed")
        for near in ((0.0, 0.05) if interval == "t" else (0.0,))
    ]
    return [*cells, _model(replications, seed)]


def _cell(name: str, interval: str, near: float, replications: int, seed: int) -> Cell:
    rng = np.random.default_rng([seed, *name.encode(), *interval.encode(), int(100 * near)])
    sizes = SIZES[name]
    codes = np.repeat(np.arange(len(sizes)), sizes)
    queries = [str(i) for i in range(len(codes))]
    units = QueryClusters.from_queries(
        queries, {query: str(c) for query, c in zip(queries, codes, strict=True)}
    )
    single = rng.normal(0, SD, (len(sizes), replications))
    values = single[codes] + rng.normal(0, near, (len(codes), replications))
    lost, gained = (np.clip(values + shift, *RANGE) for shift in (-MARGIN, 0.05))
    now, verdicts_before = _now(lost, units, interval), _plain(lost, interval)
    shares = (
        now == "pass",
        verdicts_before == "pass",
        now == "fail",
        verdicts_before == "fail",
        _now(gained, units, interval) == "pass",
        _plain(gained, interval) == "pass",
        _decidable(lost, units, interval),
    )
    share = [float(x.mean()) for x in shares]
    limit = ALPHA + 3 * (ALPHA * (1 - ALPHA) / replications) ** 0.5
    return Cell(name, interval, near, *share, holds=max(share[0], share[2]) <= limit)


def _plain(values: Floats, interval: str) -> NDArray[np.str_]:
    bounds = np.full(values.shape[1], -MARGIN)
    return decide_statuses(values, bounds, Terms(interval=interval), RANGE)


def _now(values: Floats, units: QueryClusters, interval: str) -> NDArray[np.str_]:
    """Statuses by clusters, as the gate has them."""
    if interval == "guaranteed":
        sizes = units.sizes.astype(np.float64)
        return _plain(scale_into_range(units.means(values), sizes, -MARGIN), interval)
    terms = Terms(degrees=None if units.equal else units.weighing.degrees)
    bounds = np.full(values.shape[1], -MARGIN)
    result = decide_statuses(units.values(values), bounds, terms, RANGE)
    return np.where(_decidable(values, units, interval), result, "inconclusive")


def _decidable(values: Floats, units: QueryClusters, interval: str) -> NDArray[np.bool_]:
    """True for sets whose sizes of clusters allow a decision."""
    if units.equal or interval == "guaranteed":
        return np.ones(values.shape[1], np.bool_)
    return np.array([units.problem(column) is None for column in values.T])


def _model(replications: int, seed: int) -> Model:
    """Five copies of each of 600 queries; people judge the copies of a tenth."""
    rng = np.random.default_rng([seed, 7])
    singles, copies = 600, 5
    queries = [f"{i}.{j}" for i in range(singles) for j in range(copies)]
    clusters = {query: query.partition(".")[0] for query in queries}
    covers = {True: 0, False: 0}
    for _ in range(replications):
        people = np.repeat(rng.normal(0, SD, singles), copies)
        model = people + np.repeat(rng.normal(0.05, SD, singles), copies)
        judged = np.repeat(rng.permutation(singles) < singles / 10, copies)
        predicted = pl.DataFrame({"query_id": queries, "metric": "m", "baseline": 0.0, "candidate": model})
        judged_queries = [query for query, is_judged in zip(queries, judged, strict=True) if is_judged]
        for grouped in covers:
            design = Design(Sample("random"), predicted, clusters=clusters if grouped else {})
            estimate = design.estimate(judged_queries, people[judged], "m", lambda old, new: new - old)
            reach = student_quantile(len(estimate.values) - 1, 0.975) * estimate.variance**0.5
            covers[grouped] += abs(estimate.mean) <= reach
    return Model(covers[True] / replications, covers[False] / replications)


def section(cells: Sequence[Cell | Model]) -> str:
    """Its part of the page."""
    sets = [cell for cell in cells if hasattr(cell, "clusters")]
    rows = [
        (
            cell.clusters,
            cell.interval,
            f"{cell.near:g}",
            f"{marked(cell.false_pass, cell.holds)} ({percent(cell.false_pass_before)})",
            f"{percent(cell.false_fail)} ({percent(cell.false_fail_before)})",
            f"{percent(cell.passes)} ({percent(cell.passes_before)})",
            percent(cell.decided),
        )
        for cell in sets
    ]
    header = (
        "clusters of queries",
        "interval",
        "sd of copies",
        "false pass",
        "false fail",
        "pass with a gain of .05",
        "can decide",
    )
    model = next(cell for cell in cells if not hasattr(cell, "clusters"))
    return f"""\
## Copies of queries

Differences of queries are normal with a standard deviation of {SD:g}; copies have the value of
their query, or differ from it by the standard deviation in the third column. A false pass or fail
is counted for a candidate with a loss equal to the margin, {MARGIN:g}. In brackets: every copy
counted as a query, as before. Now the clusters are the units (a column `cluster` of the queries'
table, or near-copies by their texts); a set in which one cluster makes half of the mean decides
nothing by t.

{table(header, rows)}

With a model's judgments of 3,000 queries, five copies of each of 600, and people's of the copies
of 60, 95 % intervals hold the truth in {percent(model.covers)}, before in
{percent(model.covers_before)}.
"""
