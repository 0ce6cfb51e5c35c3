"""Documents of a resolution, and of values by single ratings.

A resolution shows counts, rule and unresolved pairs. Values by single ratings show the rule of
each part, and its values.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rankgate.core.errors import UsageError
from rankgate.core.present import csv_form, write_results
from rankgate.core.present.document_model import (
    Document,
    Grid,
    PlainRows,
    Points,
    Section,
    Table,
    Warnings,
    make_printable,
)
from rankgate.core.present.document_model import make_document as made_of
from rankgate.core.present.number_formats import UNDEFINED
from rankgate.data.files.checks.subject import count_noun

if TYPE_CHECKING:
    from rankgate.judging.resolution.rated_evaluation import RatedEvaluation, RatedPart
    from rankgate.judging.resolution.resolution import ResolvedJudgments


_MAX_EXAMPLES = 5
_ORIGIN_KEYS = ("schema_version", "ratings", "made_by", "counts", "unresolved")


def trec(result: ResolvedJudgments) -> str:
    """The judgments in TREC's form.

    Raises:
        UsageError: an id that it cannot hold.
    """
    lines = []
    for row in result.to_dict()["judgments"]:
        query, document = row["query_id"], row["doc_id"]
        if len(query.split()) != 1 or len(document.split()) != 1:
            raise UsageError(
                f"{make_printable(query)!r}, {make_printable(document)!r}: TREC's form has no "
                "ids with "
                "blanks; add --format csv.",
                code="invalid-id",
            )
        lines.append(f"{query} 0 {document} {_grade(row['grade'])}\n")
    return "".join(lines)


def origin_json(result: ResolvedJudgments) -> str:
    """JSON on the origin of the judgments, for a file next to them."""
    fields = result.to_dict()
    hash_field = {"sha256": result.qrels.sha256} if result.qrels else {}
    return write_results.to_json({key: fields[key] for key in _ORIGIN_KEYS} | hash_field)


def _rows(result: ResolvedJudgments) -> PlainRows:
    """The judgments, with the columns of a sample where they are of one."""
    judgments = result.to_dict()["judgments"]
    sample = (name for name in ("stratum", "inclusion") if judgments and name in judgments[0])
    header = ("query_id", "doc_id", "grade", *sample)
    rows = [[_grade(row[n]) if n == "grade" else row[n] for n in header] for row in judgments]
    return PlainRows(header, rows, data=True)


def resolution_document(result: ResolvedJudgments) -> Document:
    """The origin of the judgments, and the pairs without one."""
    rows = [
        (
            row["query_id"],
            row["doc_id"],
            row["why"],
            ", ".join(f"{g:g}" for g in row["grades"] or ()),
        )
        for row in result.unresolved.iter_rows(named=True)
    ]
    unresolved_grid = Grid(
        ("query", "document", "why", "grades"), tuple(rows), frozenset({0, 1, 2}), keys=2
    )
    return made_of(
        _origin_sentence(result),
        Points(tuple(_count_lines(result))),
        Warnings(result.cautions),
        Table("pairs without a judgment", unresolved_grid, folded=True),
        rows=_rows(result),
    )


def resolution_summary(result: ResolvedJudgments) -> list[str]:
    """Summarize the origin of the judgments, the unused ratings, and cautions."""
    return [
        _origin_sentence(result),
        *_count_lines(result),
        *(f"! {caution}" for caution in result.cautions),
    ]


def as_pool(result: ResolvedJudgments) -> str:
    """The pairs without a judgment as a pool that can be rated again (CSV)."""
    rows = result.unresolved.select("query_id", "doc_id", "why").rows()
    return csv_form.guarded_csv(("query", "document", "why"), rows)


def _origin_sentence(result: ResolvedJudgments) -> str:
    """The number of pairs with a judgment, and the rule."""
    counts, made_by = result.counts, result.made_by
    options = made_by.get("parameters", {})
    rule = ", ".join([made_by["rule"], *(f"{name}={value}" for name, value in options.items())])
    if "transformer" in made_by:
        rule += f" after {make_printable(made_by['transformer'])}"
    if "slots" in made_by:
        rule += f", the first {made_by['slots']} grades of a pair"
    sentence = (
        f"{make_printable(result.name)}: {count_noun(counts['ratings'], 'rating')} by "
        f"{count_noun(counts['raters'], 'rater')}, "
        f"{counts['resolved']} of {counts['pairs']} pairs resolved by {rule}"
    )
    if "adjudicated" in counts:
        other_rule = options.get("otherwise", "majority")
        sentence += (
            f" ({counts['adjudicated']} by {options['adjudicator']}, the others by {other_rule})"
        )
    return sentence


def _count_lines(result: ResolvedJudgments) -> list[str]:
    """Counts of ratings that did not count, and of pairs that stay open."""
    counts, lines = result.counts, []
    for name, description in (
        ("corrected", "replaced by a later one of the same rater"),
        ("beyond_slots", "left out, as the pair had no slot for them"),
        ("cannot_tell", "without a grade, as the rater could not tell"),
    ):
        if counts[name]:
            lines.append(f"ratings {description}: {counts[name]}")
    unresolved = result.unresolved
    for reason_key, table in unresolved.group_by("why", maintain_order=True):
        examples = ", ".join(
            f"{make_printable(query)}/{make_printable(document)}"
            for query, document in table.head(_MAX_EXAMPLES)
            .select("query_id", "doc_id")
            .iter_rows()
        )
        more = ", …" if len(table) > _MAX_EXAMPLES else ""
        lines.append(f"pairs left unjudged, {reason_key[0]}: {len(table)} ({examples}{more})")
    return lines


def _grade(grade: float) -> str:
    """Every digit of a fraction; whole numbers without a point."""
    return f"{grade:.0f}" if grade.is_integer() else repr(grade)


def rated_document(result: RatedEvaluation, *, per_query: bool = False) -> Document:
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
