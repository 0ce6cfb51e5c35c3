"""Records in a project of a store."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, Self

from rankgate.core.errors import UsageError
from rankgate.core.frozen import dataclass
from rankgate.store.blobs import stored_runs as judgments
from rankgate.store.blobs import stored_runs as runs
from rankgate.store.people.audit import COMMAND_LINE
from rankgate.store.records import record_notes as noted
from rankgate.store.records import records, series
from rankgate.store.rows import addressable
from rankgate.store.stored_project import StoredProject

if TYPE_CHECKING:
    import polars as pl
    from sqlalchemy import Connection

    from rankgate.data.qrels import Qrels
    from rankgate.data.run import Run
    from rankgate.store.records.record_notes import Annotation
    from rankgate.store.records.records import NewRecord
    from rankgate.store.records.series import Point


@dataclass(frozen=True, eq=False)
class StoreStorage:
    """A project of an open store as a storage of records.

    Attributes:
        project: the project.
    """

    project: StoredProject

    @classmethod
    def open(cls, store: str | None, project: str) -> Self:
        """Open a store and one of its projects.

        Raises:
            UsageError: the store or project does not exist.
        """
        return cls(StoredProject.open(store, project))

    @property
    def name(self) -> str:
        """The names of the store and the project."""
        return f"{self.project.place} project {self.project.name}"

    def record(self, record: NewRecord) -> tuple[str, bool]:
        """Record an evaluation; return its number, and True if it is new."""
        store = self.project.store
        with self.project.write() as connection:
            addition = records.add(connection, store.blobs, self.project.number, record)
        return str(addition.record.id), addition.new

    def keep(self, qrels: Qrels | None, runs: Sequence[Run]) -> None:
        """Save missing judgments and runs under free names."""
        with self.project.write() as connection:
            save_inputs_in(connection, self.project, qrels, runs)

    def annotate(self, at: datetime, kind: str, text: str, *, revision: str) -> None:
        """Write an annotation of a moment."""
        with self.project.write() as connection:
            noted.add_annotation(
                connection,
                self.project.number,
                at=at,
                kind=kind,
                text=text,
                revision=revision,
                actor=COMMAND_LINE.name,
            )

    def points(
        self, metric: str | None, system: str | None, slice_name: str, since: datetime | None
    ) -> list[Point]:
        """The figures of a metric in the order of evaluation."""
        with self.project.store.read() as connection:
            return series.list_points(
                connection, self.project.number, metric, system=system, slice=slice_name, since=since
            )

    def annotations(self, metric: str | None, since: datetime | None) -> list[Annotation]:
        """The annotations of a metric, and those that apply to all metrics."""
        with self.project.store.read() as connection:
            return noted.list_annotations(connection, self.project.number, metric=metric, since=since)

    def per_query(self, point: Point) -> pl.DataFrame | None:
        """The values per query of the record of a point."""
        store = self.project.store
        with store.read() as connection:
            return records.read_per_query(records.get(connection, point.record), store.blobs)

    def details(self, point: Point) -> dict[str, Any]:
        """The ``inputs`` of a point's record, and its ``convention`` with the axes."""
        with self.project.store.read() as connection:
            inputs = dict(records.get(connection, point.record).inputs)
        return {"inputs": inputs, "convention": inputs.get("convention")}

    def run(self, sha256: str) -> Run | None:
        """The saved run with a hash, or None."""
        store = self.project.store
        with store.read() as connection:
            for stored_run in runs.list_runs(connection, self.project.number, archived=True):
                if stored_run.sha256 == sha256:
                    return runs.rankings(stored_run, store.blobs)
        return None

    def qrels(self, sha256: str) -> Qrels | None:
        """The saved judgments with a hash, or None."""
        store, number = self.project.store, self.project.number
        with store.read() as connection:
            for stored_judgments in judgments.list_judgments(connection, number, archived=True):
                if stored_judgments.sha256 == sha256:
                    return judgments.read_judgments(connection, store.blobs, number, stored_judgments.name)
        return None

    def close(self) -> None:
        """Close the store."""
        self.project.close()


_HASH_LENGTH = 8


def save_inputs_in(
    connection: Connection, project: StoredProject, qrels: Qrels | None, new_runs: Sequence[Run]
) -> None:
    """Save judgments and runs of a project; a name in use gets the first letters of the hash."""
    number, blobs = project.number, project.store.blobs
    if qrels is not None:
        stored_judgments = judgments.list_judgments(connection, number, archived=True)
        judgment_names = {stored.sha256: stored.name for stored in stored_judgments}
        if qrels.sha256 not in judgment_names:
            name = _find_free_name(addressable(qrels.name), qrels.sha256, set(judgment_names.values()))
            judgments.add_judgments(connection, blobs, number, qrels, name=name)
    stored_runs = runs.list_runs(connection, number, archived=True)
    run_names = {stored.sha256: stored.name for stored in stored_runs}
    for run in new_runs:
        if run.sha256 not in run_names:
            name = _find_free_name(run.name, run.sha256, set(run_names.values()))
            runs.add_run(connection, blobs, number, run, name=name)
            run_names[run.sha256] = name


def _find_free_name(name: str, sha256: str, used_names: set[str]) -> str:
    free_name = name if name not in used_names else f"{name}@{sha256[:_HASH_LENGTH]}"
    if free_name in used_names:
        raise UsageError(f"the name {free_name!r} is taken; choose another.", code="name-taken")
    return free_name
