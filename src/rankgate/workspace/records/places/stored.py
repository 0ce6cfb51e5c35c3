"""Records in a project of a store."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, Self

from rankgate.core.errors import UsageError
from rankgate.core.frozen import dataclass
from rankgate.store.kept import judgments, runs
from rankgate.store.people.audit import COMMAND_LINE
from rankgate.store.records import annotations as noted
from rankgate.store.records import records, series
from rankgate.store.rows import addressable
from rankgate.store.stored_project import StoredProject

if TYPE_CHECKING:
    import polars as pl
    from sqlalchemy import Connection

    from rankgate.data.qrels import Qrels
    from rankgate.data.run import Run
    from rankgate.store.records.annotations import Annotation
    from rankgate.store.records.new_record import NewRecord
    from rankgate.store.records.series import Point


@dataclass(frozen=True, eq=False)
class Stored:
    """A project of an open store as a place of records.

    Attributes:
        project: the project.
    """

    project: StoredProject

    @classmethod
    def open(cls, store: str | None, project: str) -> Self:
        """Open a store, and a project in it.

        Raises:
            UsageError: there is no such store or project.
        """
        return cls(StoredProject.open(store, project))

    @property
    def name(self) -> str:
        """The store and the project."""
        return f"{self.project.place} project {self.project.name}"

    def record(self, record: NewRecord) -> tuple[str, bool]:
        """Record an evaluation: its number, and whether it is new."""
        store = self.project.store
        with self.project.write() as connection:
            done = records.add(connection, store.blobs, self.project.number, record)
        return str(done.record.id), done.new

    def keep(self, qrels: Qrels | None, runs: Sequence[Run]) -> None:
        """Keep judgments and runs under free names, unless they are there."""
        with self.project.write() as connection:
            keep(connection, self.project, qrels, runs)

    def annotate(self, at: datetime, kind: str, text: str, *, revision: str) -> None:
        """Write down what happened at a moment."""
        with self.project.write() as connection:
            noted.add(
                connection, self.project.number, at=at, kind=kind, text=text, revision=revision,
                actor=COMMAND_LINE.name,
            )  # fmt: skip

    def points(
        self, metric: str | None, system: str | None, part: str, since: datetime | None
    ) -> list[Point]:
        """The figures of a metric in the order of their evaluation."""
        with self.project.store.read() as connection:
            return series.points(
                connection, self.project.number, metric, system=system, slice=part, since=since
            )

    def annotations(self, metric: str | None, since: datetime | None) -> list[Annotation]:
        """What happened."""
        with self.project.store.read() as connection:
            return noted.listed(connection, self.project.number, metric=metric, since=since)

    def per_query(self, point: Point) -> pl.DataFrame | None:
        """The values per query of a point's record."""
        store = self.project.store
        with store.read() as connection:
            return records.per_query(records.get(connection, point.record), store.blobs)

    def details(self, point: Point) -> dict[str, Any]:
        """``inputs`` and the ``convention`` with its axes of a point's record."""
        with self.project.store.read() as connection:
            inputs = dict(records.get(connection, point.record).inputs)
        return {"inputs": inputs, "convention": inputs.get("convention")}

    def run(self, sha256: str) -> Run | None:
        """A run that is kept."""
        store = self.project.store
        with store.read() as connection:
            for each in runs.listed(connection, self.project.number, archived=True):
                if each.sha256 == sha256:
                    return runs.rankings(each, store.blobs)
        return None

    def qrels(self, sha256: str) -> Qrels | None:
        """Judgments that are kept."""
        store, number = self.project.store, self.project.number
        with store.read() as connection:
            for each in judgments.listed(connection, number, archived=True):
                if each.sha256 == sha256:
                    return judgments.read(connection, store.blobs, number, each.name)
        return None

    def close(self) -> None:
        """Close the store."""
        self.project.close()


_HASH = 8


def keep(
    connection: Connection, project: StoredProject, qrels: Qrels | None, given: Sequence[Run]
) -> None:
    """Keep judgments and runs of a project; a taken name gets the first letters of the hash."""
    number, blobs = project.number, project.store.blobs
    if qrels is not None:
        kept = judgments.listed(connection, number, archived=True)
        known = {stored.sha256: stored.name for stored in kept}
        if qrels.sha256 not in known:
            name = _free(addressable(qrels.name), qrels.sha256, set(known.values()))
            judgments.add(connection, blobs, number, qrels, name=name)
    stored_runs = runs.listed(connection, number, archived=True)
    found = {stored.sha256: stored.name for stored in stored_runs}
    for run in given:
        if run.sha256 not in found:
            name = _free(run.name, run.sha256, set(found.values()))
            runs.add(connection, blobs, number, run, name=name)
            found[run.sha256] = name


def _free(name: str, sha256: str, taken: set[str]) -> str:
    chosen = name if name not in taken else f"{name}@{sha256[:_HASH]}"
    if chosen in taken:
        raise UsageError(f"the name {chosen!r} is taken; choose another.", code="name-taken")
    return chosen
