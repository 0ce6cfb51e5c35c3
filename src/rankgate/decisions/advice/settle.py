"""The verb ``settle``: draw what people or a model judge next to settle a comparison.

The module also estimates the difference, and the parts of its variance, from people's judgments.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

import numpy as np
import polars as pl

from rankgate.core.declare import Range
from rankgate.core.errors import UsageError
from rankgate.core.frozen import dataclass
from rankgate.core.present.base_result import Notice, run_notices
from rankgate.core.present.number_formats import count_noun
from rankgate.core.progress import step
from rankgate.data.collection import TASK_FIELDS, Collection
from rankgate.data.query_sample import Sample
from rankgate.decisions.advice.settlement import (
    ACTIONS,
    BATCH,
    SAMPLE,
    SamplingFrame,
    Settlement,
    Unpredicted,
    last_batch,
    placeholder,
    read_earlier_sample,
)
from rankgate.decisions.advice.settlement_plan import MIN_QUERIES, Plan, Prices, Terms, action_row
from rankgate.decisions.comparison.compared_systems import design_systems
from rankgate.decisions.comparison.inference import Test
from rankgate.decisions.comparison.paired_values import pair_values
from rankgate.measurement.evaluation.model_judgments import ModelJudgments
from rankgate.measurement.evaluation.scored_system import DEPTH, Scorer
from rankgate.measurement.stats.mean_intervals import guarded_interval
from rankgate.measurement.stats.sampling_design import SamplingPlan, TwoStage, break_even_price

if TYPE_CHECKING:
    from rankgate.core.arrays import Floats
    from rankgate.core.value_types import JsonObject
    from rankgate.data import Qrels, Run
    from rankgate.data.input_types import QrelsLike, RunLike
    from rankgate.data.run_scores import ScoredRun
    from rankgate.decisions.advice.settlement import State
    from rankgate.measurement.metrics.metric_declaration import Metric
    from rankgate.measurement.scoring import Convention


_PRIOR_SQUARED_ERROR = 0.25  # share of the size: the assumed error of a model's grade, until people judge
_PRIOR_DOCUMENTS = 5  # that the same counts for afterwards
_PRIOR_EXPLAINED = 0.5  # assumed share of the variance among queries, until people judge
_MAX_CORRELATION = 0.99  # correlation
_MIN_BETWEEN = 0.1  # share of the variance of estimates by query that remains among whole queries


@dataclass(frozen=True)
class Estimate:
    """A difference, and the parts of its variance.

    Attributes:
        values: (n,) values whose mean is the difference and whose spread gives its standard error.
        stages: the stages of the variance.
        correlation: the correlation of people's and the model's differences; None if unknown.
    """

    values: Floats
    stages: TwoStage
    correlation: float | None = None

    @property
    def mean(self) -> float:
        """The difference."""
        return float(self.values.mean())

    def interval(self, level: float) -> tuple[float, float, float]:
        """The difference and both ends."""
        interval = guarded_interval(self.values, level)
        return self.mean, float(interval.low[0]), float(interval.high[0])


def estimate_from_model(systems: Sequence[ScoredRun], frame: SamplingFrame) -> Estimate:
    """Estimate from the model's judgments alone, assumed to explain half of the variance."""
    values = pair_values(systems[0], systems[1], "zero")
    gains = float(values.signs[0]) * values.gains[:, 0]
    defined_gains = gains[~np.isnan(gains)]
    variance = max(float(defined_gains.var(ddof=1)), 1e-12)
    stages = TwoStage(
        frame.sizes,
        len(frame.queries),
        (1 - _PRIOR_EXPLAINED) * variance,
        _PRIOR_EXPLAINED * variance,
        _PRIOR_SQUARED_ERROR,
    )
    return Estimate(defined_gains, stages)


