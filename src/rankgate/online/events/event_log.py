"""The events that were read from logs: the result of ``ingest``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import polars as pl

from rankgate.core.frozen import dataclass
from rankgate.core.present.result import Notice, Result

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

_ANNOTATIONS = ("unmapped-action",)


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
    document_from: ClassVar[str] = "rankgate.online.events.document:document"
    order: ClassVar[int] = 60
    SCHEMAS: ClassVar[Mapping[str, Mapping[str, Any]]] = {
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
    privacy: Mapping[str, Any]

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
                f"{row['file']}: no rank is 0, so that ranks are taken to "
                "begin at 1; --rank-base 0 says otherwise",
                row["file"],
            )
            for row in self.ranks.filter(~pl.col("certain")).iter_rows(named=True)
        ]
        return tuple(notices)

    def _table(self) -> pl.DataFrame:
        return self.files
