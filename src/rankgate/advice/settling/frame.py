"""The documents that can be drawn, with what the grade of each can change."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import polars as pl

from rankgate.advice.settling.settlement import SAMPLE
from rankgate.errors import UsageError
from rankgate.evaluation.drawn_documents import effects
from rankgate.evaluation.sample import documents_drawn
from rankgate.stats.inclusion import inclusion, permanent_numbers

if TYPE_CHECKING:
    from rankgate.data import Qrels, Run
    from rankgate.data.comparison import ScoredRun
    from rankgate.data.inputs import TableLike
    from rankgate.evaluation.scored_system import Scorer

_PAIR = ["query_id", "doc_id"]
_LEAST = 20  # queries; fewer give no interval
_FLOOR = 0.1  # of the mean size: the least size of a document


@dataclass(frozen=True)
class Frame:
    """All documents that either system shows.

    Attributes:
        table: ``query_id``, ``doc_id``, ``size`` and ``number``, by query and document.
        lacking: documents that the systems show and the model did not judge.
        queries: all queries.
    """

    table: pl.DataFrame
    lacking: int
    queries: list[str]

    @classmethod
    def of(
        cls, scorer: Scorer, model: Qrels, systems: Sequence[ScoredRun], runs: Sequence[Run],
        seed: int,
    ) -> Frame:  # fmt: skip
        """The first documents of both systems, and all others that count.

        Args:
            scorer: of the model's judgments.
            model: these.
            systems: scored by them.
            runs: of them.
            seed: of the drawing.

        Raises:
            UsageError: a metric that is no sum over documents, systems that show the same, fewer
                than 20 queries.
        """
        lists = pl.concat([each.lists for each in systems]).select(_PAIR).unique()
        one, two = (
            each.select(*_PAIR, pl.col("part").alias(name))
            for each, name in zip(
                effects(scorer, model, model.table.select(_PAIR), runs), ("one", "two"),
                strict=True,
            )
        )  # fmt: skip
        moved = one.join(two, on=_PAIR, how="full", coalesce=True).with_columns(
            (pl.col("two").fill_null(0.0) - pl.col("one").fill_null(0.0)).abs().alias("size")
        )
        known = lists.join(model.table.select(_PAIR), on=_PAIR, how="semi")
        every = pl.concat([known, moved.select(_PAIR)]).unique().sort(_PAIR)
        table = every.join(moved.select(*_PAIR, "size"), on=_PAIR, how="left",
                           maintain_order="left")  # fmt: skip
        size = table["size"].fill_null(0.0)
        least = _FLOOR * float(size.sum()) / max(len(size), 1)
        if not least > 0:
            raise UsageError(
                "no grade of any document changes the difference of these systems: they show the "
                "same documents at the same ranks; there is nothing to settle.",
                code="nothing-to-rate",
            )
        numbers = permanent_numbers(table.select(_PAIR).iter_rows(), seed)
        whole = table.with_columns(
            size.clip(lower_bound=least).alias("size"), pl.Series("number", numbers)
        )
        queries = scorer.index.query_ids.to_list()
        if len(queries) < _LEAST:
            raise UsageError(
                f"{len(queries)} queries decide nothing, whatever is judged; {_LEAST} are the "
                "least.",
                code="too-few-queries",
            )
        return cls(whole, len(lists) - len(known), queries)

    def draw(self, expected: float, before: pl.DataFrame) -> pl.DataFrame:
        """`SAMPLE`: what was drawn before, and a new batch, as many as expected on average."""
        chance = inclusion(self.table["size"].to_numpy(), expected)
        drawn = self.table.with_columns(pl.Series("inclusion", chance)).filter(
            pl.col("number") < pl.col("inclusion")
        )
        known = before.drop_nulls("doc_id").select(*_PAIR, "batch")
        batch = pl.col("batch").fill_null(last_batch(before) + 1)
        rows = drawn.join(known, on=_PAIR, how="left").with_columns(batch).select(list(SAMPLE))
        none = sorted(set(self.queries) - set(rows["query_id"].to_list()))
        empty = pl.DataFrame({"query_id": none}, schema={"query_id": pl.String})
        return pl.concat([rows, empty], how="diagonal").sort("query_id", "batch", "doc_id")


def drawn_before(sample: TableLike, frame: Frame) -> pl.DataFrame:
    """The sample so far.

    Raises:
        UsageError: it is not what this seed draws from these runs by this model.
    """
    name, table = documents_drawn(sample)
    if table is None or "batch" not in table.columns:
        raise UsageError(
            f"{name} has no batches of documents; give the sample that rankgate next wrote.",
            code="another-sample",
        )
    both = table.drop_nulls("doc_id").join(frame.table, on=_PAIR, how="left")
    wrong = both.filter(pl.col("number").is_null() | (pl.col("number") >= pl.col("inclusion")))
    if len(wrong):
        raise UsageError(
            f"{name}: {len(wrong):,} of {len(both):,} documents are not what this seed "
            "draws for these runs and this model; give the sample that rankgate next wrote with "
            "the same inputs.",
            code="another-sample",
        )
    return table.select(list(SAMPLE))


def last_batch(sample: pl.DataFrame) -> int:
    """How many batches there were."""
    return int(sample["batch"].drop_nulls().to_numpy().max(initial=0))
