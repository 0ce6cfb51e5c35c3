"""Re-anchored judgments as a document: counts by status, and documents that are unjudged now."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from rankgate.core.present.document import Document, PlainRows, Table, Warnings
from rankgate.core.present.document import make_document as made
from rankgate.core.present.grid import Grid, make_printable
from rankgate.data.files.checks.declare import count_noun

if TYPE_CHECKING:
    from rankgate.data.files.reanchored import Reanchored

_MAX_ROWS = 20
_STATUS_MEANINGS = {
    "valid": "the same text under the same id",
    "moved": "the text has another id",
    "split": "the text is in several documents now",
    "merged": "the text is in a longer document",
    "ambiguous": "several documents are as near",
    "lost": "less than half of the text is anywhere",
}


def document(result: Reanchored) -> Document:
    """The number of judgments that are kept, by the status of their documents."""
    unjudged = result.labels.filter(~pl.col("kept")).sort(
        "grade", descending=True, maintain_order=True
    )
    heading = f"the {_MAX_ROWS} of the highest grade of {len(unjudged):,} that are unjudged now"
    return made(
        summary(result),
        Table("what became of judged documents", _counts(result)),
        Table(
            heading if len(unjudged) > _MAX_ROWS else "unjudged now",
            _unjudged_grid(unjudged.head(_MAX_ROWS)),
        ),
        Warnings(tuple(notice.text for notice in result.notices)),
        f"The new judgments are {count_noun(len(result.judgments), 'grade')}. What is unjudged "
        "is not "
        "among them. Every decision is in the CSV and JSON of this result.",
        rows=PlainRows(tuple(result.decisions.columns), list(result.decisions.iter_rows())),
    )


def summary(result: Reanchored) -> str:
    """The share of relevant judgments that reached a document, then that of all judgments."""
    relevant, reached = result.relevant
    total, kept_count = (sum(counts) for counts in zip(*result.counts.values(), strict=True))
    everything = f"{kept_count:,} of {count_noun(total, 'judgment')} in all"
    if not relevant:
        return f"no judgment is relevant; {everything} reached a new document"
    share = f"{reached / relevant:.1%}"
    return (
        f"{reached:,} of {count_noun(relevant, 'relevant judgment')} ({share}) reached a new "
        f"document; {everything}"
    )


def _counts(result: Reanchored) -> Grid:
    rows = tuple(
        (status, f"{count:,}", f"{kept_count:,}", _STATUS_MEANINGS[status])
        for status, (count, kept_count) in result.counts.items()
    )
    return Grid(("status", "judgments", "kept", "meaning"), rows, frozenset({0, 3}))


def _unjudged_grid(labels: pl.DataFrame) -> Grid:
    rows = tuple(
        (
            make_printable(row["query_id"]),
            make_printable(row["old_doc"]),
            f"{row['grade']:g}",
            row["status"],
        )
        for row in labels.iter_rows(named=True)
    )
    return Grid(("query", "document", "grade", "status"), rows, frozenset({0, 1, 3}))
