"""The same runs, scored by the judgments of a model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from rankgate.core.errors import InputError, UsageError
from rankgate.core.frozen import dataclass
from rankgate.data import read_qrels, read_run
from rankgate.data.column_map import mapped
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
    """A model's judgments, read, and what the model saw.

    Attributes:
        judgments: of all queries; those that the model saw judgments of are left out.
        saw: people's judgments that it saw.
    """

    judgments: Qrels
    saw: ModelSaw

    @classmethod
    def of(cls, collection: Collection) -> ModelJudgments | None:
        """The predicted judgments of a collection, read; None where it has none.

        Raises:
            InputError: judgments that cannot be read.
            UsageError: the model saw all queries.
        """
        predicted = collection.predicted
        if predicted is None:
            return None
        seen = ModelSaw.of(predicted.saw, collection.columns)
        judgments = read_qrels(mapped(predicted.judgments, collection.columns, "qrels"))
        unseen = seen.without_seen(judgments)
        every, left = (table.table["query_id"].n_unique() for table in (judgments, unseen))
        return cls(unseen, replace(seen, left_out=every - left))


@dataclass(frozen=True)
class Modelled:
    """Systems by people's judgments and by a model's.

    Attributes:
        systems: by people's; where they judged a part of the documents, with estimated values.
        models: the same systems by the model's.
        saw: what the model saw, with its agreement with people.
        parts: what the drawn documents add to the values of each system, as
            ``drawn_documents.PARTS``; empty where people judged whole queries.
    """

    systems: Sequence[ScoredRun]
    models: Sequence[ScoredRun]
    saw: ModelSaw
    parts: Sequence[pl.DataFrame] = ()


def with_model(
    scorer: Scorer, predicted: ModelJudgments, sample: Sample, systems: Sequence[ScoredRun],
    runs: Sequence[Any],
) -> Modelled:  # fmt: skip
    """Score runs by judgments that a model made, too.

    Queries whose judgments the model saw are left out on both sides.

    Args:
        scorer: of people's judgments.
        predicted: the model's, of all queries.
        sample: how what people judged was drawn.
        systems: the baseline and the candidates, by people's judgments.
        runs: of them.

    Raises:
        InputError: judgments that lack some of people's.
        UsageError: they repeat what people judged; as `drawn_documents.corrected`.
    """
    judgments = predicted.judgments
    people = predicted.saw.without_seen(scorer.qrels)
    _refuse_lacking(people, judgments)
    saw = predicted.saw.checked(people, judgments)
    systems = [saw.unseen_part(system) for system in systems]
    own = replace(scorer, qrels=judgments, index=JudgmentIndex.of(judgments), builder=None)
    models = [own.scored(run) for run in runs]
    if sample.documents is None:
        _refuse_partly(systems, models)
        judged = people.table["query_id"].unique().to_list()
        saw = saw.with_difference(judged, models, sample)
        return Modelled(systems, models, saw)
    from rankgate.measurement.evaluation.drawn_documents import corrected  # few ask for it

    documents = sample.documents.filter(~pl.col("query_id").is_in(saw.query_ids))
    read = [read_run(run) for run in runs]
    unseen = replace(scorer, qrels=people, index=JudgmentIndex.of(people), builder=None)
    results = corrected(unseen, judgments, documents, read)
    named = [
        replace(result.run, name=system.name, qrels_sha256=system.qrels_sha256)
        for result, system in zip(results, systems, strict=True)
    ]
    return Modelled(named, models, saw, [result.parts for result in results])


_UNEVEN = 0.05


def _refuse_partly(systems: Sequence[ScoredRun], models: Sequence[ScoredRun]) -> None:
    """Stop where people judged fewer of the first documents of the same queries than the model.

    Raises:
        UsageError: the documents that they left out count as irrelevant by people alone.
    """
    for people, model in zip(systems, models, strict=True):
        both = people.queries.join(model.queries, on="query_id", suffix="_model")
        mine, theirs = (
            float(np.mean(both[name].fill_null(0.0).to_numpy()))
            for name in ("judged", "judged_model")
        )
        if theirs - mine > _UNEVEN:
            raise UsageError(
                f"of the first {people.depth} documents of {people.name} people judged "
                f"{mine:.0%} and the model {theirs:.0%}, in the same queries: what people left "
                "out counts as irrelevant for them alone; let people judge whole lists, or give "
                "the chance of each document: --sample FILE with doc_id and inclusion, as rankgate "
                "pool --strata writes it.",
                code="sampled-documents",
            )


def _refuse_lacking(people: Qrels, model: Qrels) -> None:
    both = people.table.join(model.table, on=_PAIR, how="left", suffix="_model")
    lacking = both.filter(pl.col("grade_model").is_null())
    if len(lacking):
        query, doc = lacking.select(_PAIR).row(0)
        raise InputError(
            f"lacks {len(lacking):,} of the {len(both):,} documents that people judged (query "
            f"{query}, document {doc}, …): a model that judges less where people judged, or only "
            "what is easy, biases what it is corrected by; let it judge them too.",
            source=model.name,
            code="sample-not-subset",
        )
