"""Compute several metrics on the same lists, sharing intermediate results."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from rankgate.metrics.lists.declare import ListMetric
    from rankgate.metrics.lists.listed import Floats, Listed, Sums


def together(
    metrics: Mapping[str, ListMetric], listed: Listed
) -> tuple[dict[str, float], dict[str, Floats]]:
    """The number of each metric, and the values of single lists where a metric has them.

    Raises:
        UsageError: something is needed that is not there.

    >>> from rankgate.metrics.lists import Coverage, ItemsShown, Listed
    >>> shown = Listed(np.array([[0, 1]]), 4)
    >>> together({"c": Coverage, "n": ItemsShown}, shown)
    ({'c': 0.5, 'n': 2.0}, {})
    """
    sums: dict[object, Sums] = {}
    numbers: dict[str, float] = {}
    values: dict[str, Floats] = {}
    for label, metric in metrics.items():
        if metric.merge == "items" and not metric.lacks(listed):
            if metric.counted not in sums:
                sums[metric.counted] = metric.sums(listed)
            numbers[label] = metric.of_sums(sums[metric.counted])
        elif metric.merge == "mean":
            values[label] = metric.values(listed)
            known = values[label][~np.isnan(values[label])]
            numbers[label] = float(known.mean()) if len(known) else float("nan")
        else:
            numbers[label] = metric.value(listed)
    return numbers, values
