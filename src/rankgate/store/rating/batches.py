"""Batches of pairs to rate, with the number of raters per pair and the order."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import field
from datetime import datetime
from typing import TYPE_CHECKING, Literal

import sqlalchemy as sa

from rankgate.core.errors import UsageError
from rankgate.core.frozen import dataclass
from rankgate.data.qrels import GRADED
from rankgate.store.material import projects, queries_documents
from rankgate.store.rows import (
    chunks_of,
    count_rows,
    insert,
    list_values,
    new_id,
    now,
    taken_error,
    unknown_error,
    update_row,
    value_of,
)
from rankgate.store.tables.rating_tables import KINDS, STRATEGIES, batches, documents, queries, tasks

if TYPE_CHECKING:
    import polars as pl
    from sqlalchemy import Connection

    from rankgate.core.value_types import JsonObject

Strategy = Literal["1", "2", "3", "agree"]
Kind = Literal["rating", "training", "documents", "lists"]

QUERY_BITS = 31
"""The bits of a position that depend on the query, for batches ordered by query."""

_BY_NUMBER = sa.select(batches).where(batches.c.id == sa.bindparam("number"))
_POOL_COLUMNS = ("why", "best_rank", "systems", "stratum", "inclusion", "query_inclusion")


@dataclass(frozen=True)
class Batch:
    """A batch of tasks.

    Attributes:
        id: the number.
        project: the number of its project.
        name: unique in the project.
        kind: ``rating``; ``training``, with feedback, which all raters do first; ``documents`` or
            ``lists``, shown side by side.
        strategy: the number of people who grade a pair: 1, 2, 3, or until two ``agree``.
        most: the number of answers without a result after which a task is disputed.
        priority: batches with a higher one come first.
        deadline: the time by which the batch should be done; earlier deadlines come first.
        state: ``open``, ``paused``, ``closed``.
        blind: True if systems and ranks are hidden.
        by_query: True if a rater completes a query before the next one.
        seed: the seed of the order.
        guideline: the version that raters follow; None means the current version.
        settings: the settings of the pages.
        created_at: the time when the batch was created.
        created_by: the user who created it.
    """

    id: int
    project: int
    name: str
    kind: Kind
    strategy: Strategy
    most: int
    priority: int
    deadline: datetime | None
    state: str
    blind: bool
    by_query: bool
    seed: int
    guideline: str | None
    settings: JsonObject
    created_at: datetime
    created_by: int | None


@dataclass(frozen=True)
class Gold:
    """A known answer: that of a hidden question, or that of a training with its reason."""

    grade: float
    why: str = ""


def add_batch(
    connection: Connection,
    project: int,
    name: str,
    *,
    kind: Kind = "rating",
    strategy: Strategy = "1",
    **more: object,
) -> Batch:
    """Add a batch without tasks; ``more`` are other fields of `Batch`, whose defaults the table has.

    Raters need grades to choose from: a project without a scale and ratings gets the graded one.

    Raises:
        UsageError: the name is taken; the kind or strategy does not exist.
    """
    for option, choice, choices in (("kind", kind, KINDS), ("strategy", strategy, STRATEGIES)):
        if choice not in choices:
            problem = f"no {option} {choice!r}; choose {', '.join(choices)}."
            raise UsageError(problem, code="unknown-choice")
    is_same_name = sa.and_(batches.c.project == project, batches.c.name == name)
    if not name or connection.scalar(sa.select(batches.c.id).where(is_same_name)) is not None:
        raise taken_error("batch", name)
    has_scale = bool(projects.grades(connection, project)) or projects.has_any_grade(connection, project)
    if kind == "rating" and not has_scale:
        projects.set_scale(connection, project, GRADED)
    columns = {"project": project, "name": name, "kind": kind, "strategy": strategy, "created_at": now()}
    return get_batch(connection, new_id(connection, batches, **columns, **more))


def get_batch(connection: Connection, batch: int) -> Batch:
    """A batch by number.

    Raises:
        UsageError: the batch does not exist.
    """
    row = connection.execute(_BY_NUMBER, {"number": batch}).first()
    if row is None:
        raise unknown_error("batch", batch)
    return value_of(Batch, row)


def get_by_name(connection: Connection, project: int, name: str) -> Batch:
    """A batch of a project by name.

    Raises:
        UsageError: the batch does not exist.
    """
    is_batch = sa.and_(batches.c.project == project, batches.c.name == name)
    row = connection.execute(sa.select(batches).where(is_batch)).first()
    if row is None:
        raise unknown_error("batch", name)
    return value_of(Batch, row)


def list_batches(connection: Connection, project: int) -> list[Batch]:
    """The batches of a project that are not archived, in the order of rating."""
    is_shown = sa.and_(batches.c.project == project, batches.c.archived_at.is_(None))
    statement = sa.select(batches).where(is_shown)
    order = (batches.c.priority.desc(), batches.c.deadline.is_(None), batches.c.deadline, "id")
    return list_values(connection, Batch, statement.order_by(*order))


def change_batch(connection: Connection, batch: int, **values: object) -> Batch:
    """Change the priority, deadline, state, strategy, most, blind or settings of a batch."""
    columns = {"priority", "deadline", "state", "strategy", "most", "blind", "settings"}
    assert set(values) <= columns
    if values:
        update_row(connection, batches, batch, **values)
    return get_batch(connection, batch)


def add_pairs(
    connection: Connection,
    batch: Batch,
    pairs: pl.DataFrame,
    gold: Mapping[tuple[str, str], Gold] | None = None,
) -> int:
    """Add tasks with documents to grade; pairs that the batch already has stay unchanged.

    Args:
        connection: a connection to a store, for writing.
        batch: the number of the batch.
        pairs: ``query_id`` and ``doc_id``, with their fields in the pool.
        gold: pairs with a known grade, mixed with the other pairs; they may be missing in
            ``pairs``.

    Returns:
        The number of new tasks.
    """
    gold_answers = dict(gold or {})
    pool_columns = [name for name in _POOL_COLUMNS if name in pairs.columns]
    rows = {
        (row["query_id"], row["doc_id"]): {k: row[k] for k in pool_columns if row[k] is not None}
        for row in pairs.iter_rows(named=True)
    }
    rows |= {pair: {} for pair in gold_answers if pair not in rows}
    query_numbers = queries_documents.ensure_queries(connection, batch.project, (query for query, _ in rows))
    document_numbers = queries_documents.ensure_documents(connection, batch.project, rows)
    task_rows: list[JsonObject] = []
    for (query, doc), pool in rows.items():
        answer = gold_answers.get((query, doc))
        task_rows.append(
            {
                "query": query_numbers[query],
                "document": document_numbers[query, doc],
                "subject": f"d{document_numbers[query, doc]}",
                "place": task_position(batch.seed, query, doc, by_query=batch.by_query),
                "gold": None if answer is None else answer.grade,
                "gold_why": "" if answer is None else answer.why,
                "pool": pool,
            }
        )
    return _add(connection, batch, task_rows)


def task_of_pair(connection: Connection, batch: int, query_id: str, doc_id: str) -> int:
    """The number of the task for a pair that is in a batch."""
    statement = (
        sa.select(tasks.c.id)
        .join(queries, queries.c.id == tasks.c.query)
        .join(documents, documents.c.id == tasks.c.document)
        .where(tasks.c.batch == batch, queries.c.query_id == query_id, documents.c.doc_id == doc_id)
    )
    return int(connection.execute(statement).scalar_one())


@dataclass(frozen=True)
class Side:
    """One of the two alternatives of a preference: a document, or the list of a run."""

    document: str | None = None
    run: int | None = field(default=None)


def add_preferences(connection: Connection, batch: Batch, sides: Sequence[tuple[str, Side, Side]]) -> int:
    """Add tasks that ask for the better of two documents, or of two lists of runs, for a query.

    Args:
        connection: a connection to a store, for writing.
        batch: a batch of kind ``documents`` or ``lists``.
        sides: for each task, the query and the two alternatives.

    Returns:
        The number of new tasks.
    """
    query_numbers = queries_documents.ensure_queries(
        connection, batch.project, (query for query, _, _ in sides)
    )
    pairs = [(query, side.document) for query, *pair in sides for side in pair if side.document]
    document_numbers = queries_documents.ensure_documents(connection, batch.project, pairs)
    task_rows: list[JsonObject] = []
    for query, first, second in sides:
        numbers = [document_numbers.get((query, side.document or "")) for side in (first, second)]
        subject = "|".join(
            f"d{d}" if d else f"r{e.run}" for d, e in zip(numbers, (first, second), strict=True)
        )
        task_rows.append(
            {
                "query": query_numbers[query],
                "document": numbers[0],
                "other_document": numbers[1],
                "run": first.run,
                "other_run": second.run,
                "subject": subject,
                "place": task_position(batch.seed, query, subject, by_query=batch.by_query),
            }
        )
    return _add(connection, batch, task_rows)


def _add(connection: Connection, batch: Batch, rows: list[JsonObject]) -> int:
    in_batch = tasks.c.batch == batch.id
    earlier_count = count_rows(connection, in_batch)
    for chunk in chunks_of(rows):
        batch_rows = [{"project": batch.project, "batch": batch.id, **row} for row in chunk]
        connection.execute(insert(connection, tasks).on_conflict_do_nothing(), batch_rows)
    return count_rows(connection, in_batch) - earlier_count


def task_position(seed: int, query: str, subject: str, *, by_query: bool) -> int:
    """The position of a task in the order of a batch: a hash, the same for the same seed.

    With ``by_query`` the tasks of a query are together, in an order by hash.
    """
    task_hash = _hash(seed, query, subject)
    if not by_query:
        return task_hash
    return _hash(seed, query, "") >> QUERY_BITS << QUERY_BITS | task_hash & ((1 << QUERY_BITS) - 1)


def start_position(rater: int) -> int:
    """The start of a rater in the order of every batch, so that raters rarely meet early."""
    return _hash(0, "rater", str(rater)) >> QUERY_BITS << QUERY_BITS


def _hash(seed: int, first: str, second: str) -> int:
    text = f"{seed}\x1f{first}\x1f{second}".encode()
    return int.from_bytes(hashlib.blake2b(text, digest_size=8).digest()) >> 2
