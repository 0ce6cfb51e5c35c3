"""Compare a baseline with candidates pair by pair, and on slices of the queries.

The module computes figures of slices with simultaneous p-values, and the tests, corrections and
figures of each pair of a scored baseline and candidate.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field, fields, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from rankgate.core.errors import UsageError
from rankgate.core.frozen import dataclass
from rankgate.core.present.number_formats import count_noun
from rankgate.core.present.result_frames import make_frame
from rankgate.core.progress import step
from rankgate.data.logs.splits import sampling_warnings
from rankgate.data.query_tags import read_clusters
from rankgate.decisions.comparison import comparison_tables as parts
from rankgate.decisions.comparison.comparison import Comparison, Identity
from rankgate.decisions.comparison.comparison_checks import (
    cautions,
    cluster_caution,
    randomized_p_values,
    refuse_nonrandom_sample,
)
from rankgate.decisions.comparison.comparison_columns import INTERACTIONS, METRICS, PLANS
from rankgate.decisions.comparison.comparison_power import detectable_differences, join_deltas, queries_needed
from rankgate.decisions.comparison.equivalence import equivalence_of_pairs, relative_differences
from rankgate.decisions.comparison.inference import MAX_INTERVAL_RESAMPLES, Test
from rankgate.decisions.comparison.paired_values import (
    PairedFigures,
    PairedValues,
    compute_with_seeds,
    pair_with_candidates,
    unequal_warnings,
)
from rankgate.decisions.comparison.seeds import SEEDS, methods_without_seeds, seed_cautions, seed_table
from rankgate.measurement.evaluation.lists.list_inputs import zero_grades_notice
from rankgate.measurement.evaluation.query_slices import sort_values
from rankgate.measurement.scoring.alignment.top_documents import joined_lists, split_pairs
from rankgate.measurement.scoring.presets import refuse_mixed
from rankgate.measurement.scoring.scoring_facts import with_run_name

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rankgate.core.arrays import Floats
    from rankgate.core.value_types import Json
    from rankgate.data.run_scores import ScoredRun
    from rankgate.decisions.comparison.design import Design


def figures_by_slice(
    baseline: ScoredRun, values: PairedValues, tags: Sequence[str], test: Test, design: Design | None = None
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Figures of each value of each tag, corrected by BH over a tag's values; interactions.

    Raises:
        UsageError: a tag that no query has.
    """
    tables, rows = [], []
    clusters = read_clusters([baseline.tagged])
    for tag in tags:
        if tag not in baseline.tags:
            tag_names = ", ".join(baseline.tags) or "none; give some with --tags FILE"
            raise UsageError(f"unknown tag {tag!r}; queries have {tag_names}.", code="unknown-tag")
        value_of_query = dict(baseline.tagged.select("query_id", tag).iter_rows())
        slice_of_query = np.array(
            [value_of_query.get(query) or "" for query in values.query_ids], dtype=object
        )
        groups = sort_values(list(set(slice_of_query)))
        slice_figures = []
        for slice_value in groups:
            slice_values = _select_queries(values, slice_of_query == slice_value)
            slice_figures.append(
                compute_with_seeds(slice_values.in_units(clusters), test)[1]
                if design is None
                else design.figures(slice_values, test, f"{tag}={slice_value}")
            )
        tables.append(slice_rows(tag, groups, values.metrics, slice_figures, test))
        if design is None and not values.seeds:
            rows += _interactions(tag, values.in_units(clusters), slice_of_query, groups, test)
    return pl.concat([slice_rows("", (), (), (), test), *tables]), pl.DataFrame(rows, schema=INTERACTIONS)


def slice_rows(
    tag: str,
    values: Sequence[str],
    metrics: Sequence[str],
    slice_figures: Sequence[PairedFigures],
    test: Test,
) -> pl.DataFrame:
    """Figures of each value of a tag as rows, with p-values corrected by BH over the values."""
    from rankgate.measurement.stats.multiple_comparisons import correct

    tables = [pl.DataFrame(schema={"tag": pl.String, "value": pl.String, **METRICS})]
    p = correct(np.stack([figures.p_raw for figures in slice_figures]), "bh") if slice_figures else ()
    for value, figures, p_values in zip(values, slice_figures, p, strict=True):
        table = metric_rows(metrics, figures, p_values, test, "bh")
        tables.append(table.select(pl.lit(tag).alias("tag"), pl.lit(value or "(none)").alias("value"), "*"))
    return pl.concat(tables)


