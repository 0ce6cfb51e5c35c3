"""Designs of a comparison: the population of its queries, from a sample and a model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import polars as pl

from rankgate.core.frozen import dataclass
from rankgate.core.progress import step
from rankgate.data.clusters import read_clusters
from rankgate.data.sample import Sample, check_predicted_sample
from rankgate.decisions.comparison.compared import query_table
from rankgate.decisions.comparison.design import Design
from rankgate.decisions.comparison.list_metrics import ComparedLists
from rankgate.decisions.comparison.values import pair_values
from rankgate.measurement.evaluation.predicted import ModelJudgments, score_by_model

if TYPE_CHECKING:
    from rankgate.data.collection import Collection
    from rankgate.data.comparison import ScoredRun
    from rankgate.measurement.evaluation.model_saw import ModelSaw
    from rankgate.measurement.evaluation.scored_system import Scorer


def design_inputs(collection: Collection) -> tuple[Sample | None, ModelJudgments | None]:
    """Read the sample of queries, a model's judgments, and the judgments that the model saw.

    Raises:
        InputError, UsageError: as `Sample.of` and `ModelJudgments.of`; a model without a sample.
    """
    queries = None if collection.sample is None else Sample.of(collection.sample)
    judge = ModelJudgments.of(collection)
    check_predicted_sample(judge, queries)
    return queries, judge


def designs_of_people(sample: Sample | None, systems: Sequence[ScoredRun]) -> list[Design]:
    """The design of each candidate without a model; none without a sample."""
    if sample is None:
        return []
    clusters = read_clusters(system.tagged for system in systems)
    return [Design(sample, clusters=clusters)] * (len(systems) - 1)


@dataclass(frozen=True)
class DesignedSystems:
    """Systems scored by people's judgments, with the designs of the comparison.

    Attributes:
        scorer: of the judgments that count.
        systems: the baseline and the candidates.
        designs: of each candidate; none without a sample.
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
    runs: Sequence[Any],
    unequal: str,
) -> DesignedSystems:
    """Make the designs with a model's judgments, if any, and keep the sampled queries of systems.

    Args:
        scorer: of people's judgments.
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
    lists = ComparedLists.of(scored.model_scorer, scored.models)
    baseline, *candidates = (
        lists.scored(system_index, system) for system_index, system in enumerate(scored.models)
    )
    tables = [
        query_table(baseline, candidate, pair_values(baseline, candidate, unequal))
        for candidate in candidates
    ]
    clusters = read_clusters(system.tagged for system in scored.models)
    documents: Sequence[pl.DataFrame | None] = [None] * len(tables)
    if scored.parts:
        baseline_parts, *candidate_parts = scored.parts
        documents = [
            _join_documents(baseline_parts, parts_of_candidate)
            for parts_of_candidate in candidate_parts
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
