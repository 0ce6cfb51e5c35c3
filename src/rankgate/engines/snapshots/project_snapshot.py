"""A snapshot of an engine of a project: its queries are sent, and the run stays in the project."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import polars as pl

from rankgate.core.errors import InputError
from rankgate.data.formats.run_companions import FIELDS_SUFFIX
from rankgate.engines.engine import Query
from rankgate.engines.project_engines import EngineAccess, read_project_engine
from rankgate.engines.snapshots.run_files import DEFAULT_FORMAT
from rankgate.engines.snapshots.snapshot_verb import snapshot
from rankgate.store.blobs import stored_runs
from rankgate.store.material import project_engines, queries_documents

if TYPE_CHECKING:
    from rankgate.engines.snapshots.snapshot import Snapshot
    from rankgate.store.stored_project import StoredProject


def list_project_queries(stored_project: StoredProject) -> list[Query]:
    """The queries of a project that have a text and are not archived, with their tags as values.

    Raises:
        InputError: the project has no such query.
    """
    with stored_project.store.read() as connection:
        stored_queries = queries_documents.list_queries(connection, stored_project.number)
    queries = [
        Query(query.query_id, query.text, dict(query.tags))
        for query in stored_queries
        if query.text is not None and query.text.strip()
    ]
    if not queries:
        problem = "the project has no queries with a text; add some first."
        raise InputError(problem, source=stored_project.name, code="no-queries")
    return queries


def snapshot_project(
    stored_project: StoredProject,
    engine: str,
    name: str,
    *,
    access: EngineAccess | None = None,
    **options: Any,
) -> Snapshot:
    """Send the queries of a project to one of its engines; keep the run, and texts of documents.

    Documents that the project has keep their fields, which raters may have seen. Nothing is kept if
    the engine was down before all queries were sent, or answered no query.

    Args:
        stored_project: the project.
        engine: the name of the engine.
        name: the name of the run.
        access: the resources that the engine may use; None is unlimited.
        options: the options of `snapshot`: ``parameters``, ``depth``, ``concurrency``, ``rate``,
            ``arrival_rate``.

    Raises:
        InputError: there are no queries; a setting of the engine that does not fit.
        UsageError: no such engine; a host, file or secret that it may not use; a name that another
            run has.
    """
    with stored_project.store.read() as connection:
        definition = project_engines.get_engine(connection, stored_project.number, engine)
    configuration = read_project_engine(definition, stored_project.name, access)
    queries = list_project_queries(stored_project)
    if access is not None:
        options = {**options, "rate": access.limit_rate(options.get("rate"))}
    with TemporaryDirectory(prefix="rankgate-") as folder:
        output = Path(folder) / f"run.{DEFAULT_FORMAT}"
        result = snapshot(configuration, queries, output, to=DEFAULT_FORMAT, **options)
        documents = _read_documents(Path(f"{output}{FIELDS_SUFFIX}"))
        result = replace(result, output=None)
        if result.run is None or not result.finished or result.failed:
            return result
        with stored_project.write() as connection:
            if documents is not None:
                queries_documents.add_new_documents(connection, stored_project.number, documents)
            stored_runs.add_run(
                connection,
                stored_project.store.blobs,
                stored_project.number,
                result.run,
                name=name,
                made_by={"engine": engine, "configuration": configuration.sha256},
            )
    return result


def _read_documents(path: Path) -> pl.DataFrame | None:
    """The display fields that a snapshot wrote, as texts; None if there are none."""
    if not path.exists():
        return None
    with path.open("rb") as file:
        rows = [
            {
                name: value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
                for name, value in json.loads(line).items()
                if value is not None
            }
            for line in file
        ]
    names = list(dict.fromkeys(name for row in rows for name in row))
    return pl.DataFrame(rows, schema=dict.fromkeys(names, pl.String)) if rows else None