def _select_queries(values: PairedValues, rows: NDArray[np.bool_]) -> PairedValues:
    """Select the values of some queries."""
    return replace(
        values,
        query_ids=[query for query, is_in_slice in zip(values.query_ids, rows, strict=True) if is_in_slice],
        baseline=values.baseline[rows],
        candidate=values.candidate[rows],
        seeds=tuple(seed_values[rows] for seed_values in values.seeds),
    )


def _interactions(
    tag: str, values: PairedValues, slice_of_query: NDArray[Any], groups: list[str], test: Test
) -> list[dict[str, Json]]:
    """Test if differences depend on the value of a tag, by permuting the values among queries."""
    from rankgate.measurement.stats.multiple_comparisons import MIN_GROUP, groups_differ

    rows: list[dict[str, Json]] = []
    group = np.array([groups.index(slice_value) for slice_value in slice_of_query], np.int64)
    for j, metric in enumerate(values.metrics):
        delta = values.candidate[:, j] - values.baseline[:, j]
        is_defined = ~np.isnan(delta)
        counts = np.bincount(group[is_defined], minlength=len(groups))
        p_value = groups_differ(delta[is_defined], group[is_defined], samples=test.resamples, seed=test.seed)
        small = [name or "(none)" for name, n in zip(groups, counts, strict=True) if n < MIN_GROUP]
        rows.append(
            {
                "tag": tag,
                "metric": metric,
                "p_value": p_value,
                "values": len(groups) - len(small),
                "too_small": ", ".join(small),
            }
        )
    return rows


def max_t(pairs: Sequence[PairedValues], test: Test) -> list[Floats]:
    """Max-T over metrics and candidates, under the same flips: (M,) p-values per candidate."""
    from rankgate.measurement.stats.resampling_tests import randomization

    query_ids = sorted({query for pair in pairs for query in pair.query_ids})
    row_of_query = {query: i for i, query in enumerate(query_ids)}
    table = np.zeros((len(query_ids), sum(len(pair.metrics) for pair in pairs)))
    first_column = 0
    for pair in pairs:
        delta = pair.candidate - pair.baseline
        rows = [row_of_query[query] for query in pair.query_ids]
        table[rows, first_column : first_column + len(pair.metrics)] = np.where(np.isnan(delta), 0.0, delta)
        first_column += len(pair.metrics)
    result = randomization(table, samples=test.resamples, seed=test.seed)
    return np.split(result.p_max, len(pairs))


@dataclass(frozen=True)
class ComparisonRules:
    """Settings of a comparison.

    Attributes:
        test: tests and corrections, over metrics and candidates together.
        slices: the tags with values that get their own figures.
        sizes: true to simulate the numbers of queries that a difference needs, for two systems or
            if the test has a wanted difference (`wanted`), because simulation is slow for many
            systems; false for the numbers of one uncorrected test.
    """

    test: Test = field(default_factory=Test)
    slices: tuple[str, ...] = ()
    sizes: bool = True


def compare_pairs(
    baseline: ScoredRun,
    systems: Sequence[ScoredRun],
    settings: ComparisonRules,
    designs: Sequence[Design] = (),
) -> tuple[Comparison, ...]:
    """Compare a baseline with each candidate; p-values are corrected over all of them.

    Args:
        baseline: a scored system.
        systems: the candidates, scored by the same judgments.
        settings: the settings of the comparison.
        designs: the population of the queries of each pair; empty if every query counts equally.

    Raises:
        UsageError: systems of different judgments, conventions, metrics or depths; queries that
            only one system ran, unless the rules treat them as zero or drop them.
    """
    if designs:
        refuse_other_tests(settings.test, "a sample of queries", {})
    if any(system.seeds for system in (baseline, *systems)):
        further = methods_without_seeds((baseline, *systems), settings.test)
        refuse_other_tests(settings.test, "several seeds", further)
    for system in systems:
        refuse_incomparable(baseline, system)
    pairs = []
    for i, values in enumerate(pair_with_candidates(baseline, systems, settings.test.unequal)):
        step(f"comparing {systems[i].name}")
        pairs.append(
            _Pair.from_values(baseline, systems[i], values, settings, designs[i] if designs else None)
        )
    p_value = _correct_p_values(pairs, settings)
    pairs, plans = _plan_sizes(pairs, settings)
    if settings.test.interval == "simultaneous":
        pairs = _widen_intervals(pairs, settings.test)
    equivalence_tables = equivalence_of_pairs([pair.weighed for pair in pairs], settings.test)
    randomized = randomized_p_values([(pair.figures, pair.weighed) for pair in pairs], settings.test)
    all_lists = joined_lists(*(system.lists for system in (baseline, *systems)))
    lists = split_pairs(all_lists, len(pairs))
    tables = {
        "metrics": _metric_tables(pairs, p_value, settings.test),
        "queries": parts.query_tables(baseline, systems, [pair.values for pair in pairs], all_lists),
        "lists": lists,
        "states": parts.state_tables(baseline, systems),
        "judged": parts.judged_tables(baseline, systems),
        "plans": plans,
        "equivalence": equivalence_tables,
    }
    return tuple(
        _make_comparison(
            pair,
            settings,
            len(pairs),
            randomized[i],
            {name: tables_of_pairs[i] for name, tables_of_pairs in tables.items()},
        )
        for i, pair in enumerate(pairs)
    )


