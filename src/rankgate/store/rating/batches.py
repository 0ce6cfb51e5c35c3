"""Batches: which pairs are rated, by how many people, in which order."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import field
from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal

import sqlalchemy as sa

from rankgate.core.errors import UsageError
from rankgate.core.frozen import dataclass
from rankgate.store.material import documents, queries
from rankgate.store.rows import PIECE, insert, new_id, now, taken, unknown, value_of
from rankgate.store.tables.work import KINDS, STRATEGIES, batches, tasks

if TYPE_CHECKING:
    import polars as pl
    from sqlalchemy import Connection

Strategy = Literal["1", "2", "3", "agree"]
Kind = Literal["rating", "training", "documents", "lists"]

HALF = 31
"""Bits of a place that come from the query where a batch goes query by query."""

_BY_NUMBER = sa.select(batches).where(batches.c.id == sa.bindparam("number"))
_POOL = ("why", "best_rank", "systems", "stratum", "inclusion", "query_inclusion")


@dataclass(frozen=True)
class Batch:
    """A batch of tasks.

    Attributes:
        id: the number.
        project: of which project.
        name: unique in the project.
        kind: ``rating``; ``training``, with feedback, asked first and of everybody;
            ``documents`` or ``lists``, side by side.
        strategy: how many people grade a pair: 1, 2, 3, or until two ``agree``.
        most: after so many answers without a result a task is disputed.
        priority: batches with a higher one are asked first.
        deadline: when it should be done; sooner is first.
        state: ``open``, ``paused``, ``closed``.
        blind: whether systems and ranks are hidden.
        by_query: whether a rater stays with a query until it is done.
        seed: of the order.
        guideline: the version that raters follow; None is the current one.
        settings: of the pages.
        created_at: when it was made.
        created_by: by whom.
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
    settings: Mapping[str, Any]
    created_at: datetime
    created_by: int | None


@dataclass(frozen=True)
class Gold:
    """A known answer: a hidden question, or one of a training with its reason."""

    grade: float
    why: str = ""


def add(
    connection: Connection,
    project: int,
    name: str,
    *,
    kind: Kind = "rating",
    strategy: Strategy = "1",
    most: int = 5,
    priority: int = 0,
    deadline: datetime | None = None,
    blind: bool = True,
    by_query: bool = True,
    seed: int = 0,
    guideline: str | None = None,
    settings: Mapping[str, Any] | None = None,
    created_by: int | None = None,
) -> Batch:
    """Add a batch without tasks; arguments as the fields of `Batch`.

    Raises:
        UsageError: the name is taken; no such kind or strategy.
    """
    for what, word, known in (("kind", kind, KINDS), ("strategy", strategy, STRATEGIES)):
        if word not in known:
            problem = f"no {what} {word!r}; choose {', '.join(known)}."
            raise UsageError(problem, code="unknown-choice")
    same = sa.and_(batches.c.project == project, batches.c.name == name)
    if not name or connection.scalar(sa.select(batches.c.id).where(same)) is not None:
        raise taken("batch", name)
    number = new_id(
        connection, batches, project=project, name=name, kind=kind, strategy=strategy, most=most,
        priority=priority, deadline=deadline, blind=blind, by_query=by_query, seed=seed,
        guideline=guideline, settings=dict(settings or {}), created_by=created_by,
        created_at=now(),
    )  # fmt: skip
    return get(connection, number)


def get(connection: Connection, batch: int) -> Batch:
    """A batch by number.

    Raises:
        UsageError: there is none.
    """
    row = connection.execute(_BY_NUMBER, {"number": batch}).first()
    if row is None:
        raise unknown("batch", batch)
    return value_of(Batch, row)


def named(connection: Connection, project: int, name: str) -> Batch:
    """A batch of a project by name.

    Raises:
        UsageError: there is none.
    """
    here = sa.and_(batches.c.project == project, batches.c.name == name)
    row = connection.execute(sa.select(batches).where(here)).first()
    if row is None:
        raise unknown("batch", name)
    return value_of(Batch, row)


def listed(connection: Connection, project: int) -> list[Batch]:
    """The batches of a project that are not archived, in the order in which they are asked."""
    here = sa.and_(batches.c.project == project, batches.c.archived_at.is_(None))
    chosen = sa.select(batches).where(here)
    order = (batches.c.priority.desc(), batches.c.deadline.is_(None), batches.c.deadline, "id")
    return [value_of(Batch, row) for row in connection.execute(chosen.order_by(*order))]


