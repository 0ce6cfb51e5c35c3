"""A scorecard: metrics down, systems across, intervals below, marks where systems differ."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rankgate.core.present.document import Document, PlainRows, Points, Section, Table
from rankgate.core.present.grid import make_printable
from rankgate.recommenders.documents.scorecard_grids import (
    BETTER,
    WORSE,
    card_grid,
    flat_grid,
    gap_grid,
    part_table,
    range_text,
)

if TYPE_CHECKING:
    from rankgate.recommenders.scorecard import Scorecard

_SLICE_NOTES = {
    "activity": "users without an item in training are new, those with at most the median number "
    "of the others light, the rest heavy",
    "history": "repeat: pairs of user and item that training has, new: all others; judgments and "
    "lists of these pairs only, lists closed up before they are cut",
    "popularity": "the head is the most popular fifth of the catalogue; accuracy by what is "
    "relevant there, lists as if they showed nothing else",
}
_ITEM_SLICE_NOTE = (
    "accuracy by what is relevant among these items, lists as if they showed nothing else"
)


def document(result: Scorecard) -> Document:
    """The card, its slices, and notes; CSV has a row for each figure."""
    sections = [Section("card", "Systems", (_card(result),))]
    for i, name in enumerate(slice_names(result)):
        blocks = [_card(result, name)]
        if (grid := gap_grid(result, name)).rows:
            plain = (gap_grid(result, name, flat=False),)
            blocks.append(Table("Gaps: these users less all others", grid, plain=plain))
        sections.append(Section(f"by-{i}", f"By {make_printable(name)}", tuple(blocks)))
    first, *further_notes = card_notes(result)
    sections.append(Section("notes", "What to know", (Points(tuple(further_notes)),)))
    columns, rows = part_table(result)
    return Document(
        "Scorecard", "", (first,), tuple(sections), PlainRows(tuple(columns), list(rows))
    )


def _card(result: Scorecard, slice_name: str = "") -> Table:
    """One system with intervals in brackets, several with them as ranges where room is short."""
    wide_grid = card_grid(result, by=slice_name) if slice_name else card_grid(result)
    narrow_grid = (
        card_grid(result, range_text, by=slice_name)
        if slice_name
        else card_grid(result, range_text)
    )
    plain = (wide_grid,) if len(result.systems) == 1 else (wide_grid, narrow_grid)
    return Table(
        "", flat_grid(result, by=slice_name) if slice_name else flat_grid(result), plain=plain
    )


def slice_names(result: Scorecard) -> list[str]:
    """The slices by which users and items are grouped, in order."""
    return result.slices["slice"].unique(maintain_order=True).to_list()


def card_notes(result: Scorecard) -> list[str]:
    """The notes below the card, a line each."""
    first = (
        f"{result.users:,} users of {make_printable(result.qrels)}, {result.catalogue:,} items, "
        f"convention {result.convention['name']}; {result.level:.0%} intervals over users"
    )
    lines = [first]
    names = slice_names(result)
    if len(result.systems) > 1:
        slice_note = (
            "; in slices for all differences of a slice (Benjamini-Hochberg)" if names else ""
        )
        lines.append(
            f"{BETTER} better, {WORSE} worse than {make_printable(result.systems[0])}: p < "
            f"{1 - result.level:.2g}, corrected for {len(result.differences)} comparisons "
            f"(Holm){slice_note}"
        )
    if len(result.gaps):
        lines.append(
            f"gaps: {BETTER} the users are served better than all others by that system, {WORSE} "
            "worse (Benjamini-Hochberg over a slice)"
        )
    kind_of_slice = dict(result.slices.select("slice", "of").unique().iter_rows())
    for name in names:
        explanation = _SLICE_NOTES.get(name) or (
            _ITEM_SLICE_NOTE if kind_of_slice[name] == "items" else ""
        )
        lines += [f"{make_printable(name)}: {explanation}"] if explanation else []
    lines += [
        f"{make_printable(system)} is dominated: {make_printable(dominator)} is as good by every "
        "metric here, and better by some"
        for system, dominator in result.dominated
    ]
    if len(result.systems) > 1 and not result.dominated:
        lines.append("no system is dominated: each is better than each other by some metric here")
    return [*lines, *result.warnings]
