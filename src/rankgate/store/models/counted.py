"""The ratings that judgments are made of: people's, and those of admitted models."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Literal

import polars as pl

from rankgate.core.errors import InputError
from rankgate.data.place import Place
from rankgate.data.ratings import Ratings
from rankgate.store.models import admissions
from rankgate.store.rating import ratings

if TYPE_CHECKING:
    from sqlalchemy import Connection

Models = Literal["fill", "equal", "none"]
"""Whether models grade what no person graded, count as people do, or do not count."""

MODELS: tuple[Models, ...] = ("fill", "equal", "none")
_PAIR = ["query_id", "doc_id"]


def counted(
    connection: Connection,
    project: int,
    *,
    batch: int | None = None,
    name: str = "ratings",
    models: Models = "fill",
) -> Ratings:
    """The ratings that judgments are made of; models count once they are admitted.

    Args:
        connection: of a store.
        project: whose.
        batch: of one batch only.
        name: of the table.
        models: how those that are admitted count.

    Raises:
        InputError: there are none.
    """
    people: Ratings | None = None
    theirs: Ratings | None = None
    with suppress(InputError):
        people = ratings.table(connection, project, batch=batch, kind="person", name=name)
    allowed = admissions.admitted(connection, project) if models != "none" else frozenset()
    if allowed:
        with suppress(InputError):
            theirs = ratings.table(connection, project, batch=batch, only=allowed, name=name)
    if theirs is not None and people is not None and models == "fill":
        table = theirs.table.join(_graded(people.table), _PAIR, "anti", maintain_order="left")
        theirs = Ratings(table, name, theirs.scale, theirs.place) if len(table) else None
    found = [each for each in (people, theirs) if each is not None]
    if not found:
        problem = "there are no ratings that count; a model's count once it is admitted."
        raise InputError(problem, source=name, code="no-judgments")
    table = pl.concat([each.table for each in found])
    return Ratings(table, name, found[0].scale, Place(name))


def _graded(table: pl.DataFrame) -> pl.DataFrame:
    """The pairs to which somebody's last word is a grade."""
    words = table.unique([*_PAIR, "rater"], keep="last", maintain_order=True)
    return words.filter(pl.col("grade").is_not_null()).select(_PAIR).unique()
