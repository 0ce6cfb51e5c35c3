"""Ratings of a file as ratings of the store: the same file twice adds them once."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Collection
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

from rankgate.core.errors import InputError
from rankgate.store.material import documents, projects, queries
from rankgate.store.people import raters
from rankgate.store.rating import task_numbers
from rankgate.store.rating.filling import fill
from rankgate.store.rating.ratings import FINAL
from rankgate.store.rows import PIECE, insert, now
from rankgate.store.tables.facts import ratings

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from rankgate.data.ratings import Ratings


def add(
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
    found = table.table
    asked = queries.ensure(connection, project, found["query_id"].to_list())
    pairs = list(found.select("query_id", "doc_id").iter_rows())
    shown = documents.ensure(connection, project, pairs)
    known = {
        name: raters.ensure(connection, name, raters.MODEL if name in models else raters.PERSON).id
        for name in found["rater"].unique(maintain_order=True)
    }
    last = _last(connection, project)
    asked_for = task_numbers.by_numbers(connection, project)
    seen: Counter[str] = Counter()
    moment, rows = now(), []
    for row in found.iter_rows(named=True):
        query, doc = row.pop("query_id"), row.pop("doc_id")
        rater = row.pop("rater")
        content = json.dumps([query, doc, rater, *map(str, row.values())])
        seen[content] += 1
        words = f"{project}\x1f{content}\x1f{seen[content]}"
        name = "import-" + hashlib.sha256(words.encode()).hexdigest()
        key = (asked[query], shown[query, doc], known[rater])
        task = None if rater in models else asked_for.get(key[:2])
        reason = row.pop("reason") or (None if row["grade"] is not None else "no grade")
        rows.append(
            {
                **row, "rating_id": name, "project": project, "query": key[0],
                "document": key[1], "rater": key[2], "reason": reason, "recorded_at": moment,
                "corrects": last.get(key), "source": source, "final": rater == FINAL,
                "task": task,
            }
        )  # fmt: skip
        last[key] = name
    before = _count(connection, project)
    made = insert(connection, ratings).on_conflict_do_nothing(index_elements=["rating_id"])
    for begin in range(0, len(rows), PIECE):
        connection.execute(made, rows[begin : begin + PIECE])
    fill(connection, {each["task"] for each in rows if each["task"] is not None})
    return _count(connection, project) - before


def _refuse_outside(connection: Connection, project: int, table: Ratings) -> None:
    possible = [each.grade for each in projects.grades(connection, project)]
    if not possible:
        return
    found = table.table
    outside = ~found["grade"].is_in(possible).fill_null(value=True)
    if outside.any():
        row = int(outside.arg_max() or 0)
        on = ", ".join(f"{each:g}" for each in possible)
        raise InputError(
            f"grade {found['grade'][row]:g} is not on the project's scale ({on}).",
            source=table.place.file(row),
            line=table.place.line(row),
            code="grade-outside-scale",
        )


def _last(connection: Connection, project: int) -> dict[tuple[Any, ...], str]:
    """The last rating of each rater and pair, by numbers."""
    columns = (ratings.c.query, ratings.c.document, ratings.c.rater, ratings.c.rating_id)
    chosen = sa.select(*columns).where(ratings.c.project == project).order_by(ratings.c.id)
    return {(q, d, r): name for q, d, r, name in connection.execute(chosen)}


def _count(connection: Connection, project: int) -> int:
    here = ratings.c.project == project
    return connection.scalar(sa.select(sa.func.count()).where(here)) or 0
