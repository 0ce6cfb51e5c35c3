"""Answers of models, identified by the hash of their request."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

from rankgate.core.frozen import dataclass
from rankgate.store.rating import ratings
from rankgate.store.rows import insert, now, value_fields, value_of
from rankgate.store.tables.model_tables import job_tasks, model_answers
from rankgate.store.tables.rating_tables import assignments, documents, queries, raters, tasks

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from rankgate.store.models.model_job import Job


@dataclass(frozen=True)
class ModelAnswer:
    """A model's answer to a request.

    Attributes:
        id: the number.
        job, rater, task: the numbers of the job, the rater (the model) and the task.
        request: the hash of the request and the scale.
        rating_id: the id of the rating; None if the model did not answer.
        answered: True if the model answered, readable or not.
        grade: the grade; None if the answer has no grade.
        reason: the reason for a missing grade.
        comment: the model's explanation.
        confidence: from 0 to 1, if the model states it.
        input_tokens, output_tokens, cost, attempts, seconds: the usage of the request.
        answer: the unchanged text, shortened.
        at: the time of the answer.
    """

    id: int
    job: int
    rater: int
    task: int
    request: str
    rating_id: str | None
    answered: bool
    grade: float | None
    reason: str | None
    comment: str | None
    confidence: float | None
    input_tokens: int
    output_tokens: int
    cost: float | None
    attempts: int
    seconds: float | None
    answer: str
    at: datetime


def record_answer(
    connection: Connection,
    job: Job,
    task: int,
    request: str,
    *,
    answered: bool,
    grade: float | None,
    reason: str | None = None,
    comment: str | None = None,
    confidence: float | None = None,
    guideline: str = "",
    **more: Any,
) -> str | None:
    """Record an answer and its rating in one transaction.

    A failed request is recorded with its cost, and adds no rating.

    Args:
        connection: a connection to a store, for writing.
        job: the job of the model.
        task: the number of the task.
        request: the hash of the request.
        answered: True if the model answered.
        grade: on the scale, or None.
        reason: the reason for a missing grade.
        comment: the model's explanation.
        confidence: from 0 to 1, if the model stated it.
        guideline: the name of the prompt, kept with the rating.
        more: ``input_tokens``, ``output_tokens``, ``cost``, ``attempts``, ``seconds``, ``answer``.

    Returns:
        The id of the rating; None if the request failed.
    """
    review = job.settings.get("review") or {}
    name = None
    if answered:
        name = ratings.new_rating_id()
        min_confidence = review.get("confidence")
        is_unsure = min_confidence is not None and confidence is not None and confidence < min_confidence
        ratings.rate(
            connection,
            task,
            job.rater,
            rating_id=name,
            grade=grade,
            reason=reason,
            comment=comment,
            seconds=more.get("seconds"),
            guideline=guideline or None,
            doubt=is_unsure or grade is None,
            distance=review.get("distance"),
        )
    values = {
        "project": job.project,
        "job": job.id,
        "rater": job.rater,
        "task": task,
        "at": now(),
        "request": request,
        "rating_id": name,
        "answered": answered,
        "grade": grade,
        "reason": reason,
        "comment": comment,
        "confidence": confidence,
        **more,
    }
    connection.execute(insert(connection, model_answers).values(values))
    return name


def answers_by_request(connection: Connection, job: Job) -> dict[str, ModelAnswer]:
    """The last answer of the model to each request, by the hash of the request."""
    statement = sa.select(model_answers).where(
        model_answers.c.project == job.project, model_answers.c.rater == job.rater, model_answers.c.answered
    )
    rows = connection.execute(statement.order_by(model_answers.c.id))
    return {row.request: value_of(ModelAnswer, row) for row in rows}


def requests_by_task(connection: Connection, job: Job) -> dict[int, str]:
    """The request of the model's last answer, by task."""
    statement = (
        sa.select(model_answers.c.task, model_answers.c.request)
        .join(
            assignments,
            sa.and_(assignments.c.task == model_answers.c.task, assignments.c.rater == model_answers.c.rater),
        )
        .where(
            model_answers.c.project == job.project,
            model_answers.c.rater == job.rater,
            model_answers.c.answered,
            assignments.c.state == "answered",
        )
        .order_by(model_answers.c.id)
    )
    return {task: request for task, request in connection.execute(statement)}  # noqa: C416 - rows


