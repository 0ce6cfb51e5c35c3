"""The plan of a settlement: prices and budget, terms, and the choice of the next judgments.

Prices are those of a judgment by people, a call of a model and a new query. Terms are level,
margin, power, number of looks, and levels by look. The plan chooses between more documents or
more queries by people, and more judgments by the model.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from rankgate.core.errors import UsageError
from rankgate.core.frozen import dataclass
from rankgate.measurement.stats.mean_intervals import student_quantile
from rankgate.measurement.stats.sampling_design import SamplingPlan, best_plan, predictions_needed

if TYPE_CHECKING:
    from rankgate.core.arrays import Floats
    from rankgate.decisions.advice.settlement import State
    from rankgate.measurement.stats.sampling_design import TwoStage


@dataclass(frozen=True)
class Prices:
    """Prices in one currency, and the largest batch.

    Attributes:
        human: the price of a document that people judge.
        model: the price of a document that a model judges.
        query: the price of a query that people begin to judge, in addition to its documents.
        budget: the most documents in a batch that people judge; None sets no limit.
    """

    human: float = 1.0
    model: float = 0.01
    query: float = 0.0
    budget: int | None = None

    @classmethod
    def read(cls, prices: Prices | Mapping[str, float] | Sequence[str]) -> Prices:
        """Read ``{"human": 2}`` or ``["human=2"]``.

        Without prices, 100 documents by the model cost as much as one by people, and a query costs
        nothing but its documents.

        Raises:
            UsageError: an unknown name, one given twice; a price that is not a number above 0
                (a query may cost nothing but its documents); prices without that of people.

        >>> Prices.read(["human=2", "model=0.05"])
        Prices(human=2.0, model=0.05, query=0.0, budget=None)
        """
        if isinstance(prices, Prices):
            return prices
        pairs = (
            list(prices.items())
            if isinstance(prices, Mapping)
            else [(name, value) for name, _, value in (text.partition("=") for text in prices)]
        )
        price_by_name: dict[str, float] = {}
        for name, value in pairs:
            if name in price_by_name:
                raise UsageError(f"{name} has two prices; give one.", code="duplicate-option")
            price_by_name[name] = cls._price(name, value)
        budget = price_by_name.pop("budget", None)
        if price_by_name and "human" not in price_by_name:
            raise UsageError(
                f"there is a price of {' and '.join(price_by_name)}, but no price of a document that people "
                "judge, in the same currency; add one, such as human=1.",
                code="missing-input",
            )
        return cls(**price_by_name, budget=None if budget is None else int(budget))

    @classmethod
    def _price(cls, name: str, value: float | str) -> float:
        if name not in cls.__dataclass_fields__:
            raise UsageError(
                f"unknown price {name!r}; there are human, model and query, as in human=2.",
                code="unknown-choice",
            )
        try:
            number = float(value)
        except ValueError:
            number = float("nan")
        if name == "budget" and not (1 <= number < float("inf") and number == int(number)):
            problem = f"the budget {value} is not a number of documents from 1 up."
            raise UsageError(problem, code="out-of-range")
        if not (0 < number < float("inf") or (number == 0 and name == "query")):
            raise UsageError(
                f"the price {name}={value} is not a number above 0: a free judgment would always be next; "
                "give a price, in any currency.",
                code="out-of-range",
            )
        return number


_FIRST_DOCUMENT_SHARE = 0.1  # share of the documents, at the first look


def look_levels(level: float, looks: int, *, linear: bool = False) -> Floats:
    """(K,) levels of intervals that are looked at before all documents are judged.

    The probability that the interval of any look misses the truth is 1 − level: bounds of Pocock's type
    by an error spending function (Lan and DeMets 1983). The variance of a sum over documents drawn
    with the probability π falls as (1 − π)/π, so that looks have the information π/(1 − π); the variance
    among queries is in all looks, and makes them more similar, which keeps the probability lower.

    Args:
        level: the confidence level of all looks together.
        looks: K.
        linear: True if looks add equal numbers of documents; else each look multiplies the number.

    >>> look_levels(0.95, 4).round(3)
    array([0.993, 0.993, 0.986, 0.97 ])
    """
    from rankgate.measurement.stats.sequential_experiments import spending_bounds
    from rankgate.measurement.stats.special_functions import ndtr

    if not looks:
        return np.zeros(0)
    order = np.arange(1, looks + 1)
    share = _FIRST_DOCUMENT_SHARE ** (1 - (order - 1) / looks)
    information_times = order / looks if linear else share / (1 - share) * (1 - share[-1]) / share[-1]
    bounds = spending_bounds(information_times.tolist(), 1 - level, "pocock")
    return np.asarray(1 - 2 * ndtr(-bounds), np.float64)


@dataclass(frozen=True)
class Terms:
    """Terms that are fixed before the first look.

    Attributes:
        level, margin, power, looks, budget: as in `settle`.
    """

    level: float
    margin: float
    power: float
    looks: int
    budget: int | None

    def level_of(self, look: int, *, whole: bool = False) -> float:
        """Level of the interval of a look; ``level`` if all documents are judged."""
        levels = self._levels
        return self.level if whole or not len(levels) else float(levels[min(max(look, 1), len(levels)) - 1])

    def half_width(self, look: int, queries: int) -> float:
        """Half-width of a look's interval, in standard errors."""
        return student_quantile(queries - 1, (1 + self.level_of(look)) / 2)

    def state(self, interval: tuple[float, float, float]) -> State:
        """The state that an interval shows."""
        _, low, high = interval
        if low > -self.margin:
            return "not-worse" if self.margin else "better"
        return "worse" if high < -self.margin else "open"

    @cached_property
    def _levels(self) -> Floats:
        """Levels by look; with a budget also of the last look, which may lack documents."""
        linear = self.budget is not None
        return look_levels(self.level, self.looks if linear else self.looks - 1, linear=linear)


