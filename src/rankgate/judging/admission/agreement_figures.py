"""Figures of agreement as functions of a table of shares, and their derivatives."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Literal

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

AgreementFigure = Literal["equal", "bias", "alpha"]
"""The share of pairs with equal grades, the judge's mean difference, and ordinal alpha."""

_STEP = 1e-5


def _equal(table: Floats, _grades: Floats) -> float:
    return float(np.trace(table) / table.sum())


def _bias(table: Floats, grades: Floats) -> float:
    return float((table * (grades[None, :] - grades[:, None])).sum() / table.sum())


def _alpha(table: Floats, _grades: Floats) -> float:
    """Krippendorff's ordinal α of two raters in the limit of many pairs."""
    symmetric = (table + table.T) / (2 * table.sum())
    grade_shares = symmetric.sum(axis=0)
    middle = np.cumsum(grade_shares) - grade_shares / 2
    distances = (middle[:, None] - middle[None, :]) ** 2
    expected = float(grade_shares @ distances @ grade_shares)
    return 1 - float((symmetric * distances).sum()) / expected if expected > 0 else float("nan")


FIGURES: Mapping[AgreementFigure, Callable[[Floats, Floats], float]] = {
    "equal": _equal,
    "bias": _bias,
    "alpha": _alpha,
}
"""Each figure of a (K, K) table of shares, people's grades in rows, and of its K grades."""


def influence(figure: AgreementFigure, table: Floats, grades: Floats) -> Floats:
    """(K, K) derivatives of a figure by the share of each pair of grades.

    With them a figure that is not a mean is nearly one around the table, so that its variance
    under a stratified sample is Σ W_g² S_g² / n_g with S_g the standard deviation of the
    derivatives of column g over people's grades (delta method; Särndal, Swensson and Wretman 1992,
    section 5.5).

    Args:
        figure: its name.
        table: (K, K) shares of people's grades (rows) and the judge's (columns).
        grades: (K,) of both.
    """
    derivatives = np.zeros_like(table)
    for cell in np.ndindex(*table.shape):
        table_above, table_below = table.copy(), table.copy()
        table_above[cell] += _STEP
        table_below[cell] -= _STEP
        rise = FIGURES[figure](table_above, grades) - FIGURES[figure](table_below, grades)
        derivatives[cell] = rise / (2 * _STEP)
    return derivatives
