"""Preferences: which of two documents, or of two lists, is better; facts as ratings are."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Literal

import polars as pl
import sqlalchemy as sa

from rankgate.core.errors import UsageError
from rankgate.core.frozen import dataclass
from rankgate.store.rating.next_task import LEASE
from rankgate.store.rating.ratings import WITHDRAWN
from rankgate.store.rating.settling import settle
from rankgate.store.rows import insert, now, unknown, value_of
from rankgate.store.tables.facts import preferences, raters
from rankgate.store.tables.material import documents, queries
from rankgate.store.tables.results import runs
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
    answer: dict[str, object] = {"state": "answered", "until": None, "choice": better, "at": now()}
    if reason == WITHDRAWN:
        answer |= {"state": "locked", "until": now() + LEASE, "choice": ""}
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


def withdraw(connection: Connection, task: int, rater: int, *, preference_id: str) -> bool:
    """Take a rater's preference back; the task is theirs again. False if it was taken back before.

    Raises:
        UsageError: they have not answered it; the id was used for another preference.
    """
    mine = sa.and_(assignments.c.task == task, assignments.c.rater == rater)
    answered = connection.scalar(sa.select(assignments.c.state).where(mine)) == "answered"
    same = preferences.c.preference_id == preference_id
    if not answered and connection.scalar(sa.select(preferences.c.id).where(same)) is None:
        raise UsageError("there is no rating to take back.", code="nothing-to-undo")
    _, new = prefer(
        connection, task, rater, preference_id=preference_id, choice="none", reason=WITHDRAWN
    )
    return new


def of_rater(
    connection: Connection, project: int, rater: int, *, most: int = 50
) -> list[Preference]:
    """What a rater preferred in a project, the last first."""
    here = sa.and_(preferences.c.project == project, preferences.c.rater == rater)
    chosen = sa.select(preferences).where(here).order_by(preferences.c.id.desc()).limit(most)
    return [value_of(Preference, row) for row in connection.execute(chosen)]


def table(connection: Connection, batch: int) -> pl.DataFrame:
    """The last preference of each rater for each task of a batch, in the order of recording.

    Args:
        connection: of a store.
        batch: of kind ``documents`` or ``lists``.

    Returns:
        ``task``, ``query_id``, ``first`` and ``second`` (documents or runs), ``better`` (``first``,
        ``second``, ``equal`` or ``none``), ``on_left`` (which of them was shown on the left),
        ``rater``, ``reason``, ``comment``, ``seconds``, ``at``.
    """
    two = [documents.alias(), documents.alias()]
    lists = [runs.alias(), runs.alias()]
    names = [
        sa.func.coalesce(document.c.doc_id, run.c.name)
        for document, run in zip(two, lists, strict=True)
    ]
    facts = preferences.c
    chosen = (
        sa.select(
            tasks.c.id, queries.c.query_id, *names, tasks.c.subject, facts.left, facts.right,
            facts.choice, raters.c.name, facts.reason, facts.comment, facts.seconds, facts.at,
        )
        .select_from(preferences)
        .join(tasks, tasks.c.id == facts.task)
        .join(queries, queries.c.id == tasks.c.query)
        .join(raters, raters.c.id == facts.rater)
        .outerjoin(two[0], two[0].c.id == tasks.c.document)
        .outerjoin(two[1], two[1].c.id == tasks.c.other_document)
        .outerjoin(lists[0], lists[0].c.id == tasks.c.run)
        .outerjoin(lists[1], lists[1].c.id == tasks.c.other_run)
        .where(tasks.c.batch == batch)
        .order_by(facts.id)
    )  # fmt: skip
    last: dict[tuple[int, str], tuple[object, ...]] = {}
    for task, query, one, other, subject, left, right, choice, rater, *more in connection.execute(
        chosen
    ):
        last.pop((task, rater), None)
        if more[0] != WITHDRAWN:
            beginning = subject.partition("|")[0]
            chosen_side = {"left": left, "right": right}.get(choice)
            better = choice if chosen_side is None else (
                "first" if chosen_side == beginning else "second")  # fmt: skip
            on_left = "first" if left == beginning else "second"
            last[task, rater] = (task, query, one, other, better, on_left, rater, *more)
    return pl.DataFrame(list(last.values()), _TABLE, orient="row")


_TABLE: dict[str, pl.DataType | type[pl.DataType]] = {
    "task": pl.Int64, "query_id": pl.String, "first": pl.String, "second": pl.String,
    "better": pl.String, "on_left": pl.String, "rater": pl.String, "reason": pl.String,
    "comment": pl.String, "seconds": pl.Float64, "at": pl.Datetime("us", "UTC"),
}  # fmt: skip


def listed(connection: Connection, project: int, *, after: int = 0) -> list[Preference]:
    """Every preference of a project after a number, in the order in which it was recorded."""
    here = sa.and_(preferences.c.project == project, preferences.c.id > after)
    chosen = sa.select(preferences).where(here).order_by(preferences.c.id)
    return [value_of(Preference, row) for row in connection.execute(chosen)]
