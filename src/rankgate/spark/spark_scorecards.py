"""Scorecards on Spark: executors measure users, and the card is made as on one machine.

Executors form the lists and compute the values of users by the functions of the local engine. The
driver gets the first items and the values of each user, and makes the same card from them.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, reduce
from operator import add
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from rankgate.core.errors import UsageError
from rankgate.core.frozen import dataclass
from rankgate.data import Run
from rankgate.data.foreign_frames import named_runs, rename_columns
from rankgate.data.logs.item_tables import (
    DescribedTable,
    find_id_column,
    read_candidates,
    read_described_table,
)
from rankgate.data.logs.large_logs import UserItems
from rankgate.data.logs.splits import sampling_mark
from rankgate.data.memory.ids import find_positions
from rankgate.data.spark_tables import is_on_spark
from rankgate.data.table_rows import RowLocation, no_rows_error
from rankgate.measurement.evaluation.lists.list_builder import ListBuilder, no_judged_item
from rankgate.measurement.evaluation.lists.list_inputs import Tables
from rankgate.measurement.evaluation.rankings import TrainingData
from rankgate.measurement.metrics.lists.list_input import NONE, Ragged
from rankgate.measurement.metrics.lists.list_metric import split_list_metrics
from rankgate.measurement.metrics.metric_declaration import SUBTOPICS
from rankgate.measurement.metrics.ranking.reciprocal_rank import RR
from rankgate.measurement.scoring.alignment.kernel_inputs import no_subtopics
from rankgate.measurement.scoring.first_items import measure_lists
from rankgate.measurement.scoring.scoring_job import Job, mean_of_parts
from rankgate.recommenders.scorecard import parse_metrics, possible_metrics
from rankgate.recommenders.scorecard_figures import Card
from rankgate.recommenders.scorecard_slices import (
    ACTIVITY,
    HISTORY,
    NEW,
    POPULARITY,
    REPEAT,
    Segment,
    column_of,
    slice_segments,
)
from rankgate.recommenders.scorecard_systems import CardSystems, RunFacts
from rankgate.spark.card_users import (
    CANDIDATES,
    OUTSIDE_CODE,
    REFERENCE,
    RESULTS,
    TRAINING,
    USERS,
    CardCounts,
    UserMeasurement,
)
from rankgate.spark.sessions import translate_errors
from rankgate.spark.shuffle import map_partitions
from rankgate.spark.spark_evaluation import refuse_run
from rankgate.spark.spark_inputs import COLLECTION_FIELDS, prepare, refuse_others
from rankgate.spark.splitting.log_ranges import read_log
from rankgate.spark.table_rows import TableRows, open_rows, open_table, quote_column, to_spark
from rankgate.spark.task_results import CellTask, raise_first_error

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from rankgate.core.arrays import Floats
    from rankgate.data.collection import Collection
    from rankgate.data.input_types import TableLike
    from rankgate.data.logs.item_tables import TableKind
    from rankgate.measurement.metrics.lists.list_input import Codes, Listed
    from rankgate.measurement.metrics.metric_declaration import Metric
    from rankgate.measurement.scoring import Convention
    from rankgate.measurement.scoring.item_catalogue import Catalogue
    from rankgate.spark.spark_inputs import SparkMeasurement


_TAKEN = COLLECTION_FIELDS | {
    "users",
    "training",
    "drop_seen",
    "candidates",
    "reference",
    "judged_users_only",
    "selection",
}
"""The fields of a collection that a scorecard uses, and those that it does not need anywhere."""

_ITEMS = frozenset({"table", "features", "category", "group", "catalogue"})
_COLUMNS = {
    TRAINING: ("query_id", "doc_id"),
    CANDIDATES: ("query_id", "doc_id"),
    REFERENCE: ("query_id", "doc_id", "number"),
}
"""The columns of further tables that move; of users all columns do."""

_NO_TRAINING = UserItems.from_pairs(pl.Series([], dtype=pl.String), pl.Series([], dtype=pl.String))
_NO_ROWS = Ragged.from_offsets(np.zeros(0, np.int32), np.zeros(1, np.int64))


def measure_systems(
    collection: Collection,
    runs: Any,  # noqa: ANN401 - as of rankgate.scorecard
    metrics: Sequence[str | Metric],
    convention: Convention,
    slices: Sequence[str],
) -> tuple[SparkSystems, dict[str, Metric]]:
    """Measure the systems of a card, by the metrics that have their inputs.

    The rows of judgments, runs, training and candidates stay on executors. The driver gets the
    items, and of each user the first items of every list, the relevant items and the values. Where
    judgments or lists have items that the catalogue lacks, all rows are read a second time.

    Raises:
        InputError: data that cannot be read.
        UsageError: an unknown metric, or one that needs what the collection lacks; a field of it
            that Spark does not have.
        MissingExtraError: PySpark is not installed.
    """
    refuse_others(collection, "scorecard on Spark", _TAKEN, _ITEMS)
    metrics_by_label = parse_metrics(metrics, convention)
    accuracy, of_lists = split_list_metrics(metrics_by_label)
    rankings = named_runs(runs)
    for name, run in rankings:
        if isinstance(run, Run) and (run.earlier is not None or run.repeats):
            raise UsageError(
                f"{name or run.name}: scorecard on Spark takes no earlier lists and no repeats of a run; "
                "leave them out.",
                code="unused-option",
            )
    work = prepare(collection, rankings, [*accuracy.values()] or ["RR"], convention)
    tables = _SideTables.open(work.spark, collection, slices)
    local = replace(
        collection,
        judgments=None,
        items=replace(collection.items, table=tables.items),
        users=tables.users,  # type: ignore[arg-type]
        training=None if collection.training is None else _NO_TRAINING,  # type: ignore[arg-type]
    )
    builder = ListBuilder.from_collection(of_lists, convention, local, history=True)
    without_users = _without_users(builder.base(), collection)
    metrics_by_label = possible_metrics(metrics_by_label, builder, [without_users], requested=bool(metrics))
    for name in slices:
        if name in {ACTIVITY, POPULARITY, HISTORY} and collection.training is None:
            slice_segments(name, builder.base(), builder.tables)  # an error: it comes from training
    item_counts, people = tables.count_training()
    base = _with_training_counts(builder.base(item_counts["doc_id"]), item_counts, people)
    mark = builder.tables.mark or sampling_mark(work.qrels.name)
    item_slices, by_history = tables.item_slices(slices), HISTORY in slices
    measured_metrics = metrics_by_label | ({"RR": RR} if mark else {})
    needs_of_driver = {
        need
        for metric in split_list_metrics(metrics_by_label)[1].values()
        if metric.merge != "mean" or item_slices
        for need in metric.inputs_needed
    }
    sent_fields = tuple(name for name in ("history", "baseline") if name in needs_of_driver)
    while True:
        segments = [segment for name in item_slices for segment in slice_segments(name, base, builder.tables)]
        measurement = UserMeasurement(
            work.names,
            dict(enumerate(table.label for table in work.tables)) | tables.labels,
            tuple(run.ordered for run in work.runs),
            _shipped(builder),
            base,
            builder.stated_items is not None,
            measured_metrics,
            tuple(segments),
            by_history,
            sent_fields,
            tables.user_columns,
        )
        users, counts, unknown = _measure(work, measurement, tables)
        if unknown.is_empty():
            break
        base = _with_training_counts(builder.base(item_counts["doc_id"], unknown), item_counts, people)
    if any(metric.view == SUBTOPICS for metric in metrics_by_label.values()) and not counts.has_subtopics:
        raise no_subtopics(work.qrels.label)
    for run, totals in zip(work.runs, counts.totals, strict=False):
        refuse_run(work, run.label, totals)
    systems = SparkSystems.from_users(work, builder, base, users, counts, segments, mark, sent_fields)
    if not systems.judged.any():
        raise no_rows_error("grade", work.qrels.label)
    _refuse_ids(systems, item_counts["doc_id"], with_lists=bool(of_lists))
    return systems, metrics_by_label


def _refuse_ids(systems: SparkSystems, trained: pl.Series, *, with_lists: bool) -> None:
    """Refuse ids in another spelling, and a stated catalogue without a judged item.

    Args:
        systems: the systems.
        trained: the items of training.
        with_lists: True if a metric of lists was asked for.

    Raises:
        InputError: as of `ListBuilder.joint_catalogue`.
    """
    builder, outside_items = systems.builder, systems.counts.outside_items
    builder.refuse_near_fits("user", [systems.catalogue.queries])
    collection = builder.collection
    if collection.training is not None:
        log = replace(_NO_TRAINING, items=trained)
        builder = replace(builder, collection=replace(collection, training=log))  # type: ignore[arg-type]
    builder.refuse_near_fits("item", [systems.named_items, *outside_items])
    if with_lists and not systems.counts.has_catalogue_item:
        raise no_judged_item(systems.work.qrels.label, outside_items[0], systems.catalogue.items)


def _with_training_counts(base: Catalogue, item_counts: pl.DataFrame, people: int) -> Catalogue:
    """The items with the number of people who had each in training."""
    if base.seen is None:
        return base
    people_by_item = np.zeros(len(base.items), np.int64)
    position = find_positions(item_counts["doc_id"], base.items)
    people_by_item[position[position != NONE]] = item_counts["people"].to_numpy()[position != NONE]
    return replace(base, seen=people_by_item, people=people)


def _without_users(base: Catalogue, collection: Collection) -> Listed:
    """Lists of nobody, with the inputs that lists will have."""
    facts: dict[str, Any] = {"relevant": _NO_ROWS}
    if collection.training is not None:
        facts["history"] = _NO_ROWS
    if collection.reference is not None:
        facts["baseline"] = np.zeros((0, 1), np.int32)
    return replace(base, **facts).listed(pl.DataFrame(schema={"query_id": pl.String, "doc_id": pl.String}))


def _shipped(builder: ListBuilder) -> ListBuilder:
    """The builder for executors, which have the catalogue: of the items only the categories."""
    items, category = builder.tables.items, builder.collection.items.category
    if items is not None:
        items = replace(items, columns=items.columns.select(category)) if category else None
    plain_items = replace(builder.collection.items, table=None, catalogue=None)
    collection = replace(builder.collection, items=plain_items, users=None, candidates=None)
    return replace(
        builder,
        collection=collection,
        tables=replace(builder.tables, items=items, users=None),
        stated=builder.stated.clear(),
    )


def _measure(
    work: SparkMeasurement, measurement: UserMeasurement, tables: _SideTables
) -> tuple[list[pl.DataFrame], CardCounts, pl.Series]:
    """The users of all cells, the counts, and the items that the catalogue lacks.

    Raises:
        InputError: the data are wrong, with file and line.
    """
    cells = work.by_cells(tables.frames)
    kernels = [getattr(metric, "kernel", None) for metric in measurement.metrics.values()]
    modules = [getattr(kernel, "__module__", "") for kernel in kernels]
    frame = map_partitions(cells.frame, CellTask(cells.opened, measurement), RESULTS, modules)
    with translate_errors(work.tables[-1].label):
        results = pl.DataFrame(pl.from_arrow(frame.toArrow()))
    raise_first_error(results["totals"].drop_nulls().to_list(), (*work.tables, *tables.rows.values()))
    counts_of_cells = [pickle.loads(counts) for counts in results["counts"].drop_nulls()]  # noqa: S301 - from our own executors
    unknown = [items for items, _ in counts_of_cells if items is not None]
    if unknown:
        return [], counts_of_cells[0][1], pl.concat(unknown).unique()
    users = [pl.read_ipc_stream(rows) for rows in results["users"].drop_nulls()]
    if not users:
        raise no_rows_error("grade", work.qrels.label)
    counts = reduce(add, (cell_counts for _, cell_counts in counts_of_cells if cell_counts is not None))
    return users, counts, pl.Series([], dtype=pl.String)


@dataclass(frozen=True)
class _SideTables:
    """What a collection has besides judgments and runs.

    Attributes:
        items: the items with the columns that metrics and slices use.
        users: the names of the columns of users; rows are on executors.
        rows: the other tables on Spark, by part number.
        slices: the kind of each slice by a column: items or users.
        user_columns: the columns of users that slices use; None without a table of users.
    """

    items: DescribedTable | None
    users: DescribedTable | None
    rows: Mapping[int, TableRows]
    slices: Mapping[str, str]
    user_columns: tuple[str, ...] | None

    @classmethod
    def open(cls, spark: SparkSession, collection: Collection, slices: Sequence[str]) -> _SideTables:
        """Open the tables of a collection, and find the columns of slices.

        Raises:
            InputError: a table cannot be read.
            UsageError: an unknown slice, or a column that does not exist.
        """
        # names of columns alone show which columns are to be read
        kinds: tuple[tuple[TableKind, Any], ...] = (
            ("items", collection.items.table),
            ("users", collection.users),
        )
        table_heads = {kind: _table_head(spark, table, kind) for kind, table in kinds if table is not None}
        names = Tables(table_heads.get("items"), table_heads.get("users"), None, "")
        by_column = [name for name in slices if name not in {ACTIVITY, POPULARITY, HISTORY}]
        owners = {name: column_of(name, names) for name in by_column}
        columns = {
            kind: {column for table, column in owners.values() if table.of == kind}
            for kind in ("items", "users")
        }
        shop = collection.items
        columns["items"] |= {*shop.features, *(name for name in (shop.category, shop.group) if name)}
        items = None
        if shop.table is not None:
            items = _collected(spark, shop.table, table_heads["items"], columns["items"])
        rows = dict(_pairs(spark, collection))
        if collection.users is not None:
            rows[USERS] = _described_rows(spark, collection.users, table_heads["users"], columns["users"])
        kind_of_slice = {name: table.of for name, (table, _) in owners.items()}
        user_columns = tuple(sorted(columns["users"])) if USERS in rows else None
        return cls(items, table_heads.get("users"), rows, kind_of_slice, user_columns)

    @property
    def labels(self) -> dict[int, str]:
        """The names of the tables in errors, by part number."""
        return {part_number: table.label for part_number, table in self.rows.items()}

    @property
    def frames(self) -> dict[int, Any]:
        """The rows on Spark, by part number."""
        return {
            part_number: table.frame.select(*_COLUMNS.get(part_number, table.frame.columns))
            for part_number, table in self.rows.items()
        }

    def item_slices(self, slices: Sequence[str]) -> list[str]:
        """The slices of items, in order."""
        return [name for name in slices if name == POPULARITY or self.slices.get(name) == "items"]

    def count_training(self) -> tuple[pl.DataFrame, int]:
        """The number of people who had each item in training, and of all people."""
        from pyspark.sql import functions as F

        if TRAINING not in self.rows:
            return pl.DataFrame(schema={"doc_id": pl.String, "people": pl.Int64}), 0
        with translate_errors(self.rows[TRAINING].label):
            pairs = self.rows[TRAINING].frame.select("query_id", "doc_id").distinct()
            counts_of_cells = pairs.groupBy("doc_id").agg(F.count(F.lit(1)).alias("people")).toArrow()
            people = pairs.select("query_id").distinct().count()
        return pl.DataFrame(pl.from_arrow(counts_of_cells)).drop_nulls(), people


def _pairs(spark: SparkSession, collection: Collection) -> Iterator[tuple[int, TableRows]]:
    """The rows of training, candidates and the reference run, by part number."""
    training = collection.training
    if is_on_spark(training):
        rows, _ = read_log(spark, training, None, None)
        yield TRAINING, rows
    elif training is not None:
        log = TrainingData(rename_columns(training, collection.frame_columns)).items_of_users
        yield TRAINING, _rows_on_spark(spark, log.frame, "training")
    if collection.candidates is not None:
        yield CANDIDATES, _rows_on_spark(spark, read_candidates(collection.candidates)[0], "candidates")
    if collection.reference is not None:
        yield REFERENCE, open_rows(spark, collection.reference, "score", "reference", collection.columns)


def _rows_on_spark(spark: SparkSession, table: pl.DataFrame, label: str) -> TableRows:
    frame = to_spark(spark, table)
    return TableRows(lambda: frame, label, label)


def _table_head(spark: SparkSession, table: TableLike | DescribedTable, kind: TableKind) -> DescribedTable:
    """A table of items or users without rows, if it is on Spark; else with them."""
    if not is_on_spark(table):
        return read_described_table(table, kind)
    frame, label = open_table(spark, table, kind)
    id_column = find_id_column(frame.columns, kind, label)
    names = dict.fromkeys((name for name in frame.columns if name != id_column), pl.String)
    return DescribedTable(
        kind, pl.Series(id_column, [], pl.String), pl.DataFrame(schema=names), RowLocation(label)
    )


def _collected(
    spark: SparkSession, table: TableLike | DescribedTable, table_head: DescribedTable, columns: set[str]
) -> DescribedTable:
    """The items with some columns.

    Raises:
        UsageError: a column that does not exist.
    """
    for name in columns:
        table_head.description(name)
    if not is_on_spark(table):
        return replace(table_head, columns=table_head.columns.select(sorted(columns)))
    frame, label = open_table(spark, table, "items")
    names = [str(table_head.ids.name), *sorted(columns)]
    with translate_errors(label):
        rows = pl.from_arrow(frame.select(*map(quote_column, names)).toArrow())
    return read_described_table(pl.DataFrame(rows))


def _described_rows(
    spark: SparkSession, table: TableLike | DescribedTable, table_head: DescribedTable, columns: set[str]
) -> TableRows:
    """The users with some columns, as rows on Spark."""
    from pyspark.sql import functions as F

    names = sorted(columns)
    if not is_on_spark(table):
        texts = [table_head.columns[name].cast(pl.String) for name in names]
        return _rows_on_spark(spark, pl.DataFrame([table_head.ids.alias("query_id"), *texts]), "users")
    frame, label = open_table(spark, table, "users")
    selected = frame.select(
        F.col(quote_column(str(table_head.ids.name))).cast("string").alias("query_id"),
        *(F.col(quote_column(name)).cast("string").alias(name) for name in names),
    )
    return TableRows(lambda: selected, label, label)


@dataclass(frozen=True, kw_only=True)
class SparkSystems(CardSystems):
    """Systems whose users were measured on executors.

    Attributes:
        work: judgments and runs.
        users: the columns of all users, in the order of the catalogue.
        counts: the sums over all users.
        item_parts: the parts of items whose accuracy was measured.
    """

    work: SparkMeasurement
    users: pl.DataFrame
    counts: CardCounts
    item_parts: Sequence[Segment]

    @classmethod
    def from_users(
        cls,
        work: SparkMeasurement,
        builder: ListBuilder,
        base: Catalogue,
        frames: Sequence[pl.DataFrame],
        counts: CardCounts,
        item_parts: Sequence[Segment],
        mark: str,
        sent_fields: Sequence[str],
    ) -> SparkSystems:
        """The systems from the users of all cells."""
        matrix_names = [name for name in frames[0].columns if name.startswith("items ") or name == "baseline"]
        users = pl.concat([frame.drop(matrix_names) for frame in frames])
        order = users["query_id"].arg_sort()
        users = users[order]
        matrices = {
            name: _stacked([frame[name] for frame in frames])[order.to_numpy()] for name in matrix_names
        }
        facts: dict[str, Any] = {"queries": users["query_id"], "relevant": _ragged(users["relevant"])}
        if not users["judged"].all():
            facts["judged"] = users["judged"].to_numpy()
        if "history size" in users.columns:  # its items only where the driver needs them
            lengths = users["history size"].to_numpy()
            facts["history"] = (
                _ragged(users["history"])
                if "history" in sent_fields
                else Ragged(np.zeros(0, np.int32), np.zeros_like(lengths), lengths)
            )
        if "baseline" in matrices:
            facts["baseline"] = matrices["baseline"]
        catalogue = replace(base, **facts)
        if builder.tables.users is not None:
            builder = replace(builder, tables=replace(builder.tables, users=_described_users(users)))
        empty = pl.DataFrame(schema={"query_id": pl.String, "doc_id": pl.String})
        return cls(
            lists=tuple(
                _with_outside_places(catalogue.listed(empty), matrices[f"items {i}"], facts.places)
                for i, facts in enumerate(counts.runs)
            ),
            catalogue=catalogue,
            builder=builder,
            catalogue_facts=builder.catalogue_facts(catalogue.items, counts.outside_items[0]),
            mark=mark,
            zeros=counts.zeros,
            work=work,
            users=users,
            counts=counts,
            item_parts=item_parts,
        )

    @property
    def name(self) -> str:
        """The name of the judgments."""
        return self.work.qrels.name

    @property
    def named_items(self) -> pl.Series:
        """The items that lists show, or that are relevant."""
        assert self.catalogue.relevant is not None
        codes = [item_lists.items.ravel() for item_lists in self.lists]
        is_named = np.zeros(len(self.catalogue.items) + 1, bool)  # the last place is for NONE
        is_named[np.concatenate([*codes, self.catalogue.relevant.codes])] = True
        return self.catalogue.items.filter(pl.Series(is_named[:-1]))

    @property
    def repeated_relevant(self) -> int:
        """The number of relevant items that their user has in training too."""
        return self.counts.repeated_relevant

    @property
    def users_without_relevant(self) -> int:
        """The number of judged users without a relevant item."""
        return self.counts.without_relevant

    def run_facts(self) -> list[RunFacts]:
        """What warnings state of every run."""
        return list(self.counts.runs)

    def values_of(self, label: str, metric: Metric) -> list[Floats]:  # noqa: ARG002 - measured on executors
        """The values of every system by one metric."""
        return [self.users[f"value {i} {label}"].to_numpy() for i in range(len(self.lists))]

    def cards(self, metrics: Mapping[str, Metric]) -> list[Card]:
        """The values of every system."""
        _, of_lists = split_list_metrics(metrics)
        sums_of_lists = {label: metric for label, metric in of_lists.items() if metric.merge != "mean"}
        cards = []
        for i, item_lists in enumerate(self.lists):
            values = {
                label: self.users[f"value {i} {label}"].to_numpy()
                for label in metrics
                if label not in sums_of_lists
            }
            means = dict(measure_lists(sums_of_lists, item_lists).numbers)
            for label, user_values in values.items():
                if label in of_lists:
                    means[label] = of_lists[label].number(user_values)
                else:
                    totals = self.counts.totals[i]
                    moments, hits = totals.means[label]
                    means[label] = self._mean(
                        label, metrics[label], moments.first, hits, totals.counts["unknown_queries"]
                    )
            cards.append(self._card(i, metrics, values, means))
        return cards

    def segments(self, name: str) -> list[Segment]:
        """The parts of a slice; a part of pairs has only its size."""
        if name != HISTORY:
            return slice_segments(name, self.catalogue, self.builder.tables)
        sizes = zip((REPEAT, NEW), self.counts.pairs, strict=True)
        return [Segment(name, "pairs", value, np.ones(size, bool)) for value, size in sizes if size]

    @cached_property
    def _part_indices(self) -> dict[tuple[str, str], int]:
        """The index of each measured part."""
        keys = [(segment.slice, segment.value) for segment in self.item_parts]
        return {key: index for index, key in enumerate([*keys, (HISTORY, REPEAT), (HISTORY, NEW)])}

    def accuracy_of_part(self, segment: Segment, metrics: Mapping[str, Metric]) -> list[Card]:
        """The accuracy of every system in a part of the items or pairs."""
        accuracy, _ = split_list_metrics(metrics)
        index = self._part_indices[segment.slice, segment.value]
        cards = []
        for i in range(len(self.lists)):
            values = {label: self.users[f"part {index} {i} {label}"].to_numpy() for label in accuracy}
            sums = self.counts.parts[i][index]
            means = {
                label: self._mean(label, metric, *sums.means[label], sums.counts["unknown_queries"])
                for label, metric in accuracy.items()
            }
            cards.append(self._card(i, accuracy, values, means))
        return cards

    def _mean(self, label: str, metric: Metric, mean: Any, hits: int, unknown: int) -> float:  # noqa: ANN401 - an ExactMean
        job = Job.from_convention(label, metric, self.convention)
        return mean_of_parts(np.array([mean.sum, mean.count, hits]), job, unknown)

    def _card(
        self, i: int, metrics: Mapping[str, Metric], values: Mapping[str, Floats], means: Mapping[str, float]
    ) -> Card:
        """The values of one system under marked labels."""
        return Card(
            self.work.names[i],
            {self.marked_label(label): values[label] for label in metrics if label in values},
            {self.marked_label(label): means[label] for label in metrics},
            self.lists[i],
        )


def _with_outside_places(lists: Listed, codes: Codes, places: Mapping[str, Any]) -> Listed:
    """Lists from codes in which `OUTSIDE_CODE` is an item outside the catalogue."""
    is_outside = codes == OUTSIDE_CODE
    return replace(
        lists,
        items=np.where(is_outside, NONE, codes),
        outside_places=is_outside if places["invented"] else None,
        outside_examples=tuple(places["examples"]),
    )


def _described_users(users: pl.DataFrame) -> DescribedTable:
    """The table of the measured users that it describes."""
    described = users.filter(pl.col("user described").fill_null(value=False))
    columns = {
        name: name.removeprefix("user ")
        for name in described.columns
        if name.startswith("user ") and name != "user described"
    }
    return DescribedTable(
        "users", described["query_id"], described.select(*columns).rename(columns), RowLocation("users")
    )


def _stacked(pieces: Sequence[pl.Series]) -> Codes:
    """Matrices of codes below each other, narrow ones padded at the end."""
    matrices = [piece.to_numpy() for piece in pieces]
    width = max(matrix.shape[1] for matrix in matrices)
    return np.concatenate(
        [np.pad(matrix, ((0, 0), (0, width - matrix.shape[1])), constant_values=NONE) for matrix in matrices]
    )


def _ragged(lists: pl.Series) -> Ragged:
    """Rows of codes from a column of lists."""
    lengths = lists.list.len().fill_null(0).to_numpy().astype(np.int64)
    codes = lists.explode().drop_nulls().to_numpy().astype(np.int32)
    return Ragged.from_offsets(codes, np.append(0, np.cumsum(lengths)))
