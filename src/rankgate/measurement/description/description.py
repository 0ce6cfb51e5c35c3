"""The result of ``describe``: the contents of files."""

from __future__ import annotations

from typing import ClassVar

import polars as pl

from rankgate.core.frozen import dataclass
from rankgate.core.present.result import Result
from rankgate.data.notes import Note  # noqa: TC001 - read by its type
from rankgate.measurement.description.described import Judgments, RatingSummary, RunSummary  # noqa: TC001 - as above
from rankgate.measurement.description.side_tables import SideTable  # noqa: TC001 - as above


@dataclass(frozen=True)
class Description:
    """One file.

    Attributes:
        file: its name.
        format: the format it was read as, with the ``reason``.
        bytes: its size as it is stored.
        sha256: of its bytes as they are stored; empty for what is in memory.
        judgments, runs, ratings: what it holds.
        queries, documents, values: how many rows of these it holds, None where it has no such.
        notes: what the reader did or found.
        tables: of a collection, the tables besides its judgments.
    """

    file: str
    format: str
    reason: str
    bytes: int
    sha256: str
    judgments: Judgments | None
    runs: tuple[RunSummary, ...]
    ratings: RatingSummary | None
    queries: int | None
    documents: int | None
    values: int | None
    notes: tuple[Note, ...]
    tables: tuple[SideTable, ...] = ()


@dataclass(frozen=True)
class SharedIds:
    """Ids that two files have in common, and the number of ids of each.

    Attributes:
        first, second: the files.
        queries: of the first, of the second, of both.
        queries: numbers of the first, of the second, of both.
    """

    first: str
    second: str
    queries: tuple[int, int, int]
    documents: tuple[int, int, int]


@dataclass(frozen=True)
class JudgedDepth:
    """The share of judged documents in the first documents of a run.

    Attributes:
        qrels, run: the names.
        cutoff: how deep was looked.
        judged: the mean share of judged documents among the first ``cutoff``; None where no
            query is in both.
        queries: those that are in both.
    """

    qrels: str
    run: str
    cutoff: int
    judged: float | None
    queries: int


@dataclass(frozen=True)
class Descriptions(Result):
    """Some files, and what they have in common."""

    kind: ClassVar[str] = "description"
    label: ClassVar[str] = "What the files hold"
    document_from: ClassVar[str] = "rankgate.measurement.description.document:document"
    order: ClassVar[int] = 90

    files: tuple[Description, ...]
    overlaps: tuple[SharedIds, ...]
    holes: tuple[JudgedDepth, ...]

    def _table(self) -> pl.DataFrame:
        rows = [(file.file, file.format, file.bytes, file.sha256) for file in self.files]
        return pl.DataFrame(rows, ["file", "format", "bytes", "sha256"], orient="row")
