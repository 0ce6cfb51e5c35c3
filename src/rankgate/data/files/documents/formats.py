"""Documents of formats: the list, or one in full."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rankgate.core.present.document import Document, Entries, Entry, PlainRows, Table
from rankgate.core.present.document import make_document as made
from rankgate.core.present.grid import Grid

if TYPE_CHECKING:
    from rankgate.data.files.format import FormatDetails
    from rankgate.data.files.formats import Formats

_PART_LABELS = {"qrels": "judgments"}


def listed(result: Formats) -> Document:
    """Every format with its title and suffixes."""
    rows = tuple(
        (details.name, access_label(details), f"{details.title} ({suffixes(details)})")
        for details in result.formats
    )
    grid = Grid(("format", "read, written", "what it is"), rows, frozenset(range(3)))
    column_names = ("format", "holds", "read, written", "suffixes", "title")
    full_rows = [
        (
            details.name,
            parts_label(details),
            access_label(details),
            suffixes(details),
            details.title,
        )
        for details in result.formats
    ]
    return made(
        f"{len(result)} formats",
        Table("", grid, prose=True),
        rows=PlainRows(column_names, full_rows),
    )


def details(result: FormatDetails) -> Document:
    """The detection, contents and limits of one format."""
    entries = tuple(Entry(label, (line,)) for label, line in facts(result).items() if line)
    return made(
        result.name,
        Entries(entries),
        lead=(result.title,),
        rows=PlainRows(("what", "value"), list(facts(result).items())),
    )


def facts(result: FormatDetails) -> dict[str, str]:
    """The facts about a format, by label."""
    return {
        "holds": parts_label(result),
        "is": access_label(result) + (", a run while it is read" if result.streams else ""),
        "suffixes": suffixes(result),
        "known by": result.detection,
        "cannot hold": result.loses,
        "notes": result.detail,
    }


def access_label(result: FormatDetails) -> str:
    """'read' or 'read, written'."""
    return "read, written" if result.writes else "read"


def parts_label(result: FormatDetails) -> str:
    """The names of the parts that a format can hold."""
    return ", ".join(_PART_LABELS.get(name, name) for name in result.holds)


def suffixes(result: FormatDetails) -> str:
    """The suffixes of a format's files."""
    return " ".join(result.suffixes)
