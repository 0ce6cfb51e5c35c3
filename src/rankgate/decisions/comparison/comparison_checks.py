"""Checks of a comparison: warnings about its reliability, and tests of its sample.

The checks of the sample test that the queries judged by people are a random sample of the queries
judged by a model.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from rankgate.core.errors import InputError, UsageError
from rankgate.core.present.number_formats import count_noun
from rankgate.data.query_tags import CLUSTER, read_clusters
from rankgate.decisions.comparison.design import undrawn_slices
from rankgate.decisions.comparison.paired_values import SECONDARY, TESTS
from rankgate.measurement.stats.weighted_means import (
    QueryClusters,
    chance_of_sample,
    effective_size,
    estimate_population,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from rankgate.core.arrays import Floats
    from rankgate.data.query_sample import Sample
    from rankgate.data.run_scores import ScoredRun
    from rankgate.decisions.comparison.design import Design
    from rankgate.decisions.comparison.inference import Test
    from rankgate.decisions.comparison.paired_values import PairedFigures, PairedValues


def missing_input_error(verb: str) -> UsageError:
    """The error for too few inputs of ``gate`` or ``compare``."""
    problem = (
        f"judgments, a baseline and a candidate are needed (rankgate {verb} JUDGMENTS BASELINE CANDIDATE), "
        f"or scores (--scores). Two runs without judgments show what changed: rankgate {verb} BASELINE "
        "CANDIDATE."
    )
    return UsageError(problem, code="missing-input")


_FEW_QUERIES = 10
_SHARE, _FACTOR, _CLEAR = 0.2, 2.0, 0.2
_COLUMNS = 128  # differences that are flipped together in one step
_HEAVY_TAIL = 0.01
"""Σd⁴/(Σd²)² below which the flipped sum is as good as normal: its excess of kurtosis is −2 times
that, which by Edgeworth's expansion moves no p above 0.001 by more than a tenth."""


def cautions(
    result: PairedFigures, values: PairedValues, test: Test, randomized_p: Mapping[int, float]
) -> tuple[str, ...]:
    """Sentences on secondary tests, blind metrics, skew, and a query that dominates.

    Args:
        result: the figures of the values.
        values: the values of a pair of systems.
        test: the test of the differences.
        randomized_p: the result of `randomized_p_values`.
    """
    sentences: list[str] = []
    if test.method in SECONDARY:
        sentences.append(f"{TESTS[test.method]}; do not decide by it alone.")
    deltas = values.candidate - values.baseline
    for j, metric in enumerate(values.metrics):
        delta = deltas[:, j]
        is_defined = ~np.isnan(delta)
        defined_deltas = delta[is_defined]
        if not len(defined_deltas):
            sentences.append(f"{metric}: no query has a value on both sides.")
            continue
        if not defined_deltas.any():
            sentences.append(
                f"{metric}: no query changed its value; the metric may not detect the change (see rankgate "
                "blindspots)."
            )
            continue
        sentences += [f"{metric}: {warning}" for warning in result.warnings[j]]
        sentences += _influence_caution(metric, defined_deltas, is_defined, values)
        if j in randomized_p:
            sentences += _disagreement_caution(metric, defined_deltas, randomized_p[j])
    return tuple(dict.fromkeys(sentences))


def cluster_caution(baseline: ScoredRun, candidate: ScoredRun, queries: Sequence[str]) -> tuple[str, ...]:
    """A sentence on clusters of queries as the units of the tests; no sentence without clusters."""
    tables = (baseline.tagged, candidate.tagged)
    clusters = read_clusters(tables)
    units = QueryClusters.from_queries(queries, clusters)
    if len(units.first) == len(queries):
        return ()
    has_cluster_column = any(CLUSTER in table.columns for table in tables)
    example = ", ".join(
        query for query, code in zip(queries, units.codes, strict=True) if code == int(np.argmax(units.sizes))
    )
    source = "by their column cluster"
    if not has_cluster_column:
        source = f"near-copies by their texts, such as {example}"
    message = (
        f"{len(queries)} queries are {len(units.first)} clusters ({source}): n, errors, tests and numbers of "
        "queries are those of clusters."
    )
    return (message,)


def _influence_caution(
    metric: str, delta: Floats, is_defined: NDArray[np.bool_], values: PairedValues
) -> list[str]:
    """A sentence on a single query that makes most of a real difference."""
    from rankgate.measurement.stats.paired_tests import largest_share, standard_error

    row, share = largest_share(delta)
    few = len(delta) < _FEW_QUERIES or abs(delta.mean()) <= standard_error(delta)[0]
    if few or not share[0] > _SHARE:
        return []
    query = np.array(values.query_ids, dtype=object)[is_defined][int(row[0])]
    return [f"{metric}: query {query} alone makes {share[0]:.0%} of the difference."]


