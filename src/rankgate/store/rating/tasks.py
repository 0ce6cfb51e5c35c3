"""Tasks with their texts and counts, the progress of batches, and disputes.

Counts cover the tasks of a batch, and the tasks that a rater answered.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import datetime
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING

import polars as pl
import sqlalchemy as sa

from rankgate.core.frozen import dataclass
from rankgate.store.blobs import stored_runs
from rankgate.store.material import queries_documents
from rankgate.store.material.queries_documents import Document, Query
from rankgate.store.rating.batches import Batch
from rankgate.store.rows import columns_of, count_rows, now, read_table, unknown_error, value_fields
from rankgate.store.tables import rating_tables
from rankgate.store.tables.columns import Moment
from rankgate.store.tables.model_tables import model_answers
from rankgate.store.tables.rating_tables import (
    QUERY_SHOWN,
    assignments,
    batches,
    documents,
    queries,
    raters,
    ratings,
    tasks,
)

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from rankgate.core.value_types import JsonObject
    from rankgate.store.blobs.stored_runs import StoredRun


_TASK_COLUMNS = ("id", "gold", "gold_why", "state", "grades", "answers", "pool")
_OTHER_COLUMNS = ("other_document", "run", "other_run")
_KINDS = ((Batch, batches), (Query, rating_tables.queries), (Document, rating_tables.documents))
_BY_NUMBER = (
    sa.select(
        *(tasks.c[name] for name in (*_TASK_COLUMNS, *_OTHER_COLUMNS)),
        *(column for kind, table in _KINDS for column in columns_of(kind, table)),
    )
    .join(batches, batches.c.id == tasks.c.batch)
    .join(rating_tables.queries, rating_tables.queries.c.id == tasks.c.query)
    .outerjoin(rating_tables.documents, rating_tables.documents.c.id == tasks.c.document)
    .where(tasks.c.id == sa.bindparam("number"))
)
_PARTS = tuple(
    accumulate((len(_TASK_COLUMNS), len(_OTHER_COLUMNS), *(len(value_fields(kind)) for kind, _ in _KINDS)))
)


@dataclass(frozen=True)
class Task:
    """A task of a rater: one document, or two documents or lists.

    Attributes:
        id: the number.
        batch: the number of its batch.
        query: the query of the task.
        document: the document to grade, or the first of two documents to compare.
        other_document: the second of two documents.
        run, other_run: the runs whose lists are compared.
        gold: the known grade, which raters must not see; None if unknown.
        gold_why: the reason for the known grade, for feedback in a training.
        state: ``open``, ``done``, ``disputed``.
        grades, answers: the number of people who gave a grade, and who answered at all.
        pool: further data of the pool, such as why and best_rank; hidden while a batch is blind.
    """

    id: int
    batch: Batch
    query: Query
    document: Document | None
    other_document: Document | None
    run: StoredRun | None
    other_run: StoredRun | None
    gold: float | None
    gold_why: str
    state: str
    grades: int
    answers: int
    pool: JsonObject

    @property
    def project(self) -> int:
        """The number of the project."""
        return self.batch.project


@dataclass(frozen=True)
class Progress:
    """The progress of a project or batch; hidden questions and trainings do not count."""

    open: int
    done: int
    disputed: int
    locked: int

    @property
    def total(self) -> int:
        """The number of all tasks."""
        return self.open + self.done + self.disputed


def get_task(connection: Connection, task: int) -> Task:
    """A task by number.

    Raises:
        UsageError: the task does not exist.
    """
    row = connection.execute(_BY_NUMBER, {"number": task}).first()
    if row is None:
        raise unknown_error("task", task)
    task_values, other_values, batch, query, document = (
        row[begin:end] for begin, end in pairwise((0, *_PARTS))
    )
    other_document, *lists = other_values
    run, other_run = (
        None if number is None else stored_runs.run_by_number(connection, number) for number in lists
    )
    return Task(
        batch=Batch(*batch),
        query=Query(*query),
        document=None if document[0] is None else Document(*document),
        other_document=None
        if other_document is None
        else queries_documents.document_by_number(connection, other_document),
        run=run,
        other_run=other_run,
        **dict(zip(_TASK_COLUMNS, task_values, strict=True)),
    )


def progress(connection: Connection, project: int, batch: int | None = None) -> Progress:
    """The progress of a project, or of one batch."""
    return sum_progress(progress_by_batch(connection, project, batch).values())


NO_PROGRESS = Progress(0, 0, 0, 0)
"""The progress of a batch without tasks that count."""


def sum_progress(progress_parts: Iterable[Progress]) -> Progress:
    """Sum the progress of several batches."""
    counts = [vars(progress_part).values() for progress_part in progress_parts]
    return Progress(*map(sum, zip(*counts, strict=True))) if counts else NO_PROGRESS


def progress_by_batch(connection: Connection, project: int, batch: int | None = None) -> dict[int, Progress]:
    """The progress of one batch, or of each batch of a project with tasks that count."""
    is_of_batch = sa.and_(
        batches.c.project == project, batches.c.kind != "training", batches.c.archived_at.is_(None)
    )
    if batch is not None:
        is_of_batch = sa.and_(is_of_batch, batches.c.id == batch)
    batch_tasks = tasks.join(batches, batches.c.id == tasks.c.batch)
    count_by_state = (
        sa.select(tasks.c.batch, tasks.c.state, sa.func.count())
        .select_from(batch_tasks)
        .where(is_of_batch)  # by an index of batches and states
        .group_by(tasks.c.batch, tasks.c.state)
    )
    counts: dict[int, Counter[str]] = {}
    for number, state, count in connection.execute(count_by_state):
        counts.setdefault(number, Counter())[state] = count
    for is_left_out in _LEFT_OUT:
        for batch_number, state, count in connection.execute(count_by_state.where(is_left_out)):
            counts[batch_number][state] -= count
    locked_statement = (
        sa.select(tasks.c.batch, sa.func.count(sa.distinct(tasks.c.id)))
        .select_from(batch_tasks.join(assignments, assignments.c.task == tasks.c.id))
        .where(
            assignments.c.rater.in_(sa.select(raters.c.id)),  # the index begins with this column
            assignments.c.state == "locked",
            assignments.c.until > sa.bindparam(None, now(), type_=Moment),
            is_of_batch,
            tasks.c.gold.is_(None),
            QUERY_SHOWN,
        )
        .group_by(tasks.c.batch)
    )
    for number, count in connection.execute(locked_statement):
        counts[number]["locked"] = count
    return {
        number: Progress(count["open"], count["done"], count["disputed"], count["locked"])
        for number, count in counts.items()
        if any(count.values())
    }


_LEFT_OUT = (tasks.c.gold.is_not(None), sa.and_(tasks.c.gold.is_(None), sa.not_(QUERY_SHOWN)))
"""The tasks that do not count: hidden questions, and other tasks of archived queries."""


def count_remaining(connection: Connection, batch: int, rater: int) -> int:
    """Count the open tasks of a batch that a rater has not answered."""
    answered_tasks = sa.select(assignments.c.task).where(
        assignments.c.rater == rater, assignments.c.state == "answered"
    )
    condition = sa.and_(
        tasks.c.batch == batch, tasks.c.state == "open", tasks.c.id.not_in(answered_tasks), QUERY_SHOWN
    )
    return count_rows(connection, condition)


IS_ASKED = sa.and_(
    tasks.c.state == "open", batches.c.state == "open", batches.c.archived_at.is_(None), QUERY_SHOWN
)
"""True for open, active tasks of open batches."""

_OF_RATER = (
    sa.select(sa.func.count(), sa.func.count().filter(IS_ASKED))
    .select_from(
        assignments.join(tasks, tasks.c.id == assignments.c.task).join(batches, batches.c.id == tasks.c.batch)
    )
    .where(
        assignments.c.rater == sa.bindparam("rater"),
        assignments.c.state == "answered",
        tasks.c.project == sa.bindparam("project"),
    )
)


def count_answered(
    connection: Connection, project: int, rater: int, batch: int | None = None
) -> tuple[int, int]:
    """Count the tasks of a project that a rater has answered, and those among them still open."""
    statement = _OF_RATER if batch is None else _OF_RATER.where(tasks.c.batch == batch)
    row = connection.execute(statement, {"project": project, "rater": rater}).one()
    return int(row[0]), int(row[1])


def count_open(connection: Connection, project: int) -> dict[int, int]:
    """Count the open tasks of each open batch, including hidden questions and trainings."""
    statement = (
        sa.select(tasks.c.batch, sa.func.count())
        .join(batches, batches.c.id == tasks.c.batch)
        .where(batches.c.project == project, IS_ASKED)  # by the index of batches and states
        .group_by(tasks.c.batch)
    )
    return {batch: count for batch, count in connection.execute(statement)}  # noqa: C416 - rows


def count_unanswered(connection: Connection, project: int, user: int) -> int:
    """Count the open tasks of the open batches of a project that a user has not answered."""
    rater = connection.scalar(sa.select(raters.c.id).where(raters.c.user == user))
    answered = 0 if rater is None else count_answered(connection, project, rater)[1]
    return sum(count_open(connection, project).values()) - answered


def waiting_pairs(connection: Connection, project: int) -> pl.DataFrame:
    """The pairs of open tasks that raters still have to grade: ``query_id`` and ``doc_id``."""
    statement = (
        sa.select(queries.c.query_id, documents.c.doc_id)
        .select_from(tasks)
        .join(batches, batches.c.id == tasks.c.batch)
        .join(queries, queries.c.id == tasks.c.query)
        .join(documents, documents.c.id == tasks.c.document)
        .where(batches.c.project == project, batches.c.kind == "rating", IS_ASKED)
        .distinct()
    )
    return read_table(connection, statement, {"query_id": pl.String, "doc_id": pl.String})


def count_done(connection: Connection, project: int, batch: int | None = None) -> dict[int, int]:
    """Count the tasks that each rater has answered, by the rater's number."""
    condition = tasks.c.project == project
    condition = condition if batch is None else sa.and_(condition, tasks.c.batch == batch)
    statement = (
        sa.select(assignments.c.rater, sa.func.count())
        .join(tasks, tasks.c.id == assignments.c.task)
        .where(condition, assignments.c.state == "answered")
        .group_by(assignments.c.rater)
    )
    return {rater: count for rater, count in connection.execute(statement)}  # noqa: C416 - rows


