"""Documents of pools: CSV, unsampled judgments and a summary."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rankgate.core.errors import UsageError
from rankgate.core.present.document import Document, PlainRows, Table
from rankgate.core.present.document import make_document as made
from rankgate.core.present.grid import Grid, make_printable
from rankgate.data.files.checks.declare import count_noun

if TYPE_CHECKING:
    from rankgate.judging.pooling.pool import Pool

COLUMNS = (
    "query",
    "document",
    "why",
    "best_rank",
    "systems",
    "stratum",
    "inclusion",
    "query_inclusion",
    "batch",
)
BLIND_COLUMNS = ("query", "document", "batch")
"""The columns of a pool, and those without ranks and systems."""

_MAX_ROWS = 20


def document(result: Pool, *, blind: bool = False) -> Document:
    """A summary of the pool, and the first documents to judge; CSV has all of them.

    Args:
        result: the pool.
        blind: leave ranks and systems out of the CSV.
    """
    header = BLIND_COLUMNS if blind else COLUMNS
    table = result.table.head(_MAX_ROWS).select("query_id", "doc_id", "why", "batch")
    rows = tuple(
        (query, document, reason, str(batch))
        for query, document, reason, batch in table.iter_rows()
    )
    grid = Grid(("query", "document", "why", "batch"), rows, frozenset({0, 1, 2}))
    first, *other_lines = summary(result)
    all_rows = result.table.select("query_id", "doc_id", *header[2:])
    return made(
        first,
        *other_lines,
        Table("the first documents to judge", grid),
        rows=PlainRows(header, list(all_rows.iter_rows())),
    )


def undrawn_judgments(result: Pool) -> str:
    """The pool's documents that were not drawn, graded −1, as estimates from samples need them.

    Raises:
        UsageError: an id that TREC's form cannot hold.
    """
    for query, document in result.rest.iter_rows():
        if len(query.split()) != 1 or len(document.split()) != 1:
            raise UsageError(
                f"{make_printable(query)!r}, {make_printable(document)!r}: TREC's form has no "
                "ids with "
                "blanks; take the rest from --format json.",
                code="invalid-id",
            )
    return "".join(f"{query} 0 {document} -1\n" for query, document in result.rest.iter_rows())


def summary(result: Pool) -> list[str]:
    """Summarize the pool in a few sentences."""
    counts, made_by = result.counts, result.made_by
    first = (
        f"pool of {count_noun(len(result.systems), 'run')}, depth {made_by['depth']}: "
        f"{counts['pool']} documents; "
        f"{counts['judged']} of them judged already; {counts['to_judge']} to judge, of "
        f"{counts['queries']} queries, by {made_by['order']}, seed {made_by['seed']}"
    )
    lines = [first]
    if counts["sampled"] < counts["pool"]:
        lines.append(
            f"sampled {counts['sampled']} by strata {made_by['strata']}; weigh each by 1/inclusion"
        )
    if "query_sampling" in made_by:
        lines.append(f"queries drawn: {made_by['queries']}, {made_by['query_sampling']}")
    return lines