def change(connection: Connection, batch: int, **values: Any) -> Batch:
    """Change priority, deadline, state, strategy, most, blind or settings."""
    allowed = {"priority", "deadline", "state", "strategy", "most", "blind", "settings"}
    assert set(values) <= allowed
    if values:
        connection.execute(sa.update(batches).where(batches.c.id == batch).values(**values))
    return get(connection, batch)


def add_pairs(
    connection: Connection,
    batch: Batch,
    pairs: pl.DataFrame,
    gold: Mapping[tuple[str, str], Gold] | None = None,
) -> int:
    """Add tasks: documents to grade. Pairs that the batch has are left as they are.

    Args:
        connection: of a store, to write.
        batch: of which batch.
        pairs: ``query_id`` and ``doc_id``, with what a pool knows of them.
        gold: pairs whose grade is known, mixed among the others; also those not in ``pairs``.

    Returns:
        How many tasks are new.
    """
    known = dict(gold or {})
    told = [name for name in _POOL if name in pairs.columns]
    rows = {
        (row["query_id"], row["doc_id"]): {k: row[k] for k in told if row[k] is not None}
        for row in pairs.iter_rows(named=True)
    }
    rows |= {pair: {} for pair in known if pair not in rows}
    asked = queries.ensure(connection, batch.project, (query for query, _ in rows))
    shown = documents.ensure(connection, batch.project, rows)
    made = []
    for (query, doc), pool in rows.items():
        answer = known.get((query, doc))
        made.append(
            {
                "query": asked[query],
                "document": shown[query, doc],
                "subject": f"d{shown[query, doc]}",
                "place": place(batch.seed, query, doc, by_query=batch.by_query),
                "gold": None if answer is None else answer.grade,
                "gold_why": "" if answer is None else answer.why,
                "pool": pool,
            }
        )
    return _add(connection, batch, made)


@dataclass(frozen=True)
class Side:
    """One side of a preference: a document, or the list of a run."""

    document: str | None = None
    run: int | None = field(default=None)


def add_preferences(
    connection: Connection, batch: Batch, sides: Sequence[tuple[str, Side, Side]]
) -> int:
    """Add tasks: which of two documents, or lists of runs, is better for a query.

    Args:
        connection: of a store, to write.
        batch: of kind ``documents`` or ``lists``.
        sides: query and two sides each.

    Returns:
        How many tasks are new.
    """
    asked = queries.ensure(connection, batch.project, (query for query, _, _ in sides))
    pairs = [(query, each.document) for query, *two in sides for each in two if each.document]
    shown = documents.ensure(connection, batch.project, pairs)
    made = []
    for query, one, other in sides:
        here = [shown.get((query, each.document or "")) for each in (one, other)]
        words = "|".join(f"d{d}" if d else f"r{e.run}" for d, e in zip(here, (one, other),
                                                                      strict=True))  # fmt: skip
        made.append(
            {
                "query": asked[query], "document": here[0], "other_document": here[1],
                "run": one.run, "other_run": other.run, "subject": words,
                "place": place(batch.seed, query, words, by_query=batch.by_query),
            }
        )  # fmt: skip
    return _add(connection, batch, made)


def _add(connection: Connection, batch: Batch, rows: list[dict[str, Any]]) -> int:
    here = tasks.c.batch == batch.id
    before = connection.scalar(sa.select(sa.func.count()).where(here)) or 0
    for begin in range(0, len(rows), PIECE):
        piece = [{"project": batch.project, "batch": batch.id, **each}
                 for each in rows[begin : begin + PIECE]]  # fmt: skip
        connection.execute(insert(connection, tasks).on_conflict_do_nothing(), piece)
    return (connection.scalar(sa.select(sa.func.count()).where(here)) or 0) - before


def place(seed: int, query: str, subject: str, *, by_query: bool) -> int:
    """Where a task is in the order of a batch: a hash, the same for the same seed.

    With ``by_query`` the tasks of a query are together, in an order by hash.
    """
    both = _hash(seed, query, subject)
    if not by_query:
        return both
    return _hash(seed, query, "") >> HALF << HALF | both & ((1 << HALF) - 1)


def start(rater: int) -> int:
    """Where a rater begins in the order of every batch, so that raters meet late."""
    return _hash(0, "rater", str(rater)) >> HALF << HALF


def _hash(seed: int, first: str, second: str) -> int:
    words = f"{seed}\x1f{first}\x1f{second}".encode()
    return int.from_bytes(hashlib.blake2b(words, digest_size=8).digest()) >> 2
