"""An alarm: something to look into before ratings are trusted."""

from __future__ import annotations

from rankgate.core.frozen import dataclass

MIN_RATINGS = 20
"""The fewest ratings for a statement about a rater or a pair of raters."""


@dataclass(frozen=True)
class Alarm:
    """Something to look into before the ratings are trusted.

    Attributes:
        kind: outside, stray, overlap, queries, few-differences, reversed, random, against-all,
            copied, scale, one-grade, speeder or prevalence.
        who: the rater or raters; empty where it is about all of them.
        what: a sentence with the figures.
    """

    kind: str
    who: str
    what: str
