"""Annotations of a history, and comments by users and programs.

Annotations are deploys, changed judgments, incidents and notes. Comments are on queries,
documents, records, comparisons and alerts.
"""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING
from uuid import uuid4

import sqlalchemy as sa

from rankgate.core.errors import UsageError
from rankgate.core.frozen import dataclass
from rankgate.store.rows import find_value, list_values, new_id, now, unknown_error, value_of
from rankgate.store.tables.record_tables import ANNOTATIONS, SUBJECTS, annotation_facts, comments

if TYPE_CHECKING:
    from sqlalchemy import Connection


@dataclass(frozen=True)
class Annotation:
    """An annotation of a moment in a history.

    Attributes:
        id: the number.
        annotation_id: an id made by the client, the same in every retry.
        at: the time of the event.
        kind: ``deploy``, ``judgments``, ``incident`` or ``note``.
        text: the text of the comment.
        metric: the metric that the annotation is about; None means all metrics.
        revision: the git revision of a deploy.
        recorded_at: the time when the annotation was recorded.
        user: the user who wrote the annotation; None for a program.
        actor: the name of the author.
    """

    id: int
    annotation_id: str
    at: datetime
    kind: str
    text: str
    metric: str | None
    revision: str
    recorded_at: datetime
    user: int | None
    actor: str


def add_annotation(
    connection: Connection, project: int, *, kind: str, annotation_id: str = "", **more: object
) -> Annotation:
    """Add an annotation; the same ``annotation_id`` is added once.

    The keywords ``more`` are other fields of `Annotation`.

    Raises:
        UsageError: the kind does not exist.
    """
    if kind not in ANNOTATIONS:
        problem = f"no kind of annotation {kind!r}; choose {', '.join(ANNOTATIONS)}."
        raise UsageError(problem, code="unknown-kind")
    name = annotation_id or str(uuid4())
    existing = _find_annotation(connection, project, annotation_facts.c.annotation_id == name)
    if existing is not None:
        return existing
    columns = {"project": project, "annotation_id": name, "kind": kind, "recorded_at": now()}
    return get_annotation(connection, project, new_id(connection, annotation_facts, **columns, **more))


def get_annotation(connection: Connection, project: int, annotation: int) -> Annotation:
    """An annotation of a project by number.

    Raises:
        UsageError: the annotation or comment does not exist.
    """
    annotation_row = _find_annotation(connection, project, annotation_facts.c.id == annotation)
    if annotation_row is None:
        raise unknown_error("annotation", annotation)
    return annotation_row


def withdraw_annotation(
    connection: Connection, project: int, annotation: int, *, user: int | None = None, actor: str = ""
) -> None:
    """Withdraw an annotation: it is hidden, and its row stays.

    Raises:
        UsageError: the annotation or comment does not exist.
    """
    annotation_row = get_annotation(connection, project, annotation)
    new_id(
        connection,
        annotation_facts,
        project=project,
        annotation_id=str(uuid4()),
        at=annotation_row.at,
        kind=annotation_row.kind,
        text=annotation_row.text,
        metric=annotation_row.metric,
        recorded_at=now(),
        user=user,
        actor=actor,
        withdraws=annotation,
    )


def list_annotations(
    connection: Connection, project: int, *, since: datetime | None = None, metric: str | None = None
) -> list[Annotation]:
    """The annotations of a project in the order of time, without withdrawn annotations.

    Args:
        connection: a connection to a store.
        project: the number of the project.
        since: from this moment on.
        metric: only annotations for this metric or for all metrics.
    """
    withdrawn_ids = sa.select(annotation_facts.c.withdraws).where(annotation_facts.c.withdraws.is_not(None))
    statement = sa.select(annotation_facts).where(
        annotation_facts.c.project == project,
        annotation_facts.c.withdraws.is_(None),
        annotation_facts.c.id.not_in(withdrawn_ids),
    )
    if since is not None:
        statement = statement.where(annotation_facts.c.at >= since)
    if metric is not None:
        statement = statement.where(
            sa.or_(annotation_facts.c.metric == metric, annotation_facts.c.metric.is_(None))
        )
    return list_values(
        connection, Annotation, statement.order_by(annotation_facts.c.at, annotation_facts.c.id)
    )


def _find_annotation(
    connection: Connection, project: int, condition: sa.ColumnElement[bool]
) -> Annotation | None:
    full_condition = sa.and_(
        annotation_facts.c.project == project, annotation_facts.c.withdraws.is_(None), condition
    )
    return find_value(connection, Annotation, sa.select(annotation_facts).where(full_condition))


