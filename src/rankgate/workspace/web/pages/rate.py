"""The rating page, and what it sends."""

from __future__ import annotations

import statistics
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from rankgate.store.material import projects
from rankgate.store.rating import answers, batches, locked, next_task, preferences, ratings, tasks
from rankgate.workspace.web.cache import ProjectCache
from rankgate.workspace.web.guidelines import render_guideline
from rankgate.workspace.web.pages.answering import COMPARISON_KINDS, feedback, record_answer
from rankgate.workspace.web.pages.task_view import REASONS, image_origins, scale_view, task_view
from rankgate.workspace.web.replies import ActionReply, PageReply, not_found

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from rankgate.store.rating.answers import Answer
    from rankgate.store.rating.tasks import Task
    from rankgate.workspace.web.asked import WebRequest

_PACE_RATINGS = 20
"""The number of latest ratings by which the pace is measured."""

_open_task_cache: ProjectCache[dict[int, int]] = ProjectCache()
_scale_cache: ProjectCache[list[dict[str, Any]]] = ProjectCache()


def rate_page(request: WebRequest) -> PageReply:
    """The next task, or one that the rater wants to see again."""
    number, batch = request.values["task"], request.values["batch"]
    with request.store.write() as connection:
        rater = request.rater(connection)
        if number is None:
            number = _take_task(connection, request, rater, batch)
        else:
            _claim_task(connection, request, number, rater)
    with request.store.read() as connection:
        data = make_page_state(connection, request, rater, number, batch)
        guideline_version = projects.guideline(connection, request.project.id)
    guideline = render_guideline(guideline_version.text) if guideline_version else ""
    data["guideline"] = None if guideline_version is None else guideline_version.version
    extra = {"guideline_html": guideline, "rating_id": str(uuid4())}
    return PageReply("rate.html", data, extra, images=image_origins(request.project.settings))


def make_page_state(
    connection: Connection, request: WebRequest, rater: int, number: int | None, batch: int | None
) -> dict[str, Any]:
    """The state of the page: the task, the scale, the progress of the rater."""
    task = None if number is None else _find_task(connection, request, number)
    recent_answers = answers.latest_answers(connection, request.project.id, rater, _PACE_RATINGS)
    rater_answer = None if task is None else _current_answer(recent_answers, task)
    view = None
    if task is not None:
        view = task_view(connection, request.store, request.project, task, rater, rater_answer)
    return {
        "project": request.project.name,
        "heading": request.project.title,
        "task": view,
        "batch": batch,
        "scale": _scale_cache.of_project(
            request, lambda: scale_view(connection, request.project.id)
        ),
        "reasons": [{"reason": key, "label": label} for key, label in REASONS],
        "progress": _rater_progress(connection, request, rater, recent_answers, number, batch),
    }


def _current_answer(recent_answers: list[Answer], task: Task) -> Answer | None:
    last = next(
        (recent_answer for recent_answer in recent_answers if recent_answer.task == task.id), None
    )
    return None if last is None or last.reason == ratings.WITHDRAWN else last


def _rater_progress(
    connection: Connection,
    request: WebRequest,
    rater: int,
    recent_answers: list[Answer],
    number: int | None,
    batch: int | None,
) -> dict[str, Any]:
    """The work of the rater in the project, or in a batch of it, and what remains for them."""
    project = request.project.id
    counts = _open_task_cache.of_project(request, lambda: tasks.count_open(connection, project))
    answered_count, still_open = tasks.count_answered(connection, project, rater, batch)
    total = sum(counts.values()) if batch is None else counts.get(batch, 0)
    remaining_count = 0 if number is None else max(total - still_open, 1)
    seconds = [
        recent_answer.seconds
        for recent_answer in recent_answers
        if recent_answer.seconds is not None and recent_answer.seconds < 600
    ]
    pace = statistics.median(seconds) if seconds else None
    return {
        "done": answered_count,
        "total": answered_count + remaining_count,
        "mine": answered_count,  # for clients of before, as done was that of all raters
        "pace": pace,
        "left": None if pace is None else pace * remaining_count,
        "last": next(
            (
                recent_answer.task
                for recent_answer in recent_answers
                if recent_answer.task is not None
            ),
            None,
        ),
    }


def _find_task(connection: Connection, request: WebRequest, number: int) -> Task:
    task = tasks.get_task(connection, number)
    if task.project != request.project.id:
        raise not_found("task")
    return task


def _claim_task(connection: Connection, request: WebRequest, number: int, rater: int) -> None:
    """Keep a task for a rater who asks for it by number: one that they had before.

    Managers may have any that is open.
    """
    task = _find_task(connection, request, number)
    if request.role == "rater" and not locked.is_assigned(connection, number, rater):
        raise not_found("task")
    if task.state == "open":
        next_task.claim(connection, number, rater)


def _take_task(
    connection: Connection, request: WebRequest, rater: int, batch: int | None
) -> int | None:
    if batch is not None and batches.get_batch(connection, batch).project != request.project.id:
        raise not_found("batch")
    return next_task.take(connection, request.project.id, rater, batch=batch)


