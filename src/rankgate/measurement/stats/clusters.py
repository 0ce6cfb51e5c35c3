"""Clusters of queries, such as copies of one query, as the units of a mean and its error."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from rankgate.core.frozen import dataclass
from rankgate.measurement.stats.represented import WeightPrecision, estimate_population

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]


@dataclass(frozen=True)
class QueryClusters:
    """The clusters of n queries.

    Attributes:
        codes: (n,) the cluster of each query, 0 to C − 1 in the order of first appearance.
        first: (C,) the first query of each cluster.
        sizes: (C,) how many queries a cluster has.
    """

    codes: NDArray[np.int64]
    first: NDArray[np.int64]
    sizes: NDArray[np.int64]

    @classmethod
    def of(cls, queries: Sequence[str], clusters: Mapping[str, str]) -> QueryClusters:
        """From the ids of queries and the cluster of each; a query without one is its own."""
        numbers: dict[tuple[bool, str], int] = {}
        codes, first = np.zeros(len(queries), np.int64), []
        for row, query in enumerate(queries):
            cluster = clusters.get(query)
            key = (cluster is None, query if cluster is None else cluster)
            if key not in numbers:
                numbers[key] = len(numbers)
                first.append(row)
            codes[row] = numbers[key]
        return cls(codes, np.array(first, np.int64), np.bincount(codes, minlength=len(first)))

    @property
    def equal(self) -> bool:
        """True if all clusters have as many queries."""
        return not len(self.sizes) or bool((self.sizes == self.sizes[0]).all())

    @property
    def weighing(self) -> WeightPrecision:
        """The precision of the clusters, by their sizes."""
        return WeightPrecision.of(self.sizes.astype(np.float64))

    def problem(self, values: Floats) -> tuple[str, str] | None:
        """The code and the reason why the sizes decide nothing; None where they do not matter."""
        if self.equal:
            return None
        sizes = self.sizes.astype(np.float64)
        problem = self.weighing.problem(estimate_population(self.means(values), sizes))
        if problem is None:
            return None
        code, reason = problem
        return code, reason.replace("queries of these weights", "clusters of these sizes")

    def sums(self, table: Floats) -> Floats:
        """(C, …) sums over the queries of each cluster, of (n, …) values."""
        result = np.zeros((len(self.sizes), *table.shape[1:]))
        np.add.at(result, self.codes, table)
        return result

    def means(self, table: Floats) -> Floats:
        """(C, …) means of each cluster."""
        shape = (-1, *(1,) * (table.ndim - 1))
        return np.asarray(self.sums(table) / self.sizes.reshape(shape), np.float64)

    def weighted(self, values: Floats, weights: Floats | None) -> tuple[Floats, Floats]:
        """(C,) means of clusters by the weights of their queries, and the sums of these."""
        v = np.ones(len(values)) if weights is None else weights
        totals = self.sums(v)
        return self.sums(v * values) / totals, totals

    def values(self, table: Floats) -> Floats:
        """(C, …) values whose mean is that of all queries, and whose s/√C is its standard error.

        Means of clusters of equal sizes m; else ȳ + m(ȳ_c − ȳ)/m̄ · (1 − 1/C)/(1 − m/Σm), the ratio
        of two means of clusters (Cochran 1977, section 9A.1) with the error of the jackknife.
        """
        means = self.means(table)
        if self.equal:
            return means
        shape, count = (-1, *(1,) * (table.ndim - 1)), len(self.sizes)
        share = self.sizes / self.sizes.sum()
        lever = count * share * (1 - 1 / count) / np.maximum(1 - share, 1 / self.sizes.sum())
        mean = table.mean(axis=0)
        deviations = lever.reshape(shape) * (means - mean)
        return np.asarray(mean + deviations - deviations.mean(axis=0), np.float64)
