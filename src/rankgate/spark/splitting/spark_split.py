"""Split a log on Spark, with the parts and figures that one machine gives.

The result of the split comes first, then the verb.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from rankgate.core.frozen import dataclass
from rankgate.core.present.lazy_names import load_name
from rankgate.data.logs.interactions import Unit, format_instant
from rankgate.data.logs.log_judgments import Truth
from rankgate.data.logs.splits import SplitMethodName, SplitPlan, refuse_empty, refuse_untimed
from rankgate.recommenders.split import ORDERED_WAYS, Fold, Leaks, Split, SplitPart, warnings_of
from rankgate.recommenders.split_parts import no_judgments_error, plan_of_validation
from rankgate.recommenders.splitting import EqualRows, candidates_label, negative_count
from rankgate.spark.sessions import partitions, session
from rankgate.spark.spark_inputs import partitions_for
from rankgate.spark.splitting.log_facts import (
    CandidateDraws,
    collect_facts,
    collect_generator_states,
    count_bins,
)
from rankgate.spark.splitting.log_ranges import read_log
from rankgate.spark.splitting.packed_rows import (
    CANDIDATES,
    JUDGMENTS,
    TEST,
    TRAIN,
    TUNING,
    VALIDATION,
    collect_totals,
    rows_in,
    run_task,
)
from rankgate.spark.splitting.partition_cutting import LOGS, Cutting, FoldTotals, count_items
from rankgate.spark.splitting.sorted_log import SortedLog, sort_log

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession


@dataclass(frozen=True)
class SparkFold:
    """One split of the log, as Spark DataFrames.

    Attributes:
        train: the training interactions; ``query_id``, ``doc_id``, ``at`` (microseconds since
            1970, or a bare number in millionths, or null), ``kind`` and ``value``.
        validation: interactions for choosing settings; None without a validation part.
        test: interactions to predict.
        judgments: ground truth of the test: ``query_id``, ``doc_id`` and ``grade``.
        tuning: ground truth of the validation.
        candidates: the sampled ones, with their mark, where they were requested.
        broken: the parts whose times, or grades, are not whole numbers.
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
        names: tuple[str, ...] = load_name("rankgate.spark.splitting.part_files:write_split")(
            split, self, str(folder), to
        )
        return names

    def unpersist(self) -> None:
        """Release the rows; the DataFrames are computed again where they are still used."""
        for frame in self.kept:
            frame.unpersist()


def split(
    log: Any,  # noqa: ANN401 - a table on Spark
    plan: SplitMethodName | SplitPlan,
    rule: Truth | None,
    *,
    candidates: str,
    negatives: int,
    columns: Mapping[str, str] | None,
    time_unit: Unit | None,
    equal_rows: EqualRows,
) -> Split:
    """Split a log on Spark; arguments, rows, draws and figures are those of ``rankgate.split``.

    Rows of one user and time are in the order of the file.

    Raises:
        InputError: a log that cannot be read, with file and line; nothing to learn from or to
            predict.
        UsageError: an unknown option value, or missing times that this kind of split needs.
        MissingExtraError: PySpark is not installed.
    """
    plan, rule = SplitPlan.of(plan), rule or Truth()
    number = negative_count(candidates, negatives)
    active = session()
    rows, unit = read_log(active, log, columns, time_unit)
    partition_count = partitions(active) or partitions_for(active, [rows])
    numbered = number is not None or plan.way == "cold-items"
    lengths = plan.way == "leave-one-out"
    sorted_interactions = sort_log(
        active, rows, unit, equal_rows, rule, partition_count, items=numbered, lengths=lengths
    )
    try:
        plan = plan.dated(sorted_interactions.unit)
        refuse_untimed(sorted_interactions.unit, rows.name, plan)
        task = _SplitTask(sorted_interactions, plan, rule, candidates, number)
        return task.result(active)
    finally:
        sorted_interactions.frame.unpersist()


_LOG = "query_id string, doc_id string, at bigint, kind string, value double"


