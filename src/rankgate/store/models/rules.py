"""Rules for new runs of a project: a model rates their documents to a depth."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

from rankgate.core.frozen import dataclass
from rankgate.store.rows import insert, now, value_of
from rankgate.store.tables.models import model_rules
from rankgate.store.tables.results import runs

if TYPE_CHECKING:
    from sqlalchemy import Connection


@dataclass(frozen=True)
class ModelRule:
    """The rule of a project.

    Attributes:
        project: whose.
        settings: the endpoint, how the model is asked, limits of each run, and the depth.
        after_run: the number of the last run that was looked at.
    """

    project: int
    settings: Mapping[str, Any]
    after_run: int


def rule_of_project(connection: Connection, project: int) -> ModelRule | None:
    """The rule of a project; None without one."""
    statement = sa.select(model_rules).where(model_rules.c.project == project)
    row = connection.execute(statement).first()
    return None if row is None else value_of(ModelRule, row)


def save_rule(
    connection: Connection, project: int, settings: Mapping[str, Any], user: int | None = None
) -> None:
    """Give a project a rule for the runs that come from now on."""
    last = connection.scalar(sa.select(sa.func.max(runs.c.id)).where(runs.c.project == project))
    values = {
        "settings": dict(settings),
        "after_run": last or 0,
        "changed_at": now(),
        "changed_by": user,
    }
    statement = insert(connection, model_rules).values(project=project, **values)
    connection.execute(statement.on_conflict_do_update(index_elements=["project"], set_=values))


def remove(connection: Connection, project: int) -> None:
    """Remove the rule of a project."""
    connection.execute(sa.delete(model_rules).where(model_rules.c.project == project))


def find_due_rules(connection: Connection) -> list[tuple[ModelRule, list[int]]]:
    """Rules with the numbers of runs that came since they were looked at."""
    statement = (
        sa.select(model_rules, runs.c.id.label("run"))
        .join(
            runs,
            sa.and_(runs.c.project == model_rules.c.project, runs.c.id > model_rules.c.after_run),
        )
        .order_by(model_rules.c.project, runs.c.id)
    )
    due_rules: dict[int, tuple[ModelRule, list[int]]] = {}
    for row in connection.execute(statement).all():
        due_rules.setdefault(row.project, (value_of(ModelRule, row), []))[1].append(row.run)
    return list(due_rules.values())


def mark_checked(connection: Connection, project: int, run: int) -> None:
    """Record that the runs of a project up to a number were checked."""
    is_older = sa.and_(model_rules.c.project == project, model_rules.c.after_run < run)
    connection.execute(sa.update(model_rules).where(is_older).values(after_run=run))
