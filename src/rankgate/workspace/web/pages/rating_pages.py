"""Pages for rating: answer tasks, and list pairs with their answers.

An answer is recorded once, even if the request is repeated; in a training, the reply has feedback.
Managers can filter all pairs with the raters' answers, and withdraw answers so that pairs are rated
again.
"""

from __future__ import annotations

import statistics
from collections.abc import Mapping
from dataclasses import asdict
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from rankgate.core.frozen import dataclass
from rankgate.store.material import projects
from rankgate.store.people import users
from rankgate.store.rating import (
    batch_rules,
    batches,
    next_task,
    preferences,
    rating_answers,
    ratings,
    task_state,
    tasks,
)
from rankgate.store.rows import now
from rankgate.workspace.web.pages.document_card import image_sources
from rankgate.workspace.web.pages.document_view import document_title, read_titles
from rankgate.workspace.web.pages.task_view import REASONS, guideline_html, scale_view, swaps_sides, task_view
from rankgate.workspace.web.replies import ActionReply, PageReply, RequestRefused, not_found
from rankgate.workspace.web.shared_fields import AFTER_FIELD, BATCH, BEFORE_FIELD, ID
from rankgate.workspace.web.web_request import (
    MANAGING_ROLES,
    RATING_ROLES,
    VIEWING_ROLES,
    Field,
    action,
    invalid_value,
    page,
)

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from rankgate.store.rating.batch_rules import OpenBatches
    from rankgate.store.rating.rating_answers import Answer
    from rankgate.store.rating.task_state import LockedTask
    from rankgate.store.rating.tasks import Task
    from rankgate.workspace.web.rendering import PageData, PageRow
    from rankgate.workspace.web.web_request import WebRequest


COMPARISON_KINDS = frozenset({"documents", "lists"})
"""The kinds of batches that ask for the better of two subjects."""

_MAX_AHEAD = timedelta(days=1)
"""The largest time by which a client's clock may be ahead."""

MAX_ANSWERS = 1_000
"""The largest number of answers in one request."""


@dataclass(frozen=True)
class RecordedAnswer:
    """A recorded answer: its task, its id, and True if it is new."""

    task: LockedTask
    identity: str
    new: bool


def record_answer(
    connection: Connection, request: WebRequest, rater: int, fields: Mapping[str, Any]
) -> RecordedAnswer:
    """Record a rating or a preference of a task of the project.

    Raises:
        Refused: the task is not in the project; the reason is reserved for another purpose.
        UsageError: the task was not given to the rater, or its batch is closed; also as in
            `ratings.rate` and `preferences.prefer`.
    """
    task = task_state.lock_task(connection, fields["task"])
    if task.project != request.project.id:
        raise not_found("task")
    task_state.refuse_unassigned(connection, task, rater)
    seconds = fields["seconds"]
    values = {
        "reason": fields["why"] or fields["reason"] if fields["grade"] is None else None,
        "comment": fields["comment"],
        "seconds": None if seconds is None else min(seconds, 86_400.0),
        "at": _limit_moment(fields["at"]),
    }
    identity = fields["rating_id"] or str(uuid4())
    if values["reason"] == ratings.WITHDRAWN:
        raise RequestRefused(400, "invalid-value", "This reason has another meaning; choose another.")
    if task.kind in COMPARISON_KINDS:
        new = _record_preference(connection, task, rater, identity, fields, values)
    else:
        new = ratings.rate(connection, task, rater, rating_id=identity, grade=fields["grade"], **values).new
    return RecordedAnswer(task, identity, new)


def _record_preference(
    connection: Connection,
    task: LockedTask,
    rater: int,
    identity: str,
    fields: Mapping[str, Any],
    values: dict[str, Any],
) -> bool:
    choice: preferences.Choice = fields["choice"] or "none"
    reason = values["reason"] if choice == "none" else None
    _, new = preferences.prefer(
        connection,
        task.id,
        rater,
        preference_id=identity,
        choice=choice,
        swapped=swaps_sides(task.id, task.kind, rater),
        **(values | {"reason": reason}),
    )
    return new


