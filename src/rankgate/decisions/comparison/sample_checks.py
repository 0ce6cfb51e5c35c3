"""Is what people judged a random sample of what a model judged?"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from rankgate.core.errors import InputError, UsageError
from rankgate.decisions.comparison.design import undrawn_slices
from rankgate.measurement.stats.clusters import Units
from rankgate.measurement.stats.represented import chance_of_sample, effective_size, represented

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rankgate.data.sample import Sample
    from rankgate.decisions.comparison.design import Design
    from rankgate.decisions.comparison.values import PairedValues


def refuse_unfit(people: PairedValues, design: Design) -> None:
    """Check that what people judged is a random sample of what the model judged.

    Raises:
        InputError: the model lacks queries that people judged.
        UsageError: the sample is not random as far as the model can tell.
    """
    sample, predicted = design.sample, design.predicted
    if predicted is None:
        return
    shares = sample.table is not None and sample.table["share"].null_count() < len(sample.table)
    if shares or sample.population is not None:
        raise UsageError(
            "stratum_share and population are for people's judgments alone; with predicted "
            "judgments these sizes are known: give query_inclusion.",
            code="conflicting-options",
        )
    judged = set(predicted["query_id"].to_list())
    lacking = sorted(set(people.query_ids) - judged)
    if lacking:
        raise InputError(
            f"the predicted judgments lack {len(lacking)} queries that people judged "
            f"({', '.join(lacking[:3])}{', …' if len(lacking) > 3 else ''}); let the model judge "
            "them too.",
            code="sample-not-subset",
        )
    if sample.table is None:
        _refuse_undrawn(people, predicted)
        _refuse_chosen(people, predicted, design.clusters)
    else:
        _refuse_unlike(people, predicted, sample, design.clusters)
    if design.saw is not None:
        design.saw.refuse_different()


_CHANCE = 0.001  # of a false alarm
_FAR = 5.0  # standard errors; weighted means of few queries are not normal
_FEW = 20


def _refuse_unlike(
    people: PairedValues, predicted: pl.DataFrame, sample: Sample, clusters: Mapping[str, str]
) -> None:
    """Compare the model's mean of all queries with what the sample and its weights say of it.

    Raises:
        UsageError: they differ by more than 5 standard errors.
    """
    for metric in people.metrics:
        table = predicted.filter(pl.col("metric") == metric)
        mine = table.filter(pl.col("query_id").is_in(people.query_ids))
        queries = mine["query_id"].to_list()
        if len(queries) < _FEW or len(queries) == len(table):
            continue
        share = sample.sizes(table["query_id"].to_list())
        share = share / share.sum()
        weights, strata = sample.weights(queries)
        units, own_weights = Units.of(queries, clusters), weights
        if clusters:
            weights = units.weighted(np.zeros(len(queries)), own_weights)[1]
            strata = None if strata is None else strata[units.first]
        size = len(queries) if weights is None else effective_size(weights)
        for name, value in (
            ("difference of the systems", pl.col("candidate") - pl.col("baseline")),
            ("value of the baseline", pl.col("baseline")),
        ):
            known, every = (each.select(value).to_series().to_numpy() for each in (mine, table))
            if clusters:
                known = units.weighted(known, own_weights)[0]
            found = represented(known, weights, strata)
            truth = float(share @ every)
            # a sample of rare differences may show none, and no spread
            error = max(found.sampled_error, float(np.sqrt(share @ (every - truth) ** 2 / size)))
            if abs(found.mean - truth) > _FAR * error:
                raise UsageError(
                    f"{sample.source}: the queries that people judged were not drawn with these "
                    f"chances: by the model the mean {name} in {metric} is {truth:.4f} over all "
                    f"queries, and {found.mean:.4f} ± {error:.4f} by the weighted "
                    "sample; give the chances that they were drawn with.",
                    code="sample-not-random",
                )


def _refuse_undrawn(people: PairedValues, predicted: pl.DataFrame) -> None:
    """Stop where a slice has no judged query, though chance would almost never leave it out.

    The chance that n of N queries drawn at random have none of the K of a slice is
    C(N − K, n)/C(N, n).

    Raises:
        UsageError: the chance is below one in a thousand.
    """
    from scipy.special import gammaln

    n, size = len(people.query_ids), predicted["query_id"].n_unique()
    for tag, value, share in undrawn_slices(predicted, people.query_ids):
        left = size - round(share * size)
        if left < n:
            continue
        terms = gammaln([left + 1, size - n + 1, left - n + 1, size + 1])
        chance = float(np.exp(terms[0] + terms[1] - terms[2] - terms[3]))
        if chance < _CHANCE:
            raise UsageError(
                f"the queries that people judged are no random sample: none of them has "
                f"{tag}={value}, which {share:.0%} of the {size:,} queries have (by chance in "
                f"{chance:.1g} of samples): the model is not corrected there. Draw queries from "
                "all of them, or leave this slice out of the runs.",
                code="sample-not-random",
            )


def _refuse_chosen(
    people: PairedValues, predicted: pl.DataFrame, clusters: Mapping[str, str]
) -> None:
    """Compare the model's values of the queries that people judged with those of the others.

    Raises:
        UsageError: they differ by more than chance would have it once in a thousand samples.
    """
    own, tests = set(people.query_ids), 3 * len(people.metrics)
    for metric in people.metrics:
        table = predicted.filter(pl.col("metric") == metric)
        mine = table["query_id"].is_in(list(own)).to_numpy()
        base, other = (table[name].to_numpy() for name in ("baseline", "candidate"))
        for name, values in (
            ("difference of the systems", other - base), ("value of the baseline", base),
            ("share of judged documents", table["judged_candidate"].to_numpy()),
        ):  # fmt: skip
            known = ~np.isnan(values)
            own_values, own_rows = values[known], mine[known]
            if clusters:
                units = Units.of(table["query_id"].filter(pl.Series(known)).to_list(), clusters)
                own_values, own_rows = units.means(own_values), units.means(own_rows * 1.0) > 0
            p = chance_of_sample(own_values, own_rows)
            if p < _CHANCE / tests:
                raise UsageError(
                    f"the queries that people judged are no random sample: by the model the mean "
                    f"{name} in {metric} is {values[mine & known].mean():.4f} for them and "
                    f"{values[~mine & known].mean():.4f} for the others (p = {p:.1g}); draw "
                    "queries at random (rankgate pool --queries), or give their chances with "
                    "--sample FILE.",
                    code="sample-not-random",
                )
