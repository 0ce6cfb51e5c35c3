"""Models in which users go down the list: cascade, DCM, SDBN, DBN, CCM.

All are one chain. The first rank is looked at. A document that is looked at is clicked with
probability a. After no click the next rank is looked at with probability n, after a click with c;
once a user has stopped, nothing more is looked at.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from rankgate.core.frozen import dataclass

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
        # rank by rank, on rows that lie together in memory
        attractive, after = _turned(self.attractive), _turned(self.after)
        clicked = _turned(searches.clicked)
        found = np.ones_like(attractive)
        for rank in range(searches.depth - 1):
            a, e = attractive[rank], found[rank]
            seen = a * e
            still = (e - seen) / np.maximum(1 - seen, 1e-12)
            found[rank + 1] = np.where(clicked[rank], after[rank], still * self.onward)
        return np.ascontiguousarray(found.T)

    def posterior(self, searches: PackedSearches) -> Posterior:
        """What is looked at, given all clicks of the search."""
        before = self.looks(searches)
        depth = searches.depth
        attractive, after = _turned(self.attractive), _turned(self.after)
        clicked = _turned(searches.clicked)
        ahead = np.ones((depth + 1, len(before)))  # P(clicks from here | looked at)
        silent = np.ones((depth + 1, len(before)))  # P(clicks from here | stopped)
        # nothing shown has no attractiveness, so that it changes neither
        for rank in range(depth - 1, -1, -1):
            hit, a = clicked[rank], attractive[rank]
            go = np.where(hit, after[rank], self.onward)
            rest = go * ahead[rank + 1] + (1 - go) * silent[rank + 1]
            ahead[rank] = np.where(hit, a, 1 - a) * rest
            silent[rank] = silent[rank + 1] * ~hit
        here, below = np.ascontiguousarray(ahead[:-1].T), np.ascontiguousarray(ahead[1:].T)
        quiet, still = np.ascontiguousarray(silent[:-1].T), np.ascontiguousarray(silent[1:].T)
        yes = before * here
        looked = yes / np.maximum(yes + (1 - before) * quiet, 1e-300)
        go = np.where(searches.clicked, self.after, self.onward)
        on, off = go * below, (1 - go) * still
        moved = looked * on / np.maximum(on + off, 1e-300)
        return Posterior(looked, moved, below, still)


def _turned(values: NDArray[Any]) -> NDArray[Any]:
    """(K, N) the ranks as rows."""
    return np.ascontiguousarray(values.T)


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