def _widen_intervals(pairs: list[_Pair], test: Test) -> list[_Pair]:
    """Widen the intervals so that they hold for all metrics and candidates together."""
    from rankgate.measurement.stats.resampling_tests import simultaneous_reach

    samples = min(test.resamples, MAX_INTERVAL_RESAMPLES)
    delta = join_deltas([pair.weighed for pair in pairs])
    half_width_factor = simultaneous_reach(delta, test.level, samples=samples, seed=test.seed)
    widened_pairs = []
    for pair in pairs:
        error = pair.figures.sd / np.sqrt(pair.figures.n)
        has_no_interval = np.isnan(
            pair.figures.low
        )  # all differences are equal, or there is only one difference
        low, high = (
            np.where(has_no_interval, np.nan, pair.figures.delta + side * half_width_factor * error)
            for side in (-1, 1)
        )
        widened_pairs.append(replace(pair, figures=replace(pair.figures, low=low, high=high)))
    return widened_pairs


@dataclass(frozen=True)
class _Pair:
    """A baseline and a candidate with their values by query, (T, M), and the figures.

    Attributes:
        baseline, candidate: the systems.
        values: the measured values.
        weighed: the values of clusters, or values adjusted by the design of the sample.
        figures: the figures of the weighted values.
        design: the population of the queries; None if every query counts equally.
    """

    baseline: ScoredRun
    candidate: ScoredRun
    values: PairedValues
    weighed: PairedValues
    figures: PairedFigures
    design: Design | None = None

    @classmethod
    def from_values(
        cls,
        baseline: ScoredRun,
        candidate: ScoredRun,
        values: PairedValues,
        rules: ComparisonRules,
        design: Design | None,
    ) -> _Pair:
        if design is None:
            units = values.in_units(read_clusters((baseline.tagged, candidate.tagged)))
            # `_plan_sizes` simulates the sizes, if requested
            units, figures = compute_with_seeds(units, rules.test, sizes=not rules.sizes)
            return cls(baseline, candidate, values, units, figures)
        refuse_nonrandom_sample(values, design)
        adjusted_figures = design.figures(values, rules.test)
        return cls(baseline, candidate, values, design.adjusted(values), adjusted_figures, design)


def refuse_incomparable(baseline: ScoredRun, candidate: ScoredRun) -> None:
    """Check that two systems can be compared.

    Raises:
        UsageError: different judgments, conventions (with the axes) or metrics.
    """
    if baseline.qrels_sha256 != candidate.qrels_sha256:
        raise UsageError(
            f"{baseline.name} and {candidate.name} were scored by different judgments "
            f"({baseline.qrels_sha256[:12]} and {candidate.qrels_sha256[:12]}); score both again.",
            code="not-comparable",
        )
    refuse_mixed(
        {baseline.name: baseline.convention, f"the candidate {candidate.name}": candidate.convention}
    )
    if set(baseline.metrics) != set(candidate.metrics):
        raise UsageError(
            f"{baseline.name} has {', '.join(baseline.metrics)}, {candidate.name} has "
            f"{', '.join(candidate.metrics)}; score both by the same metrics.",
            code="not-comparable",
        )


