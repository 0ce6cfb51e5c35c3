"""Agreement of raters: kappas, Gwet's coefficients, Krippendorff's alpha, correlations.

Shapes: I items, R raters, K grades, N clusters of items, or what is left without each.

Agreement beyond chance: the kappas and Gwet's coefficients, for any number of raters. All are
(pa − pe)/(1 − pe): pa is the weighted share of pairs of ratings of one item that agree,
averaged over the items with two ratings or more; they differ in pe, the agreement by chance
(Gwet, Handbook of Inter-Rater Reliability, 4th edition, 2014, chapters 2-4). Each function
takes the tallies of N rows (or N = 1) and returns (N,), NaN if undefined (not one item with
two ratings, or only one grade).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from functools import cached_property
from typing import TYPE_CHECKING, Literal

import numpy as np

from rankgate.core.errors import UsageError
from rankgate.core.frozen import dataclass

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rankgate.core.arrays import Floats

    Places = NDArray[np.int64]


Weighting = Literal["identity", "linear", "quadratic", "linear by places", "quadratic by places", "ordinal"]


@dataclass(frozen=True)
class RatingMatrix:
    """The grades that raters gave to items, one entry per rating: most raters rate few items.

    Attributes:
        grades: (K,) the grades that occur, or the grades of the scale, ascending.
        shape: the numbers of items I and of raters R.
        items, raters: (n,) the item and the rater of each rating, by item and then by rater.
        grade_index: (n,) the index of the grade of each rating.
    """

    grades: Floats
    shape: tuple[int, int]
    items: Places
    raters: Places
    grade_index: Places

    @classmethod
    def from_grades(cls, matrix: Floats, grades: Sequence[float] | None = None) -> RatingMatrix:
        """Make entries from a matrix (I, R) of grades, with NaN if a rater did not rate an item.

        Args:
            matrix: the grades.
            grades: the whole scale, where not every grade of it occurs. Coefficients that count
                the grades of a scale (AC1, Brennan-Prediger, ordinal weights) depend on it.

        Raises:
            UsageError: a grade is outside the scale.
        """
        table = np.asarray(matrix, dtype=np.float64)
        items, raters = np.nonzero(~np.isnan(table))
        return cls.from_ratings(table.shape, items, raters, table[items, raters], grades)

    @classmethod
    def from_ratings(
        cls,
        shape: tuple[int, ...],
        items: Places,
        raters: Places,
        values: Floats,
        grades: Sequence[float] | None = None,
    ) -> RatingMatrix:
        """Make entries from single ratings, at most one of each item and rater.

        Args:
            shape: the numbers of items and of raters.
            items: (n,) the item of each rating, in any order.
            raters: (n,) the rater of each rating.
            values: (n,) the grade of each rating.
            grades: as in `from_grades`.

        Raises:
            UsageError: a grade is outside the scale.
        """
        item_count, rater_count = shape
        order = np.argsort(items * rater_count + raters, kind="stable")
        items, raters, values = items[order], raters[order], values[order]
        scale = np.unique(values if grades is None else np.asarray(grades, np.float64))
        grade_index = np.minimum(np.searchsorted(scale, values), max(scale.size - 1, 0))
        is_outside = scale[grade_index] != values if scale.size else np.ones(values.shape, bool)
        if is_outside.any():
            raise UsageError(
                f"grade {values[is_outside][0]:g} is not on the scale.", code="grade-outside-scale"
            )
        return cls(scale, (item_count, rater_count), items, raters, grade_index)

    @cached_property
    def counts(self) -> Floats:
        """(I, K) the number of ratings of an item with each grade."""
        return _count_cells((self.shape[0], self.grades.size), self.items, self.grade_index)

    def without_rater(self, rater: int) -> RatingMatrix:
        """The ratings of the other raters."""
        is_other = self.raters != rater
        raters = self.raters[is_other]
        return RatingMatrix(
            self.grades,
            (self.shape[0], self.shape[1] - 1),
            self.items[is_other],
            raters - (raters > rater),
            self.grade_index[is_other],
        )


def _count_cells(shape: tuple[int, ...], *cells: Places) -> Floats:
    """The number of times that each cell of an array occurs."""
    counts = np.bincount(np.ravel_multi_index(cells, shape), minlength=math.prod(shape))
    return counts.reshape(shape).astype(np.float64)


@dataclass(frozen=True)
class Tallies:
    """The sums over items that every coefficient of agreement is a function of.

    They add up: the sums without each cluster of items are two running sums, for any number of
    items. n is the number of grades of an item, m its number of ratings.

    Attributes:
        grades: (K,) the grades, ascending.
        pairs: (N, K, K) Σ n_k (n_l − [k=l]) / (m (m − 1)) over items with two ratings or more.
        coincidences: (N, K, K) the same divided by m − 1 only (Krippendorff 2011).
        paired: (N,) the number of items with two ratings or more.
        share: (N, K) Σ n_k / m over items with a rating.
        rated: (N,) the number of items with a rating.
        given: (N, R, K) the number of times a rater gave a grade.
    """

    grades: Floats
    pairs: Floats
    coincidences: Floats
    paired: Floats
    share: Floats
    rated: Floats
    given: Floats

    @classmethod
    def from_clusters(cls, sheet: RatingMatrix, clusters: NDArray[np.int64] | None = None) -> Tallies:
        """Compute the sums of each cluster; of all items if there are no clusters (N = 1).

        Args:
            sheet: the ratings.
            clusters: (I,) the cluster of each item, 0 to N − 1.
        """
        (item_count, rater_count), size = sheet.shape, sheet.grades.size
        code = np.zeros(item_count, np.int64) if clusters is None else np.asarray(clusters, np.int64)
        order = np.argsort(code, kind="stable")
        count = int(code.max()) + 1 if item_count else 1
        ends = np.searchsorted(code[order], np.arange(count + 1))
        counts = sheet.counts
        rating_count = counts.sum(axis=1)
        has_pairs = rating_count > 1
        pair_weight = np.where(
            has_pairs, 1 / np.where(has_pairs, rating_count * (rating_count - 1), 1.0), 0.0
        )
        coincidence_weight = np.where(has_pairs, 1 / np.where(has_pairs, rating_count - 1, 1.0), 0.0)
        item_shares = counts / np.maximum(rating_count, 1.0)[:, None]
        tables = np.empty((2, count, size, size))
        sums = np.empty((count, size + 2))
        for i in range(count):
            rows = order[ends[i] : ends[i + 1]]
            for table, weight in zip(tables, (pair_weight, coincidence_weight), strict=True):
                weighed = counts[rows] * weight[rows, None]
                table[i] = counts[rows].T @ weighed - np.diag(weighed.sum(axis=0))
            sums[i] = [has_pairs[rows].sum(), (rating_count[rows] > 0).sum(), *item_shares[rows].sum(axis=0)]
        rater_counts = _count_cells(
            (count, rater_count, size), code[sheet.items], sheet.raters, sheet.grade_index
        )
        return cls(sheet.grades, tables[0], tables[1], sums[:, 0], sums[:, 2:], sums[:, 1], rater_counts)

    @property
    def _sums(self) -> tuple[Floats, ...]:
        return (self.pairs, self.coincidences, self.paired, self.share, self.rated, self.given)

    def total(self) -> Tallies:
        """The sums over all clusters, one row."""
        return Tallies(self.grades, *(sums.sum(axis=0)[None] for sums in self._sums))

    def without_one(self) -> Tallies:
        """The sums with each cluster left out in turn, N rows (jackknife)."""
        return Tallies(self.grades, *map(_sums_of_others, self._sums))


def _sums_of_others(values: Floats) -> Floats:
    """(N, ...) the sum over all rows but one, for each row.

    Rows before and after are added; a row taken from the sum of all would leave a rounding error
    where nothing is left, and a coefficient that is undefined would get a value.
    """
    zeros = np.zeros_like(values[:1])
    sum_before = np.concatenate([zeros, np.cumsum(values[:-1], axis=0)])
    sum_after = np.concatenate([np.cumsum(values[:0:-1], axis=0)[::-1], zeros])
    return np.asarray(sum_before + sum_after, np.float64)


def weights(grades: Floats, kind: Weighting) -> Floats:
    """(K, K) the agreement of two grades, 1 on the diagonal.

    ``identity``: 1 where equal; ``linear``: 1 − |a−b|/range; ``quadratic``: 1 − (a−b)²/range²,
    both by the grades' values (Cohen 1968; Cicchetti and Allison 1971), or ``by places`` in
    their order, as scikit-learn and R's irr have them; ``ordinal``: 1 − C(|i−j|+1, 2)/C(K, 2)
    by their places (Gwet 2014).
    """
    size = grades.size
    if kind == "identity" or size < 2:  # a single grade cannot disagree
        return np.eye(size)
    if kind == "ordinal":
        distance = np.abs(np.subtract.outer(np.arange(size), np.arange(size)))
        return np.asarray(1.0 - distance * (distance + 1) / (size * (size - 1)), np.float64)
    shape, _, places = kind.partition(" ")
    points = np.arange(size, dtype=np.float64) if places else grades
    distance = np.abs(np.subtract.outer(points, points)) / (points[-1] - points[0])
    return np.asarray(1.0 - (distance if shape == "linear" else distance**2), np.float64)


def ratio(numerator: Floats, denominator: Floats) -> Floats:
    """(N,) numerator / denominator; NaN if the denominator is 0 (agreement all by chance)."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(denominator > 0, numerator / np.where(denominator > 0, denominator, 1.0), np.nan)


