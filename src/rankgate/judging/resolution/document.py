"""Document of a resolution: counts, rule and unresolved pairs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rankgate.core.errors import UsageError
from rankgate.core.present.document import Document, PlainRows, Points, Table, Warnings
from rankgate.core.present.document import document as made_of
from rankgate.core.present.forms import as_csv, as_json
from rankgate.core.present.grid import Grid, printable
from rankgate.data.files.checks.declare import counted

if TYPE_CHECKING:
    from rankgate.judging.resolution.resolution import ResolvedJudgments

_SHOWN = 5
_MADE = ("schema_version", "ratings", "made_by", "counts", "unresolved")


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
                f"{printable(query)!r}, {printable(document)!r}: TREC's form has no ids with "
                "blanks; add --format csv.",
                code="invalid-id",
            )
        lines.append(f"{query} 0 {document} {_grade(row['grade'])}\n")
    return "".join(lines)


def how_made(result: ResolvedJudgments) -> str:
    """How the judgments were made, for a file next to them."""
    whole = result.to_dict()
    about = {"sha256": result.qrels.sha256} if result.qrels else {}
    return as_json.dumped({key: whole[key] for key in _MADE} | about)


def _rows(result: ResolvedJudgments) -> PlainRows:
    """The judgments, with the columns of a sample where they are of one."""
    judged = result.to_dict()["judgments"]
    sample = (name for name in ("stratum", "inclusion") if judged and name in judged[0])
    head = ("query_id", "doc_id", "grade", *sample)
    rows = [[_grade(row[n]) if n == "grade" else row[n] for n in head] for row in judged]
    return PlainRows(head, rows, data=True)


def document(result: ResolvedJudgments) -> Document:
    """How the judgments were made, and the pairs without one."""
    rows = [
        (
            row["query_id"],
            row["doc_id"],
            row["why"],
            ", ".join(f"{g:g}" for g in row["grades"] or ()),
        )
        for row in result.unresolved.iter_rows(named=True)
    ]
    open_ = Grid(("query", "document", "why", "grades"), tuple(rows), frozenset({0, 1, 2}), keys=2)
    return made_of(
        _made(result),
        Points(tuple(_lines(result))),
        Warnings(result.cautions),
        Table("pairs without a judgment", open_, folded=True),
        rows=_rows(result),
    )


def summary(result: ResolvedJudgments) -> list[str]:
    """How the judgments were made, what became of the ratings, and cautions."""
    return [_made(result), *_lines(result), *(f"! {words}" for words in result.cautions)]


def as_pool(result: ResolvedJudgments) -> str:
    """The pairs without a judgment as a pool that can be rated again (CSV)."""
    rows = result.unresolved.select("query_id", "doc_id", "why").rows()
    return as_csv.written(("query", "document", "why"), rows)


def _made(result: ResolvedJudgments) -> str:
    """How many pairs have a judgment, and by which rule."""
    counts, made_by = result.counts, result.made_by
    options = made_by.get("parameters", {})
    rule = ", ".join([made_by["rule"], *(f"{name}={value}" for name, value in options.items())])
    if "transformer" in made_by:
        rule += f" after {printable(made_by['transformer'])}"
    if "slots" in made_by:
        rule += f", the first {made_by['slots']} grades of a pair"
    made = (
        f"{printable(result.name)}: {counted(counts['ratings'], 'rating')} by "
        f"{counted(counts['raters'], 'rater')}, "
        f"{counts['resolved']} of {counts['pairs']} pairs resolved by {rule}"
    )
    if "adjudicated" in counts:
        other = options.get("otherwise", "majority")
        made += f" ({counts['adjudicated']} by {options['adjudicator']}, the others by {other})"
    return made


def _lines(result: ResolvedJudgments) -> list[str]:
    """What became of the ratings that did not count, and the pairs that stay open."""
    counts, lines = result.counts, []
    for name, words in (
        ("corrected", "replaced by a later one of the same rater"),
        ("beyond_slots", "left out, as the pair had no slot for them"),
        ("cannot_tell", "without a grade, as the rater could not tell"),
    ):
        if counts[name]:
            lines.append(f"ratings {words}: {counts[name]}")
    open_ = result.unresolved
    for why, table in open_.group_by("why", maintain_order=True):
        shown = ", ".join(
            f"{printable(query)}/{printable(document)}"
            for query, document in table.head(_SHOWN).select("query_id", "doc_id").iter_rows()
        )
        more = ", …" if len(table) > _SHOWN else ""
        lines.append(f"pairs left unjudged, {why[0]}: {len(table)} ({shown}{more})")
    return lines


def _grade(grade: float) -> str:
    """Every digit of a fraction; whole numbers without a point."""
    return f"{grade:.0f}" if grade.is_integer() else repr(grade)
