"""Result of ``settle``: state of the comparison, actions, and documents to judge next."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Literal

import polars as pl

from rankgate.core.frozen import dataclass
from rankgate.core.present.result import Notice, Result

State = Literal["better", "worse", "not-worse", "open"]

ACTIONS = {
    "action": pl.String,
    "count": pl.Int64,
    "price": pl.Float64,
    "cost": pl.Float64,
    "gain": pl.Float64,
    "chosen": pl.Boolean,
}
"""Actions that settle the comparison alone: how many documents people judge, how many queries they
judge as the others, or how many documents the model judges; null if no number would. ``gain``: how
much the chance that it is settled grows for each unit of the price; null before the first batch."""

SAMPLE = {
    "query_id": pl.String,
    "doc_id": pl.String,
    "inclusion": pl.Float64,
    "query_inclusion": pl.Float64,
    "batch": pl.Int64,
}
"""The documents drawn so far with their chances, ``batch`` by batch: that their query was drawn,
and that of a drawn query the document was. A query of which no document was drawn has one row
without a document."""

BATCH = {
    "query_id": pl.String,
    "doc_id": pl.String,
    "who": pl.String,
    "gain": pl.Float64,
    "inclusion": pl.Float64,
    "query_inclusion": pl.Float64,
    "batch": pl.Int64,
}
"""Documents to judge next, by ``human`` or ``model``, largest gain first. The gain is how much
the chance that the difference is settled grows for each unit of the price."""


@dataclass(frozen=True)
class Settlement(Result):
    """What is known of a difference, and what to judge next.

    Attributes:
        baseline, candidate, metric: what is compared.
        convention: name, axes and hash.
        state: better, worse or not worse by more than the margin, as far as the interval shows;
            else open.
        delta, low, high: the estimated difference with its interval; null before people judged.
        level: of the interval of this look.
        margin: a loss that does not matter.
        look, looks: how often the interval was looked at, and how often it may be.
        judged, documents: how many documents people judged, of those that either system shows.
        queries: how many the model judged; `opened` of them people judge.
        unpredicted: queries that both systems answer and the model did not judge.
        lacking: documents of the other queries that they show and the model did not judge.
        correlation: of people's and the model's differences by query; null before people judged,
            and where people's documents of a query are too few to tell.
        worth: the highest price at which the model's judgments of a query pay.
        actions: the columns of `ACTIONS`.
        sample: the columns of `SAMPLE`; the last batch is to be judged next.
        batch: the columns of `BATCH`.
        new: documents that people judge next, 0 where nothing is drawn.
        input_notices: what the reader should know of the judgments and the runs.
    """

    kind: ClassVar[str] = "settlement"
    label: ClassVar[str] = "What to judge next"
    document_from: ClassVar[str] = "rankgate.decisions.advice.settling.document:document"
    order: ClassVar[int] = 13
    SCHEMAS: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "actions": ACTIONS,
        "sample": SAMPLE,
        "batch": BATCH,
    }

    baseline: str
    candidate: str
    metric: str
    convention: Mapping[str, Any]
    state: State
    delta: float | None
    low: float | None
    high: float | None
    level: float
    margin: float
    look: int
    looks: int
    judged: int
    documents: int
    queries: int
    opened: int
    unpredicted: int
    lacking: int
    correlation: float | None
    worth: float | None
    actions: pl.DataFrame
    sample: pl.DataFrame
    batch: pl.DataFrame
    new: int
    input_notices: tuple[Notice, ...] = ()

    @property
    def notices(self) -> tuple[Notice, ...]:
        """Cautions of runs, documents that the model did not judge, and a last look."""
        notices = []
        if self.lacking:
            text = (
                f"the model has not judged {self.lacking:,} documents that the systems "
                "show; let it judge them first: without its judgment they have no chance to be "
                "drawn, and count as irrelevant"
            )
            notices.append(Notice("model-lacks-documents", text))
        if self.state == "open" and self.look >= self.looks:
            text = (
                f"this was look {self.look} of {self.looks}: another one would make false "
                "verdicts more frequent than the level says"
            )
            notices.append(Notice("last-look", text))
        return (*self.input_notices, *notices)

    def _table(self) -> pl.DataFrame:
        return self.sample
