"""The result of a split on Spark."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rankgate.core.frozen import dataclass
from rankgate.core.present.resolve import resolved

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

    from rankgate.recommenders.split import Split


@dataclass(frozen=True)
class SparkFold:
    """One split of the log, as Spark DataFrames.

    Attributes:
        train: what is learned from; ``query_id``, ``doc_id``, ``at`` (microseconds since 1970, or
            a bare number in millionths, or null), ``kind`` and ``value``.
        validation: what settings are chosen by; None where there is no such part.
        test: what is predicted.
        judgments: ground truth of the test: ``query_id``, ``doc_id`` and ``grade``.
        tuning: ground truth of the validation.
        candidates: the sampled ones, with their mark, where they were asked for.
        broken: the parts whose times, or grades, are no whole numbers.
    """

    train: DataFrame
    validation: DataFrame | None
    test: DataFrame
    judgments: DataFrame
    tuning: DataFrame | None
    candidates: DataFrame | None
    broken: frozenset[int]


@dataclass(frozen=True)
class SparkSplit:
    """A log in parts, which are on executors.

    Attributes:
        summary: what ``rankgate.split`` returns, without its tables.
        folds: one, or one for each window.
        kept: what is kept on executors until `unpersist`.
        spark: the session.
    """

    summary: Split
    folds: tuple[SparkFold, ...]
    kept: tuple[DataFrame, ...]
    spark: SparkSession

    @property
    def train(self) -> DataFrame:
        """What is learned from, in the first fold."""
        return self.folds[0].train

    @property
    def validation(self) -> DataFrame | None:
        """What settings are chosen by, in the first fold."""
        return self.folds[0].validation

    @property
    def test(self) -> DataFrame:
        """What is predicted, in the first fold."""
        return self.folds[0].test

    @property
    def qrels(self) -> DataFrame:
        """Ground truth of the test, in the first fold."""
        return self.folds[0].judgments

    @property
    def warnings(self) -> tuple[str, ...]:
        """What to know before trusting a figure, one sentence each."""
        return self.summary.warnings

    def __len__(self) -> int:
        """How many folds there are."""
        return len(self.folds)

    def write(self, folder: str | Path, to: str = "csv") -> tuple[str, ...]:
        """Write every part into a folder, under the names of ``rankgate split --into``.

        Each is a folder of files that Spark writes, in the order of users.

        Args:
            folder: where to, a path or URL of the cluster's file system.
            to: ``csv`` or ``parquet``, of the interactions and candidates.

        Returns:
            The names of the folders, and of ``split.json``.

        Raises:
            UsageError: no such format, or a folder that cannot be written.
        """
        names: tuple[str, ...] = resolved("rankgate.spark.splitting.files:written")(
            self, str(folder), to
        )
        return names

    def unpersist(self) -> None:
        """Let go of the rows; the DataFrames are computed again where they are still used."""
        for frame in self.kept:
            frame.unpersist()
