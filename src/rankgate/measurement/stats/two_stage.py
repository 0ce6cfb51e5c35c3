"""Queries, then documents of each: what an estimate's variance is, and how to spend on it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rankgate.core.frozen import dataclass
from rankgate.measurement.stats.inclusion import inclusion_probabilities

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

_CHOICES = 25  # numbers of queries that are tried


@dataclass(frozen=True)
class TwoStage:
    """A mean over queries, of n of which people judge documents drawn with probabilities π.

    A model judged all documents of N queries and explains a part of what differs among them. With
    m queries in the frame, the variance of the regression estimator is

        V = (B + W)/n + F/N,    W = (1/m) Σ e²(1 − π)/π,    π = inclusion(sizes, expected)

    (Särndal, Swensson and Wretman 1992, sections 4.3 and 9.6; Cochran 1977, chapters 10 and 12).

    Attributes:
        sizes: (D,) of the documents of the frame, above 0.
        queries: m.
        between: B, how much the model's error differs among queries that are judged whole.
        explained: F, how much of people's differences the model explains.
        squared: e² of a document of size 1; e² is this times the square of its size.
    """

    sizes: Floats
    queries: int
    between: float
    explained: float
    squared: float

    def within(self, expected: float) -> float:
        """W where as many documents are expected in the sample as all m queries would have."""
        if not expected > 0:
            return float("inf")
        chance = inclusion_probabilities(self.sizes, expected)
        parts = self.sizes**2 * (1 - chance) / chance
        return self.squared * float(parts.sum()) / self.queries

    def variance(self, count: float, expected: float, predicted: float) -> float:
        """V of n queries that people judge, and N that the model judged."""
        return (self.between + self.within(expected)) / count + self.explained / predicted

    def of_document(self, sizes: Floats, chance: Floats, count: float) -> Floats:
        """The decrease of V where one more document is expected in the sample: e²/(πn)².

        The same for all documents of a chance below 1: that is what their chances are for.
        """
        return np.asarray(self.squared * (sizes / (chance * count)) ** 2, np.float64)

    def of_query(self, count: float, expected: float) -> float:
        """The decrease of V where people judge documents of one more query."""
        return (self.between + self.within(expected)) / count**2

    def of_prediction(self, predicted: float) -> float:
        """The decrease of V where the model judges one more query."""
        return self.explained / predicted**2


@dataclass(frozen=True)
class SamplingPlan:
    """The queries and documents that a sum pays for.

    Attributes:
        count: n, of queries that people judge.
        expected: documents in the sample, if people judged documents of all queries.
    """

    count: int
    expected: float


def best_plan(
    stages: TwoStage, total: float, document: float, query: float, previous: SamplingPlan
) -> SamplingPlan:
    """The queries, and documents of each, with the least variance for a sum.

    Where W = w/d for d documents of a query, the best number of documents is
    √(w·query/(B·document)) whatever the sum (Cochran 1977, section 10.6). Without a price of a
    query all are drawn.

    Args:
        stages: what the variance is made of.
        total: to be spent, with all that was spent before.
        document: price of a document, above 0.
        query: price of a query in addition to its documents.
        previous: the queries and documents paid for before.
    """
    size, m = len(stages.sizes), stages.queries
    low = min(max(previous.count, 1), m)
    counts = np.unique(np.rint(np.geomspace(low, m, _CHOICES)).astype(int)) if query else [m]
    best_spending, lowest_variance = previous, np.inf
    for count in counts:
        documents_per_query = (total / count - query) / document
        expected = min(max(documents_per_query * m, previous.expected), size)
        cost = count * (query + document * expected / m)
        if not expected > 0 or (cost > total * (1 + 1e-9) and np.isfinite(lowest_variance)):
            continue
        variance = stages.variance(count, expected, np.inf)
        if variance < lowest_variance:
            best_spending, lowest_variance = SamplingPlan(int(count), float(expected)), variance
    return best_spending


def predictions_needed(stages: TwoStage, spent: SamplingPlan, price: float, call: float) -> float:
    """The best number of queries for a model to judge: n·√(F·price/((B + W)·call)).

    The optimum of double sampling (Cochran 1977, section 12.3).

    Args:
        stages: what the variance is made of.
        spent: what people judge.
        price: of a query that people judge, with its documents.
        call: of a query that the model judges.
    """
    sampling_variance = stages.between + stages.within(spent.expected)
    return spent.count * float(
        np.sqrt(stages.explained * price / (max(sampling_variance, 1e-300) * call))
    )


def break_even_price(correlation: float, price: float) -> float:
    """The highest price of a model's judgments of a query at which they pay.

    Double sampling is more precise than the same sum spent on people alone where a query that
    people judge costs more than ρ²/(1 − √(1 − ρ²))² of those that the model judges (Cochran 1977,
    section 12.4); the price is what a query costs if people judge it, divided by that.

    Args:
        correlation: ρ, of people's and the model's differences.
        price: of a query that people judge, with its documents.

    >>> round(break_even_price(0.8, 16.0), 9), break_even_price(0.0, 16.0)
    (4.0, 0.0)
    """
    square = min(correlation**2, 1.0)
    return price * float((1 - np.sqrt(1 - square)) ** 2 / square) if square else 0.0