@dataclass(frozen=True)
class DisputedAnswer:
    """The last answer of a rater to a disputed task; ``kind`` is the kind of the rater."""

    rater: str
    kind: str
    confidence: float | None
    grade: float | None
    reason: str | None
    comment: str | None
    at: datetime | None


@dataclass(frozen=True)
class Dispute:
    """A disputed task, with the last answer of each rater.

    Attributes:
        task: the number.
        query_id, doc_id: the pair.
        answers: the last answer of each rater.
    """

    task: int
    query_id: str
    doc_id: str
    answers: Sequence[DisputedAnswer]


def disputes(
    connection: Connection, project: int, *, batch: int | None = None, after: int = 0, most: int = 50
) -> list[Dispute]:
    """Tasks that need a final decision (`ratings.rate` with ``final``), by number.

    Args:
        connection: a connection to a store.
        project: the number of the project.
        batch: the number of one batch; all by default.
        after: the number of the last task on the page before.
        most: the largest number of tasks.
    """
    condition = sa.and_(  # by the index of batches and states
        batches.c.project == project, tasks.c.state == "disputed", tasks.c.id > after
    )
    condition = condition if batch is None else sa.and_(condition, tasks.c.batch == batch)
    query_table, docs = rating_tables.queries, rating_tables.documents
    statement = (
        sa.select(tasks.c.id, query_table.c.query_id, docs.c.doc_id)
        .join(query_table, query_table.c.id == tasks.c.query)
        .join(docs, docs.c.id == tasks.c.document)
        .join(batches, batches.c.id == tasks.c.batch)
        .where(condition, batches.c.archived_at.is_(None), QUERY_SHOWN)
        .order_by(tasks.c.id)
        .limit(most)
    )
    return [
        Dispute(row.id, row.query_id, row.doc_id, _answers(connection, row.id))
        for row in connection.execute(statement).all()
    ]