def _correct_p_values(pairs: list[_Pair], rules: ComparisonRules) -> list[Floats]:
    """p-values of all metrics and candidates, corrected as one family."""
    raw_p_values = np.concatenate([pair.figures.p_raw for pair in pairs])
    if rules.test.correction == "maxt":
        if len(pairs) == 1:
            return [pairs[0].figures.p_max]
        return max_t([pair.weighed for pair in pairs], rules.test)
    from rankgate.measurement.stats.multiple_comparisons import correct

    result = correct(raw_p_values, rules.test.correction)
    return np.split(result, len(pairs))


def _plan_sizes(pairs: list[_Pair], rules: ComparisonRules) -> tuple[list[_Pair], list[pl.DataFrame]]:
    """Add power after the correction to the pairs; also plans for the wanted difference."""
    test, tests = rules.test, sum(len(pair.values.metrics) for pair in pairs)
    correction = rules.test.correction if tests > 1 else "none"
    values_and_figures = [(pair.weighed, pair.figures) for pair in pairs]
    needed_queries = [pair.figures.needed for pair in pairs]
    if rules.sizes and not any(pair.values.seeds for pair in pairs):
        simulates_sizes = len(pairs) == 1 or test.wanted
        sizes = (
            queries_needed(values_and_figures, test, correction)
            if simulates_sizes
            else [n * np.nan for n in needed_queries]
        )
        needed_queries = [
            # a model judged more queries than people, who can judge further ones of these
            uncorrected_count if pair.design and pair.design.predicted is not None else size
            for pair, uncorrected_count, size in zip(pairs, needed_queries, sizes, strict=True)
        ]
    planned_figures = [
        replace(
            pair.figures,
            mde=_mask_undecided(pair, detectable_differences(pair.figures, test, correction, tests)),
            needed=_mask_undecided(pair, queries),
        )
        for pair, queries in zip(pairs, needed_queries, strict=True)
    ]
    plans = [PLANS.empty()] * len(pairs)
    if test.wanted:
        queries_for_wanted = queries_needed(values_and_figures, test, correction, test.wanted)
        plans = [
            _plan_table(pair.values.metrics, test, queries.tolist())
            for pair, queries in zip(pairs, queries_for_wanted, strict=True)
        ]
    return [
        replace(pair, figures=pair_figures) for pair, pair_figures in zip(pairs, planned_figures, strict=True)
    ], plans


def _mask_undecided(pair: _Pair, figures: Floats) -> Floats:
    """The figures, with NaN for columns whose weights are too unequal for inference, or with seeds."""
    degrees = pair.weighed.degrees
    if pair.values.seeds:
        return np.full_like(figures, np.nan)
    return figures if degrees is None else np.where(np.isnan(degrees), np.nan, figures)


def _metric_tables(pairs: Sequence[_Pair], p_values: Sequence[Floats], test: Test) -> list[pl.DataFrame]:
    """The table `METRICS` of each pair, made as one table."""
    metrics = pairs[0].values.metrics
    correction = test.correction if len(pairs) * len(metrics) > 1 else "none"
    figures = {
        figure.name: np.concatenate([getattr(pair.figures, figure.name) for pair in pairs])
        for figure in fields(PairedFigures)
        if figure.name != "warnings"
    }
    table = metric_rows(
        metrics * len(pairs),
        PairedFigures(**figures, warnings=()),
        np.concatenate(p_values),
        test,
        correction,
    )
    return [*table.iter_slices(len(metrics))]


