"""Projects with their grade scales and guidelines."""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import datetime
from typing import TYPE_CHECKING, TypedDict

import sqlalchemy as sa

from rankgate.core.errors import UsageError
from rankgate.core.frozen import dataclass
from rankgate.data.qrels import Scale, possible_grades
from rankgate.store.rows import (
    find_value,
    get_by_number,
    list_values,
    new_id,
    now,
    refuse_unaddressable,
    taken_error,
    update_row,
    value_of,
)
from rankgate.store.tables.people_tables import projects, roles
from rankgate.store.tables.rating_tables import guidelines, ratings, scale_grades

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from rankgate.core.value_types import JsonObject

_GRADES = (
    sa.select(scale_grades)
    .where(scale_grades.c.project == sa.bindparam("number"))
    .order_by(scale_grades.c.grade)
)
_NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,62}")
_DELETED_PREFIX = "/"
"""The prefix of a deleted project's name, which no other name has; the audit log needs the row."""
_IS_NOT_DELETED = sa.not_(projects.c.name.startswith(_DELETED_PREFIX))


class ProjectSettings(TypedDict, total=False):
    """The settings of a project that pages and scheduled jobs use."""

    metric: str
    alerts: str
    policy: str
    engines: dict[str, JsonObject]
    fields: list[str]
    card: list[dict[str, str]]
    images: list[str]
    image_prefix: str
    language: str


@dataclass(frozen=True)
class Project:
    """A project of a store.

    Attributes:
        id: the number.
        name: the name in URLs and on the command line.
        title, description: texts shown on pages.
        settings: the settings of the pages, as JSON.
        created_at, archived_at: the time when the project was created, and archived.
    """

    id: int
    name: str
    title: str
    description: str
    settings: ProjectSettings
    created_at: datetime
    archived_at: datetime | None


@dataclass(frozen=True)
class Grade:
    """A grade of a scale.

    Attributes:
        grade: the number.
        label: its name.
        colour: the colour of its button, ``#rrggbb``; if empty, the page chooses a colour.
        description: the cases for which raters give this grade.
    """

    grade: float
    label: str = ""
    colour: str = ""
    description: str = ""


@dataclass(frozen=True)
class Guideline:
    """One version of a project's guideline; a version never changes."""

    version: str
    text: str
    created_at: datetime
    created_by: int | None


def add(
    connection: Connection,
    name: str,
    *,
    title: str = "",
    description: str = "",
    scale: Scale | Iterable[Grade] | None = None,
    settings: JsonObject | None = None,
) -> Project:
    """Add a project.

    Args:
        connection: a connection to a store, for writing.
        name: lower case letters, digits and - . _
        title: for people.
        description: for people.
        scale: the grades; without a scale, any number is a valid grade.
        settings: the settings of the pages.

    Raises:
        UsageError: the name is taken, or is not a valid name; a scale without a list of grades.
    """
    if not _NAME.fullmatch(name):
        raise UsageError(
            f"{name!r} is not a project's name; use lower case letters, digits and - . _", code="invalid-name"
        )
    refuse_unaddressable("a project", name)
    if connection.scalar(sa.select(projects.c.id).where(projects.c.name == name)) is not None:
        raise taken_error("project", name)
    number = new_id(
        connection,
        projects,
        name=name,
        title=title or name,
        description=description,
        settings=dict(settings or {}),
        created_at=now(),
    )
    if scale is not None:
        set_scale(connection, number, scale)
    return get_by_name(connection, name)


def get_by_name(connection: Connection, name: str) -> Project:
    """A project by name.

    Raises:
        UsageError: the project does not exist; the message lists the names.
    """
    row = connection.execute(sa.select(projects).where(projects.c.name == name, _IS_NOT_DELETED)).first()
    if row is None:
        statement = sa.select(projects.c.name).where(_IS_NOT_DELETED)
        names = connection.scalars(statement.order_by("name").limit(10)).all()
        hint = f"; known: {', '.join(names)}" if names else ""
        raise UsageError(f"there is no project {name!r}{hint}.", code="unknown-project")
    return value_of(Project, row)


def get(connection: Connection, project: int) -> Project:
    """A project by number.

    Raises:
        UsageError: the project does not exist.
    """
    return get_by_number(connection, Project, projects, project, "project")


def refuse_archived(connection: Connection, project: int) -> None:
    """Check that a project accepts changes.

    Raises:
        UsageError: the project is archived.
    """
    row = get(connection, project)
    if row.archived_at is not None:
        raise UsageError(
            f"the project {row.name} is archived and cannot be changed; an admin can show it again first.",
            code="project-archived",
        )


def lock(connection: Connection, project: int) -> None:
    """Lock a project until this transaction ends."""
    connection.execute(sa.select(projects.c.id).where(projects.c.id == project).with_for_update())