def agreement(tallies: Tallies, kind: Weighting = "identity") -> Floats:
    """Raw agreement pa: the weighted share of agreeing pairs, mean over items."""
    table = weights(tallies.grades, kind)
    return ratio(np.einsum("kl,nkl->n", table, tallies.pairs), tallies.paired)


def fleiss(tallies: Tallies, kind: Weighting = "identity") -> Floats:
    """Fleiss' kappa: chance from the grades' shares over all raters (Fleiss 1971)."""
    share = _shares(tallies)
    by_chance = np.einsum("nk,kl,nl->n", share, weights(tallies.grades, kind), share)
    return _beyond_chance(agreement(tallies, kind), by_chance)


def conger(tallies: Tallies, kind: Weighting = "identity") -> Floats:
    """Conger's kappa: chance from each rater's own shares (Conger 1980); two raters: Cohen's."""
    total = tallies.given.sum(axis=2, keepdims=True)
    is_active = total > 0
    rater_shares = np.where(is_active, tallies.given / np.where(is_active, total, 1.0), 0.0)
    raters = is_active.sum(axis=1)  # (N, 1)
    rater_count = np.maximum(raters, 1)
    mean = rater_shares.sum(axis=1) / rater_count
    deviations = np.where(is_active, rater_shares - mean[:, None, :], 0.0)
    table = weights(tallies.grades, kind)
    # trace of the table with Σ_r deviations deviations', without K x K matrices for each row
    variance = np.einsum("nrk,nrk->n", deviations @ table, deviations) / np.maximum(raters[:, 0] - 1, 1)
    by_chance = np.einsum("nk,nk->n", mean @ table, mean) - variance / rater_count[:, 0]
    return _beyond_chance(agreement(tallies, kind), by_chance)


