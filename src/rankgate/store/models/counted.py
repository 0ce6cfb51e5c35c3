"""The ratings that judgments are made of: people's, and those of admitted models."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Literal

import polars as pl

from rankgate.core.errors import InputError
from rankgate.data.place import RowLocation
from rankgate.data.ratings import Ratings
from rankgate.store.models import admissions
from rankgate.store.rating import ratings

if TYPE_CHECKING:
    from sqlalchemy import Connection

Models = Literal["fill", "equal", "none"]
"""Models grade pairs that no person graded, count as people do, or do not count."""

MODELS: tuple[Models, ...] = ("fill", "equal", "none")
_PAIR = ["query_id", "doc_id"]


def read_counting_ratings(
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
    model_ratings: Ratings | None = None
    with suppress(InputError):
        people = ratings.read_ratings(connection, project, batch=batch, kind="person", name=name)
    admitted_models = (
        admissions.admitted_raters(connection, project) if models != "none" else frozenset()
    )
    if admitted_models:
        with suppress(InputError):
            model_ratings = ratings.read_ratings(
                connection, project, batch=batch, only=admitted_models, name=name
            )
    if model_ratings is not None and people is not None and models == "fill":
        table = model_ratings.table.join(
            _graded_pairs(people.table), _PAIR, "anti", maintain_order="left"
        )
        model_ratings = (
            Ratings(table, name, model_ratings.scale, model_ratings.place) if len(table) else None
        )
    rating_sets = [rating_set for rating_set in (people, model_ratings) if rating_set is not None]
    if not rating_sets:
        problem = "there are no ratings that count; a model's count once it is admitted."
        raise InputError(problem, source=name, code="no-judgments")
    table = pl.concat([rating_set.table for rating_set in rating_sets])
    return Ratings(table, name, rating_sets[0].scale, RowLocation(name))


def _graded_pairs(table: pl.DataFrame) -> pl.DataFrame:
    """The pairs to which some rater's last rating is a grade."""
    last_rows = table.unique([*_PAIR, "rater"], keep="last", maintain_order=True)
    return last_rows.filter(pl.col("grade").is_not_null()).select(_PAIR).unique()
