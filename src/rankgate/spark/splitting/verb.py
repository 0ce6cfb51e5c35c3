"""Split a log on Spark: the parts and figures that one machine gives."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from rankgate.core.frozen import dataclass
from rankgate.data.logs.clock import Unit, shown
from rankgate.data.logs.relevance import Truth
from rankgate.data.logs.splits import SplitPlan, Way, refuse_empty, refuse_untimed
from rankgate.recommenders.leaks import Leaks, SplitPart
from rankgate.recommenders.split import ORDERED, Fold, Split, warnings_of
from rankgate.recommenders.split_parts import nothing_judged, plan_of_validation
from rankgate.recommenders.splitting import EqualRows, marked, negatives_of
from rankgate.spark.prepared import partitions_for
from rankgate.spark.sessions import session
from rankgate.spark.splitting.cutting import Cutting
from rankgate.spark.splitting.facts import Sampled, bins_of, facts_of, states_of
from rankgate.spark.splitting.figures import LOGS, FoldSums, items_of
from rankgate.spark.splitting.logs import log_of
from rankgate.spark.splitting.result import SparkFold, SparkSplit
from rankgate.spark.splitting.sorting import SortedLog, sorted_log
from rankgate.spark.splitting.tables import (
    CANDIDATES,
    JUDGMENTS,
    TEST,
    TRAIN,
    TUNING,
    VALIDATION,
    carried_out,
    rows_in,
    totals_of,
)

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def split(
    log: Any,  # noqa: ANN401 - a DataFrame, a path, or what the local engine reads
    plan: Way | SplitPlan = "global",
    rule: Truth | None = None,
    *,
    candidates: str = "unseen",
    negatives: int = 99,
    columns: Mapping[str, str] | None = None,
    from_: str | None = None,
    time_unit: Unit | None = None,
    equal_rows: EqualRows = "once",
    partitions: int | None = None,
    spark: SparkSession | None = None,
) -> SparkSplit:
    """Split a log into training and test sets, as ``rankgate.split`` does: with the same rows.

    Args:
        log: a Spark DataFrame; ``table:NAME``; a path, or several, of Parquet, Delta, CSV, TSV or
            JSON lines files; or what ``rankgate.split`` takes, which is sent to the cluster. Rows
            of one user and time are in the order of the file.
        plan: as of ``rankgate.split``, like all that has no description here; draws are those of
            one machine.
        rule: as there.
        candidates: as there.
        negatives: as there.
        columns: as there.
        from_: the format of the files; by their names if not given.
        time_unit: as there.
        equal_rows: as there.
        partitions: of the shuffle; one for 48 MB of input if not given.
        spark: the session; the active one, or a new one on this machine, if not given.

    Raises:
        InputError: a log that cannot be read, with file and line; nothing to learn from or to
            predict.
        UsageError: an unknown word, or times that the way needs and that are not there.
        MissingExtraError: PySpark is not installed.
    """
    plan, rule = SplitPlan.of(plan), rule or Truth()
    number = negatives_of(candidates, negatives)
    active = spark or session()
    rows, unit = log_of(active, log, columns, from_, time_unit)
    many = partitions or partitions_for(active, [rows])
    numbered = number is not None or plan.way == "cold-items"
    lengths = plan.way == "leave-one-out"
    ordered = sorted_log(
        active, rows, unit, equal_rows, rule, many, items=numbered, lengths=lengths
    )
    try:
        plan = plan.dated(ordered.unit)
        refuse_untimed(ordered.unit, rows.name, plan)
        asked = _Asked(ordered, plan, rule, candidates, number)
        return asked.result(active)
    finally:
        ordered.frame.unpersist()


_LOG = "query_id string, doc_id string, at bigint, kind string, value double"


@dataclass(frozen=True)
class _Asked:
    """A sorted log, and how it is to be split."""

    log: SortedLog
    plan: SplitPlan
    rule: Truth
    candidates: str
    negatives: int | None

    def result(self, spark: SparkSession) -> SparkSplit:
        """The parts, computed."""
        frame = carried_out(self._rows(), self._cutting()).persist()
        try:
            found = totals_of(frame, self.log.rows)
            summary, broken = self._summary(frame, found)
        except Exception:
            frame.unpersist()
            raise
        folds = tuple(self._fold(frame, i, each) for i, each in enumerate(broken))
        kept = (frame, *([self.log.catalogue.kept] if self.log.catalogue else []))
        return SparkSplit(summary, folds, kept, spark)

    def _rows(self) -> DataFrame:
        """The rows of the log."""
        from pyspark.sql import functions as F

        return self.log.frame.where(F.col("rows").isNotNull()).select("stretch", "rows")

    def _cutting(self) -> Cutting:
        """What executors do, with all that they have to know of the whole log."""
        log = self.log
        plain = Cutting(
            self.plan,
            self.rule,
            self.candidates != "all",
            log.unit,
            log.rows.label,
            log.before,
            facts_of(log, self.plan),
            log.cells,
            log.catalogue.size if log.catalogue else 0,
            self.negatives,
        )
        if self.negatives is None:
            return plain
        many = self.plan.windows if self.plan.way == "windows" else 1
        drawing = Sampled(self.plan.seed, many, self.negatives)
        return replace(plain, states=states_of(carried_out(self._rows(), plain), drawing, log.rows))

    def _summary(
        self, frame: DataFrame, found: list[dict[str, Any]]
    ) -> tuple[Split, list[frozenset[int]]]:
        """The figures of the local engine, and the parts that are broken, for each fold."""
        log, plan = self.log, self.plan
        many = plan.windows if plan.way == "windows" else 1
        sums = [FoldSums([each["folds"].get(str(i), {}) for each in found]) for i in range(many)]
        for each in sums:
            self._refuse_empty(each)
        items = items_of(frame, log.rows, len(log.cells.keys))
        folds = tuple(
            self._figures(each, items[i], self._ahead(frame, each)) for i, each in enumerate(sums)
        )
        figures = Split(
            log.rows.name,
            log.unit,
            log.repeated,
            plan,
            self.rule,
            marked(self.candidates, self.negatives),
            folds,
            warnings_of(plan, self.candidates, folds),
        )
        return figures, [each.broken for each in sums]

    def _refuse_empty(self, sums: FoldSums) -> None:
        """Refuse a fold without rows to learn from or to predict, or without judgments."""
        label = self.log.rows.label
        learned = sums.of(TRAIN, "rows") + sums.of(VALIDATION, "rows")
        refuse_empty(learned, sums.of(TEST, "rows"), label, self.plan)
        wanted = [JUDGMENTS]
        if self.plan.validation:
            inner = plan_of_validation(self.plan)
            refuse_empty(sums.of(TRAIN, "rows"), sums.of(VALIDATION, "rows"), label, inner)
            wanted.append(TUNING)
        if not all(sums.of(part, "rows") for part in wanted):
            raise nothing_judged(self.rule, label)

    def _ahead(self, frame: DataFrame, sums: FoldSums) -> int:
        """Rows of training and validation that are not before the first row of the test."""
        if self.log.unit in {"none", "place"} or self.plan.way in ORDERED:
            return 0
        first = min(sums.each(TEST, "first"))
        last = self.log.span[1]
        span = max(last - first + 1, 1)
        return bins_of(frame, [TRAIN, VALIDATION], self.log.rows, first, last, span)[0]

    def _figures(self, sums: FoldSums, items: Mapping[int, int], ahead: int) -> Fold:
        """The figures of one fold."""
        unit = self.log.unit
        parts = []
        for part, name in LOGS.items():
            if part == VALIDATION and not self.plan.validation:
                continue
            ends = [min(sums.each(part, "first"), default=None)]
            ends.append(max(sums.each(part, "last"), default=None))
            times = ["" if at is None or unit == "place" else shown(at, unit) for at in ends]
            size, users = sums.of(part, "rows"), sums.of(part, "users")
            parts.append(SplitPart(name, size, users, items.get(part, 0), *times))
        leaks = Leaks(items_only_test=items.get(-1, 0), **{**sums.leaks, "ahead": ahead})
        judged = sums.of(JUDGMENTS, "rows")
        return Fold(tuple(parts), leaks, judged, sums.total("relevant"), sums.total("short"))

    def _fold(self, frame: DataFrame, fold: int, broken: frozenset[int]) -> SparkFold:
        from pyspark.sql import functions as F

        def part(number: int) -> DataFrame:
            return rows_in(frame, number, _LOG, fold)

        def judged(number: int) -> DataFrame:
            return rows_in(frame, number, "query_id string, doc_id string, grade double", fold)

        drawn = None
        if self.negatives is not None:
            assert self.log.catalogue is not None
            mark = F.lit(marked(self.candidates, self.negatives)).alias("candidates")
            names = self.log.catalogue.items
            drawn = rows_in(frame, CANDIDATES, "query_id string, item int", fold)
            drawn = drawn.join(names, "item").select("query_id", "doc_id", mark)
        tuned = self.plan.validation
        return SparkFold(
            part(TRAIN),
            part(VALIDATION) if tuned else None,
            part(TEST),
            judged(JUDGMENTS),
            judged(TUNING) if tuned else None,
            drawn,
            broken,
        )
