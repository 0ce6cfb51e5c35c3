"""The rating page, and what it sends."""

from __future__ import annotations

import statistics
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from rankgate.store.material import projects
from rankgate.store.rating import answers, batches, locked, next_task, preferences, ratings, tasks
from rankgate.workspace.web.cache import ProjectCache
from rankgate.workspace.web.guidelines import guideline_html
from rankgate.workspace.web.pages.answering import COMPARES, answer, feedback
from rankgate.workspace.web.pages.task_view import REASONS, image_origins, scale_view, task_view
from rankgate.workspace.web.replies import Done, Page, not_found

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from rankgate.store.rating.answers import Answer
    from rankgate.store.rating.tasks import Task
    from rankgate.workspace.web.asked import Asked

_PACE = 20
"""How many of the last ratings the pace is measured by."""

_open_tasks: ProjectCache[dict[int, int]] = ProjectCache()
_scales: ProjectCache[list[dict[str, Any]]] = ProjectCache()


def page(asked: Asked) -> Page:
    """The next task, or one that the rater wants to see again."""
    number, wanted = asked.values["task"], asked.values["batch"]
    with asked.store.write() as connection:
        rater = asked.rater(connection)
        if number is None:
            number = _taken(connection, asked, rater, wanted)
        else:
            _open(connection, asked, number, rater)
    with asked.store.read() as connection:
        data = state(connection, asked, rater, number, wanted)
        current = projects.guideline(connection, asked.project.id)
    guideline = guideline_html(current.text) if current else ""
    data["guideline"] = None if current is None else current.version
    extra = {"guideline_html": guideline, "rating_id": str(uuid4())}
    return Page("rate.html", data, extra, images=image_origins(asked.project.settings))


def state(
    connection: Connection, asked: Asked, rater: int, number: int | None, batch: int | None
) -> dict[str, Any]:
    """What the page shows: the task, the scale, how far the rater is."""
    task = None if number is None else _known(connection, asked, number)
    lately = answers.lately(connection, asked.project.id, rater, _PACE)
    mine = None if task is None else _standing(lately, task)
    view = None
    if task is not None:
        view = task_view(connection, asked.store, asked.project, task, rater, mine)
    return {
        "project": asked.project.name,
        "heading": asked.project.title,
        "task": view,
        "batch": batch,
        "scale": _scales.of_project(asked, lambda: scale_view(connection, asked.project.id)),
        "reasons": [{"reason": key, "label": label} for key, label in REASONS],
        "progress": _progress(connection, asked, rater, lately, number, batch),
    }


def _standing(lately: list[Answer], task: Task) -> Answer | None:
    last = next((each for each in lately if each.task == task.id), None)
    return None if last is None or last.reason == ratings.WITHDRAWN else last


def _progress(
    connection: Connection,
    asked: Asked,
    rater: int,
    lately: list[Answer],
    number: int | None,
    batch: int | None,
) -> dict[str, Any]:
    """What the rater has done in the project, or in a batch of it, and what is left for them."""
    project = asked.project.id
    counts = _open_tasks.of_project(asked, lambda: tasks.open_by_batch(connection, project))
    mine, still_open = tasks.answered(connection, project, rater, batch)
    total = sum(counts.values()) if batch is None else counts.get(batch, 0)
    left = 0 if number is None else max(total - still_open, 1)
    seconds = [each.seconds for each in lately if each.seconds is not None and each.seconds < 600]
    pace = statistics.median(seconds) if seconds else None
    return {
        "done": mine,
        "total": mine + left,
        "mine": mine,  # for clients of before, as done was that of all raters
        "pace": pace,
        "left": None if pace is None else pace * left,
        "last": next((each.task for each in lately if each.task is not None), None),
    }


def _known(connection: Connection, asked: Asked, number: int) -> Task:
    found = tasks.get(connection, number)
    if found.project != asked.project.id:
        raise not_found("task")
    return found


def _open(connection: Connection, asked: Asked, number: int, rater: int) -> None:
    """Keep a task for a rater who asks for it by number: one that they were given before.

    Managers may have any that is open.
    """
    task = _known(connection, asked, number)
    if asked.role == "rater" and not locked.is_assigned(connection, number, rater):
        raise not_found("task")
    if task.state == "open":
        next_task.claim(connection, number, rater)


def _taken(connection: Connection, asked: Asked, rater: int, batch: int | None) -> int | None:
    if batch is not None and batches.get(connection, batch).project != asked.project.id:
        raise not_found("batch")
    return next_task.take(connection, asked.project.id, rater, batch=batch)


