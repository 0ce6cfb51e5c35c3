"""Cascade models with hidden looks below the last click: DCM, DBN and CCM, by EM."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rankgate.online.clicks.baselines import of_pairs
from rankgate.online.clicks.cascade import of_chain
from rankgate.online.clicks.chain import Chain
from rankgate.online.clicks.estimates import Estimates, bounded, share
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
    after = (searches.weights * searches.clicked * searches.follows).sum(axis=0)

    def expected(block: PackedSearches) -> tuple[Floats, ...]:
        a = attractive[block.pair] * block.shown
        found = Chain(a, 1.0, np.broadcast_to(onward, a.shape)).posterior(block)
        here = block.weights * block.clicked * block.follows
        return block.by_pair(block.weights * found.looked), (here * found.moved).sum(axis=0)

    for _ in range(settings.iterations):
        was = attractive, onward
        examined, moved = searches.summed(expected)
        attractive = np.nan_to_num(share(clicks, examined, prior))
        onward = share(moved, after, 1e-6)
        change = max(np.abs(attractive - was[0]).max(), np.abs(onward - was[1]).max())
        if float(change) < settings.tolerance:
            break
    seen = searches.by_pair(searches.weights) > 0
    known = np.where(after > 0, onward, np.nan)
    return Estimates(np.where(seen, attractive, np.nan), examined, shared={"continuation": known})


def _dcm(found: Estimates, searches: PackedSearches) -> Chain:
    onward = np.resize(found.shared["continuation"], searches.depth)
    mean = np.nanmean(onward) if np.isfinite(onward).any() else 0.5
    after = np.where(np.isfinite(onward), onward, mean)
    attractive = bounded(of_pairs(found, searches)) * searches.shown
    return Chain(attractive, 1.0, np.broadcast_to(after, searches.pair.shape))


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
        found = Chain(a, onward, onward * (1 - s)).posterior(block)
        rest = onward * found.ahead + (1 - onward) * found.silent
        pleased = block.clicked * s * found.silent
        pleased = pleased / np.maximum(pleased + (1 - s) * rest, 1e-300)
        free = weights * (found.looked - pleased) * block.follows
        moved = weights * found.moved * block.follows
        return (
            block.by_pair(weights * found.looked), block.by_pair(weights * pleased),
            np.array([moved.sum(), free.sum()]),
        )  # fmt: skip

    for _ in range(settings.iterations):
        was = attractive, satisfied, onward
        examined, pleased, (moved, free) = searches.summed(expected)
        attractive = np.nan_to_num(share(clicks, examined, prior))
        satisfied = np.nan_to_num(share(pleased, clicks, prior))
        onward = min(max(float(moved / max(free, 1e-12)), 1e-3), 1 - 1e-6)
        change = max(np.abs(attractive - was[0]).max(), np.abs(satisfied - was[1]).max())
        if max(float(change), abs(onward - was[2])) < settings.tolerance:
            break
    seen = searches.by_pair(searches.weights) > 0
    return Estimates(
        np.where(seen, attractive, np.nan), examined, np.where(clicks > 0, satisfied, np.nan),
        clicks, {"continuation": np.array([onward])},
    )  # fmt: skip


def _dbn(found: Estimates, searches: PackedSearches) -> Chain:
    assert found.satisfaction is not None
    onward = float(found.shared["continuation"][0])
    satisfied = found.filled(found.satisfaction)[searches.pair]
    attractive = bounded(of_pairs(found, searches)) * searches.shown
    return Chain(attractive, onward, onward * (1 - satisfied))


def _fit_ccm(searches: PackedSearches, settings: Settings) -> Estimates:
    """EM over looks and, after each click, whether the document was relevant."""
    prior = settings.prior_of(_PRIOR)
    clicks = searches.by_pair(searches.weights * searches.clicked)
    known = searches.by_pair(searches.weights * searches.clicked * searches.follows)
    attractive = np.full(len(searches.pairs), 0.3)
    alpha = np.array([0.9, 0.7, 0.3])
    examined = clicks

    def expected(block: PackedSearches) -> tuple[Floats, ...]:
        weights, clicked = block.weights, block.clicked
        a = attractive[block.pair] * block.shown
        found = Chain(a, alpha[0], alpha[1] * (1 - a) + alpha[2] * a).posterior(block)
        # what is after a click: relevant or not, and on or not
        good_on, bad_on = a * alpha[2] * found.ahead, (1 - a) * alpha[1] * found.ahead
        good = good_on + a * (1 - alpha[2]) * found.silent
        total = good + bad_on + (1 - a) * (1 - alpha[1]) * found.silent
        here = weights * clicked * block.follows
        scaled = here / np.maximum(total, 1e-300)
        passed = weights * ~clicked * block.follows
        good = scaled * good
        return (
            block.by_pair(weights * found.looked), block.by_pair(good),
            np.array([(passed * found.moved).sum(), (passed * found.looked).sum(),
                      (scaled * bad_on).sum(), (here - good).sum(),
                      (scaled * good_on).sum(), good.sum()]),
        )  # fmt: skip

    for _ in range(settings.iterations):
        was = attractive, alpha
        examined, good, sums = searches.summed(expected)
        attractive = np.nan_to_num(share(clicks + good, examined + known, prior))
        alpha = np.clip((sums[::2] + 1e-6) / (sums[1::2] + 2e-6), 1e-6, 1 - 1e-6)
        change = max(np.abs(attractive - was[0]).max(), np.abs(alpha - was[1]).max())
        if float(change) < settings.tolerance:
            break
    seen = searches.by_pair(searches.weights) > 0
    return Estimates(
        np.where(seen, attractive, np.nan), examined + clicks, shared={"continuation": alpha}
    )


def _ccm(found: Estimates, searches: PackedSearches) -> Chain:
    a = bounded(of_pairs(found, searches)) * searches.shown
    onward, bad, good = found.shared["continuation"]
    return Chain(a, float(onward), bad * (1 - a) + good * a)


MODELS = (
    of_chain(
        "dcm", _dcm, _fit_dcm, "Dependent click model",
        "P(click | look) = a; after no click the next rank is looked at, after a click at rank r "
        "with probability l(r)", "Guo and others 2009",
        _PRIOR,
    ),
    of_chain(
        "dbn", _dbn, _fit_dbn, "Dynamic Bayesian network",
        "P(click | look) = a; a click satisfies with s and ends the search; else the next rank is "
        "looked at with g; relevance = a s", "Chapelle and Zhang 2009",
        _PRIOR,
    ),
    of_chain(
        "ccm", _ccm, _fit_ccm, "Click chain model",
        "P(click | look) = a; the next rank is looked at with a1 after no click, with "
        "a2 (1 - a) + a3 a after a click", "Guo and others 2009",
        _PRIOR,
    ),
)  # fmt: skip
