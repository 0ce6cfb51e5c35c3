"""What a project no longer needs: hidden and kept, or deleted after a page that says what goes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rankgate.store import archive
from rankgate.store.material import projects
from rankgate.store.models import jobs
from rankgate.store.rating import batches
from rankgate.store.rows import now
from rankgate.workspace.web.fields import wrong
from rankgate.workspace.web.options import batch_names
from rankgate.workspace.web.replies import Done, Page, not_found

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from rankgate.store.archive import Item
    from rankgate.workspace.web.asked import Asked


_QUERIES = "archived queries"
"""What is typed to delete all of them."""


def page(asked: Asked) -> Page:
    """Runs, judgments, batches and archived queries, each with a button to hide or show it."""
    project = asked.project
    with asked.store.read() as connection:
        items = archive.listed(connection, project.id)
        archived_queries = archive.count_archived_queries(connection, project.id)
    data = {
        "project": project.name,
        "items": [vars(item) for item in items],
        "archived_queries": archived_queries,
        "archived_at": project.archived_at,
    }
    return Page("archive.html", data, {"batches": batch_names(asked)})


def _item(connection: Connection, asked: Asked) -> Item:
    kind = str(asked.path["kind"])
    if kind not in archive.KINDS:
        raise not_found("page")
    return archive.get(connection, asked.project.id, kind, asked.path["number"])


def change(asked: Asked) -> Done:
    """Hide an item, or show it again."""
    archived = bool(asked.values["archived"])
    with asked.store.write() as connection:
        item = _item(connection, asked)
        archive.set_archived(connection, item, archived=archived)
        action = "archive" if archived else "restore"
        asked.record(connection, f"{item.kind}.{action}", item.name)
    return Done(asked.at("archive"), {"name": item.name, "archived": archived})


def change_queries(asked: Asked) -> Done:
    """Hide queries, or show them again: those that are named, and those of a batch."""
    given, project = asked.values, asked.project
    archived = bool(given["archived"])
    with asked.store.write() as connection:
        ids = [line.strip() for line in (given["queries"] or "").splitlines() if line.strip()]
        if given["batch"]:
            batch = batches.named(connection, project.id, given["batch"])
            ids += archive.queries_of_batch(connection, batch.id)
        if not ids:
            raise wrong("queries", "names no query")
        count = archive.archive_queries(connection, project.id, ids, archived=archived)
        action = "queries.archive" if archived else "queries.restore"
        asked.record(connection, action, given["batch"] or ids[0], queries=count)
    return Done(asked.at("archive"), {"queries": count, "archived": archived})


def change_project(asked: Asked) -> Done:
    """Hide the project in lists, and end the jobs of models; or show it again."""
    archived = bool(asked.values["archived"])
    with asked.store.write() as connection:
        projects.change(connection, asked.project.id, archived_at=now() if archived else None)
        if archived:
            for job in jobs.listed(connection, asked.project.id):
                if job.state in jobs.UNDER_WAY:
                    jobs.cancel(connection, job.id)
        asked.record(connection, "project.archive" if archived else "project.restore")
    return Done("/projects", {"name": asked.project.name, "archived": archived})


def before_delete(asked: Asked) -> Page:
    """What is deleted with an item."""
    with asked.store.read() as connection:
        item = _item(connection, asked)
        counts = archive.dependents(connection, item)
    return Page("delete.html", {"project": asked.project.name, "kind": item.kind, "id": item.id,
                                "name": item.name, "deleted": counts,
                                "deletable": True})  # fmt: skip


def delete(asked: Asked) -> Done:
    """Delete an item with what depends on it."""
    with asked.store.write() as connection:
        item = _item(connection, asked)
        _refuse_other_name(asked, item.name)
        counts = archive.delete(connection, item)
        asked.record(connection, f"{item.kind}.delete", item.name, **counts)
    return Done(asked.at("archive"), {"name": item.name, "deleted": counts})


def before_delete_queries(asked: Asked) -> Page:
    """What is deleted with all archived queries."""
    project = asked.project
    with asked.store.read() as connection:
        count = archive.count_archived_queries(connection, project.id)
        counts = archive.dependents_of_archived_queries(connection, project.id)
    return Page("delete.html", {"project": project.name, "kind": "queries", "id": project.id,
                                "name": _QUERIES, "queries": count, "deleted": counts,
                                "deletable": True})  # fmt: skip


def delete_queries(asked: Asked) -> Done:
    """Delete all archived queries with what depends on them."""
    with asked.store.write() as connection:
        _refuse_other_name(asked, _QUERIES)
        count = archive.count_archived_queries(connection, asked.project.id)
        counts = archive.delete_archived_queries(connection, asked.project.id)
        asked.record(connection, "queries.delete", _QUERIES, queries=count, **counts)
    return Done(asked.at("archive"), {"name": _QUERIES, "queries": count, "deleted": counts})


def before_delete_project(asked: Asked) -> Page:
    """What is deleted with the project."""
    project = asked.project
    with asked.store.read() as connection:
        counts = archive.project_dependents(connection, project.id)
    return Page("delete.html", {"project": project.name, "kind": "project", "id": project.id,
                                "name": project.name, "deleted": counts,
                                "deletable": project.archived_at is not None})  # fmt: skip


def delete_project(asked: Asked) -> Done:
    """Delete the project with all that it has."""
    project = asked.project
    with asked.store.write() as connection:
        _refuse_other_name(asked, project.name)
        counts = archive.delete_project(connection, project.id)
        asked.record(connection, "project.delete", project.name, **counts)
    return Done("/projects", {"name": project.name, "deleted": counts})


def _refuse_other_name(asked: Asked, name: str) -> None:
    if asked.values["confirm"] != name:
        raise wrong("confirm", f"is not the name {name}")
