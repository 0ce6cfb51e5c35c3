"""Grades that do not belong to the scale: named outside of it, or far from all others."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import polars as pl

from rankgate.judging.agreement.alarm import Alarm

if TYPE_CHECKING:
    from rankgate.judging.agreement.figures import Agreements
    from rankgate.judging.agreement.rated_pairs import RatedPairs

_RARE = 0.01
_SHOWN = 5


def outside(pairs: RatedPairs) -> list[Alarm]:
    """Grades that the stated scale does not have; no figure contains them."""
    if pairs.outside.is_empty():
        return []
    rows = list(pairs.outside.head(_SHOWN).iter_rows())
    shown = ", ".join(f"{grade:g} by {rater} ({times})" for rater, grade, times in rows)
    more = ", …" if len(pairs.outside) > _SHOWN else ""
    count = pairs.outside["ratings"].sum()
    what = (
        f"{count} {'rating has' if count == 1 else 'ratings have'} a grade outside the scale, left "
        f"out of all figures: {shown}{more}."
    )
    return [Alarm("outside", "", what)]


def stray(found: Agreements) -> list[Alarm]:
    """A rare grade at either end, farther from its neighbour than any two others are apart.

    Only where no scale was stated or the scale has it: one typing error changes the range of the
    grades, and with it every weighted coefficient.
    """
    grades = found.grades.filter(pl.col("ratings") > 0).select("grade", "share", "ratings")
    alarms = []
    for table in (grades.sort("grade"), grades.sort("grade", descending=True)):
        values, shares = table["grade"].to_list(), table["share"].to_list()
        gaps = [abs(b - a) for a, b in pairwise(values)]
        if len(gaps) > 1 and shares[0] <= _RARE and gaps[0] > max(gaps[1:]):
            what = (
                f"grade {values[0]:g} was given {table['ratings'][0]} times, and no other grade "
                f"is nearer than {values[1]:g}: a typing error? It changes every weighted "
                "coefficient; state the scale with --scale to leave it out."
            )
            alarms.append(Alarm("stray", "", what))
    return alarms
