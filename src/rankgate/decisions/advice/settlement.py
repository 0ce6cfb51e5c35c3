"""The result of ``settle``, and the queries and documents that it can draw.

The result holds the state of the comparison, actions, and documents to judge next. `SamplingFrame`
has the queries and documents that can be drawn, with the possible effect of each grade.
`Unpredicted` has the queries of the runs that the model did not judge, with the documents to judge.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np
import polars as pl

from rankgate.core.errors import UsageError
from rankgate.core.frozen import dataclass
from rankgate.core.present.base_result import Notice, NoticeText, Result
from rankgate.core.present.columns import Column, Columns
from rankgate.core.present.common_columns import DOC_ID, QUERY_ID
from rankgate.core.present.layout import NOTICES, FactTable, Sentence, View, fill
from rankgate.core.present.number_formats import count_noun, format_interval
from rankgate.core.value_types import JsonObject
from rankgate.data import Qrels
from rankgate.data.query_sample import sampled_documents
from rankgate.measurement.evaluation.sampled_documents import measure_effects
from rankgate.measurement.scoring.alignment.judgment_index import JudgmentIndex
from rankgate.measurement.scoring.alignment.top_documents import tops
from rankgate.measurement.stats.sampling_design import (
    SamplingPlan,
    inclusion_probabilities,
    permanent_numbers,
)

if TYPE_CHECKING:
    from rankgate.data import Run
    from rankgate.data.input_types import TableLike
    from rankgate.data.run_scores import ScoredRun
    from rankgate.measurement.evaluation.scored_system import Scorer
    from rankgate.measurement.scoring import Convention


State = Literal["better", "worse", "not-worse", "open"]

_ACTIONS = {
    "documents": "documents, by people",
    "queries": "queries, by people",
    "model": "documents, by the model",
}

ACTIONS = Columns(
    "One row per action that settles the comparison alone.",
    Column(
        "action",
        pl.String,
        "the unit of judging: documents or queries by people, or documents by the model",
        _ACTIONS.__getitem__,
    ),
    Column(
        "count",
        pl.Int64,
        "how many documents people judge, how many queries they judge as the others, or how many documents "
        "the model judges, each alone; in the first batch those of the batch; null if no number would settle "
        "it",
        "queries",
    ),
    Column("price", pl.Float64, "the price of one", ".2f"),
    Column("cost", pl.Float64, "the price of all", ".2f"),
    Column(
        "gain",
        pl.Float64,
        "how much the probability that it is settled grows for each unit of the price; null of queries and "
        "of the "
        "model before people judged",
        ".5f",
        header="gain per\nprice",
    ),
    Column(
        "chosen",
        pl.Boolean,
        "true for the action with the largest gain; in the first batch, and where the model judges first, "
        "for every action",
        header="next",
    ),
)

SAMPLE = Columns(
    "One row per document drawn so far, batch by batch; a query without drawn documents has one row without "
    "a document.",
    QUERY_ID,
    DOC_ID,
    Column("inclusion", pl.Float64, "the probability that the document of a drawn query was drawn"),
    Column("query_inclusion", pl.Float64, "the probability that the query was drawn"),
    Column("batch", pl.Int64, "the number of the batch"),
)

BATCH = Columns(
    "One row per document to judge next, the largest gain first.",
    QUERY_ID,
    DOC_ID,
    Column("who", pl.String, "who judges it: ``human`` or ``model``", header="by"),
    Column(
        "gain",
        pl.Float64,
        "how much the probability that the difference is settled grows for each unit of the price",
        ".5f",
        header="gain per\nprice",
    ),
    Column(
        "inclusion",
        pl.Float64,
        "the probability that the document of a drawn query was drawn",
        ".3f",
        header="probability",
    ),
    Column("query_inclusion", pl.Float64, "the probability that the query was drawn"),
    Column("batch", pl.Int64, "the number of the batch"),
)


@dataclass(frozen=True)
class Settlement(Result):
    """A difference with its interval, and the documents to judge next.

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
        worth: the highest price at which the model's judgments of a query are worthwhile.
        actions: the columns of `ACTIONS`.
        sample: the columns of `SAMPLE`; the last batch is to be judged next.
        batch: the columns of `BATCH`.
        new: documents that people judge next, 0 where nothing is drawn.
        input_notices: remarks on the judgments and the runs.
    """

    kind = "settlement"
    main_table = "sample"
    label = "What to judge next"
    order = 13
    SCHEMAS: ClassVar = {"actions": ACTIONS, "sample": SAMPLE, "batch": BATCH}
    layout = (
        FactTable(
            "",
            (
                ("metric", "{metric}"),
                ("delta", "{delta:signed}"),
                ("{level:.1%} interval", "{interval}"),
                ("documents\npeople judged", "{judged} of {documents}"),
                ("queries\npeople judged", "{opened} of {queries}"),
                ("looks", "{look} of {looks}"),
            ),
            as_row=True,
        ),
        View("actions", "what would settle it alone"),
        View("batch", "what to judge next", ("query_id", "doc_id", "who", "inclusion", "gain"), first=5),
        NOTICES,
        Sentence(
            "The correlation of people's and the model's differences by query is {correlation:.2f}: "
            "judgments of a query by the model are worthwhile up to a price of {worth:.2f}.",
            "correlation",
        ),
        "{next_step}",
        Sentence(
            "If the systems do not differ, the probability that a look before the last wrongly finds a "
            "difference "
            "is at most 1 - level (5% at the default level); one of all looks, with the last, does in about "
            "7% of simulated comparisons, and in at most 1 - level² (9.75%). A level of 0.975 keeps 5% over "
            "all looks.",
            "delta",
        ),
    )
    notice_texts = (
        "input_notices",
        NoticeText(
            "model-lacks-documents",
            "the model has not judged {lacking:n document} that the systems show; let it judge them first: "
            "without its judgment they have no chance to be drawn, and count as irrelevant",
            "lacking",
        ),
        NoticeText(
            "last-look",
            "this was look {look} of {looks}: another one would make false verdicts more frequent than the "
            "level allows",
            lambda result: result.state == "open" and result.look >= result.looks,
        ),
    )

    baseline: str
    candidate: str
    metric: str
    convention: JsonObject
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
    def headline(self) -> str:
        """The state of the comparison."""
        state = {
            "better": "{candidate} is better than {baseline}",
            "worse": "{candidate} is worse than {baseline}",
            "not-worse": "{candidate} is not worse than {baseline}",
            "open": "{candidate} against {baseline} is not settled",
        }[self.state]
        margin = " by more than {margin}" if self.margin and self.state != "open" else ""
        return fill(f"{state}{margin}: {{metric}}", self)

    @property
    def interval(self) -> str:
        """The interval of the difference."""
        return format_interval(self.low, self.high)

    @property
    def next_step(self) -> str:
        """What has to be judged next, and by whom."""
        if self.state != "open":
            return "Nothing more has to be judged."
        if not self.new:
            documents_for_model = len(self.batch)
            if not documents_for_model:
                return "No further documents were drawn."
            return (
                f"The model judges next: {count_noun(documents_for_model, 'document')}. Run next again with "
                "all its judgments."
            )
        return (
            f"{count_noun(self.new, 'document was', 'documents were')} drawn, the last batch of the sample. "
            "A document's probability is proportional to how much its grade can move the difference; "
            "compare, "
            "gate and next take the sample with people's judgments of all documents that were drawn. The "
            "gain is how much the probability that the difference is settled grows."
        )


_PAIR = ["query_id", "doc_id"]
_MIN_SIZE = 0.1  # share of the mean size: the least size of a document


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
    def collect(
        cls, scorer: Scorer, model: Qrels, systems: Sequence[ScoredRun], runs: Sequence[Run], seed: int
    ) -> SamplingFrame:
        """Collect the first documents of both systems, and all others that change the metric.

        Args:
            scorer: the scorer of the model's judgments.
            model: the model's judgments.
            systems: the systems, scored by the model's judgments.
            runs: the runs of the systems.
            seed: the seed of the permanent random numbers.

        Raises:
            UsageError: a metric that is not a sum over documents, systems that show the same.
        """
        lists = pl.concat([system.lists for system in systems]).select(_PAIR).unique()
        judged_pairs = model.table.select(_PAIR)
        if scorer.metrics[0][1].depth() is not None:  # documents below do not count
            judged_pairs = judged_pairs.join(lists, on=_PAIR, how="semi")
        baseline_effects, candidate_effects = (
            run_effects.select(*_PAIR, pl.col("part").alias(name))
            for run_effects, name in zip(
                measure_effects(scorer, judged_pairs, systems, runs), ("one", "two"), strict=True
            )
        )
        effect_sizes = baseline_effects.join(
            candidate_effects, on=_PAIR, how="full", coalesce=True
        ).with_columns((pl.col("two").fill_null(0.0) - pl.col("one").fill_null(0.0)).abs().alias("size"))
        known_pairs = lists.join(model.table.select(_PAIR), on=_PAIR, how="semi")
        all_pairs = pl.concat([known_pairs, effect_sizes.select(_PAIR)]).unique().sort(_PAIR)
        table = all_pairs.join(
            effect_sizes.select(*_PAIR, "size"), on=_PAIR, how="left", maintain_order="left"
        )
        size = table["size"].fill_null(0.0)
        min_size = _MIN_SIZE * float(size.sum()) / max(len(size), 1)
        if not min_size > 0:
            raise UsageError(
                "no grade of any document changes the difference of these systems: they show the same "
                "documents at the same ranks; no judgment can separate them.",
                code="nothing-to-rate",
            )
        numbers = permanent_numbers(table.select(_PAIR).iter_rows(), seed)
        sized_table = table.with_columns(
            size.clip(lower_bound=min_size).alias("size"), pl.Series("number", numbers)
        )
        unjudged_pairs = lists.join(known_pairs, on=_PAIR, how="anti").sort(_PAIR)
        return cls(sized_table, random_order(scorer.index.query_ids.to_list(), seed), unjudged_pairs)

    @property
    def sizes(self) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
        """(D,) the sizes of the documents."""
        return self.table["size"].to_numpy()

    def draw(self, spending: SamplingPlan, earlier_sample: pl.DataFrame) -> pl.DataFrame:
        """Draw a new batch: the columns of `SAMPLE`, with the rows drawn before.

        The first queries in the random order are drawn; the probability of each query is the share
        of drawn queries. Of their documents, those with a random number below their probability are
        drawn.

        Args:
            spending: the numbers of queries and documents, including earlier batches.
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
        """The numbers of queries and documents for a sample that contains this sample."""
        position_of_query = {query: position for position, query in enumerate(self.queries, 1)}
        count = max((position_of_query[query] for query in sample["query_id"].to_list()), default=0)
        drawn_documents = sample.drop_nulls("doc_id").join(self.table, on=_PAIR)
        chance = pl.when(pl.col("inclusion") < 1).then("inclusion").otherwise("number")
        factor = (
            drawn_documents.select((chance / pl.col("size")).max()).item() if len(drawn_documents) else 0.0
        )
        documents_of_queries = self.table.filter(pl.col("query_id").is_in(self.queries[:count]))
        if len(drawn_documents) == len(documents_of_queries) and (drawn_documents["inclusion"] == 1).all():
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
        UsageError: the sample does not match this seed, these runs and this model.
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
    mismatches = joined.filter(pl.col("number").is_null() | (pl.col("number") >= pl.col("inclusion")))
    if len(mismatches) or set(table["query_id"].to_list()) - set(frame.queries):
        raise UsageError(
            f"{name}: {len(mismatches):,} of {count_noun(len(joined), 'document')} "
            f"{'differs' if len(mismatches) == 1 else 'differ'} from the draw of this seed for these runs "
            "and this model; give the sample that rankgate next wrote with the same inputs.",
            code="another-sample",
        )
    return table.select(list(SAMPLE))


