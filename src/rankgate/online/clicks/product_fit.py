"""Maximum likelihood where P(click) is an attractiveness times an examination.

A log is counted once: impressions n and clicks k of every pair of query and document in every cell
of examination (a rank, or a rank and the rank of the click before). Clicks depend only on the
products a e, so a and e can be separated only for documents that were shown in several cells.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rankgate.core.frozen import dataclass
from rankgate.online.clicks.packed_searches import sum_by_cell

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from rankgate.core.arrays import Floats, Ints
    from rankgate.online.clicks.packed_searches import PackedSearches


_MAX_CYCLES = 2_000
_MIN_GAIN = 1e-4  # gain of a cycle in the log-likelihood of the log; one standard error is 0.5
_TINY = 1e-12
_SMALLEST = float(np.finfo(np.float64).tiny)
_Z = 1.959963984540054
MAX_PROBABILITY = 1 - 1e-9  # a probability of 1 is a fixed point of EM

LINKED_WITHIN = 0.5
"""The standard error of the logarithm of an examination up to which its cell counts as linked; the
95 % interval is then the value divided and multiplied by at most 2.7."""


@dataclass(frozen=True)
class CellCounts:
    """Impressions and clicks of M combinations of a pair and a cell of examination.

    Attributes:
        pair: (M,) the number of the pair, below ``pairs``.
        cell: (M,) the number of the cell, below ``cells``.
        shown: (M,) impressions n.
        clicks: (M,) clicks k.
        pairs: P, the number of pairs.
        cells: C, the number of cells.
    """

    pair: Ints
    cell: Ints
    shown: Floats
    clicks: Floats
    pairs: int
    cells: int

    @classmethod
    def count(
        cls, searches: PackedSearches, cells_of: Callable[[PackedSearches], Ints], cells: int
    ) -> CellCounts:
        """Count searches; ``cells_of`` gives the (N, K) cells of a block of them."""
        codes, totals = [], []
        for block in searches.blocks:
            code = (block.pair * cells + cells_of(block))[block.shown]
            distinct, inverse = np.unique(code, return_inverse=True)
            weights = block.weights[block.shown]
            codes.append(distinct)
            totals.append(
                (
                    sum_by_cell(inverse, weights, len(distinct)),
                    sum_by_cell(inverse, weights * block.clicked[block.shown], len(distinct)),
                )
            )
        distinct, inverse = np.unique(np.concatenate(codes), return_inverse=True)
        impressions, clicks = (
            sum_by_cell(inverse, np.concatenate(values), len(distinct))
            for values in zip(*totals, strict=True)
        )
        has_impressions = impressions > 0
        return cls(
            distinct[has_impressions] // cells,
            distinct[has_impressions] % cells,
            impressions[has_impressions],
            clicks[has_impressions],
            len(searches.pairs),
            cells,
        )

    def by_pair(self, values: Floats) -> Floats:
        """(P,) sums for each pair."""
        return sum_by_cell(self.pair, values, self.pairs)

    def by_cell(self, values: Floats) -> Floats:
        """(C,) sums for each cell."""
        return sum_by_cell(self.cell, values, self.cells)


@dataclass(frozen=True)
class ProductFit:
    """Attractiveness and examination with the highest likelihood.

    Attributes:
        counts: the counts that the fit is from.
        attractiveness: (P,) a; NaN for pairs that were not shown.
        examination: (C,) e; NaN for cells without impressions.
        log_likelihood: the log-likelihood of all impressions.
    """

    counts: CellCounts
    attractiveness: Floats
    examination: Floats
    log_likelihood: float


def fit_product(counts: CellCounts, prior: float = 0.0) -> ProductFit:
    """Maximise sum of k log(a e) + (n - k) log(1 - a e) by EM with extrapolation.

    A step of EM takes the expected looks and attractive documents among impressions without a
    click. Two steps give a direction along which a longer step is tried (SQUAREM, scheme S3, on the
    logits; Varadhan and Roland 2008); it is taken only if the likelihood rises, so that every cycle
    gains at least as much as plain EM. Cycles end when one gains less than 0.0001 of the
    log-likelihood of the log. Examination is not scaled here: only a e matters.

    Args:
        counts: impressions and clicks.
        prior: clicks and non-clicks that are added to each pair (a Beta(prior + 1, prior + 1)).
    """
    shown_of_pair, shown_of_cell = counts.by_pair(counts.shown), counts.by_cell(counts.shown)
    pair, cell, clicks = counts.pair, counts.cell, counts.clicks
    misses = counts.shown - clicks
    clicks_of_pair, clicks_of_cell = counts.by_pair(clicks), counts.by_cell(clicks)

    def step(a: Floats, e: Floats) -> tuple[Floats, Floats]:
        at_a, at_e = a[pair], e[cell]
        misses_by_chance = misses / np.maximum(1 - at_a * at_e, _TINY)
        attractive = clicks_of_pair + counts.by_pair(misses_by_chance * at_a * (1 - at_e))
        examined = clicks_of_cell + counts.by_cell(misses_by_chance * at_e * (1 - at_a))
        new_a = (attractive + prior) / np.maximum(shown_of_pair + 2 * prior, _TINY)
        return np.minimum(new_a, MAX_PROBABILITY), np.minimum(
            examined / np.maximum(shown_of_cell, _TINY), MAX_PROBABILITY
        )

    def height(a: Floats, e: Floats) -> float:
        p = a[pair] * e[cell]  # 0 only without clicks
        value = float((clicks * np.log(np.maximum(p, _SMALLEST)) + misses * np.log1p(-p)).sum())
        if prior:
            value += prior * float((np.log(a) + np.log1p(-a))[shown_of_pair > 0].sum())
        return value

    # without a click and a prior the maximum is at 0, where EM stays
    a = np.where((clicks_of_pair > 0) | (prior > 0), 0.3, 0.0)
    e = np.where(clicks_of_cell > 0, 0.5, 0.0)
    best = height(a, e)
    for _ in range(_MAX_CYCLES):
        first = step(a, e)
        second = step(*first)
        likelihood = height(*second)
        long_step = _extrapolate((a, e), first, second)
        if long_step is not None:
            long_step = step(*long_step)
            long_likelihood = height(*long_step)
            if long_likelihood > likelihood:
                second, likelihood = long_step, long_likelihood
        gain = likelihood - best
        (a, e), best = second, likelihood
        if gain < max(_MIN_GAIN, 1e-13 * abs(best)):
            break
    return ProductFit(
        counts, np.where(shown_of_pair > 0, a, np.nan), np.where(shown_of_cell > 0, e, np.nan), best
    )


def _extrapolate(
    start: tuple[Floats, Floats], first: tuple[Floats, Floats], second: tuple[Floats, Floats]
) -> tuple[Floats, Floats] | None:
    """The point reached by extending two steps; None if the steps do not move."""
    points = [np.concatenate(point) for point in (start, first, second)]
    moving = np.all([(point > 0) & (point < 1) for point in points], axis=0)
    start_logit, first_logit, second_logit = (np.log(point[moving] / (1 - point[moving])) for point in points)
    change, curvature = first_logit - start_logit, second_logit - 2 * first_logit + start_logit
    size = float(np.sqrt((curvature * curvature).sum()))
    if size < _TINY:
        return None
    length = max(float(np.sqrt((change * change).sum())) / size, 1.0)
    logit = start_logit + 2 * length * change + length * length * curvature
    extrapolated = points[2].copy()
    extrapolated[moving] = 1 / (1 + np.exp(-np.clip(logit, -30, 20)))
    return extrapolated[: len(start[0])], extrapolated[len(start[0]) :]


@dataclass(frozen=True)
class Links:
    """The cells and pairs that a log identifies, and the error of their comparison.

    Attributes:
        reference: the cell whose examination is 1: the first linked cell.
        linked: (C,) True if clicks on documents shown in several cells link the cell to the other
            cells.
        covariance: (L, L) the covariance of the logarithms of the examination of the L linked
            cells, relative to the reference.
    """

    reference: int
    linked: NDArray[np.bool_]
    covariance: Floats

    @property
    def cells(self) -> Ints:
        """(L,) the numbers of the linked cells."""
        return np.flatnonzero(self.linked)


def find_linked_cells(counts: CellCounts, information: Floats) -> Links:
    """Find the cells whose examination clicks compare, by the Fisher information.

    The information about log(a e) of a combination is w = n p / (1 - p). With a free attractiveness
    for every pair, that about log e is the graph Laplacian diag(w_c) - sum_p w_pc w_pd / w_p: two
    cells are compared by the documents that both showed. The cell with the best comparisons to
    other cells, and all cells with a standard error of at most `LINKED_WITHIN` relative to this
    cell, are linked.

    Args:
        counts: impressions and clicks.
        information: (M,) w.
    """
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import connected_components

    total = counts.by_cell(information)
    has_information = total >= LINKED_WITHIN**-2  # less information cannot reach the standard error
    if not has_information.any():
        return Links(0, np.zeros(counts.cells, np.bool_), np.zeros((0, 0)))
    is_used = has_information[counts.cell] & (information > 0)
    number = np.cumsum(has_information) - 1
    shape = (counts.pairs, int(has_information.sum()))
    weights = csr_array(
        (information[is_used], (counts.pair[is_used], number[counts.cell[is_used]])), shape=shape
    )
    of_pair = np.asarray(weights.sum(axis=1)).ravel()
    scaled = weights.multiply(1 / np.maximum(of_pair, _TINY)[:, None]).tocsr()
    shared = (weights.T @ scaled).toarray()
    _, component = connected_components(shared > 0, directed=False)
    laplacian = np.diag(np.asarray(weights.sum(axis=0)).ravel()) - shared
    ground = int(np.diag(laplacian).argmax())  # the cell with the best comparisons to other cells
    is_connected = (component == component[ground]) & (np.arange(shape[1]) != ground)
    laplacian = laplacian[np.ix_(is_connected, is_connected)]
    values, vectors = np.linalg.eigh(laplacian)
    error = vectors / np.maximum(values, 1e-6) @ vectors.T  # large if cells are not compared
    precise = np.diag(error) <= LINKED_WITHIN**2
    members = np.append(np.flatnonzero(is_connected)[precise], ground)
    covariance = np.zeros((len(members), len(members)))
    covariance[:-1, :-1] = error[np.ix_(precise, precise)]
    order = np.argsort(members)
    covariance = covariance[np.ix_(order, order)]
    first = covariance[0]
    covariance = covariance - first[:, None] - first[None, :] + first[0]
    linked = np.zeros(counts.cells, np.bool_)
    linked[np.flatnonzero(has_information)[members]] = True
    return Links(int(np.flatnonzero(linked)[0]), linked, covariance)


def attractiveness_interval(
    counts: CellCounts, links: Links, attractiveness: Floats, examination: Floats
) -> tuple[Floats, Floats]:
    """95 % limits (P,) of attractiveness with the error of the examination; NaN if not linked.

    The variance of log a is 1 / w + u' V u: w is the information of the pair in linked cells, u its
    shares by cell, V the covariance of the logarithms of the examination. The limits are those of
    clicks that are Poisson with this precision (Jeffreys: a gamma distribution with half a click
    more), at most 1.

    Args:
        counts: impressions and clicks.
        links: the links of the same counts.
        attractiveness: (P,) a, on the scale of `examination`.
        examination: (C,) e, 1 in the reference.
    """
    from scipy.sparse import csr_array

    from rankgate.measurement.stats.special_functions import gammaincinv

    tail = 0.025
    is_linked = links.linked[counts.cell]
    pair, cell = counts.pair[is_linked], (np.cumsum(links.linked) - 1)[counts.cell[is_linked]]
    examined = counts.shown[is_linked] * examination[counts.cell[is_linked]]
    p = np.minimum(np.nan_to_num(attractiveness)[pair] * examination[counts.cell[is_linked]], MAX_PROBABILITY)
    exposure = sum_by_cell(pair, examined / (1 - p), counts.pairs)
    with np.errstate(divide="ignore", invalid="ignore"):
        portions = (examined / (1 - p)) / exposure[pair]
        cell_shares = csr_array((portions, (pair, cell)), shape=(counts.pairs, len(links.covariance)))
        curve = np.empty(counts.pairs)
        rows = max((1 << 20) // max(len(links.covariance), 1), 1)
        for start in range(0, counts.pairs, rows):
            share_rows = cell_shares[start : start + rows]
            curve[start : start + rows] = share_rows.multiply(share_rows @ links.covariance).sum(axis=1)
        clicks = exposure * attractiveness
        effective_clicks = clicks / (
            1 + clicks * curve
        )  # as many looks with a certain curve have the same error
        unit = np.where(clicks > 0, attractiveness / effective_clicks, np.exp(_Z * np.sqrt(curve)) / exposure)
        low = np.where(clicks > 0, gammaincinv(effective_clicks + 0.5, tail) * unit, 0.0)
        high = np.minimum(gammaincinv(effective_clicks + 0.5, 1 - tail) * unit, 1.0)
    unknown = ~(exposure > 0)
    low[unknown], high[unknown] = np.nan, np.nan
    return low, high
