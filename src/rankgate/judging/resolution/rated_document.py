"""Values by single ratings: for each way from ratings to judgments, how, and the values."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rankgate.core.present.document import Document, PlainRows, Section
from rankgate.core.present.grid import printable
from rankgate.core.present.numbers import UNDEFINED

if TYPE_CHECKING:
    from rankgate.judging.resolution.rated import RatedEvaluation, RatedPart


def document(result: RatedEvaluation, *, per_query: bool = False) -> Document:
    """The evaluation of each part under a heading that says how its judgments were made."""
    parts = [part.evaluation.document(per_query=per_query) for part in result.parts]
    sections = tuple(
        Section(f"part-{number}", _way(part), (*_changes(part), *section.blocks))
        for number, (part, each) in enumerate(zip(result.parts, parts, strict=True), 1)
        for section in each.sections
    )
    rows = [each.rows for each in parts if each.rows is not None]
    every = [row for each in rows for row in each.rows]
    return Document("", sections=sections, rows=PlainRows(rows[0].head, every))


def _changes(part: RatedPart) -> list[str]:
    """How far each further run is from the first, in whole per cent, a paragraph a run."""
    values: dict[str, list[str]] = {}
    for each in part.changes:
        shown = UNDEFINED if each["per_cent"] is None else f"{each['per_cent']:+d} %"
        values.setdefault(each["run"], []).append(f"{each['metric']} {shown}")
    first = part.evaluation.runs[0].run
    return [
        f"{printable(run)} against {printable(first)}: {', '.join(words)}"
        for run, words in values.items()
    ]


def _way(part: RatedPart) -> str:
    """How the judgments of a part were made."""
    made_by = part.made_by
    after = f" after {made_by['transformer']}" if "transformer" in made_by else ""
    scale = f"on the {part.scale} scale, " if part.scale else ""
    return f"judgments from single ratings, {scale}by {made_by['rule']}{after}"
