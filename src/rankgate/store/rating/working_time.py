"""The working time of raters: the seconds of each answer, without idle time."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl
import sqlalchemy as sa

from rankgate.store.rating.ratings import WITHDRAWN, with_raters
from rankgate.store.rows import MOMENT, read_table
from rankgate.store.tables.rating_tables import batches, preferences, ratings, tasks

if TYPE_CHECKING:
    from sqlalchemy import Connection

IDLE_SECONDS = 300.0
"""The largest number of seconds of an answer that count as work."""

ACTIVE_SECONDS = sa.case(
    (ratings.c.seconds > IDLE_SECONDS, IDLE_SECONDS), else_=sa.func.coalesce(ratings.c.seconds, 0.0)
)
"""The seconds of a rating that count as work."""

_SCHEMA = pl.Schema(
    {
        "rater": pl.Int64(),
        "task": pl.Int64(),
        "seconds": pl.Float64(),
        "graded": pl.Boolean(),
        "grade": pl.Float64(),
        "at": MOMENT,
    }
)


def work_state(connection: Connection, project: int) -> tuple[int, ...]:
    """Counts and last numbers of a project's answers, which change when the work changes."""
    return tuple(
        number
        for table in (ratings, preferences)
        for number in connection.execute(
            sa.select(sa.func.count(), sa.func.coalesce(sa.func.max(table.c.id), 0)).where(
                table.c.project == project
            )
        ).one()
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
    rating_statement = (
        sa.select(
            ratings.c.rater,
            ratings.c.task,
            ratings.c.seconds,
            ratings.c.grade.is_not(None),
            ratings.c.grade,
            sa.func.coalesce(ratings.c.at, ratings.c.recorded_at),
        )
        .where(
            ratings.c.project == project,
            ratings.c.task.is_not(None),
            ratings.c.final.is_(False),
            sa.func.coalesce(ratings.c.reason, "") != WITHDRAWN,
        )
        .order_by(ratings.c.id)  # the order of an index of raters is slow to read
    )
    preference_statement = sa.select(
        preferences.c.rater,
        preferences.c.task,
        preferences.c.seconds,
        preferences.c.choice != "none",
        sa.cast(sa.null(), sa.Double),
        sa.func.coalesce(preferences.c.at, preferences.c.recorded_at),
    ).where(
        preferences.c.project == project,
        preferences.c.task.is_not(None),
        sa.func.coalesce(preferences.c.reason, "") != WITHDRAWN,
    )
    gold_statement = (
        sa.select(tasks.c.id, tasks.c.gold)
        .join(batches, batches.c.id == tasks.c.batch)
        .where(batches.c.project == project, tasks.c.gold.is_not(None))
    )
    gold = read_table(connection, gold_statement, {"task": pl.Int64, "gold": pl.Float64})
    answers = pl.concat(
        [read_table(connection, statement, _SCHEMA) for statement in (rating_statement, preference_statement)]
    )
    answers = with_raters(connection, answers).filter(pl.col("kind") == "person")
    answers = answers.join(gold, on="task", how="left", maintain_order="left")
    return (
        answers.with_columns(week=pl.col("at").dt.truncate("1w").dt.date())
        .group_by("week", "rater")
        .agg(
            pl.len().alias("answers"),
            pl.col("graded").not_().sum().alias("without_grade"),
            (pl.col("seconds").clip(upper_bound=IDLE_SECONDS).sum() / 3600).alias("hours"),
            (pl.col("seconds") > IDLE_SECONDS).sum().alias("idle"),
            pl.col("seconds").is_null().sum().alias("unknown"),
            pl.col("gold").is_not_null().sum().alias("known"),
            (pl.col("gold") == pl.col("grade")).sum().alias("right"),
        )
        .sort(["week", "rater"], descending=[True, False])
    )
