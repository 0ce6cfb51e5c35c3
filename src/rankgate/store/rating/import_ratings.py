"""Complete tasks with ratings from other sources, and import ratings from files.

A pair that is already rated answers its task, so that it is not rated again. Importing a file twice
adds its ratings once.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection
from typing import TYPE_CHECKING

import polars as pl
import sqlalchemy as sa

from rankgate.core.present.column_texts import column_texts
from rankgate.store.material import projects, queries_documents
from rankgate.store.people import users
from rankgate.store.rating import tasks
from rankgate.store.rating.ratings import FINAL, WITHDRAWN
from rankgate.store.rating.task_state import lock_tasks, settle
from rankgate.store.rows import MOMENT, count_rows, insert, insert_table, now, read_table
from rankgate.store.tables.rating_tables import assignments, ratings

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from rankgate.data.qrels import Ratings


_CHUNK_TASKS = 500


def fill(connection: Connection, numbers: Collection[int]) -> None:
    """Answer tasks with the last rating of each rater, and update the state of these tasks.

    Args:
        connection: a connection to a store, for writing.
        numbers: the numbers of tasks to which ratings were added.
    """
    all_numbers = sorted(numbers)
    for begin in range(0, len(all_numbers), _CHUNK_TASKS):
        chunk = all_numbers[begin : begin + _CHUNK_TASKS]
        last = (
            sa.select(sa.func.max(ratings.c.id))
            .where(ratings.c.task.in_(chunk), ratings.c.final.is_(False))
            .group_by(ratings.c.task, ratings.c.rater)
        )
        last_ratings = sa.select(ratings.c.task, ratings.c.rater, ratings.c.grade, ratings.c.reason).where(
            ratings.c.id.in_(last)
        )
        rows = [
            {
                "task": row.task,
                "rater": row.rater,
                "grade": row.grade,
                "state": "answered",
                "until": None,
                "at": now(),
            }
            for row in connection.execute(last_ratings)
            if row.reason != WITHDRAWN
        ]
        if rows:
            statement = insert(connection, assignments)
            new = {name: statement.excluded[name] for name in ("grade", "state", "until", "at")}
            keys = ["task", "rater"]
            connection.execute(statement.on_conflict_do_update(index_elements=keys, set_=new), rows)
        for number in chunk:
            settle(connection, number)


def add_ratings(
    connection: Connection, project: int, table: Ratings, *, source: str, models: Collection[str] = ()
) -> int:
    """Add ratings; their ids are hashes of their content, so that a rating is added once.

    A person's rating also answers the task of its pair, if there is a task. Ratings of the rater
    ``FINAL`` are final decisions.

    Args:
        connection: a connection to a store, for writing.
        project: the number of the project.
        table: the ratings; corrections are later rows.
        source: the origin of the ratings.
        models: the raters that are models.

    Returns:
        The number of new ratings.

    Raises:
        InputError: a grade that is not on the project's scale.
    """
    if table.table.is_empty():
        return 0
    _refuse_outside(connection, project, table)
    earlier_count = _count(connection, project)
    rating_rows = _numbered(connection, project, table.table, models)
    tasks_of_pairs = tasks.tasks_by_numbers(connection, project)
    of_people = ~pl.col("rater_name").is_in(list(models))
    rating_rows = (
        rating_rows.with_columns(_rating_ids(project, table.table))
        .join(tasks_of_pairs, on=_PAIR, how="left", maintain_order="left")
        .join(_last_ratings(connection, project), on=_KEY, how="left", maintain_order="left")
        .select(
            "rating_id",
            *_KEY,
            pl.col("rating_id").shift().over(_KEY).fill_null(pl.col("last")).alias("corrects"),
            pl.when(of_people).then("task").alias("task"),
            pl.when(pl.col("reason") != "")
            .then("reason")
            .otherwise(pl.when(pl.col("grade").is_null()).then(pl.lit("no grade")))
            .alias("reason"),
            *("grade", "at", "seconds", "comment", "guideline"),
            (pl.col("rater_name") == FINAL).alias("final"),
            pl.lit(project).alias("project"),
            pl.lit(now(), MOMENT).alias("recorded_at"),
            pl.lit(source).alias("source"),
        )
    )
    task_numbers = rating_rows["task"].drop_nulls().unique(maintain_order=True).to_list()
    lock_tasks(connection, task_numbers)
    insert_table(connection, ratings, rating_rows)
    fill(connection, task_numbers)
    return _count(connection, project) - earlier_count


_PAIR = ("query", "document")
_KEY = (*_PAIR, "rater")


def _numbered(
    connection: Connection, project: int, rating_rows: pl.DataFrame, models: Collection[str]
) -> pl.DataFrame:
    """Ratings with numbers instead of names; new queries, documents and raters are added."""
    query_numbers = queries_documents.ensure_queries(
        connection, project, rating_rows["query_id"].unique(maintain_order=True)
    )
    document_numbers = queries_documents.number_documents(
        connection, project, rating_rows.select("query_id", "doc_id")
    )
    rater_numbers = {
        name: users.ensure(connection, name, users.MODEL if name in models else users.PERSON).id
        for name in rating_rows["rater"].unique(maintain_order=True)
    }
    query, rater = pl.col("query_id"), pl.col("rater")
    return rating_rows.select(
        query.replace_strict(query_numbers, return_dtype=pl.Int64).alias("query"),
        document_numbers.alias("document"),
        rater.replace_strict(rater_numbers, return_dtype=pl.Int64).alias("rater"),
        rater.alias("rater_name"),
        pl.exclude("query_id", "doc_id", "rater"),
    )


def _rating_ids(project: int, rating_rows: pl.DataFrame) -> pl.Series:
    """Hashes of the content of ratings; equal ratings are numbered, so that ids are unique."""
    texts = [column_texts(column, _json_text) for column in rating_rows]
    content = pl.select(pl.concat_str(texts, separator=", ").alias("content"))
    repetition = pl.col("content").cum_count().over("content")
    numbered_content = content.select(pl.format(f"{project}\x1f[{{}}]\x1f{{}}", "content", repetition))
    hashes = ("import-" + hashlib.sha256(t.encode()).hexdigest() for t in numbered_content.to_series())
    return pl.Series("rating_id", hashes, dtype=pl.String)


def _json_text(value: object) -> str:
    return json.dumps(str(value))


def _refuse_outside(connection: Connection, project: int, table: Ratings) -> None:
    possible = [grade_row.grade for grade_row in projects.grades(connection, project)]
    if not possible:
        return
    rating_rows = table.table
    is_outside = ~rating_rows["grade"].is_in(possible).fill_null(value=True)
    if is_outside.any():
        row = int(is_outside.arg_max() or 0)
        scale_text = ", ".join(f"{possible_grade:g}" for possible_grade in possible)
        raise table.place.error(
            f"grade {rating_rows['grade'][row]:g} is not on the project's scale ({scale_text}).",
            row,
            "grade-outside-scale",
        )


def _last_ratings(connection: Connection, project: int) -> pl.DataFrame:
    """The id of the last rating of each rater and pair, by numbers."""
    key = [ratings.c[name] for name in _KEY]
    last_ids = sa.select(sa.func.max(ratings.c.id)).where(ratings.c.project == project).group_by(*key)
    statement = sa.select(*key, ratings.c.rating_id.label("last")).where(ratings.c.id.in_(last_ids))
    return read_table(connection, statement, dict.fromkeys(_KEY, pl.Int64) | {"last": pl.String})


def _count(connection: Connection, project: int) -> int:
    in_project = ratings.c.project == project
    return count_rows(connection, in_project)
