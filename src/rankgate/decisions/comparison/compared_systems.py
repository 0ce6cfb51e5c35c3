"""The systems of a comparison, with what makes further parts of them for lists, rules and designs.

`DesignedSystems` has the designs of a comparison: the population of its queries, from a sample and
a model. `ComparedSystems` has the systems to compare, from runs or from the values of another tool.
`ComparedPair` is what a comparison was made from; the gate asks it for what rules need.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field, replace
from itertools import product
from math import isfinite
from typing import TYPE_CHECKING, Any

import polars as pl

from rankgate.core.frozen import dataclass
from rankgate.core.progress import step
from rankgate.data import read_run
from rankgate.data.id_match import IdRules
from rankgate.data.query_sample import Sample, check_predicted_sample
from rankgate.data.query_tags import read_clusters
from rankgate.data.run_scores import ScoredRun
from rankgate.data.score_parts import EVERYTHING, Need, Supply
from rankgate.decisions.comparison.comparison_tables import query_tables
from rankgate.decisions.comparison.design import Design
from rankgate.decisions.comparison.list_metrics import ComparedLists, ListTotals, with_list_totals
from rankgate.decisions.comparison.paired_values import pair_with_candidates
from rankgate.decisions.comparison.pairs import compare_pairs
from rankgate.decisions.comparison.query_groups import MetricNames
from rankgate.measurement.evaluation.model_judgments import ModelJudgments, score_by_model
from rankgate.measurement.scoring.alignment.top_documents import joined_lists

if TYPE_CHECKING:
    from rankgate.data import Run
    from rankgate.data.collection import Collection
    from rankgate.data.input_types import RunLike
    from rankgate.data.logs.large_logs import UserItems
    from rankgate.data.score_parts import Part
    from rankgate.decisions.comparison.comparison import Comparison
    from rankgate.decisions.comparison.pairs import ComparisonRules
    from rankgate.decisions.comparison.query_groups import QueryGroups
    from rankgate.measurement.evaluation.model_judgments import ModelSaw
    from rankgate.measurement.evaluation.scored_system import Scorer


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
        ranges: the lowest and highest value of each metric that has both.
        scorer: the scorer of judgments, metrics and convention; None for given values.
        runs: the runs of the systems, or a system that was scored before; empty for given values.
        repeats: further runs of the baseline's system, scored.
    """

    systems: tuple[ScoredRun, ...]
    supply: Supply = EVERYTHING
    designs: tuple[Design, ...] = ()
    lists: ComparedLists = field(default_factory=ComparedLists.none)
    groups: QueryGroups | None = None
    ranges: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    scorer: Scorer | None = None
    runs: tuple[Any, ...] = ()
    repeats: tuple[ScoredRun, ...] = ()

    @classmethod
    def of_runs(
        cls,
        scorer: Scorer,
        named_runs: Sequence[tuple[str | None, Any]],
        unequal: str,
        *,
        slices: Sequence[str] = (),
        noise: Iterable[RunLike] = (),
        sources: Sequence[object] | None = None,
        supply: Supply = EVERYTHING,
    ) -> ComparedSystems:
        """Score runs once, and make the inputs from them, with the collection's sample and model.

        Args:
            scorer: the scorer of judgments, metrics and convention.
            named_runs: the baseline and the candidates with their names, which may be None; a system
                that is scored already is taken as it is.
            unequal: the rule for queries that only one system ran.
            slices: tags that are looked at; ``activity`` is made from the training data.
            noise: further runs of the baseline's system.
            sources: the paths or objects of the runs, for names; by default the runs.
            supply: the parts of a baseline that was scored before.

        Raises:
            InputError, UsageError: a run that cannot be read; as `Sample.read`, `design_systems` and
                `ComparedLists.of`.
        """
        runs = tuple(run for _, run in named_runs)
        systems = _tag_activity(scorer.scored_systems(named_runs, sources), slices, scorer.collection)
        repeats = [scorer.scored(run) for run in noise]
        collection = scorer.collection
        sample = None if collection.sample is None else Sample.read(collection.sample, collection.ids)
        model = ModelJudgments.from_collection(collection)
        check_predicted_sample(model, sample)
        if model is not None:
            runs = tuple(_run_of(run, supply) if isinstance(run, ScoredRun) else run for run in runs)
        designed_systems = design_systems(scorer, model, sample, systems, runs, unequal)
        if designed_systems.saw is not None:
            repeats = [designed_systems.saw.unseen_part(system) for system in repeats]
        lists = ComparedLists.collect(designed_systems.scorer, [*designed_systems.systems, *repeats], supply)
        reasons = {"a sample of queries": sample, "several seeds": any(system.seeds for system in systems)}
        for reason, label in product([reason for reason, stated in reasons.items() if stated], lists.totals):
            _TOTALS_SUPPLY.require(f"{label} with {reason}", [Need("values")])
        scored_systems = [
            lists.scored(system_index, system) for system_index, system in enumerate(designed_systems.systems)
        ]
        return cls(
            tuple(scored_systems),
            supply,
            tuple(designed_systems.designs),
            lists,
            ranges={
                label: (metric.low, metric.high)
                for label, metric in scorer.all_metrics
                if metric.high is not None and isfinite(metric.low)
            },
            scorer=scorer,
            runs=runs,
            repeats=tuple(repeats),
        )

    def pairs(self, rules: ComparisonRules) -> tuple[ComparedPair, ...]:
        """Compare the baseline with each candidate, by values of queries or of groups of queries.

        Raises:
            UsageError: as `compare_pairs`.
        """
        baseline, *candidates = self.systems
        if self.groups is not None:
            rules = replace(rules, sizes=False)
        results = compare_pairs(baseline, candidates, rules, self.designs)
        return tuple(
            ComparedPair(self, result, index, rules.test.unequal) for index, result in enumerate(results, 1)
        )


