"""Reports of results whose class is not a `Result` yet."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from rankgate.reports.compose import write
from rankgate.reports.plain import PlainResult

if TYPE_CHECKING:
    from pathlib import Path


class _Reportable(Protocol):
    def to_dict(self) -> dict[str, Any]: ...


class Reported:
    """What a result has that is reported as ``rankgate report`` does it of its JSON."""

    def report(self: _Reportable, path: str | Path, **options: Any) -> Path:
        """Write a report: one HTML page that needs no network, or Markdown, LaTeX, CSV.

        Raises:
            UsageError: another ending.
        """
        return write(PlainResult(self.to_dict()), path, **options)
