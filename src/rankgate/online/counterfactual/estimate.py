"""What users would have clicked on other lists, by a click model."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from rankgate.core.frozen import dataclass
from rankgate.online.clicks.catalogue import MODELS
from rankgate.online.clicks.estimates import bounded
from rankgate.online.clicks.harvest import position_bias
from rankgate.online.clicks.model import Settings
from rankgate.online.clicks.packed import PackedSearches, sums

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]

_PRIOR = 0.01  # clicks and non-clicks of each document in EM; more draws rare documents to 1/2
POSITION_BASED = "pbm_harvest"
_CELL = 30  # impressions of a document at a rank that its click rate needs

MEASURES = ("clicks", "first", "dcg")
"""Expected clicks of a search in the top k; the chance of a click at rank 1; DCG whose gain is the
chance of a click on a document that is looked at."""


@dataclass(frozen=True)
class Candidate:
    """The candidate's lists of the Q queries that the log has too.

    Attributes:
        pair: (Q, K) the pair of each slot; -1 where the log never shows it.
        filled: (Q, K) whether the candidate has a document there.
        query: (N,) of each packed search, the query's number; -1 for queries it does not have.
    """

    pair: Ints
    filled: NDArray[np.bool_]
    query: Ints


@dataclass(frozen=True)
class Fitted:
    """A click model on a log.

    Attributes:
        looks: (P,) how often each pair was looked at, as expected.
        attractive: (P,) P(click | look); 0 where it was never looked at.
        curve: (K,) examination of each rank, relative to the first; NaN where nothing tells.
        clicks: from lists the (N, K) chance of each click.
    """

    looks: Floats
    attractive: Floats
    curve: Floats
    clicks: Callable[[PackedSearches], Floats]


@dataclass(frozen=True)
class Estimated:
    """Means over searches of the queries that both have.

    Attributes:
        fitted: the click model.
        candidate: (3,) by `MEASURES`; what the log never shows earns nothing.
        most: (3,) the same if it were as attractive as the query's best, and looked at.
        logged: (3,) of the lists that were shown.
        by_query: (Q, 2) clicks of a search: candidate, logged.
        traffic: (Q,) searches of each query.
    """

    fitted: Fitted
    candidate: Floats
    most: Floats
    logged: Floats
    by_query: Floats
    traffic: Floats


def fitted(searches: PackedSearches, model: str, curve: Floats | None = None) -> Fitted:
    """Fit a click model; with a curve, the position-based one whose examination is known.

    In the position-based model attractiveness(q, d) = clicks / sum over impressions of
    examination(rank) (Joachims, Swaminathan and Schnabel, WSDM 2017; Agarwal and others, WSDM
    2019); others are those of ``rankgate online judgments``.
    """
    if model != POSITION_BASED:
        found = MODELS[model].fit(searches, Settings(prior=_PRIOR))
        known = np.nan_to_num(found.attractiveness)

        def predicted(lists: PackedSearches) -> Floats:
            return np.asarray(MODELS[model].marginal(found, lists) * lists.shown)

        return Fitted(found.examined, known, position_bias(searches), predicted)
    looked = position_bias(searches) if curve is None else curve
    depth = max(searches.depth, len(looked))
    rates = np.append(np.nan_to_num(looked), np.zeros(depth))[:depth]
    here = rates[: searches.depth]
    looks = searches.by_pair(searches.weights * here)
    clicks = searches.by_pair(searches.weights * searches.clicked * (here > 0))
    attractive = np.where(looks > 0, np.minimum(clicks / np.maximum(looks, 1e-12), 1.0), 0.0)

    def by_rank(lists: PackedSearches) -> Floats:
        wide = np.append(rates, np.zeros(lists.depth))[: lists.depth]
        return np.asarray(attractive[lists.pair] * lists.shown * wide)

    return Fitted(looks, attractive, looked, by_rank)


def estimate(
    searches: PackedSearches,
    candidate: Candidate,
    k: int,
    model: str = POSITION_BASED,
    curve: Floats | None = None,
) -> Estimated:
    """Estimate what users would have clicked on the candidate's lists, by a click model.

    Args:
        searches: with their clicks.
        candidate: its lists.
        k: how many ranks of a list count.
        model: the click model.
        curve: examination by rank, where it is known.
    """
    found = fitted(searches, model, curve)
    theirs = candidate.query >= 0
    shown, at = searches.rows(theirs), candidate.query[theirs]
    traffic = np.bincount(at, shown.weight, len(candidate.pair)).astype(np.float64)
    total = max(float(traffic.sum()), 1e-12)
    inside = (candidate.pair >= 0) & candidate.filled
    lists = _lists(searches, candidate, inside, traffic)
    own = np.where(inside, found.attractive[np.maximum(candidate.pair, 0)], 0.0)
    unseen = (candidate.pair < 0) & candidate.filled
    best = _best(searches, candidate, found.attractive)[:, None] * unseen
    discount = 1 / np.log2(np.arange(2, k + 2))
    per_query = found.clicks(lists).sum(axis=1)
    share, weight = traffic / total, shown.weight / total
    seen = shown.clicked[:, :k].sum(axis=1).astype(np.float64)
    worth = (found.attractive[shown.pair] * shown.shown)[:, :k]
    clicked = np.bincount(at, shown.weight * seen, len(traffic)) / np.maximum(traffic, 1e-12)
    mine = np.array([share @ per_query, share @ own[:, 0], share @ (own @ discount)])
    more = np.array([share @ best.sum(axis=1), share @ best[:, 0], share @ (best @ discount)])
    logged = np.array(
        [weight @ seen, weight @ worth[:, 0], weight @ (worth @ discount[: worth.shape[1]])]
    )
    return Estimated(
        found, mine, mine + more, logged, np.stack([per_query, clicked], axis=1), traffic
    )


def _lists(
    searches: PackedSearches, candidate: Candidate, inside: NDArray[np.bool_], traffic: Floats
) -> PackedSearches:
    """The candidate's lists, as deep as those of the log, which models need."""
    width = min(candidate.pair.shape[1], searches.depth)
    shape = len(candidate.pair), searches.depth
    pair, shown = np.zeros(shape, np.int64), np.zeros(shape, np.bool_)
    pair[:, :width] = np.maximum(candidate.pair, 0)[:, :width]
    shown[:, :width] = inside[:, :width]
    return PackedSearches(searches.pairs, pair, shown, np.zeros(shape, np.bool_), traffic)


