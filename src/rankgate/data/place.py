"""Where a row of a table stands, for errors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable


@dataclass(frozen=True)
class Place:
    """The origin of a table: what errors call it, and how a row's line is found."""

    label: str
    line: Callable[[int], int | None] = lambda _row: None
