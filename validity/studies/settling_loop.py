"""The loop of `rankgate next` on arrays: what is judged until a difference is settled."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from rankgate.decisions.advice.settlement_plan import Plan, Terms
from rankgate.measurement.stats.mean_intervals import guarded_interval
from rankgate.measurement.stats.sampling_design import SamplingPlan, TwoStage, inclusion_probabilities
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
        return self.documents * prices.human + self.queries * prices.query + self.calls * prices.model


@dataclass
class _State:
    """Queries that the model judged, queries and documents that people did, and looks."""

    predicted: int
    count: int
    expected: float
    look: int = 0
    joined: bool = False


def loop(pair: _Pair, weight: Floats, prices: Prices, predicted: int, rng: np.random.Generator) -> Spent:
    """Judge as `rankgate next` says.

    Args:
        pair: of runs.
        weight: (D,) of the documents, to which chances are proportional.
        prices: by which the next step is chosen.
        predicted: queries that the model judged at the beginning.
        rng: of the drawing.
    """
    position, number = rng.permutation(pair.queries)[pair.query], rng.random(len(pair.query))
    model = np.zeros(pair.queries)
    np.add.at(model, position, pair.weight * pair.model)
    size = np.maximum(np.abs(weight), FLOOR * np.abs(weight).mean())
    state = _State(predicted, 0, 0.0)
    while True:
        is_predicted = position < state.predicted
        plan, values = _plan(pair, size, number, position, model, prices, state)
        if state.count and not state.joined:
            level = TERMS.level_of(state.look, whole=state.look == TERMS.looks)
            ends = guarded_interval(values, level)
            conclusion = int(ends.low[0] > 0) - int(ends.high[0] < 0)
            if conclusion or state.look == TERMS.looks:
                judged_mask = _judged(
                    size[is_predicted], number[is_predicted], position[is_predicted], state
                )[1]
                return Spent(int(judged_mask.sum()), state.count, int(is_predicted.sum()), conclusion)
        last = state.look + 1 == TERMS.looks
        if state.count and plan.waiting and not state.joined and (last or _by_model(plan)):
            factor = float(
                (inclusion_probabilities(size[is_predicted], state.expected) / size[is_predicted]).max()
            )
            state.predicted += plan.waiting if last else plan.predicted_next()
            state.joined = True
            now = position < state.predicted
            state.expected = float(np.minimum(1, factor * size[now]).sum())
            continue
        next_plan = plan.next(state.look, TERMS.looks, None)
        state.count, state.expected = next_plan.count, next_plan.expected
        state.look, state.joined = state.look + 1, False


def _by_model(plan: Plan) -> bool:
    (action,) = (row["action"] for row in plan.actions() if row["chosen"])
    full = plan.bought.count == plan.stages.queries
    return bool(action == "model" or (action == "queries" and full))


def _judged(
    size: Floats, number: Floats, place: NDArray[np.int64], state: _State
) -> tuple[Floats, NDArray[np.bool_]]:
    chance = inclusion_probabilities(size, state.expected)
    return chance, (number < chance) & (place < state.count)


def _plan(
    pair: _Pair,
    size: Floats,
    number: Floats,
    place: NDArray[np.int64],
    model: Floats,
    prices: Prices,
    state: _State,
) -> tuple[Plan, Floats]:
    is_predicted, m = place < state.predicted, state.predicted
    sizes, predictions = size[is_predicted], model[:m]
    if state.count:
        chance, judged = _judged(sizes, number[is_predicted], place[is_predicted], state)
        change = (pair.weight * (pair.people - pair.model))[is_predicted]
        values = predictions[: state.count].copy()
        np.add.at(values, place[is_predicted][judged], (change / chance)[judged])
        estimate = estimate_population(
            values, None, None, predictions[: state.count], Population(predictions, np.ones(m))
        )
        opened_sizes = sizes[place[is_predicted] < state.count]
        prior_weight = DOCUMENTS * float((opened_sizes**2).mean())
        observed_sum = float((change**2 / chance)[judged].sum())
        squared = (observed_sum + SQUARED * prior_weight) / (float((opened_sizes**2).sum()) + prior_weight)
        total_variance = state.count * estimate.sampled_error**2
        within = TwoStage(sizes, m, 0.0, 0.0, squared).within(state.expected)
        spread = max(total_variance - within, 0.1 * total_variance, 1e-12)
        correlation = 0.0 if np.isnan(estimate.correlation) else estimate.correlation
        square = min(max(correlation * np.sqrt(total_variance / spread), 0.0), HIGHEST) ** 2
        values = values if state.count == m else estimate.values
    else:
        values, squared, square = predictions, SQUARED, EXPLAINED
        spread = max(float(predictions.var(ddof=1)), 1e-12)
    stages = TwoStage(sizes, m, (1 - square) * spread, square * spread, squared)
    waiting = pair.queries - m
    plan = Plan(
        stages,
        prices,
        SamplingPlan(state.count, state.expected),
        int((number[is_predicted] < inclusion_probabilities(sizes, state.expected)).sum())
        if state.count
        else 0,
        abs(float(values.mean())),
        TERMS.half_width(state.look + 1, m),
        TERMS.power,
        waiting,
        float((~is_predicted).sum()) / max(waiting, 1),
    )
    return plan, values
