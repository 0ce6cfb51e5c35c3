"""Raters' grades as counts, from which every coefficient of agreement is computed.

Shapes: I items, R raters, K grades, N clusters of items, or what is left without each.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

import numpy as np

from rankgate.core.errors import UsageError
from rankgate.core.frozen import dataclass

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

Weighting = Literal[
    "identity", "linear", "quadratic", "linear by places", "quadratic by places", "ordinal"
]


@dataclass(frozen=True)
class RatingMatrix:
    """Grades that raters gave to items, as counts.

    Attributes:
        grades: (K,) the grades that occur, or those of the scale, ascending.
        said: (I, R, K) how often a rater gave an item a grade; mostly 0 or 1.
    """

    grades: Floats
    said: Floats

    @classmethod
    def of(cls, matrix: Floats, grades: Sequence[float] | None = None) -> RatingMatrix:
        """Counts from a matrix (I, R) of grades, NaN where a rater did not rate an item.

        Args:
            matrix: the grades.
            grades: the whole scale, where not every grade of it occurs. Coefficients that count
                the grades of a scale (AC1, Brennan-Prediger, ordinal weights) depend on it.

        Raises:
            UsageError: a grade outside the scale.
        """
        table = np.asarray(matrix, dtype=np.float64)
        is_rated = ~np.isnan(table)
        scale = np.unique(table[is_rated] if grades is None else np.asarray(grades, np.float64))
        grade_index = np.searchsorted(
            scale, np.where(is_rated, table, scale[:1] if scale.size else 0.0)
        )
        grade_index = np.minimum(grade_index, max(scale.size - 1, 0))
        is_outside = is_rated & (scale[grade_index] != table) if scale.size else is_rated
        if is_outside.any():
            raise UsageError(
                f"a grade {table[is_outside][0]:g} that the scale does not have.",
                code="grade-outside-scale",
            )
        counts = (grade_index[:, :, None] == np.arange(scale.size)) & is_rated[:, :, None]
        return cls(scale, counts.astype(np.float64))

    @property
    def counts(self) -> Floats:
        """(I, K) how many ratings give an item a grade."""
        return np.asarray(self.said.sum(axis=1), np.float64)


@dataclass(frozen=True)
class Tallies:
    """The sums over items that every coefficient of agreement is a function of.

    They add up: what is left without each cluster of items are two running sums, for any number of
    items. n is how often an item got a grade, m how many ratings it has.

    Attributes:
        grades: (K,) the grades, ascending.
        pairs: (N, K, K) Σ n_k (n_l − [k=l]) / (m (m − 1)) over items with two ratings or more.
        coincidences: (N, K, K) the same divided by m − 1 only (Krippendorff 2011).
        paired: (N,) items with two ratings or more.
        share: (N, K) Σ n_k / m over items with a rating.
        rated: (N,) items with a rating.
        given: (N, R, K) how often a rater gave a grade.
    """

    grades: Floats
    pairs: Floats
    coincidences: Floats
    paired: Floats
    share: Floats
    rated: Floats
    given: Floats

    @classmethod
    def of(cls, sheet: RatingMatrix, clusters: NDArray[np.int64] | None = None) -> Tallies:
        """The sums of each cluster; of all items where none are given (N = 1).

        Args:
            sheet: the ratings.
            clusters: (I,) the cluster of each item, 0 to N − 1.
        """
        item_count, _, size = sheet.said.shape
        code = (
            np.zeros(item_count, np.int64) if clusters is None else np.asarray(clusters, np.int64)
        )
        order = np.argsort(code, kind="stable")
        count = int(code.max()) + 1 if item_count else 1
        ends = np.searchsorted(code[order], np.arange(count + 1))
        counts = sheet.counts
        rating_count = counts.sum(axis=1)
        has_pairs = rating_count > 1
        pair_weight = np.where(
            has_pairs, 1 / np.where(has_pairs, rating_count * (rating_count - 1), 1.0), 0.0
        )
        coincidence_weight = np.where(
            has_pairs, 1 / np.where(has_pairs, rating_count - 1, 1.0), 0.0
        )
        item_shares = counts / np.maximum(rating_count, 1.0)[:, None]
        tables = np.empty((2, count, size, size))
        sums = np.empty((count, size + 2))
        rater_counts = np.empty((count, *sheet.said.shape[1:]))
        for i in range(count):
            rows = order[ends[i] : ends[i + 1]]
            for table, weight in zip(tables, (pair_weight, coincidence_weight), strict=True):
                weighed = counts[rows] * weight[rows, None]
                table[i] = counts[rows].T @ weighed - np.diag(weighed.sum(axis=0))
            sums[i] = [
                has_pairs[rows].sum(),
                (rating_count[rows] > 0).sum(),
                *item_shares[rows].sum(axis=0),
            ]
            rater_counts[i] = sheet.said[rows].sum(axis=0)
        return cls(
            sheet.grades, tables[0], tables[1], sums[:, 0], sums[:, 2:], sums[:, 1], rater_counts
        )

    @property
    def _sums(self) -> tuple[Floats, ...]:
        return (self.pairs, self.coincidences, self.paired, self.share, self.rated, self.given)

    def whole(self) -> Tallies:
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
    """(K, K) how much two grades agree, 1 on the diagonal.

    ``identity``: 1 where equal; ``linear``: 1 − |a−b|/range; ``quadratic``: 1 − (a−b)²/range²,
    both by the grades' values (Cohen 1968; Cicchetti and Allison 1971), or ``by places`` in
    their order, as scikit-learn and R's irr have them; ``ordinal``: 1 − C(|i−j|+1, 2)/C(K, 2)
    by their places (Gwet 2014).
    """
    size = grades.size
    if kind == "identity" or size < 2:  # one grade cannot disagree
        return np.eye(size)
    if kind == "ordinal":
        distance = np.abs(np.subtract.outer(np.arange(size), np.arange(size)))
        return np.asarray(1.0 - distance * (distance + 1) / (size * (size - 1)), np.float64)
    shape, _, places = kind.partition(" ")
    points = np.arange(size, dtype=np.float64) if places else grades
    distance = np.abs(np.subtract.outer(points, points)) / (points[-1] - points[0])
    return np.asarray(1.0 - (distance if shape == "linear" else distance**2), np.float64)


def ratio(numerator: Floats, denominator: Floats) -> Floats:
    """(N,) numerator / denominator; NaN where the denominator is 0: chance explains everything."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(
            denominator > 0, numerator / np.where(denominator > 0, denominator, 1.0), np.nan
        )