def gwet(tallies: Tallies, kind: Weighting = "identity") -> Floats:
    """Gwet's AC1 (identity) and AC2 (weighted): pe = Σw · Σ p(1−p) / (K(K−1)) (Gwet 2008)."""
    size, share = tallies.grades.size, _shares(tallies)
    scale = weights(tallies.grades, kind).sum() / max(size * (size - 1), 1)
    return _beyond_chance(agreement(tallies, kind), scale * (share * (1 - share)).sum(axis=1))


def brennan_prediger(tallies: Tallies, kind: Weighting = "identity") -> Floats:
    """Brennan and Prediger's coefficient (1981), Randolph's free-marginal kappa: pe = Σw / K²."""
    table = weights(tallies.grades, kind)
    pa = agreement(tallies, kind)
    return _beyond_chance(pa, np.full_like(pa, table.sum() / max(table.size, 1)))


def cohen_values(tables: Floats, grades: Floats, kind: Weighting = "identity") -> Floats:
    """(N,) Cohen's kappa of two raters from each of N tables (K, K) of counts; NaN if undefined.

    κ = (Σ w p − Σ w p_i. p_.j) / (1 − Σ w p_i. p_.j) (Cohen 1960; weighted, Cohen 1968).
    """
    n = tables.sum(axis=(1, 2))
    p = tables / np.where(n > 0, n, 1.0)[:, None, None]
    table = weights(grades, kind)
    by_chance = np.einsum("nk,kl,nl->n", p.sum(axis=2), table, p.sum(axis=1), optimize=True)
    return np.where(n > 0, _beyond_chance(np.einsum("kl,nkl->n", table, p), by_chance), np.nan)