def query_page(request: WebRequest) -> PageReply:
    """All documents of one query that the rater has yet to grade, on one page."""
    with request.store.write() as connection:
        rater = request.rater(connection)
        number = _take_task(connection, request, rater, request.values["batch"])
        first = None if number is None else _find_task(connection, request, number)
        numbers = []
        if first is not None and first.batch.kind in {"rating", "training"}:
            numbers = tasks.tasks_of_query(connection, first.batch.id, first.query.id, rater)
            numbers = [
                task_number
                for task_number in numbers
                if next_task.claim(connection, task_number, rater)
            ]
    with request.store.read() as connection:
        data = make_page_state(connection, request, rater, number, request.values["batch"])
        query_tasks = [_find_task(connection, request, task_number) for task_number in numbers]
        data["tasks"] = [
            task_view(connection, request.store, request.project, task, rater)
            for task in query_tasks
        ]
    extra = {"rating_ids": {task_number: str(uuid4()) for task_number in numbers}}
    return PageReply("query.html", data, extra, images=image_origins(request.project.settings))


def record_rating(request: WebRequest) -> ActionReply:
    """Record a rating, and give the next task: one request, one transaction."""
    fields = request.values
    with request.store.write() as connection:
        rater = request.rater(connection)
        answered = record_answer(connection, request, rater, fields)
        number = _take_task(connection, request, rater, fields["batch"])
        page_state = make_page_state(connection, request, rater, number, fields["batch"])
    result = {"rating_id": answered.identity, "new": answered.new}
    return _next_task_reply(
        request, {**result, "feedback": feedback(answered.task, fields["grade"]), **page_state}
    )


def _next_task_reply(request: WebRequest, data: dict[str, Any]) -> ActionReply:
    batch = request.values.get("batch")
    path = request.at("rate", "query") if request.values.get("list") else request.at("rate")
    path += "" if batch is None else f"?batch={batch}"
    return ActionReply(path, data, "_task.html", {"rating_id": str(uuid4())})


def withdraw_rating(request: WebRequest) -> ActionReply:
    """Take a rating back; its task is shown again."""
    fields = request.values
    with request.store.write() as connection:
        task = _find_task(connection, request, fields["task"])
        rater = request.rater(connection)
        locked.refuse_unassigned(connection, locked.lock_task(connection, task.id), rater)
        identity = fields["rating_id"] or str(uuid4())
        if task.batch.kind in COMPARISON_KINDS:
            preferences.withdraw(connection, task.id, rater, preference_id=identity)
        else:
            ratings.withdraw(connection, task.id, rater, rating_id=identity)
        page_state = make_page_state(connection, request, rater, task.id, fields["batch"])
    return _next_task_reply(request, {"rating_id": identity, "feedback": None, **page_state})


def put_off(request: WebRequest) -> ActionReply:
    """Put a task off until all others are done."""
    with request.store.write() as connection:
        task = _find_task(connection, request, request.values["task"])
        rater = request.rater(connection)
        locked.refuse_unassigned(connection, locked.lock_task(connection, task.id), rater)
        next_task.postpone(connection, task.id, rater)
        number = _take_task(connection, request, rater, request.values["batch"])
        page_state = make_page_state(connection, request, rater, number, request.values["batch"])
    return _next_task_reply(request, {"feedback": None, **page_state})


def history_page(request: WebRequest) -> PageReply:
    """The ratings of the rater, the last first, to look at and change."""
    with request.store.write() as connection:
        rater = request.rater(connection)
    with request.store.read() as connection:
        rater_ratings = ratings.ratings_of_rater(
            connection, request.project.id, rater, before=request.values["before"]
        )
        queries, documents = {}, {}
        for rating in rater_ratings:
            if rating.task is not None:
                task = tasks.get_task(connection, rating.task)
                queries[rating.query] = task.query.text or task.query.query_id
                documents[rating.document] = task.document.doc_id if task.document else ""
        first = request.values["before"] is None
        rater_preferences = _preference_rows(connection, request, rater) if first else []
    rows = [
        {
            "id": rating.id,
            "task": rating.task,
            "query": queries.get(rating.query, ""),
            "doc_id": documents.get(rating.document, ""),
            "grade": rating.grade,
            "reason": rating.reason,
            "comment": rating.comment,
            "at": rating.at,
        }
        for rating in rater_ratings
    ]
    before = rater_ratings[-1].id if rater_ratings else None
    data = {
        "project": request.project.name,
        "ratings": rows,
        "before": before,
        "preferences": rater_preferences,
    }
    return PageReply("history.html", data)


def _preference_rows(
    connection: Connection, request: WebRequest, rater: int
) -> list[dict[str, Any]]:
    """The last preferences of a rater."""
    rows = []
    for preference in preferences.preferences_of_rater(connection, request.project.id, rater):
        query = (
            None if preference.task is None else tasks.get_task(connection, preference.task).query
        )
        rows.append(
            {
                "id": preference.id,
                "task": preference.task,
                "choice": preference.choice,
                "reason": preference.reason,
                "query": "" if query is None else query.text or query.query_id,
                "comment": preference.comment,
                "at": preference.at,
            }
        )
    return rows


def format_duration(seconds: float | None) -> str:
    """Seconds in words, such as ``1 h 05 min``."""
    minutes = round((seconds or 0) / 60)
    return f"{minutes // 60} h {minutes % 60:02d} min" if minutes >= 60 else f"{minutes} min"
