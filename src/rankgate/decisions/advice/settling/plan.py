"""What the next sum is best spent on: documents or queries that people judge, or the model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from rankgate.core.frozen import dataclass
from rankgate.measurement.stats.interval import student_quantile
from rankgate.measurement.stats.two_stage import Spending, predictions_wanted, spend

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rankgate.decisions.advice.settling.prices import Prices
    from rankgate.measurement.stats.two_stage import TwoStage

    Floats = NDArray[np.float64]

LEAST = 20
"""Queries that people judge; fewer give no interval."""

_BEGIN = 0.1  # of all documents, or one a query: the first batch
_GROWTH = 1.3  # at least, from batch to batch
_STEPS = 30  # of a bisection
_ROUGH = 12  # of one of sums
_MORE = 0.1  # of its queries: the least that a model judges more


@dataclass(frozen=True)
class Plan:
    """What is known before a batch is drawn.

    Attributes:
        stages: what the variance is made of.
        prices: of each kind.
        bought: queries and documents that people judged.
        judged: how many documents these are.
        distance: of the difference from the margin.
        reach: how many standard errors the distance must be, by the level of the next look.
        power: the chance that a batch settles it if the difference is as it looks.
        waiting: queries that the model did not judge.
        shown: documents of such a query.
    """

    stages: TwoStage
    prices: Prices
    bought: Spending
    judged: int
    distance: float
    reach: float
    power: float
    waiting: int
    shown: float

    @property
    def price_of_query(self) -> float:
        """Of a query that people judge, with as many documents as others have."""
        documents = self.bought.expected / self.stages.queries
        return self.prices.query + self.prices.human * documents

    @property
    def price_of_prediction(self) -> float:
        """Of a query that the model judges."""
        own = len(self.stages.sizes) / self.stages.queries
        return self.prices.model * (self.shown if self.waiting else own)

    @property
    def error(self) -> float:
        """The standard error that would settle it."""
        return max(self.distance, 1e-12) / (self.reach + student_quantile(10**6, self.power))

    @property
    def slope(self) -> float:
        """How much the chance that the difference is settled grows as the variance falls.

        P = Φ(distance/√V − reach), so −dP/dV = φ(distance/√V − reach) · distance/(2V^1.5).
        """
        variance = self._variance(self.bought)
        z = self.distance / np.sqrt(variance) - self.reach
        density = np.exp(-(z**2) / 2) / np.sqrt(2 * np.pi)
        return float(density * self.distance / (2 * variance**1.5))

    def actions(self) -> list[dict[str, Any]]:
        """Each kind: how much of it alone would settle the difference, and what its price buys.

        Chosen is what most raises the chance that the difference is settled, for its price.
        """
        documents, count = self._documents(), self.bought.count
        rest = self.stages.of_query(count, self.bought.expected)
        price = self.price_of_query
        if count == self.stages.queries:  # the model has to judge a further one, too
            rest += self.stages.of_prediction(count)
            price += self.price_of_prediction
        rows = [
            action("documents", documents, self.prices.human, self.gain_of_document()),
            action("queries", self._queries(), price, self.slope * rest / price),
        ]
        if self.waiting:
            more = self._predictions()
            gain = self.slope * self.stages.of_prediction(self.stages.queries)
            rows.append(action(
                "model", None if more is None else int(np.ceil(more * self.shown)),
                self.prices.model, gain / self.price_of_prediction,
            ))  # fmt: skip
        rows[int(np.argmax([row["gain"] for row in rows]))]["chosen"] = True
        return rows

    def gains(self, sizes: Floats) -> Floats:
        """(k,) how much documents of these sizes raise the chance that it is settled, by price."""
        chance = np.minimum(1, self._factor() * sizes)
        own = self.stages.of_document(sizes, chance, self.bought.count)
        return np.asarray(self.slope * own / self.prices.human, np.float64)

    def gain_of_document(self) -> float:
        """Of one whose chance is below 1; they are all alike."""
        sizes = self.stages.sizes
        below = sizes[self._factor() * sizes < 1]
        drawn = self.bought.expected >= len(sizes) or not len(below)
        return 0.0 if drawn else float(self.gains(below[:1])[0])

    def next(self, look: int, looks: int, budget: int | None) -> Spending:
        """What people judge by the next look: what settles it, but no more than the plan has.

        Args:
            look: the number of the last look.
            looks: that there may be.
            budget: the most documents of a batch.
        """
        total = self._planned(look, looks)
        if look:
            known = self._cost(self.bought)
            if look + 1 < looks:
                total = max(min(total, self._enough()), _GROWTH * known)
        found = self._spent(total)
        return found if budget is None else self._bounded(found, self.judged + budget)

    def _bounded(self, found: Spending, documents: int) -> Spending:
        """At most so many documents: fewer queries, then fewer documents of each."""
        m, before, count = self.stages.queries, self.bought, found.count
        if before.expected > 0:
            count = min(count, max(before.count, int(documents * m / before.expected)))
        expected = max(min(found.expected, documents * m / count), before.expected)
        return Spending(count, min(expected, len(self.stages.sizes)))

    def predicted_next(self) -> int:
        """How many queries the model should judge more."""
        wanted = predictions_wanted(
            self.stages, self.bought, self.price_of_query, self.price_of_prediction
        )
        least = np.ceil(_MORE * self.stages.queries)
        return int(min(max(np.ceil(wanted) - self.stages.queries, least), self.waiting))

    def _factor(self) -> float:
        """Multiplier c of the chances min(1, c · size)."""
        from rankgate.measurement.stats.inclusion import inclusion

        chance = inclusion(self.stages.sizes, self.bought.expected)
        return float((chance / self.stages.sizes).max())

    def _planned(self, look: int, looks: int) -> float:
        """The same factor from look to look, all documents of all queries at the last."""
        m, size = self.stages.queries, len(self.stages.sizes)
        whole = self._cost(Spending(m, size))
        first = LEAST * self.prices.query + self.prices.human * max(m, round(_BEGIN * size))
        first = min(whole, max(first, _BEGIN * whole))
        steps = looks - 1
        return first * (whole / first) ** (look / steps) if look < steps else whole

    def _cost(self, bought: Spending) -> float:
        documents = bought.expected / self.stages.queries
        return bought.count * (self.prices.query + self.prices.human * documents)

    def _spent(self, total: float) -> Spending:
        least = Spending(max(self.bought.count, min(LEAST, self.stages.queries)),
                         self.bought.expected)  # fmt: skip
        return spend(self.stages, total, self.prices.human, self.prices.query, least)

    def _variance(self, bought: Spending) -> float:
        return self.stages.variance(bought.count, bought.expected, self.stages.queries)

    def _enough(self) -> float:
        """The least sum that settles it; that of all documents where none does."""
        low = self._cost(self.bought)
        high = self._cost(Spending(self.stages.queries, len(self.stages.sizes)))
        for _ in range(_ROUGH):
            middle = (low + high) / 2
            enough = self._variance(self._spent(middle)) <= self.error**2
            low, high = (low, middle) if enough else (middle, high)
        return high

    def _documents(self) -> int | None:
        """More documents of the same queries."""
        size, count = len(self.stages.sizes), self.bought.count
        if self._variance(Spending(count, size)) > self.error**2:
            return None
        low, high = self.bought.expected, float(size)
        for _ in range(_STEPS):
            middle = (low + high) / 2
            enough = self._variance(Spending(count, middle)) <= self.error**2
            low, high = (low, middle) if enough else (middle, high)
        return int(np.ceil((high - self.bought.expected) * count / self.stages.queries - 1e-6))

    def _queries(self) -> int:
        """More queries with as many documents each, those that the model judged first."""
        rest = self.stages.between + self.stages.within(self.bought.expected)
        m, wanted = self.stages.queries, self.error**2
        left = wanted - self.stages.explained / m
        needed = rest / left if left > 0 else np.inf
        if needed > m:
            needed = (rest + self.stages.explained) / wanted
        return max(1, int(np.ceil(min(needed, 1e15))) - self.bought.count)

    def _predictions(self) -> float | None:
        """More queries that the model judges."""
        rest = self.stages.between + self.stages.within(self.bought.expected)
        left = self.error**2 - rest / self.bought.count
        if left <= 0:
            return None
        return max(1.0, self.stages.explained / left - self.stages.queries)


def action(name: str, count: int | None, price: float, gain: float | None) -> dict[str, Any]:
    """A row of the table of actions."""
    cost = None if count is None else count * price
    return {"action": name, "count": count, "price": price, "cost": cost, "gain": gain,
            "chosen": False}  # fmt: skip
