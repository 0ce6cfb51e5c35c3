"""Projects: the list, a new one, and how far one is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from rankgate.core.errors import InputError
from rankgate.data.scales import scale_of
from rankgate.store.kept import runs
from rankgate.store.material import projects
from rankgate.store.people import audit, users
from rankgate.store.rating import answers, batches, tasks
from rankgate.workspace.web.cache import ProjectCache
from rankgate.workspace.web.pages.rate import duration
from rankgate.workspace.web.replies import Done, Page

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from rankgate.workspace.web.asked import Asked

_people: ProjectCache[list[dict[str, Any]]] = ProjectCache()


def listed(asked: Asked) -> Page:
    """The projects of the user, with their roles."""
    user = asked.user
    with asked.store.read() as connection:
        mine = None if user.admin else user.id
        found = projects.listed(connection, mine)
        hidden = projects.listed(connection, mine, archived=True)
        limit = asked.who.token.project if asked.who.token else None
        rows = [
            {
                "id": each.id,
                "name": each.name,
                "title": each.title,
                "description": each.description,
                "role": users.role_of(connection, each.id, user.id),
                "open": tasks.progress(connection, each.id).open,
            }
            for each in found
            if limit in {None, each.id}
        ]
    archived = [{"name": project.name, "title": project.title} for project in hidden
                if limit in {None, project.id}]  # fmt: skip
    return Page("projects.html", {"projects": rows, "archived": archived})


def add(asked: Asked) -> Done:
    """A new project with its scale."""
    given = asked.values
    with asked.store.write() as connection:
        made = projects.add(
            connection, given["name"], title=given["title"] or "",
            description=given["description"] or "", scale=scale_of(given["scale"] or "graded"),
        )  # fmt: skip
        actor = audit.Actor(asked.user.name, asked.user.id)
        audit.record(connection, actor, "project.add", made.name, project=made.id)
    return Done(f"/projects/{made.name}", {"name": made.name})


def overview(asked: Asked) -> Page:
    """How far the project is: tasks, batches, people, hours."""
    project = asked.project
    with asked.store.read() as connection:
        whole = tasks.progress(connection, project.id)
        data: dict[str, Any] = {
            "project": project.name,
            "heading": project.title,
            "description": project.description,
            "progress": vars(whole) | {"total": whole.total},
            "batches": [
                _batch(connection, each) for each in batches.listed(connection, project.id)
            ],
            "runs": [
                {"name": each.name, "rows": each.rows, "queries": each.queries}
                for each in runs.listed(connection, project.id)
            ],
            "raters": _people.of_project(asked, lambda: _raters(connection, project.id)),
        }
    data["hours"] = sum(each["seconds"] for each in data["raters"]) / 3600
    data["hours_left"] = _hours_left(data["batches"], data["raters"])
    return Page("overview.html", data)


def _batch(connection: Connection, batch: batches.Batch) -> dict[str, Any]:
    found = tasks.progress(connection, batch.project, batch.id)
    names = ("id", "name", "kind", "strategy", "priority", "deadline", "state", "blind")
    return {name: getattr(batch, name) for name in names} | vars(found) | {"total": found.total}


def _raters(connection: Connection, project: int) -> list[dict[str, Any]]:
    """What each rater did: ratings and preferences, seconds, and the median pace."""
    rows = answers.efforts(connection, project)
    table = pl.DataFrame(rows, _EFFORTS, orient="row")
    found = (
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
    return [{**row, "time": duration(row["seconds"])} for row in found.iter_rows(named=True)]


_EFFORTS: dict[str, pl.DataType | type[pl.DataType]] = {
    "rater": pl.String, "kind": pl.String, "graded": pl.Boolean, "seconds": pl.Float64,
    "at": pl.Datetime("us", "UTC"),
}  # fmt: skip
_SLOTS = {"1": 1, "2": 2, "3": 3, "agree": 2}


def _hours_left(found: list[dict[str, Any]], people: list[dict[str, Any]]) -> float | None:
    """The hours that open tasks take at the pace until now; None where nobody knows it."""
    paces = [each["pace"] for each in people if each["pace"] is not None]
    if not paces:
        return None
    slots = sum(each["open"] * _SLOTS[each["strategy"]] for each in found)
    return float(slots * sum(paces) / len(paces) / 3600)


def log(asked: Asked) -> Page:
    """The audit log of the project."""
    with asked.store.read() as connection:
        found = audit.entries(connection, asked.project.id, before=asked.values["before"])
    rows = [
        {"id": e.id, "at": e.at, "actor": e.actor, "action": e.action, "subject": e.subject,
         "details": dict(e.details)}
        for e in found
    ]  # fmt: skip
    data = {"project": asked.project.name, "entries": rows,
            "before": rows[-1]["id"] if rows else None}  # fmt: skip
    return Page("log.html", data)


def setup(asked: Asked) -> Page:
    """The scale, the guideline with its versions, and what raters see."""
    project = asked.project
    with asked.store.read() as connection:
        grades = projects.grades(connection, project.id)
        versions = projects.all_guidelines(connection, project.id)
    data = {
        "project": project.name,
        "scale": [
            {"grade": g.grade, "label": g.label, "description": g.description} for g in grades
        ],
        "guidelines": [
            {"version": g.version, "text": g.text, "created_at": g.created_at} for g in versions
        ],
        "fields": " ".join(project.settings.get("fields") or ()),
        "images": " ".join(project.settings.get("images") or ()),
    }
    return Page("setup.html", data)


def set_scale(asked: Asked) -> Done:
    """Grades with labels and descriptions, a line each: ``2 = good: holds the answer``."""
    grades = [_grade(line) for line in asked.values["scale"].splitlines() if line.strip()]
    with asked.store.write() as connection:
        projects.set_scale(connection, asked.project.id, grades)
        asked.record(connection, "scale.set", " ".join(f"{g.grade:g}" for g in grades))
    return Done(asked.at("setup"))


def _grade(line: str) -> projects.Grade:
    number, _, rest = line.partition("=")
    label, _, description = rest.partition(":")
    try:
        grade = float(number)
    except ValueError:
        problem = f"{line[:80]!r} begins with no grade; write 2 = good: holds the answer."
        raise InputError(problem, code="not-a-number") from None
    return projects.Grade(grade, label.strip(), "", description.strip())


def add_guideline(asked: Asked) -> Done:
    """A new version of the guideline; earlier ones stay as they are."""
    given = asked.values
    with asked.store.write() as connection:
        made = projects.add_guideline(
            connection, asked.project.id, given["version"], given["text"], asked.user.id
        )
        asked.record(connection, "guideline.add", made.version)
    return Done(asked.at("setup"), {"version": made.version})


def set_display(asked: Asked) -> Done:
    """Which fields raters see, and from where images may be loaded."""
    given = asked.values
    chosen: dict[str, Any] = {name: (given[name] or "").split() for name in ("fields", "images")}
    with asked.store.write() as connection:
        settings = dict(asked.project.settings) | chosen
        projects.change(connection, asked.project.id, settings=settings)
        asked.record(connection, "project.display", "", **chosen)
    return Done(asked.at("setup"), chosen)
