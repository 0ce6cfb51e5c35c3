"""A scorecard: metrics down, systems across, intervals below, marks where systems differ."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rankgate.present.document import Document, Points, Section, Table
from rankgate.present.forms import as_csv, as_html, as_json
from rankgate.present.forms.as_text import WIDTH, fitted, table
from rankgate.present.forms.documents import latex, markdown
from rankgate.present.forms.paragraphs import wrapped
from rankgate.present.grid import printable
from rankgate.present.pages.page import page
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
    from rankgate.present.grid import Grid
    from rankgate.recommenders.scorecard import Scorecard

FORMS = ("text", "json", "csv", "markdown", "latex", "html")
"""The forms of a scorecard, by the name that ``--format`` takes."""

_LATEX = {
    f" {BETTER}": r"\textsuperscript{+}",
    f" {WORSE}": r"\textsuperscript{--}",
    BETTER: r"\textsuperscript{+}",
    WORSE: r"\textsuperscript{--}",
    "↑": r"$\uparrow$",
    "↓": r"$\downarrow$",
    "· ": r"\quad{}",
}
_BY = {
    "activity": "users without an item in training are new, those with at most the median number "
    "of the others light, the rest heavy",
    "history": "repeat: pairs of user and item that training has, new: all others; judgments and "
    "lists of these pairs only, lists closed up before they are cut",
    "popularity": "the head is the most popular fifth of the catalogue; accuracy by what is "
    "relevant there, lists as if they showed nothing else",
}
_ITEMS = "accuracy by what is relevant among these items, lists as if they showed nothing else"


def render(result: Scorecard, form: str, width: int = WIDTH) -> str:
    """A scorecard in one of `FORMS`."""
    if form == "json":
        return as_json.dumped(result.to_dict())
    if form == "csv":
        return as_csv.written(*part_table(result))
    if form == "html":
        return page(outline(result))
    if form == "markdown":
        return markdown(outline(result))
    if form == "latex":
        text = "\n".join(
            [latex(outline(result, flat=False)), *(f"% {each}" for each in notes(result))]
        )
        for sign, ours in _LATEX.items():
            text = text.replace(sign, ours)
        return f"{text}\n"
    parts = [_fitted(result, card(result), card(result, ranged), width)]
    for name in slices(result):
        parts.append(f"by {printable(name)}")
        parts.append(_fitted(result, card(result, by=name), card(result, ranged, by=name), width))
        if (grid := gaps(result, name)).rows:
            parts += [f"gaps by {printable(name)}: these users less all others"]
            parts.append(fitted(grid, width))
    parts.append("\n".join(part for line in notes(result) for part in wrapped(line, width)))
    return "\n\n".join(parts) + "\n"


def fragment(result: Scorecard) -> str:
    """The tables and notes without a page around them, for notebooks."""
    parts = [as_html.table(sheet(result))]
    for name in slices(result):
        parts += [as_html.paragraph(f"by {name}"), as_html.table(sheet(result, by=name))]
    return "\n".join([*parts, "".join(as_html.paragraph(line) for line in notes(result))])


def outline(result: Scorecard, *, flat: bool = True) -> Document:
    """The card, its slices, and what to know; flat if each row must be complete on its own."""
    grid_of = sheet if flat else card
    sections = [Section("card", "Systems", (Table("", grid_of(result)),))]
    for i, name in enumerate(slices(result)):
        blocks = [Table("", grid_of(result, by=name))]
        if (grid := gaps(result, name, flat=flat)).rows:
            blocks.append(Table("Gaps: these users less all others", grid))
        sections.append(Section(f"by-{i}", f"By {printable(name)}", tuple(blocks)))
    first, *others = notes(result)
    sections.append(Section("notes", "What to know", (Points(tuple(others)),)))
    return Document("Scorecard", "", (first,), tuple(sections))


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
            "worse (Welch's t, Benjamini-Hochberg over a slice)"
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


def _fitted(result: Scorecard, wide: Grid, narrow: Grid, width: int) -> str:
    """With intervals in brackets where there is room, else as ranges."""
    room = max(map(len, table(wide).split("\n")))
    return fitted(wide if room <= width or len(result.systems) == 1 else narrow, width)
