"""One project of a store, as commands and scripts use it: tables by name, results kept by name."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Protocol, Self

from rankgate.core.errors import UsageError
from rankgate.core.frozen import dataclass
from rankgate.data.streams.closing import Closing
from rankgate.store.kept import judgments, results, runs
from rankgate.store.material import projects
from rankgate.store.models.counted import counted
from rankgate.store.rating import batches, ratings
from rankgate.store.store import Store

if TYPE_CHECKING:
    import polars as pl
    from sqlalchemy import Connection

    from rankgate.data.qrels import Qrels
    from rankgate.data.ratings import Ratings
    from rankgate.data.run import Run
    from rankgate.store.models.counted import Models
    from rankgate.store.rating.batches import Strategy

ALL = "all"
"""The name of the ratings of all batches, and of no batch."""


class Kept(Protocol):
    """A result, as all verbs return it."""

    def to_dict(self) -> dict[str, Any]:
        """As plain values."""
        ...


@dataclass(frozen=True, eq=False)
class StoredProject(Closing):
    """A project of an open store.

    Attributes:
        store: the store.
        name: of the project.
        number: of the project.
    """

    store: Store
    name: str
    number: int

    @classmethod
    def open(cls, store: str | None, project: str) -> Self:
        """Open a store, and a project in it.

        Args:
            store: the address; None is what ``RANKGATE_STORE`` says.
            project: the name.

        Raises:
            UsageError: there is no such store or project.
        """
        opened = Store.open(store)
        try:
            with opened.read() as connection:
                return cls(opened, project, projects.named(connection, project).id)
        except BaseException:
            opened.close()
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

    def run(self, name: str) -> Run:
        """A run with its rankings.

        Raises:
            UsageError: no run has this name; the error lists the names of all runs.
        """
        with self.store.read() as connection:
            found = runs.find(connection, self.number, name)
            if found is None:
                raise self._unknown("run", name, [
                    each.name for each in runs.listed(connection, self.number)])  # fmt: skip
        return runs.rankings(found, self.store.blobs)

    def judgments(self, name: str) -> Qrels:
        """Resolved judgments.

        Raises:
            UsageError: there are none; the names of those that there are.
        """
        with self.store.read() as connection:
            if judgments.find(connection, self.number, name) is None:
                raise self._unknown("judgments", name, [
                    each.name for each in judgments.listed(connection, self.number)])  # fmt: skip
            return judgments.read(connection, self.store.blobs, self.number, name)

    def ratings(self, batch: str = ALL) -> Ratings:
        """The ratings of single raters, of one batch or of all.

        Raises:
            InputError: there are none.
            UsageError: there is no such batch.
        """
        with self.store.read() as connection:
            place = self._batch(connection, batch)
            return ratings.table(connection, self.number, batch=place, name=self.name)

    def counted(self, batch: str = ALL, models: Models = "fill") -> Ratings:
        """The ratings that judgments are made of: people's, and those of admitted models.

        Args:
            batch: of one batch, or of all.
            models: ``fill``: they grade what no person graded; ``equal``: they count as people do;
                ``none``.

        Raises:
            InputError: there are none.
            UsageError: there is no such batch.
        """
        with self.store.read() as connection:
            place = self._batch(connection, batch)
            return counted(connection, self.number, batch=place, name=self.name, models=models)

    def _batch(self, connection: Connection, name: str) -> int | None:
        if name == ALL:
            return None
        known = {each.name: each.id for each in batches.listed(connection, self.number)}
        if name not in known:
            raise self._unknown("batch", name, [ALL, *known])
        return known[name]

    def judged(self, name: str) -> Qrels | Ratings:
        """Judgments by name, or else the ratings of a batch, for tools that score by ratings.

        Raises:
            UsageError: there are neither.
        """
        try:
            return self.judgments(name)
        except UsageError as error:
            with self.store.read() as connection:
                named = {each.name for each in batches.listed(connection, self.number)}
            if name not in {ALL, *named}:
                raise error from None
        return self.counted(name)

    def _unknown(self, what: str, name: str, known: list[str]) -> UsageError:
        listed = f"; there are {', '.join(known[:10])}" if known else ""
        return UsageError(
            f"the project {self.name} has no {what} {name!r}{listed}.", code=f"unknown-{what}"
        )

    def add_run(self, run: Run, name: str = "") -> None:
        """Keep a run.

        Raises:
            UsageError: the name is another run's.
        """
        with self.write() as connection:
            runs.add(connection, self.store.blobs, self.number, run, name=name)

    def add_judgments(self, qrels: Qrels, name: str) -> None:
        """Keep judgments, with how they were made.

        Raises:
            UsageError: the name is that of other judgments.
        """
        with self.write() as connection:
            judgments.add(connection, self.store.blobs, self.number, qrels, name=name)

    def add_batch(self, pairs: pl.DataFrame, name: str, strategy: Strategy = "1") -> int:
        """Make a batch of pairs to be rated; how many there are.

        Raises:
            UsageError: the name is taken.
        """
        with self.write() as connection:
            made = batches.add(connection, self.number, name, strategy=strategy)
            return batches.add_pairs(connection, made, pairs)

    def add_result(
        self, result: Kept, name: str = "", summary: Mapping[str, Any] | None = None
    ) -> int:
        """Keep a result; its number."""
        with self.write() as connection:
            made = results.add(
                connection, self.store.blobs, self.number, result.to_dict(), name=name,
                summary=summary,
            )  # fmt: skip
        return made.id

    def close(self) -> None:
        """Close the store."""
        self.store.close()
