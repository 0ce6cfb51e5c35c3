"""The ratings that agreement is computed from, as arrays: pairs by raters, with their queries."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from rankgate.core.errors import InputError
from rankgate.core.frozen import dataclass
from rankgate.data.scales import on_scale, possible_grades
from rankgate.judging.standing import PAIR, counting_ratings
from rankgate.measurement.stats.agreement.ratings import RatingMatrix, Tallies

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rankgate.data.qrels import Scale
    from rankgate.data.ratings import Ratings


@dataclass(frozen=True)
class RatedPairs:
    """The last rating of each rater on each pair. I pairs, R raters, K grades, Q queries.

    Attributes:
        name: of the ratings.
        last: every last rating, with or without a grade; grades outside the scale are left out.
        given: those with a grade.
        outside: ``rater``, ``grade``, ``ratings``: grades that the scale does not have.
        corrected: ratings that a later one of the same rater replaced.
        raters: names, in the order of the sheet.
        sheet: (I, R, K) the grades.
        queries: (I,) the query of each pair, 0 to Q − 1.
        tallies: the sums of each query.
    """

    name: str
    last: pl.DataFrame
    given: pl.DataFrame
    outside: pl.DataFrame
    corrected: int
    raters: tuple[str, ...]
    sheet: RatingMatrix
    queries: NDArray[np.int64]
    tallies: Tallies

    @property
    def place(self) -> NDArray[np.int64]:
        """(I, R) the index of the grade that a rater gave a pair, −1 if there is none."""
        is_rated = self.sheet.said.any(axis=2)
        return np.where(is_rated, self.sheet.said.argmax(axis=2), -1)

    def without(self, rater: str) -> RatedPairs:
        """The pairs without one rater; the tables of ratings and the sums of queries stay."""
        column = self.raters.index(rater)
        sheet = replace(self.sheet, said=np.delete(self.sheet.said, column, axis=1))
        raters = tuple(name for name in self.raters if name != rater)
        return replace(self, raters=raters, sheet=sheet)


def rated_pairs(ratings: Ratings, scale: Scale | None = None) -> RatedPairs:
    """The ratings as arrays.

    Args:
        ratings: of single raters; the last rating of each rater on a pair counts.
        scale: the grades that were possible; without it, that of the ratings. Grades that it
            does not have are left out and counted: one of them would change every coefficient
            that depends on the range of the grades.

    Raises:
        InputError: no rating has a grade, or none has one on the scale.
    """
    last_ratings = counting_ratings(ratings)
    bounds = scale or ratings.scale
    is_on_scale = on_scale(pl.col("grade"), bounds) if bounds else pl.lit(value=True)
    last = last_ratings.table.filter(is_on_scale | pl.col("grade").is_null())
    outside_grades = (
        last_ratings.table.filter(~is_on_scale & pl.col("grade").is_not_null())
        .group_by("rater", "grade")
        .agg(pl.len().cast(pl.Int64).alias("ratings"))
        .sort("rater", "grade")
    )
    graded_ratings = last.filter(pl.col("grade").is_not_null())
    if graded_ratings.is_empty():
        problem = (
            "no rating has a grade on the scale."
            if len(outside_grades)
            else "no rating has a grade."
        )
        raise InputError(problem, source=ratings.place.label, code="no-grades")
    sheet, raters, queries = _rating_matrix(graded_ratings, bounds)
    return RatedPairs(
        ratings.name,
        last,
        graded_ratings,
        outside_grades,
        last_ratings.corrected,
        raters,
        sheet,
        queries,
        Tallies.of(sheet, queries),
    )


def _rating_matrix(
    graded_ratings: pl.DataFrame, scale: Scale | None
) -> tuple[RatingMatrix, tuple[str, ...], NDArray[np.int64]]:
    raters = sorted(graded_ratings["rater"].unique())
    column = {rater: i for i, rater in enumerate(raters)}
    pairs = graded_ratings.select(PAIR).unique(maintain_order=True).with_row_index("item")
    numbered_ratings = graded_ratings.join(pairs, on=PAIR, maintain_order="left")
    matrix: NDArray[np.float64] = np.full((len(pairs), len(raters)), np.nan)
    columns = numbered_ratings["rater"].replace_strict(column, return_dtype=pl.Int64).to_numpy()
    matrix[numbered_ratings["item"].to_numpy(), columns] = numbered_ratings["grade"].to_numpy()
    possible = possible_grades(scale) if scale else ()
    all_grades = sorted({*possible, *graded_ratings["grade"].to_list()}) if possible else None
    queries = pairs["query_id"].rank("dense").to_numpy().astype(np.int64) - 1
    return RatingMatrix.of(matrix, all_grades), tuple(raters), queries
