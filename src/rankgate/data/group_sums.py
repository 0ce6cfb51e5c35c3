"""Sums of values over groups of queries, for comparisons if single values are not stored."""

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

_HASH_MULTIPLIER = np.uint64(
    0x9E3779B97F4A7C15
)  # Fibonacci hashing: neighbouring ids go to distant groups
_GROUP_SHIFT = np.uint64(64 - 7)
_JSON_BITS = np.uint64((1 << 53) - 1)  # the bits of a whole number that every JSON reader keeps


@dataclass(frozen=True)
class GroupSums:
    """The sums of one metric of one run in each group of queries.

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
            ids: ``(n,)`` as `hash_queries` gives them.
            values: ``(n,)``; NaN has no part.
        """
        is_defined = ~np.isnan(values)
        ids, values = ids[is_defined], values[is_defined]
        groups = (ids >> _GROUP_SHIFT).astype(np.int64)
        return cls(
            np.bincount(groups, minlength=GROUPS),
            np.bincount(groups, values, minlength=GROUPS).astype(np.float64),
            int(ids.sum(dtype=np.uint64) & _JSON_BITS),
        )

    def __add__(self, other_sums: GroupSums) -> GroupSums:
        """The sums over both."""
        query_checksum = (self.queries + other_sums.queries) & int(_JSON_BITS)
        return GroupSums(self.n + other_sums.n, self.sums + other_sums.sums, query_checksum)

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
        group_numbers = np.flatnonzero(self.n)
        mean = float(self.sums.sum()) / max(self.total, 1)
        scale = len(group_numbers) / max(self.total, 1)
        group_values = mean + (self.sums[group_numbers] - mean * self.n[group_numbers]) * scale
        return {
            f"group {group + 1}": float(group_value)
            for group, group_value in zip(group_numbers, group_values, strict=True)
        }

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
        """Short texts, to be sent."""
        arrays = (self.n.astype("<i4"), self.sums.astype("<f8"))
        return [*(base64.b64encode(array.tobytes()).decode() for array in arrays), self.queries]

    @classmethod
    def from_packed(cls, values: list[Any]) -> Self:
        """From `packed`."""
        n, sums = (base64.b64decode(text) for text in values[:2])
        return cls(np.frombuffer(n, "<i4").astype(np.int64), np.frombuffer(sums, "<f8"), values[2])


def hash_queries(query_ids: pl.Series) -> NDArray[np.uint64]:
    """A hash of 64 bits for each query, from its id alone."""
    checksums = (crc32(query_id.encode()) for query_id in query_ids.to_list())
    return np.fromiter(checksums, np.uint64, len(query_ids)) * _HASH_MULTIPLIER
