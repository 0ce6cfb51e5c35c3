"""The collection of a project: judgments, runs, and tables of queries and documents, by name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from rankgate.core.errors import UsageError
from rankgate.data.collection import Collection
from rankgate.data.formats import registry
from rankgate.data.qrels import Qrels
from rankgate.data.query_tags import IDS
from rankgate.data.seal import SEALED, Seal

if TYPE_CHECKING:
    import polars as pl

    from rankgate.data.run import Run

    Table = Qrels | Run | pl.DataFrame

TABLES = ("queries", "documents")
"""The tables of a project that may be used as side inputs."""

_NOT_TAGS = ("information_need", "frequency")
"""Columns of queries that are not tags; texts show near-copies of queries."""


class ProjectTables(Protocol):
    """A project with access to its tables by name."""

    @property
    def name(self) -> str:
        """The project's name."""

    def judgments(self, name: str) -> Qrels:
        """Judgments by name."""

    def run(self, name: str) -> Run:
        """A run by name."""

    def rated_order(self, judgments: str) -> pl.DataFrame:
        """The pairs that people rated, and if one rated it before these judgments were stored."""

    def rows(self, table: str) -> pl.DataFrame | None:
        """The rows of a table of `TABLES`; None if the table is empty."""


def unknown_in_project(project: str, kind: str, name: str, names: list[str]) -> UsageError:
    """The error for a name that a project does not have, with some existing names."""
    hint = f"; known: {', '.join(names[:10])}" if names else ""
    return UsageError(f"the project {project} has no {kind} {name!r}{hint}.", code=f"unknown-{kind}")


def project_collection(
    project: ProjectTables, stated: str | Collection, *, files: bool = False
) -> Collection:
    """The collection of a project; texts in it are names of the project's tables.

    Without stated tags, the tags of the project's queries are used, if the judgments belong to the
    project and their queries have tags.

    Args:
        project: the project.
        stated: the name of judgments; or a collection whose texts are names: of judgments, of runs
            (`reference`), ``queries`` (tags, and weights by their frequency) or ``documents``
            (items).
        files: True if a text that is not a name in the project may be a file.

    Raises:
        UsageError: a name that the project does not have; a sealed model whose judgments the
            project does not have, or whose order to people's it does not show.
    """
    collection = stated if isinstance(stated, Collection) else Collection(stated)
    collection = _sealed(project, collection.located(project_table(project, files=files)))
    if collection.tags is None and isinstance(collection.judgments, Qrels):
        return replace(collection, tags=_tags(project, collection.judgments))
    return collection


def _sealed(project: ProjectTables, collection: Collection) -> Collection:
    """A collection whose sealed model has the order of events in the project as its evidence."""
    predicted = collection.predicted
    if predicted is None or not isinstance(predicted.saw, str) or predicted.saw != SEALED:
        return collection
    if not isinstance(predicted.judgments, Qrels) or not isinstance(collection.judgments, Qrels):
        raise UsageError(
            f"the judgments of a sealed model, and people's, are judgments of the project {project.name}, "
            "which keeps their order; name them.",
            code="not-sealed",
        )
    order = project.rated_order(predicted.judgments.name)
    seal = Seal.from_order(project.name, order, collection.judgments)
    return replace(collection, predicted=replace(predicted, saw=seal))


def project_table(project: ProjectTables, *, files: bool = False) -> Callable[[str, str], Table | str]:
    """A function that returns a project's table for the kind of a field and a name.

    Args:
        project: the project.
        files: as in `project_collection`.
    """

    def table(kind: str, name: str) -> Table | str:
        if name.startswith(IDS):
            return name
        try:
            return _table(project, kind, name)
        except UsageError:
            if files and Path(registry.split_prefix(name)[1]).exists():
                return name
            raise

    return table


def _table(project: ProjectTables, kind: str, name: str) -> Table:
    """One table of a project.

    Raises:
        UsageError: the project does not have it.
    """
    if kind == "judgments":
        return project.judgments(name)
    if kind == "run":
        return project.run(name)
    if name not in TABLES:
        raise UsageError(
            f"the project {project.name} has no table {name!r}; there are {' and '.join(TABLES)}.",
            code="unknown-table",
        )
    rows = project.rows(name)
    if rows is None:
        raise UsageError(f"the project {project.name} has no {name}.", code="missing-input")
    if name == "queries":
        return rows
    fields = rows.drop("query_id", strict=False)  # for one query, if fields differ by query
    return fields.unique("doc_id", keep="first", maintain_order=True)


def _tags(project: ProjectTables, qrels: Qrels) -> pl.DataFrame | None:
    """The tags of judged queries; None if the project has no tags for them."""
    queries = project.rows("queries")
    if queries is None:
        return None
    tags = queries.drop(_NOT_TAGS, strict=False)
    tags = tags.join(qrels.table.select("query_id").unique(), on="query_id", how="semi")
    return tags if len(tags) and len(tags.columns) > 1 else None
