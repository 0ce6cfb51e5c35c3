"""Columns of a log of decisions as arrays."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from rankgate.core.errors import InputError
from rankgate.core.frozen import dataclass

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from rankgate.data.place import RowLocation

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]


@dataclass(frozen=True)
class LogRows:
    """The columns of a log.

    Attributes:
        action: (R,) number of the action in ``names``.
        names: (A,) of the actions, in their order.
        place: (R,) number of the position in ``places``.
        places: (P,) of the positions.
        reward: (R,).
        propensity: (R,) P(action) when it was logged.
        slate: (R,) number of the slate; None without slates.
        time: (R,) rank of the time; None without times.
    """

    action: Ints
    names: pl.Series
    place: Ints
    places: pl.Series
    reward: Floats
    propensity: Floats
    slate: Ints | None
    time: Ints | None


def encode_column(
    frame: pl.DataFrame, column: str, location: RowLocation
) -> tuple[Ints, pl.Series]:
    """Values as numbers in their order, and the values."""
    texts = frame[column].cast(pl.String)
    empty = texts.is_null() | (texts == "")
    if empty.any():
        row = int(empty.arg_max() or 0)
        raise InputError(
            f"no {column}.", source=location.file(row), line=location.line(row), code="empty-value"
        )
    names = texts.unique().sort()
    order = dict(zip(names, range(len(names)), strict=True))
    return texts.replace_strict(order, return_dtype=pl.Int64).to_numpy(), names


def number_column(frame: pl.DataFrame, column: str, location: RowLocation) -> Floats:
    """Finite numbers of a column."""
    values = frame[column].cast(pl.Float64, strict=False)
    is_invalid = values.is_null() | ~values.is_finite()
    if is_invalid.any():
        row = int(is_invalid.arg_max() or 0)
        problem = f"{column} {frame[column][row]!r} is not a number."
        raise InputError(
            problem, source=location.file(row), line=location.line(row), code="not-a-number"
        )
    return values.to_numpy()
