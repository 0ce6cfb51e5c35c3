"""A quantile of values that come in clusters, such as latencies of searches of users."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rankgate.core.frozen import dataclass

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Integers = NDArray[np.int64]


@dataclass(frozen=True)
class QuantileEstimate:
    """A quantile with its standard error.

    Attributes:
        value: the quantile, linear between order statistics.
        se: its standard error; NaN where there are too few values.
        n: values.
        clusters: independent clusters of them.
    """

    value: float
    se: float
    n: int
    clusters: int


def quantile(values: Floats, share: float, cluster: Integers | None = None) -> QuantileEstimate:
    """A quantile, with a standard error from its outer interval of order statistics.

    With s = √(n · variance) the interval ends at the values ⌊n share − z s⌋ and ⌈n share + z s⌉
    (from 0), and its width divided by 2z is the standard error. The variance of one value is
    share (1 − share); with clusters it is Σ_clusters (Σ_values (I − share))² / n, I being whether
    a value is at most the quantile (Deng, Knoblich and Lu, KDD 2018, section 4).

    Args:
        values: (n,) values.
        share: which quantile, between 0 and 1.
        cluster: (n,) the cluster of each value; without it values are independent.
    """
    from scipy.special import ndtri

    n = len(values)
    if n < 2:
        return QuantileEstimate(float(values[0]) if n else np.nan, np.nan, n, n)
    sorted_values = np.sort(values)
    value = float(np.quantile(sorted_values, share))
    variance, clusters = share * (1 - share), n
    if cluster is not None:
        _, cluster_index = np.unique(cluster, return_inverse=True)
        clusters = int(cluster_index.max()) + 1
        below = (values <= value) - np.mean(values <= value)
        sums = np.bincount(cluster_index, below, minlength=clusters)
        variance = float(sums @ sums) / n if clusters < n else variance
    z = float(ndtri(0.975))
    margin = z * np.sqrt(n * variance)
    low = int(np.floor(n * share - margin))
    high = int(np.ceil(n * share + margin))
    if low < 0 or high > n - 1:
        return QuantileEstimate(value, np.nan, n, clusters)
    return QuantileEstimate(
        value, float(sorted_values[high] - sorted_values[low]) / (2 * z), n, clusters
    )
