"""Judgments: grades of documents for queries."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field, replace
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl

from rankgate.core.errors import InputError
from rankgate.core.frozen import ByContent, dataclass
from rankgate.data.duplicates import pairs_of, refuse_duplicates
from rankgate.data.place import Place
from rankgate.data.stretches import starts_together

SCHEMA = {"query_id": pl.String, "doc_id": pl.String, "grade": pl.Float64}
"""The columns every set of judgments has."""

OPTIONAL = {
    "subtopic": pl.String,
    "subtopic_weight": pl.Float64,
    "inclusion": pl.Float64,
    "stratum": pl.String,
}
"""The columns that some have: what of a query the grade is about, and what that weighs among the
subtopics of the query; the probability with which the document was drawn to be judged, and from
which stratum."""


@dataclass(frozen=True)
class Scale:
    """The grades raters could give: the lowest, the highest, and their names."""

    lowest: float
    highest: float
    labels: tuple[tuple[float, str], ...] = ()


@dataclass(frozen=True)
class Qrels(ByContent):
    """A set of judgments, at most one grade per query and document, or per subtopic of a query.

    Attributes:
        table: ``query_id``, ``doc_id`` (strings) and ``grade`` (Float64; a negative grade means
            that the document was in the pool and was not judged); and of the columns in
            ``OPTIONAL`` those that are known.
        name: what to call the set.
        scale: the grades that were possible, where the source says so.
        unjudged: queries that were asked about and have no judgments at all.
        made_by: rule and parameters, where the grades were resolved from ratings.
        place: where the rows come from.

    Raises:
        InputError: no rows, a missing id or grade, a grade that is not finite, a probability
            that is not between 0 and 1, a subtopic without one weight.
        DuplicateError: a document judged twice for one query, or for one subtopic of it.
    """

    table: pl.DataFrame
    name: str = "qrels"
    scale: Scale | None = None
    unjudged: tuple[str, ...] = ()
    made_by: Mapping[str, Any] | None = None
    place: Place = field(default=Place("qrels"))

    def __post_init__(self) -> None:
        if self.table.is_empty() and not self.unjudged:
            raise InputError("no judgments found.", source=self.place.label, code="no-judgments")
        refuse_holes(self.table, "grade", self.place)
        keyed = _keyed(self.table) if self.by_subtopic else self.table
        starts = starts_together(keyed["query_id"])
        pairs = pairs_of(keyed, starts)
        refuse_duplicates(keyed, pairs, word="judged", place=self.place, starts=starts)
        if "inclusion" in self.table.columns:
            _refuse_improbable(self.table["inclusion"], self.place)
        if "subtopic_weight" in self.table.columns:
            _refuse_weights(self.table, self.place)

    @property
    def by_subtopic(self) -> bool:
        """Whether a document may have several grades for one query, one for each subtopic."""
        return "subtopic" in self.table.columns

    def by_document(self) -> Qrels:
        """The same with one grade a document: the highest of its subtopics."""
        if not self.by_subtopic:
            return self
        pair = ["query_id", "doc_id"]
        table = self.table.group_by(pair, maintain_order=True).agg(pl.col("grade").max())
        return replace(self, table=table, place=Place(self.place.label))

    @cached_property
    def documents(self) -> list[str]:
        """The documents as Python strings, by which dictionaries find them."""
        return self.table["doc_id"].to_list()

    @cached_property
    def sha256(self) -> str:
        """A hash of the canonical table: the same for the same judgments in any file."""
        others = [name for name in OPTIONAL if name in self.table.columns]
        subtopic = [name for name in others if name == "subtopic"]
        from rankgate.data.digest import digest

        return digest(self.table.select(*SCHEMA, *others).sort("query_id", "doc_id", *subtopic))


def without_empty(table: pl.DataFrame) -> pl.DataFrame:
    """The same without those of the columns in ``OPTIONAL`` that hold nothing."""
    empty = [name for name in OPTIONAL if name in table.columns and table[name].is_null().all()]
    return table.drop(empty)


def _keyed(table: pl.DataFrame) -> pl.DataFrame:
    """Query ids with their subtopics, so that duplicates are found per subtopic."""
    query = pl.format("{} (subtopic {})", "query_id", pl.col("subtopic").fill_null("none"))
    return table.select(query.alias("query_id"), "doc_id")


def _refuse_improbable(column: pl.Series, place: Place) -> None:
    wrong = ~((column > 0) & (column <= 1)).fill_null(value=True)
    if wrong.any():
        row = int(wrong.arg_max() or 0)
        problem = f"probability {column[row]} of being drawn is not above 0 and at most 1."
        raise InputError(problem, source=place.file(row), line=place.line(row), code="not-a-number")


def _refuse_weights(table: pl.DataFrame, place: Place) -> None:
    """Check that every subtopic has one weight, a number from 0 on."""
    weight = table["subtopic_weight"]
    wrong = ~((weight >= 0) & weight.is_finite()).fill_null(value=False)
    if wrong.any():
        row = int(wrong.arg_max() or 0)
        problem = f"subtopic_weight {weight[row]} is not a number from 0 on; every row needs one."
        raise InputError(problem, source=place.file(row), line=place.line(row), code="not-a-number")
    if "subtopic" not in table.columns:
        problem = "weights of subtopics, and no column of subtopics; add one, or drop the weights."
        raise InputError(problem, source=place.label, code="no-subtopics")
    own = pl.col("subtopic_weight") == pl.col("subtopic_weight").first().over(
        "query_id", "subtopic"
    )
    differs = table.select(~own).to_series()
    if differs.any():
        row = int(differs.arg_max() or 0)
        query, subtopic = table["query_id"][row], table["subtopic"][row]
        raise InputError(
            f"subtopic '{subtopic}' of query '{query}' has two weights; give it one.",
            source=place.file(row),
            line=place.line(row),
            code="contradicting-weights",
        )


def refuse_holes(table: pl.DataFrame, number: str, place: Place, first_row: int = 0) -> None:
    """Check that ids are there and the number is finite.

    Raises:
        InputError: with the row's line if known.
    """
    for column in ("query_id", "doc_id"):
        if table[column].null_count() or (table[column] == "").any():
            row = int(table[column].fill_null("").eq("").arg_max() or 0)
            where, file = place.line(first_row + row), place.file(first_row + row)
            raise InputError(f"{column} is empty.", source=file, line=where, code="empty-value")
    finite = np.isfinite(table[number].fill_null(float("nan")).to_numpy())
    if not finite.all():
        row = int(np.argmin(finite))
        shown, where = table[number][row], place.line(first_row + row)
        problem, file = f"{number} {shown} is not a finite number.", place.file(first_row + row)
        raise InputError(problem, source=file, line=where, code="not-a-number")
