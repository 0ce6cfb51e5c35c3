"""What a conversion carried, what it could not, and what was seen on the way."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rankgate.present.forms import as_json
from rankgate.present.forms.as_text import WIDTH
from rankgate.present.forms.paragraphs import beside
from rankgate.present.grid import Grid, printable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rankgate.data.formats.format import Loss, Note
    from rankgate.files.convert import Conversion

FORMS = ("text", "json")
"""The forms of a conversion, by the name that ``--format`` takes."""

_PARTS = {"qrels": "judgments", "runs": "lines of runs", "values": "metric values"}


def render(result: Conversion, form: str, width: int = WIDTH) -> str:
    """A conversion in one of `FORMS`."""
    if form == "json":
        return as_json.dumped(result.to_dict())
    carried = ", ".join(
        f"{count:,} {_PARTS.get(part, part)}" for part, count in result.rows.items()
    )
    rows = [
        ("read", f"{printable(result.source)} as {result.from_format}: {result.reason}"),
        ("written", f"{printable(result.target)} as {result.to_format}: {carried or 'nothing'}"),
        *_told("seen", result.notes),
        *_told("lost", result.losses),
    ]
    if not result.losses:
        rows.append(("lost", "nothing"))
    room = [max(len(label) for label, _ in rows)]
    return "".join(beside([label], [line], room, width) for label, line in rows)


def losses(result: Conversion) -> Grid:
    """What was seen and lost, one row each."""
    rows = [
        (kind, f"{each.count:,}", each.what, ", ".join(each.examples))
        for kind, found in (("seen", result.notes), ("lost", result.losses))
        for each in found
    ]
    return Grid(("", "count", "what", "examples"), tuple(rows), frozenset({0, 2, 3}))


def _told(label: str, found: Sequence[Note | Loss]) -> list[tuple[str, str]]:
    return [(label if not at else "", _line(each)) for at, each in enumerate(found)]


def _line(each: Note | Loss) -> str:
    more = ", …" if each.count > len(each.examples) else ""
    shown = ", ".join(map(printable, each.examples))
    return f"{each.count:,} {each.what}" + (f": {shown}{more}" if shown else "")
