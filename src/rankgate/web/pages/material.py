"""Files of a project: queries, documents, runs, judgments and pools, through the usual readers."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any

from rankgate.data.formats.pool_file import read_pool
from rankgate.data.read import contents_of, read_qrels
from rankgate.judging.rating.pool_tasks import texts
from rankgate.store.kept import judgments, runs
from rankgate.store.material import documents, queries
from rankgate.store.rating import batches
from rankgate.web.replies import Done, Page, not_found

if TYPE_CHECKING:
    import polars as pl
    from sqlalchemy import Connection

    from rankgate.data.contents import FileContents
    from rankgate.web.asked import Asked, Upload


def page(asked: Asked) -> Page:
    """What the project has, and forms to add to it."""
    project = asked.project.id
    with asked.store.read() as connection:
        texts, shown = queries.table(connection, project), documents.table(connection, project)
        data = {
            "project": asked.project.name,
            "queries": 0 if texts is None else len(texts),
            "documents": 0 if shown is None else len(shown),
            "document_fields": [] if shown is None else shown.columns[1:],
            "runs": [{"name": e.name, "rows": e.rows} for e in runs.listed(connection, project)],
            "batches": [{"id": e.id, "name": e.name} for e in batches.listed(connection, project)],
        }
    return Page("material.html", data)


@contextmanager
def file_of(upload: Upload) -> Iterator[Path]:
    """An upload as a file; of its name only the suffixes count, as readers look at them."""
    suffixes = "".join(each for each in PurePath(upload.name).suffixes[-2:] if each.isascii())
    kept = "".join(c for c in suffixes if c.isalnum() or c == ".")[:20]
    with tempfile.TemporaryDirectory(prefix="rankgate-") as folder:
        place = Path(folder) / f"{_stem(upload.name)}{kept}"
        place.write_bytes(upload.content)
        yield place


def _stem(name: str) -> str:
    stem = PurePath(name.replace("\\", "/")).name.partition(".")[0]
    return "".join(c if c.isalnum() or c in "-_" else "_" for c in stem)[:60] or "upload"


def add(asked: Asked) -> Done:
    """Add what a file holds: queries, documents, runs or judgments; or only say what it holds."""
    upload = asked.values["file"]
    with file_of(upload) as place:
        found = contents_of(place, asked.values["format"] or None)
        counts = _counts(found)
        if asked.values["preview"]:
            return Done(asked.at("material"), {"holds": counts, "added": False})
        with asked.store.write() as connection:
            _keep(asked, connection, found, place.name.partition(".")[0])
            asked.record(connection, "material.add", upload.name[:200], **counts)
    return Done(asked.at("material"), {"holds": counts, "added": True})


def _counts(found: FileContents) -> dict[str, int]:
    parts: Mapping[str, Any] = {
        "queries": found.queries,
        "documents": found.documents,
        "judgments": None if found.qrels is None else found.qrels.table,
        "ratings": None if found.ratings is None else found.ratings.table,
    }
    counts = {name: len(part) for name, part in parts.items() if part is not None}
    return counts | ({"runs": len(found.runs)} if found.runs else {})


def _keep(asked: Asked, connection: Connection, found: FileContents, name: str) -> None:
    project, store, user = asked.project.id, asked.store, asked.user.id
    if found.queries is not None:
        queries.add(connection, project, found.queries)
    if found.documents is not None:
        documents.add(connection, project, found.documents)
    for run in found.runs:
        runs.add(connection, store.blobs, project, run, created_by=user)
    if found.qrels is not None:
        judgments.add(connection, store.blobs, project, found.qrels, name=name, created_by=user)


def add_batch(asked: Asked) -> Done:
    """A batch of a pool, with the texts of its queries and documents."""
    given = asked.values
    tables: dict[str, pl.DataFrame] = {}
    with file_of(given["pool"]) as place:
        pool = read_pool(str(place))
    for part in ("queries", "documents"):
        if given[part] is not None:
            with file_of(given[part]) as place:
                tables[part] = texts(place, part)
    gold = _gold(given["gold"]) if given["gold"] is not None else {}
    project = asked.project.id
    with asked.store.write() as connection:
        if "queries" in tables:
            queries.add(connection, project, tables["queries"])
        if "documents" in tables:
            documents.add(connection, project, tables["documents"])
        batch = batches.add(
            connection, project, given["name"], kind=given["kind"] or "rating",
            strategy=given["strategy"] or "2", priority=given["priority"] or 0,
            deadline=given["deadline"], blind=not given["open"], seed=given["seed"] or 0,
            created_by=asked.user.id,
        )  # fmt: skip
        count = batches.add_pairs(connection, batch, pool, gold)
        asked.record(connection, "batch.add", batch.name, tasks=count, blind=batch.blind)
    return Done(asked.at(), {"batch": batch.id, "tasks": count})


def _gold(upload: Upload) -> dict[tuple[str, str], batches.Gold]:
    with file_of(upload) as place:
        table = read_qrels(place).table
    return {
        (row["query_id"], row["doc_id"]): batches.Gold(row["grade"])
        for row in table.iter_rows(named=True)
    }


def change_batch(asked: Asked) -> Done:
    """Pause, close or open a batch; another priority, deadline or number of raters."""
    with asked.store.write() as connection:
        batch = batches.get(connection, asked.path["batch"])
        if batch.project != asked.project.id:
            raise not_found("batch")
        values = {name: asked.values[name] for name in ("state", "priority", "strategy",
                                                        "deadline")}  # fmt: skip
        changed = {name: value for name, value in values.items() if value is not None}
        batches.change(connection, batch.id, **changed)
        asked.record(connection, "batch.change", batch.name,
                     **{name: str(value) for name, value in changed.items()})  # fmt: skip
    return Done(asked.at(), {"batch": batch.id})