def _answers(connection: Connection, task: int) -> list[DisputedAnswer]:
    columns = ("grade", "reason", "comment", "at")
    rows = connection.execute(
        sa.select(
            raters.c.name.label("rater"),
            raters.c.kind,
            model_answers.c.confidence,
            *(ratings.c[n] for n in columns),
        )
        .join(raters, raters.c.id == ratings.c.rater)
        .join(model_answers, model_answers.c.rating_id == ratings.c.rating_id, isouter=True)
        .where(ratings.c.task == task)
        .order_by(ratings.c.id)
    )
    last: dict[str, DisputedAnswer] = {}
    for row in rows:
        last.pop(row.rater, None)
        last[row.rater] = DisputedAnswer(*row)
    return list(last.values())


def gold_answers(connection: Connection, project: int) -> list[tuple[str, float, float | None]]:
    """People's answers to tasks with a known grade: rater, known grade, the rater's grade.

    Answers of trainings also count, because trainings admit raters.
    """
    rows = connection.execute(
        sa.select(raters.c.name, tasks.c.gold, assignments.c.grade)
        .join(tasks, tasks.c.id == assignments.c.task)
        .join(raters, raters.c.id == assignments.c.rater)
        .join(batches, batches.c.id == tasks.c.batch)
        .where(batches.c.project == project, tasks.c.gold.is_not(None), assignments.c.state == "answered")
        .order_by(raters.c.name, tasks.c.id)
    )
    return [(name, gold, grade) for name, gold, grade in rows]