def _limit_moment(value: datetime | None) -> datetime | None:
    """The time of an answer by the client's clock, limited so that it cannot be days ahead."""
    if value is not None and value > now() + _MAX_AHEAD:
        raise invalid_value("at", "is in the future")
    return None if value is None else min(value, now())


def feedback(task: LockedTask, grade: float | None) -> PageRow | None:
    """The known grade with its reason, for a training."""
    if task.kind != "training" or task.gold is None:
        return None
    right = grade == task.gold
    return {"grade": task.gold, "why": task.gold_why, "yours": grade, "right": right}


_TASK = Field("task", "Task", "whole", required=True)

_ANSWER_FIELDS = (
    _TASK,
    ID,
    Field("grade", "Grade", "number", help="On the scale; empty means cannot tell."),
    Field(
        "choice",
        "Which is better",
        "choice",
        choices=(("left", "left"), ("right", "right"), ("equal", "equal")),
    ),
    Field("reason", "Why you cannot tell", most=1_000),
    Field("why", "Another reason", most=1_000),
    Field("comment", "Comment", "long", most=5_000),
    Field("seconds", "Seconds", "number", least=0),
    Field("at", "When", "moment"),
)


@action(
    "rate-many",
    "/projects/{project}/ratings/many",
    RATING_ROLES,
    "Rate many",
    Field(
        "answers",
        kind="rows",
        required=True,
        most=MAX_ANSWERS,
        columns=_ANSWER_FIELDS,
        help="Recorded in one transaction; if one is refused, none is recorded.",
    ),
)
def record_many(request: WebRequest) -> ActionReply:
    """Record many answers in one transaction; if one answer is refused, none are recorded."""
    answers = []
    with request.store.write() as connection:
        rater = request.rater(connection)
        for answer_fields in request.values["answers"]:
            recorded_answer = record_answer(connection, request, rater, answer_fields)
            answers.append(
                {
                    "task": recorded_answer.task.id,
                    "rating_id": recorded_answer.identity,
                    "new": recorded_answer.new,
                    "feedback": feedback(recorded_answer.task, answer_fields["grade"]),
                }
            )
    return ActionReply(request.project_path("rate"), {"answers": answers})


_PACE_RATINGS = 20
"""The number of latest ratings for measuring the pace."""


@page("rate-page", "/projects/{project}/rate", RATING_ROLES, "Rate", Field("task", "Task", "whole"), BATCH)
def rate_page(request: WebRequest) -> PageReply:
    """The page with the next task, or with an earlier task of the rater."""
    number, batch = request.values["task"], request.values["batch"]
    with request.store.write() as connection:
        rater = request.rater(connection)
        open_batches = batch_rules.prepare(connection, request.project.id, rater)
        if number is None:
            number = _take_task(connection, request, rater, batch, open_batches)
        else:
            # an earlier task by its number; managers may claim any open task
            task = _find_task(connection, request, number)
            if request.role == "rater" and not task_state.is_assigned(connection, number, rater):
                raise not_found("task")
            if task.state == "open":
                next_task.claim(connection, number, rater)
    with request.store.read() as connection:
        data = make_page_state(connection, request, rater, number, batch, open_batches)
        guideline_version = projects.guideline(connection, request.project.id)
    guideline = guideline_html(request, guideline_version.text) if guideline_version else ""
    data["guideline"] = None if guideline_version is None else guideline_version.version
    extra = {"guideline_html": guideline, "rating_id": str(uuid4())}
    return PageReply("rate.html", data, extra, images=image_sources(request.project.settings))


def make_page_state(
    connection: Connection,
    request: WebRequest,
    rater: int,
    number: int | None,
    batch: int | None,
    open_batches: OpenBatches,
) -> PageRow:
    """The state of the rating page: task, scale, and the rater's progress."""
    task = None if number is None else _find_task(connection, request, number)
    recent_answers = rating_answers.latest_answers(connection, request.project.id, rater, _PACE_RATINGS)
    rater_answer = None if task is None else _current_answer(recent_answers, task)
    view = None
    if task is not None:
        view = task_view(connection, request, task, rater, rater_answer)
    return {
        "project": request.project.name,
        "heading": request.project.title,
        "task": view,
        "batch": batch,
        "scale": request.cached("scale", lambda: scale_view(connection, request.project.id)),
        "reasons": [{"reason": key, "label": label} for key, label in REASONS],
        "progress": _rater_progress(connection, request, rater, recent_answers, number, batch, open_batches),
        "failed": [vars(result) for result in open_batches.failed],
    }


