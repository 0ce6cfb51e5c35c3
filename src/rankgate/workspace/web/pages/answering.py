"""An answer to a task, as a request sends it: recorded once, with the feedback of a training."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from rankgate.core.frozen import dataclass
from rankgate.store.rating import locked, preferences, ratings
from rankgate.store.rows import now
from rankgate.workspace.web.fields import wrong
from rankgate.workspace.web.pages.task_view import swapped
from rankgate.workspace.web.replies import Done, Refused, not_found

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from rankgate.store.rating.locked import LockedTask
    from rankgate.workspace.web.asked import Asked

COMPARES = frozenset({"documents", "lists"})
"""Kinds of batches that ask which of two is better."""

_AHEAD = timedelta(days=1)
"""How far ahead the clock of a client may be."""

MANY = 1_000
"""Answers in one request."""


@dataclass(frozen=True)
class Answered:
    """An answer that was recorded: its task, its id, and whether it is new."""

    task: LockedTask
    identity: str
    new: bool


def answer(connection: Connection, asked: Asked, rater: int, given: Mapping[str, Any]) -> Answered:
    """Record a rating or a preference of a task of the project.

    Raises:
        Refused: no such task in the project; a reason that has another meaning.
        UsageError: the task was not given to them, or its batch is closed; as of
            `ratings.rate` and `preferences.prefer`.
    """
    task = locked.lock(connection, given["task"])
    if task.project != asked.project.id:
        raise not_found("task")
    locked.refuse_unassigned(connection, task, rater)
    values = {
        "reason": given["why"] or given["reason"] if given["grade"] is None else None,
        "comment": given["comment"],
        "seconds": _seconds(given["seconds"]),
        "at": _moment(given["at"]),
    }
    identity = given["rating_id"] or str(uuid4())
    if values["reason"] == ratings.WITHDRAWN:
        raise Refused(400, "invalid-value", "This reason has another meaning; choose another.")
    if task.kind in COMPARES:
        new = _preferred(connection, task, rater, identity, given, values)
    else:
        new = ratings.rate(
            connection, task, rater, rating_id=identity, grade=given["grade"], **values
        ).new
    return Answered(task, identity, new)


def _preferred(
    connection: Connection,
    task: LockedTask,
    rater: int,
    identity: str,
    given: Mapping[str, Any],
    values: dict[str, Any],
) -> bool:
    choice: preferences.Choice = given["choice"] or "none"
    reason = values["reason"] if choice == "none" else None
    _, new = preferences.prefer(
        connection, task.id, rater, preference_id=identity, choice=choice,
        swapped=swapped(task.id, task.kind, rater), **(values | {"reason": reason}),
    )  # fmt: skip
    return new


def _moment(value: datetime | None) -> datetime | None:
    """When an answer was given by the client's clock, which may be ahead, but not by days."""
    if value is not None and value > now() + _AHEAD:
        raise wrong("at", "is in the future")
    return None if value is None else min(value, now())


def _seconds(value: float | None) -> float | None:
    return None if value is None else min(value, 86_400.0)


def feedback(task: LockedTask, grade: float | None) -> dict[str, Any] | None:
    """In a training: the known grade, and why."""
    if task.kind != "training" or task.gold is None:
        return None
    right = grade == task.gold
    return {"grade": task.gold, "why": task.gold_why, "yours": grade, "right": right}


def many(asked: Asked) -> Done:
    """Record many answers in one transaction: all of them, or none if one is refused."""
    done = []
    with asked.store.write() as connection:
        rater = asked.rater(connection)
        for given in asked.values["answers"]:
            made = answer(connection, asked, rater, given)
            done.append(
                {"task": made.task.id, "rating_id": made.identity, "new": made.new,
                 "feedback": feedback(made.task, given["grade"])}
            )  # fmt: skip
    return Done(asked.at("rate"), {"answers": done})
