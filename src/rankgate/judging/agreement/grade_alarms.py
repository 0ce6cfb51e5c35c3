"""Alarms about grades outside the scale, or far from all others."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import polars as pl

from rankgate.judging.agreement.alarm import Alarm
from rankgate.measurement.stats.agreement.intervals import FEWEST_CLUSTERS

if TYPE_CHECKING:
    from rankgate.judging.agreement.figures import Agreements
    from rankgate.judging.agreement.rated_pairs import RatedPairs

_RARE_SHARE = 0.01
_MIN_DIFFERENT = 5
_MAX_EXAMPLES = 5


def outside_alarms(pairs: RatedPairs) -> list[Alarm]:
    """Grades that the stated scale does not have; no figure contains them."""
    if pairs.outside.is_empty():
        return []
    rows = list(pairs.outside.head(_MAX_EXAMPLES).iter_rows())
    examples = ", ".join(f"{grade:g} by {rater} ({times})" for rater, grade, times in rows)
    more = ", …" if len(pairs.outside) > _MAX_EXAMPLES else ""
    count = pairs.outside["ratings"].sum()
    message = (
        f"{count} {'rating has' if count == 1 else 'ratings have'} a grade outside the scale, left "
        f"out of all figures: {examples}{more}."
    )
    return [Alarm("outside", "", message)]


def few_difference_alarms(figures: Agreements) -> list[Alarm]:
    """Intervals of raters who differ in so few queries that one of them decides their width."""
    queries = figures.counts["queries"]
    different = figures.queries.filter(pl.col("agreement") < 1).height
    if queries < FEWEST_CLUSTERS or not 0 < different < _MIN_DIFFERENT:
        return []
    message = (
        f"grades differ in {different} of {queries} queries: intervals cover less often than they "
        "state. In simulated samples of 15 queries 95 % intervals held the truth in 78 to 86 % "
        "with about 2 such queries, in 92 to 93 % with about 4; have more pairs rated twice."
    )
    return [Alarm("few-differences", "", message)]


def stray_alarms(figures: Agreements) -> list[Alarm]:
    """A rare grade at either end, farther from its neighbour than any two others are apart.

    Only where no scale was stated or the scale has it: one typing error changes the range of the
    grades, and with it every weighted coefficient.
    """
    grades = figures.grades.filter(pl.col("ratings") > 0).select("grade", "share", "ratings")
    alarms = []
    for table in (grades.sort("grade"), grades.sort("grade", descending=True)):
        values, grade_shares = table["grade"].to_list(), table["share"].to_list()
        gaps = [abs(b - a) for a, b in pairwise(values)]
        if len(gaps) > 1 and grade_shares[0] <= _RARE_SHARE and gaps[0] > max(gaps[1:]):
            message = (
                f"grade {values[0]:g} was given {table['ratings'][0]} times, and no other grade "
                f"is nearer than {values[1]:g}: a typing error? It changes every weighted "
                "coefficient; state the scale with --scale to leave it out."
            )
            alarms.append(Alarm("stray", "", message))
    return alarms
