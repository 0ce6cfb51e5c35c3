"""Counts of answers and of rated pairs, kept by triggers in the transaction that adds an answer.

Pages read these counts instead of a million ratings. A trigger counts every inserted row, so that no
way of adding answers can forget them. Deletions count a project again.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import polars as pl
import sqlalchemy as sa

from rankgate.store.rows import MOMENT, read_table
from rankgate.store.tables import columns as column_types
from rankgate.store.tables.rating_tables import answer_counts, pair_counts, queries

if TYPE_CHECKING:
    from sqlalchemy import Connection

IDLE_SECONDS = 300.0
"""The largest number of seconds of an answer that count as work."""

_WEEK = {
    "sqlite": "date(COALESCE(r.at, r.recorded_at), 'weekday 0', '-6 days')",
    "postgresql": "CAST(date_trunc('week', COALESCE(r.at, r.recorded_at)) AS DATE)",
}
"""The Monday of the week of an answer."""

_COUNTS = ("ratings", "answers", "without_grade", "seconds", "active_seconds", "idle", "unknown")
"""The columns of `answer_counts` that are sums over rows."""


def _additions(table: str, names: tuple[str, ...]) -> str:
    return ", ".join(f"{name} = {table}.{name} + excluded.{name}" for name in names)


_ANSWERS = """
SELECT r.project, r.rater, COALESCE(t.batch, 0), {week}, {kind}, COUNT(*),
 COUNT(*) FILTER (WHERE {is_answer}), COUNT(*) FILTER (WHERE {is_answer} AND {is_without_grade}),
 COALESCE(SUM(r.seconds) FILTER (WHERE {is_answer}), 0),
 COALESCE(SUM(CASE WHEN r.seconds > {idle} THEN {idle} ELSE r.seconds END) FILTER (WHERE {is_answer}), 0),
 COUNT(*) FILTER (WHERE {is_answer} AND r.seconds > {idle}),
 COUNT(*) FILTER (WHERE {is_answer} AND r.seconds IS NULL), MAX(r.at) FILTER (WHERE {is_answer})