def estimate_difference(
    people: Scorer,
    model: ModelJudgments,
    runs: Sequence[Run],
    drawn_documents: pl.DataFrame,
    frame: SamplingFrame,
) -> Estimate:
    """Estimate from people's judgments of the drawn documents.

    Args:
        people: the scorer of people's judgments.
        model: the model's judgments, and the judgments that the model saw.
        runs: baseline and candidate.
        drawn_documents: the sample.
        frame: the documents that could be drawn.

    Raises:
        InputError, UsageError: as ``compare --predicted``.
    """
    sample = Sample("sample", _query_sample(drawn_documents), documents=drawn_documents)
    systems = [people.scored(run) for run in runs]
    designed_systems = design_systems(people, model, sample, systems, runs, "zero")
    (design,) = designed_systems.designs
    baseline, candidate = designed_systems.systems
    values = pair_values(baseline, candidate, "zero")
    is_defined = ~np.isnan(values.gains[:, 0])
    queries = [q for q, has_gain in zip(values.query_ids, is_defined, strict=True) if has_gain]
    sign = float(values.signs[0])

    def contrast(baseline: Floats, candidate: Floats) -> Floats:
        return sign * (candidate - baseline)

    estimate = design.estimate(queries, values.gains[is_defined, 0], people.metrics[0][0], contrast)
    assert design.documents is not None
    changes = design.documents.with_columns(part=pl.col("candidate") - pl.col("baseline"))
    squared = _squared_error(changes, frame, set(drawn_documents["query_id"].to_list()))
    total_variance, query_count = len(queries) * estimate.sampled_error**2, len(frame.queries)
    within_variance = TwoStage(frame.sizes, query_count, 0.0, 0.0, squared).within(
        frame.bought(drawn_documents).expected
    )
    between_variance = max(total_variance - within_variance, _MIN_BETWEEN * total_variance, 1e-12)
    correlation = _correct_correlation(estimate.correlation, total_variance / between_variance)
    explained = correlation**2 * between_variance
    stages = TwoStage(frame.sizes, query_count, between_variance - explained, explained, squared)
    # without further queries the model adds no information about these queries
    differences = values.gains[is_defined, 0] if len(queries) == query_count else estimate.values
    return Estimate(differences, stages, correlation)


def _correct_correlation(correlation: float, times: float) -> float:
    """Remove from a correlation the variance that drawing documents adds to people's values.

    Args:
        correlation: the correlation of estimates by query.
        times: the factor from the variance of whole queries to the variance of estimates (Spearman
            1904).
    """
    corrected_correlation = 0.0 if np.isnan(correlation) else correlation * float(np.sqrt(times))
    return min(max(corrected_correlation, 0.0), _MAX_CORRELATION)


def _query_sample(drawn_documents: pl.DataFrame) -> pl.DataFrame:
    """The table of a `Sample`: each query once, with its probability."""
    null_text = pl.lit(None, pl.String)
    return (
        drawn_documents.select("query_id", inclusion="query_inclusion")
        .unique()
        .sort("query_id")
        .select(
            "query_id",
            "inclusion",
            pl.lit(None, pl.Float64).alias("share"),
            pl.lit(1.0).alias("weight"),
            null_text.alias("stratum"),
        )
    )


def _squared_error(changes: pl.DataFrame, frame: SamplingFrame, queries: set[str]) -> float:
    """e² of a document of size 1: Σ c²/π over drawn documents by Σ size² over all documents.

    A few more documents are assumed to have an error of half of what a grade can change: a model
    without errors in a small sample may still have errors elsewhere.
    """
    sizes = frame.table.filter(pl.col("query_id").is_in(list(queries)))["size"].to_numpy()
    mean_square = float((sizes**2).mean())
    squared_error = float((changes["part"].to_numpy() ** 2 / changes["inclusion"].to_numpy()).sum())
    prior_weight = _PRIOR_DOCUMENTS * mean_square
    return (squared_error + _PRIOR_SQUARED_ERROR * prior_weight) / (float((sizes**2).sum()) + prior_weight)