def query_page(asked: Asked) -> Page:
    """All documents of one query that the rater has yet to grade, on one page."""
    with asked.store.write() as connection:
        rater = asked.rater(connection)
        number = _taken(connection, asked, rater, asked.values["batch"])
        first = None if number is None else _known(connection, asked, number)
        numbers = []
        if first is not None and first.batch.kind in {"rating", "training"}:
            numbers = tasks.of_query(connection, first.batch.id, first.query.id, rater)
            numbers = [each for each in numbers if next_task.claim(connection, each, rater)]
    with asked.store.read() as connection:
        data = state(connection, asked, rater, number, asked.values["batch"])
        found = [_known(connection, asked, each) for each in numbers]
        data["tasks"] = [
            task_view(connection, asked.store, asked.project, each, rater) for each in found
        ]
    extra = {"rating_ids": {each: str(uuid4()) for each in numbers}}
    return Page("query.html", data, extra, images=image_origins(asked.project.settings))


def rate(asked: Asked) -> Done:
    """Record a rating, and give the next task: one request, one transaction."""
    given = asked.values
    with asked.store.write() as connection:
        rater = asked.rater(connection)
        made = answer(connection, asked, rater, given)
        number = _taken(connection, asked, rater, given["batch"])
        shown = state(connection, asked, rater, number, given["batch"])
    result = {"rating_id": made.identity, "new": made.new}
    return _went_on(asked, {**result, "feedback": feedback(made.task, given["grade"]), **shown})


def _went_on(asked: Asked, data: dict[str, Any]) -> Done:
    batch = asked.values.get("batch")
    to = asked.at("rate", "query") if asked.values.get("list") else asked.at("rate")
    to += "" if batch is None else f"?batch={batch}"
    return Done(to, data, "_task.html", {"rating_id": str(uuid4())})


def withdraw(asked: Asked) -> Done:
    """Take a rating back; its task is shown again."""
    given = asked.values
    with asked.store.write() as connection:
        task = _known(connection, asked, given["task"])
        rater = asked.rater(connection)
        locked.refuse_unassigned(connection, locked.lock(connection, task.id), rater)
        identity = given["rating_id"] or str(uuid4())
        if task.batch.kind in COMPARES:
            preferences.withdraw(connection, task.id, rater, preference_id=identity)
        else:
            ratings.withdraw(connection, task.id, rater, rating_id=identity)
        shown = state(connection, asked, rater, task.id, given["batch"])
    return _went_on(asked, {"rating_id": identity, "feedback": None, **shown})


def later(asked: Asked) -> Done:
    """Put a task off until all others are done."""
    with asked.store.write() as connection:
        task = _known(connection, asked, asked.values["task"])
        rater = asked.rater(connection)
        locked.refuse_unassigned(connection, locked.lock(connection, task.id), rater)
        next_task.put_off(connection, task.id, rater)
        number = _taken(connection, asked, rater, asked.values["batch"])
        shown = state(connection, asked, rater, number, asked.values["batch"])
    return _went_on(asked, {"feedback": None, **shown})


def history(asked: Asked) -> Page:
    """What the rater said, the last first, to be looked at and changed."""
    with asked.store.write() as connection:
        rater = asked.rater(connection)
    with asked.store.read() as connection:
        found = ratings.of_rater(connection, asked.project.id, rater, before=asked.values["before"])
        queries, documents = {}, {}
        for each in found:
            if each.task is not None:
                task = tasks.get(connection, each.task)
                queries[each.query] = task.query.text or task.query.query_id
                documents[each.document] = task.document.doc_id if task.document else ""
        first = asked.values["before"] is None
        chosen = _preferences(connection, asked, rater) if first else []
    rows = [
        {
            "id": each.id,
            "task": each.task,
            "query": queries.get(each.query, ""),
            "doc_id": documents.get(each.document, ""),
            "grade": each.grade,
            "reason": each.reason,
            "comment": each.comment,
            "at": each.at,
        }
        for each in found
    ]
    before = found[-1].id if found else None
    data = {"project": asked.project.name, "ratings": rows, "before": before, "preferences": chosen}
    return Page("history.html", data)


def _preferences(connection: Connection, asked: Asked, rater: int) -> list[dict[str, Any]]:
    """The last preferences of a rater."""
    rows = []
    for each in preferences.of_rater(connection, asked.project.id, rater):
        query = None if each.task is None else tasks.get(connection, each.task).query
        rows.append(
            {
                "id": each.id, "task": each.task, "choice": each.choice, "reason": each.reason,
                "query": "" if query is None else query.text or query.query_id,
                "comment": each.comment, "at": each.at,
            }
        )  # fmt: skip
    return rows


def duration(seconds: float | None) -> str:
    """Seconds in words, such as ``1 h 05 min``."""
    minutes = round((seconds or 0) / 60)
    return f"{minutes // 60} h {minutes % 60:02d} min" if minutes >= 60 else f"{minutes} min"
