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
    collect_totals,
    run_task,
    unpack_rows,
)

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame

    from rankgate.spark.tables import TableRows

LOGS = {TRAIN: "train", VALIDATION: "validation", TEST: "test"}
"""The parts that are interactions, with their names."""


class FoldTotals:
    """The figures of one fold, over all partitions."""

    def __init__(self, partition_figures: list[dict[str, Any]]) -> None:
        self._found = [figures for figures in partition_figures if figures]

    def of(self, part_number: int, name: str) -> int:
        """A sum over one part."""
        return sum(self.each(part_number, name))

    def each(self, part_number: int, name: str) -> list[int]:
        """The values of one part in the partitions that have it."""
        part_values = [
            figures["parts"].get(str(part_number), {}).get(name) for figures in self._found
        ]
        return [value for value in part_values if value is not None]

    def total(self, name: str) -> int:
        """A sum over the fold."""
        return sum(figures[name] for figures in self._found)

    @property
    def leaks(self) -> dict[str, int]:
        """The sums of leaks."""
        names = self._found[0]["leaks"]
        return {name: sum(figures["leaks"][name] for figures in self._found) for name in names}

    @property
    def broken(self) -> frozenset[int]:
        """The parts whose times, or grades, are no whole numbers."""
        return frozenset(
            int(part_number)
            for figures in self._found
            for part_number, part_figures in figures["parts"].items()
            if part_figures["broken"]
        )


@dataclass(frozen=True)
class _ItemCounting:
    """Count the items that have the same bits, of items that no other partition has."""

    def over(self, batches: Iterable[pa.RecordBatch]) -> Iterator[dict[str, Any]]:
        """Fold, bits and number of items, as text."""
        tables = [
            table.with_columns(fold=pl.lit(fold, pl.Int32))
            for fold, table in unpack_rows(batches, number="fold")
        ]
        if tables:
            item_bits = (
                pl.concat(tables).group_by("fold", "query_id").agg(pl.col("has").bitwise_or())
            )
            yield {"totals": [json.dumps(item_bits.group_by("fold", "has").len().rows())]}


def count_items(frame: DataFrame, rows: TableRows, partitions: int) -> dict[int, dict[int, int]]:
    """The number of items of each part, by fold; under -1 those of the test alone.

    Args:
        frame: with `COLUMNS`.
        rows: the log, for errors.
        partitions: of the shuffle.
    """
    from pyspark.sql import functions as F

    packed_items = frame.where(F.col("part") == ITEMS).select("chunk", "fold", "rows")
    items_by_chunk = packed_items.repartition(partitions, "chunk")
    counts_by_fold: dict[int, dict[int, int]] = {}
    for fold, has, count in chain(*collect_totals(run_task(items_by_chunk, _ItemCounting()), rows)):
        part_counts = counts_by_fold.setdefault(fold, dict.fromkeys((*LOGS, -1), 0))
        parts = [part_number for part_number in LOGS if has >> part_number & 1]
        for part_number in [*parts, *([-1] if parts == [TEST] else [])]:
            part_counts[part_number] += count
    return counts_by_fold
