"""Cascade models whose parameters are counts: cascade and SDBN."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from rankgate.online.clicks.baselines import pair_attractiveness
from rankgate.online.clicks.chain import Chain
from rankgate.online.clicks.estimates import Estimates, clip_probability, smoothed_share
from rankgate.online.clicks.model import ClickModel, Settings

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rankgate.online.clicks.packed import PackedSearches

    Floats = NDArray[np.float64]
    ToChain = Callable[[Estimates, PackedSearches], Chain]


def _examined_weights(searches: PackedSearches, last: NDArray[np.int64], no_click: str) -> Floats:
    """(N, K) the weight of what is looked at for sure: everything down to a click."""
    is_examined = np.arange(searches.depth) <= last[:, None]
    if no_click == "all_examined":
        is_examined = is_examined | (searches.last < 0)[:, None]
    return np.asarray(searches.weights * is_examined)


def _fit_cascade(searches: PackedSearches, settings: Settings) -> Estimates:
    """Only the first click counts; without one everything was looked at."""
    first_click = np.where(searches.clicked.any(axis=1), searches.clicked.argmax(axis=1), -1)
    examined_weight = _examined_weights(searches, first_click, settings.no_click or "all_examined")
    clicks = searches.by_pair(examined_weight * searches.clicked)
    examined = searches.by_pair(examined_weight)
    return Estimates(smoothed_share(clicks, examined, settings.prior_of(0.0)), examined)


def _fit_sdbn(searches: PackedSearches, settings: Settings) -> Estimates:
    examined_weight = _examined_weights(searches, searches.last, settings.no_click or "drop")
    clicks = searches.by_pair(examined_weight * searches.clicked)
    examined = searches.by_pair(examined_weight)
    final = searches.by_pair(
        examined_weight * (np.arange(searches.depth) == searches.last[:, None])
    )
    return Estimates(
        smoothed_share(clicks, examined, settings.prior_of(0.0)),
        examined,
        smoothed_share(final, clicks, settings.prior_of(0.0)),
        clicks,
    )


def _attractiveness(estimates: Estimates, searches: PackedSearches) -> Floats:
    return clip_probability(pair_attractiveness(estimates, searches)) * searches.shown


def _cascade_chain(estimates: Estimates, searches: PackedSearches) -> Chain:
    return Chain(_attractiveness(estimates, searches), 1.0, np.zeros(searches.pair.shape))


def _sdbn_chain(estimates: Estimates, searches: PackedSearches) -> Chain:
    assert estimates.satisfaction is not None
    satisfied = estimates.filled(estimates.satisfaction)[searches.pair]
    return Chain(_attractiveness(estimates, searches), 1.0, 1 - satisfied)


def chain_model(
    name: str,
    chain: ToChain,
    fit: Callable[[PackedSearches, Settings], Estimates],
    title: str,
    formula: str,
    source: str,
    prior: float = 0.0,
) -> ClickModel:
    """A model whose predictions are those of a chain."""
    return ClickModel(
        name,
        title=title,
        formula=formula,
        source=source,
        fit=fit,
        conditional=lambda estimates, searches: chain(estimates, searches).conditional(searches),
        marginal=lambda estimates, searches: chain(estimates, searches).marginal(),
        prior=prior,
    )


MODELS = (
    chain_model(
        "cascade",
        _cascade_chain,
        _fit_cascade,
        "Cascade model",
        "looks go down to the first click: a = first clicks / looks",
        "Craswell and others 2008",
    ),
    chain_model(
        "sdbn",
        _sdbn_chain,
        _fit_sdbn,
        "Simplified dynamic Bayesian network",
        "a = clicks / looks down to the last click; s = last clicks / clicks; relevance = a s",
        "Chapelle and Zhang 2009",
    ),
)
