"""The interface of a storage of records, and a function that opens a storage by address."""

from __future__ import annotations

import os
from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, Protocol

from rankgate.core.errors import UsageError

if TYPE_CHECKING:
    import polars as pl

    from rankgate.data.qrels import Qrels
    from rankgate.data.run import Run
    from rankgate.store.records.record_notes import Annotation
    from rankgate.store.records.records import NewRecord
    from rankgate.store.records.series import Point


STORE, PROJECT, FOLDER = "RANKGATE_STORE", "RANKGATE_PROJECT", "RANKGATE_HISTORY"
"""The environment variables for the store or server, the project in it, or a folder instead."""


class RecordStorage(Protocol):
    """A storage of records."""

    @property
    def name(self) -> str:
        """The name of the storage for messages."""
        ...

    def record(self, record: NewRecord) -> tuple[str, bool]:
        """Record an evaluation; return its name there, and True if it is new."""
        ...

    def keep(self, qrels: Qrels | None, runs: Sequence[Run]) -> None:
        """Store judgments and runs, so that later judgments can rescore the runs."""
        ...

    def annotate(self, at: datetime, kind: str, text: str, *, revision: str) -> None:
        """Write an annotation of a moment."""
        ...

    def points(
        self, metric: str | None, system: str | None, slice_name: str, since: datetime | None
    ) -> list[Point]:
        """The figures of a metric in the order of evaluation."""
        ...

    def annotations(self, metric: str | None, since: datetime | None) -> list[Annotation]:
        """The annotations of a metric, and those that apply to all metrics."""
        ...

    def per_query(self, point: Point) -> pl.DataFrame | None:
        """The values per query of the record of a point."""
        ...

    def details(self, point: Point) -> dict[str, Any]:
        """The ``inputs`` of a point's record, and its ``convention`` with the axes."""
        ...

    def run(self, sha256: str) -> Run | None:
        """The saved run with a hash, or None."""
        ...

    def qrels(self, sha256: str) -> Qrels | None:
        """The saved judgments with a hash, or None."""
        ...

    def close(self) -> None:
        """Close the storage."""
        ...


def open_storage(
    folder: str | None = None, store: str | None = None, project: str | None = None
) -> RecordStorage:
    """Open the storage named by arguments or environment variables.

    Args:
        folder: the path of a folder.
        store: the URL of a store or of a server.
        project: the name of a project in the store.

    Raises:
        UsageError: no storage is named, or more than one.
    """
    if folder is not None and (store is not None or project is not None):
        problem = "a folder and a store are two places; name one."
        raise UsageError(problem, code="conflicting-options")
    if folder is None and store is None and project is None:
        folder = os.environ.get(FOLDER)
    if folder:
        from rankgate.workspace.records.storages.folder_storage import FolderStorage

        return FolderStorage.at(folder)
    store, project = store or os.environ.get(STORE), project or os.environ.get(PROJECT)
    if not store or not project:
        raise UsageError(
            f"name a folder, or a store and a project in it (or {FOLDER}, or {STORE} and {PROJECT}).",
            code="missing-input",
        )
    if store.startswith(("http://", "https://")):
        from rankgate.workspace.records.storages.server_storage import ServerStorage

        return ServerStorage.at(store, project)
    from rankgate.workspace.records.storages.store_storage import StoreStorage

    return StoreStorage.open(store, project)
