"""Raters' grades as counts: what every coefficient of agreement is computed from.

Shapes: I items, R raters, K grades, N clusters of items or replicates of a bootstrap.
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
    """What raters said of items.

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
        present = ~np.isnan(table)
        scale = np.unique(table[present] if grades is None else np.asarray(grades, np.float64))
        place = np.searchsorted(scale, np.where(present, table, scale[:1] if scale.size else 0.0))
        place = np.minimum(place, max(scale.size - 1, 0))
        strange = present & (scale[place] != table) if scale.size else present
        if strange.any():
            raise UsageError(
                f"a grade {table[strange][0]:g} that the scale does not have.",
                code="grade-outside-scale",
            )
        said = (place[:, :, None] == np.arange(scale.size)) & present[:, :, None]
        return cls(scale, said.astype(np.float64))

    @property
    def counts(self) -> Floats:
        """(I, K) how many ratings give an item a grade."""
        return np.asarray(self.said.sum(axis=1), np.float64)


@dataclass(frozen=True)
class Tallies:
    """The sums over items that every coefficient of agreement is a function of.

    They add up: a bootstrap over clusters of items is one product of matrices, for any
    number of items. n is how often an item got a grade, m how many ratings it has.

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
        items, _, size = sheet.said.shape
        code = np.zeros(items, np.int64) if clusters is None else np.asarray(clusters, np.int64)
        order = np.argsort(code, kind="stable")
        count = int(code.max()) + 1 if items else 1
        ends = np.searchsorted(code[order], np.arange(count + 1))
        counts = sheet.counts
        rated = counts.sum(axis=1)
        both = rated > 1
        pair = np.where(both, 1 / np.where(both, rated * (rated - 1), 1.0), 0.0)
        once = np.where(both, 1 / np.where(both, rated - 1, 1.0), 0.0)
        own = counts / np.maximum(rated, 1.0)[:, None]
        tables = np.empty((2, count, size, size))
        sums = np.empty((count, size + 2))
        given = np.empty((count, *sheet.said.shape[1:]))
        for i in range(count):
            part = order[ends[i] : ends[i + 1]]
            for table, weight in zip(tables, (pair, once), strict=True):
                weighed = counts[part] * weight[part, None]
                table[i] = counts[part].T @ weighed - np.diag(weighed.sum(axis=0))
            sums[i] = [both[part].sum(), (rated[part] > 0).sum(), *own[part].sum(axis=0)]
            given[i] = sheet.said[part].sum(axis=0)
        return cls(sheet.grades, tables[0], tables[1], sums[:, 0], sums[:, 2:], sums[:, 1], given)

    def drawn(self, times: Floats) -> Tallies:
        """The sums when cluster n counts `times[b, n]` times; (B, N) gives B rows."""

        def summed(each: Floats) -> Floats:
            flat = times @ each.reshape(len(each), -1)
            return flat.reshape(len(times), *each.shape[1:])

        return Tallies(self.grades, *map(summed, self._sums))

    @property
    def _sums(self) -> tuple[Floats, ...]:
        return (self.pairs, self.coincidences, self.paired, self.share, self.rated, self.given)

    def whole(self) -> Tallies:
        """The sums over all clusters, one row."""
        return Tallies(self.grades, *(each.sum(axis=0)[None] for each in self._sums))

    def without_one(self) -> Tallies:
        """The sums with each cluster left out in turn, N rows (jackknife)."""
        return Tallies(self.grades, *(each.sum(axis=0) - each for each in self._sums))


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
        apart = np.abs(np.subtract.outer(np.arange(size), np.arange(size)))
        return np.asarray(1.0 - apart * (apart + 1) / (size * (size - 1)), np.float64)
    shape, _, places = kind.partition(" ")
    points = np.arange(size, dtype=np.float64) if places else grades
    apart = np.abs(np.subtract.outer(points, points)) / (points[-1] - points[0])
    return np.asarray(1.0 - (apart if shape == "linear" else apart**2), np.float64)


def ratio(above: Floats, below: Floats) -> Floats:
    """(N,) above / below; NaN where nothing is below: chance alone explains everything."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(below > 0, above / np.where(below > 0, below, 1.0), np.nan)