def _shares(tallies: Tallies) -> Floats:
    """(N, K) the share of each grade, with equal weight for each rated item."""
    return tallies.share / np.where(tallies.rated > 0, tallies.rated, 1.0)[:, None]


def _beyond_chance(pa: Floats, by_chance: Floats) -> Floats:
    return ratio(pa - by_chance, 1 - by_chance)


Level = Literal["nominal", "ordinal", "interval", "ratio"]


def alpha(tallies: Tallies, level: Level = "ordinal") -> Floats:
    """α = 1 − D_o/D_e over the pairs of ratings that items have (Krippendorff 2011).

    o_ck = Σ_u (n_uc n_uk − [c=k] n_uc)/(m_u − 1) over items with m_u ≥ 2 ratings;
    D_o = Σ o_ck δ²_ck / n, D_e = Σ n_c n_k δ²_ck / (n(n−1)), n_c = Σ_k o_ck. δ² is 0/1 for
    nominal, (c−k)² for interval, ((c−k)/(c+k))² for ratio, and for ordinal the squared number of
    ratings from c to k with half of each end. The ordinal level is not Gwet's weights of that
    name: on one sheet they give .815 and .834.

    Args:
        tallies: the tallies of the ratings, N rows.
        level: the level of the scale.

    Returns:
        (N,) the coefficient; NaN if no item has two ratings, or all ratings have the same grade.
    """
    grade_counts = tallies.coincidences.sum(axis=2)
    n = grade_counts.sum(axis=1)
    distances = _distances(tallies.grades, grade_counts, level)
    observed = (tallies.coincidences * distances).sum(axis=(1, 2))
    expected = np.einsum("nc,nck,nk->n", grade_counts, distances, grade_counts, optimize=True)
    return 1.0 - ratio(observed * (n - 1), expected)


def _distances(grades: Floats, grade_counts: Floats, level: Level) -> Floats:
    """(N, K, K) δ² between grades; only the ordinal level depends on their counts."""
    rows, columns = grades[:, None], grades[None, :]
    if level == "ordinal":
        cumulated = np.cumsum(grade_counts, axis=1)
        midpoints = cumulated - grade_counts / 2  # ratings below a grade, and half of its own
        return np.asarray((midpoints[:, :, None] - midpoints[:, None, :]) ** 2, np.float64)
    if level == "nominal":
        fixed = (rows != columns).astype(np.float64)
    elif level == "interval":
        fixed = (rows - columns) ** 2
    else:
        total = rows + columns
        fixed = np.where(total != 0, (rows - columns) / np.where(total != 0, total, 1.0), 0.0) ** 2
    return np.broadcast_to(fixed, (len(grade_counts), *fixed.shape))


