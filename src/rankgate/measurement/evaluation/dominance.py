"""Which systems another beats at everything (Pareto)."""

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
    goods = np.array([means[name] for name in names], np.float64).reshape(len(names), -1)
    goods = np.where(higher, goods, -goods)
    goods = goods[:, ~np.isnan(goods).any(axis=0)]
    found: dict[str, str | None] = {}
    for name, own in zip(names, goods, strict=True):
        over = (goods >= own).all(axis=1) & (goods > own).any(axis=1)
        found[name] = names[int(over.argmax())] if over.any() else None
    return found
