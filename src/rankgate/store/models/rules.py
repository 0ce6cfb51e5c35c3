"""What a project has done with the documents of new runs: a model rates them to a depth."""

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


def of_project(connection: Connection, project: int) -> ModelRule | None:
    """The rule of a project; None without one."""
    chosen = sa.select(model_rules).where(model_rules.c.project == project)
    row = connection.execute(chosen).first()
    return None if row is None else value_of(ModelRule, row)


def put(
    connection: Connection, project: int, settings: Mapping[str, Any], user: int | None = None
) -> None:
    """Give a project a rule for the runs that come from now on."""
    last = connection.scalar(sa.select(sa.func.max(runs.c.id)).where(runs.c.project == project))
    values = {"settings": dict(settings), "after_run": last or 0, "changed_at": now(),
              "changed_by": user}  # fmt: skip
    made = insert(connection, model_rules).values(project=project, **values)
    connection.execute(made.on_conflict_do_update(index_elements=["project"], set_=values))


def remove(connection: Connection, project: int) -> None:
    """Take the rule of a project away."""
    connection.execute(sa.delete(model_rules).where(model_rules.c.project == project))


def due(connection: Connection) -> list[tuple[ModelRule, list[int]]]:
    """Rules with the numbers of runs that came since they were looked at."""
    chosen = (
        sa.select(model_rules, runs.c.id.label("run"))
        .join(runs, sa.and_(runs.c.project == model_rules.c.project,
                            runs.c.id > model_rules.c.after_run))
        .order_by(model_rules.c.project, runs.c.id)
    )  # fmt: skip
    found: dict[int, tuple[ModelRule, list[int]]] = {}
    for row in connection.execute(chosen).all():
        found.setdefault(row.project, (value_of(ModelRule, row), []))[1].append(row.run)
    return list(found.values())


def seen(connection: Connection, project: int, run: int) -> None:
    """Note that the runs of a project up to a number were looked at."""
    here = sa.and_(model_rules.c.project == project, model_rules.c.after_run < run)
    connection.execute(sa.update(model_rules).where(here).values(after_run=run))