def tasks_of_query(connection: Connection, batch: int, query: int, rater: int, limit: int = 50) -> list[int]:
    """The open tasks of a query that a rater has not answered, in the order of the batch."""
    answered_tasks = sa.select(assignments.c.task).where(
        assignments.c.rater == rater, assignments.c.state == "answered"
    )
    statement = sa.select(tasks.c.id).where(
        tasks.c.batch == batch,
        tasks.c.query == query,
        tasks.c.state == "open",
        QUERY_SHOWN,
        tasks.c.id.not_in(answered_tasks),
    )
    return list(connection.scalars(statement.order_by(tasks.c.place).limit(limit)))


def tasks_of_batch(connection: Connection, batch: int) -> list[int]:
    """The numbers of a batch's single-document tasks, without archived queries."""
    condition = sa.and_(
        tasks.c.batch == batch, tasks.c.document.is_not(None), tasks.c.other_document.is_(None), QUERY_SHOWN
    )
    return list(connection.scalars(sa.select(tasks.c.id).where(condition).order_by(tasks.c.id)))


def tasks_by_pair(connection: Connection, project: int) -> dict[tuple[str, str], int]:
    """The first task for each query and document that people or models rate, by ids."""
    statement = (
        sa.select(queries.c.query_id, documents.c.doc_id, tasks.c.id)
        .join(queries, queries.c.id == tasks.c.query)
        .join(documents, documents.c.id == tasks.c.document)
        .join(batches, batches.c.id == tasks.c.batch)
        .where(tasks.c.project == project, batches.c.kind == "rating")
        .order_by(tasks.c.id.desc())
    )
    return {(query, doc): task for query, doc, task in connection.execute(statement)}


def tasks_answered_by(connection: Connection, project: int, rater: int) -> set[int]:
    """The tasks of a project that a rater has answered."""
    statement = (
        sa.select(assignments.c.task)
        .join(tasks, tasks.c.id == assignments.c.task)
        .where(tasks.c.project == project, assignments.c.rater == rater, assignments.c.state == "answered")
    )
    return set(connection.scalars(statement))


def tasks_by_numbers(connection: Connection, project: int) -> pl.DataFrame:
    """The first task for each query and document, by numbers; known grades are left out.

    Returns:
        ``query``, ``document`` and ``task``.
    """
    pair = (tasks.c.query, tasks.c.document)
    statement = (
        sa.select(*pair, sa.func.min(tasks.c.id).label("task"))
        .join(batches, batches.c.id == tasks.c.batch)
        .where(tasks.c.project == project, batches.c.kind == "rating", tasks.c.gold.is_(None))
        .group_by(*pair)
    )
    return read_table(connection, statement, dict.fromkeys(("query", "document", "task"), pl.Int64))