def last_grades(connection: Connection, job: Job) -> list[tuple[float | None, str | None]]:
    """The grade, or the reason for a missing grade, of each task that the model answered."""
    columns = model_answers.c
    last = (
        sa.select(sa.func.max(columns.id))
        .join(job_tasks, job_tasks.c.task == columns.task)
        .where(job_tasks.c.job == job.id, columns.rater == job.rater, columns.answered)
        .group_by(columns.task)
    )
    rows = connection.execute(sa.select(columns.grade, columns.reason).where(columns.id.in_(last)))
    return [(grade, reason) for grade, reason in rows]


@dataclass(frozen=True)
class Totals:
    """Totals of a model in a project: tasks with and without a grade, requests, tokens, cost."""

    graded: int = 0
    without_grade: int = 0
    requests: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cost: float = 0.0


def totals(connection: Connection, project: int) -> dict[int, Totals]:
    """The totals of each model in a project, by the model's number."""
    columns = model_answers.c
    usage_sums = (
        sa.select(
            columns.rater,
            sa.func.sum(columns.attempts),
            sa.func.sum(columns.input_tokens),
            sa.func.sum(columns.output_tokens),
            sa.func.coalesce(sa.func.sum(columns.cost), 0),
        )
        .where(columns.project == project)
        .group_by(columns.rater)
    )
    answer_counts = (
        sa.select(assignments.c.rater, sa.func.count(assignments.c.grade), sa.func.count())
        .join(tasks, tasks.c.id == assignments.c.task)
        .join(raters, raters.c.id == assignments.c.rater)
        .where(tasks.c.project == project, raters.c.kind == "model", assignments.c.state == "answered")
        .group_by(assignments.c.rater)
    )
    count = {rater: (graded, total - graded) for rater, graded, total in connection.execute(answer_counts)}
    return {
        rater: Totals(
            *count.get(rater, (0, 0)), int(requests), int(input_tokens), int(output_tokens), float(cost)
        )
        for rater, requests, input_tokens, output_tokens, cost in connection.execute(usage_sums)
    }


@dataclass(frozen=True)
class AskedPair:
    """A query and a document with a model's answer, for a page."""

    query_id: str
    query: str | None
    doc_id: str
    id: int
    task: int
    grade: float | None
    reason: str | None
    comment: str | None
    confidence: float | None
    cost: float | None
    answered: bool
    at: datetime


def answers_of_rater(
    connection: Connection, project: int, rater: int, *, before: int | None = None, most: int = 50
) -> list[AskedPair]:
    """The answers of a model, newest first, with the ids of query and document."""
    condition = sa.and_(model_answers.c.project == project, model_answers.c.rater == rater)
    condition = condition if before is None else sa.and_(condition, model_answers.c.id < before)
    statement = (
        sa.select(
            queries.c.query_id,
            queries.c.text,
            documents.c.doc_id,
            *(model_answers.c[name] for name in value_fields(AskedPair)[3:]),
        )
        .join(tasks, tasks.c.id == model_answers.c.task)
        .join(queries, queries.c.id == tasks.c.query)
        .join(documents, documents.c.id == tasks.c.document)
        .where(condition)
        .order_by(model_answers.c.id.desc())
        .limit(most)
    )
    return [AskedPair(*row) for row in connection.execute(statement)]


@dataclass(frozen=True)
class TaskTexts:
    """A task with the texts that are sent to a model."""

    task: int
    query_id: str
    doc_id: str
    query: dict[str, str]
    document: dict[str, str]


def read_task_texts(connection: Connection, numbers: list[int], fields: list[str]) -> list[TaskTexts]:
    """Tasks with their texts, in the order of their numbers.

    Args:
        connection: a connection to a store.
        numbers: the numbers of some hundreds of tasks.
        fields: the fields of documents, in order; if a document has no such field, all fields, as
            on the rating page.
    """
    statement = (
        sa.select(
            tasks.c.id,
            queries.c.query_id,
            queries.c.text,
            queries.c.information_need,
            documents.c.doc_id,
            documents.c.fields,
        )
        .join(queries, queries.c.id == tasks.c.query)
        .join(documents, documents.c.id == tasks.c.document)
        .where(tasks.c.id.in_(numbers))
        .order_by(tasks.c.id)
    )
    task_texts = []
    for row in connection.execute(statement):
        query_fields = {"text": row.text, "information_need": row.information_need}
        names = [name for name in fields if name in row.fields] or list(row.fields)
        document_fields = {name: str(row.fields[name]) for name in names}
        task_texts.append(
            TaskTexts(
                row.id,
                row.query_id,
                row.doc_id,
                {name: str(value) for name, value in query_fields.items() if value},
                {name: value for name, value in document_fields.items() if value.strip()},
            )
        )
    return task_texts
