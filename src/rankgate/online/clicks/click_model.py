"""Click models: the fit, the predictions of clicks, and baseline models.

`Estimates` holds the parameters of a fitted model. The baselines are click-through rates, and
clicks over expected clicks (COEC).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field, replace
from typing import TYPE_CHECKING

import numpy as np

from rankgate.core.declare import Declared
from rankgate.core.frozen import dataclass

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rankgate.core.arrays import Floats
    from rankgate.online.clicks.packed_searches import PackedSearches

    Predict = Callable[["Estimates", PackedSearches], Floats]


_DEFAULT_RATE = 0.1  # the rate without any observation

MIN_PROBABILITY = 1e-6
"""The smallest probability of an event that was seen."""


@dataclass(frozen=True)
class Estimates:
    """Parameters of a model.

    Attributes:
        attractiveness: (P,) the probability of a click on each pair if it is looked at; NaN unseen.
        examined: (P,) the expected number of impressions that were looked at: the evidence.
        satisfaction: (P,) the probability that a click on each pair satisfies; None if the model
            has none.
        clicks: (P,) the clicks behind satisfaction.
        shared: parameters that all pairs share, by name.
        low: (P,) the lower limit of a 95 % interval of the relevance; None if the model gives none.
        high: (P,) the upper limit.
        identified: (P,) True if clicks separate the attractiveness of the pair from its ranks; None
            means True for all.
        linked: (C,) True for the identified cells of the first shared parameter; None means all.
        refusal: the reason why this log gives no judgments with the model, and the data that would;
            empty if the log gives judgments.
    """

    attractiveness: Floats
    examined: Floats
    satisfaction: Floats | None = None
    clicks: Floats | None = None
    shared: Mapping[str, Floats] = field(default_factory=dict)
    low: Floats | None = None
    high: Floats | None = None
    identified: NDArray[np.bool_] | None = None
    linked: NDArray[np.bool_] | None = None
    refusal: str = ""

    @property
    def relevance(self) -> Floats:
        """Attractiveness, times satisfaction if the model has it."""
        if self.satisfaction is None:
            return self.attractiveness
        return np.asarray(self.attractiveness * np.nan_to_num(self.satisfaction))

    def smoothed(self) -> Estimates:
        """The estimates with one look at an average pair added, to predict clicks.

        Otherwise a pair without a click in 20 looks would make a later click impossible, and one
        such click would outweigh all good predictions.
        """
        satisfaction = self.satisfaction
        if satisfaction is not None and self.clicks is not None:
            satisfaction = _smooth(self.filled(satisfaction), self.clicks)
        attractiveness = _smooth(self.filled(self.attractiveness), self.examined)
        return replace(self, attractiveness=attractiveness, satisfaction=satisfaction)

    def filled(self, values: Floats) -> Floats:
        """The values; pairs that were not seen get the mean, weighted by evidence."""
        is_estimated = np.isfinite(values)
        if not is_estimated.any():
            return np.full(len(values), _DEFAULT_RATE)
        mean = float(np.average(values[is_estimated], weights=self.examined[is_estimated] + 1e-9))
        return np.where(is_estimated, values, mean)


def _smooth(values: Floats, examined: Floats) -> Floats:
    mean = float(np.average(values, weights=examined + 1e-9))
    return np.asarray((values * examined + mean) / (examined + 1))


def smoothed_share(numerator: Floats, denominator: Floats, prior: float = 0.0) -> Floats:
    """A share with ``prior`` added to both outcomes; NaN without any outcome."""
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray((numerator + prior) / (denominator + 2 * prior))


def clip_probability(values: Floats) -> Floats:
    """Clip probabilities, so that they are neither 0 nor 1."""
    return np.clip(values, MIN_PROBABILITY, 1 - MIN_PROBABILITY)


_RANK_PRIOR = 0.5  # clicks stay possible at a rank without clicks in the training data


@dataclass(frozen=True)
class Settings:
    """Options for fitting click models.

    Attributes:
        prior: clicks and non-clicks that are added to each pair before a share is taken; None: as
            many as the model has by default.
        iterations: the largest number of iterations of expectation and maximisation.
        tolerance: the change of all parameters below which they stop.
        no_click: the treatment of searches without a click in cascade models: ``drop`` (no
            information) or ``all_examined``; empty for the rule of the model's paper.
    """

    prior: float | None = None
    iterations: int = 50
    tolerance: float = 1e-4
    no_click: str = ""

    def prior_of(self, default: float) -> float:
        """The prior, or the model's default."""
        return default if self.prior is None else self.prior


@dataclass(frozen=True, kw_only=True)
class ClickModel(Declared):
    """A click model.

    Attributes:
        fit: from searches and settings its parameters.
        conditional: the probability of each click, given the clicks above it.
        marginal: the probability of each click, given nothing but the list.
        formula: the formula.
        of_documents: True if it distinguishes documents, so that judgments can be made of it.
        separates: True if it separates what a document attracts from where it was shown.
        prior: clicks and non-clicks that it adds to each pair by default.
    """

    fit: Callable[[PackedSearches, Settings], Estimates]
    conditional: Predict
    marginal: Predict
    formula: str
    of_documents: bool = True
    separates: bool = True
    prior: float = 0.0


