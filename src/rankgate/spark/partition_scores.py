"""Score the whole queries of a partition by the plan of the local engine."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from rankgate.core.errors import DuplicateError, InputError
from rankgate.core.frozen import dataclass
from rankgate.data.qrels import OPTIONAL, Qrels, check_rows, drop_empty
from rankgate.data.run import Run
from rankgate.data.table_rows import RowLocation
from rankgate.measurement.evaluation.evaluate import with_subtopics
from rankgate.measurement.scoring.alignment.judgment_index import JudgmentIndex
from rankgate.measurement.scoring.run_sources import RunSource, add_empty_queries, measure
from rankgate.measurement.scoring.scoring_plan import Measurement, Plan
from rankgate.spark.run_totals import PairTotals, RunTotals, slice_masks

if TYPE_CHECKING:
    from rankgate.data import RunScores


JUDGED, UNJUDGED = 0, -1
"""The part number of judgments, and of queries without any; runs count from 1."""

Cell = Mapping[int, pl.DataFrame]
"""The rows of some whole queries, by ``part``."""

_IDS = {"query_id": pl.String, "doc_id": pl.String}


@dataclass(frozen=True)
class Scoring:
    """The values of runs, and their sums.

    Attributes:
        plan: the scoring plan.
        runs: the names of the runs.
        labels: the sources of judgments and of each run, for errors.
        ordered: for each run, True if the order of its rows is a ranking.
        subtopics: True if a metric looks at subtopics.
        values: True for values, False for sums only.
        pairs: True to compare each run with the first.
        band: differences up to this size count as ties.
        drop: True to leave out queries that are in only one of two runs.
        tags: the tags of queries, for slices.
        slices: the tags whose values are slices.
    """

    plan: Plan
    runs: tuple[str, ...]
    labels: tuple[str, ...]
    ordered: tuple[bool, ...]
    subtopics: bool
    values: bool
    pairs: bool = False
    band: float = 0.0
    drop: bool = False
    tags: Any = None
    slices: tuple[str, ...] = ()

    def results_of_cells(self, cells: Iterable[Cell]) -> Iterator[Any]:
        """The values of each query and run, and at the end the sums of each run.

        Raises:
            InputError, DuplicateError: the rows are wrong.
        """
        totals = [RunTotals() for _ in self.runs]
        pair_totals = [PairTotals() for _ in self.runs]
        for cell in cells:
            first = None
            for i, (scores, run_totals) in enumerate(self.scored(cell)):
                totals[i] += run_totals
                if scores is None:
                    continue
                if self.values:
                    yield _values(scores, i)
                if not i or not self.pairs:
                    groups = slice_masks(scores.query_ids, self.tags, self.slices, tagged=not self.pairs)
                first = scores if first is None else first
                if self.slices and not self.pairs:
                    totals[i] += RunTotals.of_slices(scores, groups)
                if self.pairs and first is not None:
                    pair_totals[i] += PairTotals.from_scores(first, scores, groups, self.band, drop=self.drop)
        texts = [sums.to_json() for sums in (*totals, *(pair_totals if self.pairs else ()))]
        runs = [*range(len(self.runs))]
        yield {"run": runs * (2 if self.pairs else 1), "totals": texts}

    def scored(self, cell: Cell) -> Iterator[tuple[RunScores | None, RunTotals]]:
        """The scores of each run on some whole queries, and their sums."""
        index = self._judgments(cell)
        for i in range(len(self.runs)):
            rows = rows_in(cell, i + 1, "score")
            with locate_errors(rows, self.labels[i + 1]):
                yield self._of_run(i, rows, index)

    def _of_run(
        self, i: int, rows: pl.DataFrame, index: JudgmentIndex | None
    ) -> tuple[RunScores | None, RunTotals]:
        """The scores of one run on some whole queries, and their sums."""
        location = RowLocation(self.labels[i + 1])
        check_rows(rows, "score", location)
        run = Run(self.runs[i], lambda: iter((rows,)), place=location, ordered=self.ordered[i])
        if index is None:
            unjudged_rows = run.whole(self.plan.conventions[0].duplicates).frame if len(rows) else rows
            ids = unjudged_rows["query_id"].unique()
            counts = {**RunTotals().counts, "unknown_queries": len(ids)}
            return None, RunTotals(counts, unmatched_queries=((), ids.to_list()))
        source = RunSource(run, index)
        empty_measurement = Measurement(self.plan)
        total = measure(self.plan, source) if len(rows) else add_empty_queries(empty_measurement, source)
        scores = total.score(0, source, strict=False, exact=True)
        unmatched = unmatched_queries(index.query_ids, rows["query_id"].unique())
        totals = RunTotals.from_scores(scores, self.plan.jobs[0])
        return scores, replace(totals, judged=len(index.query_ids), unmatched_queries=unmatched)

    def _judgments(self, cell: Cell) -> JudgmentIndex | None:
        label = self.labels[0]
        unjudged = rows_in(cell, UNJUDGED, "grade")["query_id"]
        table = rows_in(cell, JUDGED, "grade")
        if table.is_empty() and unjudged.is_empty():
            return None
        with locate_errors(table, label):
            qrels = Qrels(drop_empty(table), label, unjudged=tuple(unjudged), place=RowLocation(label))
        index = JudgmentIndex.from_judgments(qrels)
        return with_subtopics(index) if self.subtopics else index


def unmatched_queries(judged_ids: pl.Series, run_ids: pl.Series) -> tuple[list[str], list[str]]:
    """The judged queries that the run does not have, and those of the run without judgments."""
    sides = ((judged_ids, run_ids), (run_ids, judged_ids))
    first, second = (ids.filter(~ids.is_in(opposite_ids.implode())).to_list() for ids, opposite_ids in sides)
    return first, second


def rows_in(cell: Cell, part_number: int, number: str) -> pl.DataFrame:
    """The rows of one run, or the judgments, of a cell.

    Args:
        cell: whole queries.
        part_number: the number of the run, or of the judgments.
        number: the name of their number column: grade or score.
    """
    if part_number not in cell:
        return pl.DataFrame(schema={**_IDS, number: pl.Float64})
    rows = cell[part_number]
    if "number" not in rows.columns:  # queries without judgments
        return rows
    optional_columns = [name for name in OPTIONAL if name in rows.columns]
    return rows.select("query_id", "doc_id", pl.col("number").alias(number), *optional_columns)


@contextmanager
def locate_errors(rows: pl.DataFrame, label: str) -> Iterator[None]:
    """Add the query and document of a wrong row to errors, so that the driver can find the row."""
    try:
        yield
    except DuplicateError as error:
        repeated = rows.filter(~pl.struct("query_id", "doc_id").is_first_distinct())
        error.source, error.at = label, repeated.row(0)[:2]  # type: ignore[attr-defined]
        raise
    except InputError as error:
        number = rows.columns[2]
        wrong_rows = rows.filter(
            pl.any_horizontal(pl.col("query_id", "doc_id").fill_null("") == "")
            | ~pl.col(number).is_finite().fill_null(value=False)
        )
        if len(wrong_rows):
            error.at = wrong_rows.row(0)[:2]  # type: ignore[attr-defined]
        error.source = label
        raise


def _values(scores: RunScores, run: int) -> pl.DataFrame:
    """A row for each query: its values, null if undefined, and the reasons."""
    columns: dict[str, Any] = {"query_id": scores.query_ids}
    columns["run"] = np.full(len(scores.query_ids), run, np.int32)
    columns |= {
        f"v{i}": pl.Series(metric_values).fill_nan(None)
        for i, metric_values in enumerate(scores.values.values())
    }
    columns |= {f"w{i}": reasons for i, reasons in enumerate(scores.why.values())}
    return pl.DataFrame(columns).with_columns(pl.lit(None, pl.String).alias("totals"))
