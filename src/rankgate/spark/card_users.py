"""Work of executors for a scorecard: the lists, values and counts of whole users."""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from rankgate.core.errors import InputError
from rankgate.core.frozen import dataclass
from rankgate.data.logs.large_logs import UserItems
from rankgate.data.memory.ids import find_positions
from rankgate.data.qrels import Qrels, check_rows, drop_empty
from rankgate.data.run import Run
from rankgate.data.table_rows import RowLocation
from rankgate.measurement.evaluation.accumulator import BatchTotals, totals_from_scores
from rankgate.measurement.evaluation.lists.list_builder import all_users, judged_items
from rankgate.measurement.evaluation.rankings import measure_run
from rankgate.measurement.metrics.lists.list_input import NONE
from rankgate.measurement.metrics.lists.list_metric import split_list_metrics
from rankgate.measurement.metrics.metric_declaration import SUBTOPICS
from rankgate.measurement.scoring.alignment.judgment_index import JudgmentIndex
from rankgate.measurement.scoring.alignment.kernel_inputs import (
    has_subtopics,
    no_subtopics,
    with_known_subtopics,
)
from rankgate.measurement.scoring.first_items import measure_lists
from rankgate.measurement.scoring.scoring_plan import Plan
from rankgate.recommenders.scorecard_slices import HISTORY, NEW, REPEAT, Segment
from rankgate.recommenders.scorecard_systems import RunFacts, ScorecardSystems
from rankgate.spark.partition_scores import JUDGED, UNJUDGED, locate_errors, rows_in, unmatched_queries
from rankgate.spark.run_totals import RunTotals
from rankgate.spark.shuffle import encode_rows

if TYPE_CHECKING:
    from rankgate.core.arrays import Floats
    from rankgate.data.run_scores import RunScores
    from rankgate.measurement.evaluation.lists.list_builder import ListBuilder, TopLists
    from rankgate.measurement.metrics.lists.list_input import Codes, Ragged
    from rankgate.measurement.metrics.metric_declaration import Metric
    from rankgate.measurement.scoring.item_catalogue import Catalogue
    from rankgate.spark.partition_scores import Cell


TRAINING, USERS, CANDIDATES, REFERENCE = -2, -3, -4, -5
"""The part numbers of tables beside judgments and runs."""

OUTSIDE_CODE = -2
"""The code of a place that shows an item outside the catalogue, in lists on their way to the driver."""

RESULTS = "users binary, counts binary, totals string"
"""The columns of the result: the users of a cell, the counts of a partition, an error."""

_EMPTY_QUERIES = pl.DataFrame(schema={"query_id": pl.String, "state": pl.String})


class _UnknownItemsError(Exception):
    """Items that the catalogue lacks: ``args`` has their ids."""


@dataclass(frozen=True)
class CardCounts:
    """Counts over users; those of different users add up.

    Attributes:
        zeros: the number of judgments of grade 0 that count as relevant.
        repeated_relevant: the number of relevant items that their user has in training.
        without_relevant: the number of judged users without a relevant item.
        outside_items: the judged items outside the catalogue, and those that only runs have.
        has_catalogue_item: True if a judged item is in the catalogue.
        has_subtopics: True if a judgment has a subtopic.
        pairs: the number of judged pairs that are in training, and of all others.
        runs: the counts of each run.
        totals: the sums of accuracy of each run; empty without metrics of accuracy.
        parts: for each run the sums of accuracy of each part of items or pairs.
    """

    zeros: int
    repeated_relevant: int
    without_relevant: int
    outside_items: tuple[pl.Series, pl.Series]
    has_catalogue_item: bool
    has_subtopics: bool
    pairs: tuple[int, int]
    runs: tuple[RunFacts, ...]
    totals: tuple[RunTotals, ...]
    parts: tuple[tuple[BatchTotals, ...], ...]

    def __add__(self, counts: CardCounts) -> CardCounts:
        """The counts over the users of both."""
        return CardCounts(
            self.zeros + counts.zeros,
            self.repeated_relevant + counts.repeated_relevant,
            self.without_relevant + counts.without_relevant,
            (
                _joined(self.outside_items[0], counts.outside_items[0]),
                _joined(self.outside_items[1], counts.outside_items[1]),
            ),
            self.has_catalogue_item or counts.has_catalogue_item,
            self.has_subtopics or counts.has_subtopics,
            (self.pairs[0] + counts.pairs[0], self.pairs[1] + counts.pairs[1]),
            tuple(first + second for first, second in zip(self.runs, counts.runs, strict=True)),
            tuple(first + second for first, second in zip(self.totals, counts.totals, strict=True)),
            tuple(
                tuple(first.added(second) for first, second in zip(*run_parts, strict=True))
                for run_parts in zip(self.parts, counts.parts, strict=True)
            ),
        )


