"""Click-through rates as models, and clicks over expected clicks."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rankgate.online.clicks.estimates import Estimates, smoothed_share
from rankgate.online.clicks.model import ClickModel, Settings

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rankgate.online.clicks.packed import PackedSearches

    Floats = NDArray[np.float64]

MAX_COEC = 10.0
"""The highest value of COEC: rare pairs with a lucky click would be above all others."""
COEC_PRIOR = 1.0
"""Expected clicks with the average outcome that COEC adds to each pair."""


def ctr_by_rank(searches: PackedSearches, prior: float = 0.0) -> Floats:
    """(K,) clicks divided by impressions at each rank; NaN where nothing was shown."""
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
    mean = searches.by_pair(searches.weights * np.nan_to_num(curve)) / np.maximum(
        impressions, 1e-12
    )
    return Estimates(mean, impressions, shared={"ctr": curve})


def _fit_document(searches: PackedSearches, settings: Settings) -> Estimates:
    clicks, impressions = count_clicks_by_pair(searches)
    return Estimates(smoothed_share(clicks, impressions, settings.prior_of(0.0)), impressions)


def pair_attractiveness(estimates: Estimates, searches: PackedSearches) -> Floats:
    """(N, K) the attractiveness of what was shown."""
    return estimates.filled(estimates.attractiveness)[searches.pair]


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

    All impressions of a pair are taken to have been at the lowest rank at which it ever was, and
    nothing is shrunk or cut off.
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
        np.minimum(ratio * float(clicks.sum() / impressions.sum()), 1.0),
        impressions,
        shared={"ctr": curve},
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
    ),
    ClickModel(
        "rctr",
        title="Click-through rate of the rank",
        formula="P(click) = ctr(rank)",
        fit=_fit_rank,
        conditional=_click_rate_of_ranks,
        marginal=_click_rate_of_ranks,
        of_documents=False,
    ),
    ClickModel(
        "dctr",
        title="Click-through rate of the document",
        formula="P(click) = clicks(q, d) / impressions(q, d)",
        source="Craswell and others 2008",
        fit=_fit_document,
        conditional=pair_attractiveness,
        marginal=pair_attractiveness,
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
    ),
)
