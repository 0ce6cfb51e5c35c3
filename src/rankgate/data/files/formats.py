"""All formats that are read and written."""

from __future__ import annotations

from typing import ClassVar

import polars as pl

from rankgate.core.frozen import dataclass
from rankgate.core.present.result import Result
from rankgate.data.files.format import FormatDetails
from rankgate.data.formats import registry

_LIST_COLUMNS = ("name", "title", "holds", "writes", "suffixes")


@dataclass(frozen=True)
class Formats(Result):
    """All formats, those that are tried first before others.

    Attributes:
        formats: the details of each.
    """

    kind: ClassVar[str] = "formats"
    document_from: ClassVar[str] = "rankgate.data.files.documents.formats:listed"

    formats: tuple[FormatDetails, ...]

    def __len__(self) -> int:
        """The number of formats."""
        return len(self.formats)

    def _table(self) -> pl.DataFrame:
        rows = [
            {name: getattr(details, name) for name in _LIST_COLUMNS} for details in self.formats
        ]
        return pl.DataFrame(rows)


def formats() -> Formats:
    """All formats that are read and written; those of plug-ins come last."""
    all_formats = (*registry.FORMATS, *registry.load_plugin_formats().by_name.values())
    return Formats(tuple(map(FormatDetails.of, all_formats)))
