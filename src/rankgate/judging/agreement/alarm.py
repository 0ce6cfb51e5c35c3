"""An alarm: something to look into before ratings are trusted."""

from __future__ import annotations

from rankgate.core.frozen import dataclass

ENOUGH = 20
"""Ratings below which nothing is said about a rater or a pair of raters."""


@dataclass(frozen=True)
class Alarm:
    """Something to look into before the ratings are trusted.

    Attributes:
        kind: outside, stray, overlap, queries, reversed, random, against-all, copied, scale,
            one-grade, speeder or prevalence.
        who: the rater or raters; empty where it is about all of them.
        what: a sentence with the figures.
    """

    kind: str
    who: str
    what: str
