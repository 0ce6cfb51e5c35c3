"""The same runs, scored by the judgments of a model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from rankgate.data import read_qrels, read_run
from rankgate.data.column_map import mapped
from rankgate.errors import InputError, UsageError
from rankgate.frozen import dataclass
from rankgate.scoring.alignment.judgments import JudgmentIndex

if TYPE_CHECKING:
    from rankgate.data import Qrels
    from rankgate.data.comparison import ScoredRun
    from rankgate.data.inputs import ColumnsLike, QrelsLike
    from rankgate.evaluation.sample import Sample
    from rankgate.evaluation.scored_system import Scorer

_PAIR = ("query_id", "doc_id")
_FEW = 30  # judgments; that a model agrees with so few of people says nothing


@dataclass(frozen=True)
class Modelled:
    """Systems by people's judgments and by a model's.

    Attributes:
        systems: by people's; where they judged a part of the documents, with estimated values.
        models: the same systems by the model's.
        parts: what the drawn documents add to the values of each system, as
            ``drawn_documents.PARTS``; empty where people judged whole queries.
    """

    systems: Sequence[ScoredRun]
    models: Sequence[ScoredRun]
    parts: Sequence[pl.DataFrame] = ()


def with_model(
    scorer: Scorer, predicted: QrelsLike, columns: ColumnsLike | None, sample: Sample,
    systems: Sequence[ScoredRun], runs: Sequence[Any],
) -> Modelled:  # fmt: skip
    """Score runs by judgments that a model made, too.

    Args:
        scorer: of people's judgments.
        predicted: the model's, of all queries.
        columns: names of columns, as of ``compare``.
        sample: how what people judged was drawn.
        systems: the baseline and the candidates, by people's judgments.
        runs: of them.

    Raises:
        InputError: judgments that cannot be read, or that lack some of people's.
        UsageError: they repeat what people judged; as `drawn_documents.corrected`.
    """
    judgments = read_qrels(mapped(predicted, columns, "qrels"))
    _refuse(scorer.qrels, judgments)
    own = replace(scorer, qrels=judgments, index=JudgmentIndex.of(judgments), builder=None)
    models = [own.scored(run) for run in runs]
    if sample.documents is None:
        _refuse_partly(systems, models)
        return Modelled(systems, models)
    from rankgate.evaluation.drawn_documents import corrected  # few ask for it

    read = [read_run(run) for run in runs]
    found = corrected(scorer, judgments, sample.documents, read)
    named = [
        replace(each.run, name=system.name) for each, system in zip(found, systems, strict=True)
    ]
    return Modelled(named, models, [each.parts for each in found])


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


def _refuse(people: Qrels, model: Qrels) -> None:
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
    if len(both) >= _FEW and (both["grade"] == both["grade_model"]).all():
        raise UsageError(
            f"the predicted judgments repeat all {len(both):,} of people's: the model saw them, or "
            "the files are the same; let it judge without them.",
            code="model-saw-judgments",
        )
