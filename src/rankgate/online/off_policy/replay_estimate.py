"""Estimates of clicks on lists of a candidate, by a click model."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from rankgate.core.frozen import dataclass
from rankgate.online.clicks.click_model import Settings, clip_probability
from rankgate.online.clicks.click_models import MODELS, position_bias
from rankgate.online.clicks.packed_searches import PackedSearches, sum_by_cell

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from rankgate.core.arrays import Floats, Ints


_PRIOR = 0.01  # clicks and non-clicks of each document in EM; more pulls rare documents to 1/2
POSITION_BASED = "pbm_harvest"
_MIN_IMPRESSIONS = 30  # impressions of a document at a rank that its click rate needs

MEASURES = ("clicks", "first", "dcg")
"""Expected clicks of a search in the top k; the probability of a click at rank 1; DCG whose gain is the
chance of a click on a document that is looked at."""


@dataclass(frozen=True)
class CandidateLists:
    """The candidate's lists for the Q queries that are also in the log.

    Attributes:
        pair: (Q, K) the pair of each slot; -1 if the log never shows the pair.
        filled: (Q, K) True if the candidate has a document in the slot.
        query: (N,) the number of each packed search's query; -1 for queries without a candidate
            list.
    """

    pair: Ints
    filled: NDArray[np.bool_]
    query: Ints


@dataclass(frozen=True)
class FittedClickModel:
    """A click model that is fitted to a log.

    Attributes:
        looks: (P,) the expected number of looks at each pair.
        attractive: (P,) P(click | look); 0 for pairs without looks.
        curve: (K,) the examination of each rank, relative to the first; NaN if unknown.
        clicks: a function from lists to the (N, K) probability of each click.
    """

    looks: Floats
    attractive: Floats
    curve: Floats
    clicks: Callable[[PackedSearches], Floats]


@dataclass(frozen=True)
class ReplayEstimate:
    """Means over searches of the queries that the log and the candidate share.

    Attributes:
        fitted: the click model.
        candidate: (3,) by `MEASURES`; documents that the log never shows earn 0.
        most: (3,) the values if unseen documents were as attractive as the query's best, and looked
            at.
        logged: (3,) the values of the shown lists.
        by_query: (Q, 2) clicks per search: candidate, logged.
        traffic: (Q,) the number of searches of each query.
    """

    fitted: FittedClickModel
    candidate: Floats
    most: Floats
    logged: Floats
    by_query: Floats
    traffic: Floats


def fit_click_model(searches: PackedSearches, model: str, curve: Floats | None = None) -> FittedClickModel:
    """Fit a click model; with a curve, the position-based model with this known examination.

    In the position-based model attractiveness(q, d) = clicks / sum over impressions of
    examination(rank) (Joachims, Swaminathan and Schnabel, WSDM 2017; Agarwal and others, WSDM
    2019); other models are those of ``rankgate online judgments``.
    """
    if model != POSITION_BASED:
        estimates = MODELS[model].fit(searches, Settings(prior=_PRIOR))
        attractiveness = np.nan_to_num(estimates.attractiveness)

        def predicted(lists: PackedSearches) -> Floats:
            return np.asarray(MODELS[model].marginal(estimates, lists) * lists.shown)

        return FittedClickModel(estimates.examined, attractiveness, position_bias(searches), predicted)
    examination = position_bias(searches) if curve is None else curve
    depth = max(searches.depth, len(examination))
    rates = np.append(np.nan_to_num(examination), np.zeros(depth))[:depth]
    log_rates = rates[: searches.depth]
    examined = searches.by_pair(searches.weights * log_rates)
    clicks = searches.by_pair(searches.weights * searches.clicked * (log_rates > 0))
    attractive = np.where(examined > 0, np.minimum(clicks / np.maximum(examined, 1e-12), 1.0), 0.0)

    def by_rank(lists: PackedSearches) -> Floats:
        list_rates = np.append(rates, np.zeros(lists.depth))[: lists.depth]
        return np.asarray(attractive[lists.pair] * lists.shown * list_rates)

    return FittedClickModel(examined, attractive, examination, by_rank)


def estimate_replay(
    searches: PackedSearches,
    candidate: CandidateLists,
    k: int,
    model: str = POSITION_BASED,
    curve: Floats | None = None,
) -> ReplayEstimate:
    """Estimate what users would have clicked on the candidate's lists, by a click model.

    Args:
        searches: with their clicks.
        candidate: the candidate's lists.
        k: the number of ranks of a list that count.
        model: the click model.
        curve: the examination by rank, if known.
    """
    fitted_model = fit_click_model(searches, model, curve)
    has_candidate = candidate.query >= 0
    common_searches, query_index = searches.rows(has_candidate), candidate.query[has_candidate]
    traffic = np.bincount(query_index, common_searches.weight, len(candidate.pair)).astype(np.float64)
    total = max(float(traffic.sum()), 1e-12)
    is_known = (candidate.pair >= 0) & candidate.filled
    lists = _packed_candidate_lists(searches, candidate, is_known, traffic)
    attractive = np.where(is_known, fitted_model.attractive[np.maximum(candidate.pair, 0)], 0.0)
    unseen = (candidate.pair < 0) & candidate.filled
    best = _best_attractiveness(searches, candidate, fitted_model.attractive)[:, None] * unseen
    discount = 1 / np.log2(np.arange(2, k + 2))
    per_query = fitted_model.clicks(lists).sum(axis=1)
    share, weight = traffic / total, common_searches.weight / total
    clicks_of_search = common_searches.clicked[:, :k].sum(axis=1).astype(np.float64)
    shown_attractive = (fitted_model.attractive[common_searches.pair] * common_searches.shown)[:, :k]
    clicked = np.bincount(query_index, common_searches.weight * clicks_of_search, len(traffic)) / np.maximum(
        traffic, 1e-12
    )
    candidate_values = np.array(
        [share @ per_query, share @ attractive[:, 0], share @ (attractive @ discount)]
    )
    unseen_values = np.array([share @ best.sum(axis=1), share @ best[:, 0], share @ (best @ discount)])
    logged = np.array(
        [
            weight @ clicks_of_search,
            weight @ shown_attractive[:, 0],
            weight @ (shown_attractive @ discount[: shown_attractive.shape[1]]),
        ]
    )
    return ReplayEstimate(
        fitted_model,
        candidate_values,
        candidate_values + unseen_values,
        logged,
        np.stack([per_query, clicked], axis=1),
        traffic,
    )


def _packed_candidate_lists(
    searches: PackedSearches, candidate: CandidateLists, is_known: NDArray[np.bool_], traffic: Floats
) -> PackedSearches:
    """The candidate's lists as packed searches, with the depth of the log's lists."""
    width = min(candidate.pair.shape[1], searches.depth)
    shape = len(candidate.pair), searches.depth
    pair, is_shown = np.zeros(shape, np.int64), np.zeros(shape, np.bool_)
    pair[:, :width] = np.maximum(candidate.pair, 0)[:, :width]
    is_shown[:, :width] = is_known[:, :width]
    return PackedSearches(searches.pairs, pair, is_shown, np.zeros(shape, np.bool_), traffic)


def resample_estimates(
    searches: PackedSearches,
    candidate: CandidateLists,
    k: int,
    model: str,
    curve: Floats | None,
    resamples: int,
    random: np.random.Generator,
) -> tuple[Floats, Floats, Floats]:
    """(B, 3) the candidate's values, its largest values, and the log's, by Poisson bootstrap.

    Sessions are resampled, or searches where sessions are unknown. The click model is fitted to
    each resample, so that the error of its parameters is in the intervals.
    """
    estimates = []
    for _ in range(resamples):
        resample = replace(searches, weight=searches.resampled_weight(random))
        estimated = estimate_replay(resample, candidate, k, model, curve)
        estimates.append((estimated.candidate, estimated.most, estimated.logged))
    candidate_values, upper_values, logged = (np.array(column) for column in zip(*estimates, strict=True))
    return candidate_values, upper_values, logged


def log_likelihoods(model: str, train: PackedSearches, test: PackedSearches) -> Floats:
    """(N,) the log-probability of each search's clicks, by a model fitted to other searches."""
    parameters = MODELS[model].fit(train, Settings(prior=0.5))
    chance = clip_probability(MODELS[model].conditional(parameters, test))
    logs = np.log(np.where(test.clicked, chance, 1 - chance))
    return np.asarray((logs * test.shown).sum(axis=1))