@dataclass(frozen=True)
class Fitness:
    """The quality of a model's predictions of clicks.

    Attributes:
        log_likelihood: mean over searches of the natural logarithm of the probability of all
            clicks, each given the clicks above it; the higher the better.
        perplexity: 2 to the power of the mean surprise in bits of a click or non-click, given the
            list; 1 is perfect, 2 is a coin toss.
        by_rank: the perplexity at each rank; NaN for ranks without shown documents.
        by_search: (N,) the logarithm of the probability of the clicks of a search of each row.
    """

    log_likelihood: float
    perplexity: float
    by_rank: Floats
    by_search: Floats


def fitness(model: ClickModel, estimates: Estimates, searches: PackedSearches) -> Fitness:
    """Measure a fitted model on searches, preferably searches that it was not fitted on."""
    estimates = estimates.smoothed()
    weights = searches.weights
    chance = clip_probability(model.conditional(estimates, searches))
    likelihood = np.where(searches.clicked, chance, 1 - chance)
    logs = float((np.log(likelihood) * weights).sum()) / searches.searches
    by_search = (np.log(likelihood) * searches.shown).sum(axis=1)
    marginal = clip_probability(model.marginal(estimates, searches))
    bits = np.log2(np.where(searches.clicked, marginal, 1 - marginal)) * weights
    with np.errstate(invalid="ignore"):
        by_rank = 2 ** -(bits.sum(axis=0) / weights.sum(axis=0))
    return Fitness(logs, float(2 ** -(bits.sum() / weights.sum())), by_rank, by_search)


def perplexity_over_ranks(
    model: ClickModel, estimates: Estimates, train: PackedSearches, test: PackedSearches
) -> tuple[float, float]:
    """The perplexity of held-out clicks by a model's documents, and by ranks alone.

    The model predicts each click from the list. Its predictions are multiplied at each rank so that
    they have the click-through rate of the rank on the training searches. The remaining differences
    from this rate are the information about documents. Only pairs that the model identifies count.

    Args:
        model: the click model.
        estimates: the estimates from the searches that it learned from.
        train: the searches that the estimates are from.
        test: other searches, with the same pairs.
    """
    estimates = estimates.smoothed()

    def search_weights(searches: PackedSearches) -> Floats:
        if estimates.identified is None:
            return searches.weights
        return np.asarray(searches.weights * estimates.identified[searches.pair])

    weights, expected = search_weights(train), clip_probability(model.marginal(estimates, train))
    clicks = (weights * train.clicked).sum(axis=0)
    rate = clip_probability(smoothed_share(clicks, weights.sum(axis=0), _RANK_PRIOR))
    mean = smoothed_share((weights * expected).sum(axis=0), weights.sum(axis=0), _RANK_PRIOR)
    scale = np.nan_to_num(rate / mean, nan=1.0)
    weights = search_weights(test)
    total = max(float(weights.sum()), 1.0)

    def perplexity(chance: Floats) -> float:
        bits = np.log2(np.where(test.clicked, chance, 1 - chance)) * weights
        return float(2 ** -(bits.sum() / total))

    by_documents = clip_probability(model.marginal(estimates, test) * scale[: test.depth])
    by_ranks = np.broadcast_to(np.nan_to_num(rate, nan=0.5)[: test.depth], test.pair.shape)
    return perplexity(by_documents), perplexity(by_ranks)


MAX_COEC = 10.0
"""The highest value of COEC: rare pairs with a lucky click would be above all others."""
COEC_PRIOR = 1.0
"""Expected clicks with the average outcome that COEC adds to each pair."""


def ctr_by_rank(searches: PackedSearches, prior: float = 0.0) -> Floats:
    """(K,) clicks divided by impressions at each rank; NaN without impressions."""
    clicks = (searches.weights * searches.clicked).sum(axis=0)
    return smoothed_share(clicks, searches.weights.sum(axis=0), prior)


def count_clicks_by_pair(searches: PackedSearches) -> tuple[Floats, Floats]:
    """(P,) clicks and impressions of each pair."""
    clicks = searches.by_pair(searches.weights * searches.clicked)
    return clicks, searches.by_pair(searches.weights)


def _fit_global(searches: PackedSearches, settings: Settings) -> Estimates:
    clicks, impressions = count_clicks_by_pair(searches)
    rate = smoothed_share(clicks.sum(), impressions.sum(), settings.prior_of(0.0))
    return Estimates(np.full(len(impressions), float(rate)), impressions)


def _fit_rank(searches: PackedSearches, settings: Settings) -> Estimates:
    _, impressions = count_clicks_by_pair(searches)
    curve = ctr_by_rank(searches, settings.prior_of(0.0))
    mean = searches.by_pair(searches.weights * np.nan_to_num(curve)) / np.maximum(impressions, 1e-12)
    return Estimates(mean, impressions, shared={"ctr": curve})


