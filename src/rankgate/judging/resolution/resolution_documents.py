"""Documents of a resolution, and of values from single ratings.

A resolution shows counts, the rule and unresolved pairs. Values from single ratings show the rule
and the values of each part.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from rankgate.core.present import csv_form, write_results
from rankgate.core.present.column_texts import column_texts, rows_as_json
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
from rankgate.core.present.number_formats import UNDEFINED, count_noun
from rankgate.judging.trec_lines import trec_lines

if TYPE_CHECKING:
    from rankgate.judging.resolution.rated_evaluation import RatedEvaluation, RatedPart
    from rankgate.judging.resolution.resolution import ResolvedJudgments


_MAX_EXAMPLES = 5


def trec(result: ResolvedJudgments) -> str:
    """The judgments in TREC's format.

    Raises:
        UsageError: an id is not possible in this format.
    """
    table = result.to_polars()
    return trec_lines(table, column_texts(table["grade"], _grade), "add --format csv")


def origin_json(result: ResolvedJudgments) -> str:
    """The origin of the judgments as JSON, for a file next to the judgments."""
    fields = {
        "schema_version": result.schema_version,
        "ratings": result.name,
        "made_by": dict(result.made_by),
        "counts": dict(result.counts),
        "unresolved": None,
    }
    hash_field = {"sha256": result.qrels.sha256} if result.qrels else {}
    # JSON texts have no line breaks, so this matches the field and not a text
    return write_results.to_json(fields | hash_field).replace(
        '\n  "unresolved": null', f'\n  "unresolved": {rows_as_json(result.unresolved, 2)}'
    )


def _rows(result: ResolvedJudgments) -> PlainRows:
    """The judgments, including the columns of a sample."""
    table = result.to_polars()
    sample = (name for name in ("stratum", "inclusion") if name in table.columns)
    header = ("query_id", "doc_id", "grade", *sample)
    grades = column_texts(table["grade"], _grade)
    return PlainRows(header, table.with_columns(grades).select(header).rows(), data=True)


def resolution_document(result: ResolvedJudgments) -> Document:
    """The origin of the judgments, and the pairs without a judgment."""
    grades = column_texts(result.unresolved["grades"], _grade_list)
    rows = tuple(result.unresolved.with_columns(grades).rows())
    unresolved_grid = Grid(("query", "document", "why", "grades"), rows, frozenset({0, 1, 2}), keys=2)
    return made_of(
        _origin_sentence(result),
        Points(tuple(_count_lines(result))),
        Warnings(result.cautions),
        Table("pairs without a judgment", unresolved_grid, folded=True),
        rows=_rows(result),
    )


def resolution_summary(result: ResolvedJudgments) -> list[str]:
    """Summarize the origin of the judgments, the unused ratings, and cautions."""
    return [_origin_sentence(result), *_count_lines(result), *(f"! {caution}" for caution in result.cautions)]


def as_pool(result: ResolvedJudgments) -> str:
    """The pairs without a judgment as a pool for further rating (CSV)."""
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
        rule += f", the first {count_noun(made_by['slots'], 'grade')} of a pair"
    sentence = (
        f"{make_printable(result.name)}: {count_noun(counts['ratings'], 'rating')} by "
        f"{count_noun(counts['raters'], 'rater')}, {counts['resolved']} of "
        f"{count_noun(counts['pairs'], 'pair')} resolved by {rule}"
    )
    if "adjudicated" in counts:
        other_rule = options.get("otherwise", "majority")
        sentence += f" ({counts['adjudicated']} by {options['adjudicator']}, the others by {other_rule})"
    return sentence


def _count_lines(result: ResolvedJudgments) -> list[str]:
    """Counts of unused ratings and of unresolved pairs."""
    counts, lines = result.counts, []
    for name, description in (
        ("corrected", "replaced by a later one of the same rater"),
        ("beyond_slots", "left out, as the pair had no slot for them"),
        ("cannot_tell", "without a grade, because the rater could not tell"),
    ):
        if counts[name]:
            lines.append(f"ratings {description}: {counts[name]}")
    unresolved = result.unresolved
    for reason_key, table in unresolved.group_by("why", maintain_order=True):
        examples = ", ".join(
            f"{make_printable(query)}/{make_printable(document)}"
            for query, document in table.head(_MAX_EXAMPLES).select("query_id", "doc_id").iter_rows()
        )
        more = ", …" if len(table) > _MAX_EXAMPLES else ""
        lines.append(f"pairs left unjudged, {reason_key[0]}: {len(table)} ({examples}{more})")
    return lines


def _grade(grade: float | None) -> str:
    """A grade with all digits of a fraction; whole numbers without a point."""
    if grade is None:
        return ""
    return f"{grade:.0f}" if grade.is_integer() else repr(grade)


def _grade_list(grades: Sequence[float] | None) -> str:
    return ", ".join(f"{grade:g}" for grade in grades or ())


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
