"""Sampling designs: inclusion probabilities, strata, two stages, and sample sizes."""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import blake2b
from typing import TYPE_CHECKING

import numpy as np

from rankgate.core.frozen import dataclass

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rankgate.core.arrays import Floats

    Counts = NDArray[np.int64]


_STEPS = 100


def inclusion_probabilities(sizes: Floats, expected: float) -> Floats:
    """Probabilities π = min(1, c · size) that add up to the expected number of members.

    The variance of a total Σ y/π is smallest if |y| is proportional to size (Hansen and Hurwitz
    1943). All probabilities are 1 if the expected number is the number of members.

    Args:
        sizes: (N,) the sizes, above 0.
        expected: the expected number of members of the sample.

    >>> import numpy as np
    >>> inclusion_probabilities(np.array([1.0, 1, 2, 8]), 2).round(2)
    array([0.25, 0.25, 0.5 , 1.  ])
    """
    if expected >= len(sizes):
        return np.ones(len(sizes))
    chance = np.zeros(len(sizes))
    is_certain = np.zeros(len(sizes), np.bool_)
    for _ in range(_STEPS):
        remaining = expected - int(is_certain.sum())
        chance = np.where(is_certain, 1.0, remaining * sizes / sizes[~is_certain].sum())
        if not (exceeds := (chance >= 1) & ~is_certain).any():
            break
        is_certain |= exceeds
    return np.asarray(np.minimum(chance, 1.0), np.float64)


def permanent_numbers(members: Iterable[tuple[str, ...]], seed: int) -> Floats:
    """A number from 0 to 1 for each member, which depends only on the id and the seed.

    A member is in the sample where its number is below its probability, independently of the
    others. A sample with larger probabilities then holds the smaller one (permanent random
    numbers: Brewer, Early and Joyce 1972; Ohlsson 1995).
    """
    texts = ("\t".join((str(seed), *member)).encode() for member in members)
    hashes = [int.from_bytes(blake2b(text, digest_size=8).digest(), "big") for text in texts]
    return np.array(hashes, np.float64) / 2.0**64


LEAST = 2
"""Units drawn from each stratum, where it has so many: fewer show no variance."""


def stratified_error(sizes: Counts, deviations: Floats, sample_sizes: Counts) -> float:
    """The standard error of Σ W_h ȳ_h: √Σ W_h² S_h² (1/n_h − 1/N_h), with W_h = N_h / Σ N.

    Cochran (1977), theorem 5.3. A stratum without drawn units makes it infinite, unless its
    values are all equal.

    Args:
        sizes: (H,) N_h, the units of each stratum.
        deviations: (H,) S_h, the standard deviation of the values in each.
        sample_sizes: (H,) n_h.
    """
    stratum_shares = sizes / sizes.sum()
    with np.errstate(divide="ignore"):
        sampling_factor = np.where(sample_sizes > 0, 1 / sample_sizes - 1 / sizes, np.inf)
    variances = (stratum_shares * deviations) ** 2
    return float(
        np.sqrt(
            np.sum(np.where(variances > 0, variances, 0.0) * np.where(variances > 0, sampling_factor, 0.0))
        )
    )


def neyman_allocation(
    sizes: Counts, deviations: Floats, error: float, sample_sizes: Counts | None = None
) -> Counts:
    """The fewest units by stratum that reach a standard error: n_h ∝ W_h S_h.

    n_h = W_h S_h Σ W_k S_k / (V + Σ W_k² S_k² / N_k) with V the square of the error (Neyman 1934;
    Cochran 1977, section 5.5). A stratum that would need more than it has is taken whole, and
    the others are allocated again. Rounded up, at least `LEAST` and what is drawn already.

    Args:
        sizes: (H,) N_h, the units of each stratum.
        deviations: (H,) S_h.
        error: the standard error to reach, above 0.
        sample_sizes: (H,) the number of units already drawn.

    Returns:
        (H,) the number of units of each stratum, including those already drawn.
    """
    weighted_deviations = sizes / sizes.sum() * deviations
    is_exhausted = np.zeros(len(sizes), np.bool_)
    while True:
        open_deviations = np.where(is_exhausted, 0.0, weighted_deviations)
        needed = (
            open_deviations * open_deviations.sum() / (error**2 + float((open_deviations**2 / sizes).sum()))
        )
        exceeds = ~is_exhausted & (needed >= sizes)
        if not exceeds.any():
            break
        is_exhausted |= exceeds
    counts = np.where(is_exhausted, sizes, np.ceil(needed - 1e-9)).astype(np.int64)
    minimum = (
        np.minimum(sizes, LEAST)
        if sample_sizes is None
        else np.maximum(np.minimum(sizes, LEAST), sample_sizes)
    )
    return np.maximum(counts, minimum)


_CHOICES = 25  # numbers of queries to try


