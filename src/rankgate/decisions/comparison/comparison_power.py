"""Power of a comparison: the queries that it needs, and the differences that it detects.

Sample sizes and detectable differences take the comparison's correction into account.
`power_curves` gives the power by number of queries.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from rankgate.core.errors import UsageError
from rankgate.core.frozen import dataclass
from rankgate.core.present.columns import Column, Columns
from rankgate.core.present.common_columns import METRIC

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rankgate.core.arrays import Floats
    from rankgate.core.value_types import JsonObject
    from rankgate.decisions.comparison.comparison import Comparison
    from rankgate.decisions.comparison.inference import Test
    from rankgate.decisions.comparison.paired_values import PairedFigures, PairedValues
    from rankgate.measurement.stats.query_power import Samples


_FLIPS = 10_000


def strictest_level(test: Test, correction: str, tests: int) -> float:
    """The level below which a p-value is significant, regardless of the other tests.

    alpha without a correction, else alpha over the number of tests: the first step of Holm's
    and of Benjamini and Hochberg's corrections.
    """
    alpha = 1 - test.level
    return alpha if correction == "none" else alpha / max(tests, 1)


def detectable_differences(figures: PairedFigures, test: Test, correction: str, tests: int) -> Floats:
    """(M,) smallest detectable true differences, regardless of the other tests."""
    from rankgate.measurement.stats.query_power import detectable_difference

    alpha = strictest_level(test, correction, tests)
    return np.array(
        [
            float(detectable_difference(sd, int(n), alpha, test.power)) if n > 1 and sd else float("nan")
            for n, sd in zip(figures.n, figures.sd, strict=True)
        ]
    )


def queries_needed(
    pairs: Sequence[tuple[PairedValues, PairedFigures]],
    test: Test,
    correction: str,
    wanted_difference: float | None = None,
) -> list[Floats]:
    """The numbers of queries that show each difference after correction: (M,) per candidate.

    Samples of the measured differences of all metrics and candidates are tested by the paired
    t-test and corrected as the comparison is; a difference is shown where its corrected p is at
    most alpha and its sign is right. The other means stay as measured.

    Args:
        pairs: values and figures of each candidate.
        test: level, power and seed.
        correction: over all metrics and candidates.
        wanted_difference: a true difference, instead of the measured ones.

    Returns:
        The numbers of queries with a value; NaN if the differences have mean or standard deviation
        0.
    """
    from rankgate.measurement.stats.query_power import queries_for

    delta = join_deltas([values for values, _ in pairs])
    size = (~np.isnan(delta)).sum(axis=0)
    sd = np.concatenate([figures.sd for _, figures in pairs])
    measured_deltas = np.concatenate([figures.delta for _, figures in pairs])
    usable_columns = np.flatnonzero(
        (size > 1) & (sd > 0) & ((measured_deltas != 0) | (wanted_difference is not None))
    )
    query_counts = np.full(delta.shape[1], np.nan)
    if usable_columns.size:
        usable_deltas = delta[:, usable_columns]
        for targets in _targets(measured_deltas[usable_columns], wanted_difference):
            mean, asked_columns = targets
            spread = sd[usable_columns[asked_columns]]
            start = _starting_sizes(mean[asked_columns], spread, test, correction, delta.shape[1])
            decide = _make_decision(usable_deltas, mean, asked_columns, test, correction, delta.shape[1])
            queries = queries_for(usable_deltas, decide, test.power, mean=mean, start=start, seed=test.seed)
            query_counts[usable_columns[asked_columns]] = (
                queries * size[usable_columns[asked_columns]] / len(delta)
            )
    return np.split(query_counts, len(pairs))


def _starting_sizes(delta: Floats, sd: Floats, test: Test, correction: str, tests: int) -> Floats:
    """(D,) numbers of queries of single t-tests, the clearest difference at the strictest level.

    Later differences are tested at the levels of Holm's next steps: alpha over the tests that are left.
    """
    from rankgate.measurement.stats.query_power import queries_for_power

    sizes = np.empty(len(delta))
    for step, column in enumerate(np.argsort(-np.abs(delta) / sd, kind="stable")):
        alpha = strictest_level(test, correction, tests - step)
        sizes[column] = queries_for_power(delta[column], sd[column], alpha, test.power)
    return sizes


def _targets(
    measured_deltas: Floats, wanted_difference: float | None
) -> list[tuple[Floats, NDArray[np.int64]]]:
    """True means, and the columns with the queries counted under them."""
    columns = np.arange(len(measured_deltas))
    if wanted_difference is None:
        return [(measured_deltas, columns)]
    return [(np.where(columns == j, wanted_difference, measured_deltas), columns[[j]]) for j in columns]


def _make_decision(
    delta: Floats, mean: Floats, asked_columns: NDArray[np.int64], test: Test, correction: str, tests: int
) -> Callable[[Samples], NDArray[np.bool_]]:
    """Make a test of the columns in samples: significant, and with the sign of their mean."""
    from rankgate.measurement.stats.multiple_comparisons import corrected_rows
    from rankgate.measurement.stats.special_functions import stdtr

    alpha = 1 - test.level
    p_limit = _max_t_level(delta, alpha, test.seed) if correction == "maxt" else alpha
    method: Any = "none" if correction == "maxt" else correction

    def decide(samples: Samples) -> NDArray[np.bool_]:
        with np.errstate(divide="ignore", invalid="ignore"):
            t = samples.mean / samples.error
            p = 2 * stdtr(samples.n - 1, -np.abs(t))
        p = np.where(np.isnan(p), 1.0, p)
        p_of_equal = np.ones((len(p), tests - p.shape[1]))  # tests of equal values
        p = corrected_rows(np.concatenate([p, p_of_equal], axis=1), method)[:, asked_columns]
        return np.asarray((p <= p_limit) & (samples.mean * np.sign(mean) > 0)[:, asked_columns])

    return decide


def _max_t_level(delta: Floats, alpha: float, seed: int) -> float:
    """The level of one test at which max-T rejects: a quantile of the smallest p under flips."""
    from rankgate.measurement.stats.special_functions import stdtr

    is_defined = ~np.isnan(delta)
    table, n = np.where(is_defined, delta, 0.0), is_defined.sum(axis=0)
    flips = np.random.default_rng(seed).choice((-1.0, 1.0), (_FLIPS, len(table)))
    mean = flips @ table / n
    variance = ((table**2).sum(axis=0) / n - mean**2) * n / (n - 1)
    p = 2 * stdtr(n - 1, -np.abs(mean) / np.sqrt(np.maximum(variance, 1e-300) / n))
    return float(np.quantile(p.min(axis=1), alpha))


def join_deltas(pairs: Sequence[PairedValues]) -> Floats:
    """(T, K·M) differences of all candidates, query by query; NaN without a value."""
    query_ids = sorted({query for values in pairs for query in values.query_ids})
    row_of_query = {query: i for i, query in enumerate(query_ids)}
    delta_tables = []
    for values in pairs:
        pair_deltas = np.full((len(query_ids), len(values.metrics)), np.nan)
        pair_deltas[[row_of_query[query] for query in values.query_ids]] = values.candidate - values.baseline
        delta_tables.append(pair_deltas)
    return np.concatenate(delta_tables, axis=1)


QUERY_COUNTS = (10, 15, 20, 30, 50, 75, 100, 150, 200, 300, 500, 750, 1000, 1500, 2000)
"""Numbers of queries of the curve, in addition to the comparison's own."""

