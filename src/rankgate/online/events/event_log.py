"""The events that were read from logs: the result of ``ingest``, and its document."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

import polars as pl

from rankgate.core.frozen import dataclass
from rankgate.core.present.base_result import Notice, Result
from rankgate.core.present.columns import Column, Columns
from rankgate.core.present.document_model import Document, Grid, Table, Warnings, make_printable
from rankgate.core.present.document_model import make_document as made
from rankgate.core.present.number_formats import count_noun
from rankgate.core.value_types import JsonObject

FILES = Columns(
    "One row per file of the log.",
    Column("file", pl.String, "the path of the file"),
    Column("sha256", pl.String, "the SHA-256 of its content"),
    Column("events", pl.Int64, "events in it", unit="events"),
    Column("new", pl.Boolean, "true if it was read now; false if it was read before"),
    Column("first", pl.String, "the time of its first event (UTC)"),
    Column("last", pl.String, "the time of its last event (UTC)"),
)
COUNTS = Columns(
    "One row per kind of event.",
    Column("kind", pl.String, "the kind of event"),
    Column("events", pl.Int64, "how many there are"),
)
PROBLEM_COLUMNS = Columns(
    "One row per file and problem: what could not be read.",
    Column("file", pl.String, "the path of the file"),
    Column("code", pl.String, "the code of the problem"),
    Column("count", pl.Int64, "lines with the problem", unit="lines"),
    Column("words", pl.String, "a description of the problem"),
    Column("lines", pl.String, "the first lines with it"),
)
RANKS = Columns(
    "One row per file and application.",
    Column("file", pl.String, "the path of the file"),
    Column("application", pl.String, "the application that wrote the events; empty where it is not known"),
    Column("base", pl.Int64, "the rank of the first document of a list in the log: 0 or 1"),
    Column("least", pl.Int64, "the lowest rank in the log"),
    Column("certain", pl.Boolean, "true if the base follows from the log; false if it is assumed"),
)


@dataclass(frozen=True)
class EventLog(Result):
    """Logs as one table of events.

    Attributes:
        folder: where the events are, one Parquet file for each file of the log.
        files: the columns of `FILES`.
        counts: the columns of `COUNTS`.
        problems: the columns of `PROBLEM_COLUMNS`.
        ranks: the columns of `RANKS`.
        privacy: what was left out or hashed.
    """

    kind: ClassVar[str] = "event_log"
    label: ClassVar[str] = "Events"
    document_from: ClassVar[str] = "rankgate.online.events.event_log:event_log_document"
    order: ClassVar[int] = 60
    SCHEMAS: ClassVar[Mapping[str, Columns]] = {
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
                f"{row['file']}: no rank is 0, so ranks are assumed to begin at 1; if they begin at 0, give "
                "--rank-base 0",
                row["file"],
            )
            for row in self.ranks.filter(~pl.col("certain")).iter_rows(named=True)
        ]
        return tuple(notices)


def event_log_document(result: EventLog) -> Document:
    """The files, events by kind, ranks, and unreadable lines."""
    total = int(result.files["events"].sum())
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
        f"{count_noun(total, 'event')} in {make_printable(result.folder)}: "
        f"{count_noun(len(files), 'file')}, {new:,} new",
        Table("events", Grid(("kind", "events"), tuple(counts))),
        Table(
            "files",
            Grid(
                ("file", "events", "read", "first (UTC)", "last (UTC)"), tuple(files), frozenset({0, 2, 3, 4})
            ),
        ),
        Table(
            "ranks", Grid(("application", "ranks are\ncounted from", "lowest rank\nin the log"), tuple(ranks))
        ),
        Warnings.from_notices(result.notices),
        *([f"Left out or hashed: {', '.join(removed)}; other attributes are left out."] if removed else []),
    )
