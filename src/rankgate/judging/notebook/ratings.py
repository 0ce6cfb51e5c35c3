"""The verbs ``resolve``, ``agree``, ``sheets`` and ``collect``, shown in a notebook."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

from rankgate.judging.sheets import document as collected
from rankgate.judging.sheets import sheets as sheets_service
from rankgate.present import as_html

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path


@dataclass(frozen=True)
class Collected(sheets_service.Collected):
    """Ratings from sheets that came back; shows what was left empty."""

    def _repr_html_(self) -> str:
        return "".join(map(as_html.paragraph, collected.summary(self, 1000).splitlines()))


def collect(
    paths: Sequence[str | Path],
    *,
    pool: Any = None,  # noqa: ANN401 - a pool, a path or a frame
    scale: str | None = None,
    rater: str | None = None,
) -> Collected:
    """Read sheets that came back; find all that came back wrong.

    Args:
        paths: CSV or XLSX files.
        pool: what was to be rated; without it, rows are verified by their column check alone.
        scale: the grades that are possible, if it should not be the sheets' own.
        rater: who filled them, where they do not say so.

    Raises:
        InputError: whatever came back wrong, with file and line.
        DuplicateError: one rater rates a document twice.
        UsageError: no sheet, or no such scale.
    """
    told = sheets_service.collect(paths, pool=pool, scale=scale, rater=rater)
    return Collected(**{each.name: getattr(told, each.name) for each in fields(told)})