FROM {rows} AS r LEFT JOIN tasks AS t ON t.id = r.task WHERE {condition}
GROUP BY 1, 2, 3, 4, 5 ORDER BY 1, 2, 3, 4, 5"""
_ADD_ANSWERS = f"""
INSERT INTO answer_counts (project, rater, batch, week, kind, {", ".join(_COUNTS)}, last_at) {{select}}
ON CONFLICT (project, rater, batch, week, kind) DO UPDATE SET {_additions("answer_counts", _COUNTS)},
last_at = CASE WHEN answer_counts.last_at IS NULL OR excluded.last_at > answer_counts.last_at
 THEN excluded.last_at ELSE answer_counts.last_at END"""
_PAIRS = """
SELECT r.query, r.document, COUNT(*), COUNT(r.grade) FROM {rows} AS r
WHERE NOT r.training AND {condition} GROUP BY 1, 2 ORDER BY 1, 2"""
_ADD_PAIRS = f"""
INSERT INTO pair_counts (query, document, ratings, grades) {{select}}
ON CONFLICT (query, document) DO UPDATE SET {_additions("pair_counts", ("ratings", "grades"))}"""
# PostgreSQL locks the rows in the given order, so that two imports do not wait for each other

_IS_KEPT = "COALESCE(r.reason, '') <> 'withdrawn'"


def _selects(dialect: str, table: str, rows: str, condition: str) -> dict[str, str]:
    """The statements that count rows of answers, by the table that keeps the counts.

    Args:
        dialect: the name of the SQLAlchemy dialect.
        table: ``ratings`` or ``preferences``.
        rows: the name of a table with these rows, which the condition calls ``r``.
        condition: the condition of the counted rows.
    """
    is_rating = table == "ratings"
    answers = _ANSWERS.format(
        week=_WEEK[dialect],
        kind="CASE WHEN r.training THEN 'training' ELSE 'rating' END" if is_rating else "'preference'",
        is_answer=f"NOT r.final AND {_IS_KEPT}" if is_rating else _IS_KEPT,
        is_without_grade="r.grade IS NULL" if is_rating else "r.choice = 'none'",
        idle=IDLE_SECONDS,
        rows=rows,
        condition=condition,
    )
    return {_ADD_ANSWERS: answers} | (
        {_ADD_PAIRS: _PAIRS.format(rows=rows, condition=condition)} if is_rating else {}
    )


def _additions_of(dialect: str, table: str, rows: str, condition: str) -> list[str]:
    """The statements that add rows of answers to the kept counts."""
    selects = _selects(dialect, table, rows, condition)
    return [addition.format(select=select) for addition, select in selects.items()]


def create_triggers(connection: Connection) -> None:
    """Create the triggers that count inserted ratings and preferences."""
    dialect = connection.dialect.name
    for table in ("ratings", "preferences"):
        if dialect == "sqlite":
            body = ";".join(_additions_of(dialect, table, table, "r.id = NEW.id"))
            trigger = f"CREATE TRIGGER {table}_counts AFTER INSERT ON {table} BEGIN {body}; END"
            connection.exec_driver_sql(trigger)
            continue
        body = ";".join(_additions_of(dialect, table, "new_rows", "TRUE"))
        connection.exec_driver_sql(
            f"CREATE FUNCTION rankgate_count_{table}() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN {body}; "
            "RETURN NULL; END $$"
        )
        connection.exec_driver_sql(
            f"CREATE TRIGGER {table}_counts AFTER INSERT ON {table} REFERENCING NEW TABLE AS new_rows "
            f"FOR EACH STATEMENT EXECUTE FUNCTION rankgate_count_{table}()"
        )


def rebuild(connection: Connection, project: int | None = None) -> None:
    """Count the answers of a project again, or of all projects.

    Args:
        connection: a connection to a store, for writing.
        project: the number of the project; all by default.
    """
    of_project = sa.true() if project is None else answer_counts.c.project == project
    project_queries = sa.select(queries.c.id).where(queries.c.project == project)
    of_queries = sa.true() if project is None else pair_counts.c.query.in_(project_queries)
    connection.execute(sa.delete(answer_counts).where(of_project))
    connection.execute(sa.delete(pair_counts).where(of_queries))
    condition = "TRUE" if project is None else f"r.project = {int(project)}"
    for table in ("ratings", "preferences"):
        for statement in _additions_of(connection.dialect.name, table, table, condition):
            connection.exec_driver_sql(statement)


def count_differences(connection: Connection) -> int:
    """Count the kept counts that differ from counts of the answers themselves."""
    differences = 0
    for table, addition, tables in (
        (answer_counts, _ADD_ANSWERS, ("ratings", "preferences")),
        (pair_counts, _ADD_PAIRS, ("ratings",)),
    ):
        schema = {column.name: _TYPES[type(column.type)] for column in table.c}
        answer_rows = pl.concat(
            read_table(
                connection, sa.text(_selects(connection.dialect.name, name, name, "TRUE")[addition]), schema
            )
            for name in tables
        )
        keys = [column.name for column in table.primary_key]
        stored_rows = read_table(connection, sa.select(table), schema)
        joined = stored_rows.with_columns(kept=True).join(
            answer_rows.with_columns(counted=True), on=keys, how="full", coalesce=True, suffix="_counted"
        )
        is_different = pl.col("kept").is_null() | pl.col("counted").is_null()
        for name, dtype in schema.items():
            if name in keys:
                continue
            first, second = pl.col(name), pl.col(f"{name}_counted")
            if dtype == pl.Float64:  # sums in another order
                is_different |= (first - second).abs() > _TOLERANCE * (1 + second.abs())
            else:
                is_different |= first.ne_missing(second)
        differences += joined.filter(is_different).height
    return differences


_TOLERANCE = 1e-6
_TYPES: Mapping[type, pl.DataType | type[pl.DataType]] = {
    column_types.Moment: MOMENT,
    sa.Date: pl.Date,
    sa.Double: pl.Float64,
    sa.Text: pl.String,
    type(column_types.NUMBER): pl.Int64,
}