def mean_absolute(tables: Floats, grades: Floats) -> Floats:
    """(B,) the mean absolute difference of both grades of a pair.

    Args:
        tables: (B, K, K) the number of pairs with one grade of the first rater and one of the
            second.
        grades: (K,) ascending.
    """
    gap = np.abs(grades[:, None] - grades[None, :])
    return ratio((tables * gap).sum(axis=(1, 2)), tables.sum(axis=(1, 2)))


def pearson_values(tables: Floats, grades: Floats) -> Floats:
    """(B,) Pearson's r of both grades; NaN if a rater gave only one grade."""
    grade_rows = np.broadcast_to(grades, tables.shape[:2])
    return _moments(tables, grade_rows, grade_rows)


def spearman_values(tables: Floats, grades: Floats) -> Floats:
    """(B,) Spearman's rho: Pearson's r of ranks, equal grades at their mean rank."""
    assert len(grades) == tables.shape[1]  # grades are only ranked
    return _moments(tables, _midranks(tables.sum(axis=2)), _midranks(tables.sum(axis=1)))


def kendall_values(tables: Floats, grades: Floats) -> Floats:
    """(B,) Kendall's tau b: (C − D)/√((P − T₁)(P − T₂)), P all pairs of pairs, T ties of each."""
    assert len(grades) == tables.shape[1]  # grades are only ranked
    concordant = _sum_of_later_cells(_sum_of_later_cells(tables, 1), 2)  # larger in both grades
    discordant = _sum_of_later_cells(_sum_of_later_cells(tables[:, :, ::-1], 1), 2)[
        :, :, ::-1
    ]  # larger in one grade, smaller in the other
    n = tables.sum(axis=(1, 2))
    pairs = n * (n - 1) / 2
    untied_pairs = [
        pairs - (margin * (margin - 1) / 2).sum(axis=1) for margin in (tables.sum(axis=2), tables.sum(axis=1))
    ]
    return ratio(
        (tables * (concordant - discordant)).sum(axis=(1, 2)), np.sqrt(untied_pairs[0] * untied_pairs[1])
    )


def _midranks(margin: Floats) -> Floats:
    return np.cumsum(margin, axis=1) - margin / 2 + 0.5


def _sum_of_later_cells(tables: Floats, axis: int) -> Floats:
    """The sum of the later cells along an axis."""
    cumulated = np.flip(np.cumsum(np.flip(tables, axis), axis=axis), axis)
    return np.asarray(cumulated - tables, np.float64)


