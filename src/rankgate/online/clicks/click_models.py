"""All click models: those of rankgate, then those of installed plug-ins.

`position_bias` uses documents that were shown at several ranks for one query. In PBM and UBM a
click needs a look and an attractive document.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rankgate.core.declare import Registry
from rankgate.core.present.number_formats import count_noun
from rankgate.online.clicks import cascade_models, click_model
from rankgate.online.clicks.click_model import (
    ClickModel,
    Estimates,
    Settings,
    pair_attractiveness,
    shown_attractiveness,
    smoothed_share,
)
from rankgate.online.clicks.packed_searches import sum_by_cell
from rankgate.online.clicks.product_fit import (
    MAX_PROBABILITY,
    CellCounts,
    Links,
    attractiveness_interval,
    find_linked_cells,
    fit_product,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from rankgate.core.arrays import Floats, Ints
    from rankgate.online.clicks.packed_searches import PackedSearches


_MIN_EXAMINATION = 1e-3  # examination of a rank


def position_bias(searches: PackedSearches) -> Floats:
    """(K,) the rate of looks at each rank, relative to the first; NaN if unknown.

    For every two ranks, the clicks of pairs that were shown at both are compared, each pair
    weighted by the smaller number of its impressions (AllPairs); the logarithms of these ratios are
    combined by weighted least squares.
    """
    impressions, clicks = _impressions_and_clicks(searches)
    depth = searches.depth
    rows, ratios, weights = [], [], []
    for upper_rank in range(depth):
        for lower_rank in range(upper_rank + 1, depth):
            shown_at_both = (impressions[:, upper_rank] > 0) & (impressions[:, lower_rank] > 0)
            if not shown_at_both.any():
                continue
            weight = np.minimum(
                impressions[shown_at_both, upper_rank], impressions[shown_at_both, lower_rank]
            )
            upper_clicks = float(
                (weight * clicks[shown_at_both, upper_rank] / impressions[shown_at_both, upper_rank]).sum()
            )
            lower_clicks = float(
                (weight * clicks[shown_at_both, lower_rank] / impressions[shown_at_both, lower_rank]).sum()
            )
            if upper_clicks <= 0 or lower_clicks <= 0:
                continue
            row = np.zeros(depth)
            row[upper_rank], row[lower_rank] = 1.0, -1.0
            rows.append(row)
            ratios.append(np.log(upper_clicks / lower_clicks))
            weights.append(1 / (1 / upper_clicks + 1 / lower_clicks))
    return _solve_examination(np.array(rows).reshape(-1, depth), np.array(ratios), np.array(weights))


def _impressions_and_clicks(searches: PackedSearches) -> tuple[Floats, Floats]:
    """(P, K) impressions and clicks of each pair at each rank."""
    size = len(searches.pairs), searches.depth
    cells = searches.pair * searches.depth + np.arange(searches.depth)
    impressions = sum_by_cell(cells, searches.weights, size[0] * size[1])
    clicks = sum_by_cell(cells, searches.weights * searches.clicked, size[0] * size[1])
    return impressions.reshape(size), clicks.reshape(size)


def _solve_examination(rows: Floats, ratios: Floats, weights: Floats) -> Floats:
    """Examination from log ratios; the first rank is 1."""
    depth = rows.shape[1]
    examination = np.full(depth, np.nan)
    examination[0] = 1.0
    if len(rows):
        scale = np.sqrt(weights)[:, None]
        solved, *_ = np.linalg.lstsq(rows[:, 1:] * scale, ratios * scale[:, 0], rcond=None)
        linked = (rows[:, 1:] != 0).any(axis=0)
        examination[1:] = np.where(linked, np.maximum(np.exp(solved), _MIN_EXAMINATION), np.nan)
    return examination


_PRIOR = 0.0  # plain maximum likelihood


def _rank_cells(searches: PackedSearches) -> Ints:
    """(N, K) the cell of each look: its rank."""
    return np.broadcast_to(np.arange(searches.depth), searches.pair.shape)


def _distance_cells(searches: PackedSearches) -> Ints:
    """(N, K) the cell of each look: its rank and the rank of the click before it (0: none)."""
    click_ranks = np.where(searches.clicked, np.arange(1, searches.depth + 1), 0)
    previous_click = np.zeros_like(click_ranks)
    previous_click[:, 1:] = np.maximum.accumulate(click_ranks, axis=1)[:, :-1]
    return np.arange(searches.depth) * (searches.depth + 1) + previous_click


def _fit_pbm(searches: PackedSearches, settings: Settings) -> Estimates:
    return _fit_cells(searches, settings, _rank_cells, searches.depth)


def _fit_ubm(searches: PackedSearches, settings: Settings) -> Estimates:
    return _fit_cells(searches, settings, _distance_cells, searches.depth * (searches.depth + 1))


def _fit_cells(
    searches: PackedSearches, settings: Settings, cells: Callable[[PackedSearches], Ints], count: int
) -> Estimates:
    """Fit attractiveness and the examination of cells, whose product is the probability of a click."""
    cell_counts = CellCounts.count(searches, cells, count)
    fit = fit_product(cell_counts, settings.prior_of(_PRIOR))
    return _make_estimates(cell_counts, fit.attractiveness, fit.examination, searches.depth)


def _fit_harvest(searches: PackedSearches, settings: Settings) -> Estimates:
    """Fit attractiveness with the position bias from lists in several orders."""
    cell_counts = CellCounts.count(searches, _rank_cells, searches.depth)
    curve = position_bias(searches)
    prior = settings.prior_of(_PRIOR)
    compared = np.isfinite(curve)[cell_counts.cell]
    clicks = cell_counts.by_pair(cell_counts.clicks * compared)
    examined = cell_counts.by_pair(cell_counts.shown * np.nan_to_num(curve[cell_counts.cell]))
    rate = np.where(examined > 0, np.minimum(smoothed_share(clicks, examined, prior), 1.0), np.nan)
    return _make_estimates(cell_counts, rate, curve, searches.depth)


def _make_estimates(
    cell_counts: CellCounts, attractiveness: Floats, examination: Floats, depth: int
) -> Estimates:
    """Scale examination by its reference, and find what is identified, with its error."""
    at_a, at_e = np.nan_to_num(attractiveness)[cell_counts.pair], examination[cell_counts.cell]
    p = np.minimum(at_a * np.nan_to_num(at_e), MAX_PROBABILITY)
    links = find_linked_cells(cell_counts, cell_counts.shown * p / (1 - p))
    scale = float(examination[links.reference])
    if links.linked.any():
        attractiveness, examination = attractiveness * scale, examination / scale
    low, high = attractiveness_interval(cell_counts, links, attractiveness, examination)
    # the expected looks among impressions without a click
    at_a = np.nan_to_num(attractiveness)[cell_counts.pair]
    at_e = np.minimum(np.nan_to_num(examination), 1.0)[cell_counts.cell]
    looks_without_click = (
        (cell_counts.shown - cell_counts.clicks) * at_e * (1 - at_a) / np.maximum(1 - p, 1e-12)
    )
    evidence = cell_counts.by_pair(cell_counts.clicks + looks_without_click)
    shape = (depth, cell_counts.cells // depth)
    grid = examination if shape[1] == 1 else examination.reshape(shape)
    return Estimates(
        attractiveness,
        evidence,
        shared={"examination": grid},
        low=low,
        high=high,
        identified=np.isfinite(low),
        linked=links.linked,
        refusal=_refusal_reason(cell_counts, links, shape[1]),
    )


def _refusal_reason(cell_counts: CellCounts, links: Links, cells_of_rank: int) -> str:
    """Explain why clicks cannot separate ranks and documents; empty if they can."""
    ranks = np.unique(cell_counts.cell[cell_counts.clicks > 0] // cells_of_rank)
    linked = np.unique(links.cells // cells_of_rank)
    if not len(ranks):
        return "no document was clicked"
    if len(linked) > 1 or (len(linked) and len(ranks) == 1):
        return ""
    return (
        f"there are clicks at {count_noun(len(ranks), 'rank')}, and too few on documents that were shown at "
        "several of them, so that examination of ranks and attractiveness of documents cannot be separated; "
        "log searches in which the same documents are shown at other ranks, as with several rankers or with "
        "neighbours exchanged at random"
    )


def _pbm_probability(estimates: Estimates, searches: PackedSearches) -> Floats:
    curve = estimates.shared["examination"]
    curve = curve if np.isfinite(curve).any() else np.ones(1)
    examination = np.resize(np.where(np.isfinite(curve), curve, np.nanmean(curve)), searches.depth)
    return np.asarray(np.minimum(pair_attractiveness(estimates, searches) * examination, 1.0))


def _filled_grid(estimates: Estimates) -> Floats:
    grid = estimates.shared["examination"]
    return np.asarray(np.where(np.isfinite(grid), grid, np.nanmean(grid)))


def _ubm_conditional(estimates: Estimates, searches: PackedSearches) -> Floats:
    grid = _filled_grid(estimates).ravel()
    return np.asarray(
        np.minimum(pair_attractiveness(estimates, searches) * grid[_distance_cells(searches)], 1.0)
    )


def _ubm_marginal(estimates: Estimates, searches: PackedSearches) -> Floats:
    """Sum over the possible ranks of the previous click, rank by rank."""
    grid, depth = _filled_grid(estimates), searches.depth
    attractive = shown_attractiveness(estimates, searches)
    p_last_click = np.zeros((len(attractive), depth + 1))
    p_last_click[:, 0] = 1.0
    chances = np.zeros_like(attractive)
    for rank in range(depth):
        p_click = np.minimum(attractive[:, rank, None] * grid[rank], 1.0)
        chances[:, rank] = (p_last_click * p_click).sum(axis=1)
        p_last_click = p_last_click * (1 - p_click)
        p_last_click[:, rank + 1] = chances[:, rank]
    return chances


EXAMINATION_MODELS = (
    ClickModel(
        "pbm",
        title="Position-based model, by expectation and maximisation",
        formula="P(click) = attractiveness(q, d) * examination(rank)",
        source="Craswell and others 2008; Wang and others 2018",
        fit=_fit_pbm,
        conditional=_pbm_probability,
        marginal=_pbm_probability,
    ),
    ClickModel(
        "pbm_harvest",
        title="Position-based model, bias from documents shown at several ranks",
        formula="P(click) = attractiveness(q, d) * examination(rank); examination by harvesting",
        source="Agarwal and others 2019",
        fit=_fit_harvest,
        conditional=_pbm_probability,
        marginal=_pbm_probability,
    ),
    ClickModel(
        "ubm",
        title="User browsing model",
        formula="P(click) = attractiveness(q, d) * examination(rank, rank of the click before)",
        source="Dupret and Piwowarski 2008",
        fit=_fit_ubm,
        conditional=_ubm_conditional,
        marginal=_ubm_marginal,
    ),
)


MODELS = Registry(
    ClickModel,
    "click model",
    (
        *click_model.MODELS,
        *EXAMINATION_MODELS,
        *cascade_models.CASCADE_MODELS,
        *cascade_models.BAYESIAN_MODELS,
    ),
    "rankgate.click_models",
)
"""Click models by name."""
