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
from rankgate.data.duplicates import hash_pairs, refuse_duplicates
from rankgate.data.place import RowLocation
from rankgate.data.stretches import unique_range_starts

SCHEMA = {"query_id": pl.String, "doc_id": pl.String, "grade": pl.Float64}
"""The columns of every set of judgments."""

OPTIONAL = {
    "subtopic": pl.String,
    "subtopic_weight": pl.Float64,
    "inclusion": pl.Float64,
    "stratum": pl.String,
}
"""Optional columns: the subtopic of a query that a grade is about, and its weight among the
subtopics of the query; the probability with which the document was sampled for judging, and its
stratum."""


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
    place: RowLocation = field(default=RowLocation("qrels"))

    def __post_init__(self) -> None:
        if self.table.is_empty() and not self.unjudged:
            raise InputError("no judgments found.", source=self.place.label, code="no-judgments")
        check_rows(self.table, "grade", self.place)
        keyed_rows = _subtopic_keys(self.table) if self.by_subtopic else self.table
        starts = unique_range_starts(keyed_rows["query_id"])
        pairs = hash_pairs(keyed_rows, starts)
        refuse_duplicates(keyed_rows, pairs, word="judged", place=self.place, starts=starts)
        if "inclusion" in self.table.columns:
            _check_probabilities(self.table["inclusion"], self.place)
        if "subtopic_weight" in self.table.columns:
            _check_weights(self.table, self.place)

    @property
    def by_subtopic(self) -> bool:
        """True if a document may have several grades for one query, one for each subtopic."""
        return "subtopic" in self.table.columns

    def by_document(self) -> Qrels:
        """The same judgments with one grade for each document: the highest of its subtopics."""
        if not self.by_subtopic:
            return self
        pair = ["query_id", "doc_id"]
        table = self.table.group_by(pair, maintain_order=True).agg(pl.col("grade").max())
        return replace(self, table=table, place=RowLocation(self.place.label))

    @cached_property
    def documents(self) -> list[str]:
        """The documents as Python strings, for lookups in dictionaries."""
        return self.table["doc_id"].to_list()

    @cached_property
    def sha256(self) -> str:
        """A hash of the canonical table: the same for the same judgments in any file."""
        optional_columns = [name for name in OPTIONAL if name in self.table.columns]
        subtopic = [name for name in optional_columns if name == "subtopic"]
        from rankgate.data.digest import hash_table

        return hash_table(
            self.table.select(*SCHEMA, *optional_columns).sort("query_id", "doc_id", *subtopic)
        )


def drop_empty(table: pl.DataFrame) -> pl.DataFrame:
    """The same table without the columns in ``OPTIONAL`` that are empty."""
    empty_columns = [
        name for name in OPTIONAL if name in table.columns and table[name].is_null().all()
    ]
    return table.drop(empty_columns)


def _subtopic_keys(table: pl.DataFrame) -> pl.DataFrame:
    """Query ids with their subtopics, for a check for duplicates in each subtopic."""
    query = pl.format("{} (subtopic {})", "query_id", pl.col("subtopic").fill_null("none"))
    return table.select(query.alias("query_id"), "doc_id")


def _check_probabilities(column: pl.Series, location: RowLocation) -> None:
    is_wrong = ~((column > 0) & (column <= 1)).fill_null(value=True)
    if is_wrong.any():
        row = int(is_wrong.arg_max() or 0)
        problem = f"probability {column[row]} of being drawn is not above 0 and at most 1."
        raise InputError(
            problem, source=location.file(row), line=location.line(row), code="not-a-number"
        )


def _check_weights(table: pl.DataFrame, location: RowLocation) -> None:
    """Check that every subtopic has one weight, a number of 0 or more."""
    weight = table["subtopic_weight"]
    is_wrong = ~((weight >= 0) & weight.is_finite()).fill_null(value=False)
    if is_wrong.any():
        row = int(is_wrong.arg_max() or 0)
        problem = f"subtopic_weight {weight[row]} is not a number from 0 on; every row needs one."
        raise InputError(
            problem, source=location.file(row), line=location.line(row), code="not-a-number"
        )
    if "subtopic" not in table.columns:
        problem = "weights of subtopics, and no column of subtopics; add one, or drop the weights."
        raise InputError(problem, source=location.label, code="no-subtopics")
    is_first_weight = pl.col("subtopic_weight") == pl.col("subtopic_weight").first().over(
        "query_id", "subtopic"
    )
    is_different = table.select(~is_first_weight).to_series()
    if is_different.any():
        row = int(is_different.arg_max() or 0)
        query, subtopic = table["query_id"][row], table["subtopic"][row]
        raise InputError(
            f"subtopic '{subtopic}' of query '{query}' has two weights; give it one.",
            source=location.file(row),
            line=location.line(row),
            code="contradicting-weights",
        )


def check_rows(table: pl.DataFrame, number: str, location: RowLocation, first_row: int = 0) -> None:
    """Check that ids are present and the number is finite.

    Raises:
        InputError: with the row's line if known.
    """
    for column in ("query_id", "doc_id"):
        if table[column].null_count() or (table[column] == "").any():
            row = int(table[column].fill_null("").eq("").arg_max() or 0)
            line, file = location.line(first_row + row), location.file(first_row + row)
            raise InputError(f"{column} is empty.", source=file, line=line, code="empty-value")
    is_finite = np.isfinite(table[number].fill_null(float("nan")).to_numpy())
    if not is_finite.all():
        row = int(np.argmin(is_finite))
        number_text, line = table[number][row], location.line(first_row + row)
        problem, file = (
            f"{number} {number_text} is not a finite number.",
            location.file(first_row + row),
        )
        raise InputError(problem, source=file, line=line, code="not-a-number")
