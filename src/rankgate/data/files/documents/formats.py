"""Documents of formats: the list, or one in full."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rankgate.core.present.document import Document, Entries, Entry, PlainRows, Table
from rankgate.core.present.document import document as made
from rankgate.core.present.grid import Grid

if TYPE_CHECKING:
    from rankgate.data.files.format import FormatDetails
    from rankgate.data.files.formats import Formats

_WORDS = {"qrels": "judgments"}


def listed(result: Formats) -> Document:
    """Every format with its title and suffixes."""
    rows = tuple(
        (each.name, ways(each), f"{each.title} ({suffixes(each)})") for each in result.formats
    )
    grid = Grid(("format", "read, written", "what it is"), rows, frozenset(range(3)))
    head = ("format", "holds", "read, written", "suffixes", "title")
    whole = [
        (each.name, holds(each), ways(each), suffixes(each), each.title) for each in result.formats
    ]
    return made(f"{len(result)} formats", Table("", grid, prose=True), rows=PlainRows(head, whole))


def details(result: FormatDetails) -> Document:
    """How one format is recognised, what it holds and what it cannot."""
    entries = tuple(Entry(label, (line,)) for label, line in facts(result).items() if line)
    return made(
        result.name,
        Entries(entries),
        lead=(result.title,),
        rows=PlainRows(("what", "value"), list(facts(result).items())),
    )


def facts(result: FormatDetails) -> dict[str, str]:
    """What there is to say about a format, by label."""
    return {
        "holds": holds(result),
        "is": ways(result) + (", a run while it is read" if result.streams else ""),
        "suffixes": suffixes(result),
        "known by": result.detection,
        "cannot hold": result.loses,
        "notes": result.detail,
    }


def ways(result: FormatDetails) -> str:
    """Whether it is written too."""
    return "read, written" if result.writes else "read"


def holds(result: FormatDetails) -> str:
    """The parts that it can hold."""
    return ", ".join(_WORDS.get(part, part) for part in result.holds)


def suffixes(result: FormatDetails) -> str:
    """How the names of its files end."""
    return " ".join(result.suffixes)
