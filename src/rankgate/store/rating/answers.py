"""The latest answers of a rater: ratings and preferences in one list."""

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
    """The part of a rating or a preference that the rating page needs.

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


def _latest_of_table(table: sa.Table, grade: Any, choice: Any, *more: Any) -> sa.Select[Any]:
    """The last answers of a rater in one table."""
    columns = table.c
    answers = (
        sa.select(
            columns.task,
            grade.label("grade"),
            choice.label("choice"),
            columns.reason,
            columns.comment,
            columns.seconds,
            columns.recorded_at,
            columns.id,
        )
        .where(
            columns.project == sa.bindparam("project"),
            columns.rater == sa.bindparam("rater"),
            *more,
        )
        .order_by(columns.id.desc())
        .limit(sa.bindparam("most"))
        .subquery()
    )
    return sa.select(answers)


_ALL_ANSWERS = sa.union_all(
    _latest_of_table(ratings, ratings.c.grade, sa.null(), ratings.c.final.is_(False)),
    _latest_of_table(preferences, sa.cast(sa.null(), sa.Double), preferences.c.choice),
).subquery()
_LATEST = (
    sa.select(
        _ALL_ANSWERS.c.task,
        _ALL_ANSWERS.c.grade,
        _ALL_ANSWERS.c.choice,
        _ALL_ANSWERS.c.reason,
        _ALL_ANSWERS.c.comment,
        _ALL_ANSWERS.c.seconds,
    )
    .order_by(_ALL_ANSWERS.c.recorded_at.desc(), _ALL_ANSWERS.c.id.desc())
    .limit(sa.bindparam("most"))
)


def latest_answers(connection: Connection, project: int, rater: int, limit: int) -> list[Answer]:
    """The answers of a rater in a project, the last first, without final words."""
    rows = connection.execute(_LATEST, {"project": project, "rater": rater, "most": limit})
    return [Answer(*row) for row in rows]


def efforts(connection: Connection, project: int) -> list[tuple[Any, ...]]:
    """Every answer of a project without withdrawals, final words and trainings.

    Returns:
        Rater, their kind, whether there is a grade or a choice, seconds, and when.
    """
    rating_columns, preference_columns = ratings.c, preferences.c
    names = (raters.c.name, raters.c.kind)
    rating_statement = (
        sa.select(
            *names, rating_columns.grade.is_not(None), rating_columns.seconds, rating_columns.at
        )
        .join(raters, raters.c.id == rating_columns.rater)
        .where(
            rating_columns.project == project,
            rating_columns.final.is_(False),
            rating_columns.training.is_(False),
            _is_kept(rating_columns.reason),
        )
    )
    preference_statement = (
        sa.select(
            *names,
            preference_columns.choice != "none",
            preference_columns.seconds,
            preference_columns.at,
        )
        .join(raters, raters.c.id == preference_columns.rater)
        .where(preference_columns.project == project, _is_kept(preference_columns.reason))
    )
    answers = [tuple(row) for row in connection.execute(rating_statement)]
    return answers + [tuple(row) for row in connection.execute(preference_statement)]


def _is_kept(reason: sa.Column[Any]) -> sa.ColumnElement[bool]:
    return sa.or_(reason.is_(None), reason != WITHDRAWN)
