"""Declared users, and their clicks on lists, drawn for all lists at once.

A declared user has probabilities of clicks and stops, by the grade of a document.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from rankgate.core.declare import Declared, Registry
from rankgate.core.frozen import dataclass

if TYPE_CHECKING:
    from rankgate.core.arrays import Flags, Floats


_SOURCE = "Hofmann, Whiteson and de Rijke 2013; grades between are interpolated"


@dataclass(frozen=True, kw_only=True)
class User(Declared):
    """A user who goes down the list.

    Attributes:
        click: the probability of a click on a document of the lowest and of the highest grade.
        stop: the probability to stop after a click on such a document.
    """

    click: tuple[float, float]
    stop: tuple[float, float]

    def attractive(self, worth: Floats) -> Floats:
        """The probability of a click; ``worth`` is the grade divided by the highest."""
        low, high = self.click
        return np.asarray(low + (high - low) * worth)

    def after(self, worth: Floats) -> Floats:
        """The probability of going on after a click."""
        low, high = self.stop
        return np.asarray(1 - (low + (high - low) * worth))


USERS = Registry(
    User,
    "user",
    (
        User(
            "perfect",
            title="Clicks on all that is relevant and on nothing else, and never stops",
            source=_SOURCE,
            click=(0.0, 1.0),
            stop=(0.0, 0.0),
        ),
        User(
            "navigational",
            title="Looks for one document, and stops when it is found",
            source=_SOURCE,
            click=(0.05, 0.95),
            stop=(0.2, 0.9),
        ),
        User(
            "informational",
            title="Looks for several documents, and clicks on some that are not relevant",
            source=_SOURCE,
            click=(0.4, 0.9),
            stop=(0.1, 0.5),
        ),
    ),
)
"""Users by name."""


def grades_of_lists(lists: Sequence[Sequence[str]], grades: Sequence[Mapping[str, float]]) -> Floats:
    """(N, K) the worth of each shown document, 0 to 1; NaN after the end of a list."""
    depth = max(map(len, lists), default=0)
    table = np.full((len(lists), depth), np.nan)
    for row, docs, query_grades in zip(table, lists, grades, strict=True):
        row[: len(docs)] = [query_grades.get(doc, 0.0) for doc in docs]
    return table


def simulate_clicks(worth: Floats, user: User, random: np.random.Generator) -> Flags:
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
