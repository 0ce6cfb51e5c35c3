"""An answer to a task, as a request sends it: recorded once, with the feedback of a training."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from rankgate.core.frozen import dataclass
from rankgate.store.rating import locked, preferences, ratings
from rankgate.store.rows import now
from rankgate.workspace.web.fields import invalid_value
from rankgate.workspace.web.pages.task_view import swaps_sides
from rankgate.workspace.web.replies import ActionReply, RequestRefused, not_found

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from rankgate.store.rating.locked import LockedTask
    from rankgate.workspace.web.asked import WebRequest

COMPARISON_KINDS = frozenset({"documents", "lists"})
"""Kinds of batches that ask which of two is better."""

_MAX_AHEAD = timedelta(days=1)
"""The time by which the clock of a client may be ahead."""

MAX_ANSWERS = 1_000
"""Answers in one request."""


@dataclass(frozen=True)
class RecordedAnswer:
    """An answer that was recorded: its task, its id, and whether it is new."""

    task: LockedTask
    identity: str
    new: bool


def record_answer(
    connection: Connection, request: WebRequest, rater: int, fields: Mapping[str, Any]
) -> RecordedAnswer:
    """Record a rating or a preference of a task of the project.

    Raises:
        Refused: no such task in the project; a reason that has another meaning.
        UsageError: the task was not given to them, or its batch is closed; as of
            `ratings.rate` and `preferences.prefer`.
    """
    task = locked.lock_task(connection, fields["task"])
    if task.project != request.project.id:
        raise not_found("task")
    locked.refuse_unassigned(connection, task, rater)
    values = {
        "reason": fields["why"] or fields["reason"] if fields["grade"] is None else None,
        "comment": fields["comment"],
        "seconds": _limit_seconds(fields["seconds"]),
        "at": _limit_moment(fields["at"]),
    }
    identity = fields["rating_id"] or str(uuid4())
    if values["reason"] == ratings.WITHDRAWN:
        raise RequestRefused(
            400, "invalid-value", "This reason has another meaning; choose another."
        )
    if task.kind in COMPARISON_KINDS:
        new = _record_preference(connection, task, rater, identity, fields, values)
    else:
        new = ratings.rate(
            connection, task, rater, rating_id=identity, grade=fields["grade"], **values
        ).new
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
    """The time of an answer by the client's clock, which may be ahead, but not by days."""
    if value is not None and value > now() + _MAX_AHEAD:
        raise invalid_value("at", "is in the future")
    return None if value is None else min(value, now())


def _limit_seconds(value: float | None) -> float | None:
    return None if value is None else min(value, 86_400.0)


def feedback(task: LockedTask, grade: float | None) -> dict[str, Any] | None:
    """In a training: the known grade, with its reason."""
    if task.kind != "training" or task.gold is None:
        return None
    right = grade == task.gold
    return {"grade": task.gold, "why": task.gold_why, "yours": grade, "right": right}


def record_many(request: WebRequest) -> ActionReply:
    """Record many answers in one transaction: all of them, or none if one is refused."""
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
    return ActionReply(request.at("rate"), {"answers": answers})
