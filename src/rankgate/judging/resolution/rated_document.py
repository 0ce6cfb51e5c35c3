"""Document of values by single ratings: the rule of each part, and its values."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rankgate.core.present.document import Document, PlainRows, Section
from rankgate.core.present.grid import make_printable
from rankgate.core.present.numbers import UNDEFINED

if TYPE_CHECKING:
    from rankgate.judging.resolution.rated import RatedEvaluation, RatedPart


def document(result: RatedEvaluation, *, per_query: bool = False) -> Document:
    """The evaluation of each part, under a heading with the rule of its judgments."""
    documents = [rated_part.evaluation.document(per_query=per_query) for rated_part in result.parts]
    sections = tuple(
        Section(
            f"part-{number}", _rule_sentence(rated_part), (*_changes(rated_part), *section.blocks)
        )
        for number, (rated_part, part_document) in enumerate(
            zip(result.parts, documents, strict=True), 1
        )
        for section in part_document.sections
    )
    rows = [part_document.rows for part_document in documents if part_document.rows is not None]
    all_rows = [row for part_rows in rows for row in part_rows.rows]
    return Document("", sections=sections, rows=PlainRows(rows[0].head, all_rows))


def _changes(rated_part: RatedPart) -> list[str]:
    """The change of each further run from the first, in whole per cent, a paragraph a run."""
    values: dict[str, list[str]] = {}
    for change in rated_part.changes:
        change_text = UNDEFINED if change["per_cent"] is None else f"{change['per_cent']:+d} %"
        values.setdefault(change["run"], []).append(f"{change['metric']} {change_text}")
    first = rated_part.evaluation.runs[0].run
    return [
        f"{make_printable(run)} against {make_printable(first)}: {', '.join(change_texts)}"
        for run, change_texts in values.items()
    ]


def _rule_sentence(rated_part: RatedPart) -> str:
    """A sentence on the rule by which the judgments of a part were made."""
    made_by = rated_part.made_by
    after = f" after {made_by['transformer']}" if "transformer" in made_by else ""
    scale = f"on the {rated_part.scale} scale, " if rated_part.scale else ""
    return f"judgments from single ratings, {scale}by {made_by['rule']}{after}"
