"""When a task is done, or disputed: counts of its answers, and the strategy of its batch."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

import sqlalchemy as sa

from rankgate.store.tables.facts import raters, ratings
from rankgate.store.tables.work import assignments, batches, tasks

if TYPE_CHECKING:
    from sqlalchemy import Connection

# statements are built once: that takes longer than running them
_NUMBER: sa.BindParameter[int] = sa.bindparam("number")
_RULES = (
    sa.select(tasks.c.gold, batches.c.kind, batches.c.strategy, batches.c.most)
    .join(batches, batches.c.id == tasks.c.batch)
    .where(tasks.c.id == _NUMBER)
)
_SAID = (
    sa.select(assignments.c.grade, assignments.c.choice)
    .join(raters, raters.c.id == assignments.c.rater)
    .where(
        assignments.c.task == _NUMBER,
        assignments.c.state == "answered",
        raters.c.kind == "person",
    )
)
_LAST_FINAL = (
    sa.select(ratings.c.grade)
    .where(ratings.c.task == _NUMBER, ratings.c.final)
    .order_by(ratings.c.id.desc())
    .limit(1)
)
_COUNTED = sa.update(tasks).where(tasks.c.id == _NUMBER)


def settle(connection: Connection, task: int) -> str:
    """Count the answers of people to a task again; its new state."""
    number = {"number": task}
    row = connection.execute(_RULES, number).one()
    said = connection.execute(_SAID, number).all()
    given = [grade if grade is not None else choice for grade, choice in said]
    grades = [each for each in given if each not in ("", "none")]
    everybody = row.gold is not None or row.kind == "training"
    if everybody:
        state = "open"
    elif _final(connection, task):
        state = "done"
    else:
        state = state_of(grades, len(given), row.strategy, row.most)
    counts = {"grades": len(grades), "answers": len(given), "state": state}
    connection.execute(_COUNTED, number | counts)
    return state


def _final(connection: Connection, task: int) -> bool:
    """Whether somebody had the final word, and did not take it back."""
    return connection.scalar(_LAST_FINAL, {"number": task}) is not None


def state_of(grades: Sequence[float | str], answers: int, strategy: str, most: int) -> str:
    """The state of a task by what people said of it.

    Args:
        grades: those given, or the sides preferred.
        answers: how many answered, with those who cannot tell.
        strategy: of the batch.
        most: after so many answers without a result a task is disputed.

    >>> state_of([2], 1, "1", 5), state_of([2, 0], 2, "2", 5), state_of([2, 0, 2], 3, "agree", 5)
    ('done', 'disputed', 'done')
    """
    counts = Counter(grades).most_common()
    if strategy == "agree":
        if counts and counts[0][1] >= 2:
            return "done"
        return "disputed" if answers >= most else "open"
    wanted = int(strategy)
    if len(grades) >= wanted:
        majority = counts[0][1] * 2 > len(grades)
        return "done" if majority else "disputed"
    return "disputed" if answers >= max(wanted, most) else "open"
