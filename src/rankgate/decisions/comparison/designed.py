"""What the queries of a baseline and its candidates represent, from a sample and a model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import polars as pl

from rankgate.data.clusters import clusters_of
from rankgate.data.sample import Sample, refuse_without
from rankgate.decisions.comparison.compared import queries_of
from rankgate.decisions.comparison.design import Design
from rankgate.decisions.comparison.values import values_of
from rankgate.measurement.evaluation.predicted import ModelJudgments, with_model

if TYPE_CHECKING:
    from rankgate.data.collection import Collection
    from rankgate.data.comparison import ScoredRun
    from rankgate.measurement.evaluation.scored_system import Scorer


def design_inputs(collection: Collection) -> tuple[Sample | None, ModelJudgments | None]:
    """Read how queries were drawn, a model's judgments, and what the model saw.

    Raises:
        InputError, UsageError: as `Sample.of` and `ModelJudgments.of`; a model without a sample.
    """
    queries = None if collection.sample is None else Sample.of(collection.sample)
    judge = ModelJudgments.of(collection)
    refuse_without(judge, queries)
    return queries, judge


def of_people(sample: Sample | None, systems: Sequence[ScoredRun]) -> list[Design]:
    """The design of each candidate without a model; none without a sample."""
    if sample is None:
        return []
    clusters = clusters_of(system.tagged for system in systems)
    return [Design(sample, clusters=clusters)] * (len(systems) - 1)


def of_both(
    scorer: Scorer, predicted: ModelJudgments | None, sample: Sample | None,
    systems: Sequence[ScoredRun], runs: Sequence[Any], unequal: str,
) -> tuple[Sequence[ScoredRun], list[Design]]:  # fmt: skip
    """The same with a model's judgments, if there are some; systems as people's sample has them.

    Args:
        scorer: of people's judgments.
        predicted: the model's, and what the model saw.
        sample: how what people judged was drawn.
        systems: the baseline and the candidates, by people's judgments.
        runs: of them.
        unequal: what queries are that only one system ran.

    Raises:
        InputError, UsageError: as `with_model`.
    """
    if predicted is None or sample is None:
        return systems, of_people(sample, systems)
    both = with_model(scorer, predicted, sample, systems, runs)
    base, *others = both.models
    tables = [queries_of(base, other, values_of(base, other, unequal)) for other in others]
    clusters = clusters_of(system.tagged for system in both.models)
    if not both.parts:
        return both.systems, [
            Design(sample, table, clusters=clusters, saw=both.saw) for table in tables
        ]
    first, *rest = both.parts
    designs = [
        Design(sample, table, _joined(first, parts), clusters, both.saw)
        for table, parts in zip(tables, rest, strict=True)
    ]
    return both.systems, designs


def _joined(baseline: pl.DataFrame, candidate: pl.DataFrame) -> pl.DataFrame:
    keys = ["query_id", "metric", "doc_id", "inclusion"]
    both = baseline.rename({"part": "baseline"}).join(
        candidate.rename({"part": "candidate"}), on=keys, how="full", coalesce=True
    )
    return both.with_columns(pl.col("baseline", "candidate").fill_null(0.0)).sort(keys)
