"""What a rater answered lately: ratings and preferences in one list."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

from rankgate.core.frozen import dataclass
from rankgate.store.rating.ratings import WITHDRAWN
from rankgate.store.tables.facts import preferences, raters, ratings

if TYPE_CHECKING:
    from sqlalchemy import Connection


@dataclass(frozen=True)
class Answer:
    """What the rating page needs of a rating or a preference.

    Attributes:
        task: the number.
        grade: of a rating.
        choice: the side that a preference is for, as it was shown.
        reason, comment, seconds: what else is known.
    """

    task: int | None
    grade: float | None
    choice: str | None
    reason: str | None
    comment: str | None
    seconds: float | None


def _last(table: sa.Table, grade: Any, choice: Any, *more: Any) -> sa.Select[Any]:
    """The last answers of a rater in one table."""
    own = table.c
    chosen = (
        sa.select(own.task, grade.label("grade"), choice.label("choice"), own.reason, own.comment,
                  own.seconds, own.recorded_at, own.id)
        .where(own.project == sa.bindparam("project"), own.rater == sa.bindparam("rater"), *more)
        .order_by(own.id.desc())
        .limit(sa.bindparam("most"))
        .subquery()
    )  # fmt: skip
    return sa.select(chosen)


_BOTH = sa.union_all(
    _last(ratings, ratings.c.grade, sa.null(), ratings.c.final.is_(False)),
    _last(preferences, sa.cast(sa.null(), sa.Double), preferences.c.choice),
).subquery()
_LATELY = (
    sa.select(_BOTH.c.task, _BOTH.c.grade, _BOTH.c.choice, _BOTH.c.reason, _BOTH.c.comment,
              _BOTH.c.seconds)
    .order_by(_BOTH.c.recorded_at.desc(), _BOTH.c.id.desc())
    .limit(sa.bindparam("most"))
)  # fmt: skip


def lately(connection: Connection, project: int, rater: int, most: int) -> list[Answer]:
    """What a rater answered in a project, the last first, without final words."""
    found = connection.execute(_LATELY, {"project": project, "rater": rater, "most": most})
    return [Answer(*row) for row in found]


def efforts(connection: Connection, project: int) -> list[tuple[Any, ...]]:
    """Every answer of a project without withdrawals, final words and trainings.

    Returns:
        Rater, their kind, whether there is a grade or a choice, seconds, and when.
    """
    own, other = ratings.c, preferences.c
    names = (raters.c.name, raters.c.kind)
    rated = (
        sa.select(*names, own.grade.is_not(None), own.seconds, own.at)
        .join(raters, raters.c.id == own.rater)
        .where(
            own.project == project, own.final.is_(False), own.training.is_(False), _kept(own.reason)
        )
    )
    preferred = (
        sa.select(*names, other.choice != "none", other.seconds, other.at)
        .join(raters, raters.c.id == other.rater)
        .where(other.project == project, _kept(other.reason))
    )
    found = [tuple(row) for row in connection.execute(rated)]
    return found + [tuple(row) for row in connection.execute(preferred)]


def _kept(reason: sa.Column[Any]) -> sa.ColumnElement[bool]:
    return sa.or_(reason.is_(None), reason != WITHDRAWN)
