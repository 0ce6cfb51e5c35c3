"""The figures of a split from those of its partitions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rankgate.spark.splitting.tables import ITEMS, TEST, TRAIN, VALIDATION, rows_in

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

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


def items_of(frame: DataFrame) -> dict[int, dict[int, int]]:
    """For each fold how many items each part has; under -1 those of the test alone."""
    from pyspark.sql import functions as F

    rows = rows_in(frame, ITEMS, "fold int, doc_id string, has int")
    seen = rows.groupBy("fold", "doc_id").agg(F.bit_or("has").alias("has"))
    found: dict[int, dict[int, int]] = {}
    for each in seen.groupBy("fold", "has").count().collect():
        own = found.setdefault(each.fold, dict.fromkeys((*LOGS, -1), 0))
        parts = [part for part in LOGS if each.has >> part & 1]
        for part in [*parts, *([-1] if parts == [TEST] else [])]:
            own[part] += each["count"]
    return found
