"""The figures of a split from those of its partitions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rankgate.spark.splitting.tables import TEST, TRAIN, VALIDATION

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

    def has(part: int) -> Any:  # noqa: ANN401 - a column
        return F.max(F.col("part") == part).cast("int").alias(str(part))

    rows = frame.where(F.col("part").isin(*LOGS))
    seen = rows.groupBy("fold", "doc_id").agg(*(has(part) for part in LOGS))
    alone = F.col(str(TEST)) * (1 - F.greatest(F.col(str(TRAIN)), F.col(str(VALIDATION))))
    sums = [F.sum(str(part)).alias(str(part)) for part in LOGS]
    found = seen.groupBy("fold").agg(*sums, F.sum(alone).alias("alone")).collect()
    return {
        each.fold: {**{part: each[str(part)] for part in LOGS}, -1: each.alone} for each in found
    }
