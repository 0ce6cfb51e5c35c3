"""The figures of a split from those of its partitions."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import TYPE_CHECKING, Any

import polars as pl

from rankgate.core.frozen import dataclass
from rankgate.spark.splitting.tables import (
    ITEMS,
    TEST,
    TRAIN,
    VALIDATION,
    carried_out,
    totals_of,
    unpacked,
)

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame

    from rankgate.spark.tables import Rows

LOGS = {TRAIN: "train", VALIDATION: "validation", TEST: "test"}
"""The parts that are interactions, with their names."""


class FoldSums:
    """The figures of one fold, of all stretches."""

    def __init__(self, found: list[dict[str, Any]]) -> None:
        self._found = [each for each in found if each]

    def of(self, part: int, name: str) -> int:
        """A sum over one part."""
        return sum(self.each(part, name))

    def each(self, part: int, name: str) -> list[int]:
        """What stretches have of one part, where they have it."""
        found = [each["parts"].get(str(part), {}).get(name) for each in self._found]
        return [value for value in found if value is not None]

    def total(self, name: str) -> int:
        """A sum over the fold."""
        return sum(each[name] for each in self._found)

    @property
    def leaks(self) -> dict[str, int]:
        """The sums of leaks."""
        names = self._found[0]["leaks"]
        return {name: sum(each["leaks"][name] for each in self._found) for name in names}

    @property
    def broken(self) -> frozenset[int]:
        """The parts whose times, or grades, are no whole numbers."""
        return frozenset(
            int(part)
            for each in self._found
            for part, own in each["parts"].items()
            if own["broken"]
        )


@dataclass(frozen=True)
class _ItemCounting:
    """Count the items that have the same bits, of items that no other partition has."""

    def over(self, batches: Iterable[pa.RecordBatch]) -> Iterator[dict[str, Any]]:
        """Fold, bits and number of items, as text."""
        tables = [
            table.with_columns(fold=pl.lit(fold, pl.Int32))
            for fold, table in unpacked(batches, number="fold")
        ]
        if tables:
            item = pl.concat(tables).group_by("fold", "query_id").agg(pl.col("has").bitwise_or())
            yield {"totals": [json.dumps(item.group_by("fold", "has").len().rows())]}


def items_of(frame: DataFrame, rows: Rows, partitions: int) -> dict[int, dict[int, int]]:
    """For each fold how many items each part has; under -1 those of the test alone.

    Args:
        frame: with `COLUMNS`.
        rows: the log, for errors.
        partitions: of the shuffle.
    """
    from pyspark.sql import functions as F

    packed = frame.where(F.col("part") == ITEMS).select("chunk", "fold", "rows")
    together = packed.repartition(partitions, "chunk")
    found: dict[int, dict[int, int]] = {}
    for fold, has, count in chain(*totals_of(carried_out(together, _ItemCounting()), rows)):
        own = found.setdefault(fold, dict.fromkeys((*LOGS, -1), 0))
        parts = [part for part in LOGS if has >> part & 1]
        for part in [*parts, *([-1] if parts == [TEST] else [])]:
            own[part] += count
    return found
