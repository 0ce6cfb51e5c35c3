"""Measure inter-annotator agreement and its effect on a comparison."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rankgate.data.column_map import map_columns
from rankgate.data.read_ratings import read_ratings
from rankgate.data.scales import parse_scale
from rankgate.judging.agreement.agreement import RaterAgreement
from rankgate.judging.agreement.alarms import alarms
from rankgate.judging.agreement.figures import agreements
from rankgate.judging.agreement.rated_pairs import rated_pairs

if TYPE_CHECKING:
    from rankgate.data.inputs import ColumnsLike, RatingsLike


def agree(
    ratings: RatingsLike,
    *,
    scale: str | None = None,
    from_: str | None = None,
    columns: ColumnsLike | None = None,
) -> RaterAgreement:
    """Measure how far raters agree, and report what looks wrong.

    Intervals leave out one query at a time; with fewer than 15 of them there are none.

    Args:
        ratings: a path (``-`` is standard input), a frame, or ratings.
        scale: the rating scale: a name, a range or a list. Grades outside of it are left out of all
            figures, counted and reported.
        from_: the name of the file's format.
        columns: the columns of a CSV or TSV file or a frame that have no usual name, as in
            query=search_term,doc=sku,rater=who,grade=stars; grades of several raters side by side
            are grade=ann+bob or grade=rater_*.

    Raises:
        InputError: ratings that cannot be read, with file and line; none has a grade.
        UsageError: no such scale or format.
    """
    all_ratings = read_ratings(map_columns(ratings, columns, "ratings"), from_=from_)
    grades = parse_scale(scale) if scale else None
    pairs = rated_pairs(all_ratings, grades)
    figures = agreements(pairs)
    return RaterAgreement(figures, alarms(figures, pairs))