def _fit_document(searches: PackedSearches, settings: Settings) -> Estimates:
    clicks, impressions = count_clicks_by_pair(searches)
    return Estimates(smoothed_share(clicks, impressions, settings.prior_of(0.0)), impressions)


def pair_attractiveness(estimates: Estimates, searches: PackedSearches) -> Floats:
    """(N, K) the attractiveness of the shown documents."""
    return estimates.filled(estimates.attractiveness)[searches.pair]


def shown_attractiveness(estimates: Estimates, searches: PackedSearches) -> Floats:
    """(N, K) the attractiveness of the shown documents, below 1; 0 at empty ranks."""
    return clip_probability(pair_attractiveness(estimates, searches)) * searches.shown


def _click_rate_of_ranks(estimates: Estimates, searches: PackedSearches) -> Floats:
    curve = estimates.shared["ctr"]
    curve = np.where(np.isfinite(curve), curve, np.nanmean(curve))
    rate_of_rank = np.full(searches.depth, curve[-1])
    rate_of_rank[: min(len(curve), searches.depth)] = curve[: searches.depth]
    return np.broadcast_to(rate_of_rank, searches.pair.shape)


def expected_clicks(searches: PackedSearches) -> Floats:
    """(P,) the clicks that a pair would have as an average document at its ranks."""
    curve = np.nan_to_num(ctr_by_rank(searches))
    return searches.by_pair(searches.weights * curve)


def coec(searches: PackedSearches, shrink: float = COEC_PRIOR, cap: float = MAX_COEC) -> Floats:
    """(P,) clicks over expected clicks: (clicks + m) / (expected + m), at most ``cap``.

    Without shrinkage the sum of clicks is the sum of expected clicks (Zhang and Jones 2007).
    """
    clicks, _ = count_clicks_by_pair(searches)
    return np.minimum(smoothed_share(clicks + shrink, expected_clicks(searches) + shrink), cap)


def coec_opensearch(searches: PackedSearches) -> Floats:
    """(P,) COEC as OpenSearch Search Relevance computes it, on the scale of its ratings.

    All impressions of a pair count at the lowest rank at which the pair was ever shown; values are
    neither shrunk nor cut off.
    """
    clicks, impressions = count_clicks_by_pair(searches)
    positions = np.broadcast_to(np.arange(searches.depth), searches.pair.shape)
    lowest = np.zeros(len(searches.pairs), np.int64)
    np.maximum.at(lowest, searches.pair[searches.shown], positions[searches.shown])
    return smoothed_share(clicks, np.nan_to_num(ctr_by_rank(searches))[lowest] * impressions)


def _fit_coec(searches: PackedSearches, settings: Settings) -> Estimates:
    """COEC times the mean rate, so that it reads as a rate at the average rank."""
    clicks, impressions = count_clicks_by_pair(searches)
    ratio = coec(searches, settings.prior_of(COEC_PRIOR))
    curve = ctr_by_rank(searches)
    return Estimates(
        np.minimum(ratio * float(clicks.sum() / impressions.sum()), 1.0), impressions, shared={"ctr": curve}
    )


def _coec_click_probability(estimates: Estimates, searches: PackedSearches) -> Floats:
    """COEC times the rate of the rank."""
    curve = _click_rate_of_ranks(estimates, searches)
    weight = estimates.examined / estimates.examined.sum()
    mean = float((estimates.filled(estimates.attractiveness) * weight).sum())
    return np.minimum(pair_attractiveness(estimates, searches) / max(mean, 1e-12) * curve, 1.0)


MODELS = (
    ClickModel(
        "gctr",
        title="One click-through rate for all",
        formula="P(click) = clicks / impressions",
        fit=_fit_global,
        conditional=pair_attractiveness,
        marginal=pair_attractiveness,
        of_documents=False,
        separates=False,
    ),
    ClickModel(
        "rctr",
        title="Click-through rate of the rank",
        formula="P(click) = ctr(rank)",
        fit=_fit_rank,
        conditional=_click_rate_of_ranks,
        marginal=_click_rate_of_ranks,
        of_documents=False,
        separates=False,
    ),
    ClickModel(
        "dctr",
        title="Click-through rate of the document",
        formula="P(click) = clicks(q, d) / impressions(q, d)",
        source="Craswell and others 2008",
        fit=_fit_document,
        conditional=pair_attractiveness,
        marginal=pair_attractiveness,
        separates=False,
    ),
    ClickModel(
        "coec",
        title="Clicks over expected clicks, shrunk and capped",
        formula="(clicks + m) / (sum over ranks of impressions * ctr(rank) + m)",
        source="Zhang and Jones 2007",
        fit=_fit_coec,
        conditional=_coec_click_probability,
        marginal=_coec_click_probability,
        prior=COEC_PRIOR,
        separates=False,
    ),
)
