"""A rating session at the terminal: its queue, its journal and its screen.

A session has a queue of pairs and a journal of ratings. Every rating is on disk before the screen
shows the next pair.
"""

from __future__ import annotations

import textwrap
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING
from zlib import crc32

from rankgate.core.errors import UsageError
from rankgate.core.frozen import dataclass
from rankgate.core.present.document_model import make_printable
from rankgate.core.present.text_tables import WIDTH
from rankgate.data.qrels import MOST_GRADES, parse_scale, possible_grades
from rankgate.data.streams.journal import Closing, Journal
from rankgate.judging.counting_ratings import WITHDRAWN
from rankgate.judging.pooling.pool import shuffle_batches
from rankgate.judging.rating_tasks import pool_table, read_tasks

if TYPE_CHECKING:
    import polars as pl

    from rankgate.core.value_types import Json
    from rankgate.data.qrels import Scale
    from rankgate.judging.rating_tasks import PoolLike, Task


CANNOT_TELL = "cannot tell"
"""The default reason of a rating without a grade."""


@dataclass(eq=False)
class Session:
    """The rated and the remaining pairs of one rater.

    Attributes:
        journal: the journal; each rating is on disk before the method returns.
        rater: the name of the rater.
        grades: the possible grades, lowest first.
        guideline: the version that the rater follows.
        left: the pairs to rate, the next one first.
        given: the pairs with a rating that counts, in the order of rating.
        total: the number of pairs.
        now, clock: the time, for tests.
    """

    journal: Journal
    rater: str
    grades: tuple[float, ...]
    guideline: str = ""
    left: deque[Task] = field(default_factory=deque)
    given: list[Task] = field(default_factory=list)
    total: int = 0
    now: Callable[[], datetime] = lambda: datetime.now(UTC)
    clock: Callable[[], float] = time.monotonic
    _shown: float = 0.0

    def begin(self, tasks: Sequence[Task]) -> None:
        """Load the journal and queue the remaining pairs."""
        by_pair = {task.pair: task for task in tasks}
        standing: dict[tuple[str, str], None] = {}
        for row in self.journal.rows:
            pair = (str(row.get("query_id")), str(row.get("doc_id")))
            if row.get("rater") != self.rater or pair not in by_pair:
                continue
            standing.pop(pair, None)
            if row.get("reason") != WITHDRAWN:
                standing[pair] = None
        self.given = [by_pair[pair] for pair in standing]
        self.left = deque(task for task in tasks if task.pair not in standing)
        self.total = len(tasks)
        self._shown = self.clock()

    @property
    def current(self) -> Task | None:
        """The pair to rate now; None when all pairs are rated."""
        return self.left[0] if self.left else None

    def rate(self, grade: float) -> None:
        """Give the current pair a grade.

        Raises:
            UsageError: a grade that is not on the scale; the disk is full.
        """
        if grade not in self.grades:
            scale_text = ", ".join(f"{possible:g}" for possible in self.grades)
            raise UsageError(
                f"grade {grade:g} is not on the scale ({scale_text}).", code="grade-outside-scale"
            )
        self._keep(grade, None)

    def cannot_tell(self, reason: str = "") -> None:
        """Record that the rater cannot grade the current pair, with a reason."""
        reason_text = reason.strip()
        self._keep(None, CANNOT_TELL if reason_text in {"", WITHDRAWN} else reason_text)

    def skip(self) -> None:
        """Move the current pair to the end, without writing anything."""
        self.left.rotate(-1)
        self._shown = self.clock()

    def undo(self) -> bool:
        """Take back the last rating and show its pair again; False if there is no rating."""
        if not self.given:
            return False
        task = self.given[-1]
        self.journal.add(self._row(task, PairRating(None, WITHDRAWN)))
        self.given.pop()
        self.left.appendleft(task)
        self._shown = self.clock()
        return True

    def _keep(self, grade: float | None, reason: str | None) -> None:
        task = self.current
        if task is None:
            raise UsageError("everything is rated; there are no documents to grade.", code="nothing-to-rate")
        seconds = round(self.clock() - self._shown, 3)
        self.journal.add(self._row(task, PairRating(grade, reason, seconds=seconds)))
        self.left.popleft()
        self.given.append(task)
        self._shown = self.clock()

    def _row(self, task: Task, rating: PairRating) -> dict[str, Json]:
        return rating_row(task, self.rater, rating, at=self.now(), guideline=self.guideline)


@dataclass(frozen=True)
class PairRating:
    """A rating of a pair: a grade, or the reason for a missing grade."""

    grade: float | None
    reason: str | None = None
    comment: str | None = None
    seconds: float | None = None


def rating_row(
    task: Task, rater: str, rating: PairRating, *, at: datetime, guideline: str = ""
) -> dict[str, Json]:
    """The line of a rating in a journal."""
    moment = at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    return {
        "query_id": task.query_id,
        "doc_id": task.doc_id,
        "rater": rater,
        "grade": rating.grade,
        "reason": rating.reason,
        "at": moment,
        "seconds": rating.seconds,
        "comment": rating.comment,
        "guideline": guideline or None,
    }


