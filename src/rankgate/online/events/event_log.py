"""The events that were read from logs: the result of ``ingest``."""

from __future__ import annotations

from typing import ClassVar

import polars as pl

from rankgate.core.frozen import dataclass
from rankgate.core.present.base_result import NoticeText, Result
from rankgate.core.present.columns import Column, Columns
from rankgate.core.present.layout import NOTICES, Sentence, View
from rankgate.core.value_types import JsonObject

_FILE = Column("file", pl.String, "the path of the file")
FILES = Columns(
    "One row per file of the log.",
    _FILE,
    Column("sha256", pl.String, "the SHA-256 of its content"),
    Column("events", pl.Int64, "events in it", unit="events"),
    Column(
        "new",
        pl.Boolean,
        "true if it was read now; false if it was read before",
        {True: "new", False: "as before"},
        header="read",
    ),
    Column("first", pl.String, "the time of its first event (UTC)", ".19", header="first (UTC)", empty="–"),
    Column("last", pl.String, "the time of its last event (UTC)", ".19", header="last (UTC)", empty="–"),
)
COUNTS = Columns(
    "One row per kind of event.",
    Column("kind", pl.String, "the kind of event"),
    Column("events", pl.Int64, "how many there are"),
)
PROBLEM_COLUMNS = Columns(
    "One row per file and problem: what could not be read.",
    _FILE,
    Column("code", pl.String, "the code of the problem"),
    Column("count", pl.Int64, "lines with the problem", unit="lines"),
    Column("words", pl.String, "a description of the problem"),
    Column("lines", pl.String, "the first lines with it"),
)
RANKS = Columns(
    "One row per file and application.",
    _FILE,
    Column(
        "application",
        pl.String,
        "the application that wrote the events; empty where it is not known",
        empty="–",
    ),
    Column(
        "base",
        pl.Int64,
        "the rank of the first document of a list in the log: 0 or 1",
        header="ranks are\ncounted from",
    ),
    Column("least", pl.Int64, "the lowest rank in the log", header="lowest rank\nin the log"),
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

    kind = "event_log"
    csv_table = None
    label = "Events"
    order = 60
    headline_text = "{event_count:n event} in {folder}: {files:n file}, {new_files:,} new"
    SCHEMAS: ClassVar = {"files": FILES, "counts": COUNTS, "problems": PROBLEM_COLUMNS, "ranks": RANKS}
    layout = (
        View("counts", "events"),
        View("files", "files", ("file", "events", "new", "first", "last")),
        View("ranks", "ranks", ("application", "base", "least")),
        NOTICES,
        Sentence("Left out or hashed: {removed}; other attributes are left out.", "removed"),
    )
    notice_texts = (
        NoticeText("{code}", "{file}: {count:,} {words} (line {lines})", source="problems", subject="{file}"),
        NoticeText(
            "assumed-rank-base",
            "{file}: no rank is 0, so ranks are assumed to begin at 1; if they begin at 0, give "
            "--rank-base 0",
            source="ranks",
            subject="{file}",
            rows=~pl.col("certain"),
        ),
    )

    folder: str
    files: pl.DataFrame
    counts: pl.DataFrame
    problems: pl.DataFrame
    ranks: pl.DataFrame
    privacy: JsonObject

    @property
    def event_count(self) -> int:
        """The number of events."""
        return int(self.files["events"].sum())

    @property
    def new_files(self) -> int:
        """The number of files that were read now."""
        return int(self.files["new"].sum())

    @property
    def removed(self) -> str:
        """What was left out or hashed."""
        return ", ".join(f"{name} {value}" for name, value in self.privacy.items() if value != "keep")
