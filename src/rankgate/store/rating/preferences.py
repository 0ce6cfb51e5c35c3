"""Preferences between two documents or two lists; like ratings, rows are only added."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal

import polars as pl
import sqlalchemy as sa

from rankgate.core.errors import UsageError
from rankgate.core.frozen import dataclass
from rankgate.store.rating.next_task import LEASE
from rankgate.store.rating.ratings import WITHDRAWN
from rankgate.store.rating.task_state import require_answered, settle
from rankgate.store.rows import insert, list_values, now, unknown_error, value_of
from rankgate.store.tables.model_tables import runs
from rankgate.store.tables.rating_tables import assignments, documents, preferences, queries, raters, tasks

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from rankgate.core.value_types import Schema

Choice = Literal["left", "right", "equal", "none"]
"""The choice of a rater; ``none``: the rater cannot tell."""

_CONTENT = ("task", "rater", "left", "right", "choice", "reason", "comment", "seconds")


@dataclass(frozen=True)
class Preference:
    """One stored preference; further fields as in `Rating`.

    Attributes:
        left, right: the code of the subject on each side, as in the task (``d12``, ``r3``).
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
    **more: Any,
) -> tuple[Preference, bool]:
    """Record a preference; a rater's later preference for the task corrects the earlier one.

    Args:
        connection: a connection to a store, for writing.
        task: a task in a batch of kind ``documents`` or ``lists``.
        rater: the number of the rater.
        preference_id: an id made by the client, the same in every retry.
        choice: the better side.
        swapped: True if the second subject was shown on the left.
        reason: the reason why the rater cannot choose; required with ``none``.
        more: other fields of `Preference`; the time is now by default.

    Returns:
        The preference, and True if it is new.

    Raises:
        UsageError: the id was used for another preference; the task does not exist; the reason is
            missing.
    """
    if choice == "none" and not reason:
        raise UsageError("give a choice, or a reason for not choosing.", code="missing-grade")
    row = connection.execute(sa.select(tasks).where(tasks.c.id == task).with_for_update()).first()
    if row is None or "|" not in row.subject:
        raise unknown_error("task", task)
    first, _, second = row.subject.partition("|")
    left, right = (second, first) if swapped else (first, second)
    is_rater_task = sa.and_(preferences.c.task == task, preferences.c.rater == rater)
    last_preference = (
        sa.select(preferences.c.preference_id).where(is_rater_task).order_by(preferences.c.id.desc()).limit(1)
    )
    values = {
        "preference_id": preference_id,
        "project": row.project,
        "task": task,
        "query": row.query,
        "rater": rater,
        "left": left,
        "right": right,
        "choice": choice,
        "reason": reason,
        "recorded_at": now(),
        "corrects": connection.scalar(last_preference),
        **more,
        "at": more.get("at") or now(),
    }
    statement = (
        insert(connection, preferences)
        .values(values)
        .on_conflict_do_nothing(index_elements=["preference_id"])
    )
    new = connection.execute(statement.returning(preferences)).first()
    if new is None:
        return _stored_preference(connection, values), False
    better_side = {"left": left, "right": right}.get(choice, choice)
    answer: dict[str, object] = {"state": "answered", "until": None, "choice": better_side, "at": now()}
    if reason == WITHDRAWN:
        answer |= {"state": "locked", "until": now() + LEASE, "choice": ""}
    upsert = insert(connection, assignments).values(task=task, rater=rater, **answer)
    connection.execute(upsert.on_conflict_do_update(index_elements=["task", "rater"], set_=answer))
    settle(connection, task)
    return value_of(Preference, new), True


def _stored_preference(connection: Connection, values: dict[str, object]) -> Preference:
    is_same_id = preferences.c.preference_id == values["preference_id"]
    stored = value_of(Preference, connection.execute(sa.select(preferences).where(is_same_id)).one())
    differences = [name for name in _CONTENT if getattr(stored, name) != values.get(name)]
    if differences:
        raise UsageError(
            f"the id {stored.preference_id!r} was used for another preference; a new one needs a new id.",
            code="rating-conflict",
        )
    return stored


def withdraw(connection: Connection, task: int, rater: int, *, preference_id: str) -> bool:
    """Withdraw a preference and give its task back to the rater; False if already withdrawn.

    Raises:
        UsageError: the rater has not answered the task; the id was used for another preference.
    """
    require_answered(connection, task, rater, preferences.c.preference_id == preference_id)
    _, new = prefer(connection, task, rater, preference_id=preference_id, choice="none", reason=WITHDRAWN)
    return new


def preferences_of_rater(
    connection: Connection, project: int, rater: int, *, most: int = 50
) -> list[Preference]:
    """The preferences of a rater in a project, newest first."""
    condition = sa.and_(preferences.c.project == project, preferences.c.rater == rater)
    statement = sa.select(preferences).where(condition).order_by(preferences.c.id.desc()).limit(most)
    return list_values(connection, Preference, statement)


def preferences_table(connection: Connection, batch: int) -> pl.DataFrame:
    """The last preference of each rater for each task of a batch, in the order of recording.

    Args:
        connection: a connection to a store.
        batch: a batch of kind ``documents`` or ``lists``.

    Returns:
        ``task``, ``query_id``, ``first`` and ``second`` (documents or runs), ``better`` (``first``,
        ``second``, ``equal`` or ``none``), ``on_left`` (the subject shown on the left),
        ``rater``, ``reason``, ``comment``, ``seconds``, ``at``.
    """
    document_tables = [documents.alias(), documents.alias()]
    run_tables = [runs.alias(), runs.alias()]
    names = [
        sa.func.coalesce(document.c.doc_id, run.c.name)
        for document, run in zip(document_tables, run_tables, strict=True)
    ]
    facts = preferences.c
    statement = (
        sa.select(
            tasks.c.id,
            queries.c.query_id,
            *names,
            tasks.c.subject,
            facts.left,
            facts.right,
            facts.choice,
            raters.c.name,
            facts.reason,
            facts.comment,
            facts.seconds,
            facts.at,
        )
        .select_from(preferences)
        .join(tasks, tasks.c.id == facts.task)
        .join(queries, queries.c.id == tasks.c.query)
        .join(raters, raters.c.id == facts.rater)
        .outerjoin(document_tables[0], document_tables[0].c.id == tasks.c.document)
        .outerjoin(document_tables[1], document_tables[1].c.id == tasks.c.other_document)
        .outerjoin(run_tables[0], run_tables[0].c.id == tasks.c.run)
        .outerjoin(run_tables[1], run_tables[1].c.id == tasks.c.other_run)
        .where(tasks.c.batch == batch)
        .order_by(facts.id)
    )
    last: dict[tuple[int, str], tuple[object, ...]] = {}
    for task, query, first, second, subject, left, right, choice, rater, *more in connection.execute(
        statement
    ):
        last.pop((task, rater), None)
        if more[0] != WITHDRAWN:
            first_side = subject.partition("|")[0]
            chosen_side = {"left": left, "right": right}.get(choice)
            better = choice if chosen_side is None else ("first" if chosen_side == first_side else "second")
            on_left = "first" if left == first_side else "second"
            last[task, rater] = (task, query, first, second, better, on_left, rater, *more)
    return pl.DataFrame(list(last.values()), _TABLE, orient="row")


_TABLE: Schema = {
    "task": pl.Int64,
    "query_id": pl.String,
    "first": pl.String,
    "second": pl.String,
    "better": pl.String,
    "on_left": pl.String,
    "rater": pl.String,
    "reason": pl.String,
    "comment": pl.String,
    "seconds": pl.Float64,
    "at": pl.Datetime("us", "UTC"),
}
