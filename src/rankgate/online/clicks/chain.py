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
        p_look = np.ones(len(chances))
        for rank in range(chances.shape[1]):
            a = self.attractive[:, rank]
            chances[:, rank] = p_look * a
            p_look = p_look * (a * self.after[:, rank] + (1 - a) * self.onward)
        return chances

    def looks(self, searches: PackedSearches) -> Floats:
        """(N, K) the probability that each rank is looked at, given the clicks above it."""
        # rank by rank, on rows that lie together in memory
        attractive, after = _transpose(self.attractive), _transpose(self.after)
        clicked = _transpose(searches.clicked)
        look_probability = np.ones_like(attractive)
        for rank in range(searches.depth - 1):
            a, e = attractive[rank], look_probability[rank]
            p_click = a * e
            look_if_skipped = (e - p_click) / np.maximum(1 - p_click, 1e-12)
            look_probability[rank + 1] = np.where(
                clicked[rank], after[rank], look_if_skipped * self.onward
            )
        return np.ascontiguousarray(look_probability.T)

    def posterior(self, searches: PackedSearches) -> Posterior:
        """Compute the probabilities of looks, given all clicks of the search."""
        p_look_before = self.looks(searches)
        depth = searches.depth
        attractive, after = _transpose(self.attractive), _transpose(self.after)
        clicked = _transpose(searches.clicked)
        ahead = np.ones((depth + 1, len(p_look_before)))  # P(clicks from here | looked at)
        silent = np.ones((depth + 1, len(p_look_before)))  # P(clicks from here | stopped)
        # nothing shown has no attractiveness, so that it changes neither
        for rank in range(depth - 1, -1, -1):
            is_clicked, a = clicked[rank], attractive[rank]
            p_continue = np.where(is_clicked, after[rank], self.onward)
            clicks_below = p_continue * ahead[rank + 1] + (1 - p_continue) * silent[rank + 1]
            ahead[rank] = np.where(is_clicked, a, 1 - a) * clicks_below
            silent[rank] = silent[rank + 1] * ~is_clicked
        ahead_here, below = np.ascontiguousarray(ahead[:-1].T), np.ascontiguousarray(ahead[1:].T)
        silent_here, silent_below = (
            np.ascontiguousarray(silent[:-1].T),
            np.ascontiguousarray(silent[1:].T),
        )
        joint_look = p_look_before * ahead_here
        p_look = joint_look / np.maximum(joint_look + (1 - p_look_before) * silent_here, 1e-300)
        p_continue = np.where(searches.clicked, self.after, self.onward)
        continued, stopped = p_continue * below, (1 - p_continue) * silent_below
        moved = p_look * continued / np.maximum(continued + stopped, 1e-300)
        return Posterior(p_look, moved, below, silent_below)


def _transpose(values: NDArray[Any]) -> NDArray[Any]:
    """(K, N) the ranks as rows."""
    return np.ascontiguousarray(values.T)


@dataclass(frozen=True)
class Posterior:
    """Probabilities of looks at each rank, given all clicks.

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
