"""List all formats that are read and written, and show the details of a format.

The details are recognition, reading, writing and limits.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import polars as pl

from rankgate.core.frozen import dataclass
from rankgate.core.present.base_result import Result
from rankgate.core.present.columns import Column, Columns
from rankgate.core.present.document_model import PlainRows
from rankgate.core.present.layout import FactList, View, fill
from rankgate.data.formats import registry

if TYPE_CHECKING:
    from rankgate.data.formats.format import Format


_FACTS = FactList(
    (
        ("holds", "{parts}"),
        ("is", "{access}{streaming}"),
        ("suffixes", "{endings}"),
        ("known by", "{detection}"),
        ("cannot hold", "{loses}"),
        ("notes", "{detail}"),
    )
)
_FORMATS = Columns(
    "One row per format.",
    Column("name", pl.String, "its name", header="format"),
    Column("parts", pl.String, "the parts that it can hold", header="holds"),
    Column("access", pl.String, "read, or read and written", header="read, written"),
    Column("endings", pl.String, "the suffixes of its files", header="suffixes"),
    Column("title", pl.String, "a short description", header="what it is"),
)


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

    kind = "format"
    headline_text = "{name}"
    lead = ("{title}",)
    layout = (_FACTS,)

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

    @property
    def parts(self) -> str:
        """The parts that it can hold."""
        return ", ".join("judgments" if name == "qrels" else name for name in self.holds)

    @property
    def access(self) -> str:
        """Read, or read and written."""
        return "read, written" if self.writes else "read"

    @property
    def streaming(self) -> str:
        """A run that is written while it is read, if any."""
        return ", a run while it is read" if self.streams else ""

    @property
    def endings(self) -> str:
        """The suffixes of its files."""
        return " ".join(self.suffixes)

    def csv_rows(self) -> PlainRows:
        """The facts."""
        return PlainRows(
            ("what", "value"), [(str(fact[0]), fill(str(fact[1]), self)) for fact in _FACTS.facts]
        )

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

    kind = "formats"
    main_table = "overview"
    headline_text = "{formats:n format}"
    layout = (View("formats", "", ("name", "access", ("title", ": ", "endings")), _FORMATS, prose=True),)
    csv_table = "formats"
    csv_columns: ClassVar = {
        "format": "name",
        "holds": "parts",
        "read, written": "access",
        "suffixes": "endings",
        "title": "title",
    }

    formats: tuple[FormatDetails, ...]

    def __len__(self) -> int:
        """The number of formats."""
        return len(self.formats)

    @property
    def overview(self) -> pl.DataFrame:
        """A row for each format."""
        rows = [{name: getattr(details, name) for name in _LIST_COLUMNS} for details in self.formats]
        return pl.DataFrame(rows)


def formats() -> Formats:
    """All formats that are read and written; those of plug-ins come last."""
    all_formats = (*registry.FORMATS, *registry.load_plugin_formats().by_name.values())
    return Formats(tuple(map(FormatDetails.from_format, all_formats)))
