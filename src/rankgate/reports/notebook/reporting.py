"""Results that write a page of themselves."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Protocol

from rankgate.comparison.documents.changes import WORST
from rankgate.errors import UsageError
from rankgate.present import as_json
from rankgate.present.forms import csv, latex, markdown
from rankgate.present.page import page
from rankgate.present.saving import save
from rankgate.reports.documents import results
from rankgate.reports.results import held

_FORMS = {".html": page, ".md": markdown, ".tex": latex, ".csv": csv}


class _Told(Protocol):
    def to_dict(self) -> dict[str, Any]: ...


class Reported:
    """What a result has that is reported as ``rankgate report`` does it of its JSON."""

    def report(self: _Told, path: str | Path, *, worst: int = WORST) -> None:
        """Write a report: one HTML page that needs no network, or Markdown, LaTeX, CSV.

        Args:
            path: the file, which ends in .html, .md, .tex or .csv.
            worst: how many of the queries that lost are shown.

        Raises:
            UsageError: another ending.
        """
        reported(self.to_dict(), path, worst)


def reported(told: dict[str, Any], path: str | Path, worst: int = WORST) -> None:
    """Write the report of what a result tells, in the form that the name of the file says.

    Raises:
        UsageError: another ending.
    """
    form = _FORMS.get(Path(path).suffix)
    if form is None:
        raise UsageError(
            f"{path}: the name ends in one of {', '.join(_FORMS)}.", code="unknown-format"
        )
    outlined = results.outline(held(as_json.dumped(told).encode()), worst)
    save(path, form(outlined))