_FIRST_PREDICTED = 50  # queries that a model judges in the first step
_CLOSE = 1e-9
_EMPTY_SAMPLE = pl.DataFrame(schema=SAMPLE)
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
    judge documents of the first of those. A document is drawn with a probability that is proportional
    to how much its grade can move the difference, min(1, c · size), so that its size does not
    depend on what people found and the estimate of ``compare --predicted`` keeps no bias. A batch
    has more queries or a larger c; what was drawn before is drawn again (permanent random
    numbers). Prices and people's judgments show which of the three is worth most.

    Args:
        collection: the judgments so far: people's grades of all documents drawn so far, and the
            previous sample with its probabilities; neither for the first batch. Its predicted
            judgments are a model's grades of all documents that either run shows, for all queries
            or the first of them; none if the model did not judge yet.
        baseline: a run, or ``{name: run}``.
        candidate: a run, or ``{name: run}``.
        metric: a metric that is a sum over documents: DCG@10, SDCG@10, P@10, RBP.
        convention: the convention of the metrics.
        test: when it is settled. Its margin is a loss that does not matter; without one it asks
            which system is better. Its level is of the interval where all documents are judged;
            looks before have higher ones, so that where the systems do not differ, one of these
            looks settles that they do with a probability of at most 1 − level. Its power is the chance
            that a batch settles it if the difference is as it looks; its seed that of the drawing,
            the same for all batches.
        looks: the number of looks at the interval, the last one with all documents.
        prices: the price of a document that people judge (human=1) or a model judges (model=0.01),
            of a query that people begin with (query=0), and the largest number of documents in a
            batch for people (budget).

    Raises:
        InputError: data that cannot be read; drawn documents that people did not judge.
        UsageError: a metric that is not a sum over documents, a sample of another seed or of other
            runs, prices that are not above 0, fewer than 20 queries.
    """
    costs = Prices.read(prices)
    test = (test or Test()).only("settle", "margin", "level", "power", "seed")
    collection = Collection.of(collection)
    collection.refuse("settle", *TASK_FIELDS, "drop_seen")
    sample = collection.sample
    if (collection.judgments is None) != (sample is None):
        raise UsageError(
            "people's judgments and their sample belong together; give both, or neither for the first batch.",
            code="missing-input",
        )
    if sample is not None and collection.predicted is None:
        raise UsageError("people's judgments correct those of a model; give both.", code="missing-input")
    runs = [collection.run(baseline), collection.run(candidate)]
    judge = ModelJudgments.from_collection(collection)
    if judge is not None and judge.saw.left_out:
        raise UsageError(
            f"the model saw people's judgments of {judge.saw.left_out:,} of these queries "
            f"({judge.saw.label}), which then do not correct it; leave these queries out of the runs and of "
            "its judgments.",
            code="model-saw-judgments",
        )
    model = _placeholder_judgments(runs) if judge is None else judge.judgments
    scorer = Scorer.from_metrics(model, [metric], convention)
    depth = scorer.metrics[0][1].depth() or DEPTH
    scorer = replace(scorer, depth=depth)
    step("finding what each document can change")
    systems = [scorer.scored(run) for run in runs]
    predicted_queries = [] if judge is None else scorer.index.query_ids.to_list()
    waiting = Unpredicted.find(runs, predicted_queries, scorer.how, depth, test.seed)
    query_count = len(predicted_queries) + len(waiting.queries)
    if query_count < MIN_QUERIES:
        raise UsageError(
            f"{count_noun(query_count, 'query is', 'queries are')} too few to decide, even if every document "
            f"is judged; at least {MIN_QUERIES} are needed.",
            code="too-few-queries",
        )
    terms = Terms(test.level, test.margin or 0.0, test.power, looks, costs.budget)
    next_step = _SettlingStep(systems, scorer.metrics[0][0], terms, costs, waiting)
    if judge is not None:
        notices = [notice for run in systems for notice in run_notices(run.name, run.cautions)]
        notices.append(Notice("predicted-saw", f"{judge.saw.condition}."))
        next_step = replace(next_step, notices=tuple(notices))
    if len(predicted_queries) < MIN_QUERIES:
        return next_step.by_model(max(_FIRST_PREDICTED - len(predicted_queries), MIN_QUERIES))
    frame = SamplingFrame.collect(scorer, model, systems, runs, test.seed)
    if judge is None or sample is None:
        return next_step.first(frame, estimate_from_model(systems, frame))
    table = sample.documents if isinstance(sample, Sample) else sample
    drawn_documents = read_earlier_sample(_EMPTY_SAMPLE.drop("batch") if table is None else table, frame)
    step("estimating the difference")
    people_judgments = Collection(collection.judgments, columns=collection.columns, grades=collection.grades)
    people_scorer = Scorer.from_metrics(people_judgments, [metric], convention)
    return next_step.later(
        frame, drawn_documents, estimate_difference(people_scorer, judge, runs, drawn_documents, frame)
    )


def _placeholder_judgments(runs: Sequence[Run]) -> Qrels:
    """Placeholder judgments that name the queries of the runs, as the model has judged none."""
    return placeholder(sorted(set(runs[0].table["query_id"].to_list())))


@dataclass(frozen=True)
class _LookResult:
    """Result of one look; empty before people judged.

    Attributes:
        interval: the difference and both ends; None without a look.
        state: the state that the interval shows.
        correlation, worth: as in `Settlement`.
    """

    interval: tuple[float, float, float] | None = None
    state: State = "open"
    correlation: float | None = None
    worth: float | None = None


_NO_LOOK = _LookResult()


@dataclass(frozen=True)
class _SettlingStep:
    """One step of a comparison that is judged in batches.

    Attributes:
        systems: the scored systems by the model's judgments.
        metric: the label of the metric.
        terms, prices: as in `settle`.
        waiting: queries that the model did not judge.
        notices: warnings about the model's judgments and the runs.
    """

    systems: Sequence[ScoredRun]
    metric: str
    terms: Terms
    prices: Prices
    waiting: Unpredicted
    notices: tuple[Notice, ...] = ()

    def by_model(self, count: int) -> Settlement:
        """Let the model judge first: documents are drawn by its judgments."""
        price, documents = self.prices.model, self.waiting.first(count)
        row = action_row("model", len(documents), price, None) | {"chosen": True}
        return self._result(
            self.terms.level_of(0), actions=[row], batch=_model_batch(documents, None, self._share(count, 0))
        )

    def first(self, frame: SamplingFrame, estimate: Estimate) -> Settlement:
        """Draw the first batch, by the model's judgments."""
        plan = self._plan(frame, estimate, _EMPTY_SAMPLE, 0)
        spending = plan.next(0, self.terms.looks, self.terms.budget)
        plan = replace(plan, bought=spending)
        count = round(spending.expected * spending.count / len(frame.queries))
        rows = [action_row("documents", count, self.prices.human, plan.gain_of_document())]
        if self.prices.query:
            rows.append(action_row("queries", spending.count, self.prices.query, None))
        rows = [row | {"chosen": True} for row in rows]
        return self._draw_batch(self.terms.level_of(0), frame, _EMPTY_SAMPLE, plan, spending, rows)

    def later(self, frame: SamplingFrame, sample: pl.DataFrame, estimate: Estimate) -> Settlement:
        """Draw a further batch, unless the difference is settled."""
        look = last_batch(sample)
        is_complete = len(sample.drop_nulls("doc_id")) == len(frame.table)
        level = self.terms.level_of(look, whole=is_complete and self._last(look))
        plan = self._plan(frame, estimate, sample, look)
        share = sample["query_id"].n_unique() / len(frame.queries)
        model_judged_more = abs(share - sample["query_inclusion"][0]) > _CLOSE  # the model judged more
        look_result = self._look_interval(estimate, plan, None if model_judged_more else level)
        if look_result.state != "open" or look >= self.terms.looks:
            return self._result(level, frame, sample, look_result)
        rows = plan.actions()
        (chosen_action,) = (row["action"] for row in rows if row["chosen"])
        if (
            not model_judged_more
            and self.waiting.queries
            and (count := self._for_model(plan, chosen_action, look))
        ):
            gain = max(row["gain"] for row in rows)
            batch = _model_batch(self.waiting.first(count), gain, self._share(count, len(frame.queries)))
            return self._result(level, frame, sample, look_result, actions=rows, batch=batch)
        spending = plan.next(look, self.terms.looks, self.terms.budget)
        return self._draw_batch(level, frame, sample, plan, spending, rows, look_result)

    def _for_model(self, plan: Plan, action_name: str, look: int) -> int:
        """The number of queries that the model judges next; before the last look, all the rest."""
        if look + 1 == self.terms.looks and self.terms.budget is None:
            return len(self.waiting.queries)
        all_queries_judged = plan.bought.count == plan.stages.queries
        model_is_next = action_name == "model" or (action_name == "queries" and all_queries_judged)
        return plan.predicted_next() if model_is_next else 0

    def _look_interval(self, estimate: Estimate, plan: Plan, level: float | None) -> _LookResult:
        """The interval of a look; None if the model judged more queries since the last look."""
        worth = break_even_price(estimate.correlation or 0.0, plan.price_of_query)
        if level is None:
            return _LookResult(None, "open", estimate.correlation, worth)
        interval = estimate.interval(level)
        return _LookResult(interval, self.terms.state(interval), estimate.correlation, worth)

    def _last(self, look: int) -> bool:
        return not self.waiting.queries or look >= self.terms.looks

    def _share(self, count: int, predicted_count: int) -> float:
        """The share of all queries that the model has judged after `count` more queries."""
        query_count = predicted_count + len(self.waiting.queries)
        return min(predicted_count + count, query_count) / query_count

    def _plan(self, frame: SamplingFrame, estimate: Estimate, sample: pl.DataFrame, look: int) -> Plan:
        return Plan(
            estimate.stages,
            self.prices,
            frame.bought(sample),
            len(sample.drop_nulls("doc_id")),
            abs(estimate.mean + self.terms.margin),
            self.terms.half_width(look + 1, len(frame.queries)),
            self.terms.power,
            len(self.waiting.queries),
            self.waiting.mean_documents,
        )

    def _draw_batch(
        self,
        level: float,
        frame: SamplingFrame,
        earlier_sample: pl.DataFrame,
        plan: Plan,
        spending: SamplingPlan,
        rows: Sequence[JsonObject],
        look_result: _LookResult = _NO_LOOK,
    ) -> Settlement:
        sample = frame.draw(spending, earlier_sample)
        number = last_batch(earlier_sample) + 1
        new_documents = sample.filter(pl.col("batch") == number).join(
            frame.table.select(*_PAIR, "size"), on=_PAIR, maintain_order="left"
        )
        gain = plan.gains(new_documents["size"].to_numpy())
        batch = new_documents.with_columns(pl.lit("human").alias("who"), pl.Series("gain", gain))
        sorted_batch = batch.select(list(BATCH)).sort("gain", *_PAIR, descending=[True, False, False])
        return self._result(
            level,
            frame,
            earlier_sample,
            look_result,
            actions=rows,
            sample=sample,
            batch=sorted_batch,
            new=len(new_documents),
        )

    def _result(
        self,
        level: float,
        frame: SamplingFrame | None = None,
        earlier_sample: pl.DataFrame = _EMPTY_SAMPLE,
        look_result: _LookResult = _NO_LOOK,
        *,
        actions: Sequence[JsonObject] = (),
        sample: pl.DataFrame | None = None,
        batch: pl.DataFrame | None = None,
        new: int = 0,
    ) -> Settlement:
        baseline, candidate = self.systems
        delta, low, high = look_result.interval or (None, None, None)
        unjudged = pl.DataFrame(schema=BATCH) if frame is None else _model_batch(frame.lacking, None, None)
        batches = [pl.DataFrame(schema=BATCH) if batch is None else batch]
        batches += [unjudged] if look_result.state == "open" else []
        return Settlement(
            baseline=baseline.name,
            candidate=candidate.name,
            metric=self.metric,
            convention=baseline.convention,
            state=look_result.state,
            delta=delta,
            low=low,
            high=high,
            level=level,
            margin=self.terms.margin,
            look=last_batch(earlier_sample),
            looks=self.terms.looks,
            judged=len(earlier_sample.drop_nulls("doc_id")),
            documents=0 if frame is None else len(frame.table),
            queries=0 if frame is None else len(frame.queries),
            opened=earlier_sample["query_id"].n_unique(),
            unpredicted=len(self.waiting.queries),
            lacking=len(unjudged),
            correlation=look_result.correlation,
            worth=look_result.worth,
            actions=pl.DataFrame(list(actions), schema=ACTIONS),
            sample=earlier_sample if sample is None else sample,
            batch=pl.concat(batches),
            new=new,
            input_notices=self.notices,
        )


def _model_batch(documents: pl.DataFrame, gain: float | None, share: float | None) -> pl.DataFrame:
    """`BATCH` of documents that the model judges."""
    return documents.select(
        *_PAIR,
        pl.lit("model").alias("who"),
        pl.lit(gain, pl.Float64).alias("gain"),
        pl.lit(1.0).alias("inclusion"),
        pl.lit(share, pl.Float64).alias("query_inclusion"),
        pl.lit(None, pl.Int64).alias("batch"),
    )