def measure_misfit(searches: PackedSearches, estimated: ReplayEstimate) -> tuple[float, float]:
    """Measure the misfit of the model to clicks: p of chi-squared, mean error of click rates.

    Cells are documents at ranks. For example, users who stop after a click will click less below
    good documents than examination by rank predicts.

    Args:
        searches: with their clicks.
        estimated: the model's estimates from them.

    Returns:
        p, and the root of the mean squared difference of observed and expected click rates
        (weighted by impressions, without what chance adds), divided by the mean click rate.
    """
    from rankgate.measurement.stats.special_functions import chdtrc

    size = len(searches.pairs), searches.depth
    cells = searches.pair * size[1] + np.arange(size[1])

    def table(values: Floats) -> Floats:
        return sum_by_cell(cells, searches.weights * values, size[0] * size[1]).reshape(size)

    impressions, clicks = table(np.ones(cells.shape)), table(searches.clicked.astype(np.float64))
    with np.errstate(invalid="ignore", divide="ignore"):
        rate = np.clip(table(estimated.fitted.clicks(searches)) / impressions, 1e-6, 1 - 1e-6)
    has_examination = np.append(np.isfinite(estimated.fitted.curve), np.zeros(size[1]))[: size[1]] > 0
    is_tested = (impressions >= _MIN_IMPRESSIONS) & has_examination
    freedom = int(is_tested.sum()) - int(is_tested.any(axis=1).sum()) - int(is_tested.any(axis=0).sum()) + 1
    if freedom < 1 or not is_tested.any():
        return 1.0, 0.0
    count, expected_rate = impressions[is_tested], rate[is_tested]
    variance = count * expected_rate * (1 - expected_rate)
    squared_error = (clicks[is_tested] - count * expected_rate) ** 2
    p = float(chdtrc(freedom, (squared_error / variance).sum()))
    mean = clicks[is_tested].sum() / count.sum()
    excess = float((np.maximum(squared_error - variance, 0) / count).sum() / count.sum())
    return p, float(np.sqrt(excess) / mean) if mean else 0.0


def _best_attractiveness(searches: PackedSearches, candidate: CandidateLists, attractive: Floats) -> Floats:
    """(Q,) the attractiveness of the most attractive shown document of each query."""
    best = np.zeros(len(candidate.pair))
    has_candidate = candidate.query >= 0
    top = np.where(searches.shown[has_candidate], attractive[searches.pair[has_candidate]], 0.0).max(axis=1)
    np.maximum.at(best, candidate.query[has_candidate], top)
    return best