_CURVES = Columns(
    "One row per metric and number of queries, by the paired t-test and the standard deviation of the "
    "measured differences, regardless of the other tests.",
    METRIC,
    Column("n", pl.Int64, "the number of queries", unit="queries"),
    Column("detectable", pl.Float64, "the smallest difference that they show"),
)
_MEASURED = ("metric", "n", "delta", "sd", "mde", "needed")


@dataclass(frozen=True)
class PowerCurves:
    """The smallest detectable difference by number of queries.

    Attributes:
        baseline, candidate: names.
        convention: name, axes and hash.
        level: 1 minus the test's alpha.
        power: the probability of showing a true difference of that size.
        curves: the columns of `_CURVES`.
        measured: ``metric``, ``n``, ``delta``, ``sd``, ``mde``, ``needed`` of the comparison.
    """

    baseline: str
    candidate: str
    convention: JsonObject
    level: float
    power: float
    curves: pl.DataFrame
    measured: pl.DataFrame

    @property
    def alpha(self) -> float:
        """The level of the test."""
        return 1 - self.level


def power_curves(comparison: Comparison, queries: Sequence[int] = QUERY_COUNTS) -> PowerCurves:
    """Compute the detectable difference of a pair of systems for fewer or more queries.

    Args:
        comparison: the comparison, which has the spread of the differences.
        queries: numbers of queries.

    Raises:
        UsageError: the differences of no metric have a spread.
    """
    from rankgate.measurement.stats.query_power import detectable_difference

    usable_metrics = comparison.metrics.filter(pl.col("sd") > 0)
    if usable_metrics.is_empty():
        raise UsageError(
            "no metric has differences that vary: there is no power to compute.", code="no-spread"
        )
    counts = sorted({*queries, *usable_metrics["n"].to_list()})
    strictest, power = comparison.strictest, comparison.power
    detectable_at_unit_sd = {
        n: float(np.asarray(detectable_difference(1.0, n, strictest, power))) for n in counts
    }
    rows = [
        {"metric": row["metric"], "n": n, "detectable": row["sd"] * detectable_at_unit_sd[n]}
        for row in usable_metrics.iter_rows(named=True)
        for n in counts
    ]
    return PowerCurves(
        comparison.baseline.name,
        comparison.candidate.name,
        comparison.convention,
        comparison.level,
        power,
        pl.DataFrame(rows, schema=_CURVES),
        usable_metrics.select(*_MEASURED),
    )
