"""Tables and shares, as studies put them on the page."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A Markdown table."""
    lines = [f"| {' | '.join(head)} |", f"|{'|'.join(':--' for _ in head)}|"]
    return "\n".join([*lines, *(f"| {' | '.join(row)} |" for row in rows)]) + "\n"


def percent(value: float) -> str:
    """As a percentage with one decimal."""
    return f"{value:.1%}"


def marked(value: float, holds: bool | None) -> str:  # noqa: FBT001 - None is of no target
    """The same, with a mark where the target is missed."""
    return percent(value) + ("" if holds is None or holds else " ✘")
