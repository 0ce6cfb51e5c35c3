"""What people or a model should judge next to settle a comparison, with its chances."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any

import polars as pl

from rankgate.core.declare import Range
from rankgate.core.errors import UsageError
from rankgate.core.frozen import dataclass
from rankgate.core.present.result import Notice, run_notices
from rankgate.core.progress import step
from rankgate.data.collection import OF_TASKS, Collection
from rankgate.data.sample import Sample
from rankgate.decisions.advice.settling.frame import Frame, drawn_before, last_batch
from rankgate.decisions.advice.settling.plan import LEAST, Plan, action
from rankgate.decisions.advice.settling.prices import Prices
from rankgate.decisions.advice.settling.settlement import ACTIONS, BATCH, SAMPLE, Settlement
from rankgate.decisions.advice.settling.terms import Terms
from rankgate.decisions.advice.settling.unpredicted import Unpredicted, placeholder
from rankgate.decisions.advice.settling.verdict import Estimate, before_people, estimated
from rankgate.decisions.comparison.inference import Test
from rankgate.measurement.evaluation.predicted import ModelJudgments
from rankgate.measurement.evaluation.scored_system import DEPTH, Scorer
from rankgate.measurement.stats.two_stage import Spending, worth_of_predictions

if TYPE_CHECKING:
    from rankgate.data import Qrels, Run
    from rankgate.data.comparison import ScoredRun
    from rankgate.data.inputs import QrelsLike, RunLike
    from rankgate.decisions.advice.settling.settlement import State
    from rankgate.measurement.metrics.declare import Metric
    from rankgate.measurement.scoring import Convention

_FIRST = 50  # queries that a model judges before anything is known
_CLOSE = 1e-9
_NONE = pl.DataFrame(schema=SAMPLE)
_PAIR = ["query_id", "doc_id"]


def settle(
    collection: Collection | QrelsLike | None,
    baseline: RunLike | Mapping[str, RunLike],
    candidate: RunLike | Mapping[str, RunLike],
    metric: str | Metric = "DCG@10",
    convention: str | Convention = "trec",
    *,
    test: Test | None = None,
    looks: Annotated[int, Range(1)] = 5,
    prices: Prices | Mapping[str, float] | Sequence[str] = (),
) -> Settlement:
    """Draw what people or a model should judge next, until the difference is settled.

    Queries are drawn in a random order; the model judges whole queries, the first of them. People
    judge documents of the first of those. A document is drawn with a chance that is proportional
    to how much its grade can move the difference, min(1, c · size), so that its size does not
    depend on what people found and the estimate of ``compare --predicted`` keeps no bias. A batch
    has more queries or a larger c; what was drawn before is drawn again (permanent random
    numbers). Prices and what people found say which of the three is worth most.

    Args:
        collection: what is judged so far. Its judgments are those by people of all documents drawn
            so far, its sample the one that was drawn before, with its chances; neither for the
            first batch. Its predicted judgments are a model's of all documents that either run
            shows, for all queries or the first of them; none where the model did not judge yet.
        baseline: a run, or ``{name: run}``.
        candidate: a run, or ``{name: run}``.
        metric: one that is a sum over documents: DCG@10, SDCG@10, P@10, RBP.
        convention: whose rules the numbers follow.
        test: when it is settled. Its margin is a loss that does not matter; without one it asks
            which system is better. Its level is of the interval where all documents are judged;
            looks before have higher ones, so that where the systems do not differ, one of these
            looks settles that they do with a chance of at most 1 − level. Its power is the chance
            that a batch settles it if the difference is as it looks; its seed that of the drawing,
            the same for all batches.
        looks: how often the interval may be looked at, the last time with all documents.
        prices: what a document costs that people judge (human=1) or a model judges (model=0.01),
            and a query that people begin with (query=0); and the most documents in a batch that
            people judge (budget).

    Raises:
        InputError: data that cannot be read; drawn documents that people did not judge.
        UsageError: a metric that is no sum over documents, a sample of another seed or of other
            runs, prices that are not above 0, fewer than 20 queries.
    """
    costs = Prices.of(prices)
    test = (test or Test()).only("settle", "margin", "level", "power", "seed")
    collection = Collection.of(collection)
    collection.refuse("settle", *OF_TASKS, "drop_seen")
    sample = collection.sample
    if (collection.judgments is None) != (sample is None):
        raise UsageError(
            "people's judgments and the sample that they are of belong together; give both, or "
            "none for the first batch.",
            code="missing-input",
        )
    if sample is not None and collection.predicted is None:
        raise UsageError(
            "people's judgments correct those of a model; give both.", code="missing-input"
        )
    runs = [collection.run(baseline), collection.run(candidate)]
    judge = ModelJudgments.of(collection)
    if judge is not None and judge.saw.left_out:
        raise UsageError(
            f"the model saw people's judgments of {judge.saw.left_out:,} of these queries "
            f"({judge.saw.label}), which then do not correct it; leave these queries out of the "
            "runs and of its judgments.",
            code="model-saw-judgments",
        )
    model = _of_runs(runs) if judge is None else judge.judgments
    scorer = Scorer.of(model, [metric], convention)
    depth = scorer.metrics[0][1].depth() or DEPTH
    scorer = replace(scorer, depth=depth)
    step("finding what each document can change")
    systems = [scorer.scored(run) for run in runs]
    known = [] if judge is None else scorer.index.query_ids.to_list()
    waiting = Unpredicted.of(runs, known, scorer.how, depth, test.seed)
    if len(known) + len(waiting.queries) < LEAST:
        raise UsageError(
            f"{len(known) + len(waiting.queries)} queries decide nothing, whatever is judged; "
            f"{LEAST} are the least.",
            code="too-few-queries",
        )
    terms = Terms(test.level, test.margin or 0.0, test.power, looks, costs.budget)
    next_step = _Step(systems, scorer.metrics[0][0], terms, costs, waiting)
    if judge is not None:
        notices = [each for run in systems for each in run_notices(run.name, run.cautions)]
        notices.append(Notice("predicted-saw", f"{judge.saw.condition}."))
        next_step = replace(next_step, notices=tuple(notices))
    if len(known) < LEAST:
        return next_step.by_model(max(_FIRST - len(known), LEAST))
    frame = Frame.of(scorer, model, systems, runs, test.seed)
    if judge is None or sample is None:
        return next_step.first(frame, before_people(systems, frame))
    table = sample.documents if isinstance(sample, Sample) else sample
    drawn = drawn_before(_NONE.drop("batch") if table is None else table, frame)
    step("estimating the difference")
    judged = Collection(collection.judgments, columns=collection.columns, grades=collection.grades)
    own = Scorer.of(judged, [metric], convention)
    return next_step.later(frame, drawn, estimated(own, judge, runs, drawn, frame))


def _of_runs(runs: Sequence[Run]) -> Qrels:
    """Queries without judgments, where the model has none yet."""
    return placeholder(sorted(set(runs[0].table["query_id"].to_list())))


@dataclass(frozen=True)
class _Found:
    """What a look found; nothing before people judged.

    Attributes:
        interval: the difference and both ends; None where it is not looked at.
        state: what it says.
        correlation, worth: as of `Settlement`.
    """

    interval: tuple[float, float, float] | None = None
    state: State = "open"
    correlation: float | None = None
    worth: float | None = None


_NOTHING = _Found()


@dataclass(frozen=True)
class _Step:
    """One step of a comparison that is judged in batches.

    Attributes:
        systems: by the model's judgments.
        metric: its label.
        terms, prices: as of `settle`.
        waiting: queries that the model did not judge.
        notices: of the model's judgments and the runs.
    """

    systems: Sequence[ScoredRun]
    metric: str
    terms: Terms
    prices: Prices
    waiting: Unpredicted
    notices: tuple[Notice, ...] = ()

    def by_model(self, count: int) -> Settlement:
        """The model judges first: without it nothing can be drawn."""
        price, calls = self.prices.model, self.waiting.first(count)
        row = action("model", len(calls), price, None) | {"chosen": True}
        return self._result(
            self.terms.level_of(0), actions=[row], batch=_calls(calls, None, self._share(count, 0))
        )

    def first(self, frame: Frame, known: Estimate) -> Settlement:
        """The first batch, by what the model found."""
        plan = self._plan(frame, known, _NONE, 0)
        wanted = plan.next(0, self.terms.looks, self.terms.budget)
        plan = replace(plan, bought=wanted)
        count = round(wanted.expected * wanted.count / len(frame.queries))
        rows = [action("documents", count, self.prices.human, plan.gain_of_document())]
        if self.prices.query:
            rows.append(action("queries", wanted.count, self.prices.query, None))
        rows = [row | {"chosen": True} for row in rows]
        return self._drawn(self.terms.level_of(0), frame, _NONE, plan, wanted, rows)

    def later(self, frame: Frame, drawn: pl.DataFrame, known: Estimate) -> Settlement:
        """A further batch, unless the difference is settled."""
        look = last_batch(drawn)
        whole = len(drawn.drop_nulls("doc_id")) == len(frame.table)
        level = self.terms.level_of(look, whole=whole and self._last(look))
        plan = self._plan(frame, known, drawn, look)
        share = drawn["query_id"].n_unique() / len(frame.queries)
        joined = abs(share - drawn["query_inclusion"][0]) > _CLOSE  # the model judged more
        found = self._found(known, plan, None if joined else level)
        if found.state != "open" or look >= self.terms.looks:
            return self._result(level, frame, drawn, found)
        rows = plan.actions()
        (chosen,) = (row["action"] for row in rows if row["chosen"])
        if not joined and self.waiting.queries and (count := self._for_model(plan, chosen, look)):
            gain = max(row["gain"] for row in rows)
            calls = _calls(self.waiting.first(count), gain, self._share(count, len(frame.queries)))
            return self._result(level, frame, drawn, found, actions=rows, batch=calls)
        wanted = plan.next(look, self.terms.looks, self.terms.budget)
        return self._drawn(level, frame, drawn, plan, wanted, rows, found)

    def _for_model(self, plan: Plan, chosen: str, look: int) -> int:
        """How many queries the model judges next: all before the last look, which has them all."""
        if look + 1 == self.terms.looks and self.terms.budget is None:
            return len(self.waiting.queries)
        full = plan.bought.count == plan.stages.queries
        wanted = chosen == "model" or (chosen == "queries" and full)
        return plan.predicted_next() if wanted else 0

    def _found(self, known: Estimate, plan: Plan, level: float | None) -> _Found:
        """The interval of a look; none where the model judged more queries since the last one."""
        worth = worth_of_predictions(known.correlation or 0.0, plan.price_of_query)
        if level is None:
            return _Found(None, "open", known.correlation, worth)
        interval = known.interval(level)
        return _Found(interval, self.terms.state(interval), known.correlation, worth)

    def _last(self, look: int) -> bool:
        return not self.waiting.queries or look >= self.terms.looks

    def _share(self, count: int, known: int) -> float:
        """The share of all queries that the model then has judged."""
        every = known + len(self.waiting.queries)
        return min(known + count, every) / every

    def _plan(self, frame: Frame, known: Estimate, drawn: pl.DataFrame, look: int) -> Plan:
        return Plan(
            known.stages, self.prices, frame.bought(drawn), len(drawn.drop_nulls("doc_id")),
            abs(known.mean + self.terms.margin), self.terms.reach(look + 1, len(frame.queries)),
            self.terms.power, len(self.waiting.queries), self.waiting.each,
        )  # fmt: skip

    def _drawn(
        self, level: float, frame: Frame, before: pl.DataFrame, plan: Plan, wanted: Spending,
        rows: list[dict[str, Any]], found: _Found = _NOTHING,
    ) -> Settlement:  # fmt: skip
        sample = frame.draw(wanted, before)
        number = last_batch(before) + 1
        new = sample.filter(pl.col("batch") == number).join(
            frame.table.select(*_PAIR, "size"), on=_PAIR, maintain_order="left"
        )
        gain = plan.gains(new["size"].to_numpy())
        batch = new.with_columns(pl.lit("human").alias("who"), pl.Series("gain", gain))
        ordered = batch.select(list(BATCH)).sort("gain", *_PAIR, descending=[True, False, False])
        return self._result(
            level, frame, before, found, actions=rows, sample=sample, batch=ordered, new=len(new)
        )

    def _result(
        self, level: float, frame: Frame | None = None, drawn: pl.DataFrame = _NONE,
        found: _Found = _NOTHING, *, actions: Sequence[Mapping[str, Any]] = (),
        sample: pl.DataFrame | None = None, batch: pl.DataFrame | None = None, new: int = 0,
    ) -> Settlement:  # fmt: skip
        base, other = self.systems
        delta, low, high = found.interval or (None, None, None)
        lacking = pl.DataFrame(schema=BATCH) if frame is None else _calls(frame.lacking, None, None)
        every = [pl.DataFrame(schema=BATCH) if batch is None else batch]
        every += [lacking] if found.state == "open" else []
        return Settlement(
            baseline=base.name, candidate=other.name, metric=self.metric,
            convention=base.convention, state=found.state, delta=delta, low=low, high=high,
            level=level, margin=self.terms.margin, look=last_batch(drawn), looks=self.terms.looks,
            judged=len(drawn.drop_nulls("doc_id")),
            documents=0 if frame is None else len(frame.table),
            queries=0 if frame is None else len(frame.queries),
            opened=drawn["query_id"].n_unique(), unpredicted=len(self.waiting.queries),
            lacking=len(lacking), correlation=found.correlation, worth=found.worth,
            actions=pl.DataFrame(list(actions), schema=ACTIONS),
            sample=drawn if sample is None else sample, batch=pl.concat(every), new=new,
            input_notices=self.notices,
        )  # fmt: skip


def _calls(documents: pl.DataFrame, gain: float | None, share: float | None) -> pl.DataFrame:
    """`BATCH` of documents that the model judges."""
    return documents.select(
        *_PAIR, pl.lit("model").alias("who"), pl.lit(gain, pl.Float64).alias("gain"),
        pl.lit(1.0).alias("inclusion"), pl.lit(share, pl.Float64).alias("query_inclusion"),
        pl.lit(None, pl.Int64).alias("batch"),
    )  # fmt: skip
