"""Projects: the list, a new one, and the progress of one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from rankgate.core.errors import InputError
from rankgate.data.scales import parse_scale
from rankgate.store.kept import runs
from rankgate.store.material import projects
from rankgate.store.people import audit, users
from rankgate.store.rating import answers, batches, tasks
from rankgate.workspace.web.cache import ProjectCache
from rankgate.workspace.web.pages.rate import format_duration
from rankgate.workspace.web.replies import ActionReply, PageReply

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from rankgate.workspace.web.asked import WebRequest

_rater_cache: ProjectCache[list[dict[str, Any]]] = ProjectCache()


def list_projects(request: WebRequest) -> PageReply:
    """The projects of the user, with their roles."""
    user = request.user
    with request.store.read() as connection:
        user_id = None if user.admin else user.id
        user_projects = projects.list_projects(connection, user_id)
        archived_projects = projects.list_projects(connection, user_id, archived=True)
        limit = request.who.token.project if request.who.token else None
        rows = [
            {
                "id": project.id,
                "name": project.name,
                "title": project.title,
                "description": project.description,
                "role": users.role_of(connection, project.id, user.id),
                "open": tasks.progress(connection, project.id).open,
            }
            for project in user_projects
            if limit in {None, project.id}
        ]
    archived = [
        {"name": project.name, "title": project.title}
        for project in archived_projects
        if limit in {None, project.id}
    ]
    return PageReply("projects.html", {"projects": rows, "archived": archived})


def add_project(request: WebRequest) -> ActionReply:
    """A new project with its scale."""
    fields = request.values
    with request.store.write() as connection:
        project = projects.add(
            connection,
            fields["name"],
            title=fields["title"] or "",
            description=fields["description"] or "",
            scale=parse_scale(fields["scale"] or "graded"),
        )
        actor = audit.Actor(request.user.name, request.user.id)
        audit.record(connection, actor, "project.add", project.name, project=project.id)
    return ActionReply(f"/projects/{project.name}", {"name": project.name})


def project_overview(request: WebRequest) -> PageReply:
    """The progress of the project: tasks, batches, people, hours."""
    project = request.project
    with request.store.read() as connection:
        progress = tasks.progress(connection, project.id)
        data: dict[str, Any] = {
            "project": project.name,
            "heading": project.title,
            "description": project.description,
            "progress": vars(progress) | {"total": progress.total},
            "batches": [
                _batch_view(connection, batch)
                for batch in batches.list_batches(connection, project.id)
            ],
            "runs": [
                {"name": run.name, "rows": run.rows, "queries": run.queries}
                for run in runs.list_runs(connection, project.id)
            ],
            "raters": _rater_cache.of_project(request, lambda: _rater_rows(connection, project.id)),
        }
    data["hours"] = sum(rater["seconds"] for rater in data["raters"]) / 3600
    data["hours_left"] = _estimate_hours_left(data["batches"], data["raters"])
    return PageReply("overview.html", data)


def _batch_view(connection: Connection, batch: batches.Batch) -> dict[str, Any]:
    progress = tasks.progress(connection, batch.project, batch.id)
    names = ("id", "name", "kind", "strategy", "priority", "deadline", "state", "blind")
    return (
        {name: getattr(batch, name) for name in names} | vars(progress) | {"total": progress.total}
    )


def _rater_rows(connection: Connection, project: int) -> list[dict[str, Any]]:
    """The work of each rater: ratings and preferences, seconds, and the median pace."""
    rows = answers.efforts(connection, project)
    table = pl.DataFrame(rows, _EFFORTS_SCHEMA, orient="row")
    efforts = (
        table.group_by("rater", "kind", maintain_order=True)
        .agg(
            pl.len().alias("ratings"),
            pl.col("graded").not_().sum().alias("without_grade"),
            pl.col("seconds").sum().alias("seconds"),
            pl.col("seconds").median().alias("pace"),
            pl.col("at").max().alias("last"),
        )
        .sort("rater")
    )
    return [
        {**row, "time": format_duration(row["seconds"])} for row in efforts.iter_rows(named=True)
    ]


_EFFORTS_SCHEMA: dict[str, pl.DataType | type[pl.DataType]] = {
    "rater": pl.String,
    "kind": pl.String,
    "graded": pl.Boolean,
    "seconds": pl.Float64,
    "at": pl.Datetime("us", "UTC"),
}
_SLOTS = {"1": 1, "2": 2, "3": 3, "agree": 2}


def _estimate_hours_left(
    open_batches: list[dict[str, Any]], people: list[dict[str, Any]]
) -> float | None:
    """The hours that open tasks take at the pace until now; None if it is not known."""
    paces = [person["pace"] for person in people if person["pace"] is not None]
    if not paces:
        return None
    slots = sum(batch["open"] * _SLOTS[batch["strategy"]] for batch in open_batches)
    return float(slots * sum(paces) / len(paces) / 3600)


def log_page(request: WebRequest) -> PageReply:
    """The audit log of the project."""
    with request.store.read() as connection:
        entries = audit.entries(connection, request.project.id, before=request.values["before"])
    rows = [
        {
            "id": entry.id,
            "at": entry.at,
            "actor": entry.actor,
            "action": entry.action,
            "subject": entry.subject,
            "details": dict(entry.details),
        }
        for entry in entries
    ]
    data = {
        "project": request.project.name,
        "entries": rows,
        "before": rows[-1]["id"] if rows else None,
    }
    return PageReply("log.html", data)


def setup_page(request: WebRequest) -> PageReply:
    """The scale, the guideline with its versions, and what raters see."""
    project = request.project
    with request.store.read() as connection:
        grades = projects.grades(connection, project.id)
        versions = projects.all_guidelines(connection, project.id)
    data = {
        "project": project.name,
        "scale": [
            {"grade": grade.grade, "label": grade.label, "description": grade.description}
            for grade in grades
        ],
        "guidelines": [
            {
                "version": guideline.version,
                "text": guideline.text,
                "created_at": guideline.created_at,
            }
            for guideline in versions
        ],
        "fields": " ".join(project.settings.get("fields") or ()),
        "images": " ".join(project.settings.get("images") or ()),
    }
    return PageReply("setup.html", data)


def set_scale(request: WebRequest) -> ActionReply:
    """Grades with labels and descriptions, a line each: ``2 = good: holds the answer``."""
    grades = [_parse_grade(line) for line in request.values["scale"].splitlines() if line.strip()]
    with request.store.write() as connection:
        projects.set_scale(connection, request.project.id, grades)
        request.record(connection, "scale.set", " ".join(f"{grade.grade:g}" for grade in grades))
    return ActionReply(request.at("setup"))


def _parse_grade(line: str) -> projects.Grade:
    number, _, label_text = line.partition("=")
    label, _, description = label_text.partition(":")
    try:
        grade = float(number)
    except ValueError:
        problem = f"{line[:80]!r} begins with no grade; write 2 = good: holds the answer."
        raise InputError(problem, code="not-a-number") from None
    return projects.Grade(grade, label.strip(), "", description.strip())


def add_guideline(request: WebRequest) -> ActionReply:
    """A new version of the guideline; earlier ones stay as they are."""
    fields = request.values
    with request.store.write() as connection:
        guideline = projects.add_guideline(
            connection, request.project.id, fields["version"], fields["text"], request.user.id
        )
        request.record(connection, "guideline.add", guideline.version)
    return ActionReply(request.at("setup"), {"version": guideline.version})


def set_display(request: WebRequest) -> ActionReply:
    """Set the fields that raters see, and the sites whose images are loaded."""
    fields = request.values
    display: dict[str, Any] = {name: (fields[name] or "").split() for name in ("fields", "images")}
    with request.store.write() as connection:
        settings = dict(request.project.settings) | display
        projects.change(connection, request.project.id, settings=settings)
        request.record(connection, "project.display", "", **display)
    return ActionReply(request.at("setup"), display)
