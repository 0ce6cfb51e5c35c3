"""Clicks of declared users on lists, drawn for all lists at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rankgate.online.simulation.users import User

    Floats = NDArray[np.float64]
    Bools = NDArray[np.bool_]


def grades_of_lists(
    lists: Sequence[Sequence[str]], grades: Sequence[Mapping[str, float]]
) -> Floats:
    """(N, K) what each shown document is worth, 0 to 1; NaN behind the end of a list."""
    depth = max(map(len, lists), default=0)
    table = np.full((len(lists), depth), np.nan)
    for row, docs, query_grades in zip(table, lists, grades, strict=True):
        row[: len(docs)] = [query_grades.get(doc, 0.0) for doc in docs]
    return table


def simulate_clicks(worth: Floats, user: User, random: np.random.Generator) -> Bools:
    """(N, K) clicks of users who go down their lists until a click satisfies them."""
    is_shown = np.isfinite(worth)
    value = np.nan_to_num(worth)
    is_attractive = random.random(worth.shape) < user.attractive(value)
    continues = random.random(worth.shape) < user.after(value)
    clicked = np.zeros(worth.shape, np.bool_)
    is_reading = np.ones(len(worth), np.bool_)
    for rank in range(worth.shape[1]):
        clicked[:, rank] = is_reading & is_shown[:, rank] & is_attractive[:, rank]
        is_reading &= ~clicked[:, rank] | continues[:, rank]
    return clicked
