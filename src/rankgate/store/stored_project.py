"""One project of a store, for commands and scripts: tables by name, and saved results."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Self

from rankgate.core.errors import UsageError
from rankgate.core.frozen import dataclass
from rankgate.data.streams.journal import Closing
from rankgate.store.blobs import stored_results, stored_runs
from rankgate.store.material import projects, queries_documents
from rankgate.store.models.model_admissions import read_counting_ratings
from rankgate.store.project_collection import project_collection, unknown_in_project
from rankgate.store.rating import batches, ratings
from rankgate.store.store import Store

if TYPE_CHECKING:
    import polars as pl
    from sqlalchemy import Connection

    from rankgate.core.present.base_result import Result
    from rankgate.core.value_types import JsonObject
    from rankgate.data.collection import Collection
    from rankgate.data.qrels import Qrels, Ratings
    from rankgate.data.run import Run
    from rankgate.store.models.model_admissions import Models
    from rankgate.store.rating.batches import Strategy

ALL = "all"
"""The name for the ratings of all batches and of no batch."""


@dataclass(frozen=True, eq=False)
class StoredProject(Closing):
    """A project of an open store.

    Attributes:
        store: the store.
        name: the name of the project.
        number: the number of the project.
    """

    store: Store
    name: str
    number: int

    @classmethod
    def open(cls, store: str | None, project: str) -> Self:
        """Open a store, and a project in it.

        Args:
            store: the address; None is the value of ``RANKGATE_STORE``.
            project: the name.

        Raises:
            UsageError: there is no such store or project.
        """
        open_store = Store.open(store)
        try:
            with open_store.read() as connection:
                return cls(open_store, project, projects.get_by_name(connection, project).id)
        except BaseException:
            open_store.close()
            raise

    @property
    def place(self) -> str:
        """The store's address, for people."""
        return self.store.name

    @contextmanager
    def write(self) -> Iterator[Connection]:
        """A transaction that writes into the project.

        Raises:
            UsageError: the project is archived; the database cannot be reached or written.
        """
        with self.store.write() as connection:
            projects.refuse_archived(connection, self.number)
            yield connection

    @property
    def policy(self) -> str:
        """The policy of the project's gates, as TOML; empty if the default policy counts."""
        with self.store.read() as connection:
            return projects.get(connection, self.number).settings.get("policy", "")

    def run(self, name: str) -> Run:
        """A run with its rankings.

        Raises:
            UsageError: no run has this name; the error lists the names of all runs.
        """
        with self.store.read() as connection:
            stored_run = stored_runs.find_run(connection, self.number, name)
            if stored_run is None:
                raise unknown_in_project(
                    self.name,
                    "run",
                    name,
                    [run.name for run in stored_runs.list_runs(connection, self.number)],
                )
        return stored_runs.rankings(stored_run, self.store.blobs)

    def judgments(self, name: str) -> Qrels:
        """Resolved judgments.

        Raises:
            UsageError: no such judgments; the message lists the names.
        """
        with self.store.read() as connection:
            if stored_runs.find_judgments(connection, self.number, name) is None:
                raise unknown_in_project(
                    self.name,
                    "judgments",
                    name,
                    [qrels.name for qrels in stored_runs.list_judgments(connection, self.number)],
                )
            return stored_runs.read_judgments(connection, self.store.blobs, self.number, name)

    def rated_order(self, judgments: str) -> pl.DataFrame:
        """The pairs that people rated, and if one rated it before these judgments were stored.

        Raises:
            UsageError: no such judgments.
        """
        with self.store.read() as connection:
            return ratings.read_order(connection, self.number, judgments)

    def rows(self, table: str) -> pl.DataFrame | None:
        """The queries or the documents as a table of texts; None without any."""
        read = queries_documents.queries_table if table == "queries" else queries_documents.documents_table
        with self.store.read() as connection:
            return read(connection, self.number)

    def collection(self, stated: str | Collection, *, files: bool = False) -> Collection:
        """A collection of the project: its judgments, and tags of its queries.

        Args:
            stated: the name of judgments; or a collection whose texts are names: of judgments, of
                a run (``reference``), ``queries`` (for ``tags``, and for ``sample``, where the
                frequency of a query is its weight) and ``documents`` (for ``items``).
            files: True if a text that names nothing in the project may be a file.

        Raises:
            UsageError: a name that the project does not have.
        """
        return project_collection(self, stated, files=files)

    def ratings(self, batch: str = ALL) -> Ratings:
        """The ratings of single raters, of one batch or of all.

        Raises:
            InputError: the batch has no ratings.
            UsageError: there is no such batch.
        """
        with self.store.read() as connection:
            batch_number = self._batch(connection, batch)
            return ratings.read_ratings(connection, self.number, batch=batch_number, name=self.name)

    def counted(self, batch: str = ALL, models: Models = "fill") -> Ratings:
        """The ratings that judgments are made of: people's, and those of admitted models.

        Args:
            batch: the number of one batch, or None for all.
            models: ``fill``: they grade documents that no person graded; ``equal``: they count as
                people do; ``none``.

        Raises:
            InputError: the batch has no ratings.
            UsageError: there is no such batch.
        """
        with self.store.read() as connection:
            batch_number = self._batch(connection, batch)
            return read_counting_ratings(
                connection, self.number, batch=batch_number, name=self.name, models=models
            )

    def _batch(self, connection: Connection, name: str) -> int | None:
        if name == ALL:
            return None
        batch_ids = {
            batch_row.name: batch_row.id for batch_row in batches.list_batches(connection, self.number)
        }
        if name not in batch_ids:
            raise unknown_in_project(self.name, "batch", name, [ALL, *batch_ids])
        return batch_ids[name]

    def judged(self, name: str) -> Qrels | Ratings:
        """Judgments by name, or else the ratings of a batch, for tools that score by ratings.

        Raises:
            UsageError: there are neither.
        """
        try:
            return self.judgments(name)
        except UsageError as error:
            with self.store.read() as connection:
                batch_names = {batch_row.name for batch_row in batches.list_batches(connection, self.number)}
            if name not in {ALL, *batch_names}:
                raise error from None
        return self.counted(name)

    def add_run(self, run: Run, name: str = "") -> None:
        """Keep a run.

        Raises:
            UsageError: the name is another run's.
        """
        with self.write() as connection:
            stored_runs.add_run(connection, self.store.blobs, self.number, run, name=name)

    def add_judgments(self, qrels: Qrels, name: str) -> None:
        """Keep judgments, with their origin.

        Raises:
            UsageError: the name is that of other judgments.
        """
        with self.write() as connection:
            stored_runs.add_judgments(connection, self.store.blobs, self.number, qrels, name=name)

    def add_batch(self, pairs: pl.DataFrame, name: str, strategy: Strategy = "1") -> int:
        """Make a batch of pairs to be rated; return their number.

        Raises:
            UsageError: the name is taken.
        """
        with self.write() as connection:
            new_batch = batches.add_batch(connection, self.number, name, strategy=strategy)
            return batches.add_pairs(connection, new_batch, pairs)

    def add_result(self, result: Result, name: str = "", summary: JsonObject | None = None) -> int:
        """Keep a result; return its number."""
        with self.write() as connection:
            stored_result = stored_results.add_result(
                connection, self.store.blobs, self.number, result.to_dict(), name=name, summary=summary
            )
        return stored_result.id

    def close(self) -> None:
        """Close the store."""
        self.store.close()