def _make_comparison(
    pair: _Pair,
    rules: ComparisonRules,
    pair_count: int,
    randomized_p: Mapping[int, float],
    tables: Mapping[str, Any],
) -> Comparison:
    """Make the comparison of a pair; ``tables`` are those that are made for all pairs at once."""
    baseline, candidate, values, test = pair.baseline, pair.candidate, pair.values, rules.test
    tests = pair_count * len(values.metrics)
    correction = rules.test.correction if tests > 1 else "none"
    slices, interactions = figures_by_slice(baseline, values, rules.slices, test, pair.design)
    depth, judged = min(baseline.depth, candidate.depth), tables["judged"]
    zeros = candidate.zeros_relevant
    return Comparison(
        baseline=Identity(baseline.name, baseline.tag, baseline.sha256),
        candidate=Identity(candidate.name, candidate.tag, candidate.sha256),
        qrels=baseline.qrels,
        qrels_sha256=baseline.qrels_sha256,
        convention=baseline.convention,
        latency=parts.latency_table(baseline, candidate),
        excluded=values.excluded,
        slices=slices,
        interactions=interactions,
        warnings=(
            *sampling_warnings(baseline.qrels),
            *([f"{zero_grades_notice(zeros, str(candidate.convention['name']))}."] if zeros else []),
            *(text for run in (baseline, candidate) for text in with_run_name(run.name, run.cautions)),
            *parts.unanswered_warnings(baseline, candidate),
            *unequal_warnings(baseline, candidate, test.unequal),
            *parts.load_warnings(baseline, candidate),
            *parts.uneven_warnings(judged, depth),
            *(seed_cautions(baseline, candidate) if values.seeds else ()),
            *cluster_caution(baseline, candidate, values.query_ids),
            *(() if pair.design is None else pair.design.conditions(values)),
            *cautions(pair.figures, pair.weighed, test, randomized_p),
        ),
        level=test.level,
        interval=test.interval,
        test=test.method,
        correction=f"{correction} over {count_noun(tests, 'test')}",
        power=test.power,
        depth=depth,
        seed=test.seed,
        lower=candidate.lower,
        resamples=test.drawn,
        relative=relative_differences(values if pair.design else pair.weighed, test),
        zeros=test.zeros if test.method == "wilcoxon" else "",
        signed_ranks=test.signed_ranks if test.method == "wilcoxon" else "",
        seeds=seed_table(values, baseline, candidate) if values.seeds else SEEDS.empty(),
        **_design_fields(pair, test),
        **tables,
    )


def _design_fields(pair: _Pair, test: Test) -> dict[str, Any]:
    if pair.design is None:
        return {}
    return {
        "sample": pair.design.sample.source,
        "predicted_saw": "" if pair.design.saw is None else pair.design.saw.label,
        "represented": pair.design.table(pair.values, test),
        "predictions": pair.design.predictions(pair.values, test.level),
    }


def refuse_other_tests(test: Test, condition: str, further: Mapping[str, bool]) -> None:
    """Check that the test and the interval are Student's, which can weigh queries and count seeds.

    Args:
        test: the test.
        condition: what they must account for.
        further: other methods that do not account for it, each with whether it is stated.

    Raises:
        UsageError: another method.
    """
    is_unsupported = {
        f"--test {test.method}": test.method != "t",
        f"--interval {test.interval}": test.interval != "t",
        "--relative": test.relative,
        **further,
    }
    if unsupported := [name for name, is_stated in is_unsupported.items() if is_stated]:
        raise UsageError(
            f"{', '.join(unsupported)}: with {condition}, tests and intervals are those of Student's t; "
            "leave it out.",
            code="conflicting-options",
        )


def _plan_table(names: Sequence[str], test: Test, queries: Sequence[float]) -> pl.DataFrame:
    rows = [
        {"metric": name, "wanted": test.wanted, "queries": query_count}
        for name, query_count in zip(names, queries, strict=True)
    ]
    return make_frame(rows, PLANS)


def _test_names(result: PairedFigures, method: str) -> list[str]:
    """The test of each p: if all differences are equal, t gives the p of the sign test."""
    all_differences_equal = (result.sd == 0) & (result.delta != 0) & (result.n > 1)
    return ["sign" if method == "t" and is_equal else method for is_equal in all_differences_equal]


def metric_rows(
    names: Sequence[str], result: PairedFigures, p_value: Floats, test: Test, correction: str
) -> pl.DataFrame:
    """Figures as rows of `METRICS`; a p-value for each."""
    return make_frame(
        {
            "metric": names,
            "n": result.n,
            "baseline": result.baseline,
            "candidate": result.candidate,
            "delta": result.delta,
            "gain": result.gain,
            "low": result.low,
            "high": result.high,
            "level": test.level,
            "test": _test_names(result, test.method),
            "p_raw": result.p_raw,
            "p_value": p_value,
            "correction": correction,
            "mc_error": result.mc_error,
            "effect": result.gz,
            "wins": result.wins,
            "ties": result.ties,
            "losses": result.losses,
            "sd": result.sd,
            "mde": result.mde,
            "needed": result.needed,
        },
        METRICS,
    )
