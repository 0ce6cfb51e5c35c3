"""Runs and snapshots: facts about them as rows, their rankings as one blob each."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any

from rankgate.core.frozen import dataclass
from rankgate.data.place import RowLocation
from rankgate.data.run import Run
from rankgate.store.kept.blobs import Blobs, save_blob
from rankgate.store.kept.parquet import from_parquet, to_parquet
from rankgate.store.rows import (
    find_by_name,
    get_by_number,
    list_rows,
    new_id,
    now,
    taken_error,
    unknown_error,
)
from rankgate.store.tables.results import runs

if TYPE_CHECKING:
    from collections.abc import Iterator

    import polars as pl
    from sqlalchemy import Connection


@dataclass(frozen=True)
class StoredRun:
    """A stored run without its rankings.

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


def add_run(
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
    run_name = name or run.name
    existing = find_run(connection, project, run_name)
    if existing is not None:
        if existing.sha256 != run.sha256:
            raise taken_error("run", run_name)
        return existing
    table = run.table
    states = run.queries
    new_id(
        connection,
        runs,
        project=project,
        name=run_name,
        tag=run.tag,
        sha256=run.sha256,
        rows=len(table),
        queries=table["query_id"].n_unique(),
        ordered=run.ordered,
        blob=save_blob(connection, blobs, to_parquet(table)),
        created_at=now(),
        created_by=created_by,
        states=None if states is None else save_blob(connection, blobs, to_parquet(states)),
        made_by=dict(made_by or {}),
    )
    stored = find_run(connection, project, run_name)
    assert stored is not None
    return stored


def find_run(connection: Connection, project: int, name: str) -> StoredRun | None:
    """A run of a project by name, without its rankings; None where there is none."""
    return find_by_name(connection, StoredRun, runs, project, name)


def run_by_number(connection: Connection, run: int) -> StoredRun:
    """A run by number."""
    return get_by_number(connection, StoredRun, runs, run, "run")


def list_runs(connection: Connection, project: int, *, archived: bool = False) -> list[StoredRun]:
    """The runs of a project, the oldest first; archived ones only on request."""
    return list_rows(connection, StoredRun, runs, project, archived=archived)


def read_stored_run(connection: Connection, blobs: Blobs, project: int, name: str) -> Run:
    """A run with its rankings.

    Raises:
        UsageError: no run has this name.
        InputError: its blob is missing or damaged.
    """
    stored = find_run(connection, project, name)
    if stored is None:
        raise unknown_error("run", name)
    return rankings(stored, blobs)


def rankings(stored: StoredRun, blobs: Blobs) -> Run:
    """A run with its rankings, read when they are needed.

    Raises:
        InputError: its blob is missing or damaged, when it is read.
    """

    def pieces() -> Iterator[pl.DataFrame]:
        yield from_parquet(blobs.get(stored.blob), blobs.where)

    states = None if stored.states is None else from_parquet(blobs.get(stored.states), blobs.where)
    return Run(
        stored.name,
        pieces,
        tag=stored.tag,
        queries=states,
        place=RowLocation(stored.name),
        ordered=stored.ordered,
    )