DISCUSSION_PREFIX = "task/"
"""The prefix of the subject of comments on a disputed pair, of kind ``document``."""


@dataclass(frozen=True)
class Comment:
    """A comment of a user or a program.

    Attributes:
        id: the number.
        comment_id: an id made by the client, the same in every retry.
        subject_kind: ``query``, ``document``, ``record``, ``comparison`` or ``alert``.
        subject: the id of the subject, such as the query's id or the record's number.
        text: the comment.
        at: the time of the comment.
        user: the user who wrote the comment; None for a program.
        actor: the author's name at that time.
        withdrawn: True if the comment was withdrawn; its text is then empty.
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


def add_comment(
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
        UsageError: this kind of subject has no comments.
    """
    if subject_kind not in SUBJECTS:
        problem = f"no comments on {subject_kind!r}; choose {', '.join(SUBJECTS)}."
        raise UsageError(problem, code="unknown-kind")
    name = comment_id or str(uuid4())
    existing = _find_comments(connection, project, comments.c.comment_id == name)
    if existing:
        return existing[0]
    number = new_id(
        connection,
        comments,
        project=project,
        comment_id=name,
        subject_kind=subject_kind,
        subject=subject,
        text=text,
        at=now(),
        user=user,
        actor=actor,
    )
    return get_comment(connection, project, number)


def get_comment(connection: Connection, project: int, comment: int) -> Comment:
    """A comment of a project by number.

    Raises:
        UsageError: the annotation or comment does not exist.
    """
    matches = _find_comments(connection, project, comments.c.id == comment)
    if not matches:
        raise unknown_error("comment", comment)
    return matches[0]


def withdraw_comment(
    connection: Connection, project: int, comment: int, *, user: int | None = None, actor: str = ""
) -> Comment:
    """Withdraw a comment: it stays in the list, without its text.

    Raises:
        UsageError: the annotation or comment does not exist.
    """
    comment_row = get_comment(connection, project, comment)
    if not comment_row.withdrawn:
        new_id(
            connection,
            comments,
            project=project,
            comment_id=str(uuid4()),
            subject_kind=comment_row.subject_kind,
            subject=comment_row.subject,
            text="",
            at=now(),
            user=user,
            actor=actor,
            withdraws=comment,
        )
    return get_comment(connection, project, comment)


def list_comments(
    connection: Connection,
    project: int,
    subject_kind: str | None = None,
    subject: str | None = None,
    *,
    most: int = 1_000,
) -> list[Comment]:
    """Comments of a project, or on one subject, the oldest first."""
    condition: sa.ColumnElement[bool] = sa.true()
    if subject_kind is not None:
        condition = sa.and_(condition, comments.c.subject_kind == subject_kind)
    if subject is not None:
        condition = sa.and_(condition, comments.c.subject == subject)
    return _find_comments(connection, project, condition, most)


def count_comments(connection: Connection, project: int, subject_kind: str) -> dict[str, int]:
    """Count the comments on each subject of a kind, without withdrawn comments."""
    withdrawn_ids = sa.select(comments.c.withdraws).where(comments.c.withdraws.is_not(None))
    statement = (
        sa.select(comments.c.subject, sa.func.count().label("n"))
        .where(
            comments.c.project == project,
            comments.c.subject_kind == subject_kind,
            comments.c.withdraws.is_(None),
            comments.c.id.not_in(withdrawn_ids),
        )
        .group_by(comments.c.subject)
    )
    return {row.subject: int(row.n) for row in connection.execute(statement)}


def _find_comments(
    connection: Connection, project: int, condition: sa.ColumnElement[bool], limit: int = 1
) -> list[Comment]:
    withdrawals = comments.alias()
    is_withdrawn = sa.exists().where(withdrawals.c.withdraws == comments.c.id).label("withdrawn")
    full_condition = sa.and_(comments.c.project == project, comments.c.withdraws.is_(None), condition)
    statement = sa.select(comments, is_withdrawn).where(full_condition).order_by(comments.c.id).limit(limit)
    all_comments = []
    for row in connection.execute(statement):
        values = dict(row._mapping)  # noqa: SLF001 - SQLAlchemy's public name
        if row.withdrawn:
            values["text"] = ""
        all_comments.append(value_of(Comment, {**values, "withdrawn": bool(row.withdrawn)}))
    return all_comments