@dataclass(frozen=True)
class UserMeasurement:
    """Measure the users of a partition by the functions of the local scorecard.

    Attributes:
        runs: the names of the runs.
        labels: the sources in errors, by part number.
        is_ordered: for each run, True if the order of its rows is a ranking.
        builder: the reader of lists, without tables of users and items; of items only categories.
        base: all items, without users.
        is_stated: True if the user states the catalogue, which other items do not join.
        metrics: the metrics by label.
        segments: the parts of items whose accuracy is measured.
        by_history: True if that of pairs in training, and of all others, is measured too.
        sent_fields: the fields of `Listed` besides the lists that the driver needs.
        user_columns: the columns of the table of users; None without a table.
    """

    runs: tuple[str, ...]
    labels: Mapping[int, str]
    is_ordered: tuple[bool, ...]
    builder: ListBuilder
    base: Catalogue
    is_stated: bool
    metrics: Mapping[str, Metric]
    segments: tuple[Segment, ...]
    by_history: bool
    sent_fields: tuple[str, ...]
    user_columns: tuple[str, ...] | None

    def results_of_cells(self, cells: Iterable[Cell]) -> Iterator[Any]:
        """The users of each cell, and at the end the counts, or the items that the catalogue lacks.

        After the first cell with such items only they are collected: all numbers would be wrong.

        Raises:
            InputError, DuplicateError: the rows are wrong.
        """
        counts: CardCounts | None = None
        unknown: list[pl.Series] = []
        for cell in cells:
            try:
                systems = self._systems(cell)
            except _UnknownItemsError as error:
                unknown.append(error.args[0])
                continue
            if not unknown:
                users, cell_counts = self._measured(systems, cell)
                counts = cell_counts if counts is None else counts + cell_counts
                yield {"users": [encode_rows(users)]}
        yield {"counts": [pickle.dumps((pl.concat(unknown).unique() if unknown else None, counts))]}

    def _systems(self, cell: Cell) -> ScorecardSystems:
        """The systems on the users of a cell."""
        runs = [
            self._run(cell, i, name, is_ranking=is_ranking)
            for i, (name, is_ranking) in enumerate(zip(self.runs, self.is_ordered, strict=True), 1)
        ]
        topics, index = self._judgments(cell)
        collection, tables = self.builder.collection, self.builder.tables
        if collection.training is not None:
            collection = replace(collection, training=self._training(cell))  # type: ignore[arg-type]
        if collection.reference is not None:
            collection = replace(collection, reference=self._run(cell, REFERENCE, "reference"))
        if tables.candidates is not None:
            tables = replace(tables, candidates=self._pairs(cell, CANDIDATES))
        builder = replace(self.builder, collection=collection, tables=tables)
        try:
            return ScorecardSystems.from_runs(
                builder, topics, index, [index.ranked(run) for run in runs], self.metrics, self._catalogue
            )
        except InputError as error:  # such as a document that is ranked twice
            for part_number, label in self.labels.items():
                if error.source == label and (part_number > 0 or part_number == REFERENCE):
                    with locate_errors(rows_in(cell, part_number, "score"), label):
                        raise
            raise

    def _catalogue(self, builder: ListBuilder, index: JudgmentIndex, tops: Sequence[TopLists]) -> Catalogue:
        """The users of a cell with all items."""
        unknown = self._items_outside(judged_items(index))
        if len(unknown) and not self.is_stated:
            raise _UnknownItemsError(unknown)
        return builder.of_batch(self.base, index, all_users(index, tops))

    def _items_outside(self, items: pl.Series) -> pl.Series:
        """Those of some items that the catalogue lacks."""
        return items.filter(pl.Series(find_positions(items, self.base.items) == NONE))

    def _run(self, cell: Cell, part_number: int, name: str, *, is_ranking: bool = False) -> Run:
        rows, label = rows_in(cell, part_number, "score"), self.labels[part_number]
        with locate_errors(rows, label):
            check_rows(rows, "score", RowLocation(label))
        return Run(
            name, lambda: iter((rows,)), place=RowLocation(label), ordered=is_ranking, queries=_EMPTY_QUERIES
        )

    def _judgments(self, cell: Cell) -> tuple[Qrels, JudgmentIndex]:
        label = self.labels[JUDGED]
        table, unjudged = rows_in(cell, JUDGED, "grade"), rows_in(cell, UNJUDGED, "grade")["query_id"]
        if table.is_empty() and unjudged.is_empty():  # users who have lists but no judgment
            index = JudgmentIndex.without_queries(label)
            return index.qrels, index
        with locate_errors(table, label):
            topics = Qrels(drop_empty(table), label, unjudged=tuple(unjudged), place=RowLocation(label))
            return topics, JudgmentIndex.from_judgments(topics.by_document())

    def _training(self, cell: Cell) -> UserItems:
        pairs = self._pairs(cell, TRAINING)
        return UserItems.from_pairs(pairs["query_id"], pairs["doc_id"])

    def _pairs(self, cell: Cell, part_number: int) -> pl.DataFrame:
        """Checked ``query_id`` and ``doc_id`` of a table of pairs.

        Raises:
            InputError: an id is missing.
        """
        pairs = cell.get(part_number, pl.DataFrame(schema={"query_id": pl.String, "doc_id": pl.String}))
        is_wrong = pl.any_horizontal(pl.col("query_id", "doc_id").fill_null("") == "")
        for row in pairs.filter(is_wrong).head(1).rows():
            problem = "a row without a user or without an item; give both, or remove it."
            error = InputError(problem, source=self.labels[part_number], code="empty-value")
            error.at = row  # type: ignore[attr-defined]
            raise error
        return pairs

    def _measured(self, systems: ScorecardSystems, cell: Cell) -> tuple[pl.DataFrame, CardCounts]:
        """The users of a cell with their lists and values, and the counts."""
        accuracy, of_lists = split_list_metrics(self.metrics)
        means_of_lists = {label: metric for label, metric in of_lists.items() if metric.merge == "mean"}
        parts = [*self.segments]
        sizes = (0, 0)
        if self.by_history and (repeated := systems.repeated) is not None:
            sizes = int(repeated.sum()), int((~repeated).sum())
            parts += [Segment(HISTORY, "pairs", REPEAT, repeated), Segment(HISTORY, "pairs", NEW, ~repeated)]
        inputs = [(systems.index, systems.runs)]
        inputs += [
            (index or JudgmentIndex.without_queries(self.labels[JUDGED]), part_runs)
            for index, part_runs in map(systems.inputs_of_part, parts)
        ]
        users, columns = systems.catalogue.queries, self._users(systems, cell)
        totals, sums = [], []
        for i, item_lists in enumerate(systems.lists):
            codes = item_lists.items
            if item_lists.outside_places is not None:
                codes = np.where(item_lists.outside_places, OUTSIDE_CODE, codes)
            columns[f"items {i}"] = pl.Series(np.ascontiguousarray(codes, np.int32))
            for label, values in measure_lists(means_of_lists, item_lists).values.items():
                columns[f"value {i} {label}"] = pl.Series(values)
            part_sums = []
            for part_index, (index, part_runs) in enumerate(inputs if accuracy else ()):
                scores = self._scores(systems, part_runs[i], accuracy, index)
                prefix = f"part {part_index - 1}" if part_index else "value"
                rows = find_positions(scores.query_ids, users)
                for label, values in scores.values.items():
                    columns[f"{prefix} {i} {label}"] = _full_column(values, rows, len(users))
                if part_index:
                    part_sums.append(totals_from_scores(scores))
                else:
                    totals.append(self._totals(scores, accuracy, part_runs[i], index))
            sums.append(tuple(part_sums))
        judged_ids = judged_items(systems.index)
        judged_outside = self._items_outside(judged_ids)
        shown_ids = pl.concat([run.table["doc_id"] for run in systems.runs]).unique()
        counts = CardCounts(
            systems.zeros,
            systems.repeated_relevant,
            systems.users_without_relevant,
            (judged_outside, self._items_outside(shown_ids)),
            len(judged_outside) < len(judged_ids),
            has_subtopics(systems.topics),
            sizes,
            tuple(systems.run_facts()),
            tuple(totals),
            tuple(sums),
        )
        return pl.DataFrame(columns), counts

    def _users(self, systems: ScorecardSystems, cell: Cell) -> dict[str, pl.Series]:
        """The users, what judgments and training have of them, and their columns."""
        catalogue, lists = systems.catalogue, systems.lists[0]
        assert catalogue.relevant is not None
        columns = {
            "query_id": catalogue.queries,
            "judged": pl.Series(systems.judged),
            "relevant": list_series(catalogue.relevant),
        }
        if catalogue.history is not None:
            columns["history size"] = pl.Series(catalogue.history.lengths)
        for name in self.sent_fields:
            field = lists.need(name)
            columns[name] = list_series(field) if name == "history" else pl.Series(field)
        if self.user_columns is not None:
            empty = pl.DataFrame(schema=dict.fromkeys(("query_id", *self.user_columns), pl.String))
            described = cell.get(USERS, empty).with_columns(pl.lit(value=True).alias("described"))
            repeated_users = described.filter(~pl.col("query_id").is_unique())["query_id"]
            for user in repeated_users.head(1):
                problem = f"user '{user}' has several rows; remove one of its rows."
                raise InputError(problem, source=self.labels[USERS], code="duplicate-id")
            joined = (
                catalogue.queries.alias("query_id")
                .to_frame()
                .join(described, on="query_id", how="left", maintain_order="left")
            )
            columns |= {f"user {name}": joined[name] for name in joined.columns[1:]}
        return columns

    def _scores(
        self, systems: ScorecardSystems, run: Run, accuracy: Mapping[str, Metric], index: JudgmentIndex
    ) -> RunScores:
        """The values of one run by metrics of accuracy, with exact sums."""
        topics = systems.topics
        if any(metric.view == SUBTOPICS for metric in accuracy.values()) and len(index.query_ids):
            if not topics.by_subtopic:
                raise no_subtopics(self.labels[JUDGED])
            index = with_known_subtopics(index, topics)
        plan = Plan.from_conventions([*accuracy.items()], [systems.convention])
        with locate_errors(run.table, run.place.label):
            total, source = measure_run(index, run, plan, strict=False)
            return total.score(0, source, strict=False, exact=True)

    def _totals(
        self, scores: RunScores, accuracy: Mapping[str, Metric], run: Run, index: JudgmentIndex
    ) -> RunTotals:
        (jobs,) = Plan.from_conventions([*accuracy.items()], [self.builder.how]).jobs
        totals = replace(RunTotals.from_scores(scores, jobs), groups={})
        unmatched = unmatched_queries(index.query_ids, run.table["query_id"].unique())
        return replace(totals, judged=len(index.query_ids), unmatched_queries=unmatched)


def _joined(first: pl.Series, second: pl.Series) -> pl.Series:
    return pl.concat([first, second]).unique()


def _full_column(values: Floats, rows: Codes, size: int) -> pl.Series:
    """Values at some rows, NaN at all others."""
    column = np.full(size, np.nan)
    column[rows] = values
    return pl.Series(column)


def list_series(ragged: Ragged) -> pl.Series:
    """Rows of codes as a column of lists."""
    matrix = ragged.matrix()
    is_filled = np.arange(matrix.shape[1]) < ragged.lengths[:, None]  # a code may be NONE
    rows = pl.DataFrame({"row": np.nonzero(is_filled)[0], "code": matrix[is_filled]})
    lists = rows.group_by("row", maintain_order=True).agg("code")
    all_rows = pl.DataFrame({"row": np.arange(len(matrix))})
    codes = all_rows.join(lists, on="row", how="left", maintain_order="left")["code"]
    return codes.cast(pl.List(pl.Int32))
