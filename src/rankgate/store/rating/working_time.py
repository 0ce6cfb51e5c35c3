"""The working time of raters by week, without idle time, and their pace."""

from __future__ import annotations

from datetime import datetime
from statistics import median
from typing import TYPE_CHECKING

import polars as pl
import sqlalchemy as sa

from rankgate.core.frozen import dataclass
from rankgate.store.rating.ratings import WITHDRAWN, with_raters
from rankgate.store.rows import MOMENT, last_number, read_table
from rankgate.store.tables.rating_tables import answer_counts, batches, preferences, raters, ratings, tasks

if TYPE_CHECKING:
    from sqlalchemy import Connection


def work_state(connection: Connection, project: int) -> tuple[int, ...]:
    """The count and the last numbers of a project's answers, which change when the work changes."""
    rating_count = sa.select(sa.func.sum(answer_counts.c.ratings)).where(answer_counts.c.project == project)
    last_numbers = (last_number(table, project) for table in (ratings, preferences))
    return tuple(int(connection.scalar(statement) or 0) for statement in (rating_count, *last_numbers))


_SCHEMA = pl.Schema(
    {
        "rater": pl.Int64(),
        "week": pl.Date(),
        "answers": pl.Int64(),
        "without_grade": pl.Int64(),
        "hours": pl.Float64(),
        "idle": pl.Int64(),
        "unknown": pl.Int64(),
    }
)


def work_by_week(connection: Connection, project: int) -> pl.DataFrame:
    """The work of people in a project, by week: a row for each rater and week.

    Every answer counts, including corrections, trainings and repeated pairs. Withdrawals and final
    decisions do not count.

    Returns:
        ``week`` (its Monday), ``rater``, ``answers``, ``without_grade``, ``hours`` (with idle
        time cut), ``idle`` (answers that were cut), ``unknown`` (answers without a time),
        ``known`` (answers to questions with known grades) and ``right`` (how many of these match).
    """
    columns = answer_counts.c
    statement = (
        sa.select(
            columns.rater,
            columns.week,
            sa.cast(sa.func.sum(columns.answers), sa.BigInteger),
            sa.cast(sa.func.sum(columns.without_grade), sa.BigInteger),
            sa.func.sum(columns.active_seconds) / 3600,
            sa.cast(sa.func.sum(columns.idle), sa.BigInteger),
            sa.cast(sa.func.sum(columns.unknown), sa.BigInteger),
        )
        .where(columns.project == project, columns.batch != 0, columns.answers > 0)
        .group_by(columns.rater, columns.week)
    )
    work = with_raters(connection, read_table(connection, statement, _SCHEMA))
    return (
        work.filter(pl.col("kind") == "person")
        .join(_known_answers(connection, project), on=["rater", "week"], how="left")
        .select("week", "rater", *list(_SCHEMA)[2:], pl.col("known", "right").fill_null(0))
        .sort(["week", "rater"], descending=[True, False])
    )


def _known_answers(connection: Connection, project: int) -> pl.DataFrame:
    """The number of answers to questions with known grades by rater and week, and how many match."""
    statements = (
        sa.select(raters.c.name, sa.func.coalesce(table.c.at, table.c.recorded_at), grade == tasks.c.gold)
        .join(batches, batches.c.id == tasks.c.batch)
        .join(table, table.c.task == tasks.c.id)
        .join(raters, raters.c.id == table.c.rater)
        .where(
            batches.c.project == project,
            tasks.c.gold.is_not(None),
            sa.func.coalesce(table.c.reason, "") != WITHDRAWN,
            *conditions,
        )
        for table, grade, conditions in (
            (ratings, ratings.c.grade, [ratings.c.final.is_(False)]),
            (preferences, sa.cast(sa.null(), sa.Double), []),
        )
    )
    schema = pl.Schema({"rater": pl.String(), "at": MOMENT, "is_right": pl.Boolean()})
    answers = pl.concat(read_table(connection, statement, schema) for statement in statements)
    return answers.group_by("rater", pl.col("at").dt.truncate("1w").dt.date().alias("week")).agg(
        pl.len().cast(pl.Int64).alias("known"), pl.col("is_right").sum().cast(pl.Int64).alias("right")
    )


@dataclass(frozen=True)
class RaterWork:
    """The answers of a rater without trainings: their number, seconds, pace, and last time.

    Attributes:
        rater, kind: the name and kind of the rater.
        ratings: the number of ratings and preferences.
        without_grade: the number of answers without a grade or a choice.
        seconds: the sum of their times.
        pace: the median time of the latest 200 ratings and of the latest 200 preferences.
        last: the latest time of an answer.
    """

    rater: str
    kind: str
    ratings: int
    without_grade: int
    seconds: float
    pace: float | None
    last: datetime | None


_PACE_ANSWERS = 200


def list_rater_work(connection: Connection, project: int) -> list[RaterWork]:
    """The work of each rater of a project with answers, by name."""
    columns = answer_counts.c
    statement = (
        sa.select(
            raters.c.id,
            raters.c.name,
            raters.c.kind,
            sa.func.sum(columns.answers),
            sa.func.sum(columns.without_grade),
            sa.func.sum(columns.seconds),
            sa.func.max(columns.last_at),
        )
        .join(raters, raters.c.id == columns.rater)
        .where(columns.project == project, columns.kind != "training", columns.answers > 0)
        .group_by(raters.c.id, raters.c.name, raters.c.kind)
    )
    works = [
        RaterWork(
            name, kind, int(count), int(without_grade), seconds, _pace(connection, project, rater), last
        )
        for rater, name, kind, count, without_grade, seconds, last in connection.execute(statement).all()
    ]
    return sorted(works, key=lambda work: work.rater)


def _pace(connection: Connection, project: int, rater: int) -> float | None:
    """The median seconds of a rater's latest answers."""
    seconds = [
        answer_seconds
        for table, conditions in (
            (ratings, [ratings.c.final.is_(False), ratings.c.training.is_(False)]),
            (preferences, []),
        )
        for answer_seconds in connection.scalars(
            sa.select(table.c.seconds)
            .where(
                table.c.project == project,
                table.c.rater == rater,
                sa.func.coalesce(table.c.reason, "") != WITHDRAWN,
                *conditions,
            )
            .order_by(table.c.id.desc())
            .limit(_PACE_ANSWERS)
        )
        if answer_seconds is not None
    ]
    return median(seconds) if seconds else None
