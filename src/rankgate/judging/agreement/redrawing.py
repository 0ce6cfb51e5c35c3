"""Redrawn ratings, as another set of raters might give them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from rankgate.core.errors import InputError
from rankgate.core.frozen import dataclass
from rankgate.judging.standing import PAIR, counting_ratings

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rankgate.data.ratings import Ratings

    Floats = NDArray[np.float64]
    Places = NDArray[np.int64]


@dataclass(frozen=True)
class RedrawnGrades:
    """Grades that count, ready to be redrawn.

    A pair that several raters graded gets as many of its own grades, drawn with replacement. A
    pair that one rater graded gets the grade that another rater would have given: drawn from the
    grades of others where a rater gave that grade, over the pairs that several graded.

    Attributes:
        ratings: that count and have a grade.
        grades: (n,) the grades of these ratings.
        begins, sizes: (n,) of each rating's pair: where its grades begin, and how many there are.
        others: by grade, what other raters gave to the same pairs.
    """

    ratings: Ratings
    grades: Floats
    begins: Places
    sizes: Places
    others: dict[float, Floats]

    @classmethod
    def of(cls, ratings: Ratings) -> RedrawnGrades:
        """From ratings of single raters; the last rating of each on a pair counts.

        Raises:
            InputError: no pair has two grades, so that nothing is known of other raters.
        """
        graded_ratings = (
            counting_ratings(ratings)
            .table.filter(pl.col("grade").is_not_null())
            .sort(PAIR, maintain_order=True)
        )
        pair_bounds = graded_ratings.with_row_index("place").select(
            pl.col("place").first().over(PAIR).cast(pl.Int64), pl.len().over(PAIR).cast(pl.Int64)
        )
        begins, sizes = pair_bounds["place"].to_numpy(), pair_bounds["len"].to_numpy()
        if not (sizes > 1).any():
            problem = "no pair has the grades of two raters; let some be graded twice."
            raise InputError(problem, source=ratings.place.label, code="no-common-pairs")
        grades = graded_ratings["grade"].to_numpy().astype(np.float64)
        return cls(
            replace(ratings, table=graded_ratings),
            grades,
            begins,
            sizes,
            _grades_of_others(graded_ratings.filter(pl.len().over(PAIR) > 1)),
        )

    def draw(self, rng: np.random.Generator) -> Ratings:
        """Draw one more set of ratings."""
        drawn_grades = self.grades[self.begins + rng.integers(0, self.sizes)]
        is_single = self.sizes == 1
        for grade, other_grades in self.others.items():
            row_index = np.flatnonzero(is_single & (self.grades == grade))
            drawn_grades[row_index] = rng.choice(other_grades, len(row_index))
        table = self.ratings.table.with_columns(pl.Series("grade", drawn_grades))
        return replace(self.ratings, table=table)


def _grades_of_others(graded_ratings: pl.DataFrame) -> dict[float, Floats]:
    """Grades that others gave to a pair, by one rater's grade; each two ratings count twice."""
    grades = graded_ratings.select(*PAIR, "rater", "grade")
    rating_pairs = grades.join(grades, on=PAIR, suffix="_other").filter(
        pl.col("rater") != pl.col("rater_other")
    )
    return {
        float(grade): rows["grade_other"].to_numpy().astype(np.float64)
        for (grade,), rows in rating_pairs.sort("grade", *PAIR, "rater", "rater_other").group_by(
            "grade", maintain_order=True
        )
    }
