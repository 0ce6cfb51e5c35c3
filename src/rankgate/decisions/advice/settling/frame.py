"""The queries and documents that can be drawn, with what the grade of each can change."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from rankgate.core.errors import UsageError
from rankgate.core.frozen import dataclass
from rankgate.data.sample import sampled_documents
from rankgate.decisions.advice.settling.settlement import SAMPLE
from rankgate.measurement.evaluation.drawn_documents import measure_effects
from rankgate.measurement.stats.inclusion import inclusion_probabilities, permanent_numbers
from rankgate.measurement.stats.two_stage import SamplingPlan

if TYPE_CHECKING:
    from rankgate.data import Qrels, Run
    from rankgate.data.comparison import ScoredRun
    from rankgate.data.inputs import TableLike
    from rankgate.measurement.evaluation.scored_system import Scorer

_PAIR = ["query_id", "doc_id"]
_MIN_SIZE = 0.1  # of the mean size: the least size of a document


@dataclass(frozen=True)
class SamplingFrame:
    """Sampling frame: the documents of both systems for the queries that the model judged.

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
        cls,
        scorer: Scorer,
        model: Qrels,
        systems: Sequence[ScoredRun],
        runs: Sequence[Run],
        seed: int,
    ) -> SamplingFrame:
        """Collect the first documents of both systems, and all others that change the metric.

        Args:
            scorer: of the model's judgments.
            model: the model's judgments.
            systems: scored by them.
            runs: the runs of the systems.
            seed: of the permanent random numbers.

        Raises:
            UsageError: a metric that is no sum over documents, systems that show the same.
        """
        lists = pl.concat([system.lists for system in systems]).select(_PAIR).unique()
        judged_pairs = model.table.select(_PAIR)
        if scorer.metrics[0][1].depth() is not None:  # no document below counts
            judged_pairs = judged_pairs.join(lists, on=_PAIR, how="semi")
        baseline_effects, candidate_effects = (
            run_effects.select(*_PAIR, pl.col("part").alias(name))
            for run_effects, name in zip(
                measure_effects(scorer, model, judged_pairs, runs), ("one", "two"), strict=True
            )
        )
        effect_sizes = baseline_effects.join(
            candidate_effects, on=_PAIR, how="full", coalesce=True
        ).with_columns(
            (pl.col("two").fill_null(0.0) - pl.col("one").fill_null(0.0)).abs().alias("size")
        )
        known_pairs = lists.join(model.table.select(_PAIR), on=_PAIR, how="semi")
        all_pairs = pl.concat([known_pairs, effect_sizes.select(_PAIR)]).unique().sort(_PAIR)
        table = all_pairs.join(
            effect_sizes.select(*_PAIR, "size"), on=_PAIR, how="left", maintain_order="left"
        )
        size = table["size"].fill_null(0.0)
        min_size = _MIN_SIZE * float(size.sum()) / max(len(size), 1)
        if not min_size > 0:
            raise UsageError(
                "no grade of any document changes the difference of these systems: they show the "
                "same documents at the same ranks; there is nothing to settle.",
                code="nothing-to-rate",
            )
        numbers = permanent_numbers(table.select(_PAIR).iter_rows(), seed)
        sized_table = table.with_columns(
            size.clip(lower_bound=min_size).alias("size"), pl.Series("number", numbers)
        )
        unjudged_pairs = lists.join(known_pairs, on=_PAIR, how="anti").sort(_PAIR)
        return cls(
            sized_table, random_order(scorer.index.query_ids.to_list(), seed), unjudged_pairs
        )

    @property
    def sizes(self) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
        """(D,) of the documents."""
        return self.table["size"].to_numpy()

    def draw(self, spending: SamplingPlan, earlier_sample: pl.DataFrame) -> pl.DataFrame:
        """Draw a new batch: the columns of `SAMPLE`, with the rows drawn before.

        The first queries in their order are drawn, each with the chance that this share of all is,
        and of their documents those whose number is below their chance.

        Args:
            spending: queries and documents, with those drawn before.
            earlier_sample: the sample so far.
        """
        chance = inclusion_probabilities(self.sizes, spending.expected)
        queries = pl.DataFrame(
            {"query_id": self.queries[: spending.count]}, schema={"query_id": pl.String}
        ).with_columns(pl.lit(spending.count / len(self.queries)).alias("query_inclusion"))
        drawn_rows = self.table.with_columns(pl.Series("inclusion", chance)).filter(
            pl.col("number") < pl.col("inclusion")
        )
        earlier_batches = earlier_sample.drop_nulls("doc_id").select(*_PAIR, "batch")
        batch = pl.col("batch").fill_null(last_batch(earlier_sample) + 1)
        rows = drawn_rows.join(earlier_batches, on=_PAIR, how="left").with_columns(batch)
        sample = queries.join(rows, on="query_id", how="left")
        return sample.select(list(SAMPLE)).sort("query_id", "batch", "doc_id")

    def bought(self, sample: pl.DataFrame) -> SamplingPlan:
        """The numbers of queries and documents whose sample contains this one."""
        position_of_query = {query: position for position, query in enumerate(self.queries, 1)}
        count = max((position_of_query[query] for query in sample["query_id"].to_list()), default=0)
        drawn_documents = sample.drop_nulls("doc_id").join(self.table, on=_PAIR)
        chance = pl.when(pl.col("inclusion") < 1).then("inclusion").otherwise("number")
        factor = (
            drawn_documents.select((chance / pl.col("size")).max()).item()
            if len(drawn_documents)
            else 0.0
        )
        documents_of_queries = self.table.filter(pl.col("query_id").is_in(self.queries[:count]))
        if (
            len(drawn_documents) == len(documents_of_queries)
            and (drawn_documents["inclusion"] == 1).all()
        ):
            return SamplingPlan(count, float(len(self.table)) if len(drawn_documents) else 0.0)
        return SamplingPlan(count, float(np.minimum(1, factor * self.sizes).sum()))


def random_order(queries: Sequence[str], seed: int) -> list[str]:
    """Sort queries by permanent random numbers: the first n are a random sample for every n."""
    names = sorted(queries)
    order = np.argsort(permanent_numbers(((name,) for name in names), seed), kind="stable")
    return [names[index] for index in order]


def read_earlier_sample(sample: TableLike, frame: SamplingFrame) -> pl.DataFrame:
    """Read and check the sample drawn so far.

    Raises:
        UsageError: it is not what this seed draws from these runs by this model.
    """
    name, table = sampled_documents(sample)
    if table is None or "batch" not in table.columns:
        raise UsageError(
            f"{name} has no batches of documents; give the sample that rankgate next wrote.",
            code="another-sample",
        )
    if "query_inclusion" not in table.columns:
        table = table.with_columns(pl.lit(1.0).alias("query_inclusion"))
    joined = table.drop_nulls("doc_id").join(frame.table, on=_PAIR, how="left")
    mismatches = joined.filter(
        pl.col("number").is_null() | (pl.col("number") >= pl.col("inclusion"))
    )
    if len(mismatches) or set(table["query_id"].to_list()) - set(frame.queries):
        raise UsageError(
            f"{name}: {len(mismatches):,} of {len(joined):,} documents are not what this seed "
            "draws for these runs and this model; give the sample that rankgate next wrote with "
            "the same inputs.",
            code="another-sample",
        )
    return table.select(list(SAMPLE))


def last_batch(sample: pl.DataFrame) -> int:
    """The number of the last batch; 0 before the first."""
    return int(sample["batch"].drop_nulls().to_numpy().max(initial=0))