def randomized_p_values(
    pairs: Sequence[tuple[PairedFigures, PairedValues]], test: Test
) -> list[dict[int, float]]:
    """Test columns by randomization if the t-test could differ; give p by column for each pair.

    Columns with the same number of queries have the same flips, so columns of all pairs are tested
    together.
    """
    p_values: list[dict[int, float]] = [{} for _ in pairs]
    columns_by_size: dict[int, list[tuple[int, int, Floats]]] = {}
    for i, (figures, values) in enumerate(pairs):
        deltas = values.candidate - values.baseline
        # signs of weighted deviations cannot be flipped
        for j in _heavy_tailed_columns(deltas, test) if values.degrees is None else ():
            if test.method == "randomization":
                p_values[i][j] = float(figures.p_raw[j])
            else:
                delta = deltas[~np.isnan(deltas[:, j]), j]
                columns_by_size.setdefault(len(delta), []).append((i, j, delta))
    from rankgate.measurement.stats.resampling_tests import randomization

    samples = min(test.resamples, 10_000)
    for columns in columns_by_size.values():
        for begin in range(0, len(columns), _COLUMNS):
            block = columns[begin : begin + _COLUMNS]
            table = np.stack([delta for _, _, delta in block], axis=1)
            result = randomization(table, samples=samples, seed=test.seed)
            for (i, j, _), p_value in zip(block, result.p_value.tolist(), strict=True):
                p_values[i][j] = p_value
    return p_values


def _heavy_tailed_columns(deltas: Floats, test: Test) -> list[int]:
    """The columns whose t-test and randomization test could differ."""
    if test.method not in {"t", "randomization"}:
        return []
    is_defined = ~np.isnan(deltas)
    filled_deltas = np.where(is_defined, deltas, 0.0)
    is_heavy_tailed = (filled_deltas**4).sum(axis=0) >= _HEAVY_TAIL * (filled_deltas**2).sum(axis=0) ** 2
    checked = is_heavy_tailed & filled_deltas.any(axis=0) & (is_defined.sum(axis=0) >= _FEW_QUERIES)
    columns: list[int] = np.flatnonzero(checked).tolist()
    return columns


def _disagreement_caution(metric: str, delta: Floats, randomized_p: float) -> list[str]:
    """A sentence on a disagreement of the t-test and the randomization test."""
    from rankgate.measurement.stats.paired_tests import student_test

    t = float(student_test(delta).p_value[0])
    low, high = sorted((max(t, 1e-3), max(randomized_p, 1e-3)))
    if high / low <= _FACTOR or low > _CLEAR:
        return []
    message = (
        f"{metric}: the t-test gives p = {t:.3f}, the randomization test {randomized_p:.3f}; the differences "
        "are far from normal, so trust neither blindly."
    )
    return [message]


def refuse_nonrandom_sample(people_values: PairedValues, design: Design) -> None:
    """Check that people's queries are a random sample of the model's queries.

    Raises:
        InputError: the model lacks queries that people judged.
        UsageError: the sample is not random according to the model.
    """
    sample, predictions = design.sample, design.predicted
    if predictions is None:
        return
    has_shares = sample.table is not None and sample.table["share"].null_count() < len(sample.table)
    if has_shares or sample.population is not None:
        raise UsageError(
            "stratum_share and population are for people's judgments alone; with predicted judgments these "
            "sizes are known: give query_inclusion.",
            code="conflicting-options",
        )
    predicted_ids = set(predictions["query_id"].to_list())
    missing_queries = sorted(set(people_values.query_ids) - predicted_ids)
    if missing_queries:
        raise InputError(
            f"the predicted judgments lack {count_noun(len(missing_queries), 'query')} that people judged "
            f"({', '.join(missing_queries[:3])}{', …' if len(missing_queries) > 3 else ''}); let the model "
            "judge them too.",
            code="sample-not-subset",
        )
    if sample.table is None:
        _refuse_undrawn(people_values, predictions)
        _refuse_selected(people_values, predictions, design.clusters)
    else:
        _refuse_wrong_weights(people_values, predictions, sample, design.clusters)
    if design.saw is not None:
        design.saw.refuse_different()


_FALSE_ALARM = 0.001  # the probability of a false alarm
_MAX_STANDARD_ERRORS = 5.0  # standard errors; weighted means of few queries are not normal
_MIN_SAMPLED_QUERIES = 20


