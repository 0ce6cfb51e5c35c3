"""A scorecard: metrics down, systems across, intervals below, marks where systems differ."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rankgate.core.present.document import Document, PlainRows, Points, Section, Table
from rankgate.core.present.grid import printable
from rankgate.recommenders.documents.scorecard_grids import (
    BETTER,
    WORSE,
    card,
    gaps,
    part_table,
    ranged,
    sheet,
)

if TYPE_CHECKING:
    from rankgate.recommenders.scorecard import Scorecard

_BY = {
    "activity": "users without an item in training are new, those with at most the median number "
    "of the others light, the rest heavy",
    "history": "repeat: pairs of user and item that training has, new: all others; judgments and "
    "lists of these pairs only, lists closed up before they are cut",
    "popularity": "the head is the most popular fifth of the catalogue; accuracy by what is "
    "relevant there, lists as if they showed nothing else",
}
_ITEMS = "accuracy by what is relevant among these items, lists as if they showed nothing else"


def document(result: Scorecard) -> Document:
    """The card, its slices, and what to know; CSV has a row for each figure."""
    sections = [Section("card", "Systems", (_card(result),))]
    for i, name in enumerate(slices(result)):
        blocks = [_card(result, name)]
        if (grid := gaps(result, name)).rows:
            plain = (gaps(result, name, flat=False),)
            blocks.append(Table("Gaps: these users less all others", grid, plain=plain))
        sections.append(Section(f"by-{i}", f"By {printable(name)}", tuple(blocks)))
    first, *others = notes(result)
    sections.append(Section("notes", "What to know", (Points(tuple(others)),)))
    head, rows = part_table(result)
    return Document("Scorecard", "", (first,), tuple(sections), PlainRows(tuple(head), list(rows)))


def _card(result: Scorecard, by: str = "") -> Table:
    """One system with intervals in brackets, several with them as ranges where room is short."""
    wide = card(result, by=by) if by else card(result)
    narrow = card(result, ranged, by=by) if by else card(result, ranged)
    plain = (wide,) if len(result.systems) == 1 else (wide, narrow)
    return Table("", sheet(result, by=by) if by else sheet(result), plain=plain)


def slices(result: Scorecard) -> list[str]:
    """The slices by which users and items are grouped, in order."""
    return result.slices["slice"].unique(maintain_order=True).to_list()


def notes(result: Scorecard) -> list[str]:
    """What is below the card, a line each."""
    first = (
        f"{result.users:,} users of {printable(result.qrels)}, {result.catalogue:,} items, "
        f"convention {result.convention['name']}; {result.level:.0%} intervals over users"
    )
    lines = [first]
    names = slices(result)
    if len(result.systems) > 1:
        rest = "; in slices for all differences of a slice (Benjamini-Hochberg)" if names else ""
        lines.append(
            f"{BETTER} better, {WORSE} worse than {printable(result.systems[0])}: p < "
            f"{1 - result.level:.2g}, corrected for {len(result.differences)} comparisons "
            f"(Holm){rest}"
        )
    if len(result.gaps):
        lines.append(
            f"gaps: {BETTER} the users are served better than all others by that system, {WORSE} "
            "worse (Benjamini-Hochberg over a slice)"
        )
    of = dict(result.slices.select("slice", "of").unique().iter_rows())
    for name in names:
        words = _BY.get(name) or (_ITEMS if of[name] == "items" else "")
        lines += [f"{printable(name)}: {words}"] if words else []
    lines += [
        f"{printable(one)} is dominated: {printable(by)} is as good by every metric here, and "
        "better by some"
        for one, by in result.dominated
    ]
    if len(result.systems) > 1 and not result.dominated:
        lines.append("no system is dominated: each is better than each other by some metric here")
    return [*lines, *result.warnings]
