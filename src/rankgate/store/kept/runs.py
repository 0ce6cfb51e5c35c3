"""Runs and snapshots: facts about them as rows, their rankings as one blob each."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any

from rankgate.core.frozen import dataclass
from rankgate.data.place import Place
from rankgate.data.run import Run
from rankgate.store.kept.blobs import Blobs, keep
from rankgate.store.kept.parquet import packed, unpacked
from rankgate.store.rows import all_of, named, new_id, now, numbered, taken, unknown
from rankgate.store.tables.results import runs

if TYPE_CHECKING:
    from collections.abc import Iterator

    import polars as pl
    from sqlalchemy import Connection


@dataclass(frozen=True)
class StoredRun:
    """What is known of a run without its rankings.

    Attributes:
        id: the number.
        name: unique in the project.
        tag: that of a TREC file.
        sha256: of the canonical table, as `Run.sha256`.
        rows, queries: how many.
        blob, states: hashes of the rankings and of what is known of each query.
        ordered: as of `Run`.
        made_by: engine and parameters of a snapshot.
        created_at: when it was added.
        created_by: by whom.
    """

    id: int
    name: str
    tag: str | None
    sha256: str
    rows: int
    queries: int
    blob: str
    states: str | None
    ordered: bool
    made_by: Mapping[str, Any]
    created_at: datetime
    created_by: int | None


def add(
    connection: Connection,
    blobs: Blobs,
    project: int,
    run: Run,
    *,
    name: str = "",
    made_by: Mapping[str, Any] | None = None,
    created_by: int | None = None,
) -> StoredRun:
    """Add a run; the same run under the same name is added once.

    Args:
        connection: of a store, to write.
        blobs: of the store.
        project: which project.
        run: its rows are read.
        name: in the project; by default the run's.
        made_by: engine and parameters.
        created_by: a user.

    Raises:
        UsageError: the name is another run's.
        InputError, DuplicateError: rows that are no run.
    """
    chosen = name or run.name
    known = find(connection, project, chosen)
    if known is not None:
        if known.sha256 != run.sha256:
            raise taken("run", chosen)
        return known
    table = run.table
    states = run.queries
    new_id(
        connection, runs, project=project, name=chosen, tag=run.tag, sha256=run.sha256,
        rows=len(table), queries=table["query_id"].n_unique(), ordered=run.ordered,
        blob=keep(connection, blobs, packed(table)), created_at=now(), created_by=created_by,
        states=None if states is None else keep(connection, blobs, packed(states)),
        made_by=dict(made_by or {}),
    )  # fmt: skip
    found = find(connection, project, chosen)
    assert found is not None
    return found


def find(connection: Connection, project: int, name: str) -> StoredRun | None:
    """A run of a project by name, without its rankings; None where there is none."""
    return named(connection, StoredRun, runs, project, name)


def by_number(connection: Connection, run: int) -> StoredRun:
    """A run by number."""
    return numbered(connection, StoredRun, runs, run, "run")


def listed(connection: Connection, project: int, *, archived: bool = False) -> list[StoredRun]:
    """The runs of a project, the oldest first; those that are archived only where wanted."""
    return all_of(connection, StoredRun, runs, project, archived=archived)


def read(connection: Connection, blobs: Blobs, project: int, name: str) -> Run:
    """A run with its rankings.

    Raises:
        UsageError: no run has this name.
        InputError: its blob is missing or damaged.
    """
    found = find(connection, project, name)
    if found is None:
        raise unknown("run", name)
    return rankings(found, blobs)


def rankings(found: StoredRun, blobs: Blobs) -> Run:
    """A run with its rankings, read when they are needed.

    Raises:
        InputError: its blob is missing or damaged, when it is read.
    """

    def pieces() -> Iterator[pl.DataFrame]:
        yield unpacked(blobs.get(found.blob), blobs.where)

    states = None if found.states is None else unpacked(blobs.get(found.states), blobs.where)
    return Run(
        found.name, pieces, tag=found.tag, queries=states, place=Place(found.name),
        ordered=found.ordered,
    )  # fmt: skip
