"""Sums of values over groups of queries: what a comparison needs where values are not kept."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Self
from zlib import crc32

import numpy as np

from rankgate.core.frozen import dataclass

if TYPE_CHECKING:
    import polars as pl
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Counted = NDArray[np.int64]

GROUPS = 128
"""Groups of queries, by a hash of the id that is the same in every run and on every machine."""

_MIX = np.uint64(0x9E3779B97F4A7C15)  # Fibonacci hashing: neighbouring ids go to distant groups
_BITS = np.uint64(64 - 7)
_LOW = np.uint64((1 << 53) - 1)  # what every reader of JSON keeps of a whole number


@dataclass(frozen=True)
class GroupSums:
    """What one metric of one run adds up to in each group of queries.

    Two runs that were scored at different times are compared by the differences of their groups,
    as both have the same queries in the same group.

    Attributes:
        n: ``(GROUPS,)`` queries with a value.
        sums: ``(GROUPS,)`` of their values.
        queries: a checksum of the ids of these queries.
    """

    n: Counted
    sums: Floats
    queries: int

    @classmethod
    def of(cls, ids: NDArray[np.uint64], values: Floats) -> GroupSums:
        """The sums of some queries.

        Args:
            ids: ``(n,)`` as `hashed` gives them.
            values: ``(n,)``; NaN has no part.
        """
        known = ~np.isnan(values)
        ids, values = ids[known], values[known]
        groups = (ids >> _BITS).astype(np.int64)
        return cls(
            np.bincount(groups, minlength=GROUPS),
            np.bincount(groups, values, minlength=GROUPS).astype(np.float64),
            int(ids.sum(dtype=np.uint64) & _LOW),
        )

    def __add__(self, other: GroupSums) -> GroupSums:
        """The sums over both."""
        both = (self.queries + other.queries) & int(_LOW)
        return GroupSums(self.n + other.n, self.sums + other.sums, both)

    @property
    def total(self) -> int:
        """Queries with a value."""
        return int(self.n.sum())

    def values(self) -> dict[str, float]:
        """A value for each group that has queries; their mean is the mean of the queries.

        With n queries in B groups, group b having n_b of them and the sum s_b, its value is
        m + (s_b − m·n_b)·B/n around the mean m: the linearised ratio Σs_b/Σn_b (Cochran, Sampling
        Techniques, 1977, section 6.4). Differences of two runs are those of the same queries, and
        Student's interval of these values is that of a sample of groups.
        """
        some = np.flatnonzero(self.n)
        mean = float(self.sums.sum()) / max(self.total, 1)
        scale = len(some) / max(self.total, 1)
        found = mean + (self.sums[some] - mean * self.n[some]) * scale
        return {f"group {b + 1}": float(each) for b, each in zip(some, found, strict=True)}

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {"n": self.n.tolist(), "sums": self.sums.tolist(), "queries": self.queries}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        """From `to_dict`.

        Raises:
            ValueError: not as many groups as there are.
        """
        n, sums = np.array(values["n"], np.int64), np.array(values["sums"], np.float64)
        if n.shape != (GROUPS,) or sums.shape != (GROUPS,):
            raise ValueError(f"{len(n)} groups, expected {GROUPS}")
        return cls(n, sums, int(values["queries"]))

    def packed(self) -> list[Any]:
        """As short text, to be sent."""
        arrays = (self.n.astype("<i4"), self.sums.astype("<f8"))
        return [*(base64.b64encode(each.tobytes()).decode() for each in arrays), self.queries]

    @classmethod
    def from_packed(cls, values: list[Any]) -> Self:
        """From `packed`."""
        n, sums = (base64.b64decode(each) for each in values[:2])
        return cls(np.frombuffer(n, "<i4").astype(np.int64), np.frombuffer(sums, "<f8"), values[2])


def hashed(query_ids: pl.Series) -> NDArray[np.uint64]:
    """A number of 64 bits for each query, by its id alone."""
    found = (crc32(each.encode()) for each in query_ids.to_list())
    return np.fromiter(found, np.uint64, len(query_ids)) * _MIX
