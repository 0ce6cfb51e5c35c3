"""Pareto dominance between systems."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np


def dominators(
    means: Mapping[str, Sequence[float]], higher: Sequence[bool]
) -> dict[str, str | None]:
    """For each system the first that is as good by every metric and better by some; else None.

    Systems that no other dominates are the front. A metric that any system lacks, NaN, decides
    nothing.

    Args:
        means: of each system, one for each metric.
        higher: of each metric, whether higher is better.

    >>> dominators({"a": [0.5, 0.2], "b": [0.5, 0.1], "c": [0.4, 0.1]}, [True, False])
    {'a': 'b', 'b': None, 'c': 'b'}
    """
    names = list(means)
    directed_means = np.array([means[name] for name in names], np.float64).reshape(len(names), -1)
    directed_means = np.where(higher, directed_means, -directed_means)
    directed_means = directed_means[:, ~np.isnan(directed_means).any(axis=0)]
    dominator_of: dict[str, str | None] = {}
    for name, values in zip(names, directed_means, strict=True):
        dominates = (directed_means >= values).all(axis=1) & (directed_means > values).any(axis=1)
        dominator_of[name] = names[int(dominates.argmax())] if dominates.any() else None
    return dominator_of
