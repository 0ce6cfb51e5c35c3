"""Models in which a click needs a look and an attractive document: PBM and UBM."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rankgate.online.clicks.baselines import counts, of_pairs
from rankgate.online.clicks.estimates import Estimates, bounded, share
from rankgate.online.clicks.harvest import position_bias
from rankgate.online.clicks.model import ClickModel, Settings
from rankgate.online.clicks.packed import sums

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from rankgate.online.clicks.packed import PackedSearches

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]
    CellsOf = Callable[[PackedSearches], Ints]


def _rank_cells(searches: PackedSearches) -> Ints:
    """(N, K) the cell of each look: its rank."""
    return np.broadcast_to(np.arange(searches.depth), searches.pair.shape)


def _distance_cells(searches: PackedSearches) -> Ints:
    """(N, K) the cell of each look: its rank and the rank of the click before it (0: none)."""
    places = np.where(searches.clicked, np.arange(1, searches.depth + 1), 0)
    before = np.zeros_like(places)
    before[:, 1:] = np.maximum.accumulate(places, axis=1)[:, :-1]
    return np.arange(searches.depth) * (searches.depth + 1) + before


def _em(searches: PackedSearches, settings: Settings, cells_of: CellsOf, size: int) -> Estimates:
    """Maximise the likelihood of P(click) = attractiveness * examination by EM."""
    prior = settings.prior or 1.0
    clicks, shown = counts(searches)
    cells = {id(block): np.ascontiguousarray(cells_of(block)) for block in searches.blocks}

    def counted(block: PackedSearches) -> tuple[Floats, ...]:
        at, weights = cells[id(block)], block.weights
        return sums(at, weights, size), sums(at, weights * block.clicked, size)

    def expected(block: PackedSearches) -> tuple[Floats, ...]:
        at = cells[id(block)]
        a, e = attractive[block.pair], looked[at]
        missed = block.weights * ~block.clicked / np.maximum(1 - a * e, 1e-12)
        return block.by_pair(missed * a * (1 - e)), sums(at, missed * e * (1 - a), size)

    looks, seen = searches.summed(counted)
    attractive, looked = np.full(len(shown), 0.3), np.full(size, 0.5)
    for _ in range(settings.iterations):
        was = attractive, looked
        hidden, passed = searches.summed(expected)
        attractive = share(clicks + hidden, shown, prior)
        looked = np.where(looks > 0, share(seen + passed, looks, prior), np.nan)
        looked = np.nan_to_num(looked / max(float(np.nanmax(looked)), 1e-12), nan=0.5)
        if max(_change(attractive, was[0]), _change(looked, was[1])) < settings.tolerance:
            break

    def examined(block: PackedSearches) -> tuple[Floats, ...]:
        a, e = attractive[block.pair], looked[cells[id(block)]]
        rest = e * (1 - a) / np.maximum(1 - a * e, 1e-12)
        return (block.by_pair(block.weights * np.where(block.clicked, 1.0, rest)),)

    (evidence,) = searches.summed(examined)
    known = np.where(looks > 0, looked, np.nan)
    return Estimates(np.where(shown > 0, attractive, np.nan), evidence, shared={"looks": known})


def _change(new: Floats, old: Floats) -> float:
    return float(np.abs(new - old).max())


def _fit_pbm(searches: PackedSearches, settings: Settings) -> Estimates:
    found = _em(searches, settings, _rank_cells, searches.depth)
    return _named(found, found.shared["looks"])


def _named(found: Estimates, curve: Floats) -> Estimates:
    return Estimates(found.attractiveness, found.examined, shared={"examination": curve})


def _fit_harvest(searches: PackedSearches, settings: Settings) -> Estimates:
    """Attractiveness with the position bias that lists in several orders show."""
    curve = position_bias(searches)
    clicks, shown = counts(searches)
    seen = searches.by_pair(searches.weights * np.nan_to_num(curve))
    prior = settings.prior
    with np.errstate(invalid="ignore", divide="ignore"):
        rate = np.minimum((clicks + prior) / (seen + 2 * prior), 1.0)
    found = np.where(shown > 0, rate, np.nan)
    return Estimates(found, np.maximum(seen, clicks), shared={"examination": curve})


def _fit_ubm(searches: PackedSearches, settings: Settings) -> Estimates:
    size = searches.depth * (searches.depth + 1)
    found = _em(searches, settings, _distance_cells, size)
    grid = found.shared["looks"].reshape(searches.depth, searches.depth + 1)
    return _named(found, grid)


def _pbm(found: Estimates, searches: PackedSearches) -> Floats:
    curve = found.shared["examination"]
    wide = np.resize(np.where(np.isfinite(curve), curve, np.nanmean(curve)), searches.depth)
    return np.asarray(of_pairs(found, searches) * wide)


def _grid(found: Estimates) -> Floats:
    grid = found.shared["examination"]
    return np.asarray(np.where(np.isfinite(grid), grid, np.nanmean(grid)))


def _ubm(found: Estimates, searches: PackedSearches) -> Floats:
    grid = _grid(found).ravel()
    return np.asarray(of_pairs(found, searches) * grid[_distance_cells(searches)])


def _ubm_alone(found: Estimates, searches: PackedSearches) -> Floats:
    """Sum over where the click before may have been, rank by rank."""
    grid, depth = _grid(found), searches.depth
    attractive = bounded(of_pairs(found, searches)) * searches.shown
    last = np.zeros((len(attractive), depth + 1))
    last[:, 0] = 1.0
    chances = np.zeros_like(attractive)
    for rank in range(depth):
        each = attractive[:, rank, None] * grid[rank]
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
