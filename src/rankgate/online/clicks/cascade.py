"""Cascade models whose parameters are counts: cascade and SDBN."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from rankgate.online.clicks.baselines import of_pairs
from rankgate.online.clicks.chain import Chain
from rankgate.online.clicks.estimates import Estimates, bounded, share
from rankgate.online.clicks.model import ClickModel, Settings

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rankgate.online.clicks.packed import PackedSearches

    Floats = NDArray[np.float64]
    ToChain = Callable[[Estimates, PackedSearches], Chain]


def _examined(searches: PackedSearches, last: NDArray[np.int64], no_click: str) -> Floats:
    """(N, K) the weight of what is looked at for sure: everything down to a click."""
    down = np.arange(searches.depth) <= last[:, None]
    if no_click == "all_examined":
        down = down | (searches.last < 0)[:, None]
    return np.asarray(searches.weights * down)


def _fit_cascade(searches: PackedSearches, settings: Settings) -> Estimates:
    """Only the first click counts; without one everything was looked at."""
    first = np.where(searches.clicked.any(axis=1), searches.clicked.argmax(axis=1), -1)
    looked = _examined(searches, first, settings.no_click or "all_examined")
    clicks = searches.by_pair(looked * searches.clicked)
    examined = searches.by_pair(looked)
    return Estimates(share(clicks, examined, settings.prior_of(0.0)), examined)


def _fit_sdbn(searches: PackedSearches, settings: Settings) -> Estimates:
    looked = _examined(searches, searches.last, settings.no_click or "drop")
    clicks = searches.by_pair(looked * searches.clicked)
    examined = searches.by_pair(looked)
    final = searches.by_pair(looked * (np.arange(searches.depth) == searches.last[:, None]))
    return Estimates(
        share(clicks, examined, settings.prior_of(0.0)), examined,
        share(final, clicks, settings.prior_of(0.0)), clicks,
    )  # fmt: skip


def _attractive(found: Estimates, searches: PackedSearches) -> Floats:
    return bounded(of_pairs(found, searches)) * searches.shown


def _cascade(found: Estimates, searches: PackedSearches) -> Chain:
    return Chain(_attractive(found, searches), 1.0, np.zeros(searches.pair.shape))


def _sdbn(found: Estimates, searches: PackedSearches) -> Chain:
    assert found.satisfaction is not None
    satisfied = found.filled(found.satisfaction)[searches.pair]
    return Chain(_attractive(found, searches), 1.0, 1 - satisfied)


def of_chain(
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
        conditional=lambda found, searches: chain(found, searches).conditional(searches),
        marginal=lambda found, searches: chain(found, searches).marginal(),
        prior=prior,
    )


MODELS = (
    of_chain(
        "cascade", _cascade, _fit_cascade, "Cascade model",
        "looks go down to the first click: a = first clicks / looks", "Craswell and others 2008",
    ),
    of_chain(
        "sdbn", _sdbn, _fit_sdbn, "Simplified dynamic Bayesian network",
        "a = clicks / looks down to the last click; s = last clicks / clicks; relevance = a s",
        "Chapelle and Zhang 2009",
    ),
)  # fmt: skip
