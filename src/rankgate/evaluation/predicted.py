"""The same runs, scored by the judgments of a model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import polars as pl

from rankgate.data import read_qrels
from rankgate.data.column_map import mapped
from rankgate.errors import InputError, UsageError
from rankgate.scoring.alignment.judgments import JudgmentIndex

if TYPE_CHECKING:
    from rankgate.data import Qrels
    from rankgate.data.comparison import ScoredRun
    from rankgate.data.inputs import ColumnsLike, QrelsLike
    from rankgate.evaluation.scored_system import Scorer

_PAIR = ("query_id", "doc_id")
_FEW = 30  # judgments; that a model agrees with so few of people says nothing


def scored_by_model(
    scorer: Scorer, predicted: QrelsLike, columns: ColumnsLike | None, runs: Sequence[Any]
) -> list[ScoredRun]:
    """Runs scored as by this scorer, by judgments that a model made.

    Args:
        scorer: of people's judgments.
        predicted: the model's, of all queries.
        columns: names of columns, as of ``compare``.
        runs: the baseline and the candidates.

    Raises:
        InputError: judgments that cannot be read, or that lack some of people's.
        UsageError: they repeat what people judged.
    """
    judgments = read_qrels(mapped(predicted, columns, "qrels"))
    _refuse(scorer.qrels, judgments)
    own = replace(scorer, qrels=judgments, index=JudgmentIndex.of(judgments), builder=None)
    return [own.scored(run) for run in runs]


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
