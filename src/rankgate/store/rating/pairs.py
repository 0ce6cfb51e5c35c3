"""Tasks with what everybody said, page by page; and taking back what somebody said."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import sqlalchemy as sa

from rankgate.core.frozen import dataclass
from rankgate.store.rating import next_task, ratings
from rankgate.store.tables.facts import raters
from rankgate.store.tables.material import documents, queries
from rankgate.store.tables.work import assignments, batches, tasks

if TYPE_CHECKING:
    from sqlalchemy import Connection


@dataclass(frozen=True)
class Filter:
    """Which tasks: of a batch, in a state, of a query (id or text), with an answer of a rater."""

    batch: int | None = None
    state: str | None = None
    query: str | None = None
    rater: int | None = None


@dataclass(frozen=True)
class Pair:
    """A task to grade, with its answers.

    Attributes:
        task: the number.
        batch: its batch's name.
        query_id, text, doc_id: what is rated.
        state: ``open``, ``done``, ``disputed``.
        gold: the known grade, if it is a hidden question.
        answers: ``rater``, ``grade`` of each who answered.
    """

    task: int
    batch: str
    query_id: str
    text: str | None
    doc_id: str
    state: str
    gold: float | None
    answers: Sequence[Mapping[str, Any]]


def listed(
    connection: Connection, project: int, chosen: Filter, *, after: int = 0, most: int = 50
) -> list[Pair]:
    """Tasks after a number, in the order of their numbers: ratings of others move no page.

    Args:
        connection: of a store.
        project: whose.
        chosen: which tasks.
        after: the number of the last task seen.
        most: how many.
    """
    statement = (
        sa.select(
            tasks.c.id, batches.c.name, queries.c.query_id, queries.c.text, documents.c.doc_id,
            tasks.c.state, tasks.c.gold,
        )
        .join(batches, batches.c.id == tasks.c.batch)
        .join(queries, queries.c.id == tasks.c.query)
        .join(documents, documents.c.id == tasks.c.document)
        .where(*_where(project, chosen), tasks.c.id > after, tasks.c.other_document.is_(None))
        .order_by(tasks.c.id)
        .limit(most)
    )  # fmt: skip
    rows = connection.execute(statement).all()
    said = _answers(connection, [row.id for row in rows])
    return [Pair(*row, answers=said[row.id]) for row in rows]


def _where(project: int, chosen: Filter) -> list[sa.ColumnElement[bool]]:
    found = [tasks.c.project == project]
    if chosen.batch is not None:
        found.append(tasks.c.batch == chosen.batch)
    if chosen.state is not None:
        found.append(tasks.c.state == chosen.state)
    if chosen.query is not None:
        named = sa.or_(queries.c.query_id == chosen.query, queries.c.text == chosen.query)
        asked = sa.select(queries.c.id).where(queries.c.project == project, named)
        found.append(tasks.c.query.in_(asked))
    if chosen.rater is not None:
        mine = sa.and_(assignments.c.rater == chosen.rater, assignments.c.state == "answered")
        found.append(tasks.c.id.in_(sa.select(assignments.c.task).where(mine)))
    return found


def _answers(connection: Connection, numbers: list[int]) -> dict[int, list[Mapping[str, Any]]]:
    statement = (
        sa.select(assignments.c.task, raters.c.name, assignments.c.grade)
        .join(raters, raters.c.id == assignments.c.rater)
        .where(assignments.c.task.in_(numbers), assignments.c.state == "answered")
        .order_by(assignments.c.task, raters.c.name)
    )
    found: dict[int, list[Mapping[str, Any]]] = defaultdict(list)
    for task, rater, grade in connection.execute(statement):
        found[task].append({"rater": rater, "grade": grade})
    return found


def take_back(
    connection: Connection, project: int, rater: int, chosen: Filter, *, most: int = 10_000
) -> int:
    """Take a rater's answers to tasks back, so that the tasks are asked again; how many.

    The ratings stay in the store; each withdrawal is a rating after them.

    Args:
        connection: of a store, to write.
        project: whose tasks.
        rater: whose answers.
        chosen: which tasks.
        most: how many at most.
    """
    mine = Filter(chosen.batch, chosen.state, chosen.query, rater)
    statement = sa.select(tasks.c.id).where(
        *_where(project, mine), tasks.c.document.is_not(None), tasks.c.other_document.is_(None)
    )
    numbers = list(connection.scalars(statement.order_by(tasks.c.id).limit(most)))
    for number in numbers:
        ratings.withdraw(connection, number, rater, rating_id=f"reset-{uuid4()}")
        next_task.release(connection, number, rater)
    return len(numbers)