def last_batch(sample: pl.DataFrame) -> int:
    """The number of the last batch; 0 before the first."""
    return int(sample["batch"].drop_nulls().to_numpy().max(initial=0))


@dataclass(frozen=True)
class Unpredicted:
    """Queries that both systems answer and the model did not judge.

    Attributes:
        queries: in the order in which they are drawn.
        documents: ``query_id`` and ``doc_id`` of the documents that either system shows for these
            queries.
    """

    queries: list[str]
    documents: pl.DataFrame

    @classmethod
    def find(
        cls, runs: Sequence[Run], predicted_queries: Sequence[str], how: Convention, depth: int, seed: int
    ) -> Unpredicted:
        """Find the queries of two runs that the model did not judge.

        Args:
            runs: baseline and candidate.
            predicted_queries: queries that the model judged.
            how: the convention, which breaks ties.
            depth: the last rank that is shown.
            seed: the seed of the random draws.
        """
        baseline_queries, candidate_queries = (set(run.table["query_id"].unique().to_list()) for run in runs)
        queries = random_order(list((baseline_queries & candidate_queries) - set(predicted_queries)), seed)
        if not queries:
            return cls([], pl.DataFrame(schema={"query_id": pl.String, "doc_id": pl.String}))
        index = JudgmentIndex.from_judgments(placeholder(queries))
        shown_documents = [tops(run, index, how, depth).select(_PAIR) for run in runs]
        return cls(queries, pl.concat(shown_documents).unique().sort(_PAIR))

    @property
    def mean_documents(self) -> float:
        """The mean number of documents of a query."""
        return len(self.documents) / max(len(self.queries), 1)

    def first(self, count: int) -> pl.DataFrame:
        """The documents of the first `count` queries."""
        return self.documents.filter(pl.col("query_id").is_in(self.queries[:count]))


def placeholder(queries: Sequence[str]) -> Qrels:
    """Judgments that only name queries."""
    table = pl.DataFrame({"query_id": queries, "doc_id": ["?"] * len(queries), "grade": [0.0] * len(queries)})
    return Qrels(table, "no judgments")
