"""List all formats that are read and written, and show the details of a format.

The details are recognition, reading, writing and limits.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import polars as pl

from rankgate.core.frozen import dataclass
from rankgate.core.present.base_result import Result
from rankgate.data.formats import registry

if TYPE_CHECKING:
    from rankgate.data.formats.format import Format


@dataclass(frozen=True)
class FormatDetails(Result):
    """The description of a format.

    Attributes:
        name: as ``--from`` and ``--to`` take it.
        title: a short description.
        suffixes: the usual ends of file names.
        begins: the first bytes of its files: ``binary``, ``json``, ``labels``, ``comma``,
            ``header`` or ``text``.
        holds: the parts that it can hold: qrels, runs, ratings, queries, documents, values.
        reads: True if it is read; always.
        writes: True if it is written.
        streams: True if a run is written while it is read.
        detection: the rule that recognises a file of this format, in a sentence.
        loses: the content that it cannot hold.
        detail: its sources, its targets, and its pitfalls.
    """

    kind: ClassVar[str] = "format"
    document_from: ClassVar[str] = "rankgate.data.files.file_documents:details"

    name: str
    title: str
    suffixes: tuple[str, ...]
    begins: tuple[str, ...]
    holds: tuple[str, ...]
    reads: bool
    writes: bool
    streams: bool
    detection: str
    loses: str
    detail: str

    @classmethod
    def from_format(cls, format_: Format) -> FormatDetails:
        """The details of a format of the registry."""
        return cls(
            name=format_.name,
            title=format_.title,
            suffixes=format_.suffixes,
            begins=next(
                (tuple(kinds.split()) for name, _, kinds in registry.TABLE if name == format_.name), ()
            ),
            holds=tuple(name for name in format_.holds if name != "extra"),
            reads=True,
            writes=format_.write is not None,
            streams=format_.streams and format_.write is not None,
            detection=" ".join((format_.sniff.__doc__ or "").split("\n\n", 1)[0].split()),
            loses=format_.loses,
            detail=format_.detail,
        )


def format_details(name: str) -> FormatDetails:
    """One format.

    Raises:
        UsageError: no format has the name; the nearest ones are in the message.
    """
    return FormatDetails.from_format(registry.find_format(name))


_LIST_COLUMNS = ("name", "title", "holds", "writes", "suffixes")


@dataclass(frozen=True)
class Formats(Result):
    """All formats, those that are tried first before others.

    Attributes:
        formats: the details of each.
    """

    kind: ClassVar[str] = "formats"
    document_from: ClassVar[str] = "rankgate.data.files.file_documents:listed"

    formats: tuple[FormatDetails, ...]

    def __len__(self) -> int:
        """The number of formats."""
        return len(self.formats)

    def _table(self) -> pl.DataFrame:
        rows = [{name: getattr(details, name) for name in _LIST_COLUMNS} for details in self.formats]
        return pl.DataFrame(rows)


def formats() -> Formats:
    """All formats that are read and written; those of plug-ins come last."""
    all_formats = (*registry.FORMATS, *registry.load_plugin_formats().by_name.values())
    return Formats(tuple(map(FormatDetails.from_format, all_formats)))
