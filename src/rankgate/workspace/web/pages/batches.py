"""Batches of a project: made of a pool with the texts of its queries and documents; changed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rankgate.data.formats.pool_file import read_pool
from rankgate.data.read import read_qrels
from rankgate.judging.rating.pool_tasks import texts
from rankgate.store.material import documents, queries
from rankgate.store.rating import batches as stored
from rankgate.workspace.web.pages.uploads import file_of
from rankgate.workspace.web.replies import Done, not_found

if TYPE_CHECKING:
    import polars as pl

    from rankgate.workspace.web.asked import Asked, Upload


def add(asked: Asked) -> Done:
    """A batch of a pool, with the texts of its queries and documents."""
    given = asked.values
    tables: dict[str, pl.DataFrame] = {}
    most = asked.config.largest_unpacked
    with file_of(given["pool"], most) as place:
        pool = read_pool(str(place))
    for part in ("queries", "documents"):
        if given[part] is not None:
            with file_of(given[part], most) as place:
                tables[part] = texts(place, part)
    gold = _gold(given["gold"], most) if given["gold"] is not None else {}
    project = asked.project.id
    with asked.store.write() as connection:
        if "queries" in tables:
            queries.add(connection, project, tables["queries"])
        if "documents" in tables:
            documents.add(connection, project, tables["documents"])
        batch = stored.add(
            connection, project, given["name"], kind=given["kind"] or "rating",
            strategy=given["strategy"] or "2", priority=given["priority"] or 0,
            deadline=given["deadline"], blind=not given["open"], seed=given["seed"] or 0,
            created_by=asked.user.id,
        )  # fmt: skip
        count = stored.add_pairs(connection, batch, pool, gold)
        asked.record(connection, "batch.add", batch.name, tasks=count, blind=batch.blind)
    return Done(asked.at(), {"batch": batch.id, "tasks": count})


def _gold(upload: Upload, most: float) -> dict[tuple[str, str], stored.Gold]:
    with file_of(upload, most) as place:
        table = read_qrels(place).table
    return {
        (row["query_id"], row["doc_id"]): stored.Gold(row["grade"])
        for row in table.iter_rows(named=True)
    }


def change(asked: Asked) -> Done:
    """Pause, close or open a batch; another priority, deadline or number of raters."""
    with asked.store.write() as connection:
        batch = stored.get(connection, asked.path["batch"])
        if batch.project != asked.project.id:
            raise not_found("batch")
        values = {name: asked.values[name] for name in ("state", "priority", "strategy",
                                                        "deadline")}  # fmt: skip
        changed = {name: value for name, value in values.items() if value is not None}
        stored.change(connection, batch.id, **changed)
        asked.record(connection, "batch.change", batch.name,
                     **{name: str(value) for name, value in changed.items()})  # fmt: skip
    return Done(asked.at(), {"batch": batch.id})
