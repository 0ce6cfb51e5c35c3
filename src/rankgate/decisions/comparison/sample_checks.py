"""Check that the queries judged by people are a random sample of those judged by a model."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from rankgate.core.errors import InputError, UsageError
from rankgate.decisions.comparison.design import undrawn_slices
from rankgate.measurement.stats.clusters import QueryClusters
from rankgate.measurement.stats.represented import (
    chance_of_sample,
    effective_size,
    estimate_population,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rankgate.data.sample import Sample
    from rankgate.decisions.comparison.design import Design
    from rankgate.decisions.comparison.values import PairedValues


def refuse_nonrandom_sample(people_values: PairedValues, design: Design) -> None:
    """Check that people's queries are a random sample of the model's queries.

    Raises:
        InputError: the model lacks queries that people judged.
        UsageError: the sample is not random as far as the model can tell.
    """
    sample, predictions = design.sample, design.predicted
    if predictions is None:
        return
    has_shares = sample.table is not None and sample.table["share"].null_count() < len(sample.table)
    if has_shares or sample.population is not None:
        raise UsageError(
            "stratum_share and population are for people's judgments alone; with predicted "
            "judgments these sizes are known: give query_inclusion.",
            code="conflicting-options",
        )
    predicted_ids = set(predictions["query_id"].to_list())
    missing_queries = sorted(set(people_values.query_ids) - predicted_ids)
    if missing_queries:
        raise InputError(
            f"the predicted judgments lack {len(missing_queries)} queries that people judged "
            f"({', '.join(missing_queries[:3])}{', …' if len(missing_queries) > 3 else ''}); let "
            "the model judge them too.",
            code="sample-not-subset",
        )
    if sample.table is None:
        _refuse_undrawn(people_values, predictions)
        _refuse_selected(people_values, predictions, design.clusters)
    else:
        _refuse_wrong_weights(people_values, predictions, sample, design.clusters)
    if design.saw is not None:
        design.saw.refuse_different()


_FALSE_ALARM = 0.001  # of a false alarm
_MAX_STANDARD_ERRORS = 5.0  # standard errors; weighted means of few queries are not normal
_MIN_QUERIES = 20


def _refuse_wrong_weights(
    people_values: PairedValues,
    predictions: pl.DataFrame,
    sample: Sample,
    clusters: Mapping[str, str],
) -> None:
    """Compare the model's mean of all queries with its estimate by the weighted sample.

    Raises:
        UsageError: they differ by more than 5 standard errors.
    """
    for metric in people_values.metrics:
        table = predictions.filter(pl.col("metric") == metric)
        judged_table = table.filter(pl.col("query_id").is_in(people_values.query_ids))
        queries = judged_table["query_id"].to_list()
        if len(queries) < _MIN_QUERIES or len(queries) == len(table):
            continue
        share = sample.sizes(table["query_id"].to_list())
        share = share / share.sum()
        weights, strata = sample.weights(queries)
        units, own_weights = QueryClusters.of(queries, clusters), weights
        if clusters:
            weights = units.weighted(np.zeros(len(queries)), own_weights)[1]
            strata = None if strata is None else strata[units.first]
        size = len(queries) if weights is None else effective_size(weights)
        for name, value in (
            ("difference of the systems", pl.col("candidate") - pl.col("baseline")),
            ("value of the baseline", pl.col("baseline")),
        ):
            judged_values, all_values = (
                queries_table.select(value).to_series().to_numpy()
                for queries_table in (judged_table, table)
            )
            if clusters:
                judged_values = units.weighted(judged_values, own_weights)[0]
            estimate = estimate_population(judged_values, weights, strata)
            model_mean = float(share @ all_values)
            # a sample of rare differences may show none, and no spread
            error = max(
                estimate.sampled_error,
                float(np.sqrt(share @ (all_values - model_mean) ** 2 / size)),
            )
            if abs(estimate.mean - model_mean) > _MAX_STANDARD_ERRORS * error:
                raise UsageError(
                    f"{sample.source}: the queries that people judged were not drawn with these "
                    f"chances: by the model the mean {name} in {metric} is {model_mean:.4f} over "
                    f"all queries, and {estimate.mean:.4f} ± {error:.4f} by the weighted "
                    "sample; give the chances that they were drawn with.",
                    code="sample-not-random",
                )


def _refuse_undrawn(people_values: PairedValues, predictions: pl.DataFrame) -> None:
    """Check that no slice lacks judged queries that a random sample would almost surely have.

    The chance that n of N queries drawn at random have none of the K of a slice is
    C(N − K, n)/C(N, n).

    Raises:
        UsageError: the chance is below one in a thousand.
    """
    from scipy.special import gammaln

    n, size = len(people_values.query_ids), predictions["query_id"].n_unique()
    for tag, value, share in undrawn_slices(predictions, people_values.query_ids):
        other_count = size - round(share * size)
        if other_count < n:
            continue
        log_factorials = gammaln([other_count + 1, size - n + 1, other_count - n + 1, size + 1])
        chance = float(
            np.exp(log_factorials[0] + log_factorials[1] - log_factorials[2] - log_factorials[3])
        )
        if chance < _FALSE_ALARM:
            raise UsageError(
                f"the queries that people judged are no random sample: none of them has "
                f"{tag}={value}, which {share:.0%} of the {size:,} queries have (by chance in "
                f"{chance:.1g} of samples): the model is not corrected there. Draw queries from "
                "all of them, or leave this slice out of the runs.",
                code="sample-not-random",
            )


def _refuse_selected(
    people_values: PairedValues, predictions: pl.DataFrame, clusters: Mapping[str, str]
) -> None:
    """Compare the model's values of the queries that people judged with those of the others.

    Raises:
        UsageError: they differ by more than chance would have it once in a thousand samples.
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
                units = QueryClusters.of(
                    table["query_id"].filter(pl.Series(is_defined)).to_list(), clusters
                )
                defined_values, defined_is_judged = (
                    units.means(defined_values),
                    units.means(defined_is_judged * 1.0) > 0,
                )
            p = chance_of_sample(defined_values, defined_is_judged)
            if p < _FALSE_ALARM / tests:
                raise UsageError(
                    f"the queries that people judged are no random sample: by the model the mean "
                    f"{name} in {metric} is {values[is_judged & is_defined].mean():.4f} for them "
                    f"and {values[~is_judged & is_defined].mean():.4f} for the others (p = "
                    f"{p:.1g}); draw queries at random (rankgate pool --queries), or give their "
                    "chances with --sample FILE.",
                    code="sample-not-random",
                )