def _moments(tables: Floats, first: Floats, second: Floats) -> Floats:
    n = tables.sum(axis=(1, 2))[:, None]
    rows, columns = tables.sum(axis=2), tables.sum(axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        x = first - (rows * first).sum(axis=1, keepdims=True) / n
        y = second - (columns * second).sum(axis=1, keepdims=True) / n
    product = (tables * x[:, :, None] * y[:, None, :]).sum(axis=(1, 2))
    squares = (rows * x**2).sum(axis=1) * (columns * y**2).sum(axis=1)
    return ratio(product, np.sqrt(squares))


FEWEST_CLUSTERS = 15
"""Clusters below which no interval is given; with fewer it covers too rarely (docs/validity.md)."""


@dataclass(frozen=True)
class Agreement:
    """A coefficient with its interval.

    Attributes:
        value: the coefficient of these items; NaN if undefined.
        low, high: interval over clusters; NaN where there are too few of them, or where one of
            them alone makes the coefficient defined.
        level: the confidence level of the interval.
        undefined: the share of clusters without which the coefficient is undefined.
    """

    value: float
    low: float
    high: float
    level: float = 0.95
    undefined: float = field(default=0.0, metadata={"stored": False})


def intervals(
    coefficients: Mapping[str, Callable[[Tallies], Floats]], clusters: Tallies, *, level: float = 0.95
) -> dict[str, Agreement]:
    """Each coefficient with its jackknife interval, leaving out one cluster at a time.

    Grades of one query resemble each other, so that pairs are not independent observations. The
    jackknife therefore leaves out whole clusters that have an item with two ratings; other clusters
    only add to the shares of grades. A coefficient is 1 − d, where d is the disagreement, as a
    share of that expected by chance. The interval is that of ln d, which is less skewed than d: 1 −
    d exp(± t s), s by `jackknife`. If all disagreement is in one cluster, or there is none, it is
    the interval of the coefficient, cut at 1. Its coverage is measured (docs/validity.md).

    Args:
        coefficients: each takes tallies of B rows and gives (B,) values, at most 1.
        clusters: the tallies of each cluster, N rows.
        level: the confidence level of the intervals.
    """
    all_clusters, without = clusters.total(), clusters.without_one()
    has_pairs = clusters.paired > 0
    return {
        name: _interval(float(coefficient(all_clusters)[0]), coefficient(without)[has_pairs], level)
        for name, coefficient in coefficients.items()
    }


def jackknife(value: float, without: Floats, level: float = 0.95, fewest: int = 2) -> Agreement:
    """A coefficient with its t interval from leaving out one cluster at a time.

    s² = (N−1)/N Σ (θ_(i) − mean θ_(i))², value ± t(N−1) s (Efron 1982, chapter 3); for many
    coefficients of few ratings each, where a bootstrap would cost too much.

    Args:
        value: the coefficient of all clusters.
        without: (N,) the coefficient without each cluster.
        level: the confidence level of the interval.
        fewest: the smallest number of clusters for an interval.

    Returns:
        the interval; NaN with one cluster, or where leaving one out leaves nothing defined.
    """
    undefined = 1 - np.isfinite(without).mean() if len(without) else 1.0
    low, high = jackknife_bounds(np.array([value]), without[None], level, fewest)
    return Agreement(value, float(low[0]), float(high[0]), level, float(undefined))


def jackknife_bounds(
    values: Floats, left_out_values: Floats, level: float = 0.95, least_clusters: int = 2
) -> tuple[Floats, Floats]:
    """(B,) low and high of the intervals of `jackknife`, of coefficients of equally many clusters.

    Args:
        values: (B,) the coefficients of all clusters.
        left_out_values: (B, N) the coefficients without each cluster.
        level: the confidence level of the intervals.
        least_clusters: the smallest number of clusters for an interval.
    """
    from rankgate.measurement.stats.special_functions import stdtrit

    size = left_out_values.shape[1]
    if size < max(least_clusters, 2):
        return np.full_like(values, np.nan), np.full_like(values, np.nan)
    is_defined = np.isfinite(left_out_values).all(axis=1) & np.isfinite(values)
    deviations = np.where(is_defined[:, None], left_out_values, np.nan)
    deviations = deviations - deviations.mean(axis=1, keepdims=True)
    error = np.sqrt((size - 1) / size * (deviations**2).sum(axis=1))
    half_width = stdtrit(size - 1, (1 + level) / 2) * error
    return values - half_width, values + half_width


def _interval(value: float, without: Floats, level: float) -> Agreement:
    """A coefficient with the interval of its disagreement's logarithm."""
    if value < 1 and (without < 1).all():
        interval = jackknife(float(np.log1p(-value)), np.log1p(-without), level, fewest=FEWEST_CLUSTERS)
        low, high = (float(-np.expm1(bound)) for bound in (interval.high, interval.low))
        return Agreement(value, low, high, level, interval.undefined)
    interval = jackknife(value, without, level, fewest=FEWEST_CLUSTERS)
    return Agreement(value, interval.low, min(interval.high, 1.0), level, interval.undefined)
