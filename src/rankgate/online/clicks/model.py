"""A click model: how it is fitted, and which clicks it predicts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field
from typing import TYPE_CHECKING

import numpy as np

from rankgate.core.declare import Declared
from rankgate.core.frozen import dataclass
from rankgate.online.clicks.estimates import Estimates, clip_probability, smoothed_share

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rankgate.online.clicks.packed import PackedSearches

    Floats = NDArray[np.float64]
    Predict = Callable[[Estimates, PackedSearches], Floats]

_RANK_PRIOR = 0.5  # a click at a rank that had none while the model learned is not impossible


@dataclass(frozen=True)
class Settings:
    """Options for fitting click models.

    Attributes:
        prior: clicks and non-clicks that are added to each pair before a share is taken; None: as
            many as the model has by default.
        iterations: of expectation and maximisation, at most.
        tolerance: the change of all parameters below which they stop.
        no_click: whether searches without a click count for cascade models: ``drop`` (nothing is
            known of them) or ``all_examined``; empty: as the model's paper has it.
    """

    prior: float | None = None
    iterations: int = 50
    tolerance: float = 1e-4
    no_click: str = ""

    def prior_of(self, default: float) -> float:
        """The prior of a model with this default."""
        return default if self.prior is None else self.prior


@dataclass(frozen=True)
class ClickModel(Declared):
    """A click model.

    Attributes:
        fit: from searches and settings its parameters.
        conditional: the probability of each click, given the clicks above it.
        marginal: the probability of each click, given nothing but the list.
        formula: how it works, in signs.
        of_documents: whether it tells documents apart, so that judgments can be made of it.
        prior: clicks and non-clicks that it adds to each pair by default.
    """

    fit: Callable[[PackedSearches, Settings], Estimates] = field(kw_only=True)
    conditional: Predict = field(kw_only=True)
    marginal: Predict = field(kw_only=True)
    formula: str = field(kw_only=True)
    of_documents: bool = field(default=True, kw_only=True)
    prior: float = field(default=0.0, kw_only=True)


@dataclass(frozen=True)
class Fitness:
    """The quality of a model's predictions of clicks.

    Attributes:
        log_likelihood: mean over searches of the natural logarithm of the probability of all
            clicks, each given the clicks above it; the higher the better.
        perplexity: 2 to the power of the mean surprise in bits of one click or none, given the
            list; 1 is perfect, 2 is a coin.
        by_rank: the perplexity at each rank; NaN where nothing was shown.
    """

    log_likelihood: float
    perplexity: float
    by_rank: Floats


def fitness(model: ClickModel, estimates: Estimates, searches: PackedSearches) -> Fitness:
    """Measure a fitted model on searches, best those that it was not fitted on."""
    estimates = estimates.smoothed()
    weights = searches.weights
    chance = clip_probability(model.conditional(estimates, searches))
    likelihood = np.where(searches.clicked, chance, 1 - chance)
    logs = float((np.log(likelihood) * weights).sum()) / searches.searches
    marginal = clip_probability(model.marginal(estimates, searches))
    bits = np.log2(np.where(searches.clicked, marginal, 1 - marginal)) * weights
    with np.errstate(invalid="ignore"):
        by_rank = 2 ** -(bits.sum(axis=0) / weights.sum(axis=0))
    return Fitness(logs, float(2 ** -(bits.sum() / weights.sum())), by_rank)


def perplexity_over_ranks(
    model: ClickModel, estimates: Estimates, train: PackedSearches, test: PackedSearches
) -> tuple[float, float]:
    """The perplexity of held-out clicks by a model's documents, and by ranks alone.

    The model predicts each click from the list; its predictions are multiplied at each rank so that
    on the searches that it learned from they have the click-through rate of the rank. What is left
    to differ from the rate of the rank is what it says of documents. Only pairs that the model
    identifies count.

    Args:
        model: the click model.
        estimates: of the searches that it learned from.
        train: these searches.
        test: others, with the same pairs.
    """
    estimates = estimates.smoothed()

    def counted(searches: PackedSearches) -> Floats:
        if estimates.identified is None:
            return searches.weights
        return np.asarray(searches.weights * estimates.identified[searches.pair])

    weights, expected = counted(train), clip_probability(model.marginal(estimates, train))
    clicks = (weights * train.clicked).sum(axis=0)
    rate = clip_probability(smoothed_share(clicks, weights.sum(axis=0), _RANK_PRIOR))
    mean = smoothed_share((weights * expected).sum(axis=0), weights.sum(axis=0), _RANK_PRIOR)
    scale = np.nan_to_num(rate / mean, nan=1.0)
    weights = counted(test)
    total = max(float(weights.sum()), 1.0)

    def perplexity(chance: Floats) -> float:
        bits = np.log2(np.where(test.clicked, chance, 1 - chance)) * weights
        return float(2 ** -(bits.sum() / total))

    by_documents = clip_probability(model.marginal(estimates, test) * scale[: test.depth])
    by_ranks = np.broadcast_to(np.nan_to_num(rate, nan=0.5)[: test.depth], test.pair.shape)
    return perplexity(by_documents), perplexity(by_ranks)
