"""Score runs by the judgments of a model, too."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from rankgate.core.errors import InputError, UsageError
from rankgate.core.frozen import dataclass
from rankgate.data import read_qrels
from rankgate.data.column_map import map_columns
from rankgate.measurement.evaluation.model_saw import ModelSaw
from rankgate.measurement.scoring.alignment.judgments import JudgmentIndex

if TYPE_CHECKING:
    from rankgate.data import Qrels
    from rankgate.data.collection import Collection
    from rankgate.data.comparison import ScoredRun
    from rankgate.data.sample import Sample
    from rankgate.measurement.evaluation.scored_system import Scorer

_PAIR = ("query_id", "doc_id")


@dataclass(frozen=True)
class ModelJudgments:
    """A model's judgments, read, with those that it saw.

    Attributes:
        judgments: of all queries; those that the model saw judgments of are left out.
        saw: people's judgments that it saw.
    """

    judgments: Qrels
    saw: ModelSaw

    @classmethod
    def of(cls, collection: Collection) -> ModelJudgments | None:
        """Read the predicted judgments of a collection; None if it has none.

        Raises:
            InputError: judgments that cannot be read.
            UsageError: the model saw all queries.
        """
        predicted = collection.predicted
        if predicted is None:
            return None
        model_saw = ModelSaw.of(predicted.saw, collection.columns)
        judgments = read_qrels(map_columns(predicted.judgments, collection.columns, "qrels"))
        unseen = model_saw.without_seen(judgments)
        all_count, unseen_count = (
            table.table["query_id"].n_unique() for table in (judgments, unseen)
        )
        return cls(unseen, replace(model_saw, left_out=all_count - unseen_count))


@dataclass(frozen=True)
class ModelScores:
    """Systems by people's judgments and by a model's.

    Attributes:
        scorer: of people's judgments of the queries that the model did not see.
        model_scorer: of the model's.
        systems: by people's; where they judged a part of the documents, with estimated values.
        models: the same systems by the model's.
        saw: what the model saw, with its agreement with people.
        parts: what the drawn documents add to the values of each system, as
            ``drawn_documents.PARTS``; empty where people judged whole queries.
    """

    scorer: Scorer
    model_scorer: Scorer
    systems: Sequence[ScoredRun]
    models: Sequence[ScoredRun]
    saw: ModelSaw
    parts: Sequence[pl.DataFrame] = ()


def score_by_model(
    scorer: Scorer,
    predicted: ModelJudgments,
    sample: Sample,
    systems: Sequence[ScoredRun],
    runs: Sequence[Any],
) -> ModelScores:
    """Score runs by judgments that a model made, too.

    Queries whose judgments the model saw are left out on both sides.

    Args:
        scorer: of people's judgments.
        predicted: the model's, of all queries.
        sample: the design of the sample that people judged.
        systems: the baseline and the candidates, by people's judgments.
        runs: the runs of the systems.

    Raises:
        InputError: judgments that lack some of people's.
        UsageError: they repeat what people judged; as `drawn_documents.corrected`.
    """
    judgments = predicted.judgments
    people = predicted.saw.without_seen(scorer.qrels)
    _refuse_missing(people, judgments)
    saw = predicted.saw.checked(people, judgments)
    systems = [saw.unseen_part(system) for system in systems]
    unseen = replace(scorer, qrels=people, index=JudgmentIndex.of(people))
    model = replace(scorer, qrels=judgments, index=JudgmentIndex.of(judgments))
    models = [model.scored(run) for run in runs]
    if sample.documents is None:
        _refuse_partial_judgments(systems, models)
        judged = people.table["query_id"].unique().to_list()
        saw = saw.with_difference(judged, models, sample)
        return ModelScores(unseen, model, systems, models, saw)
    from rankgate.measurement.evaluation.drawn_documents import correct_runs  # few ask for it

    documents = sample.documents.filter(~pl.col("query_id").is_in(saw.query_ids))
    ranked = [unseen.ranked(run) for run in runs]
    results = correct_runs(unseen, judgments, documents, ranked)
    scored_runs = [
        replace(result.run, name=system.name, qrels_sha256=system.qrels_sha256)
        for result, system in zip(results, systems, strict=True)
    ]
    return ModelScores(
        unseen, model, scored_runs, models, saw, [result.parts for result in results]
    )


_MOST_DIFFERENCE = 0.05


def _refuse_partial_judgments(systems: Sequence[ScoredRun], models: Sequence[ScoredRun]) -> None:
    """Check that people did not judge fewer of the first documents than the model.

    Raises:
        UsageError: the documents that they left out count as irrelevant by people alone.
    """
    for people, model in zip(systems, models, strict=True):
        joined = people.queries.join(model.queries, on="query_id", suffix="_model")
        people_share, model_share = (
            float(np.mean(joined[name].fill_null(0.0).to_numpy()))
            for name in ("judged", "judged_model")
        )
        if model_share - people_share > _MOST_DIFFERENCE:
            raise UsageError(
                f"of the first {people.depth} documents of {people.name} people judged "
                f"{people_share:.0%} and the model {model_share:.0%}, in the same queries: what "
                "people left out counts as irrelevant for them alone; let people judge whole "
                "lists, or give the chance of each document: --sample FILE with doc_id and "
                "inclusion, as rankgate pool --strata writes it.",
                code="sampled-documents",
            )


def _refuse_missing(people: Qrels, model: Qrels) -> None:
    joined = people.table.join(model.table, on=_PAIR, how="left", suffix="_model")
    missing = joined.filter(pl.col("grade_model").is_null())
    if len(missing):
        query, doc = missing.select(_PAIR).row(0)
        raise InputError(
            f"lacks {len(missing):,} of the {len(joined):,} documents that people judged (query "
            f"{query}, document {doc}, …): a model that judges less where people judged, or only "
            "what is easy, biases what it is corrected by; let it judge them too.",
            source=model.name,
            code="sample-not-subset",
        )
