"""Runs, snapshots and resolved judgments of a store.

Facts about a run or a snapshot are rows, and its rankings are one blob. Resolved judgments have one
grade per pair, the rule that made them, and their hash.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any

from rankgate.core.frozen import dataclass
from rankgate.data.qrels import Qrels, Scale
from rankgate.data.run import Run
from rankgate.data.table_rows import RowLocation
from rankgate.store.blobs.blob_folders import Blobs, from_parquet, save_blob, to_parquet
from rankgate.store.rows import (
    addressable,
    find_by_name,
    get_by_number,
    last_number,
    list_rows,
    new_id,
    now,
    refuse_unaddressable,
    taken_error,
    unknown_error,
)
from rankgate.store.tables.model_tables import judgments, runs
from rankgate.store.tables.rating_tables import ratings

if TYPE_CHECKING:
    from collections.abc import Iterator

    import polars as pl
    from sqlalchemy import Connection

    from rankgate.core.value_types import JsonObject


@dataclass(frozen=True)
class StoredRun:
    """A stored run without its rankings.

    Attributes:
        id: the number.
        name: unique in the project.
        tag: the tag of a TREC file.
        sha256: the SHA-256 of the canonical table, as `Run.sha256`.
        rows, queries: the number of rows, and the number of queries.
        blob, states: the hash of the rankings, and the hash of the state of each query.
        ordered: as in `Run`.
        made_by: the engine and parameters of a snapshot, and `Run.corpus`.
        created_at: the time when the run was added.
        created_by: the user who created it.
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
    made_by: JsonObject
    created_at: datetime
    created_by: int | None


def add_run(
    connection: Connection,
    blobs: Blobs,
    project: int,
    run: Run,
    *,
    name: str = "",
    made_by: JsonObject | None = None,
    created_by: int | None = None,
) -> StoredRun:
    """Add a run; the same run under the same name is added only once.

    Args:
        connection: a connection to a store, for writing.
        blobs: the blobs of the store.
        project: the number of the project.
        run: the run to add.
        name: the name in the project; by default the name of the run.
        made_by: the engine and parameters of a snapshot.
        created_by: a user.

    Raises:
        UsageError: another run has this name.
        InputError, DuplicateError: the rows are not a valid run.
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
        made_by={**(made_by or {}), **({"corpus": dict(run.corpus)} if run.corpus else {})},
    )
    stored = find_run(connection, project, run_name)
    assert stored is not None
    return stored


def find_run(connection: Connection, project: int, name: str) -> StoredRun | None:
    """A run of a project by name, without its rankings, or None."""
    return find_by_name(connection, StoredRun, runs, project, name)


def run_by_number(connection: Connection, run: int) -> StoredRun:
    """A run by number."""
    return get_by_number(connection, StoredRun, runs, run, "run")


def list_runs(connection: Connection, project: int, *, archived: bool = False) -> list[StoredRun]:
    """The runs of a project, the oldest first; archived runs only on request."""
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
    """A run whose rankings are read when they are first needed.

    Raises:
        InputError: the blob is missing or damaged; raised when the rankings are read.
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
        corpus=corpus if isinstance(corpus := stored.made_by.get("corpus"), Mapping) else {},
    )


def read_columns(stored: StoredRun, blobs: Blobs, columns: list[str]) -> pl.DataFrame:
    """Read some columns of a run's rows, without caching them.

    Raises:
        InputError: its blob is missing or damaged.
    """
    return from_parquet(blobs.get(stored.blob), blobs.where, columns)


@dataclass(frozen=True)
class StoredJudgments:
    """Stored judgments without their grades.

    Attributes:
        id: the number.
        name: unique in the project.
        sha256: the SHA-256 of the canonical table, as `Qrels.sha256`.
        rows: the number of rows.
        blob: the hash of the grades.
        scale: lowest, highest, labels; empty if unknown.
        unjudged: queries without judgments.
        made_by: rule and parameters.
        last_rating: the number of the last rating in the store at that time.
        created_at: the time when the judgments were added.
        created_by: the user who created it.
    """

    id: int
    name: str
    sha256: str
    rows: int
    blob: str
    scale: Mapping[str, Any]
    unjudged: list[str]
    made_by: JsonObject
    last_rating: int
    created_at: datetime
    created_by: int | None


def add_judgments(
    connection: Connection,
    blobs: Blobs,
    project: int,
    qrels: Qrels,
    *,
    name: str = "",
    created_by: int | None = None,
) -> StoredJudgments:
    """Add judgments; the same judgments under the same name are added only once.

    Args:
        connection: a connection to a store, for writing.
        blobs: the blobs for the grades.
        project: the number.
        qrels: the judgments.
        name: the name; by default that of the judgments, without characters that an address cannot
            contain.
        created_by: a user.

    Raises:
        UsageError: other judgments have this name, or the name cannot be in an address.
    """
    if name:
        refuse_unaddressable("judgments", name)
    name = name or addressable(qrels.name)
    existing = find_judgments(connection, project, name)
    if existing is not None:
        if existing.sha256 != qrels.sha256:
            raise taken_error("judgments", name)
        return existing
    last = last_number(ratings, project)
    scale = qrels.scale
    new_id(
        connection,
        judgments,
        project=project,
        name=name,
        sha256=qrels.sha256,
        rows=len(qrels.table),
        blob=save_blob(connection, blobs, to_parquet(qrels.table)),
        scale={}
        if scale is None
        else {
            "lowest": scale.lowest,
            "highest": scale.highest,
            "labels": [list(label) for label in scale.labels],
        },
        unjudged=list(qrels.unjudged),
        made_by=dict(qrels.made_by or {}),
        last_rating=connection.scalar(last) or 0,
        created_at=now(),
        created_by=created_by,
    )
    stored = find_judgments(connection, project, name)
    assert stored is not None
    return stored


def find_judgments(connection: Connection, project: int, name: str) -> StoredJudgments | None:
    """Judgments of a project by name, without their grades, or None."""
    return find_by_name(connection, StoredJudgments, judgments, project, name)


def list_judgments(connection: Connection, project: int, *, archived: bool = False) -> list[StoredJudgments]:
    """All judgments of a project, the oldest first; archived judgments only on request."""
    return list_rows(connection, StoredJudgments, judgments, project, archived=archived)


def read_judgments(connection: Connection, blobs: Blobs, project: int, name: str) -> Qrels:
    """Judgments with their grades.

    Raises:
        UsageError: no judgments have this name.
        InputError: their blob is missing or damaged.
    """
    stored = find_judgments(connection, project, name)
    if stored is None:
        raise unknown_error("judgments", name)
    scale = None
    if stored.scale:
        labels = tuple((grade, str(label)) for grade, label in stored.scale["labels"])
        scale = Scale(stored.scale["lowest"], stored.scale["highest"], labels)
    table = from_parquet(blobs.get(stored.blob), blobs.where)
    return Qrels(table, name, scale, tuple(stored.unjudged), stored.made_by or None, RowLocation(name))
