"""The document of values from single ratings: the rule and the values of each part."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from rankgate.core.present.document_model import Document, PlainRows, Points, Section, make_printable
from rankgate.core.present.number_formats import UNDEFINED, count_noun

if TYPE_CHECKING:
    from rankgate.judging.resolution.rated_evaluation import RatedEvaluation, RatedPart


def rated_document(result: RatedEvaluation, *, per_query: bool = False) -> Document:
    """The evaluation of each part, under a heading with the rule of its judgments."""
    documents = [rated_part.evaluation.document(per_query=per_query) for rated_part in result.parts]
    sections = tuple(
        Section(
            f"part-{number}",
            _rule_sentence(rated_part),
            (*_changes(rated_part), *section.blocks, Points(tuple(_comparability(rated_part)))),
        )
        for number, (rated_part, part_document) in enumerate(zip(result.parts, documents, strict=True), 1)
        for section in part_document.sections
    )
    rows = [part_document.rows for part_document in documents if part_document.rows is not None]
    all_rows = [row for part_rows in rows for row in part_rows.rows]
    return Document("", sections=sections, rows=PlainRows(rows[0].head, all_rows))


def _changes(rated_part: RatedPart) -> list[str]:
    """The change of each further run from the first, in whole per cent, one paragraph per run."""
    values: dict[str, list[str]] = {}
    for change in rated_part.changes:
        change_text = UNDEFINED if change["per_cent"] is None else f"{change['per_cent']:+d} %"
        values.setdefault(change["run"], []).append(f"{change['metric']} {change_text}")
    first = rated_part.evaluation.runs[0].run
    return [
        f"{make_printable(run)} against {make_printable(first)}: {', '.join(change_texts)}"
        for run, change_texts in values.items()
    ]


def _comparability(rated_part: RatedPart) -> Iterator[str]:
    """What SearchTweak's documentation asks for before values are compared: keywords, grades, ties."""
    runs = rated_part.evaluation.runs
    if len(runs) > 1:
        missing = [
            f"{make_printable(run.run)} lacks {run.counts.missing}" for run in runs if run.counts.missing
        ]
        queries = count_noun(runs[0].counts.queries, "judged query", "judged queries")
        yield f"{queries}; {', '.join(missing)}" if missing else f"the same {queries} in all runs"
        cutoff = max(runs[0].counts.judged_at, default=0)
        shares = [run.counts.judged_at[cutoff] for run in runs if cutoff]
        if shares and min(shares) < 1:
            texts = ", ".join(f"{share:.1%}" for share in shares)
            yield f"{texts} of the first {cutoff} have a grade: a small change can come from the others"
    if rated_part.counts and rated_part.made_by["rule"] == "majority":
        pairs, ties = rated_part.counts["pairs"], rated_part.counts["ties"]
        yield f"{count_noun(pairs, 'pair')}, {count_noun(ties, 'tie')} without a grade ({ties / pairs:.1%})"


def _rule_sentence(rated_part: RatedPart) -> str:
    """A sentence on the rule that made the judgments of a part."""
    made_by = rated_part.made_by
    after = f" after {made_by['transformer']}" if "transformer" in made_by else ""
    scale = f"on the {rated_part.scale} scale, " if rated_part.scale else ""
    return f"judgments from single ratings, {scale}by {made_by['rule']}{after}"
