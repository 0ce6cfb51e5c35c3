"""The events that were read from logs: the result of ``ingest``, and its document."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

import polars as pl

from rankgate.core.frozen import dataclass
from rankgate.core.present.base_result import Notice, Result
from rankgate.core.present.document_model import Document, Grid, Table, Warnings, make_printable
from rankgate.core.present.document_model import make_document as made
from rankgate.core.value_types import JsonObject, Schema

FILES = {
    "file": pl.String,
    "sha256": pl.String,
    "events": pl.Int64,
    "new": pl.Boolean,
    "first": pl.String,
    "last": pl.String,
}
COUNTS = {"kind": pl.String, "events": pl.Int64}
PROBLEM_COLUMNS = {
    "file": pl.String,
    "code": pl.String,
    "count": pl.Int64,
    "words": pl.String,
    "lines": pl.String,
}
RANKS = {
    "file": pl.String,
    "application": pl.String,
    "base": pl.Int64,
    "least": pl.Int64,
    "certain": pl.Boolean,
}


@dataclass(frozen=True)
class EventLog(Result):
    """Logs as one table of events.

    Attributes:
        folder: where the events are, one Parquet file for each file of the log.
        files: ``file``, ``sha256``, ``events``, ``new``, ``first``, ``last``.
        counts: ``kind``, ``events``.
        problems: ``file``, ``code``, ``count``, ``words``, ``lines``: what could not be read.
        ranks: ``file``, ``application``, ``base``, ``least`` rank, ``certain``.
        privacy: what was left out or hashed.
    """

    kind: ClassVar[str] = "event_log"
    label: ClassVar[str] = "Events"
    document_from: ClassVar[str] = "rankgate.online.events.event_log:event_log_document"
    order: ClassVar[int] = 60
    SCHEMAS: ClassVar[Mapping[str, Schema]] = {
        "files": FILES,
        "counts": COUNTS,
        "problems": PROBLEM_COLUMNS,
        "ranks": RANKS,
    }

    folder: str
    files: pl.DataFrame
    counts: pl.DataFrame
    problems: pl.DataFrame
    ranks: pl.DataFrame
    privacy: JsonObject

    @property
    def notices(self) -> tuple[Notice, ...]:
        """Problems of files, and the rank bases that were assumed."""
        notices = [
            Notice(
                row["code"],
                f"{row['file']}: {row['count']:,} {row['words']} (line {row['lines']})",
                row["file"],
            )
            for row in self.problems.iter_rows(named=True)
        ]
        notices += [
            Notice(
                "assumed-rank-base",
                f"{row['file']}: no rank is 0, so ranks are assumed to begin at 1; "
                "if they begin at 0, give --rank-base 0",
                row["file"],
            )
            for row in self.ranks.filter(~pl.col("certain")).iter_rows(named=True)
        ]
        return tuple(notices)

    def _table(self) -> pl.DataFrame:
        return self.files


def event_log_document(result: EventLog) -> Document:
    """Files, events by kind, ranks, and what could not be read."""
    total = result.files["events"].sum()
    new = result.files["new"].sum()
    files = [
        (
            make_printable(row["file"]),
            f"{row['events']:,}",
            "new" if row["new"] else "as before",
            (row["first"] or "–")[:19],
            (row["last"] or "–")[:19],
        )
        for row in result.files.iter_rows(named=True)
    ]
    counts = [(row["kind"], f"{row['events']:,}") for row in result.counts.iter_rows(named=True)]
    ranks = [
        (make_printable(row["application"]) or "–", str(row["base"]), f"{row['least']}")
        for row in result.ranks.iter_rows(named=True)
    ]
    removed = [f"{name} {value}" for name, value in result.privacy.items() if value != "keep"]
    return made(
        f"{total:,} events in {make_printable(result.folder)}: {len(files):,} files, {new:,} new",
        Table("events", Grid(("kind", "events"), tuple(counts))),
        Table(
            "files",
            Grid(
                ("file", "events", "read", "first (UTC)", "last (UTC)"),
                tuple(files),
                frozenset({0, 2, 3, 4}),
            ),
        ),
        Table(
            "ranks",
            Grid(
                ("application", "ranks are\ncounted from", "lowest rank\nin the log"), tuple(ranks)
            ),
        ),
        Warnings.from_notices(result.notices),
        *(
            [f"Left out or hashed: {', '.join(removed)}; other attributes are left out."]
            if removed
            else []
        ),
    )
