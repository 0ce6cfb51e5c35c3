"""Work of executors for a scorecard: accumulate whole users, for each run and part of a slice."""

from __future__ import annotations

import base64
import pickle
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import copy
from typing import TYPE_CHECKING, Any, Self

import polars as pl

from rankgate.core.errors import InputError
from rankgate.core.frozen import dataclass
from rankgate.data.qrels import Qrels, check_rows, drop_empty
from rankgate.data.table_rows import RowLocation
from rankgate.measurement.scoring.alignment.judgment_index import JudgmentIndex
from rankgate.spark.partition_scores import JUDGED, locate_errors, rows_in
from rankgate.spark.shuffle import encode_rows

if TYPE_CHECKING:
    from rankgate.measurement.evaluation.accumulator import Accumulator
    from rankgate.measurement.scoring.scoring_plan import Plan
    from rankgate.spark.card_slices import CardSlice, PartCell
    from rankgate.spark.partition_scores import Cell


@dataclass(frozen=True)
class GroupResults:
    """Results that executors send for one run and group of users.

    Attributes:
        states: the states of all users, and of each part of each slice.
        sizes: the sizes of the parts.
        unknown: the items that the catalogue lacks, packed; empty if it has all items.
        topical: True if a judged item has a subtopic, if subtopics are the categories of items.
    """

    states: Sequence[Mapping[str, Any]]
    sizes: Sequence[int]
    unknown: bytes
    topical: bool

    def to_text(self) -> str:
        """Encode the results as text, to be sent."""
        return base64.b64encode(pickle.dumps(self)).decode()

    @classmethod
    def from_text(cls, text: str) -> Self:
        """Decode the text of `to_text`."""
        results: Self = pickle.loads(base64.b64decode(text))  # noqa: S301 - from our own executors
        return results


@dataclass(frozen=True)
class UserAccumulation:
    """Accumulate the users of a partition, for each run.

    Attributes:
        plan: the plan of the metrics of rankings, which decides on the order of rows.
        runs: the names of the runs.
        labels: the sources of judgments and of each run, for errors.
        slices: the slices of the users, items and pairs.
        empty: accumulators without users: for all users, and for each part of each slice.
    """

    plan: Plan
    runs: tuple[str, ...]
    labels: tuple[str, ...]
    slices: tuple[CardSlice, ...]
    empty: tuple[Accumulator, ...]

    def results_of_cells(self, cells: Iterable[Cell]) -> Iterator[Any]:
        """The results of each run: for all users, and for each part with its size.

        After the first cell with items that the catalogue lacks, only such items are collected: all
        numbers would be wrong without them.

        Raises:
            InputError, DuplicateError: the rows are wrong.
            UsageError: a metric needs an input that was not given.
        """
        accumulators = [[copy(accumulator) for accumulator in self.empty] for _ in self.runs]
        sizes = [0] * (len(self.empty) - 1)
        unknown: list[pl.Series] = []
        topical = False
        for cell in cells:
            table = drop_empty(rows_in(cell, JUDGED, "grade"))
            runs = [rows_in(cell, i + 1, "score") for i in range(len(self.runs))]
            topical = topical or self._topical(table)
            if unknown or not self._added(table, runs, accumulators, sizes):
                unknown += self._unknown(table, runs)
        names = encode_rows(pl.concat(unknown).unique().sort().to_frame()) if unknown else b""
        results = [
            GroupResults([accumulator.state() for accumulator in run_accumulators], sizes, names, topical)
            for run_accumulators in accumulators
        ]
        yield {"run": [*range(len(self.runs))], "totals": [result.to_text() for result in results]}

    def _added(
        self,
        table: pl.DataFrame,
        runs: Sequence[pl.DataFrame],
        accumulators: Sequence[Sequence[Accumulator]],
        sizes: list[int],
    ) -> bool:
        """Add a cell to the accumulators; False if the catalogue lacks some of its items."""
        index = self._index(table)
        try:
            for label, run, run_accumulators in zip(self.labels[1:], runs, accumulators, strict=True):
                with _checked_run(run, label) as ranked:
                    run_accumulators[0].update(index, ranked)
        except InputError as error:
            if error.code != "unknown-item":
                raise
            return False
        for part_index, (size, judged, part_runs) in enumerate(self._cuts(table, runs)):
            sizes[part_index] += size
            index = self._index(judged)
            for run, run_accumulators in zip(part_runs, accumulators, strict=True):
                run_accumulators[1 + part_index].update(index, _accumulator_run(run))
        return True

    def _unknown(self, table: pl.DataFrame, runs: Sequence[pl.DataFrame]) -> Iterator[pl.Series]:
        """The items of a cell that the catalogue lacks, by run."""
        index = self._index(table)
        for label, run in zip(self.labels[1:], runs, strict=True):
            with _checked_run(run, label) as ranked:
                item_ids = self.empty[0].unknown_items(index, ranked)
            yield item_ids

    def _cuts(self, table: pl.DataFrame, runs: Sequence[pl.DataFrame]) -> Iterator[PartCell]:
        """The judgments and runs of each part of each slice, in a cell."""
        for card_slice in self.slices:
            with locate_errors(table, self.labels[0]):
                yield from card_slice.cut(table, runs)

    def _index(self, table: pl.DataFrame) -> Any:  # noqa: ANN401 - a judgment index
        if table.is_empty():  # users who have lists but no judgment
            return JudgmentIndex.without_queries(self.labels[0])
        with locate_errors(table, self.labels[0]):
            return JudgmentIndex.from_judgments(
                Qrels(table, self.labels[0], place=RowLocation(self.labels[0]))
            )

    def _topical(self, table: pl.DataFrame) -> bool:
        """True if a judged item has a subtopic; judgments by subtopic are checked elsewhere."""
        categories = self.empty[0].categories
        if categories is None or "subtopic" in table.columns:
            return True
        return bool(table["doc_id"].is_in(categories["doc_id"].implode()).any())


@contextmanager
def _checked_run(run: pl.DataFrame, label: str) -> Iterator[Any]:
    """The run in the form that accumulators take; errors locate its wrong rows."""
    with locate_errors(run, label):
        check_rows(run, "score", RowLocation(label))
        yield _accumulator_run(run)


def _accumulator_run(run: Any) -> Any:  # noqa: ANN401 - a run
    """The run in the form that accumulators take: rows, or an empty mapping."""
    return {} if isinstance(run, pl.DataFrame) and run.is_empty() else run
