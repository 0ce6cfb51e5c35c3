"""Pictures of results, which show themselves in a notebook and can be saved."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

from rankgate.errors import UsageError
from rankgate.present.charts import picture
from rankgate.present.charts.forms import form_of, written
from rankgate.present.charts.page import page
from rankgate.present.saving import save
from rankgate.reports.kinds import kind

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path


@dataclass(frozen=True)
class Picture(picture.Picture):
    """A chart with what it says; in a notebook it shows itself as SVG, without a network."""

    def html(self) -> str:
        """A page of its own, which answers to the pointer and needs no network."""
        return page(self)

    def save(self, path: str | Path, theme: str = "", scale: float = 2.0) -> None:
        """Write it to a file: SVG, PNG, PDF, HTML or JSON, as the name ends.

        Args:
            path: the file.
            theme: light or dark; empty is as the reader prefers where the form can, else light.
            scale: pixels to a point, of PNG.

        Raises:
            UsageError: another ending.
            MissingExtraError: the converter is not installed.
        """
        save(path, written(self, form_of(str(path)), theme, scale))


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
    told = kind(name).draw(results[name]())
    return Picture(**{each.name: getattr(told, each.name) for each in fields(told)})
