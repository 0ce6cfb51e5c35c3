"""Pictures of results that are drawn by the table of kinds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rankgate.errors import UsageError
from rankgate.present.charts.picture import Picture
from rankgate.reports.kinds import kind

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = ["Picture", "pictured"]


def pictured(name: str, results: Mapping[str, Callable[[], Any]]) -> Picture:
    """One of the kinds that a result can be drawn as.

    Args:
        name: of the kind.
        results: by kind, what gives the result that the kind needs.

    Raises:
        UsageError: the result cannot be drawn so.
        MissingExtraError: Altair is not installed.
    """
    if name not in results:
        raise UsageError(
            f"this result is drawn as {', '.join(results)}, not {name!r}.", code="unknown-picture"
        )
    return kind(name).draw(results[name]())
