"""Results of pages that take seconds, kept in the store until their data have changed."""

from __future__ import annotations

import json
from datetime import datetime
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

from rankgate.core.frozen import dataclass
from rankgate.store.rows import insert
from rankgate.store.tables.model_tables import page_results

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from rankgate.core.value_types import JsonObject

_MAX_RESULTS = 50
"""The largest number of results of a project; results of other settings replace the oldest."""


@dataclass(frozen=True)
class PageResult:
    """A result of a page.

    Attributes:
        state: an identifier of the data from which the result was made.
        made_at: the time at which the data were read.
        result: the result as JSON.
    """

    state: str
    made_at: datetime
    result: dict[str, Any]


def find_result(connection: Connection, project: int, name: str) -> PageResult | None:
    """The kept result with a name, which has the settings of the page; None without one."""
    columns = page_results.c
    statement = sa.select(columns.state, columns.made_at, columns.result)
    row = connection.execute(statement.where(columns.project == project, columns.name == name)).first()
    return None if row is None else PageResult(row.state, row.made_at, json.loads(row.result))


def save_result(
    connection: Connection, project: int, name: str, state: str, made_at: datetime, result: JsonObject
) -> None:
    """Keep a result instead of the earlier one with its name.

    Args:
        connection: a connection to a store, for writing.
        project: the number of the project.
        name: the page and its settings.
        state: as in `PageResult`.
        made_at: as in `PageResult`.
        result: as in `PageResult`.
    """
    columns = page_results.c
    values = {"state": state, "made_at": made_at, "result": json.dumps(result, ensure_ascii=False)}
    statement = insert(connection, page_results).values(project=project, name=name, **values)
    connection.execute(statement.on_conflict_do_update(index_elements=["project", "name"], set_=values))
    newest = (
        sa.select(columns.name)
        .where(columns.project == project)
        .order_by(columns.made_at.desc())
        .limit(_MAX_RESULTS)
    )
    connection.execute(sa.delete(page_results).where(columns.project == project, columns.name.not_in(newest)))
