"""The next documents that people should judge to settle a comparison, with their chances."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import polars as pl

from rankgate.advice.settling.frame import Frame, drawn_before, last_batch
from rankgate.advice.settling.prices import Prices
from rankgate.advice.settling.settlement import ACTIONS, SAMPLE, Settlement
from rankgate.comparison.designed import of_both
from rankgate.comparison.inference import Share  # noqa: TC001 - options are made of it
from rankgate.comparison.values import values_of
from rankgate.data import read_qrels, read_run
from rankgate.declare import Range
from rankgate.errors import UsageError
from rankgate.evaluation.sample import Sample
from rankgate.evaluation.scored_system import Scorer
from rankgate.stats.interval import guarded_interval, student_quantile

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rankgate.advice.settling.settlement import State
    from rankgate.data import Qrels, Run
    from rankgate.data.comparison import ScoredRun
    from rankgate.data.inputs import QrelsLike, RunLike, TableLike
    from rankgate.metrics.declare import Metric
    from rankgate.scoring import Convention
    from rankgate.scoring.overrides import Overrides
    from rankgate.stats.represented import Represented

    Floats = NDArray[np.float64]

_BEGIN = 0.1  # of all documents, or one a query: the first batch
_GROWTH = 1.3  # at least, from batch to batch
_NONE = pl.DataFrame(schema=SAMPLE)


def settle(
    baseline: RunLike,
    candidate: RunLike,
    predicted: QrelsLike,
    people: QrelsLike | None = None,
    sample: TableLike | None = None,
    metric: str | Metric = "DCG@10",
    convention: str | Convention = "trec",
    *,
    overrides: Overrides | Sequence[str] = (),
    margin: Annotated[float, Range(0)] = 0.0,
    level: Share = 0.95,
    power: Share = 0.8,
    looks: Annotated[int, Range(1)] = 5,
    budget: Annotated[int | None, Range(1)] = None,
    prices: Prices | Mapping[str, float] | Sequence[str] = (),
    seed: Annotated[int, Range(0)] = 0,
    on_progress: Callable[[str], None] | None = None,
) -> Settlement:
    """Draw the documents that people should judge next, until the difference is settled.

    A document is drawn with a chance that is proportional to how much its grade can move the
    difference, min(1, c · size), so that its size does not depend on what people found and the
    estimate of ``compare --predicted`` keeps no bias. Every batch has a larger c; documents drawn
    before are drawn again (permanent random numbers).

    Args:
        baseline: a run.
        candidate: a run.
        predicted: a model's judgments of all documents that either shows.
        people: people's judgments of all documents drawn so far; none for the first batch.
        sample: the sample that was drawn before, with its chances; none for the first batch.
        metric: one that is a sum over documents: DCG@10, SDCG@10, P@10, RBP.
        convention: whose rules the numbers follow.
        overrides: axes of the convention that are chosen otherwise.
        margin: a loss that does not matter; 0 asks which system is better.
        level: of the interval where all documents are judged; a look before has 1 − level shared
            among the looks, so that with a chance of at most 1 − level a sample settles what all
            judgments would leave open.
        power: the chance that a batch settles it if the difference is as it looks.
        looks: how often the interval may be looked at, the last time with all documents.
        budget: the most documents in a batch.
        prices: what a document that people judge costs (document=1), a query (query=0) and a
            document that the model judges (call=0.01).
        seed: of the drawing; the same for all batches.
        on_progress: called with the current step.

    Raises:
        InputError: data that cannot be read; drawn documents that people did not judge.
        UsageError: a metric that is no sum over documents, a sample of another seed or of other
            runs, prices that are not above 0, fewer than 20 queries.
    """
    say = on_progress or (lambda _: None)
    costs = Prices.of(prices)
    if (people is None) != (sample is None):
        raise UsageError(
            "people's judgments and the sample that they are of belong together; give both, or "
            "none for the first batch.",
            code="missing-input",
        )
    model = read_qrels(predicted)
    scorer = Scorer.of(model, [metric], convention, overrides=overrides)
    runs = [read_run(baseline), read_run(candidate)]
    say("finding what each document can change")
    systems = [scorer.scored(run) for run in runs]
    frame = Frame.of(scorer, model, systems, runs, seed)
    drawn = _NONE if sample is None else drawn_before(sample, frame)
    whole = len(drawn.drop_nulls("doc_id")) == len(frame.table)
    terms = level if whole else 1 - (1 - level) / looks, margin, power
    label = scorer.metrics[0][0]
    step = _Step(frame, drawn, systems, label, terms, looks, budget, costs)
    if people is None:
        return step.first()
    say("estimating the difference")
    own = Scorer.of(people, [metric], convention, overrides=overrides)
    return step.later(own, model, runs)


@dataclass(frozen=True)
class _Step:
    """One step of a comparison that is judged in batches.

    Attributes:
        frame: the documents that can be drawn.
        drawn: those that were.
        systems: by the model's judgments.
        metric: its label.
        terms: the level of this look, the margin, the power.
        looks, budget, prices: as of `settle`.
    """

    frame: Frame
    drawn: pl.DataFrame
    systems: Sequence[ScoredRun]
    metric: str
    terms: tuple[float, float, float]
    looks: int
    budget: int | None
    prices: Prices

    def first(self) -> Settlement:
        """The first batch: nothing is known of the difference."""
        count = min(self._wanted(0), self.budget or len(self.frame.table))
        rows = [self._action("documents", count, self.prices.document, chosen=True)]
        return self._result(None, None, rows, count)

    def later(self, people: Scorer, model: Qrels, runs: Sequence[Run]) -> Settlement:
        """A further batch, unless the difference is settled."""
        level, margin, power = self.terms
        sample = Sample("sample", documents=self.drawn)
        systems = [people.scored(run) for run in runs]
        own, (design,) = of_both(people, model, None, sample, systems, runs, "zero")
        values = values_of(own[0], own[1], "zero")
        known = ~np.isnan(values.gains[:, 0])
        queries = [q for q, there in zip(values.query_ids, known, strict=True) if there]
        sign = float(values.signs[0])

        def contrast(baseline: Floats, candidate: Floats) -> Floats:
            return sign * (candidate - baseline)

        found = design.estimate(queries, values.gains[known, 0], self.metric, contrast)
        ends = guarded_interval(found.values, level)
        interval = found.mean, float(ends.low[0]), float(ends.high[0])
        state = _state(interval, margin)
        if state != "open" or last_batch(self.drawn) >= self.looks:
            return self._result(interval, state, [], 0)
        reach = student_quantile(len(queries) - 1, (1 + level) / 2)
        reach += student_quantile(10**6, power)
        error = max(abs(found.mean + margin), 1e-12) / reach
        more = design.documents_needed(found, queries, self.metric, contrast, error)
        rows = self._choices(found, error, more)
        return self._result(interval, state, rows, self._count(more))

    def _choices(self, found: Represented, error: float, more: int | None) -> list[dict[str, Any]]:
        """Documents of these queries, or more queries with as many documents each."""
        n, judged = len(found.values), len(self.drawn.drop_nulls("doc_id"))
        queries = int(np.ceil(n * found.variance / error**2)) - n
        each = (
            self.prices.query
            + (judged * self.prices.document + len(self.frame.table) * self.prices.call) / n
        )
        rows = [self._action("documents", more, self.prices.document),
                self._action("queries", max(1, queries), each)]  # fmt: skip
        costs = [row["cost"] if row["cost"] is not None else np.inf for row in rows]
        rows[int(np.argmin(costs))]["chosen"] = True
        return rows

    def _count(self, more: int | None) -> int:
        """How many documents the next sample has: what is needed, no more than the plan has."""
        judged, look = len(self.drawn.drop_nulls("doc_id")), last_batch(self.drawn)
        wanted = self._wanted(look)
        if more is not None and look + 1 < self.looks:
            wanted = max(min(wanted, judged + more), round(_GROWTH * judged))
        wanted = min(wanted, len(self.frame.table))
        return wanted if self.budget is None else min(wanted, judged + self.budget)

    def _wanted(self, look: int) -> int:
        """The plan: the same factor from look to look, all documents at the last."""
        size, steps = len(self.frame.table), self.looks - 1
        first = min(size, max(len(self.frame.queries), round(_BEGIN * size)))
        return round(first * (size / first) ** (look / steps)) if look < steps else size

    @staticmethod
    def _action(
        name: str, count: int | None, price: float, *, chosen: bool = False
    ) -> dict[str, Any]:
        cost = None if count is None else count * price
        return {"action": name, "count": count, "price": price, "cost": cost, "chosen": chosen}

    def _result(
        self, interval: tuple[float, float, float] | None, state: State | None,
        rows: list[dict[str, Any]], count: int,
    ) -> Settlement:  # fmt: skip
        level, margin, _ = self.terms
        base, other = self.systems
        delta, low, high = interval or (None, None, None)
        sample = self.frame.draw(count, self.drawn) if count else self.drawn
        if self.frame.lacking:
            rows = [*rows, self._action("model", self.frame.lacking, self.prices.call)]
        judged = len(self.drawn.drop_nulls("doc_id"))
        return Settlement(
            baseline=base.name, candidate=other.name, metric=self.metric,
            convention=base.convention, state=state or "open", delta=delta, low=low, high=high,
            level=level, margin=margin, look=last_batch(self.drawn), looks=self.looks,
            judged=judged, documents=len(self.frame.table), queries=len(self.frame.queries),
            actions=pl.DataFrame(rows, schema=ACTIONS), sample=sample,
            new=len(sample.drop_nulls("doc_id")) - judged,
        )  # fmt: skip


def _state(interval: tuple[float, float, float], margin: float) -> State:
    _, low, high = interval
    if low > -margin:
        return "not-worse" if margin else "better"
    return "worse" if high < -margin else "open"
