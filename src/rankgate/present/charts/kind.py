"""A kind of picture, declared."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    from rankgate.present.charts.picture import Picture


@dataclass(frozen=True)
class Kind:
    """What a kind of picture shows, and of which result it is made.

    Attributes:
        name: as ``rankgate plot`` takes it.
        title: what it shows, in a few words.
        needs: the result that it is drawn from, by the name that ``services.pictured`` has for it.
        draw: from that result to a picture.
        text: from that result and a width to bars of characters; None where that shows nothing.
    """

    name: str
    title: str
    needs: str
    draw: Callable[[Any], Picture]
    text: Callable[[Any, int], str] | None = None
