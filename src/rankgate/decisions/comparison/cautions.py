"""Warnings about the reliability of a comparison."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rankgate.data.clusters import CLUSTER, clusters_of
from rankgate.decisions.comparison.paired import SECONDARY, TESTS
from rankgate.measurement.stats.clusters import Units

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from rankgate.data.comparison import ScoredRun
    from rankgate.decisions.comparison.inference import Test
    from rankgate.decisions.comparison.paired import Figures
    from rankgate.decisions.comparison.values import PairedValues

    Floats = NDArray[np.float64]

_FEW = 10
_SHARE, _FACTOR, _CLEAR = 0.2, 2.0, 0.2
_HEAVY = 0.01
"""Σd⁴/(Σd²)² below which the flipped sum is as good as normal: its excess of kurtosis is −2 times
that, which by Edgeworth's expansion moves no p above 0.001 by more than a tenth."""


def cautions(result: Figures, values: PairedValues, test: Test) -> tuple[str, ...]:
    """One sentence each: a secondary test, blind metrics, skew, one query that makes it all."""
    found: list[str] = []
    if test.method in SECONDARY:
        found.append(f"{TESTS[test.method]}; do not decide by it alone.")
    for j, metric in enumerate(values.metrics):
        delta = values.candidate[:, j] - values.baseline[:, j]
        known = ~np.isnan(delta)
        own = delta[known]
        if not len(own):
            found.append(f"{metric}: no query has a value on both sides.")
            continue
        if not own.any():
            found.append(
                f"{metric}: no query changed its value; the metric may not detect the change (see "
                "rankgate blindspots)."
            )
            continue
        found += [f"{metric}: {words}" for words in result.warnings[j]]
        found += _influence(metric, own, known, values)
        if values.degrees is None:  # signs of weighted deviations cannot be flipped
            found += _disagreement(metric, own, result.p_raw[j], test)
    return tuple(dict.fromkeys(found))


def clustered(baseline: ScoredRun, candidate: ScoredRun, queries: Sequence[str]) -> tuple[str, ...]:
    """Which queries are clusters, and that these are the units; nothing where none are."""
    tables = (baseline.tagged, candidate.tagged)
    clusters = clusters_of(tables)
    units = Units.of(queries, clusters)
    if len(units.first) == len(queries):
        return ()
    named = any(CLUSTER in table.columns for table in tables)
    example = ", ".join(
        query for query, code in zip(queries, units.codes, strict=True)
        if code == int(np.argmax(units.sizes))
    )  # fmt: skip
    source = "by their column cluster"
    if not named:
        source = f"near-copies by their texts, such as {example}"
    message = (
        f"{len(queries)} queries are {len(units.first)} clusters ({source}): n, errors, tests and "
        "numbers of queries are those of clusters."
    )
    return (message,)


def _influence(
    metric: str, delta: Floats, known: NDArray[np.bool_], values: PairedValues
) -> list[str]:
    """One query that makes much of a difference that is there."""
    from rankgate.measurement.stats.influence import largest_share
    from rankgate.measurement.stats.paired import standard_error

    row, share = largest_share(delta)
    few = len(delta) < _FEW or abs(delta.mean()) <= standard_error(delta)[0]
    if few or not share[0] > _SHARE:
        return []
    query = np.array(values.query_ids, dtype=object)[known][int(row[0])]
    return [f"{metric}: query {query} alone makes {share[0]:.0%} of the difference."]


def _disagreement(metric: str, delta: Floats, p: float, test: Test) -> list[str]:
    """The t-test and the randomization test should say the same."""
    if test.method not in {"t", "randomization"} or len(delta) < _FEW:
        return []
    if (delta**4).sum() < _HEAVY * (delta**2).sum() ** 2:
        return []
    from rankgate.measurement.stats.paired import student
    from rankgate.measurement.stats.resampling.randomization import randomization

    t = float(student(delta).p_value[0])
    drawn = (
        p
        if test.method == "randomization"
        else float(
            randomization(delta, samples=min(test.resamples, 10_000), seed=test.seed).p_value[0]
        )
    )
    low, high = sorted((max(t, 1e-3), max(drawn, 1e-3)))
    if high / low <= _FACTOR or low > _CLEAR:
        return []
    words = (
        f"{metric}: the t-test says p = {t:.3f}, the randomization test {drawn:.3f}; the "
        "differences are far from normal, so trust neither blindly."
    )
    return [words]
