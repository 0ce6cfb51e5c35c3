"""Answers of models: facts with the hash of their request, by which they are known again."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

from rankgate.core.frozen import dataclass
from rankgate.store.rating import ratings
from rankgate.store.rows import insert, now, value_of
from rankgate.store.tables.facts import raters
from rankgate.store.tables.material import documents, queries
from rankgate.store.tables.models import job_tasks, model_answers
from rankgate.store.tables.work import assignments, tasks

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from rankgate.store.models.model_job import Job


@dataclass(frozen=True)
class ModelAnswer:
    """What came of a request.

    Attributes:
        id: the number.
        job, rater, task: of which job, by which model, on which task.
        request: the hash of what was asked, and of the scale.
        rating_id: of the rating that it is; None where the model did not answer.
        answered: whether the model answered, readable or not.
        grade: None where there is none.
        reason: why there is none.
        comment: the model's explanation.
        confidence: from 0 to 1, where the model gives one.
        input_tokens, output_tokens, cost, attempts, seconds: what it took.
        answer: as it came, cut.
        at: when.
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


def record(
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
    """Record an answer, and the rating that it is, in one transaction.

    A request that failed is recorded for what it cost, and is no rating.

    Args:
        connection: of a store, to write.
        job: of the model.
        task: which task.
        request: the hash.
        answered: whether the model answered.
        grade: on the scale; None where there is none.
        reason: why there is none.
        comment: the model's explanation.
        confidence: from 0 to 1, if it gave one.
        guideline: the name of the prompt, kept with the rating.
        more: ``input_tokens``, ``output_tokens``, ``cost``, ``attempts``, ``seconds``, ``answer``.

    Returns:
        The id of the rating; None where it is none.
    """
    review = job.settings.get("review") or {}
    name = None
    if answered:
        name = ratings.new_rating_id()
        least = review.get("confidence")
        unsure = least is not None and confidence is not None and confidence < least
        ratings.rate(
            connection, task, job.rater, rating_id=name, grade=grade, reason=reason,
            comment=comment, seconds=more.get("seconds"), guideline=guideline or None,
            doubt=unsure or grade is None, distance=review.get("distance"),
        )  # fmt: skip
    values = {
        "project": job.project, "job": job.id, "rater": job.rater, "task": task, "at": now(),
        "request": request, "rating_id": name, "answered": answered, "grade": grade,
        "reason": reason, "comment": comment, "confidence": confidence, **more,
    }  # fmt: skip
    connection.execute(insert(connection, model_answers).values(values))
    return name


def known(connection: Connection, job: Job) -> dict[str, ModelAnswer]:
    """The last answer of the model to each request, by the hash of the request."""
    chosen = sa.select(model_answers).where(
        model_answers.c.project == job.project,
        model_answers.c.rater == job.rater,
        model_answers.c.answered,
    )
    found = connection.execute(chosen.order_by(model_answers.c.id))
    return {row.request: value_of(ModelAnswer, row) for row in found}


def rated_for(connection: Connection, job: Job) -> dict[int, str]:
    """By task the request that the model's last answer to it was for."""
    chosen = (
        sa.select(model_answers.c.task, model_answers.c.request)
        .join(assignments, sa.and_(assignments.c.task == model_answers.c.task,
                                   assignments.c.rater == model_answers.c.rater))
        .where(model_answers.c.project == job.project, model_answers.c.rater == job.rater,
               model_answers.c.answered, assignments.c.state == "answered")
        .order_by(model_answers.c.id)
    )  # fmt: skip
    return {task: request for task, request in connection.execute(chosen)}  # noqa: C416 - rows


def last_of_job(connection: Connection, job: Job) -> list[tuple[float | None, str | None]]:
    """The grade, or the reason why there is none, of each task that the model answered."""
    said = model_answers.c
    last = (
        sa.select(sa.func.max(said.id))
        .join(job_tasks, job_tasks.c.task == said.task)
        .where(job_tasks.c.job == job.id, said.rater == job.rater, said.answered)
        .group_by(said.task)
    )
    found = connection.execute(sa.select(said.grade, said.reason).where(said.id.in_(last)))
    return [(grade, reason) for grade, reason in found]


@dataclass(frozen=True)
class Totals:
    """What a model did in a project: tasks with a grade and without, requests, tokens, cost."""

    graded: int = 0
    without_grade: int = 0
    requests: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cost: float = 0.0


def totals(connection: Connection, project: int) -> dict[int, Totals]:
    """What each model did in a project, by its number."""
    said = model_answers.c
    spent = (
        sa.select(said.rater, sa.func.sum(said.attempts), sa.func.sum(said.input_tokens),
                  sa.func.sum(said.output_tokens), sa.func.coalesce(sa.func.sum(said.cost), 0))
        .where(said.project == project).group_by(said.rater)
    )  # fmt: skip
    words = (
        sa.select(assignments.c.rater, sa.func.count(assignments.c.grade), sa.func.count())
        .join(tasks, tasks.c.id == assignments.c.task)
        .join(raters, raters.c.id == assignments.c.rater)
        .where(tasks.c.project == project, raters.c.kind == "model",
               assignments.c.state == "answered")
        .group_by(assignments.c.rater)
    )  # fmt: skip
    count = {rater: (graded, every - graded) for rater, graded, every in connection.execute(words)}
    return {
        rater: Totals(*count.get(rater, (0, 0)), int(requests), int(one), int(two), float(cost))
        for rater, requests, one, two, cost in connection.execute(spent)
    }


def of_rater(
    connection: Connection, project: int, rater: int, *, before: int | None = None, most: int = 50
) -> list[dict[str, Any]]:
    """What a model answered, the last first, with the ids of query and document."""
    here = sa.and_(model_answers.c.project == project, model_answers.c.rater == rater)
    here = here if before is None else sa.and_(here, model_answers.c.id < before)
    names = ("id", "task", "grade", "reason", "comment", "confidence", "cost", "answered", "at")
    chosen = (
        sa.select(queries.c.query_id, queries.c.text.label("query"), documents.c.doc_id,
                  *(model_answers.c[each] for each in names))
        .join(tasks, tasks.c.id == model_answers.c.task)
        .join(queries, queries.c.id == tasks.c.query)
        .join(documents, documents.c.id == tasks.c.document)
        .where(here).order_by(model_answers.c.id.desc()).limit(most)
    )  # fmt: skip
    return [dict(row._mapping) for row in connection.execute(chosen)]  # noqa: SLF001 - public there


@dataclass(frozen=True)
class TaskTexts:
    """A task with its texts, as a model is asked about it."""

    task: int
    query_id: str
    doc_id: str
    query: dict[str, str]
    document: dict[str, str]


def texts(connection: Connection, numbers: list[int], fields: list[str]) -> list[TaskTexts]:
    """Tasks with their texts, in order of their numbers.

    Args:
        connection: of a store.
        numbers: which tasks; some hundreds.
        fields: of documents, in order; all where none of them is there, as on the rating page.
    """
    chosen = (
        sa.select(tasks.c.id, queries.c.query_id, queries.c.text, queries.c.information_need,
                  documents.c.doc_id, documents.c.fields)
        .join(queries, queries.c.id == tasks.c.query)
        .join(documents, documents.c.id == tasks.c.document)
        .where(tasks.c.id.in_(numbers)).order_by(tasks.c.id)
    )  # fmt: skip
    found = []
    for row in connection.execute(chosen):
        asked = {"text": row.text, "information_need": row.information_need}
        names = [each for each in fields if each in row.fields] or list(row.fields)
        shown = {name: str(row.fields[name]) for name in names}
        found.append(
            TaskTexts(
                row.id, row.query_id, row.doc_id,
                {name: str(value) for name, value in asked.items() if value},
                {name: value for name, value in shown.items() if value.strip()},
            )
        )  # fmt: skip
    return found
