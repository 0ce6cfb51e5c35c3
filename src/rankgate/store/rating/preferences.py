"""Preferences: which of two documents, or of two lists, is better; facts as ratings are."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Literal

import sqlalchemy as sa

from rankgate.errors import UsageError
from rankgate.store.rating.settling import settle
from rankgate.store.rows import insert, now, unknown, value_of
from rankgate.store.tables.facts import preferences
from rankgate.store.tables.work import assignments, tasks

if TYPE_CHECKING:
    from sqlalchemy import Connection

Choice = Literal["left", "right", "equal", "none"]
"""``none``: the rater cannot tell."""

_CONTENT = ("task", "rater", "left", "right", "choice", "reason", "comment", "seconds")


@dataclass(frozen=True)
class Preference:
    """One preference as the store has it; fields as of a `Rating`.

    Attributes:
        left, right: what was on each side, as the subject of the task names it (``d12``, ``r3``).
        choice: the side that is better.
    """

    id: int
    preference_id: str
    project: int
    task: int | None
    query: int
    rater: int
    left: str
    right: str
    choice: str
    reason: str | None
    comment: str | None
    seconds: float | None
    guideline: str | None
    at: datetime | None
    recorded_at: datetime
    corrects: str | None


def prefer(
    connection: Connection,
    task: int,
    rater: int,
    *,
    preference_id: str,
    choice: Choice,
    swapped: bool = False,
    reason: str | None = None,
    comment: str | None = None,
    seconds: float | None = None,
    guideline: str | None = None,
    at: datetime | None = None,
) -> tuple[Preference, bool]:
    """Record a preference; the next one of a rater for the task corrects the one before.

    Args:
        connection: of a store, to write.
        task: of a batch of kind ``documents`` or ``lists``.
        rater: who.
        preference_id: made by the client, and the same in every retry.
        choice: the better side.
        swapped: whether the second one was shown on the left.
        reason: why the rater cannot tell; needed with ``none``.
        comment: what else they say.
        seconds: how long it took.
        guideline: the version that they followed.
        at: when, by the client's clock; by default now.

    Returns:
        The preference, and whether it is new.

    Raises:
        UsageError: the id was used for another preference; no such task; no reason.
    """
    if choice == "none" and not reason:
        raise UsageError("give a choice, or a reason why there is none.", code="missing-grade")
    row = connection.execute(sa.select(tasks).where(tasks.c.id == task).with_for_update()).first()
    if row is None or "|" not in row.subject:
        raise unknown("task", task)
    one, _, other = row.subject.partition("|")
    left, right = (other, one) if swapped else (one, other)
    mine = sa.and_(preferences.c.task == task, preferences.c.rater == rater)
    before = sa.select(preferences.c.preference_id).where(mine).order_by(
        preferences.c.id.desc()).limit(1)  # fmt: skip
    values = {
        "preference_id": preference_id, "project": row.project, "task": task, "query": row.query,
        "rater": rater, "left": left, "right": right, "choice": choice, "reason": reason,
        "comment": comment, "seconds": seconds, "guideline": guideline, "at": at or now(),
        "recorded_at": now(), "corrects": connection.scalar(before),
    }  # fmt: skip
    made = insert(connection, preferences).values(values).on_conflict_do_nothing(
        index_elements=["preference_id"]
    )  # fmt: skip
    new = connection.execute(made.returning(preferences)).first()
    if new is None:
        return _same(connection, values), False
    better = {"left": left, "right": right}.get(choice, choice)
    answer = {"state": "answered", "until": None, "choice": better, "at": now()}
    filled = insert(connection, assignments).values(task=task, rater=rater, **answer)
    connection.execute(filled.on_conflict_do_update(index_elements=["task", "rater"], set_=answer))
    settle(connection, task)
    return value_of(Preference, new), True


def _same(connection: Connection, values: dict[str, object]) -> Preference:
    same = preferences.c.preference_id == values["preference_id"]
    found = value_of(Preference, connection.execute(sa.select(preferences).where(same)).one())
    other = [name for name in _CONTENT if getattr(found, name) != values[name]]
    if other:
        raise UsageError(
            f"the id {found.preference_id!r} was used for another preference; a new one needs a "
            "new id.",
            code="rating-conflict",
        )
    return found


def listed(connection: Connection, project: int, *, after: int = 0) -> list[Preference]:
    """Every preference of a project after a number, in the order in which it was recorded."""
    here = sa.and_(preferences.c.project == project, preferences.c.id > after)
    chosen = sa.select(preferences).where(here).order_by(preferences.c.id)
    return [value_of(Preference, row) for row in connection.execute(chosen)]
