"""Warnings about the reliability of a comparison."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rankgate.data.clusters import CLUSTER, read_clusters
from rankgate.decisions.comparison.paired import SECONDARY, TESTS
from rankgate.measurement.stats.clusters import QueryClusters

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from rankgate.data.comparison import ScoredRun
    from rankgate.decisions.comparison.inference import Test
    from rankgate.decisions.comparison.paired import PairedFigures
    from rankgate.decisions.comparison.values import PairedValues

    Floats = NDArray[np.float64]

_MIN_QUERIES = 10
_SHARE, _FACTOR, _CLEAR = 0.2, 2.0, 0.2
_HEAVY_TAIL = 0.01
"""Σd⁴/(Σd²)² below which the flipped sum is as good as normal: its excess of kurtosis is −2 times
that, which by Edgeworth's expansion moves no p above 0.001 by more than a tenth."""


def cautions(result: PairedFigures, values: PairedValues, test: Test) -> tuple[str, ...]:
    """Sentences on secondary tests, blind metrics, skew, and a query that dominates."""
    sentences: list[str] = []
    if test.method in SECONDARY:
        sentences.append(f"{TESTS[test.method]}; do not decide by it alone.")
    deltas = values.candidate - values.baseline
    # signs of weighted deviations cannot be flipped
    randomized_p = _randomization_p(deltas, result.p_raw, test) if values.degrees is None else {}
    for j, metric in enumerate(values.metrics):
        delta = deltas[:, j]
        is_defined = ~np.isnan(delta)
        defined_deltas = delta[is_defined]
        if not len(defined_deltas):
            sentences.append(f"{metric}: no query has a value on both sides.")
            continue
        if not defined_deltas.any():
            sentences.append(
                f"{metric}: no query changed its value; the metric may not detect the change (see "
                "rankgate blindspots)."
            )
            continue
        sentences += [f"{metric}: {warning}" for warning in result.warnings[j]]
        sentences += _influence_caution(metric, defined_deltas, is_defined, values)
        if j in randomized_p:
            sentences += _disagreement_caution(metric, defined_deltas, randomized_p[j])
    return tuple(dict.fromkeys(sentences))


def cluster_caution(
    baseline: ScoredRun, candidate: ScoredRun, queries: Sequence[str]
) -> tuple[str, ...]:
    """A sentence on clusters of queries as the units of the tests; none without clusters."""
    tables = (baseline.tagged, candidate.tagged)
    clusters = read_clusters(tables)
    units = QueryClusters.of(queries, clusters)
    if len(units.first) == len(queries):
        return ()
    has_cluster_column = any(CLUSTER in table.columns for table in tables)
    example = ", ".join(
        query
        for query, code in zip(queries, units.codes, strict=True)
        if code == int(np.argmax(units.sizes))
    )
    source = "by their column cluster"
    if not has_cluster_column:
        source = f"near-copies by their texts, such as {example}"
    message = (
        f"{len(queries)} queries are {len(units.first)} clusters ({source}): n, errors, tests and "
        "numbers of queries are those of clusters."
    )
    return (message,)


def _influence_caution(
    metric: str, delta: Floats, is_defined: NDArray[np.bool_], values: PairedValues
) -> list[str]:
    """A sentence on a single query that makes most of a real difference."""
    from rankgate.measurement.stats.influence import largest_share
    from rankgate.measurement.stats.paired import standard_error

    row, share = largest_share(delta)
    few = len(delta) < _MIN_QUERIES or abs(delta.mean()) <= standard_error(delta)[0]
    if few or not share[0] > _SHARE:
        return []
    query = np.array(values.query_ids, dtype=object)[is_defined][int(row[0])]
    return [f"{metric}: query {query} alone makes {share[0]:.0%} of the difference."]


def _randomization_p(deltas: Floats, p_raw: Floats, test: Test) -> dict[int, float]:
    """Test by randomization the columns whose t-test could differ: p by column.

    Columns of the same queries share their draws.
    """
    if test.method not in {"t", "randomization"}:
        return {}
    is_defined = ~np.isnan(deltas)
    filled_deltas = np.where(is_defined, deltas, 0.0)
    is_heavy_tailed = (filled_deltas**4).sum(axis=0) >= _HEAVY_TAIL * (filled_deltas**2).sum(
        axis=0
    ) ** 2
    checked_columns = np.flatnonzero(
        is_heavy_tailed & filled_deltas.any(axis=0) & (is_defined.sum(axis=0) >= _MIN_QUERIES)
    )
    if test.method == "randomization":
        return {int(j): float(p_raw[j]) for j in checked_columns}
    from rankgate.measurement.stats.resampling.randomization import randomization

    groups: dict[bytes, list[int]] = {}
    for j in checked_columns.tolist():
        groups.setdefault(is_defined[:, j].tobytes(), []).append(j)
    p: dict[int, float] = {}
    samples = min(test.resamples, 10_000)
    for columns in groups.values():
        group_deltas = deltas[is_defined[:, columns[0]]][:, columns]
        result = randomization(group_deltas, samples=samples, seed=test.seed)
        p |= dict(zip(columns, result.p_value.tolist(), strict=True))
    return p


def _disagreement_caution(metric: str, delta: Floats, randomized_p: float) -> list[str]:
    """A sentence on a disagreement of the t-test and the randomization test."""
    from rankgate.measurement.stats.paired import student_test

    t = float(student_test(delta).p_value[0])
    low, high = sorted((max(t, 1e-3), max(randomized_p, 1e-3)))
    if high / low <= _FACTOR or low > _CLEAR:
        return []
    message = (
        f"{metric}: the t-test says p = {t:.3f}, the randomization test {randomized_p:.3f}; the "
        "differences are far from normal, so trust neither blindly."
    )
    return [message]