def grades_of(scale: Scale) -> tuple[float, ...]:
    """All grades of a small scale: the labelled grades, or the whole numbers of a range.

    Raises:
        UsageError: the scale has more than ten grades, or a range with fractional ends.

    >>> from rankgate.data.qrels import parse_scale
    >>> grades_of(parse_scale("0..3")), grades_of(parse_scale("0,1,10,100"))
    ((0.0, 1.0, 2.0, 3.0), (0.0, 1.0, 10.0, 100.0))
    """
    grades = possible_grades(scale)
    if not 0 < len(grades) <= MOST_GRADES:
        raise UsageError(
            f"the scale from {scale.lowest:g} to {scale.highest:g} has no list of ten grades or fewer; list "
            "them, as in 0,1,2,3.",
            code="scale-without-grades",
        )
    return grades


def grade_keys(grades: Sequence[float]) -> dict[str, float]:
    """The key of each grade: its own digit, 0 for 10; for other grades 1, 2, 3, ... in order.

    >>> grade_keys((0, 1, 2)), grade_keys((0, 1, 10, 100))
    ({'0': 0, '1': 1, '2': 2}, {'1': 0, '2': 1, '3': 10, '4': 100})
    """
    digits = [f"{grade:g}" for grade in grades]
    if 0 not in grades:
        digits = ["0" if digit == "10" else digit for digit in digits]
    if all(len(digit) == 1 for digit in digits):
        return dict(zip(digits, grades, strict=True))
    return dict(zip("1234567890", grades, strict=False))


@dataclass(frozen=True)
class Screen:
    """The screen of a rater: one pair with its grades.

    Attributes:
        query_id, doc_id: the ids of the pair.
        query, document: the texts of each by name.
        done, total: the number of rated pairs, and of all pairs.
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
        pool: the pairs to judge.
        path: the file of ratings (JSON lines, only added to); work goes on where it ends.
        rater: the name of the rater.
        scale: the grades that are possible.
        queries: texts of the queries.
        documents: fields of the documents.
        guideline: the version that the rater follows.
        batch: only this batch of the pool.
        seed: the seed of the order, which does not reveal systems and ranks; each rater has one of
            their own.

    Raises:
        InputError: a file cannot be read; a document has no text.
        UsageError: the batch or scale does not exist; another program writes to the file.
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
            key: (grade, labels.get(grade, f"{grade:g}")) for key, grade in grade_keys(grades).items()
        }
        rater_seed = seed ^ crc32(rater.encode())
        batch_tasks = read_tasks(
            shuffle_batches(select_batch(pool_table(pool), batch), abs(rater_seed)), queries, documents
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
            task.query_id, task.doc_id, task.query, task.document, self.counted_pairs, self.total, self._keys
        )

    @property
    def counted_pairs(self) -> int:
        """The number of pairs with a rating that counts."""
        return len(self.given)

    @property
    def cut(self) -> int:
        """The bytes of an unfinished last line that were removed when the file was opened."""
        return self.journal.cut

    def close(self) -> None:
        """Close the file."""
        self.journal.close()


def select_batch(table: pl.DataFrame, batch: int | None) -> pl.DataFrame:
    """The rows of one batch; without a batch all rows.

    Raises:
        UsageError: the batch does not exist.
    """
    if batch is None:
        return table
    rows = table.filter(table["batch"] == batch)
    if rows.is_empty():
        last_batch = max(table["batch"].to_list())
        raise UsageError(f"there is no batch {batch}; the last is {last_batch}.", code="unknown-choice")
    return rows


_PAGE_CHARACTERS = 1500
"""The number of characters of a field that are shown at once."""


def count_pages(screen: Screen) -> int:
    """Count the pages needed for the longest field of the document."""
    longest = max((len(" ".join(text.split())) for text in screen.document.values()), default=0)
    return max(1, -(-longest // _PAGE_CHARACTERS))


def render(result: Screen, width: int = WIDTH, page: int = 0) -> str:
    """Render the query, one page of the document, and the keys.

    Args:
        result: the view of the rater.
        width: the number of columns.
        page: the page of the document's long fields, from 0; after the last page comes the first.
    """
    parts = count_pages(result)
    page %= parts
    lines = ["", f"rated {result.done} of {result.total} {'─' * 20}"]
    query_fields = dict(result.query)
    lines += _field("query", query_fields.pop("text", result.query_id), width)
    for name, text in query_fields.items():
        lines += _field(name, text, width)
    lines += ["", *_field("document", result.doc_id, width)]
    for name, text in result.document.items():
        lines += _field(name, text, width, page)
    more = f"  space more (part {page + 1} of {parts})" if parts > 1 else ""
    keys = "  ".join(f"{key} {label}" if label != key else key for key, (_, label) in result.grades.items())
    lines += ["", *textwrap.wrap(f"{keys}  |  c can't tell  s skip  u undo  q quit{more}", width)]
    return "\n".join(lines) + "\n"


def _field(name: str, text: str, width: int, page: int = 0) -> list[str]:
    """One page of a field; a shorter field stays at its last page."""
    full_text = " ".join(text.split())
    begin = min(page, max(0, (len(full_text) - 1) // _PAGE_CHARACTERS)) * _PAGE_CHARACTERS
    excerpt = full_text[begin : begin + _PAGE_CHARACTERS]
    excerpt = f"[…] {excerpt}" if begin else excerpt
    excerpt = f"{excerpt} […]" if begin + _PAGE_CHARACTERS < len(full_text) else excerpt
    label = f"{make_printable(name)}: "
    return textwrap.wrap(
        make_printable(excerpt), width, initial_indent=label, subsequent_indent="  ", break_on_hyphens=False
    ) or [label.rstrip()]
