"""Batches of a project: made of a pool with the texts of its queries and documents; changed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rankgate.data.formats.pool_file import read_pool
from rankgate.data.read import read_qrels
from rankgate.judging.rating.pool_tasks import read_texts
from rankgate.store.material import documents, queries
from rankgate.store.rating import batches as stored
from rankgate.workspace.web.pages.uploads import upload_file
from rankgate.workspace.web.replies import ActionReply, not_found

if TYPE_CHECKING:
    import polars as pl

    from rankgate.workspace.web.asked import Upload, WebRequest


def add_batch(request: WebRequest) -> ActionReply:
    """A batch of a pool, with the texts of its queries and documents."""
    fields = request.values
    tables: dict[str, pl.DataFrame] = {}
    size_limit = request.config.largest_unpacked
    with upload_file(fields["pool"], size_limit) as path:
        pool = read_pool(str(path))
    for table_name in ("queries", "documents"):
        if fields[table_name] is not None:
            with upload_file(fields[table_name], size_limit) as path:
                tables[table_name] = read_texts(path, table_name)
    gold = _read_gold(fields["gold"], size_limit) if fields["gold"] is not None else {}
    project = request.project.id
    with request.store.write() as connection:
        if "queries" in tables:
            queries.add_queries(connection, project, tables["queries"])
        if "documents" in tables:
            documents.add_documents(connection, project, tables["documents"])
        batch = stored.add_batch(
            connection,
            project,
            fields["name"],
            kind=fields["kind"] or "rating",
            strategy=fields["strategy"] or "2",
            priority=fields["priority"] or 0,
            deadline=fields["deadline"],
            blind=not fields["open"],
            seed=fields["seed"] or 0,
            created_by=request.user.id,
        )
        count = stored.add_pairs(connection, batch, pool, gold)
        request.record(connection, "batch.add", batch.name, tasks=count, blind=batch.blind)
    return ActionReply(request.at(), {"batch": batch.id, "tasks": count})


def _read_gold(upload: Upload, size_limit: float) -> dict[tuple[str, str], stored.Gold]:
    with upload_file(upload, size_limit) as path:
        table = read_qrels(path).table
    return {
        (row["query_id"], row["doc_id"]): stored.Gold(row["grade"])
        for row in table.iter_rows(named=True)
    }


def change_batch(request: WebRequest) -> ActionReply:
    """Pause, close or open a batch; another priority, deadline or number of raters."""
    with request.store.write() as connection:
        batch = stored.get_batch(connection, request.path["batch"])
        if batch.project != request.project.id:
            raise not_found("batch")
        values = {
            name: request.values[name] for name in ("state", "priority", "strategy", "deadline")
        }
        changes = {name: value for name, value in values.items() if value is not None}
        stored.change_batch(connection, batch.id, **changes)
        request.record(
            connection,
            "batch.change",
            batch.name,
            **{name: str(value) for name, value in changes.items()},
        )
    return ActionReply(request.at(), {"batch": batch.id})
