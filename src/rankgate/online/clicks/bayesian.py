"""Cascade models with hidden looks below the last click: DCM, DBN and CCM, by EM."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rankgate.online.clicks.baselines import pair_attractiveness
from rankgate.online.clicks.cascade import chain_model
from rankgate.online.clicks.chain import Chain
from rankgate.online.clicks.estimates import Estimates, clip_probability, smoothed_share
from rankgate.online.clicks.model import Settings

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rankgate.online.clicks.packed import PackedSearches

    Floats = NDArray[np.float64]

_PRIOR = 1.0  # a click and a non-click, as in PyClick


def _fit_dcm(searches: PackedSearches, settings: Settings) -> Estimates:
    """EM over looks; counting last clicks alone takes lists that end for users that stop."""
    prior = settings.prior_of(_PRIOR)
    clicks = searches.by_pair(searches.weights * searches.clicked)
    attractive, onward = np.full(len(searches.pairs), 0.3), np.full(searches.depth, 0.5)
    examined = clicks
    followed_clicks = (searches.weights * searches.clicked * searches.follows).sum(axis=0)

    def expected(block: PackedSearches) -> tuple[Floats, ...]:
        a = attractive[block.pair] * block.shown
        posterior = Chain(a, 1.0, np.broadcast_to(onward, a.shape)).posterior(block)
        followed_clicks = block.weights * block.clicked * block.follows
        return block.by_pair(block.weights * posterior.looked), (
            followed_clicks * posterior.moved
        ).sum(axis=0)

    for _ in range(settings.iterations):
        previous = attractive, onward
        examined, moved = searches.summed(expected)
        attractive = np.nan_to_num(smoothed_share(clicks, examined, prior))
        onward = smoothed_share(moved, followed_clicks, 1e-6)
        change = max(np.abs(attractive - previous[0]).max(), np.abs(onward - previous[1]).max())
        if float(change) < settings.tolerance:
            break
    was_shown = searches.by_pair(searches.weights) > 0
    continuation = np.where(followed_clicks > 0, onward, np.nan)
    return Estimates(
        np.where(was_shown, attractive, np.nan), examined, shared={"continuation": continuation}
    )


def _dcm_chain(estimates: Estimates, searches: PackedSearches) -> Chain:
    onward = np.resize(estimates.shared["continuation"], searches.depth)
    mean = np.nanmean(onward) if np.isfinite(onward).any() else 0.5
    after_click = np.where(np.isfinite(onward), onward, mean)
    attractive = clip_probability(pair_attractiveness(estimates, searches)) * searches.shown
    return Chain(attractive, 1.0, np.broadcast_to(after_click, searches.pair.shape))


def _fit_dbn(searches: PackedSearches, settings: Settings) -> Estimates:
    """EM over looks and satisfaction."""
    prior = settings.prior_of(_PRIOR)
    pairs = len(searches.pairs)
    clicks = searches.by_pair(searches.weights * searches.clicked)
    attractive, satisfied, onward = np.full(pairs, 0.3), np.full(pairs, 0.5), 0.9
    examined = clicks

    def expected(block: PackedSearches) -> tuple[Floats, ...]:
        weights, s = block.weights, satisfied[block.pair]
        a = attractive[block.pair] * block.shown
        posterior = Chain(a, onward, onward * (1 - s)).posterior(block)
        unsatisfied = onward * posterior.ahead + (1 - onward) * posterior.silent
        p_satisfied = block.clicked * s * posterior.silent
        p_satisfied = p_satisfied / np.maximum(p_satisfied + (1 - s) * unsatisfied, 1e-300)
        not_satisfied = weights * (posterior.looked - p_satisfied) * block.follows
        moved = weights * posterior.moved * block.follows
        return (
            block.by_pair(weights * posterior.looked),
            block.by_pair(weights * p_satisfied),
            np.array([moved.sum(), not_satisfied.sum()]),
        )

    for _ in range(settings.iterations):
        previous = attractive, satisfied, onward
        examined, satisfied_clicks, (moved, not_satisfied) = searches.summed(expected)
        attractive = np.nan_to_num(smoothed_share(clicks, examined, prior))
        satisfied = np.nan_to_num(smoothed_share(satisfied_clicks, clicks, prior))
        onward = min(max(float(moved / max(not_satisfied, 1e-12)), 1e-3), 1 - 1e-6)
        change = max(np.abs(attractive - previous[0]).max(), np.abs(satisfied - previous[1]).max())
        if max(float(change), abs(onward - previous[2])) < settings.tolerance:
            break
    was_shown = searches.by_pair(searches.weights) > 0
    return Estimates(
        np.where(was_shown, attractive, np.nan),
        examined,
        np.where(clicks > 0, satisfied, np.nan),
        clicks,
        {"continuation": np.array([onward])},
    )


def _dbn_chain(estimates: Estimates, searches: PackedSearches) -> Chain:
    assert estimates.satisfaction is not None
    onward = float(estimates.shared["continuation"][0])
    satisfied = estimates.filled(estimates.satisfaction)[searches.pair]
    attractive = clip_probability(pair_attractiveness(estimates, searches)) * searches.shown
    return Chain(attractive, onward, onward * (1 - satisfied))


def _fit_ccm(searches: PackedSearches, settings: Settings) -> Estimates:
    """EM over looks and, after each click, whether the document was relevant."""
    prior = settings.prior_of(_PRIOR)
    clicks = searches.by_pair(searches.weights * searches.clicked)
    followed_clicks = searches.by_pair(searches.weights * searches.clicked * searches.follows)
    attractive = np.full(len(searches.pairs), 0.3)
    alpha = np.array([0.9, 0.7, 0.3])
    examined = clicks

    def expected(block: PackedSearches) -> tuple[Floats, ...]:
        weights, clicked = block.weights, block.clicked
        a = attractive[block.pair] * block.shown
        posterior = Chain(a, alpha[0], alpha[1] * (1 - a) + alpha[2] * a).posterior(block)
        # what is after a click: relevant or not, and on or not
        relevant_on, irrelevant_on = (
            a * alpha[2] * posterior.ahead,
            (1 - a) * alpha[1] * posterior.ahead,
        )
        relevant = relevant_on + a * (1 - alpha[2]) * posterior.silent
        likelihood = relevant + irrelevant_on + (1 - a) * (1 - alpha[1]) * posterior.silent
        click_weight = weights * clicked * block.follows
        click_scale = click_weight / np.maximum(likelihood, 1e-300)
        skip_weight = weights * ~clicked * block.follows
        relevant = click_scale * relevant
        return (
            block.by_pair(weights * posterior.looked),
            block.by_pair(relevant),
            np.array(
                [
                    (skip_weight * posterior.moved).sum(),
                    (skip_weight * posterior.looked).sum(),
                    (click_scale * irrelevant_on).sum(),
                    (click_weight - relevant).sum(),
                    (click_scale * relevant_on).sum(),
                    relevant.sum(),
                ]
            ),
        )

    for _ in range(settings.iterations):
        previous = attractive, alpha
        examined, relevant, sums = searches.summed(expected)
        attractive = np.nan_to_num(
            smoothed_share(clicks + relevant, examined + followed_clicks, prior)
        )
        alpha = np.clip((sums[::2] + 1e-6) / (sums[1::2] + 2e-6), 1e-6, 1 - 1e-6)
        change = max(np.abs(attractive - previous[0]).max(), np.abs(alpha - previous[1]).max())
        if float(change) < settings.tolerance:
            break
    was_shown = searches.by_pair(searches.weights) > 0
    return Estimates(
        np.where(was_shown, attractive, np.nan), examined + clicks, shared={"continuation": alpha}
    )


def _ccm_chain(estimates: Estimates, searches: PackedSearches) -> Chain:
    a = clip_probability(pair_attractiveness(estimates, searches)) * searches.shown
    onward, after_irrelevant, after_relevant = estimates.shared["continuation"]
    return Chain(a, float(onward), after_irrelevant * (1 - a) + after_relevant * a)


MODELS = (
    chain_model(
        "dcm",
        _dcm_chain,
        _fit_dcm,
        "Dependent click model",
        "P(click | look) = a; after no click the next rank is looked at, after a click at rank r "
        "with probability l(r)",
        "Guo and others 2009",
        _PRIOR,
    ),
    chain_model(
        "dbn",
        _dbn_chain,
        _fit_dbn,
        "Dynamic Bayesian network",
        "P(click | look) = a; a click satisfies with s and ends the search; else the next rank is "
        "looked at with g; relevance = a s",
        "Chapelle and Zhang 2009",
        _PRIOR,
    ),
    chain_model(
        "ccm",
        _ccm_chain,
        _fit_ccm,
        "Click chain model",
        "P(click | look) = a; the next rank is looked at with a1 after no click, with "
        "a2 (1 - a) + a3 a after a click",
        "Guo and others 2009",
        _PRIOR,
    ),
)
