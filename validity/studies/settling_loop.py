"""The loop of `rankgate next` on arrays: what is judged until a difference is settled."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from rankgate.decisions.advice.settlement_plan import Plan, Terms
from rankgate.measurement.stats.mean_intervals import guarded_interval
from rankgate.measurement.stats.sampling_design import (
    SamplingPlan,
    TwoStage,
    inclusion_probabilities,
)
from rankgate.measurement.stats.weighted_means import Population, estimate_population

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rankgate.decisions.advice.settlement_plan import Prices
    from studies.settling import _Pair

    Floats = NDArray[np.float64]

TERMS = Terms(0.95, 0.0, 0.8, 5, None)
FLOOR, SQUARED, DOCUMENTS, EXPLAINED, HIGHEST = 0.1, 0.25, 5, 0.5, 0.99


@dataclass(frozen=True)
class Spent:
    """What was judged until the verdict.

    Attributes:
        documents: by people.
        queries: of these.
        calls: documents by the model.
        said: 1 or -1 where it was settled.
    """

    documents: int
    queries: int
    calls: int
    said: int

    def cost(self, prices: Prices) -> float:
        """Of all."""
        return (self.documents * prices.human + self.queries * prices.query
                + self.calls * prices.model)  # fmt: skip


@dataclass
class _State:
    """Queries that the model judged, queries and documents that people did, and looks."""

    predicted: int
    count: int
    expected: float
    look: int = 0
    joined: bool = False


def loop(
    pair: _Pair, weight: Floats, prices: Prices, predicted: int, rng: np.random.Generator
) -> Spent:
    """Judge as `rankgate next` says.

    Args:
        pair: of runs.
        weight: (D,) of the documents, to which chances are proportional.
        prices: by which the next step is chosen.
        predicted: queries that the model judged at the beginning.
        rng: of the drawing.
    """
    place, number = rng.permutation(pair.queries)[pair.query], rng.random(len(pair.query))
    model = np.zeros(pair.queries)
    np.add.at(model, place, pair.weight * pair.model)
    size = np.maximum(np.abs(weight), FLOOR * np.abs(weight).mean())
    state = _State(predicted, 0, 0.0)
    while True:
        known = place < state.predicted
        plan, values = _plan(pair, size, number, place, model, prices, state)
        if state.count and not state.joined:
            level = TERMS.level_of(state.look, whole=state.look == TERMS.looks)
            ends = guarded_interval(values, level)
            said = int(ends.low[0] > 0) - int(ends.high[0] < 0)
            if said or state.look == TERMS.looks:
                own = _judged(size[known], number[known], place[known], state)[1]
                return Spent(int(own.sum()), state.count, int(known.sum()), said)
        last = state.look + 1 == TERMS.looks
        if state.count and plan.waiting and not state.joined and (last or _by_model(plan)):
            factor = float(
                (inclusion_probabilities(size[known], state.expected) / size[known]).max()
            )
            state.predicted += plan.waiting if last else plan.predicted_next()
            state.joined = True
            now = place < state.predicted
            state.expected = float(np.minimum(1, factor * size[now]).sum())
            continue
        wanted = plan.next(state.look, TERMS.looks, None)
        state.count, state.expected = wanted.count, wanted.expected
        state.look, state.joined = state.look + 1, False


def _by_model(plan: Plan) -> bool:
    (chosen,) = (row["action"] for row in plan.actions() if row["chosen"])
    full = plan.bought.count == plan.stages.queries
    return bool(chosen == "model" or (chosen == "queries" and full))


def _judged(
    size: Floats, number: Floats, place: NDArray[np.int64], state: _State
) -> tuple[Floats, NDArray[np.bool_]]:
    chance = inclusion_probabilities(size, state.expected)
    return chance, (number < chance) & (place < state.count)


def _plan(
    pair: _Pair, size: Floats, number: Floats, place: NDArray[np.int64], model: Floats,
    prices: Prices, state: _State,
) -> tuple[Plan, Floats]:  # fmt: skip
    known, m = place < state.predicted, state.predicted
    own, every = size[known], model[:m]
    if state.count:
        chance, judged = _judged(own, number[known], place[known], state)
        change = (pair.weight * (pair.people - pair.model))[known]
        values = every[: state.count].copy()
        np.add.at(values, place[known][judged], (change / chance)[judged])
        found = estimate_population(values, None, None, every[: state.count],
                            Population(every, np.ones(m)))  # fmt: skip
        opened = own[place[known] < state.count]
        more = DOCUMENTS * float((opened**2).mean())
        shown = float((change**2 / chance)[judged].sum())
        squared = (shown + SQUARED * more) / (float((opened**2).sum()) + more)
        whole = state.count * found.sampled_error**2
        within = TwoStage(own, m, 0.0, 0.0, squared).within(state.expected)
        spread = max(whole - within, 0.1 * whole, 1e-12)
        correlation = 0.0 if np.isnan(found.correlation) else found.correlation
        square = min(max(correlation * np.sqrt(whole / spread), 0.0), HIGHEST) ** 2
        values = values if state.count == m else found.values
    else:
        values, squared, square = every, SQUARED, EXPLAINED
        spread = max(float(every.var(ddof=1)), 1e-12)
    stages = TwoStage(own, m, (1 - square) * spread, square * spread, squared)
    waiting = pair.queries - m
    plan = Plan(
        stages, prices, SamplingPlan(state.count, state.expected),
        int((number[known] < inclusion_probabilities(own, state.expected)).sum())
        if state.count else 0,
        abs(float(values.mean())), TERMS.half_width(state.look + 1, m), TERMS.power, waiting,
        float((~known).sum()) / max(waiting, 1),
    )  # fmt: skip
    return plan, values
