"""Power of a comparison by number of queries."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from rankgate.core.errors import UsageError
from rankgate.core.frozen import dataclass

if TYPE_CHECKING:
    from rankgate.decisions.comparison.comparison import Comparison

QUERY_COUNTS = (10, 15, 20, 30, 50, 75, 100, 150, 200, 300, 500, 750, 1000, 1500, 2000)
"""Numbers of queries of the curve, in addition to the comparison's own."""

_CURVES: dict[str, Any] = {"metric": pl.String, "n": pl.Int64, "detectable": pl.Float64}
_MEASURED = ("metric", "n", "delta", "sd", "mde", "needed")


@dataclass(frozen=True)
class PowerCurves:
    """The smallest detectable difference by number of queries.

    Attributes:
        baseline, candidate: names.
        convention: name, axes and hash.
        level: 1 minus the test's alpha.
        power: the chance to show a true difference of that size.
        curves: ``metric``, ``n``, ``detectable``, by the paired t-test and the standard deviation
            of the measured differences, regardless of the other tests.
        measured: ``metric``, ``n``, ``delta``, ``sd``, ``mde``, ``needed``, as compared.
    """

    baseline: str
    candidate: str
    convention: Mapping[str, Any]
    level: float
    power: float
    curves: pl.DataFrame
    measured: pl.DataFrame


def power_curves(comparison: Comparison, queries: Sequence[int] = QUERY_COUNTS) -> PowerCurves:
    """Compute the detectable difference of a pair of systems for fewer or more queries.

    Args:
        comparison: the comparison, which has the spread of the differences.
        queries: numbers of queries.

    Raises:
        UsageError: the differences of no metric have a spread.
    """
    from rankgate.measurement.stats.planning.power import detectable_difference

    usable_metrics = comparison.metrics.filter(pl.col("sd") > 0)
    if usable_metrics.is_empty():
        raise UsageError(
            "the differences of no metric have a spread: there is no power.",
            code="no-spread",
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
