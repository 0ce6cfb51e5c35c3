"""Users that are declared: how likely they click and stop, by the grade of what they see."""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING

import numpy as np

from rankgate.core.declare import Declared, Registry
from rankgate.core.frozen import dataclass

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

_SOURCE = "Hofmann, Whiteson and de Rijke 2013; grades between are interpolated"


@dataclass(frozen=True)
class User(Declared):
    """A user who goes down the list.

    Attributes:
        click: the probability of a click on a document of the lowest and of the highest grade.
        stop: the probability to stop after a click on such a document.
    """

    click: tuple[float, float] = field(kw_only=True)
    stop: tuple[float, float] = field(kw_only=True)

    def attractive(self, worth: Floats) -> Floats:
        """The probability of a click; ``worth`` is the grade divided by the highest."""
        low, high = self.click
        return np.asarray(low + (high - low) * worth)

    def after(self, worth: Floats) -> Floats:
        """The probability to go on after a click."""
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
