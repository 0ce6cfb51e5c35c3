"""Models in which users go down the list: cascade, DCM, SDBN, DBN, CCM.

All are one chain. The first rank is looked at. A document that is looked at is clicked with
probability a. After no click the next rank is looked at with probability n, after a click with c;
once a user has stopped, nothing more is looked at.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rankgate.online.clicks.packed import PackedSearches

    Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Chain:
    """The probabilities of a chain on searches.

    Attributes:
        attractive: (N, K) a of each document.
        onward: n, after no click.
        after: (N, K) c, after a click on the document.
    """

    attractive: Floats
    onward: float
    after: Floats

    def conditional(self, searches: PackedSearches) -> Floats:
        """(N, K) the probability of each click, given the clicks above it."""
        return np.asarray(self.attractive * self.looks(searches))

    def marginal(self) -> Floats:
        """(N, K) the probability of each click, given the list."""
        chances = np.zeros_like(self.attractive)
        looked = np.ones(len(chances))
        for rank in range(chances.shape[1]):
            a = self.attractive[:, rank]
            chances[:, rank] = looked * a
            looked = looked * (a * self.after[:, rank] + (1 - a) * self.onward)
        return chances

    def looks(self, searches: PackedSearches) -> Floats:
        """(N, K) the probability that each rank is looked at, given the clicks above it."""
        found = np.ones_like(self.attractive)
        for rank in range(searches.depth - 1):
            a, e = self.attractive[:, rank], found[:, rank]
            still = e * (1 - a) / np.maximum(1 - a * e, 1e-12)
            found[:, rank + 1] = np.where(
                searches.clicked[:, rank], self.after[:, rank], still * self.onward
            )
        return found

    def posterior(self, searches: PackedSearches) -> Posterior:
        """What is looked at, given all clicks of the search."""
        before = self.looks(searches)
        depth = searches.depth
        ahead = np.ones((len(before), depth + 1))  # P(clicks from here | looked at)
        silent = np.ones((len(before), depth + 1))  # P(clicks from here | stopped)
        for rank in range(depth - 1, -1, -1):
            clicked, a = searches.clicked[:, rank], self.attractive[:, rank]
            shown = searches.shown[:, rank]
            go = np.where(clicked, self.after[:, rank], self.onward)
            rest = go * ahead[:, rank + 1] + (1 - go) * silent[:, rank + 1]
            ahead[:, rank] = np.where(shown, np.where(clicked, a, 1 - a) * rest, 1.0)
            silent[:, rank] = np.where(clicked, 0.0, silent[:, rank + 1])
        yes = before * ahead[:, :-1]
        looked = yes / np.maximum(yes + (1 - before) * silent[:, :-1], 1e-300)
        go = np.where(searches.clicked, self.after, self.onward)
        on, off = go * ahead[:, 1:], (1 - go) * silent[:, 1:]
        moved = looked * on / np.maximum(on + off, 1e-300)
        return Posterior(looked, moved, ahead[:, 1:], silent[:, 1:])


@dataclass(frozen=True)
class Posterior:
    """What happened at each rank, given all clicks.

    Attributes:
        looked: (N, K) whether it was looked at.
        moved: (N, K) whether it and the next rank were.
        ahead: (N, K) the probability of the clicks below it, if the next rank is looked at.
        silent: (N, K) the same, if the user stopped here.
    """

    looked: Floats
    moved: Floats
    ahead: Floats
    silent: Floats
