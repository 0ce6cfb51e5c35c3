"""Comments of people on queries, documents, records, comparisons and alerts."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING
from uuid import uuid4

import sqlalchemy as sa

from rankgate.core.errors import UsageError
from rankgate.core.frozen import dataclass
from rankgate.store.rows import new_id, now, unknown, value_of
from rankgate.store.tables.records import SUBJECTS, comments

if TYPE_CHECKING:
    from sqlalchemy import Connection


@dataclass(frozen=True)
class Comment:
    """What somebody said.

    Attributes:
        id: the number.
        comment_id: made by the client, and the same in every retry.
        subject_kind: ``query``, ``document``, ``record``, ``comparison`` or ``alert``.
        subject: which, such as the id of the query or the number of the record.
        text: what is said.
        at: when.
        user: who, if a user.
        actor: the name of who said it then.
        withdrawn: whether it was taken back; its text is empty then.
    """

    id: int
    comment_id: str
    subject_kind: str
    subject: str
    text: str
    at: datetime
    user: int | None
    actor: str
    withdrawn: bool


def add(
    connection: Connection,
    project: int,
    subject_kind: str,
    subject: str,
    text: str,
    *,
    user: int | None = None,
    actor: str = "",
    comment_id: str = "",
) -> Comment:
    """Add a comment; the same ``comment_id`` is added once.

    Raises:
        UsageError: nothing of this kind is commented on.
    """
    if subject_kind not in SUBJECTS:
        problem = f"no comments on {subject_kind!r}; choose {', '.join(SUBJECTS)}."
        raise UsageError(problem, code="unknown-kind")
    name = comment_id or str(uuid4())
    known = _found(connection, project, comments.c.comment_id == name)
    if known:
        return known[0]
    number = new_id(
        connection, comments, project=project, comment_id=name, subject_kind=subject_kind,
        subject=subject, text=text, at=now(), user=user, actor=actor,
    )  # fmt: skip
    return get(connection, project, number)


def get(connection: Connection, project: int, comment: int) -> Comment:
    """A comment of a project by number.

    Raises:
        UsageError: there is none.
    """
    found = _found(connection, project, comments.c.id == comment)
    if not found:
        raise unknown("comment", comment)
    return found[0]


def withdraw(
    connection: Connection, project: int, comment: int, *, user: int | None = None, actor: str = ""
) -> Comment:
    """Take a comment back: that there was one is still shown, its text is not.

    Raises:
        UsageError: there is none.
    """
    found = get(connection, project, comment)
    if not found.withdrawn:
        new_id(
            connection, comments, project=project, comment_id=str(uuid4()),
            subject_kind=found.subject_kind, subject=found.subject, text="", at=now(), user=user,
            actor=actor, withdraws=comment,
        )  # fmt: skip
    return get(connection, project, comment)


def listed(
    connection: Connection,
    project: int,
    subject_kind: str | None = None,
    subject: str | None = None,
    *,
    most: int = 1_000,
) -> list[Comment]:
    """Comments of a project, or on one subject, the oldest first."""
    which: sa.ColumnElement[bool] = sa.true()
    if subject_kind is not None:
        which = sa.and_(which, comments.c.subject_kind == subject_kind)
    if subject is not None:
        which = sa.and_(which, comments.c.subject == subject)
    return _found(connection, project, which, most)


def counts(connection: Connection, project: int, subject_kind: str) -> dict[str, int]:
    """How many comments each subject of a kind has, without those taken back."""
    gone = sa.select(comments.c.withdraws).where(comments.c.withdraws.is_not(None))
    chosen = (
        sa.select(comments.c.subject, sa.func.count().label("n"))
        .where(
            comments.c.project == project, comments.c.subject_kind == subject_kind,
            comments.c.withdraws.is_(None), comments.c.id.not_in(gone),
        )
        .group_by(comments.c.subject)
    )  # fmt: skip
    return {row.subject: int(row.n) for row in connection.execute(chosen)}


def _found(
    connection: Connection, project: int, which: sa.ColumnElement[bool], most: int = 1
) -> list[Comment]:
    gone = comments.alias()
    back = sa.exists().where(gone.c.withdraws == comments.c.id).label("withdrawn")
    here = sa.and_(comments.c.project == project, comments.c.withdraws.is_(None), which)
    chosen = sa.select(comments, back).where(here).order_by(comments.c.id).limit(most)
    found = []
    for row in connection.execute(chosen):
        values = dict(row._mapping)  # noqa: SLF001 - SQLAlchemy's public name
        if row.withdrawn:
            values["text"] = ""
        found.append(value_of(Comment, {**values, "withdrawn": bool(row.withdrawn)}))
    return found
