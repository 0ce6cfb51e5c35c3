"""Models in which users go down the list: cascade, DCM, SDBN, DBN, CCM.

All are one chain. The first rank is looked at. A document that is looked at is clicked with
probability a. Without a click the next rank is looked at with probability n, after a click
with c; once a user has stopped, nothing more is looked at.

Cascade and SDBN have counts as parameters. DCM, DBN and CCM have hidden looks below the last
click, and are fitted by EM.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from rankgate.core.frozen import dataclass
from rankgate.online.clicks.click_model import (
    ClickModel,
    Estimates,
    Settings,
    count_clicks_by_pair,
    shown_attractiveness,
    smoothed_share,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rankgate.core.arrays import Floats
    from rankgate.online.clicks.packed_searches import PackedSearches

    ToChain = Callable[[Estimates, PackedSearches], "Chain"]


@dataclass(frozen=True)
class Chain:
    """The probabilities of a chain on searches.

    Attributes:
        attractive: (N, K) a of each document.
        onward: n, after no click.
        after: (N, K) c, after a click on the document.
    """

    attractive: Floats
    onward: float
    after: Floats

    def conditional(self, searches: PackedSearches) -> Floats:
        """(N, K) the probability of each click, given the clicks above it."""
        return np.asarray(self.attractive * self.looks(searches))

    def marginal(self) -> Floats:
        """(N, K) the probability of each click, given the list."""
        chances = np.zeros_like(self.attractive)
        p_look = np.ones(len(chances))
        for rank in range(chances.shape[1]):
            a = self.attractive[:, rank]
            chances[:, rank] = p_look * a
            p_look = p_look * (a * self.after[:, rank] + (1 - a) * self.onward)
        return chances

    def looks(self, searches: PackedSearches) -> Floats:
        """(N, K) the probability that each rank is looked at, given the clicks above it."""
        # rank by rank, on rows that are contiguous in memory
        attractive, after = _transpose(self.attractive), _transpose(self.after)
        clicked = _transpose(searches.clicked)
        look_probability = np.ones_like(attractive)
        for rank in range(searches.depth - 1):
            a, e = attractive[rank], look_probability[rank]
            p_click = a * e
            look_if_skipped = (e - p_click) / np.maximum(1 - p_click, 1e-12)
            look_probability[rank + 1] = np.where(clicked[rank], after[rank], look_if_skipped * self.onward)
        return np.ascontiguousarray(look_probability.T)

    def posterior(self, searches: PackedSearches) -> Posterior:
        """Compute the probabilities of looks, given all clicks of the search."""
        p_look_before = self.looks(searches)
        depth = searches.depth
        attractive, after = _transpose(self.attractive), _transpose(self.after)
        clicked = _transpose(searches.clicked)
        ahead = np.ones((depth + 1, len(p_look_before)))  # P(clicks from here | looked at)
        silent = np.ones((depth + 1, len(p_look_before)))  # P(clicks from here | stopped)
        # empty ranks have no attractiveness, so they change neither probability
        for rank in range(depth - 1, -1, -1):
            is_clicked, a = clicked[rank], attractive[rank]
            p_continue = np.where(is_clicked, after[rank], self.onward)
            clicks_below = p_continue * ahead[rank + 1] + (1 - p_continue) * silent[rank + 1]
            ahead[rank] = np.where(is_clicked, a, 1 - a) * clicks_below
            silent[rank] = silent[rank + 1] * ~is_clicked
        ahead_here, below = np.ascontiguousarray(ahead[:-1].T), np.ascontiguousarray(ahead[1:].T)
        silent_here, silent_below = (np.ascontiguousarray(silent[:-1].T), np.ascontiguousarray(silent[1:].T))
        joint_look = p_look_before * ahead_here
        p_look = joint_look / np.maximum(joint_look + (1 - p_look_before) * silent_here, 1e-300)
        p_continue = np.where(searches.clicked, self.after, self.onward)
        continued, stopped = p_continue * below, (1 - p_continue) * silent_below
        moved = p_look * continued / np.maximum(continued + stopped, 1e-300)
        return Posterior(p_look, moved, below, silent_below)


def _transpose(values: NDArray[Any]) -> NDArray[Any]:
    """(K, N) the ranks as rows."""
    return np.ascontiguousarray(values.T)


@dataclass(frozen=True)
class Posterior:
    """Probabilities of looks at each rank, given all clicks.

    Attributes:
        looked: (N, K) the probability that the rank was looked at.
        moved: (N, K) the probability that this rank and the next were looked at.
        ahead: (N, K) the probability of the clicks below this rank, if the next rank is looked at.
        silent: (N, K) the probability of the clicks below this rank, if the user stopped here.
    """

    looked: Floats
    moved: Floats
    ahead: Floats
    silent: Floats


def _examined_weights(searches: PackedSearches, last: NDArray[np.int64], no_click: str) -> Floats:
    """(N, K) the weights of ranks that are looked at for sure: all ranks down to a click."""
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
    final = searches.by_pair(examined_weight * (np.arange(searches.depth) == searches.last[:, None]))
    return Estimates(
        smoothed_share(clicks, examined, settings.prior_of(0.0)),
        examined,
        smoothed_share(final, clicks, settings.prior_of(0.0)),
        clicks,
    )


def _cascade_chain(estimates: Estimates, searches: PackedSearches) -> Chain:
    return Chain(shown_attractiveness(estimates, searches), 1.0, np.zeros(searches.pair.shape))


def _sdbn_chain(estimates: Estimates, searches: PackedSearches) -> Chain:
    assert estimates.satisfaction is not None
    satisfied = estimates.filled(estimates.satisfaction)[searches.pair]
    return Chain(shown_attractiveness(estimates, searches), 1.0, 1 - satisfied)


def chain_model(
    name: str,
    chain: ToChain,
    fit: Callable[[PackedSearches, Settings], Estimates],
    title: str,
    formula: str,
    source: str,
    prior: float = 0.0,
) -> ClickModel:
    """Make a click model that predicts clicks by a chain."""
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


CASCADE_MODELS = (
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


_PRIOR = 1.0  # one click and one non-click, as in PyClick


def _maximise_expectation(
    step: Callable[..., tuple[Floats, ...]], start: tuple[Floats, ...], settings: Settings
) -> tuple[Floats, ...]:
    """EM until no parameter changes by more than the tolerance.

    Args:
        step: the expected looks and the new parameters, from the parameters.
        start: the first looks and parameters.
        settings: the tolerance, and the largest number of steps.
    """
    values = start
    for _ in range(settings.iterations):
        previous, values = values, step(*values[1:])
        changes = (np.abs(new - old).max() for new, old in zip(values[1:], previous[1:], strict=True))
        if float(max(changes)) < settings.tolerance:
            break
    return values


def _fit_dcm(searches: PackedSearches, settings: Settings) -> Estimates:
    """EM over looks; counting last clicks alone takes lists that end for users that stop."""
    prior = settings.prior_of(_PRIOR)
    clicks, impressions = count_clicks_by_pair(searches)
    followed_clicks = (searches.weights * searches.clicked * searches.follows).sum(axis=0)

    def step(attractive: Floats, onward: Floats) -> tuple[Floats, ...]:
        def expected(block: PackedSearches) -> tuple[Floats, ...]:
            a = attractive[block.pair] * block.shown
            posterior = Chain(a, 1.0, np.broadcast_to(onward, a.shape)).posterior(block)
            followed_clicks = block.weights * block.clicked * block.follows
            moved = (followed_clicks * posterior.moved).sum(axis=0)
            return block.by_pair(block.weights * posterior.looked), moved

        examined, moved = searches.summed(expected)
        attractive = np.nan_to_num(smoothed_share(clicks, examined, prior))
        return examined, attractive, smoothed_share(moved, followed_clicks, 1e-6)

    start = (clicks, np.full(len(clicks), 0.3), np.full(searches.depth, 0.5))
    examined, attractive, onward = _maximise_expectation(step, start, settings)
    continuation = np.where(followed_clicks > 0, onward, np.nan)
    return Estimates(
        np.where(impressions > 0, attractive, np.nan), examined, shared={"continuation": continuation}
    )


def _dcm_chain(estimates: Estimates, searches: PackedSearches) -> Chain:
    onward = np.resize(estimates.shared["continuation"], searches.depth)
    mean = np.nanmean(onward) if np.isfinite(onward).any() else 0.5
    after_click = np.where(np.isfinite(onward), onward, mean)
    return Chain(
        shown_attractiveness(estimates, searches), 1.0, np.broadcast_to(after_click, searches.pair.shape)
    )


def _fit_dbn(searches: PackedSearches, settings: Settings) -> Estimates:
    """EM over looks and satisfaction."""
    prior = settings.prior_of(_PRIOR)
    clicks, impressions = count_clicks_by_pair(searches)

    def step(attractive: Floats, satisfied: Floats, continuation: Floats) -> tuple[Floats, ...]:
        onward = float(continuation[0])

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

        examined, satisfied_clicks, (moved, not_satisfied) = searches.summed(expected)
        return (
            examined,
            np.nan_to_num(smoothed_share(clicks, examined, prior)),
            np.nan_to_num(smoothed_share(satisfied_clicks, clicks, prior)),
            np.array([min(max(float(moved / max(not_satisfied, 1e-12)), 1e-3), 1 - 1e-6)]),
        )

    start = (clicks, np.full(len(clicks), 0.3), np.full(len(clicks), 0.5), np.array([0.9]))
    examined, attractive, satisfied, continuation = _maximise_expectation(step, start, settings)
    return Estimates(
        np.where(impressions > 0, attractive, np.nan),
        examined,
        np.where(clicks > 0, satisfied, np.nan),
        clicks,
        {"continuation": continuation},
    )


def _dbn_chain(estimates: Estimates, searches: PackedSearches) -> Chain:
    assert estimates.satisfaction is not None
    onward = float(estimates.shared["continuation"][0])
    satisfied = estimates.filled(estimates.satisfaction)[searches.pair]
    return Chain(shown_attractiveness(estimates, searches), onward, onward * (1 - satisfied))


def _fit_ccm(searches: PackedSearches, settings: Settings) -> Estimates:
    """EM over looks and, after each click, over the relevance of the document."""
    prior = settings.prior_of(_PRIOR)
    clicks, impressions = count_clicks_by_pair(searches)
    followed_clicks = searches.by_pair(searches.weights * searches.clicked * searches.follows)

    def step(attractive: Floats, alpha: Floats) -> tuple[Floats, ...]:
        def expected(block: PackedSearches) -> tuple[Floats, ...]:
            weights, clicked = block.weights, block.clicked
            a = attractive[block.pair] * block.shown
            posterior = Chain(a, alpha[0], alpha[1] * (1 - a) + alpha[2] * a).posterior(block)
            # the states after a click: relevant or not, and going on or not
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

        examined, relevant, sums = searches.summed(expected)
        attractive = np.nan_to_num(smoothed_share(clicks + relevant, examined + followed_clicks, prior))
        return examined, attractive, np.clip((sums[::2] + 1e-6) / (sums[1::2] + 2e-6), 1e-6, 1 - 1e-6)

    start = (clicks, np.full(len(clicks), 0.3), np.array([0.9, 0.7, 0.3]))
    examined, attractive, alpha = _maximise_expectation(step, start, settings)
    return Estimates(
        np.where(impressions > 0, attractive, np.nan), examined + clicks, shared={"continuation": alpha}
    )


def _ccm_chain(estimates: Estimates, searches: PackedSearches) -> Chain:
    a = shown_attractiveness(estimates, searches)
    onward, after_irrelevant, after_relevant = estimates.shared["continuation"]
    return Chain(a, float(onward), after_irrelevant * (1 - a) + after_relevant * a)


BAYESIAN_MODELS = (
    chain_model(
        "dcm",
        _dcm_chain,
        _fit_dcm,
        "Dependent click model",
        "P(click | look) = a; after no click the next rank is looked at, after a click at rank r with "
        "probability l(r)",
        "Guo and others 2009",
        _PRIOR,
    ),
    chain_model(
        "dbn",
        _dbn_chain,
        _fit_dbn,
        "Dynamic Bayesian network",
        "P(click | look) = a; a click satisfies with s and ends the search; else the next rank is looked at "
        "with g; relevance = a s",
        "Chapelle and Zhang 2009",
        _PRIOR,
    ),
    chain_model(
        "ccm",
        _ccm_chain,
        _fit_ccm,
        "Click chain model",
        "P(click | look) = a; the next rank is looked at with a1 after no click, with a2 (1 - a) + a3 a "
        "after a click",
        "Guo and others 2009",
        _PRIOR,
    ),
)