def _current_answer(recent_answers: list[Answer], task: Task) -> Answer | None:
    last = next((recent_answer for recent_answer in recent_answers if recent_answer.task == task.id), None)
    return None if last is None or last.reason == ratings.WITHDRAWN else last


def _rater_progress(
    connection: Connection,
    request: WebRequest,
    rater: int,
    recent_answers: list[Answer],
    number: int | None,
    batch: int | None,
    open_batches: OpenBatches,
) -> PageRow:
    """The rater's completed and remaining work in the project or in one batch."""
    project = request.project.id
    counts = request.cached("open tasks", lambda: tasks.count_open(connection, project))
    counts = {name: n for name, n in counts.items() if name not in open_batches.barred}
    if open_batches.reserved:
        counts |= dict.fromkeys(open_batches.reserved, 0)
        counts |= batch_rules.count_reserved(connection, rater, sorted(open_batches.reserved))
    answered_count, still_open = _count_answered(connection, request, rater, batch)
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
        "mine": answered_count,  # for old clients; there ``done`` counted all raters
        "pace": pace,
        "left": None if pace is None else pace * remaining_count,
        "last": next(
            (recent_answer.task for recent_answer in recent_answers if recent_answer.task is not None), None
        ),
    }


_MANY_ANSWERS = 1_000
"""The counted answers of a rater, so that a new answer needs no recount."""

_COUNT_SECONDS = 60.0
"""The seconds for which a count is kept; later answers are added to the count."""


def _count_answered(
    connection: Connection, request: WebRequest, rater: int, batch: int | None
) -> tuple[int, int]:
    """The number of tasks that a rater has answered, and the number of these still open."""
    project = request.project.id
    if not rating_answers.has_many_answers(connection, rater, _MANY_ANSWERS):
        return tasks.count_answered(connection, project, rater, batch)

    earlier = request.cache.get(
        ("answered", project, rater, batch),
        # in the transaction of the request, because waiting for a second connection could block for
        # ever
        lambda: rating_answers.count_answered(connection, project, rater, batch),
        changes=True,
        shortest=_COUNT_SECONDS,
    )
    return rating_answers.count_since(connection, project, rater, earlier, batch)


def _find_task(connection: Connection, request: WebRequest, number: int) -> Task:
    task = tasks.get_task(connection, number)
    if task.project != request.project.id:
        raise not_found("task")
    return task


def _take_task(
    connection: Connection, request: WebRequest, rater: int, batch: int | None, open_batches: OpenBatches
) -> int | None:
    if batch is not None and batches.get_batch(connection, batch).project != request.project.id:
        raise not_found("batch")
    return next_task.take(
        connection,
        request.project.id,
        rater,
        batch=batch,
        barred=open_batches.barred,
        reserved=open_batches.reserved,
    )


@page("query", "/projects/{project}/rate/query", RATING_ROLES, "One query's documents", BATCH)
def query_page(request: WebRequest) -> PageReply:
    """The page of all documents of a query that the rater still has to grade."""
    with request.store.write() as connection:
        rater = request.rater(connection)
        open_batches = batch_rules.prepare(connection, request.project.id, rater)
        number = _take_task(connection, request, rater, request.values["batch"], open_batches)
        first = None if number is None else _find_task(connection, request, number)
        numbers = []
        if first is not None and first.batch.id in open_batches.reserved:
            numbers = [first.id]
        elif first is not None and first.batch.kind in {"rating", "training"}:
            numbers = tasks.tasks_of_query(connection, first.batch.id, first.query.id, rater)
            numbers = [
                task_number for task_number in numbers if next_task.claim(connection, task_number, rater)
            ]
    with request.store.read() as connection:
        data = make_page_state(connection, request, rater, number, request.values["batch"], open_batches)
        query_tasks = [_find_task(connection, request, task_number) for task_number in numbers]
        data["tasks"] = [task_view(connection, request, task, rater) for task in query_tasks]
    extra = {"rating_ids": {task_number: str(uuid4()) for task_number in numbers}}
    return PageReply("query.html", data, extra, images=image_sources(request.project.settings))


