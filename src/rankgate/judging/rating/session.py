"""A rating session: a queue of pairs, and a journal of ratings."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from rankgate.core.errors import UsageError
from rankgate.core.frozen import dataclass
from rankgate.data.scales import MOST_GRADES, possible_grades
from rankgate.judging.standing import WITHDRAWN

if TYPE_CHECKING:
    from rankgate.data.qrels import Scale
    from rankgate.data.streams.journal import Journal
    from rankgate.judging.rating.tasks import Task

CANNOT_TELL = "cannot tell"
"""The reason of a rating without a grade where the rater gave none."""


@dataclass(eq=False)
class Session:
    """The rated and the remaining pairs of one rater.

    Attributes:
        journal: where every rating goes, on disk before the method returns.
        rater: who rates.
        grades: the grades that are possible, lowest first.
        guideline: the version that the rater follows.
        left: the pairs to rate, the next one first.
        given: the pairs whose rating counts, in the order in which they were rated.
        total: pairs in all.
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
        """The pair to rate now; None when all are rated."""
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
        """Record that the current pair cannot be graded, with a reason."""
        reason_text = reason.strip()
        self._keep(None, CANNOT_TELL if reason_text in {"", WITHDRAWN} else reason_text)

    def skip(self) -> None:
        """Move the current pair to the end; nothing is written."""
        self.left.rotate(-1)
        self._shown = self.clock()

    def undo(self) -> bool:
        """Take the last rating back, and show its pair again; False if there is none."""
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
            raise UsageError(
                "everything is rated; there is nothing to give a grade to.", code="nothing-to-rate"
            )
        seconds = round(self.clock() - self._shown, 3)
        self.journal.add(self._row(task, PairRating(grade, reason, seconds=seconds)))
        self.left.popleft()
        self.given.append(task)
        self._shown = self.clock()

    def _row(self, task: Task, rating: PairRating) -> dict[str, Any]:
        return rating_row(task, self.rater, rating, at=self.now(), guideline=self.guideline)


@dataclass(frozen=True)
class PairRating:
    """A rating of a pair: a grade, or the reason why there is none."""

    grade: float | None
    reason: str | None = None
    comment: str | None = None
    seconds: float | None = None


def rating_row(
    task: Task, rater: str, rating: PairRating, *, at: datetime, guideline: str = ""
) -> dict[str, Any]:
    """A rating as its line in a journal."""
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
    """Every grade of a scale that has a few: those with labels, or the whole numbers of a range.

    Raises:
        UsageError: more than ten, or a range between fractions.

    >>> from rankgate.data.scales import parse_scale
    >>> grades_of(parse_scale("0..3")), grades_of(parse_scale("0,1,10,100"))
    ((0.0, 1.0, 2.0, 3.0), (0.0, 1.0, 10.0, 100.0))
    """
    grades = possible_grades(scale)
    if not 0 < len(grades) <= MOST_GRADES:
        raise UsageError(
            f"the scale from {scale.lowest:g} to {scale.highest:g} has no list of ten grades or "
            "fewer; list them, as in 0,1,2,3.",
            code="scale-without-grades",
        )
    return grades


def grade_keys(grades: Sequence[float]) -> dict[str, float]:
    """The key of each grade: its own digit, 0 for 10; of other grades 1, 2, 3, ... in order.

    >>> grade_keys((0, 1, 2)), grade_keys((0, 1, 10, 100))
    ({'0': 0, '1': 1, '2': 2}, {'1': 0, '2': 1, '3': 10, '4': 100})
    """
    digits = [f"{grade:g}" for grade in grades]
    if 0 not in grades:
        digits = ["0" if digit == "10" else digit for digit in digits]
    if all(len(digit) == 1 for digit in digits):
        return dict(zip(digits, grades, strict=True))
    return dict(zip("1234567890", grades, strict=False))