@dataclass(frozen=True)
class _SplitTask:
    """A sorted log, with the plan of its split."""

    log: SortedLog
    plan: SplitPlan
    rule: Truth
    candidates: str
    negatives: int | None

    def result(self, spark: SparkSession) -> Split:
        """The parts of the log, computed."""
        frame = run_task(self._rows(), self._cutting()).persist()
        try:
            partition_figures = collect_totals(frame, self.log.rows)
            summary, broken = self._summary(frame, partition_figures)
        except Exception:
            frame.unpersist()
            raise
        folds = tuple(self._fold(frame, i, broken_parts) for i, broken_parts in enumerate(broken))
        kept_frames = (frame, *([self.log.catalogue.kept] if self.log.catalogue else []))
        return replace(summary, maker=SparkParts(folds, kept_frames, spark))

    def _rows(self) -> DataFrame:
        """The rows of the log."""
        from pyspark.sql import functions as F

        return self.log.frame.where(F.col("rows").isNotNull()).select("stretch", "rows")

    def _cutting(self) -> Cutting:
        """The work of executors, with all facts about the whole log."""
        log = self.log
        plain_cutting = Cutting(
            self.plan,
            self.rule,
            self.candidates != "all",
            log.unit,
            log.rows.label,
            log.before,
            collect_facts(log, self.plan),
            log.cells,
            log.catalogue.size if log.catalogue else 0,
            self.negatives,
        )
        if self.negatives is None:
            return plain_cutting
        fold_count = self.plan.windows if self.plan.way == "windows" else 1
        drawing = CandidateDraws(self.plan.seed, fold_count, self.negatives)
        return replace(
            plain_cutting,
            states=collect_generator_states(run_task(self._rows(), plain_cutting), drawing, log.rows),
        )

    def _summary(
        self, frame: DataFrame, partition_figures: list[dict[str, Any]]
    ) -> tuple[Split, list[frozenset[int]]]:
        """The figures of the local engine, and the parts that are broken, for each fold."""
        log, plan = self.log, self.plan
        fold_count = plan.windows if plan.way == "windows" else 1
        sums = [
            FoldTotals([figures["folds"].get(str(i), {}) for figures in partition_figures])
            for i in range(fold_count)
        ]
        for fold_sums in sums:
            self._refuse_empty(fold_sums)
        item_counts = count_items(frame, log.rows, len(log.cells.keys))
        folds = tuple(
            self._figures(fold_sums, item_counts[i], self._ahead(frame, fold_sums))
            for i, fold_sums in enumerate(sums)
        )
        figures = Split(
            log.rows.name,
            log.unit,
            log.repeated,
            plan,
            self.rule,
            candidates_label(self.candidates, self.negatives),
            folds,
            warnings_of(plan, self.candidates, folds, self.rule),
        )
        return figures, [fold_sums.broken for fold_sums in sums]

    def _refuse_empty(self, sums: FoldTotals) -> None:
        """Refuse a fold without rows to learn from or to predict, or without judgments."""
        label = self.log.rows.label
        learned_rows = sums.total_of_part(TRAIN, "rows") + sums.total_of_part(VALIDATION, "rows")
        refuse_empty(learned_rows, sums.total_of_part(TEST, "rows"), label, self.plan)
        required_parts = [JUDGMENTS]
        if self.plan.validation:
            inner = plan_of_validation(self.plan)
            refuse_empty(
                sums.total_of_part(TRAIN, "rows"), sums.total_of_part(VALIDATION, "rows"), label, inner
            )
            required_parts.append(TUNING)
        if not all(sums.total_of_part(part_number, "rows") for part_number in required_parts):
            raise no_judgments_error(self.rule, label)

    def _ahead(self, frame: DataFrame, sums: FoldTotals) -> int:
        """Rows of training and validation that are not before the first row of the test."""
        if self.log.unit in {"none", "place"} or self.plan.way in ORDERED_WAYS:
            return 0
        first = min(sums.values_of_part(TEST, "first"))
        last = self.log.span[1]
        span = max(last - first + 1, 1)
        return count_bins(frame, [TRAIN, VALIDATION], self.log.rows, first, last, span)[0]

    def _figures(self, sums: FoldTotals, item_counts: Mapping[int, int], ahead: int) -> Fold:
        """The figures of one fold."""
        unit = self.log.unit
        parts = []
        for part_number, name in LOGS.items():
            if part_number == VALIDATION and not self.plan.validation:
                continue
            ends = [min(sums.values_of_part(part_number, "first"), default=None)]
            ends.append(max(sums.values_of_part(part_number, "last"), default=None))
            times = ["" if time is None or unit == "place" else format_instant(time, unit) for time in ends]
            size, users = (sums.total_of_part(part_number, "rows"), sums.total_of_part(part_number, "users"))
            parts.append(SplitPart(name, size, users, item_counts.get(part_number, 0), *times))
        leaks = Leaks(items_only_test=item_counts.get(-1, 0), **{**sums.leaks, "ahead": ahead})
        judged = sums.total_of_part(JUDGMENTS, "rows")
        values = (float(min(sums.values_of_part(TEST, "low"))), float(max(sums.values_of_part(TEST, "high"))))
        return Fold(tuple(parts), leaks, judged, sums.total("relevant"), sums.total("short"), values)

    def _fold(self, frame: DataFrame, fold: int, broken: frozenset[int]) -> SparkFold:
        from pyspark.sql import functions as F

        def write_part(number: int) -> DataFrame:
            return rows_in(frame, number, _LOG, fold)

        def judged(number: int) -> DataFrame:
            return rows_in(frame, number, "query_id string, doc_id string, grade double", fold)

        candidate_rows = None
        if self.negatives is not None:
            assert self.log.catalogue is not None
            mark = F.lit(candidates_label(self.candidates, self.negatives)).alias("candidates")
            names = self.log.catalogue.items
            candidate_rows = rows_in(frame, CANDIDATES, "query_id string, item int", fold)
            candidate_rows = candidate_rows.join(names, "item").select("query_id", "doc_id", mark)
        has_validation = self.plan.validation
        return SparkFold(
            write_part(TRAIN),
            write_part(VALIDATION) if has_validation else None,
            write_part(TEST),
            judged(JUDGMENTS),
            judged(TUNING) if has_validation else None,
            candidate_rows,
            broken,
        )
