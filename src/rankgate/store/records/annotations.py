"""Annotations of a history: deploys, changed judgments, incidents, notes."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING
from uuid import uuid4

import sqlalchemy as sa

from rankgate.core.errors import UsageError
from rankgate.core.frozen import dataclass
from rankgate.store.rows import new_id, now, unknown_error, value_of
from rankgate.store.tables.records import ANNOTATIONS, annotation_facts

if TYPE_CHECKING:
    from sqlalchemy import Connection


@dataclass(frozen=True)
class Annotation:
    """An annotation of a moment in a history.

    Attributes:
        id: the number.
        annotation_id: made by the client, and the same in every retry.
        at: when it happened.
        kind: ``deploy``, ``judgments``, ``incident`` or ``note``.
        text: what.
        metric: only for this metric; None is for all.
        revision: of git, of a deploy.
        recorded_at: when it was written down.
        user: who wrote it, if a user.
        actor: the name of who wrote it.
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
    connection: Connection,
    project: int,
    *,
    at: datetime,
    kind: str,
    text: str,
    metric: str | None = None,
    revision: str = "",
    user: int | None = None,
    actor: str = "",
    annotation_id: str = "",
) -> Annotation:
    """Add an annotation; the same ``annotation_id`` is added once.

    Raises:
        UsageError: no such kind.
    """
    if kind not in ANNOTATIONS:
        problem = f"no kind of annotation {kind!r}; choose {', '.join(ANNOTATIONS)}."
        raise UsageError(problem, code="unknown-kind")
    name = annotation_id or str(uuid4())
    existing = _find_annotation(connection, project, annotation_facts.c.annotation_id == name)
    if existing is not None:
        return existing
    number = new_id(
        connection,
        annotation_facts,
        project=project,
        annotation_id=name,
        at=at,
        kind=kind,
        text=text,
        metric=metric,
        revision=revision,
        recorded_at=now(),
        user=user,
        actor=actor,
    )
    return get_annotation(connection, project, number)


def get_annotation(connection: Connection, project: int, annotation: int) -> Annotation:
    """An annotation of a project by number.

    Raises:
        UsageError: there is none.
    """
    annotation_row = _find_annotation(connection, project, annotation_facts.c.id == annotation)
    if annotation_row is None:
        raise unknown_error("annotation", annotation)
    return annotation_row


def withdraw_annotation(
    connection: Connection,
    project: int,
    annotation: int,
    *,
    user: int | None = None,
    actor: str = "",
) -> None:
    """Withdraw an annotation: it is no longer shown; the row stays.

    Raises:
        UsageError: there is none.
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
    connection: Connection,
    project: int,
    *,
    since: datetime | None = None,
    until: datetime | None = None,
    metric: str | None = None,
) -> list[Annotation]:
    """The annotations of a project by their moment, without withdrawn ones.

    Args:
        connection: of a store.
        project: which project.
        since: from this moment on.
        until: before this moment.
        metric: those of this metric, and those for all metrics.
    """
    withdrawn_ids = sa.select(annotation_facts.c.withdraws).where(
        annotation_facts.c.withdraws.is_not(None)
    )
    statement = sa.select(annotation_facts).where(
        annotation_facts.c.project == project,
        annotation_facts.c.withdraws.is_(None),
        annotation_facts.c.id.not_in(withdrawn_ids),
    )
    if since is not None:
        statement = statement.where(annotation_facts.c.at >= since)
    if until is not None:
        statement = statement.where(annotation_facts.c.at < until)
    if metric is not None:
        statement = statement.where(
            sa.or_(annotation_facts.c.metric == metric, annotation_facts.c.metric.is_(None))
        )
    rows = connection.execute(statement.order_by(annotation_facts.c.at, annotation_facts.c.id))
    return [value_of(Annotation, row) for row in rows]


def _find_annotation(
    connection: Connection, project: int, condition: sa.ColumnElement[bool]
) -> Annotation | None:
    full_condition = sa.and_(
        annotation_facts.c.project == project, annotation_facts.c.withdraws.is_(None), condition
    )
    row = connection.execute(sa.select(annotation_facts).where(full_condition)).first()
    return None if row is None else value_of(Annotation, row)