def resampled(
    searches: PackedSearches,
    candidate: Candidate,
    k: int,
    model: str,
    curve: Floats | None,
    resamples: int,
    random: np.random.Generator,
) -> tuple[Floats, Floats, Floats]:
    """(B, 3) candidate, its most, and the log, of resamples (Poisson bootstrap).

    Sessions are resampled, or searches where sessions are unknown. The click model is fitted to
    each resample, so that the error of its parameters is in the intervals.
    """
    found = []
    for _ in range(resamples):
        drawn = replace(searches, weight=searches.resampled_weight(random))
        each = estimate(drawn, candidate, k, model, curve)
        found.append((each.candidate, each.most, each.logged))
    one, most, logged = (np.array(part) for part in zip(*found, strict=True))
    return one, most, logged


def log_likelihoods(model: str, train: PackedSearches, test: PackedSearches) -> Floats:
    """(N,) the log-probability of the clicks of each search by a model of other searches."""
    parameters = MODELS[model].fit(train, Settings(prior=0.5))
    chance = bounded(MODELS[model].conditional(parameters, test))
    logs = np.log(np.where(test.clicked, chance, 1 - chance))
    return np.asarray((logs * test.shown).sum(axis=1))


def misfit(searches: PackedSearches, found: Estimated) -> tuple[float, float]:
    """How far clicks are from the model: p of chi-squared, and the mean error of click rates.

    Cells are documents at ranks. Users who stop after a click, for instance, click less below good
    documents than examination of the rank alone says.

    Args:
        searches: with their clicks.
        found: what the model learned from them.

    Returns:
        p, and the root of the mean squared difference of observed and expected click rates
        (weighted by impressions, without what chance adds), divided by the mean click rate.
    """
    from scipy.special import chdtrc

    size = len(searches.pairs), searches.depth
    cells = searches.pair * size[1] + np.arange(size[1])

    def table(values: Floats) -> Floats:
        return sums(cells, searches.weights * values, size[0] * size[1]).reshape(size)

    shown, clicks = table(np.ones(cells.shape)), table(searches.clicked.astype(np.float64))
    with np.errstate(invalid="ignore", divide="ignore"):
        rate = np.clip(table(found.fitted.clicks(searches)) / shown, 1e-6, 1 - 1e-6)
    known = np.append(np.isfinite(found.fitted.curve), np.zeros(size[1]))[: size[1]] > 0
    chosen = (shown >= _CELL) & known
    freedom = int(chosen.sum()) - int(chosen.any(axis=1).sum()) - int(chosen.any(axis=0).sum()) + 1
    if freedom < 1 or not chosen.any():
        return 1.0, 0.0
    count, at = shown[chosen], rate[chosen]
    spread = count * at * (1 - at)
    off = (clicks[chosen] - count * at) ** 2
    p = float(chdtrc(freedom, (off / spread).sum()))
    mean = clicks[chosen].sum() / count.sum()
    more = float((np.maximum(off - spread, 0) / count).sum() / count.sum())
    return p, float(np.sqrt(more) / mean) if mean else 0.0


def _best(searches: PackedSearches, candidate: Candidate, attractive: Floats) -> Floats:
    """(Q,) the most attractive document that each query's lists showed."""
    best = np.zeros(len(candidate.pair))
    theirs = candidate.query >= 0
    top = np.where(searches.shown[theirs], attractive[searches.pair[theirs]], 0.0).max(axis=1)
    np.maximum.at(best, candidate.query[theirs], top)
    return best
