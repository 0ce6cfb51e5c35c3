"""A rater at work on a pool; every rating is on disk before the next pair is shown."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING
from zlib import crc32

from rankgate.core.errors import UsageError
from rankgate.core.frozen import dataclass
from rankgate.data.scales import parse_scale
from rankgate.data.streams.closing import Closing
from rankgate.data.streams.journal import Journal
from rankgate.judging.pooling.candidates import shuffle_batches
from rankgate.judging.rating.pool_tasks import pool_table, read_tasks
from rankgate.judging.rating.session import Session, grade_keys, grades_of

if TYPE_CHECKING:
    import polars as pl

    from rankgate.judging.rating.pool_tasks import PoolLike


@dataclass(frozen=True)
class Screen:
    """The screen of a rater: one pair with its grades.

    Attributes:
        query_id, doc_id: of the pair.
        query, document: their texts by name.
        done, total: pairs rated, and in all.
        grades: the key of each grade, with the grade and its label.
    """

    query_id: str
    doc_id: str
    query: Mapping[str, str]
    document: Mapping[str, str]
    done: int
    total: int
    grades: Mapping[str, tuple[float, str]]


class Rating(Session, Closing):
    """Rate a pool, one pair after another; no acknowledged rating is ever lost.

    Args:
        pool: what to judge.
        path: the file of ratings (JSON lines, only added to); work goes on where it ends.
        rater: who rates.
        scale: the grades that are possible.
        queries: texts of the queries.
        documents: fields of the documents.
        guideline: the version that the rater follows.
        batch: only this batch of the pool.
        seed: of the order, which says nothing of systems and ranks; each rater has one of their
            own.

    Raises:
        InputError: files that cannot be read, a document without text.
        UsageError: no such batch or scale; another program writes to the file.
    """

    def __init__(
        self,
        pool: PoolLike,
        path: str | Path,
        rater: str,
        *,
        scale: str = "graded",
        queries: str | Path | pl.DataFrame | None = None,
        documents: str | Path | pl.DataFrame | None = None,
        guideline: str = "",
        batch: int | None = None,
        seed: int = 0,
    ) -> None:
        if not rater.strip():
            raise UsageError("a rating needs a rater; name one with --rater.", code="missing-input")
        grade_scale = parse_scale(scale)
        grades = grades_of(grade_scale)
        labels = {float(grade): label for grade, label in grade_scale.labels}
        self._keys = {
            key: (grade, labels.get(grade, f"{grade:g}"))
            for key, grade in grade_keys(grades).items()
        }
        rater_seed = seed ^ crc32(rater.encode())
        batch_tasks = read_tasks(
            shuffle_batches(select_batch(pool_table(pool), batch), abs(rater_seed)),
            queries,
            documents,
        )
        super().__init__(Journal.open(path), rater, grades, guideline)
        self.begin(batch_tasks)

    @property
    def screen(self) -> Screen | None:
        """The pair to rate now; None when all are rated."""
        task = self.current
        if task is None:
            return None
        return Screen(
            task.query_id,
            task.doc_id,
            task.query,
            task.document,
            self.done,
            self.total,
            self._keys,
        )

    @property
    def done(self) -> int:
        """Pairs whose rating counts."""
        return len(self.given)

    @property
    def cut(self) -> int:
        """Bytes of a line that was never finished, which were cut off when the file was opened."""
        return self.journal.cut

    def close(self) -> None:
        """Close the file."""
        self.journal.close()


def select_batch(table: pl.DataFrame, batch: int | None) -> pl.DataFrame:
    """The rows of one batch; all without it.

    Raises:
        UsageError: there is no such batch.
    """
    if batch is None:
        return table
    rows = table.filter(table["batch"] == batch)
    if rows.is_empty():
        last_batch = max(table["batch"].to_list())
        raise UsageError(
            f"there is no batch {batch}; the last is {last_batch}.", code="unknown-choice"
        )
    return rows