def _refuse_wrong_weights(
    people_values: PairedValues, predictions: pl.DataFrame, sample: Sample, clusters: Mapping[str, str]
) -> None:
    """Compare the model's mean of all queries with its estimate by the weighted sample.

    Raises:
        UsageError: the two means differ by more than 5 standard errors.
    """
    for metric in people_values.metrics:
        table = predictions.filter(pl.col("metric") == metric)
        judged_table = table.filter(pl.col("query_id").is_in(people_values.query_ids))
        queries = judged_table["query_id"].to_list()
        if len(queries) < _MIN_SAMPLED_QUERIES or len(queries) == len(table):
            continue
        share = sample.sizes(table["query_id"].to_list())
        share = share / share.sum()
        weights, strata = sample.weights(queries)
        units, own_weights = QueryClusters.from_queries(queries, clusters), weights
        if clusters:
            weights = units.weighted(np.zeros(len(queries)), own_weights)[1]
            strata = None if strata is None else strata[units.first]
        size = len(queries) if weights is None else effective_size(weights)
        for name, value in (
            ("difference of the systems", pl.col("candidate") - pl.col("baseline")),
            ("value of the baseline", pl.col("baseline")),
        ):
            judged_values, all_values = (
                queries_table.select(value).to_series().to_numpy() for queries_table in (judged_table, table)
            )
            if clusters:
                judged_values = units.weighted(judged_values, own_weights)[0]
            estimate = estimate_population(judged_values, weights, strata)
            model_mean = float(share @ all_values)
            # a sample of rare differences may show no difference and no spread
            error = max(estimate.sampled_error, float(np.sqrt(share @ (all_values - model_mean) ** 2 / size)))
            if abs(estimate.mean - model_mean) > _MAX_STANDARD_ERRORS * error:
                raise UsageError(
                    f"{sample.source}: the queries that people judged were not drawn with these "
                    "probabilities: by "
                    f"the model the mean {name} in {metric} is {model_mean:.4f} over all queries, and "
                    f"{estimate.mean:.4f} ± {error:.4f} by the weighted sample; give the probabilities "
                    "that they "
                    "were drawn with.",
                    code="sample-not-random",
                )


def _refuse_undrawn(people_values: PairedValues, predictions: pl.DataFrame) -> None:
    """Check that no slice lacks judged queries that a random sample would almost surely have.

    The probability that n of N queries drawn at random have none of the K of a slice is
    C(N − K, n)/C(N, n).

    Raises:
        UsageError: the probability is below one in a thousand.
    """
    from rankgate.measurement.stats.special_functions import gammaln

    n, size = len(people_values.query_ids), predictions["query_id"].n_unique()
    for tag, value, share in undrawn_slices(predictions, people_values.query_ids):
        other_count = size - round(share * size)
        if other_count < n:
            continue
        log_factorials = gammaln([other_count + 1, size - n + 1, other_count - n + 1, size + 1])
        chance = float(np.exp(log_factorials[0] + log_factorials[1] - log_factorials[2] - log_factorials[3]))
        if chance < _FALSE_ALARM:
            raise UsageError(
                "the queries that people judged are not a random sample: none of them has "
                f"{tag}={value}, which {share:.0%} of the {count_noun(size, 'query')} have (by chance in "
                f"{chance:.1g} of samples): the model is not corrected there. Draw queries from all of them, "
                "or leave this slice out of the runs.",
                code="sample-not-random",
            )


def _refuse_selected(
    people_values: PairedValues, predictions: pl.DataFrame, clusters: Mapping[str, str]
) -> None:
    """Compare the model's values of queries that people judged with its values of other queries.

    Raises:
        UsageError: the difference has a probability of less than one in a thousand samples.
    """
    judged_queries, tests = set(people_values.query_ids), 3 * len(people_values.metrics)
    for metric in people_values.metrics:
        table = predictions.filter(pl.col("metric") == metric)
        is_judged = table["query_id"].is_in(list(judged_queries)).to_numpy()
        baseline, candidate = (table[name].to_numpy() for name in ("baseline", "candidate"))
        for name, values in (
            ("difference of the systems", candidate - baseline),
            ("value of the baseline", baseline),
            ("share of judged documents", table["judged_candidate"].to_numpy()),
        ):
            is_defined = ~np.isnan(values)
            defined_values, defined_is_judged = values[is_defined], is_judged[is_defined]
            if clusters:
                units = QueryClusters.from_queries(
                    table["query_id"].filter(pl.Series(is_defined)).to_list(), clusters
                )
                defined_values, defined_is_judged = (
                    units.means(defined_values),
                    units.means(defined_is_judged * 1.0) > 0,
                )
            p = chance_of_sample(defined_values, defined_is_judged)
            if p < _FALSE_ALARM / tests:
                raise UsageError(
                    "the queries that people judged are not a random sample: by the model the mean "
                    f"{name} in {metric} is {values[is_judged & is_defined].mean():.4f} for them and "
                    f"{values[~is_judged & is_defined].mean():.4f} for the others (p = {p:.1g}); draw "
                    "queries at random (rankgate pool --queries), or give their probabilities with "
                    "--sample FILE.",
                    code="sample-not-random",
                )
