"""Admissions of models, rules for new runs, and the ratings that count.

An admission rests on evidence, and the last admission counts. A rule for new runs lets a model rate
their documents down to a depth. Judgments are made from the ratings of people and of admitted
models.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from contextlib import suppress
from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal

import polars as pl
import sqlalchemy as sa

from rankgate.core.errors import InputError
from rankgate.core.frozen import dataclass
from rankgate.data.qrels import Ratings
from rankgate.data.table_rows import RowLocation
from rankgate.store.rating import ratings
from rankgate.store.rows import find_value, insert, last_number, new_id, now, value_of
from rankgate.store.tables.model_tables import admissions, model_rules, runs
from rankgate.store.tables.rating_tables import ratings as ratings_table

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from rankgate.core.value_types import JsonObject


@dataclass(frozen=True)
class Admission:
    """An admission of a model in a project, or the end of an admission.

    Attributes:
        id: the number.
        rater: the model.
        verdict: ``pass``, ``fail``, ``inconclusive``; ``withdrawn`` by a manager.
        result: the number of the result that holds the evidence.
        last_rating: the number of the last rating in the store at that time.
        at: the time of the decision.
        user: the user who decided.
    """

    id: int
    rater: int
    verdict: str
    result: int | None
    last_rating: int
    at: datetime
    user: int | None


def record_admission(
    connection: Connection,
    project: int,
    rater: int,
    verdict: str,
    *,
    result: int | None = None,
    user: int | None = None,
) -> Admission:
    """Record an admission, or the end of an admission."""
    last = last_number(ratings_table, project)
    number = new_id(
        connection,
        admissions,
        project=project,
        rater=rater,
        verdict=verdict,
        result=result,
        last_rating=connection.scalar(last) or 0,
        at=now(),
        user=user,
    )
    row = connection.execute(sa.select(admissions).where(admissions.c.id == number)).one()
    return value_of(Admission, row)


def admissions_by_rater(connection: Connection, project: int) -> dict[int, Admission]:
    """The last admission of each model of a project, by the number of its rater."""
    statement = sa.select(admissions).where(admissions.c.project == project)
    rows = connection.execute(statement.order_by(admissions.c.id))
    return {row.rater: value_of(Admission, row) for row in rows}


def admitted_raters(connection: Connection, project: int) -> frozenset[int]:
    """The models whose ratings count in a project."""
    last_admissions = admissions_by_rater(connection, project)
    return frozenset(rater for rater, admission in last_admissions.items() if admission.verdict == "pass")


@dataclass(frozen=True)
class ModelRule:
    """The rule for new runs of a project.

    Attributes:
        project: its number.
        settings: the endpoint, the request settings, the limits for each run, and the depth.
        after_run: the number of the last run that was checked.
    """

    project: int
    settings: Mapping[str, Any]
    after_run: int


def rule_of_project(connection: Connection, project: int) -> ModelRule | None:
    """The rule of a project; None without one."""
    statement = sa.select(model_rules).where(model_rules.c.project == project)
    return find_value(connection, ModelRule, statement)


def save_rule(connection: Connection, project: int, settings: JsonObject, user: int | None = None) -> None:
    """Save the rule of a project for all later runs."""
    last = connection.scalar(last_number(runs, project))
    values = {"settings": dict(settings), "after_run": last or 0, "changed_at": now(), "changed_by": user}
    statement = insert(connection, model_rules).values(project=project, **values)
    connection.execute(statement.on_conflict_do_update(index_elements=["project"], set_=values))


def remove(connection: Connection, project: int) -> None:
    """Remove the rule of a project."""
    connection.execute(sa.delete(model_rules).where(model_rules.c.project == project))


def find_due_rules(connection: Connection) -> list[tuple[ModelRule, list[int]]]:
    """The rules with new runs, and the numbers of these runs."""
    statement = (
        sa.select(model_rules, runs.c.id.label("run"))
        .join(runs, sa.and_(runs.c.project == model_rules.c.project, runs.c.id > model_rules.c.after_run))
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


Models = Literal["fill", "equal", "none"]
"""The use of models' grades: only for pairs without people's grades, like people's, or never."""

_PAIR = ["query_id", "doc_id"]


def read_counting_ratings(
    connection: Connection,
    project: int,
    *,
    batch: int | None = None,
    name: str = "ratings",
    models: Models = "fill",
    columns: Collection[str] = ratings.COLUMNS,
) -> Ratings:
    """The ratings that judgments are made from: those of people and of admitted models.

    Args:
        connection: a connection to a store.
        project: its number.
        batch: the number of one batch; all by default.
        name: the name of the table.
        models: the weight of admitted models.
        columns: as in `ratings.read_ratings`.

    Raises:
        InputError: the project has no ratings that count.
    """
    people: Ratings | None = None
    model_ratings: Ratings | None = None
    with suppress(InputError):
        people = ratings.read_ratings(
            connection, project, batch=batch, kind="person", columns=columns, name=name
        )
    admitted_models = admitted_raters(connection, project) if models != "none" else frozenset()
    if admitted_models:
        with suppress(InputError):
            model_ratings = ratings.read_ratings(
                connection, project, batch=batch, only=admitted_models, columns=columns, name=name
            )
    if model_ratings is not None and people is not None and models == "fill":
        last_rows = people.table.unique([*_PAIR, "rater"], keep="last", maintain_order=True)
        graded_pairs = last_rows.filter(pl.col("grade").is_not_null()).select(_PAIR).unique()
        table = model_ratings.table.join(graded_pairs, _PAIR, "anti", maintain_order="left")
        model_ratings = Ratings(table, name, model_ratings.scale, model_ratings.place) if len(table) else None
    rating_sets = [rating_set for rating_set in (people, model_ratings) if rating_set is not None]
    if not rating_sets:
        problem = "there are no ratings that count; a model's count once it is admitted."
        raise InputError(problem, source=name, code="no-judgments")
    table = pl.concat([rating_set.table for rating_set in rating_sets])
    return Ratings(table, name, rating_sets[0].scale, RowLocation(name))
