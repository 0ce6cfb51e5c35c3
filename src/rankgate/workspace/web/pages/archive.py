"""Archive what a project no longer needs, or delete it after a page that lists what goes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rankgate.store import archive
from rankgate.store.material import projects
from rankgate.store.models import jobs
from rankgate.store.rating import batches
from rankgate.store.rows import now
from rankgate.workspace.web.fields import invalid_value
from rankgate.workspace.web.options import list_batch_names
from rankgate.workspace.web.replies import ActionReply, PageReply, not_found

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from rankgate.store.archive import Archivable
    from rankgate.workspace.web.asked import WebRequest


_QUERIES_NAME = "archived queries"
"""The text to type to delete all archived queries."""


def archive_page(request: WebRequest) -> PageReply:
    """Runs, judgments, batches and archived queries, each with a button to hide or show it."""
    project = request.project
    with request.store.read() as connection:
        resources = archive.list_archivables(connection, project.id)
        archived_queries = archive.count_archived_queries(connection, project.id)
    data = {
        "project": project.name,
        "items": [vars(resource) for resource in resources],
        "archived_queries": archived_queries,
        "archived_at": project.archived_at,
    }
    return PageReply("archive.html", data, {"batches": list_batch_names(request)})


def _find_item(connection: Connection, request: WebRequest) -> Archivable:
    kind = str(request.path["kind"])
    if kind not in archive.KINDS:
        raise not_found("page")
    return archive.get(connection, request.project.id, kind, request.path["number"])


def archive_item(request: WebRequest) -> ActionReply:
    """Hide an item, or show it again."""
    archived = bool(request.values["archived"])
    with request.store.write() as connection:
        resource = _find_item(connection, request)
        archive.set_archived(connection, resource, archived=archived)
        action = "archive" if archived else "restore"
        request.record(connection, f"{resource.kind}.{action}", resource.name)
    return ActionReply(request.at("archive"), {"name": resource.name, "archived": archived})


def archive_queries(request: WebRequest) -> ActionReply:
    """Hide queries, or show them again: those that are named, and those of a batch."""
    fields, project = request.values, request.project
    archived = bool(fields["archived"])
    with request.store.write() as connection:
        ids = [line.strip() for line in (fields["queries"] or "").splitlines() if line.strip()]
        if fields["batch"]:
            batch = batches.get_by_name(connection, project.id, fields["batch"])
            ids += archive.queries_of_batch(connection, batch.id)
        if not ids:
            raise invalid_value("queries", "names no query")
        count = archive.archive_queries(connection, project.id, ids, archived=archived)
        action = "queries.archive" if archived else "queries.restore"
        request.record(connection, action, fields["batch"] or ids[0], queries=count)
    return ActionReply(request.at("archive"), {"queries": count, "archived": archived})


def archive_project(request: WebRequest) -> ActionReply:
    """Hide the project in lists, and end the jobs of models; or show it again."""
    archived = bool(request.values["archived"])
    with request.store.write() as connection:
        projects.change(connection, request.project.id, archived_at=now() if archived else None)
        if archived:
            for job in jobs.list_jobs(connection, request.project.id):
                if job.state in jobs.UNDER_WAY:
                    jobs.cancel(connection, job.id)
        request.record(connection, "project.archive" if archived else "project.restore")
    return ActionReply("/projects", {"name": request.project.name, "archived": archived})


def delete_page(request: WebRequest) -> PageReply:
    """The page before an item is deleted, with what goes with it."""
    with request.store.read() as connection:
        resource = _find_item(connection, request)
        counts = archive.dependents(connection, resource)
    return PageReply(
        "delete.html",
        {
            "project": request.project.name,
            "kind": resource.kind,
            "id": resource.id,
            "name": resource.name,
            "deleted": counts,
            "deletable": True,
        },
    )


def delete_item(request: WebRequest) -> ActionReply:
    """Delete an item with what depends on it."""
    with request.store.write() as connection:
        resource = _find_item(connection, request)
        _refuse_other_name(request, resource.name)
        counts = archive.delete(connection, resource)
        request.record(connection, f"{resource.kind}.delete", resource.name, **counts)
    return ActionReply(request.at("archive"), {"name": resource.name, "deleted": counts})


def delete_queries_page(request: WebRequest) -> PageReply:
    """The page before all archived queries are deleted, with what goes with them."""
    project = request.project
    with request.store.read() as connection:
        count = archive.count_archived_queries(connection, project.id)
        counts = archive.dependents_of_archived_queries(connection, project.id)
    return PageReply(
        "delete.html",
        {
            "project": project.name,
            "kind": "queries",
            "id": project.id,
            "name": _QUERIES_NAME,
            "queries": count,
            "deleted": counts,
            "deletable": True,
        },
    )


def delete_queries(request: WebRequest) -> ActionReply:
    """Delete all archived queries with what depends on them."""
    with request.store.write() as connection:
        _refuse_other_name(request, _QUERIES_NAME)
        count = archive.count_archived_queries(connection, request.project.id)
        counts = archive.delete_archived_queries(connection, request.project.id)
        request.record(connection, "queries.delete", _QUERIES_NAME, queries=count, **counts)
    return ActionReply(
        request.at("archive"), {"name": _QUERIES_NAME, "queries": count, "deleted": counts}
    )


def delete_project_page(request: WebRequest) -> PageReply:
    """The page before the project is deleted, with what goes with it."""
    project = request.project
    with request.store.read() as connection:
        counts = archive.project_dependents(connection, project.id)
    return PageReply(
        "delete.html",
        {
            "project": project.name,
            "kind": "project",
            "id": project.id,
            "name": project.name,
            "deleted": counts,
            "deletable": project.archived_at is not None,
        },
    )


def delete_project(request: WebRequest) -> ActionReply:
    """Delete the project with all that it has."""
    project = request.project
    with request.store.write() as connection:
        _refuse_other_name(request, project.name)
        counts = archive.delete_project(connection, project.id)
        request.record(connection, "project.delete", project.name, **counts)
    return ActionReply("/projects", {"name": project.name, "deleted": counts})


def _refuse_other_name(request: WebRequest, name: str) -> None:
    if request.values["confirm"] != name:
        raise invalid_value("confirm", f"is not the name {name}")
