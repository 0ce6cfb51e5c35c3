"""The queries and documents that can be drawn, with what the grade of each can change."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from rankgate.core.errors import UsageError
from rankgate.core.frozen import dataclass
from rankgate.data.sample import documents_drawn
from rankgate.decisions.advice.settling.settlement import SAMPLE
from rankgate.measurement.evaluation.drawn_documents import effects
from rankgate.measurement.stats.inclusion import inclusion, permanent_numbers
from rankgate.measurement.stats.two_stage import Spending

if TYPE_CHECKING:
    from rankgate.data import Qrels, Run
    from rankgate.data.comparison import ScoredRun
    from rankgate.data.inputs import TableLike
    from rankgate.measurement.evaluation.scored_system import Scorer

_PAIR = ["query_id", "doc_id"]
_FLOOR = 0.1  # of the mean size: the least size of a document


@dataclass(frozen=True)
class Frame:
    """All documents that either system shows for a query that the model judged.

    Attributes:
        table: ``query_id``, ``doc_id``, ``size`` and ``number``, by query and document.
        queries: all queries, in the order in which they are drawn.
        lacking: ``query_id`` and ``doc_id`` that the systems show and the model did not judge.
    """

    table: pl.DataFrame
    queries: list[str]
    lacking: pl.DataFrame

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
            UsageError: a metric that is no sum over documents, systems that show the same.
        """
        lists = pl.concat([each.lists for each in systems]).select(_PAIR).unique()
        asked = model.table.select(_PAIR)
        if scorer.metrics[0][1].depth() is not None:  # no document below counts
            asked = asked.join(lists, on=_PAIR, how="semi")
        one, two = (
            each.select(*_PAIR, pl.col("part").alias(name))
            for each, name in zip(effects(scorer, model, asked, runs), ("one", "two"), strict=True)
        )
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
        lacking = lists.join(known, on=_PAIR, how="anti").sort(_PAIR)
        return cls(whole, in_order(scorer.index.query_ids.to_list(), seed), lacking)

    @property
    def sizes(self) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
        """(D,) of the documents."""
        return self.table["size"].to_numpy()

    def draw(self, wanted: Spending, before: pl.DataFrame) -> pl.DataFrame:
        """`SAMPLE`: what was drawn before, and a new batch.

        The first queries in their order are drawn, each with the chance that this share of all is,
        and of their documents those whose number is below their chance.

        Args:
            wanted: queries and documents, with those drawn before.
            before: the sample so far.
        """
        chance = inclusion(self.sizes, wanted.expected)
        queries = pl.DataFrame(
            {"query_id": self.queries[: wanted.count]}, schema={"query_id": pl.String}
        ).with_columns(pl.lit(wanted.count / len(self.queries)).alias("query_inclusion"))
        drawn = self.table.with_columns(pl.Series("inclusion", chance)).filter(
            pl.col("number") < pl.col("inclusion")
        )
        known = before.drop_nulls("doc_id").select(*_PAIR, "batch")
        batch = pl.col("batch").fill_null(last_batch(before) + 1)
        rows = drawn.join(known, on=_PAIR, how="left").with_columns(batch)
        own = queries.join(rows, on="query_id", how="left")
        return own.select(list(SAMPLE)).sort("query_id", "batch", "doc_id")

    def bought(self, drawn: pl.DataFrame) -> Spending:
        """The queries and documents of which a larger sample holds this one."""
        place = {query: at for at, query in enumerate(self.queries, 1)}
        count = max((place[query] for query in drawn["query_id"].to_list()), default=0)
        own = drawn.drop_nulls("doc_id").join(self.table, on=_PAIR)
        chance = pl.when(pl.col("inclusion") < 1).then("inclusion").otherwise("number")
        factor = own.select((chance / pl.col("size")).max()).item() if len(own) else 0.0
        shown = self.table.filter(pl.col("query_id").is_in(self.queries[:count]))
        if len(own) == len(shown) and (own["inclusion"] == 1).all():
            return Spending(count, float(len(self.table)) if len(own) else 0.0)
        return Spending(count, float(np.minimum(1, factor * self.sizes).sum()))


def in_order(queries: Sequence[str], seed: int) -> list[str]:
    """Queries by their permanent numbers: the first of them are a random sample of any size."""
    names = sorted(queries)
    order = np.argsort(permanent_numbers(((name,) for name in names), seed), kind="stable")
    return [names[at] for at in order]


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
    if "query_inclusion" not in table.columns:
        table = table.with_columns(pl.lit(1.0).alias("query_inclusion"))
    both = table.drop_nulls("doc_id").join(frame.table, on=_PAIR, how="left")
    wrong = both.filter(pl.col("number").is_null() | (pl.col("number") >= pl.col("inclusion")))
    if len(wrong) or set(table["query_id"].to_list()) - set(frame.queries):
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
