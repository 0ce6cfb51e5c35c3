"""Re-anchored judgments as a document: counts by status, and what is unjudged now."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from rankgate.core.present.document import Document, PlainRows, Table, Warnings
from rankgate.core.present.document import document as made
from rankgate.core.present.grid import Grid, printable
from rankgate.data.files.checks.declare import counted

if TYPE_CHECKING:
    from rankgate.data.files.reanchored import Reanchored

_SHOWN = 20
_MEANS = {
    "valid": "the same text under the same id",
    "moved": "the text has another id",
    "split": "the text is in several documents now",
    "merged": "the text is in a longer document",
    "ambiguous": "several documents are as near",
    "lost": "less than half of the text is anywhere",
}


def document(result: Reanchored) -> Document:
    """How many judgments are kept, by what became of their documents."""
    gone = result.labels.filter(~pl.col("kept")).sort("grade", descending=True, maintain_order=True)
    words = f"the {_SHOWN} of the highest grade of {len(gone):,} that are unjudged now"
    return made(
        summary(result),
        Table("what became of judged documents", _counts(result)),
        Table(words if len(gone) > _SHOWN else "unjudged now", _gone(gone.head(_SHOWN))),
        Warnings(tuple(each.text for each in result.notices)),
        f"The new judgments are {counted(len(result.judgments), 'grade')}. What is unjudged is not "
        "among them. Every decision is in the CSV and JSON of this result.",
        rows=PlainRows(tuple(result.decisions.columns), list(result.decisions.iter_rows())),
    )


def summary(result: Reanchored) -> str:
    """The share of relevant judgments that reached a document, then that of all judgments."""
    relevant, reached = result.relevant
    total, kept = (sum(counts) for counts in zip(*result.counts.values(), strict=True))
    everything = f"{kept:,} of {counted(total, 'judgment')} in all"
    if not relevant:
        return f"no judgment is relevant; {everything} reached a new document"
    share = f"{reached / relevant:.1%}"
    return (
        f"{reached:,} of {counted(relevant, 'relevant judgment')} ({share}) reached a new "
        f"document; {everything}"
    )


def _counts(result: Reanchored) -> Grid:
    rows = tuple(
        (status, f"{count:,}", f"{kept:,}", _MEANS[status])
        for status, (count, kept) in result.counts.items()
    )
    return Grid(("status", "judgments", "kept", "meaning"), rows, frozenset({0, 3}))


def _gone(labels: pl.DataFrame) -> Grid:
    rows = tuple(
        (printable(row["query_id"]), printable(row["old_doc"]), f"{row['grade']:g}", row["status"])
        for row in labels.iter_rows(named=True)
    )
    return Grid(("query", "document", "grade", "status"), rows, frozenset({0, 1, 3}))
