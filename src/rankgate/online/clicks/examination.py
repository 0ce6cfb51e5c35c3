"""Models in which a click needs a look and an attractive document: PBM and UBM."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rankgate.online.clicks.baselines import of_pairs
from rankgate.online.clicks.estimates import Estimates, bounded, share
from rankgate.online.clicks.harvest import position_bias
from rankgate.online.clicks.model import ClickModel, Settings
from rankgate.online.clicks.products import (
    HIGHEST,
    CellCounts,
    Links,
    fit_product,
    interval,
    linked_cells,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rankgate.online.clicks.packed import PackedSearches

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]

_PRIOR = 0.0  # plain maximum likelihood


def _rank_cells(searches: PackedSearches) -> Ints:
    """(N, K) the cell of each look: its rank."""
    return np.broadcast_to(np.arange(searches.depth), searches.pair.shape)


def _distance_cells(searches: PackedSearches) -> Ints:
    """(N, K) the cell of each look: its rank and the rank of the click before it (0: none)."""
    places = np.where(searches.clicked, np.arange(1, searches.depth + 1), 0)
    before = np.zeros_like(places)
    before[:, 1:] = np.maximum.accumulate(places, axis=1)[:, :-1]
    return np.arange(searches.depth) * (searches.depth + 1) + before


def _fit_pbm(searches: PackedSearches, settings: Settings) -> Estimates:
    counted = CellCounts.of(searches, _rank_cells, searches.depth)
    fit = fit_product(counted, settings.prior_of(_PRIOR))
    return _estimates(counted, fit.attractiveness, fit.examination, searches.depth)


def _fit_ubm(searches: PackedSearches, settings: Settings) -> Estimates:
    counted = CellCounts.of(searches, _distance_cells, searches.depth * (searches.depth + 1))
    fit = fit_product(counted, settings.prior_of(_PRIOR))
    return _estimates(counted, fit.attractiveness, fit.examination, searches.depth)


def _fit_harvest(searches: PackedSearches, settings: Settings) -> Estimates:
    """Attractiveness with the position bias that lists in several orders show."""
    counted = CellCounts.of(searches, _rank_cells, searches.depth)
    curve = position_bias(searches)
    prior = settings.prior_of(_PRIOR)
    compared = np.isfinite(curve)[counted.cell]
    clicks = counted.by_pair(counted.clicks * compared)
    looks = counted.by_pair(counted.shown * np.nan_to_num(curve[counted.cell]))
    rate = np.where(looks > 0, np.minimum(share(clicks, looks, prior), 1.0), np.nan)
    return _estimates(counted, rate, curve, searches.depth)


def _estimates(
    counted: CellCounts, attractiveness: Floats, examination: Floats, depth: int
) -> Estimates:
    """Scale examination by its reference, and find what is identified, with its error."""
    at_a, at_e = np.nan_to_num(attractiveness)[counted.pair], examination[counted.cell]
    p = np.minimum(at_a * np.nan_to_num(at_e), HIGHEST)
    links = linked_cells(counted, counted.shown * p / (1 - p))
    scale = float(examination[links.reference])
    if links.linked.any():
        attractiveness, examination = attractiveness * scale, examination / scale
    low, high = interval(counted, links, attractiveness, examination)
    # of impressions without a click those that were looked at, as the model expects
    at_a = np.nan_to_num(attractiveness)[counted.pair]
    at_e = np.minimum(np.nan_to_num(examination), 1.0)[counted.cell]
    missed = (counted.shown - counted.clicks) * at_e * (1 - at_a) / np.maximum(1 - p, 1e-12)
    evidence = counted.by_pair(counted.clicks + missed)
    shape = (depth, counted.cells // depth)
    grid = examination if shape[1] == 1 else examination.reshape(shape)
    return Estimates(
        attractiveness, evidence, shared={"examination": grid}, low=low, high=high,
        identified=np.isfinite(low), linked=links.linked,
        refusal=_refusal(counted, links, shape[1]),
    )  # fmt: skip


def _refusal(counted: CellCounts, links: Links, cells_of_rank: int) -> str:
    """Why ranks and documents cannot be told apart, and which data would do it."""
    ranks = np.unique(counted.cell[counted.clicks > 0] // cells_of_rank)
    linked = np.unique(links.cells // cells_of_rank)
    if not len(ranks):
        return "no document was clicked"
    if len(linked) > 1 or (len(linked) and len(ranks) == 1):
        return ""
    return (
        f"there are clicks at {len(ranks)} ranks, and too few on documents that were shown at "
        "several of them, so that examination of ranks and attractiveness of documents cannot be "
        "told apart; log searches in which the same documents are shown at other ranks, as with "
        "several rankers or with neighbours exchanged at random"
    )


def _pbm(found: Estimates, searches: PackedSearches) -> Floats:
    curve = found.shared["examination"]
    curve = curve if np.isfinite(curve).any() else np.ones(1)
    wide = np.resize(np.where(np.isfinite(curve), curve, np.nanmean(curve)), searches.depth)
    return np.asarray(np.minimum(of_pairs(found, searches) * wide, 1.0))


def _grid(found: Estimates) -> Floats:
    grid = found.shared["examination"]
    return np.asarray(np.where(np.isfinite(grid), grid, np.nanmean(grid)))


def _ubm(found: Estimates, searches: PackedSearches) -> Floats:
    grid = _grid(found).ravel()
    return np.asarray(np.minimum(of_pairs(found, searches) * grid[_distance_cells(searches)], 1.0))


def _ubm_alone(found: Estimates, searches: PackedSearches) -> Floats:
    """Sum over where the click before may have been, rank by rank."""
    grid, depth = _grid(found), searches.depth
    attractive = bounded(of_pairs(found, searches)) * searches.shown
    last = np.zeros((len(attractive), depth + 1))
    last[:, 0] = 1.0
    chances = np.zeros_like(attractive)
    for rank in range(depth):
        each = np.minimum(attractive[:, rank, None] * grid[rank], 1.0)
        chances[:, rank] = (last * each).sum(axis=1)
        last = last * (1 - each)
        last[:, rank + 1] = chances[:, rank]
    return chances


MODELS = (
    ClickModel(
        "pbm",
        title="Position-based model, by expectation and maximisation",
        formula="P(click) = attractiveness(q, d) * examination(rank)",
        source="Craswell and others 2008; Wang and others 2018",
        fit=_fit_pbm,
        conditional=_pbm,
        marginal=_pbm,
    ),
    ClickModel(
        "pbm_harvest",
        title="Position-based model, bias from documents shown at several ranks",
        formula="P(click) = attractiveness(q, d) * examination(rank); examination by harvesting",
        source="Agarwal and others 2019",
        fit=_fit_harvest,
        conditional=_pbm,
        marginal=_pbm,
    ),
    ClickModel(
        "ubm",
        title="User browsing model",
        formula="P(click) = attractiveness(q, d) * examination(rank, rank of the click before)",
        source="Dupret and Piwowarski 2008",
        fit=_fit_ubm,
        conditional=_ubm,
        marginal=_ubm_alone,
    ),
)
