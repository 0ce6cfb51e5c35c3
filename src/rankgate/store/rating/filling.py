"""Fill tasks with ratings from other sources, so that rated pairs are not asked again."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

import sqlalchemy as sa

from rankgate.store.rating.ratings import WITHDRAWN
from rankgate.store.rating.settling import settle
from rankgate.store.rows import insert, now
from rankgate.store.tables.facts import ratings
from rankgate.store.tables.work import assignments

if TYPE_CHECKING:
    from sqlalchemy import Connection

_PIECE = 500


def fill(connection: Connection, numbers: Collection[int]) -> None:
    """Make the last ratings of raters their answers to tasks, and settle these.

    Args:
        connection: of a store, to write.
        numbers: of tasks to which ratings were added.
    """
    all_numbers = sorted(numbers)
    for begin in range(0, len(all_numbers), _PIECE):
        chunk = all_numbers[begin : begin + _PIECE]
        last = (
            sa.select(sa.func.max(ratings.c.id))
            .where(ratings.c.task.in_(chunk), ratings.c.final.is_(False))
            .group_by(ratings.c.task, ratings.c.rater)
        )
        last_ratings = sa.select(
            ratings.c.task, ratings.c.rater, ratings.c.grade, ratings.c.reason
        ).where(ratings.c.id.in_(last))
        rows = [
            {
                "task": row.task,
                "rater": row.rater,
                "grade": row.grade,
                "state": "answered",
                "until": None,
                "at": now(),
            }
            for row in connection.execute(last_ratings)
            if row.reason != WITHDRAWN
        ]
        if rows:
            statement = insert(connection, assignments)
            new = {name: statement.excluded[name] for name in ("grade", "state", "until", "at")}
            keys = ["task", "rater"]
            connection.execute(statement.on_conflict_do_update(index_elements=keys, set_=new), rows)
        for number in chunk:
            settle(connection, number)
