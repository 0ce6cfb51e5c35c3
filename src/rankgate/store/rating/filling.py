"""Tasks that ratings from elsewhere answer, so that nobody is asked again for what is known."""

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
    """Let the last words of raters be their answers to tasks, and settle these.

    Args:
        connection: of a store, to write.
        numbers: of tasks to which ratings were added.
    """
    every = sorted(numbers)
    for begin in range(0, len(every), _PIECE):
        part = every[begin : begin + _PIECE]
        last = (
            sa.select(sa.func.max(ratings.c.id))
            .where(ratings.c.task.in_(part), ratings.c.final.is_(False))
            .group_by(ratings.c.task, ratings.c.rater)
        )
        said = sa.select(ratings.c.task, ratings.c.rater, ratings.c.grade, ratings.c.reason).where(
            ratings.c.id.in_(last)
        )
        rows = [
            {"task": row.task, "rater": row.rater, "grade": row.grade, "state": "answered",
             "until": None, "at": now()}
            for row in connection.execute(said)
            if row.reason != WITHDRAWN
        ]  # fmt: skip
        if rows:
            made = insert(connection, assignments)
            new = {name: made.excluded[name] for name in ("grade", "state", "until", "at")}
            keys = ["task", "rater"]
            connection.execute(made.on_conflict_do_update(index_elements=keys, set_=new), rows)
        for number in part:
            settle(connection, number)
