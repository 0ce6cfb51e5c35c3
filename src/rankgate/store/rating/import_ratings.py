"""Fill tasks with ratings from other sources, and import ratings of a file.

Filled tasks spare raters the pairs that are rated already. Ratings of a file become ratings of
the store: the same file twice adds them once.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Collection
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

from rankgate.core.errors import InputError
from rankgate.store.material import projects, queries_documents
from rankgate.store.people import users
from rankgate.store.rating import tasks
from rankgate.store.rating.ratings import FINAL, WITHDRAWN
from rankgate.store.rating.task_state import settle
from rankgate.store.rows import CHUNK_ROWS, insert, now
from rankgate.store.tables.rating_tables import assignments, ratings

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from rankgate.data.qrels import Ratings


_PIECE = 500


def fill(connection: Connection, numbers: Collection[int]) -> None:
    """Make the last ratings of raters their answers to tasks, and settle these.

    Args:
        connection: of a store, to write.
        numbers: of tasks to which ratings were added.
    """
    all_numbers = sorted(numbers)
    for begin in range(0, len(all_numbers), _PIECE):
        chunk = all_numbers[begin : begin + _PIECE]
        last = (
            sa.select(sa.func.max(ratings.c.id))
            .where(ratings.c.task.in_(chunk), ratings.c.final.is_(False))
            .group_by(ratings.c.task, ratings.c.rater)
        )
        last_ratings = sa.select(
            ratings.c.task, ratings.c.rater, ratings.c.grade, ratings.c.reason
        ).where(ratings.c.id.in_(last))
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
    connection: Connection,
    project: int,
    table: Ratings,
    *,
    source: str,
    models: Collection[str] = (),
) -> int:
    """Add ratings; their ids are hashes of their content, so that none counts twice.

    Those of people on pairs that are to be rated answer these tasks.

    Ratings of the rater ``FINAL``, as a table of a store names them, are final words.

    Args:
        connection: of a store, to write.
        project: which project.
        table: the ratings, corrections as later rows.
        source: where they come from.
        models: raters that are models.

    Returns:
        How many are new.

    Raises:
        InputError: a grade that is not on the project's scale.
    """
    _refuse_outside(connection, project, table)
    rating_rows = table.table
    query_numbers = queries_documents.ensure_queries(
        connection, project, rating_rows["query_id"].to_list()
    )
    pairs = list(rating_rows.select("query_id", "doc_id").iter_rows())
    document_numbers = queries_documents.ensure_documents(connection, project, pairs)
    rater_numbers = {
        name: users.ensure(connection, name, users.MODEL if name in models else users.PERSON).id
        for name in rating_rows["rater"].unique(maintain_order=True)
    }
    last = _last_rating_ids(connection, project)
    task_of_pair = tasks.tasks_by_numbers(connection, project)
    repetitions: Counter[str] = Counter()
    moment, rows = now(), []
    for row in rating_rows.iter_rows(named=True):
        query, doc = row.pop("query_id"), row.pop("doc_id")
        rater = row.pop("rater")
        content = json.dumps([query, doc, rater, *map(str, row.values())])
        repetitions[content] += 1
        text = f"{project}\x1f{content}\x1f{repetitions[content]}"
        name = "import-" + hashlib.sha256(text.encode()).hexdigest()
        key = (query_numbers[query], document_numbers[query, doc], rater_numbers[rater])
        task = None if rater in models else task_of_pair.get(key[:2])
        reason = row.pop("reason") or (None if row["grade"] is not None else "no grade")
        rows.append(
            {
                **row,
                "rating_id": name,
                "project": project,
                "query": key[0],
                "document": key[1],
                "rater": key[2],
                "reason": reason,
                "recorded_at": moment,
                "corrects": last.get(key),
                "source": source,
                "final": rater == FINAL,
                "task": task,
            }
        )
        last[key] = name
    earlier_count = _count(connection, project)
    statement = insert(connection, ratings).on_conflict_do_nothing(index_elements=["rating_id"])
    for begin in range(0, len(rows), CHUNK_ROWS):
        connection.execute(statement, rows[begin : begin + CHUNK_ROWS])
    fill(connection, {row["task"] for row in rows if row["task"] is not None})
    return _count(connection, project) - earlier_count


def _refuse_outside(connection: Connection, project: int, table: Ratings) -> None:
    possible = [grade_row.grade for grade_row in projects.grades(connection, project)]
    if not possible:
        return
    rating_rows = table.table
    is_outside = ~rating_rows["grade"].is_in(possible).fill_null(value=True)
    if is_outside.any():
        row = int(is_outside.arg_max() or 0)
        scale_text = ", ".join(f"{possible_grade:g}" for possible_grade in possible)
        raise InputError(
            f"grade {rating_rows['grade'][row]:g} is not on the project's scale ({scale_text}).",
            source=table.place.file(row),
            line=table.place.line(row),
            code="grade-outside-scale",
        )


def _last_rating_ids(connection: Connection, project: int) -> dict[tuple[Any, ...], str]:
    """The last rating of each rater and pair, by numbers."""
    columns = (ratings.c.query, ratings.c.document, ratings.c.rater, ratings.c.rating_id)
    statement = sa.select(*columns).where(ratings.c.project == project).order_by(ratings.c.id)
    return {(q, d, r): name for q, d, r, name in connection.execute(statement)}


def _count(connection: Connection, project: int) -> int:
    in_project = ratings.c.project == project
    return connection.scalar(sa.select(sa.func.count()).where(in_project)) or 0