_TOTALS_SUPPLY = Supply(
    frozenset(),
    "it is one number about all lists, which has no values of queries",
    "leave the metric out, or see it with rankgate scorecard",
)
"""The supply of a metric of all lists together: it has no values of queries."""


def _run_of(system: ScoredRun, supply: Supply) -> Run:
    """The lists of a scored system as a run, if it has the lists of all queries.

    Raises:
        UsageError: it has lists of judged queries only.
    """
    supply.require("a model's judgments", [Need("every_list")])
    assert system.served is not None
    lists_of_unjudged_queries = (
        system.served.select("query_id", doc_id="doc_ids")
        .explode("doc_id")
        .drop_nulls()
        .with_columns(rank=pl.int_range(1, pl.len() + 1).over("query_id"))
    )
    rows = pl.concat([system.lists.select("query_id", "doc_id", "rank"), lists_of_unjudged_queries])
    scored_rows = rows.select("query_id", "doc_id", score=-pl.col("rank").cast(pl.Float64))
    return replace(read_run(scored_rows), name=system.name)


def _tag_activity(systems: list[ScoredRun], slices: Sequence[str], collection: Collection) -> list[ScoredRun]:
    """Systems with tags of activity, if a slice needs them and training data exists."""
    if "activity" not in slices or collection.training is None:
        return systems
    from rankgate.measurement.evaluation.rankings import TrainingData
    from rankgate.recommenders.scorecard_slices import ACTIVITY  # few slices need it

    train = TrainingData(collection.training, IdRules.read(collection.ids)).items_of_users
    return [system if ACTIVITY in system.tags else _tag_users(system, train) for system in systems]


def _tag_users(system: ScoredRun, train: UserItems) -> ScoredRun:
    """A scored system whose users are tagged as new, light or heavy."""
    from rankgate.recommenders.scorecard_slices import user_activity

    served = system.served
    return replace(
        system,
        queries=system.queries.with_columns(user_activity(system.queries["query_id"], train)),
        served=None if served is None else served.with_columns(user_activity(served["query_id"], train)),
    )


@dataclass(frozen=True)
class ComparedPair:
    """What the comparison of a baseline and a candidate was made from.

    Attributes:
        made: the systems; none if the comparison was read from JSON.
        measured: the comparison by values as they were measured: without the metrics of all lists
            together, and by groups of queries if values are sums of groups.
        index: the index of the candidate among the systems.
        unequal: the rule for queries that only one system ran; empty if it is not known.
    """

    made: ComparedSystems
    measured: Comparison
    index: int = 1
    unequal: str = ""

    @property
    def systems(self) -> tuple[ScoredRun, ...]:
        """The baseline and the candidate; empty if the comparison was read from JSON."""
        systems = self.made.systems
        return (systems[0], systems[self.index]) if systems else ()

    @property
    def design(self) -> Design | None:
        """The population of the queries; None if every query counts equally."""
        return self.made.designs[self.index - 1] if self.made.designs else None

    def wholes(self, resamples: int, slices: Iterable[str | None] = ()) -> ListTotals:
        """The metrics of all lists together, as `ComparedLists.wholes`."""
        return self.made.lists.wholes(self.measured, resamples, candidate=self.index, slices=slices)

    def with_totals(self, wholes: ListTotals) -> Comparison:
        """The comparison, with a row for each metric of all lists together."""
        lists = self.made.lists
        if not lists.metrics:
            return self.measured
        return with_list_totals(self.measured, wholes, lists.warnings_of(self.index))

    @classmethod
    def from_comparison(cls, comparison: Comparison) -> ComparedPair:
        """From a comparison; one that was read from JSON has the parts that were saved."""
        if isinstance(comparison.maker, ComparedPair):
            return comparison.maker
        parts: set[Part] = {"values", "group_sums"} if len(comparison.queries) else set()
        parts |= {"lists"} if len(comparison.lists) else set()
        ranges = MetricNames().ranges(comparison.names)
        supply = replace(SAVED_SUPPLY, parts=frozenset(parts))
        return cls(ComparedSystems((), supply, ranges=ranges), comparison)


SAVED_SUPPLY = Supply(
    frozenset(),
    "the comparison was read from JSON, without what it was made from",
    "compare the runs again, and gate on that comparison",
)
"""The supply of a comparison from JSON, besides the tables that were saved."""
