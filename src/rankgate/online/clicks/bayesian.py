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


def _fit_dcm(searches: PackedSearches, settings: Settings) -> Estimates:
    """EM over looks; counting last clicks alone takes lists that end for users that stop."""
    weights, clicked = searches.weights, searches.clicked
    prior = settings.prior or 1.0
    clicks = searches.by_pair(weights * clicked)
    attractive, onward = np.full(len(searches.pairs), 0.3), np.full(searches.depth, 0.5)
    examined = clicks
    follows = np.arange(searches.depth) < _length(searches)[:, None] - 1
    here = weights * clicked * follows
    for _ in range(settings.iterations):
        a = attractive[searches.pair] * searches.shown
        found = Chain(a, 1.0, np.broadcast_to(onward, a.shape)).posterior(searches)
        was = attractive, onward
        examined = searches.by_pair(weights * found.looked)
        attractive = share(clicks, examined, prior)
        onward = share((here * found.moved).sum(axis=0), here.sum(axis=0), 1e-6)
        change = max(np.abs(attractive - was[0]).max(), np.abs(onward - was[1]).max())
        if float(change) < settings.tolerance:
            break
    seen = searches.by_pair(weights) > 0
    known = np.where(here.sum(axis=0) > 0, onward, np.nan)
    return Estimates(np.where(seen, attractive, np.nan), examined, shared={"continuation": known})


def _dcm(found: Estimates, searches: PackedSearches) -> Chain:
    onward = np.resize(found.shared["continuation"], searches.depth)
    mean = np.nanmean(onward) if np.isfinite(onward).any() else 0.5
    after = np.where(np.isfinite(onward), onward, mean)
    attractive = bounded(of_pairs(found, searches)) * searches.shown
    return Chain(attractive, 1.0, np.broadcast_to(after, searches.pair.shape))


def _fit_dbn(searches: PackedSearches, settings: Settings) -> Estimates:
    """EM over looks and satisfaction."""
    weights, clicked = searches.weights, searches.clicked
    prior = settings.prior or 1.0
    pairs = len(searches.pairs)
    clicks = searches.by_pair(weights * clicked)
    attractive, satisfied, onward = np.full(pairs, 0.3), np.full(pairs, 0.5), 0.9
    examined = clicks
    follows = np.arange(searches.depth) < _length(searches)[:, None] - 1
    for _ in range(settings.iterations):
        a, s = attractive[searches.pair] * searches.shown, satisfied[searches.pair]
        found = Chain(a, onward, onward * (1 - s)).posterior(searches)
        rest = onward * found.ahead + (1 - onward) * found.silent
        pleased = clicked * s * found.silent
        pleased = pleased / np.maximum(pleased + (1 - s) * rest, 1e-300)
        was = attractive, satisfied, onward
        examined = searches.by_pair(weights * found.looked)
        attractive = share(clicks, examined, prior)
        satisfied = share(searches.by_pair(weights * pleased), clicks, prior)
        free = weights * (found.looked - pleased) * follows
        onward = float((weights * found.moved * follows).sum() / max(free.sum(), 1e-12))
        onward = min(max(onward, 1e-3), 1 - 1e-6)
        change = max(np.abs(attractive - was[0]).max(), np.abs(satisfied - was[1]).max())
        if max(float(change), abs(onward - was[2])) < settings.tolerance:
            break
    seen = searches.by_pair(weights) > 0
    return Estimates(
        np.where(seen, attractive, np.nan), examined, np.where(clicks > 0, satisfied, np.nan),
        clicks, {"continuation": np.array([onward])},
    )  # fmt: skip


def _length(searches: PackedSearches) -> NDArray[np.int64]:
    """(N,) the ranks down to the last that was shown."""
    places = np.where(searches.shown, np.arange(1, searches.depth + 1), 0)
    return np.asarray(places.max(axis=1), dtype=np.int64)


def _dbn(found: Estimates, searches: PackedSearches) -> Chain:
    assert found.satisfaction is not None
    onward = float(found.shared["continuation"][0])
    satisfied = found.filled(found.satisfaction)[searches.pair]
    attractive = bounded(of_pairs(found, searches)) * searches.shown
    return Chain(attractive, onward, onward * (1 - satisfied))


def _fit_ccm(searches: PackedSearches, settings: Settings) -> Estimates:
    """EM over looks and, after each click, whether the document was relevant."""
    weights, clicked = searches.weights, searches.clicked
    prior = settings.prior or 1.0
    clicks = searches.by_pair(weights * clicked)
    attractive = np.full(len(searches.pairs), 0.3)
    alpha = np.array([0.9, 0.7, 0.3])
    examined = clicks
    follows = np.arange(searches.depth) < _length(searches)[:, None] - 1
    for _ in range(settings.iterations):
        a = attractive[searches.pair] * searches.shown
        found = Chain(a, alpha[0], alpha[1] * (1 - a) + alpha[2] * a).posterior(searches)
        went, stopped = found.ahead, found.silent
        good_on, good_off = a * alpha[2] * went, a * (1 - alpha[2]) * stopped
        bad_on, bad_off = (1 - a) * alpha[1] * went, (1 - a) * (1 - alpha[1]) * stopped
        total = np.maximum(good_on + good_off + bad_on + bad_off, 1e-300)
        good = (good_on + good_off) / total
        here = weights * clicked * follows
        was = attractive, alpha
        examined = searches.by_pair(weights * found.looked)
        told = searches.by_pair(here)
        attractive = share(clicks + searches.by_pair(here * good), examined + told, prior)
        passed = weights * ~clicked * follows
        alpha = np.array([
            _rate(passed * found.moved, passed * found.looked),
            _rate(here * bad_on / total, here * (1 - good)),
            _rate(here * good_on / total, here * good),
        ])  # fmt: skip
        change = max(np.abs(attractive - was[0]).max(), np.abs(alpha - was[1]).max())
        if float(change) < settings.tolerance:
            break
    seen = searches.by_pair(weights) > 0
    return Estimates(
        np.where(seen, attractive, np.nan), examined + clicks, shared={"continuation": alpha}
    )


def _rate(part: Floats, whole: Floats) -> float:
    return float(np.clip((part.sum() + 1e-6) / (whole.sum() + 2e-6), 1e-6, 1 - 1e-6))


def _ccm(found: Estimates, searches: PackedSearches) -> Chain:
    a = bounded(of_pairs(found, searches)) * searches.shown
    onward, bad, good = found.shared["continuation"]
    return Chain(a, float(onward), bad * (1 - a) + good * a)


MODELS = (
    of_chain(
        "dcm", _dcm, _fit_dcm, "Dependent click model",
        "P(click | look) = a; after no click the next rank is looked at, after a click at rank r "
        "with probability l(r)", "Guo and others 2009",
    ),
    of_chain(
        "dbn", _dbn, _fit_dbn, "Dynamic Bayesian network",
        "P(click | look) = a; a click satisfies with s and ends the search; else the next rank is "
        "looked at with g; relevance = a s", "Chapelle and Zhang 2009",
    ),
    of_chain(
        "ccm", _ccm, _fit_ccm, "Click chain model",
        "P(click | look) = a; the next rank is looked at with a1 after no click, with "
        "a2 (1 - a) + a3 a after a click", "Guo and others 2009",
    ),
)  # fmt: skip
