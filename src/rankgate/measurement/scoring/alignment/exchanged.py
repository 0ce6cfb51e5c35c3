"""Refuse swapped arguments: judgments given as the run, and the run as judgments."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from rankgate.core.errors import InputError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rankgate.data.run import Run

_MOST_GRADES = 10  # different grades at most
_HIGHEST_GRADE = 100  # grade
_SAMPLE_SIZE = 1 << 16  # rows
_SCORE_SHARE = 0.9  # share of the rows that are like scores


def refuse_exchanged(
    grades: NDArray[np.float64], offsets: NDArray[np.int64], name: str, run: Run
) -> None:
    """Check that the grades are not a system's scores, and the scores not grades.

    Grades are few whole numbers, of which queries repeat some or have 0; scores have fractions,
    and hardly any is there twice in a query.

    Args:
        grades: of the judgments, query after query.
        offsets: where each query's begin.
        name: of the judgments.
        run: the run.

    Raises:
        InputError: each of them looks like the other.
    """
    if not _like_scores(grades[:_SAMPLE_SIZE], offsets):
        return
    rows = next(iter(run.pieces()), None)
    if rows is not None and _like_grades(rows.head(_SAMPLE_SIZE)):
        problem = (
            f"its scores are few whole numbers, like grades, and the grades of {name} are "
            "fractions without repeats, like scores; the judgments come first, then the run. If "
            "this order is right, write the scores with fractions."
        )
        raise InputError(problem, source=run.place.label, code="exchanged-arguments")


def _like_scores(grades: NDArray[np.float64], offsets: NDArray[np.int64]) -> bool:
    if not len(grades) or (grades == np.floor(grades)).mean() > 1 - _SCORE_SHARE:
        return False
    owner = np.searchsorted(offsets, np.arange(len(grades)), "right")
    return pl.DataFrame({"query": owner, "grade": grades}).n_unique() >= _SCORE_SHARE * len(grades)


def _like_grades(rows: pl.DataFrame) -> bool:
    scores = rows["score"]
    are_small_integers = (scores == scores.floor()).all() and scores.is_between(
        0, _HIGHEST_GRADE
    ).all()
    repeats = (scores == 0).any() or rows.select("query_id", "score").is_duplicated().any()
    return bool(are_small_integers and repeats and scores.n_unique() <= _MOST_GRADES)