@action(
    "rate",
    "/projects/{project}/ratings",
    RATING_ROLES,
    "Rate",
    *_ANSWER_FIELDS,
    Field("list", "Go on with the list of the query", "flag"),
    BATCH,
)
def record_rating(request: WebRequest) -> ActionReply:
    """Record a rating and return the next task, in one request and one transaction."""
    fields = request.values
    with request.store.write() as connection:
        rater = request.rater(connection)
        answered = record_answer(connection, request, rater, fields)
        open_batches = batch_rules.prepare(connection, request.project.id, rater)
        number = _take_task(connection, request, rater, fields["batch"], open_batches)
        page_state = make_page_state(connection, request, rater, number, fields["batch"], open_batches)
    result: PageData = {"rating_id": answered.identity, "new": answered.new}
    return _next_task_reply(
        request, {**result, "feedback": feedback(answered.task, fields["grade"]), **page_state}
    )


def _next_task_reply(request: WebRequest, data: PageRow) -> ActionReply:
    batch = request.values.get("batch")
    path = (
        request.project_path("rate", "query") if request.values.get("list") else request.project_path("rate")
    )
    path += "" if batch is None else f"?batch={batch}"
    return ActionReply(path, data, "_task.html", {"rating_id": str(uuid4())})


@action("withdraw", "/projects/{project}/ratings/withdraw", RATING_ROLES, "Undo", _TASK, ID, BATCH)
def withdraw_rating(request: WebRequest) -> ActionReply:
    """Withdraw a rating; its task is shown again."""
    fields = request.values
    with request.store.write() as connection:
        task = _find_task(connection, request, fields["task"])
        rater = request.rater(connection)
        task_state.refuse_unassigned(connection, task_state.lock_task(connection, task.id), rater)
        identity = fields["rating_id"] or str(uuid4())
        if task.batch.kind in COMPARISON_KINDS:
            preferences.withdraw(connection, task.id, rater, preference_id=identity)
        else:
            ratings.withdraw(connection, task.id, rater, rating_id=identity)
        open_batches = batch_rules.prepare(connection, request.project.id, rater)
        page_state = make_page_state(connection, request, rater, task.id, fields["batch"], open_batches)
    return _next_task_reply(request, {"rating_id": identity, "feedback": None, **page_state})


@action("later", "/projects/{project}/ratings/later", RATING_ROLES, "Later", _TASK, BATCH)
def put_off(request: WebRequest) -> ActionReply:
    """Postpone a task until all others are done."""
    with request.store.write() as connection:
        task = _find_task(connection, request, request.values["task"])
        rater = request.rater(connection)
        task_state.refuse_unassigned(connection, task_state.lock_task(connection, task.id), rater)
        next_task.postpone(connection, task.id, rater)
        batch = request.values["batch"]
        open_batches = batch_rules.prepare(connection, request.project.id, rater)
        number = _take_task(connection, request, rater, batch, open_batches)
        page_state = make_page_state(connection, request, rater, number, batch, open_batches)
    return _next_task_reply(request, {"feedback": None, **page_state})


