"""The verb ``compare``: systems on the same queries, with differences, intervals and tests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, cast

from rankgate.core.declare import Cutoff
from rankgate.core.errors import UsageError
from rankgate.core.progress import step
from rankgate.data.collection import Collection
from rankgate.data.foreign_frames import named_runs
from rankgate.data.score_parts import Need
from rankgate.data.spark_tables import any_on_spark, path_of, run_on_spark
from rankgate.decisions.comparison.compared_systems import ComparedSystems
from rankgate.decisions.comparison.comparison import Comparisons
from rankgate.decisions.comparison.comparison_checks import missing_input_error
from rankgate.decisions.comparison.inference import Test
from rankgate.decisions.comparison.many_systems import compare_many
from rankgate.decisions.comparison.pairs import ComparisonRules
from rankgate.decisions.comparison.reported_systems import reported_tables, stated_metrics
from rankgate.measurement.evaluation.evaluate import FromRuns
from rankgate.measurement.evaluation.metric_selection import are_metrics
from rankgate.measurement.evaluation.scored_system import DEPTH, Scorer
from rankgate.measurement.evaluation.scores import Scores, choose_systems, refuse_with_scores
from rankgate.measurement.metrics.metric_name_parser import DEFAULT_METRICS
from rankgate.measurement.scoring.alignment.top_documents import refuse_baseline_again
from rankgate.measurement.scoring.presets import chosen_convention

if TYPE_CHECKING:
    from rankgate.data.input_types import QrelsLike, RunLike, RunsLike
    from rankgate.decisions.comparison.inference import Method
    from rankgate.measurement.metrics.metric_declaration import Metric
    from rankgate.measurement.scoring import Convention


TOTAL_RESAMPLES = 1000
"""Resamples of users for metrics of all lists together, as in `scorecard`."""


def compare(
    collection: Collection | QrelsLike | Scores,
    baseline: RunLike | None = None,
    candidates: RunsLike = (),
    metrics: str | Metric | Sequence[str | Metric] = DEFAULT_METRICS,
    convention: str | Convention = "trec",
    *,
    test: Method | Test = Test.method,
    slices: Sequence[str] = (),
    depth: Cutoff = DEPTH,
) -> Comparisons:
    """Compare systems query by query: differences with intervals and tests, worst queries.

    Args:
        collection: judgments, or a `Collection` of them with what is known of queries, items and
            users; or `Scores`, which `evaluate` and `read_scores` give. If judgments or a run
            are on Spark, all is measured there; scores from Spark are sums of groups of queries.
        baseline: a run: a path, a frame, ``{query: {doc: score}}``, or ``{name: run}``, whose
            first run is the baseline and whose others are candidates; of scores the name of a
            system, by default the first.
        candidates: a run, a list of runs, or ``{name: run}``; of scores names of systems, by
            default all others. After ``{name: run}`` the metrics may stand here.
        metrics: names such as ``"nDCG@10"``, or metrics such as ``nDCG(gain="exp") @ 10``; those
            of lists too, in addition to some of rankings.
        convention: the convention of the metrics.
        test: the test of differences: a `Test`, or its method: t, randomization, wilcoxon, sign or
            bootstrap.
        slices: show results for each value of these tags, too.
        depth: the depth to which lists are compared.

    Raises:
        InputError: data that cannot be read, with file and line.
        UsageError: unknown names, query sets that differ.

    >>> qrels = {f"q{i}": {"a": 1} for i in range(20)}
    >>> old = {query: {"b": 2.0, "a": 1.0} for query in qrels}
    >>> new = {query: {"a": 2.0, "b": 1.0} for query in qrels}
    >>> result = compare(qrels, old, new, ["RR"])
    >>> result.metrics.select("n", "baseline", "candidate", "delta").row(0)
    (20, 0.5, 1.0, 0.5)
    """
    rules = ComparisonRules(Test.of(test), tuple(slices))
    if isinstance(baseline, Mapping) and are_metrics(candidates):
        metrics, candidates = cast("Sequence[str | Metric]", candidates), ()
    if isinstance(collection, Scores):
        if chosen_convention(convention) != chosen_convention("trec"):
            refuse_with_scores("convention")
        maker = collection.maker
        names = [candidates] if isinstance(candidates, str) else cast("Sequence[str]", candidates)
        if not isinstance(maker, FromRuns):
            if depth != DEPTH:
                collection.require(f"depth {depth}", Need("lists"))
            tables = reported_tables(collection)
            systems = tables.compared(baseline, names, stated_metrics(metrics), rules.test.unequal, slices)
            _refuse_alone(systems.systems)
            return _compare_systems(systems, rules)
        first, *candidate_names = choose_systems(maker.runs, baseline, names)
        baseline, candidates = (
            {first: maker.runs[first]},
            {name: maker.runs[name] for name in candidate_names},
        )
        collection, convention = maker.collection, maker.convention
        metrics = stated_metrics(metrics) or maker.metrics
    collection = Collection.of(collection)
    two_files = isinstance(baseline, str | Path) and isinstance(collection.judgments, str | Path)
    if baseline is None or (two_files and isinstance(candidates, list | tuple | dict) and not candidates):
        raise missing_input_error("compare")
    candidate_runs = named_runs(candidates, collection.doc_field)
    refuse_baseline_again(path_of(baseline), [path_of(run) for _, run in candidate_runs])
    # a frame with several systems gives several candidates, but only one baseline
    by_name = isinstance(baseline, Mapping)
    baseline_runs = named_runs(baseline, collection.doc_field) if by_name else [(None, baseline)]
    runs = [*baseline_runs, *candidate_runs]
    _refuse_alone(runs)
    if any_on_spark(collection.judgments, [run for _, run in runs]):
        comparisons: Comparisons = run_on_spark(
            "compare", collection, runs, metrics, convention, test=rules.test, slices=slices, depth=depth
        )
        return comparisons
    scorer = Scorer.from_metrics(collection, metrics, convention, depth=depth, slices=slices, every_kind=True)
    noise = getattr(baseline, "noise", ())
    return _compare_systems(
        ComparedSystems.of_runs(scorer, runs, rules.test.unequal, slices=slices, noise=noise), rules
    )


def _compare_systems(systems: ComparedSystems, rules: ComparisonRules) -> Comparisons:
    """Compare the first system with each other system."""
    results = tuple(
        replace(pair.with_totals(pair.wholes(TOTAL_RESAMPLES)), maker=pair) for pair in systems.pairs(rules)
    )
    if systems.groups is not None:
        return Comparisons(tuple(map(systems.groups.in_queries, results)))
    step("comparing all systems")
    if len(results) < 2 or systems.designs or any(system.seeds for system in systems.systems):
        return Comparisons(results)
    return Comparisons(results, compare_many(systems.systems, rules.test))


def _refuse_alone(systems: Sequence[object]) -> None:
    """Check that there is a candidate.

    Raises:
        UsageError: there is only one system.
    """
    if len(systems) < 2:
        raise UsageError("no candidate; give one run or more besides the baseline.", code="missing-input")
