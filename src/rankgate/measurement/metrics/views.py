"""Views: named kinds of kernel input, and builders of user-defined ones."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from rankgate.core.frozen import dataclass

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@dataclass(frozen=True)
class View:
    """The kind of the first argument of a metric's kernel.

    Attributes:
        name: what it is called in messages.
        build: for a view that rankgate does not build itself: from a ``scoring.plan.Block`` of
            whole queries, pairs of positions ``(t,)`` among the queries of the block and what the
            kernel sees of them. Every query is in one pair.
    """

    name: str
    build: Callable[[Any], Iterable[tuple[NDArray[np.int64], Any]]] | None = None


RANKING = View("ranking")
"""A `Judged` block: ranks and grades of the judged documents."""

SUBTOPICS = View("subtopics")
"""A `Faceted` block: which subtopics the documents answer, by rank."""

SAMPLED_POOLS = View("sampled pools")
"""A list of `SampledPool`, one for each query: the pool by stratum, and what was judged of it."""

SEQUENCES = View("sequences")
"""A `Sequences` value: all documents of the rankings of whole tasks, judged or not."""

LISTS = View("lists")
"""A `Listed` value: the first items of all lists, and data of items and users."""