MIN_QUERIES = 20
"""The least number of queries that people judge; fewer give no interval."""

_FIRST_SHARE = 0.1  # share of all documents, or one document per query: the first batch
_GROWTH = 1.3  # smallest growth from batch to batch
_STEPS = 30  # steps of a bisection
_COARSE_STEPS = 12  # steps of a bisection over sums
_MIN_MORE_QUERIES = 0.1  # share of its queries: the smallest batch of a model


@dataclass(frozen=True)
class Plan:
    """Variance, prices and judgments so far: the inputs of the next batch.

    Attributes:
        stages: the parts of the variance.
        prices: the prices of each kind.
        bought: queries and documents that people judged.
        judged: the number of documents that people judged.
        distance: the distance of the difference from the margin.
        reach: standard errors that the distance must exceed, by the level of the next look.
        power: the probability that a batch settles the comparison if the difference is as estimated.
        waiting: queries that the model did not judge.
        shown: the mean number of documents of such a query.
    """

    stages: TwoStage
    prices: Prices
    bought: SamplingPlan
    judged: int
    distance: float
    reach: float
    power: float
    waiting: int
    shown: float

    @property
    def price_of_query(self) -> float:
        """Price of a query that people judge, with the mean number of documents of a query."""
        documents = self.bought.expected / self.stages.queries
        return self.prices.query + self.prices.human * documents

    @property
    def price_of_prediction(self) -> float:
        """Price of a query that the model judges."""
        documents_per_query = len(self.stages.sizes) / self.stages.queries
        return self.prices.model * (self.shown if self.waiting else documents_per_query)

    @property
    def error(self) -> float:
        """The standard error that would settle the difference."""
        return max(self.distance, 1e-12) / (self.reach + student_quantile(10**6, self.power))

    @property
    def slope(self) -> float:
        """Increase of the probability of settling the difference, per unit of variance removed.

        P = Φ(distance/√V − reach), so −dP/dV = φ(distance/√V − reach) · distance/(2V^1.5).
        """
        variance = self._variance(self.bought)
        z = self.distance / np.sqrt(variance) - self.reach
        density = np.exp(-(z**2) / 2) / np.sqrt(2 * np.pi)
        return float(density * self.distance / (2 * variance**1.5))

    def actions(self) -> list[dict[str, Any]]:
        """Rows by kind of judgment: the count that alone settles the difference, cost and gain.

        The chosen action raises the probability of settling the difference most for its price.
        """
        documents, count = self._documents(), self.bought.count
        variance = self.stages.of_query(count, self.bought.expected)
        price = self.price_of_query
        if count == self.stages.queries:  # the model must also judge a further query
            variance += self.stages.of_prediction(count)
            price += self.price_of_prediction
        rows = [
            action_row("documents", documents, self.prices.human, self.gain_of_document()),
            action_row("queries", self._queries(), price, self.slope * variance / price),
        ]
        if self.waiting:
            more = self._predictions()
            gain = self.slope * self.stages.of_prediction(self.stages.queries)
            rows.append(
                action_row(
                    "model",
                    None if more is None else int(np.ceil(more * self.shown)),
                    self.prices.model,
                    gain / self.price_of_prediction,
                )
            )
        rows[int(np.argmax([row["gain"] for row in rows]))]["chosen"] = True
        return rows

    def gains(self, sizes: Floats) -> Floats:
        """(k,) increase of the probability of settling the difference, per price, by document size."""
        chance = np.minimum(1, self._factor() * sizes)
        variance_reduction = self.stages.of_document(sizes, chance, self.bought.count)
        return np.asarray(self.slope * variance_reduction / self.prices.human, np.float64)

    def gain_of_document(self) -> float:
        """Gain of a document with a probability below 1; all such documents have the same gain."""
        sizes = self.stages.sizes
        undrawn_sizes = sizes[self._factor() * sizes < 1]
        is_fully_drawn = self.bought.expected >= len(sizes) or not len(undrawn_sizes)
        return 0.0 if is_fully_drawn else float(self.gains(undrawn_sizes[:1])[0])

    def next(self, look: int, looks: int, budget: int | None) -> SamplingPlan:
        """Queries and documents that people judge by the next look, at most those of the plan.

        Args:
            look: the number of the last look.
            looks: the largest number of looks.
            budget: the most documents of a batch.
        """
        total = self._planned(look, looks)
        if look:
            cost_so_far = self._cost(self.bought)
            if look + 1 < looks:
                total = max(min(total, self._enough()), _GROWTH * cost_so_far)
        spending = self._spent(total)
        return spending if budget is None else self._bounded(spending, self.judged + budget)

    def _bounded(self, spending: SamplingPlan, documents: int) -> SamplingPlan:
        """Limit the number of documents: first fewer queries, then fewer documents per query."""
        queries_in_frame, spending_so_far, count = self.stages.queries, self.bought, spending.count
        if spending_so_far.expected > 0:
            count = min(
                count,
                max(spending_so_far.count, int(documents * queries_in_frame / spending_so_far.expected)),
            )
        expected = max(min(spending.expected, documents * queries_in_frame / count), spending_so_far.expected)
        return SamplingPlan(count, min(expected, len(self.stages.sizes)))

    def predicted_next(self) -> int:
        """The number of further queries that the model should judge."""
        query_count = predictions_needed(
            self.stages, self.bought, self.price_of_query, self.price_of_prediction
        )
        min_queries = np.ceil(_MIN_MORE_QUERIES * self.stages.queries)
        return int(min(max(np.ceil(query_count) - self.stages.queries, min_queries), self.waiting))

    def _factor(self) -> float:
        """Multiplier c of the chances min(1, c · size)."""
        from rankgate.measurement.stats.sampling_design import inclusion_probabilities

        chance = inclusion_probabilities(self.stages.sizes, self.bought.expected)
        return float((chance / self.stages.sizes).max())

    def _planned(self, look: int, looks: int) -> float:
        """Planned cost at a look: a constant factor between looks, all documents at the last."""
        queries_in_frame, document_count = self.stages.queries, len(self.stages.sizes)
        full_cost = self._cost(SamplingPlan(queries_in_frame, document_count))
        first_cost = MIN_QUERIES * self.prices.query + self.prices.human * max(
            queries_in_frame, round(_FIRST_SHARE * document_count)
        )
        first_cost = min(full_cost, max(first_cost, _FIRST_SHARE * full_cost))
        steps = looks - 1
        return first_cost * (full_cost / first_cost) ** (look / steps) if look < steps else full_cost

    def _cost(self, spending: SamplingPlan) -> float:
        documents = spending.expected / self.stages.queries
        return spending.count * (self.prices.query + self.prices.human * documents)

    def _spent(self, total: float) -> SamplingPlan:
        min_spending = SamplingPlan(
            max(self.bought.count, min(MIN_QUERIES, self.stages.queries)), self.bought.expected
        )
        return best_plan(self.stages, total, self.prices.human, self.prices.query, min_spending)

    def _variance(self, spending: SamplingPlan) -> float:
        return self.stages.variance(spending.count, spending.expected, self.stages.queries)

    def _enough(self) -> float:
        """The lowest cost that settles the difference; otherwise the cost of all documents."""
        low = self._cost(self.bought)
        high = self._cost(SamplingPlan(self.stages.queries, len(self.stages.sizes)))
        for _ in range(_COARSE_STEPS):
            middle = (low + high) / 2
            settles_difference = self._variance(self._spent(middle)) <= self.error**2
            low, high = (low, middle) if settles_difference else (middle, high)
        return high

    def _documents(self) -> int | None:
        """The number of further documents of the same queries to settle the difference, or None."""
        size, count = len(self.stages.sizes), self.bought.count
        if self._variance(SamplingPlan(count, size)) > self.error**2:
            return None
        low, high = self.bought.expected, float(size)
        for _ in range(_STEPS):
            middle = (low + high) / 2
            settles_difference = self._variance(SamplingPlan(count, middle)) <= self.error**2
            low, high = (low, middle) if settles_difference else (middle, high)
        return int(np.ceil((high - self.bought.expected) * count / self.stages.queries - 1e-6))

    def _queries(self) -> int:
        """Further queries with as many documents each; queries that the model judged come first."""
        query_variance = self.stages.between + self.stages.within(self.bought.expected)
        queries_in_frame, target_variance = self.stages.queries, self.error**2
        remaining_variance = target_variance - self.stages.explained / queries_in_frame
        needed_queries = query_variance / remaining_variance if remaining_variance > 0 else np.inf
        if needed_queries > queries_in_frame:
            needed_queries = (query_variance + self.stages.explained) / target_variance
        return max(1, int(np.ceil(min(needed_queries, 1e15))) - self.bought.count)

    def _predictions(self) -> float | None:
        """The number of further queries by the model to settle the difference, or None."""
        query_variance = self.stages.between + self.stages.within(self.bought.expected)
        remaining_variance = self.error**2 - query_variance / self.bought.count
        if remaining_variance <= 0:
            return None
        return max(1.0, self.stages.explained / remaining_variance - self.stages.queries)


def action_row(name: str, count: int | None, price: float, gain: float | None) -> dict[str, Any]:
    """A row of the table of actions."""
    cost = None if count is None else count * price
    return {"action": name, "count": count, "price": price, "cost": cost, "gain": gain, "chosen": False}
