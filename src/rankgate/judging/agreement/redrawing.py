"""Ratings as another set of raters might have given them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from rankgate.core.errors import InputError
from rankgate.core.frozen import dataclass
from rankgate.judging.standing import PAIR, standing

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rankgate.data.ratings import Ratings

    Floats = NDArray[np.float64]
    Places = NDArray[np.int64]


@dataclass(frozen=True)
class RedrawnGrades:
    """Grades that count, ready to be drawn again.

    A pair that several raters graded gets as many of its own grades, drawn with replacement. A
    pair that one rater graded gets the grade that another rater would have given: drawn from what
    others said where somebody gave that grade, over the pairs that several graded.

    Attributes:
        ratings: that count and have a grade.
        grades: (n,) theirs.
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
        counted = (
            standing(ratings)
            .table.filter(pl.col("grade").is_not_null())
            .sort(PAIR, maintain_order=True)
        )
        place = counted.with_row_index("place").select(
            pl.col("place").first().over(PAIR).cast(pl.Int64), pl.len().over(PAIR).cast(pl.Int64)
        )
        begins, sizes = place["place"].to_numpy(), place["len"].to_numpy()
        if not (sizes > 1).any():
            problem = "no pair has the grades of two raters; let some be graded twice."
            raise InputError(problem, source=ratings.place.label, code="no-common-pairs")
        grades = counted["grade"].to_numpy().astype(np.float64)
        return cls(
            replace(ratings, table=counted),
            grades,
            begins,
            sizes,
            _others(counted.filter(pl.len().over(PAIR) > 1)),
        )

    def draw(self, rng: np.random.Generator) -> Ratings:
        """One set of ratings more."""
        drawn = self.grades[self.begins + rng.integers(0, self.sizes)]
        alone = self.sizes == 1
        for grade, said in self.others.items():
            place = np.flatnonzero(alone & (self.grades == grade))
            drawn[place] = rng.choice(said, len(place))
        table = self.ratings.table.with_columns(pl.Series("grade", drawn))
        return replace(self.ratings, table=table)


def _others(given: pl.DataFrame) -> dict[float, Floats]:
    """What others gave to a pair, by the grade that one gave, each pair of ratings once a way."""
    row = given.select(*PAIR, "rater", "grade")
    both = row.join(row, on=PAIR, suffix="_other").filter(pl.col("rater") != pl.col("rater_other"))
    return {
        float(grade): part["grade_other"].to_numpy().astype(np.float64)
        for (grade,), part in both.sort("grade", *PAIR, "rater", "rater_other").group_by(
            "grade", maintain_order=True
        )
    }