@page("history", "/projects/{project}/history", RATING_ROLES, "Your ratings", BEFORE_FIELD)
def history_page(request: WebRequest) -> PageReply:
    """The page of the rater's ratings, newest first, for review and change."""
    with request.store.write() as connection:
        rater = request.rater(connection)
    with request.store.read() as connection:
        rater_ratings = ratings.ratings_of_rater(
            connection, request.project.id, rater, before=request.values["before"]
        )
        queries, documents, titles = {}, {}, {}
        for rating in rater_ratings:
            if rating.task is not None:
                task = tasks.get_task(connection, rating.task)
                queries[rating.query] = task.query.text or task.query.query_id
                if task.document is not None:
                    documents[rating.document] = task.document.doc_id
                    title = document_title(task.document, request.project.settings)
                    titles[rating.document] = title
        first = request.values["before"] is None
        rater_preferences = _preference_rows(connection, request, rater) if first else []
    rows = [
        {
            "id": rating.id,
            "task": rating.task,
            "query": queries.get(rating.query, ""),
            "doc_id": documents.get(rating.document, ""),
            "title": titles.get(rating.document, ""),
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


def _preference_rows(connection: Connection, request: WebRequest, rater: int) -> list[PageRow]:
    """The latest preferences of a rater."""
    rows: list[PageRow] = []
    for preference in preferences.preferences_of_rater(connection, request.project.id, rater):
        query = None if preference.task is None else tasks.get_task(connection, preference.task).query
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
    """A number of seconds as text, such as ``1 h 05 min``."""
    minutes = round((seconds or 0) / 60)
    return f"{minutes // 60} h {minutes % 60:02d} min" if minutes >= 60 else f"{minutes} min"


_MAX_PAIRS = 50
STATES = ("open", "done", "disputed")
_STATE = Field("state", "State", "choice", choices=tuple((state, state) for state in STATES))


@page(
    "pairs",
    "/projects/{project}/pairs",
    VIEWING_ROLES,
    "Pairs",
    Field("query", "Query", most=2_000),
    Field("batch", "Batch", most=100),
    _STATE,
    Field("rater", "Rater", most=200),
    AFTER_FIELD,
)
def pairs_page(request: WebRequest) -> PageReply:
    """The page of pairs after a number, in a fixed order, so that new ratings do not move pages."""
    fields = request.values
    project = request.project.id
    with request.store.read() as connection:
        people = users.raters_of_project(connection, project)
        pair_filter = _make_filter(connection, request, people)
        page_pairs = rating_answers.list_pairs(
            connection, project, pair_filter, after=fields["after"] or 0, most=_MAX_PAIRS
        )
        batch_names = [batch.name for batch in batches.list_batches(connection, project)]
        keys = [(pair.query_id, pair.doc_id) for pair in page_pairs]
        titles = read_titles(connection, request, keys)
    data = {
        "project": request.project.name,
        "pairs": [
            asdict(pair) | {"title": titles.get((pair.query_id, pair.doc_id), "")} for pair in page_pairs
        ],
        "after": page_pairs[-1].task if len(page_pairs) == _MAX_PAIRS else None,
        "chosen": {name: fields[name] for name in ("query", "batch", "state", "rater")},
        "batches": batch_names,
        "raters": sorted(people),
    }
    return PageReply("pairs.html", data)


def _make_filter(
    connection: Connection, request: WebRequest, people: dict[str, int]
) -> rating_answers.TaskFilter:
    fields = request.values
    batch = None
    if fields["batch"]:
        batch = batches.get_by_name(connection, request.project.id, fields["batch"]).id
    if fields["rater"] and fields["rater"] not in people:
        raise invalid_value("rater", "no rater with this name has rated here")
    rater = people[fields["rater"]] if fields["rater"] else None
    return rating_answers.TaskFilter(batch, fields["state"], fields["query"], rater)


@action(
    "pairs-reset",
    "/projects/{project}/pairs/reset",
    MANAGING_ROLES,
    "Take the grades back",
    Field("rater", "Rater", required=True, most=200),
    Field("batch", "Batch", most=100),
    Field("query", "Query", most=2_000),
    _STATE,
)
def reset_answers(request: WebRequest) -> ActionReply:
    """Withdraw a rater's answers, so that pairs are rated again; the store keeps the ratings."""
    fields = request.values
    project = request.project.id
    with request.store.write() as connection:
        pair_filter = _make_filter(connection, request, users.raters_of_project(connection, project))
        assert pair_filter.rater is not None
        count = rating_answers.withdraw_answers(connection, project, pair_filter.rater, pair_filter)
        filters = {name: fields[name] for name in ("batch", "query", "state") if fields[name]}
        request.record(connection, "ratings.reset", fields["rater"], count=count, **filters)
    return ActionReply(request.project_path("pairs"), {"taken_back": count})
