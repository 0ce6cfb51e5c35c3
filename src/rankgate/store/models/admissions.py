"""Admissions of models: by evidence, and the last one counts."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

import sqlalchemy as sa

from rankgate.core.frozen import dataclass
from rankgate.store.rows import new_id, now, value_of
from rankgate.store.tables.facts import ratings
from rankgate.store.tables.models import admissions

if TYPE_CHECKING:
    from sqlalchemy import Connection


@dataclass(frozen=True)
class Admission:
    """An admission of a model in a project, or its end.

    Attributes:
        id: the number.
        rater: the model.
        verdict: ``pass``, ``fail``, ``inconclusive``; ``withdrawn`` by a manager.
        result: the number of the result that holds the evidence.
        last_rating: the number of the last rating that the store had then.
        at: when.
        user: by whom.
    """

    id: int
    rater: int
    verdict: str
    result: int | None
    last_rating: int
    at: datetime
    user: int | None


def record_admission(
    connection: Connection,
    project: int,
    rater: int,
    verdict: str,
    *,
    result: int | None = None,
    user: int | None = None,
) -> Admission:
    """Add an admission, or its end."""
    last = sa.select(sa.func.max(ratings.c.id)).where(ratings.c.project == project)
    number = new_id(
        connection,
        admissions,
        project=project,
        rater=rater,
        verdict=verdict,
        result=result,
        last_rating=connection.scalar(last) or 0,
        at=now(),
        user=user,
    )
    row = connection.execute(sa.select(admissions).where(admissions.c.id == number)).one()
    return value_of(Admission, row)


def admissions_by_rater(connection: Connection, project: int) -> dict[int, Admission]:
    """The last admission of each model of a project, by the number of its rater."""
    statement = sa.select(admissions).where(admissions.c.project == project)
    rows = connection.execute(statement.order_by(admissions.c.id))
    return {row.rater: value_of(Admission, row) for row in rows}


def admitted_raters(connection: Connection, project: int) -> frozenset[int]:
    """The models whose ratings count in a project."""
    last_admissions = admissions_by_rater(connection, project)
    return frozenset(
        rater for rater, admission in last_admissions.items() if admission.verdict == "pass"
    )
