"""Documents of pools and of reusability.

A pool has a CSV, judgments of undrawn documents and a summary. Reusability shows the loss of each
run left out of the pool.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rankgate.core.present.document_model import Document, Grid, PlainRows, Table, Warnings, make_printable
from rankgate.core.present.document_model import make_document as made
from rankgate.core.present.number_formats import count_noun, format_decimal, format_number, format_signed
from rankgate.judging.trec_lines import trec_lines

if TYPE_CHECKING:
    import polars as pl

    from rankgate.judging.pooling.pool import Pool
    from rankgate.judging.pooling.reusability import Reusability


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
"""The columns of a pool with and without ranks and systems."""

_MAX_ROWS = 20


def pool_document(result: Pool, *, blind: bool = False) -> Document:
    """A summary of the pool, and the first documents to judge; CSV has all of them.

    Args:
        result: the pool.
        blind: leave ranks and systems out of the CSV.
    """
    header = BLIND_COLUMNS if blind else COLUMNS
    table = result.table.head(_MAX_ROWS).select("query_id", "doc_id", "why", "batch")
    rows = tuple(
        (query, document, reason, str(batch)) for query, document, reason, batch in table.iter_rows()
    )
    grid = Grid(("query", "document", "why", "batch"), rows, frozenset({0, 1, 2}))
    first, *other_lines = pool_summary(result)
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
        UsageError: an id is not possible in TREC's format.
    """
    return trec_lines(result.rest, "-1", "the other rows are in --format json")


def pool_summary(result: Pool) -> list[str]:
    """Summarize the pool in a few sentences."""
    counts, made_by = result.counts, result.made_by
    first = (
        f"pool of {count_noun(len(result.systems), 'run')}, depth {made_by['depth']}: "
        f"{count_noun(counts['pool'], 'document')}; {counts['judged']} of them judged already; "
        f"{counts['to_judge']} to judge, of "
        f"{count_noun(counts['queries'], 'query')}, by {made_by['order']}, seed {made_by['seed']}"
    )
    lines = [first]
    if counts["sampled"] < counts["pool"]:
        lines.append(f"sampled {counts['sampled']} by strata {made_by['strata']}; weigh each by 1/inclusion")
    if "query_sampling" in made_by:
        lines.append(f"queries drawn: {made_by['queries']}, {made_by['query_sampling']}")
    return lines


_NOTE = (
    "unique: judged documents that no other run has down to the depth. without: the value when those "
    "judgments are missing, as they would be if the run had never been pooled. tau: the order of all runs "
    "with and without them."
)


def reusability_document(result: Reusability) -> Document:
    """One table per metric; the CSV has every run and metric."""
    title = (
        f"leaving each run out of the pool of depth {result.depth}, judgments "
        f"{make_printable(result.qrels)}, convention {result.convention['name']} "
        f"({result.convention['hash']})"
    )
    means = {row["metric"]: row for row in result.means.iter_rows(named=True)}
    tables = []
    for (metric,), table in result.table.group_by("metric", maintain_order=True):
        row = means[str(metric)]
        heading = (
            f"{metric}: mean loss {format_signed(row['mean_loss'])}, largest "
            f"{format_signed(row['largest_loss'])}"
            f" ({make_printable(row['run'])})"
        )
        tables.append(Table(heading, _grid(table)))
    rows = PlainRows(tuple(result.table.columns), result.table.rows())
    warnings = Warnings.from_notices(result.notices)
    return made(title, *tables, warnings, _NOTE, rows=rows)


def _grid(table: pl.DataFrame) -> Grid:
    rows = tuple(
        (
            row["run"],
            str(row["unique"]),
            str(row["unique_relevant"]),
            format_decimal(row["value"]),
            format_decimal(row["without"]),
            format_signed(row["loss"]),
            f"{row['rank']} → {row['rank_without']}",
            format_number(row["tau"], 3),
        )
        for row in table.sort("loss", "run", descending=[True, False]).iter_rows(named=True)
    )
    header = ("run", "unique", "relevant", "value", "without", "loss", "place", "tau")
    return Grid(header, rows)
