"""Compare systems on the same queries: differences, intervals and tests.

`DesignedSystems` has the designs of a comparison: the population of its queries, from a sample and
a model. `ComparedSystems` has the systems to compare, with their shared inputs. `compare` is the
verb.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field, replace
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import polars as pl

from rankgate.core.declare import Cutoff
from rankgate.core.errors import UsageError
from rankgate.core.frozen import dataclass
from rankgate.core.progress import step
from rankgate.data.collection import Collection
from rankgate.data.foreign_frames import named_runs
from rankgate.data.query_sample import Sample, check_predicted_sample
from rankgate.data.query_tags import read_clusters
from rankgate.data.run_scores import ScoredRun
from rankgate.data.score_parts import EVERYTHING, Need, Supply
from rankgate.data.spark_tables import any_on_spark, run_on_spark
from rankgate.decisions.comparison.comparison import Comparisons
from rankgate.decisions.comparison.comparison_checks import missing_input_error
from rankgate.decisions.comparison.comparison_tables import query_tables
from rankgate.decisions.comparison.design import Design
from rankgate.decisions.comparison.inference import Test
from rankgate.decisions.comparison.list_metrics import ComparedLists, ListTotals, with_list_totals
from rankgate.decisions.comparison.many_systems import compare_many
from rankgate.decisions.comparison.paired_values import pair_with_candidates
from rankgate.decisions.comparison.pairs import ComparisonRules, compare_pairs
from rankgate.decisions.comparison.reported_systems import reported_tables, stated_metrics
from rankgate.measurement.evaluation.evaluate import FromRuns
from rankgate.measurement.evaluation.metric_selection import are_metrics
from rankgate.measurement.evaluation.model_judgments import ModelJudgments, score_by_model
from rankgate.measurement.evaluation.scored_system import DEPTH, Scorer
from rankgate.measurement.evaluation.scores import Scores
from rankgate.measurement.metrics.metric_name_parser import DEFAULT_METRICS
from rankgate.measurement.scoring.alignment.top_documents import (
    joined_lists,
    refuse_baseline_again,
    rename_duplicates,
)
from rankgate.measurement.scoring.presets import chosen_convention

if TYPE_CHECKING:
    from rankgate.data.input_types import QrelsLike, RunLike, RunsLike
    from rankgate.decisions.comparison.comparison import Comparison
    from rankgate.decisions.comparison.inference import Method
    from rankgate.decisions.comparison.query_groups import QueryGroups
    from rankgate.decisions.comparison.reported_systems import ReportedTables
    from rankgate.measurement.evaluation.model_judgments import ModelSaw
    from rankgate.measurement.metrics.metric_declaration import Metric
    from rankgate.measurement.scoring import Convention


def design_inputs(collection: Collection) -> tuple[Sample | None, ModelJudgments | None]:
    """Read the sample of queries, a model's judgments, and the judgments that the model saw.

    Raises:
        InputError, UsageError: as `Sample.of` and `ModelJudgments.of`; a model without a sample.
    """
    queries = None if collection.sample is None else Sample.read(collection.sample, collection.ids)
    judge = ModelJudgments.from_collection(collection)
    check_predicted_sample(judge, queries)
    return queries, judge


def designs_of_people(sample: Sample | None, systems: Sequence[ScoredRun]) -> list[Design]:
    """The design of each candidate without a model; empty without a sample."""
    if sample is None:
        return []
    clusters = read_clusters(system.tagged for system in systems)
    return [Design(sample, clusters=clusters)] * (len(systems) - 1)


@dataclass(frozen=True)
class DesignedSystems:
    """Systems scored by people's judgments, with the designs of the comparison.

    Attributes:
        scorer: the scorer of the judgments that count.
        systems: the baseline and the candidates.
        designs: the sample design of each candidate; empty without a sample.
        saw: the judgments that the model saw; None without a model.
    """

    scorer: Scorer
    systems: Sequence[ScoredRun]
    designs: Sequence[Design] = ()
    saw: ModelSaw | None = None

    def unseen(self, system: ScoredRun) -> ScoredRun:
        """Remove the queries that the model saw from a system."""
        return system if self.saw is None else self.saw.unseen_part(system)


def design_systems(
    scorer: Scorer,
    predicted: ModelJudgments | None,
    sample: Sample | None,
    systems: Sequence[ScoredRun],
    runs: Sequence[RunLike],
    unequal: str,
) -> DesignedSystems:
    """Make the designs with a model's judgments, if any, and keep the sampled queries of systems.

    Args:
        scorer: the scorer of people's judgments.
        predicted: the model's judgments, and the judgments that it saw.
        sample: the sample that people judged.
        systems: the baseline and the candidates, by people's judgments.
        runs: the runs of the systems.
        unequal: the rule for queries that only one system ran.

    Raises:
        InputError, UsageError: as `score_by_model`.
    """
    if predicted is None or sample is None:
        return DesignedSystems(scorer, systems, designs_of_people(sample, systems))
    step("scoring by the predicted judgments")
    scored = score_by_model(scorer, predicted, sample, systems, runs)
    lists = ComparedLists.collect(scored.model_scorer, scored.models)
    baseline, *candidates = (
        lists.scored(system_index, system) for system_index, system in enumerate(scored.models)
    )
    tables = query_tables(
        baseline,
        candidates,
        pair_with_candidates(baseline, candidates, unequal),
        joined_lists(*(system.lists for system in (baseline, *candidates))),
    )
    clusters = read_clusters(system.tagged for system in scored.models)
    documents: Sequence[pl.DataFrame | None] = [None] * len(tables)
    if scored.parts:
        baseline_parts, *candidate_parts = scored.parts
        documents = [
            _join_documents(baseline_parts, parts_of_candidate) for parts_of_candidate in candidate_parts
        ]
    designs = [
        Design(sample, table, drawn_documents, clusters, scored.saw)
        for table, drawn_documents in zip(tables, documents, strict=True)
    ]
    return DesignedSystems(scored.scorer, scored.systems, designs, scored.saw)


def _join_documents(baseline: pl.DataFrame, candidate: pl.DataFrame) -> pl.DataFrame:
    keys = ["query_id", "metric", "doc_id", "inclusion"]
    joined = baseline.rename({"part": "baseline"}).join(
        candidate.rename({"part": "candidate"}), on=keys, how="full", coalesce=True
    )
    return joined.with_columns(pl.col("baseline", "candidate").fill_null(0.0)).sort(keys)


@dataclass(frozen=True)
class ComparedSystems:
    """A baseline and candidates, with the inputs of their comparisons.

    Attributes:
        systems: the baseline and the candidates, including their values by metrics of lists.
        supply: the parts that the systems have or can make.
        designs: the design of each candidate: the population of the queries; empty if every query
            counts equally.
        lists: the lists of all systems, for metrics of lists.
        groups: the groups of queries that the values are sums of; else None.
        ranges: the lowest and highest value of each reported metric that has both.
    """

    systems: tuple[ScoredRun, ...]
    supply: Supply = EVERYTHING
    designs: tuple[Design, ...] = ()
    lists: ComparedLists = field(default_factory=ComparedLists.none)
    groups: QueryGroups | None = None
    ranges: Mapping[str, tuple[float, float]] = field(default_factory=dict)

    @classmethod
    def of_runs(
        cls,
        scorer: Scorer,
        systems: Sequence[ScoredRun],
        runs: Sequence[Any],
        unequal: str,
        repeats: Sequence[ScoredRun] = (),
        supply: Supply = EVERYTHING,
    ) -> ComparedSystems:
        """Make the inputs from systems scored by judgments, with the collection's sample and model.

        Args:
            scorer: the scorer of judgments, metrics and convention.
            systems: the baseline and the candidates, scored.
            runs: the runs of the systems.
            unequal: the rule for queries that only one system ran.
            repeats: further runs of the baseline's system, scored.
            supply: the parts that a saved baseline has; None for other baselines.

        Raises:
            InputError, UsageError: as `design_inputs`, `design_systems` and `ComparedLists.of`.
        """
        sample, model = design_inputs(scorer.collection)
        designed_systems = design_systems(scorer, model, sample, systems, runs, unequal)
        repeats_scored = [designed_systems.unseen(system) for system in repeats]
        lists = ComparedLists.collect(
            designed_systems.scorer, [*designed_systems.systems, *repeats_scored], supply
        )
        reasons = {"a sample of queries": sample, "several seeds": any(system.seeds for system in systems)}
        for reason, label in product([reason for reason, stated in reasons.items() if stated], lists.totals):
            _TOTALS_SUPPLY.require(f"{label} with {reason}", [Need("values")])
        scored_systems = [
            lists.scored(system_index, system) for system_index, system in enumerate(designed_systems.systems)
        ]
        return cls(tuple(scored_systems), supply, tuple(designed_systems.designs), lists)

    @classmethod
    def of_tables(
        cls,
        tables: ReportedTables,
        names: Iterable[object],
        metrics: Sequence[str | Metric],
        unequal: str,
        slices: Sequence[str],
    ) -> ComparedSystems:
        """Make the inputs from values that another tool computed.

        Args:
            tables: the tables of values.
            names: the names of the baseline and the candidates; by default all systems.
            metrics: the metrics to compare.
            unequal: as in `of_runs`.
            slices: tags with values that are compared separately.

        Raises:
            InputError: tables that cannot be read, with file and line.
            UsageError: an unknown system; a part that the tables lack.
        """
        reported = tables.read(metrics, unequal, slices)
        systems = rename_duplicates(reported.select([str(name) for name in names]), [])
        sample = tables.read_sample()
        is_stated_by_feature = {"slices": bool(slices), "a sample of queries": sample is not None}
        for feature in (feature for feature, is_stated in is_stated_by_feature.items() if is_stated):
            reported.supply.require(feature, [Need("values")])
        return cls(
            tuple(systems),
            reported.supply,
            tuple(designs_of_people(sample, systems)),
            groups=reported.groups,
            ranges=reported.ranges,
        )

    def comparisons(self, rules: ComparisonRules) -> tuple[Comparison, ...]:
        """Compare the baseline with each candidate, by values of queries or of groups of queries.

        Raises:
            UsageError: no candidate; as `compare_pairs`.
        """
        baseline, *candidates = self.systems
        if not candidates:
            raise UsageError("no candidate; give one run or more besides the baseline.", code="missing-input")
        if self.groups is not None:
            rules = replace(rules, sizes=False)
        return compare_pairs(baseline, candidates, rules, self.designs)

    def with_totals(self, result: Comparison, resamples: int, candidate: int = 1) -> Comparison:
        """Add a row for each metric of all lists together to a comparison.

        Args:
            result: the result of the baseline and a candidate.
            resamples: the number of resamples of users, for the interval.
            candidate: the index of the candidate among the systems.
        """
        if not self.lists.metrics:
            return result
        wholes: ListTotals = self.lists.wholes(result, resamples, candidate=candidate)
        return with_list_totals(result, wholes, self.lists.warnings_of(candidate))


_TOTALS_SUPPLY = Supply(
    frozenset(),
    "it is one number about all lists, which has no values of queries",
    "leave the metric out, or see it with rankgate scorecard",
)
"""The supply of a metric of all lists together: it has no values of queries."""


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
        _refuse_convention(convention)
        maker, names = collection.maker, [baseline, *_list_names(candidates)]
        if isinstance(maker, FromRuns):
            systems_of = maker.name_systems(baseline, names[1:])
            return compare(
                maker.collection,
                *systems_of,
                stated_metrics(metrics) or maker.metrics,
                maker.convention,
                test=test,
                slices=slices,
                depth=depth,
            )
        tables = reported_tables(collection)
        tables.supply.require(f"depth {depth}", [Need("lists")] if depth != DEPTH else [])
        systems = ComparedSystems.of_tables(
            tables, names if baseline is not None else (), stated_metrics(metrics), rules.test.unequal, slices
        )
        return _compare_systems(systems, rules)
    collection = Collection.of(collection)
    two_files = isinstance(baseline, str | Path) and isinstance(collection.judgments, str | Path)
    if baseline is None or (two_files and isinstance(candidates, list | tuple | dict) and not candidates):
        raise missing_input_error("compare")
    if any_on_spark(collection.judgments, baseline, candidates):
        comparisons: Comparisons = run_on_spark(
            "compare",
            collection,
            baseline,
            candidates,
            metrics,
            convention,
            test=rules.test,
            slices=slices,
            depth=depth,
        )
        return comparisons
    scorer = Scorer.from_metrics(collection, metrics, convention, depth=depth, slices=slices, every_kind=True)
    candidate_runs = named_runs(candidates, collection.doc_field)
    refuse_baseline_again(baseline, [run for _, run in candidate_runs])
    # a frame with several systems gives several candidates, but only one baseline
    by_name = isinstance(baseline, Mapping)
    baseline_runs = named_runs(baseline, collection.doc_field) if by_name else [(None, baseline)]
    runs = [*baseline_runs, *candidate_runs]
    scored_runs: list[ScoredRun] = []
    for name, run in runs:
        step(f"scoring {name or ('a candidate' if scored_runs else 'the baseline')}")
        scored_runs.append(run if isinstance(run, ScoredRun) else scorer.scored_seeds(run, name))
    run_inputs = [run for _, run in runs]
    scored_runs = rename_duplicates(scored_runs, run_inputs)
    return _compare_systems(
        ComparedSystems.of_runs(scorer, scored_runs, run_inputs, rules.test.unequal), rules
    )


def _compare_systems(systems: ComparedSystems, rules: ComparisonRules) -> Comparisons:
    """Compare the first system with each other system.

    Raises:
        UsageError: there is only one system.
    """
    results = systems.comparisons(rules)
    if systems.groups is not None:
        return Comparisons(tuple(map(systems.groups.in_queries, results)))
    results = tuple(
        systems.with_totals(result, TOTAL_RESAMPLES, candidate_index)
        for candidate_index, result in enumerate(results, 1)
    )
    step("comparing all systems")
    if len(results) < 2 or systems.designs or any(system.seeds for system in systems.systems):
        return Comparisons(results)
    return Comparisons(results, compare_many(systems.systems, rules.test))


def _refuse_convention(convention: str | Convention) -> None:
    """Refuse a convention for computed values, which already follow a convention.

    Raises:
        UsageError: a convention is stated.
    """
    if chosen_convention(convention) != chosen_convention("trec"):
        raise UsageError(
            "convention: scores are values that are computed already; leave it out, or give judgments and "
            "runs.",
            code="conflicting-options",
        )


def _list_names(candidates: Any) -> list[str]:  # noqa: ANN401 - names of systems
    return [candidates] if isinstance(candidates, str) else [*candidates]
