"""Document of a resolution: counts, rule and unresolved pairs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rankgate.core.errors import UsageError
from rankgate.core.present.document import Document, PlainRows, Points, Table, Warnings
from rankgate.core.present.document import make_document as made_of
from rankgate.core.present.forms import as_csv, as_json
from rankgate.core.present.grid import Grid, make_printable
from rankgate.data.files.checks.declare import count_noun

if TYPE_CHECKING:
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
    return as_json.to_json({key: fields[key] for key in _ORIGIN_KEYS} | hash_field)


def _rows(result: ResolvedJudgments) -> PlainRows:
    """The judgments, with the columns of a sample where they are of one."""
    judgments = result.to_dict()["judgments"]
    sample = (name for name in ("stratum", "inclusion") if judgments and name in judgments[0])
    header = ("query_id", "doc_id", "grade", *sample)
    rows = [[_grade(row[n]) if n == "grade" else row[n] for n in header] for row in judgments]
    return PlainRows(header, rows, data=True)


def document(result: ResolvedJudgments) -> Document:
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


def summary(result: ResolvedJudgments) -> list[str]:
    """Summarize the origin of the judgments, the unused ratings, and cautions."""
    return [
        _origin_sentence(result),
        *_count_lines(result),
        *(f"! {caution}" for caution in result.cautions),
    ]


def as_pool(result: ResolvedJudgments) -> str:
    """The pairs without a judgment as a pool that can be rated again (CSV)."""
    rows = result.unresolved.select("query_id", "doc_id", "why").rows()
    return as_csv.guarded_csv(("query", "document", "why"), rows)


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