def list_projects(
    connection: Connection, user: int | None = None, *, archived: bool = False
) -> list[Project]:
    """Projects by name, all or those in which a user has a role; archived or active ones."""
    hidden = projects.c.archived_at.is_not(None)
    statement = sa.select(projects).where(_IS_NOT_DELETED, hidden if archived else sa.not_(hidden))
    statement = statement.order_by(projects.c.name)
    if user is not None:
        user_projects = sa.select(roles.c.project).where(roles.c.user == user)
        statement = statement.where(projects.c.id.in_(user_projects))
    return list_values(connection, Project, statement)


def change(connection: Connection, project: int, **values: object) -> Project:
    """Change the title, description, settings or archived_at of a project."""
    columns = {"title", "description", "settings", "archived_at"}
    assert set(values) <= columns
    update_row(connection, projects, project, **values)
    return get(connection, project)


def change_settings(connection: Connection, project: int, settings: ProjectSettings) -> None:
    """Change some settings, and keep other settings that are changed at the same time."""
    lock(connection, project)
    change(connection, project, settings=get(connection, project).settings | settings)


def clear_name(connection: Connection, project: int) -> None:
    """Clear the name in a deleted project's row, so that the name can be used again."""
    values = {"name": f"{_DELETED_PREFIX}{project}", "title": "", "description": "", "settings": {}}
    update_row(connection, projects, project, **values)


def grades(connection: Connection, project: int) -> tuple[Grade, ...]:
    """The grades of a project's scale, the lowest first; empty without a scale."""
    rows = connection.execute(_GRADES, {"number": project})
    return tuple(value_of(Grade, row) for row in rows)


def scale(connection: Connection, project: int) -> Scale | None:
    """The scale of a project."""
    grade_rows = grades(connection, project)
    if not grade_rows:
        return None
    labels = tuple((grade.grade, grade.label or f"{grade.grade:g}") for grade in grade_rows)
    return Scale(grade_rows[0].grade, grade_rows[-1].grade, labels)


def set_scale(connection: Connection, project: int, scale: Scale | Iterable[Grade]) -> None:
    """Set the scale of a project; its grades cannot change once ratings exist.

    Labels, colours and descriptions may change at any time.

    Raises:
        UsageError: the grades differ and ratings exist; the scale does not list its grades.
    """
    if isinstance(scale, Scale):
        labels = dict(scale.labels)
        new_grades = [Grade(grade, labels.get(grade, f"{grade:g}")) for grade in possible_grades(scale)]
    else:
        new_grades = list(scale)
    numbers = sorted({grade.grade for grade in new_grades})
    if len(numbers) < 2 or len(numbers) != len(new_grades):
        raise UsageError(
            "a scale of a project is a list of two or more grades; give them, as in 0,1,2,3.",
            code="scale-without-grades",
        )
    current_grades = [grade.grade for grade in grades(connection, project)]
    if current_grades != numbers and has_any_grade(connection, project):
        raise UsageError(
            "there are ratings, so the grades of the scale stay; convert them into another project with "
            "rankgate resolve --transform.",
            code="scale-in-use",
        )
    in_project = scale_grades.c.project == project
    connection.execute(sa.delete(scale_grades).where(in_project))
    rows = [{"project": project, **vars(grade)} for grade in new_grades]
    connection.execute(sa.insert(scale_grades), rows)


def has_any_grade(connection: Connection, project: int) -> bool:
    """True if a project has grades, those of trainings included."""
    has_grade = sa.and_(ratings.c.project == project, ratings.c.grade.is_not(None))
    return connection.execute(sa.select(ratings.c.id).where(has_grade).limit(1)).first() is not None


def add_guideline(
    connection: Connection, project: int, version: str, text: str, created_by: int | None = None
) -> Guideline:
    """Add a version of the guideline, which becomes the current one.

    Raises:
        UsageError: this version exists already.
    """
    if guideline(connection, project, version) is not None:
        raise taken_error("guideline", version)
    new_id(
        connection,
        guidelines,
        project=project,
        version=version,
        text=text,
        created_at=now(),
        created_by=created_by,
    )
    new_guideline = guideline(connection, project, version)
    assert new_guideline is not None
    return new_guideline


def guideline(connection: Connection, project: int, version: str | None = None) -> Guideline | None:
    """A version of the guideline, by default the current one, or None."""
    statement = sa.select(guidelines).where(guidelines.c.project == project)
    if version is not None:
        statement = statement.where(guidelines.c.version == version)
    return find_value(connection, Guideline, statement.order_by(guidelines.c.id.desc()).limit(1))


def all_guidelines(connection: Connection, project: int) -> list[Guideline]:
    """Every version of the guideline, the oldest first."""
    statement = sa.select(guidelines).where(guidelines.c.project == project).order_by("id")
    return list_values(connection, Guideline, statement)