@dataclass(frozen=True)
class TwoStage:
    """A mean over queries; in n of them people judge documents drawn with probabilities π.

    A model judged all documents of N queries and explains a part of what differs among them. With
    m queries in the frame, the variance of the regression estimator is

        V = (B + W)/n + F/N,    W = (1/m) Σ e²(1 − π)/π,    π = inclusion(sizes, expected)

    (Särndal, Swensson and Wretman 1992, sections 4.3 and 9.6; Cochran 1977, chapters 10 and 12).

    Attributes:
        sizes: (D,) the sizes of the documents of the frame, above 0.
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
        """W, if the expected number of documents in the sample is that for all m queries."""
        if not expected > 0:
            return float("inf")
        chance = inclusion_probabilities(self.sizes, expected)
        parts = self.sizes**2 * (1 - chance) / chance
        return self.squared * float(parts.sum()) / self.queries

    def variance(self, count: float, expected: float, predicted: float) -> float:
        """V for n queries that people judge, and N that the model judged."""
        return (self.between + self.within(expected)) / count + self.explained / predicted

    def of_document(self, sizes: Floats, chance: Floats, count: float) -> Floats:
        """The decrease of V for one more expected document in the sample: e²/(πn)².

        The same for all documents of a probability below 1: that is what their chances are for.
        """
        return np.asarray(self.squared * (sizes / (chance * count)) ** 2, np.float64)

    def of_query(self, count: float, expected: float) -> float:
        """The decrease of V if people judge documents of one more query."""
        return (self.between + self.within(expected)) / count**2

    def of_prediction(self, predicted: float) -> float:
        """The decrease of V if the model judges one more query."""
        return self.explained / predicted**2


@dataclass(frozen=True)
class SamplingPlan:
    """The queries and documents that a budget pays for.

    Attributes:
        count: n, the number of queries that people judge.
        expected: documents in the sample, if people judged documents of all queries.
    """

    count: int
    expected: float


def best_plan(
    stages: TwoStage, total: float, document: float, query: float, previous: SamplingPlan
) -> SamplingPlan:
    """The number of queries, and documents of each, with the smallest variance for a budget.

    If W = w/d for d documents of a query, the best number of documents is √(w·query/(B·document))
    for every sum (Cochran 1977, section 10.6). Without a price of a query all are drawn.

    Args:
        stages: the components of the variance.
        total: the budget, including all earlier costs.
        document: the price of a document, above 0.
        query: the price of a query in addition to its documents.
        previous: the queries and documents that are already paid for.
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
        stages: the components of the variance.
        spent: the cost of the documents that people judge.
        price: the price of a query that people judge, with its documents.
        call: the price of a query that the model judges.
    """
    sampling_variance = stages.between + stages.within(spent.expected)
    return spent.count * float(np.sqrt(stages.explained * price / (max(sampling_variance, 1e-300) * call)))


def break_even_price(correlation: float, price: float) -> float:
    """The highest price of a model's judgments of a query at which they are worth the cost.

    Double sampling is more precise than the same sum spent on people alone where a query that
    people judge costs more than ρ²/(1 − √(1 − ρ²))² of those that the model judges (Cochran 1977,
    section 12.4); the price is what a query costs if people judge it, divided by that.

    Args:
        correlation: ρ, of people's and the model's differences.
        price: the price of a query that people judge, with its documents.

    >>> round(break_even_price(0.8, 16.0), 9), break_even_price(0.0, 16.0)
    (4.0, 0.0)
    """
    square = min(correlation**2, 1.0)
    return price * float((1 - np.sqrt(1 - square)) ** 2 / square) if square else 0.0


_MOST = 1e4  # times as many documents


def documents_needed(
    parts: Floats, inclusion: Floats, all_inclusion: Floats, variance: float, max_variance: float
) -> int | None:
    """The number of further documents until the variance is small enough.

    A document that was drawn with the probability π adds (1 − π)(c/π)² to the estimated variance
    of the sum of c/π over a sample. With m times the probabilities, at most 1, that is
    (1 − mπ)/(mπ) · c²/π, so that

        V(m) = V − Σ ((1 − π)/π − (1 − mπ)/(mπ)) c²/π.

    Args:
        parts: (n,) c, what each drawn document adds to the mean.
        inclusion: (n,) π of each.
        all_inclusion: (k,) π of all drawn documents, also of those that add nothing.
        variance: V, of the mean.
        max_variance: the largest variance that is precise enough.

    Returns:
        the expected number of further documents, 0 where none are needed; None where all
        documents would not do.

    >>> import numpy as np
    >>> c, half = np.array([0.1, -0.1]), np.array([0.5, 0.5])
    >>> documents_needed(c, half, half, 0.05, 0.02)
    2
    """
    square = parts**2 / inclusion
    odds = (1 - inclusion) / inclusion

    def shortfall(times: float) -> float:
        chance = np.minimum(1, times * inclusion)
        return variance - float(((odds - (1 - chance) / chance) * square).sum())

    if shortfall(np.inf) > max_variance:
        return None
    low, high = 1.0, 1.0
    while shortfall(high) > max_variance and high < _MOST:
        low, high = high, 2 * high
    for _ in range(50):
        middle = (low + high) / 2
        low, high = (middle, high) if shortfall(middle) > max_variance else (low, middle)
    return int(np.ceil((np.minimum(1, high * all_inclusion) / all_inclusion - 1).sum() - 1e-6))
