"""The result of a split on Spark."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rankgate.core.frozen import dataclass
from rankgate.core.present.resolve import load_name

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

    from rankgate.recommenders.split import Split


@dataclass(frozen=True)
class SparkFold:
    """One split of the log, as Spark DataFrames.

    Attributes:
        train: the training interactions; ``query_id``, ``doc_id``, ``at`` (microseconds since
            1970, or a bare number in millionths, or null), ``kind`` and ``value``.
        validation: interactions for choosing settings; None where there is no such part.
        test: interactions to predict.
        judgments: ground truth of the test: ``query_id``, ``doc_id`` and ``grade``.
        tuning: ground truth of the validation.
        candidates: the sampled ones, with their mark, where they were requested.
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
class SparkParts:
    """The parts of a log, which are on executors: the maker of a `Split`.

    Attributes:
        folds: one, or one for each window.
        kept: frames that executors keep until `unpersist`.
        spark: the session.
    """

    folds: tuple[SparkFold, ...]
    kept: tuple[DataFrame, ...]
    spark: SparkSession

    @property
    def train(self) -> DataFrame:
        """The training interactions of the first fold."""
        return self.folds[0].train

    @property
    def validation(self) -> DataFrame | None:
        """The interactions for choosing settings, of the first fold."""
        return self.folds[0].validation

    @property
    def test(self) -> DataFrame:
        """The interactions to predict, of the first fold."""
        return self.folds[0].test

    @property
    def qrels(self) -> DataFrame:
        """The judgments of the test, of the first fold."""
        return self.folds[0].judgments

    def write(self, split: Split, folder: str | Path, to: str) -> tuple[str, ...]:
        """Write every part into a folder, under the names of ``rankgate split --into``.

        Each is a folder of files that Spark writes, in the order of users.

        Args:
            split: the figures.
            folder: the target, a path or URL of the cluster's file system.
            to: ``csv`` or ``parquet``, of the interactions and candidates.

        Returns:
            The names of the folders, and of ``split.json``.

        Raises:
            UsageError: no such format, or a folder that cannot be written.
        """
        names: tuple[str, ...] = load_name("rankgate.spark.splitting.files:write_split")(
            split, self, str(folder), to
        )
        return names

    def unpersist(self) -> None:
        """Release the rows; the DataFrames are computed again where they are still used."""
        for frame in self.kept:
            frame.unpersist()
