"""Raters' grades as counts: what every coefficient of agreement is computed from.

Shapes: I items, R raters, K grades, B replicates of a bootstrap.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from rankgate.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

Weighting = Literal["identity", "linear", "quadratic", "ordinal"]


@dataclass(frozen=True)
class Sheet:
    """What raters said of items.

    Attributes:
        grades: (K,) the grades that occur, or those of the scale, ascending.
        said: (I, R, K) how often a rater gave an item a grade; mostly 0 or 1.
    """

    grades: Floats
    said: Floats

    @classmethod
    def of(cls, matrix: Floats, grades: Sequence[float] | None = None) -> Sheet:
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

    def of_two(self, first: int, second: int) -> Sheet:
        """The sheet of two raters, on the items that both rated."""
        pair = self.said[:, [first, second], :]
        return Sheet(self.grades, pair[(pair.sum(axis=2) > 0).all(axis=1)])


def weights(grades: Floats, kind: Weighting) -> Floats:
    """(K, K) how much two grades agree, 1 on the diagonal.

    ``identity``: 1 where equal; ``linear``: 1 − |a−b|/range; ``quadratic``: 1 − (a−b)²/range²,
    both by the grades' values (Cohen 1968; Cicchetti and Allison 1971); ``ordinal``:
    1 − C(|i−j|+1, 2)/C(K, 2) by their places (Gwet 2014).
    """
    size = grades.size
    if kind == "identity" or size < 2:  # noqa: PLR2004 - one grade cannot disagree
        return np.eye(size)
    if kind == "ordinal":
        apart = np.abs(np.subtract.outer(np.arange(size), np.arange(size)))
        return np.asarray(1.0 - apart * (apart + 1) / (size * (size - 1)), np.float64)
    apart = np.abs(np.subtract.outer(grades, grades)) / (grades[-1] - grades[0])
    return np.asarray(1.0 - (apart if kind == "linear" else apart**2), np.float64)


def times_of(items: int, times: Floats | None) -> Floats:
    """(B, I) how often each item counts; once each where nothing is said."""
    return np.ones((1, items)) if times is None else np.atleast_2d(times)


def ratio(above: Floats, below: Floats) -> Floats:
    """(B,) above / below; NaN where nothing is below: chance alone explains everything."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(below > 0, above / np.where(below > 0, below, 1.0), np.nan)
