"""Accuracy of predicted ratings on Spark: executors pair ratings with predictions."""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

import polars as pl

from rankgate.core.frozen import dataclass
from rankgate.data.foreign_frames import named_runs
from rankgate.data.id_match import IdMatch
from rankgate.data.qrels import Qrels, check_rows, drop_empty
from rankgate.data.run import Run
from rankgate.data.table_rows import RowLocation
from rankgate.recommenders.rating_accuracy import RatedPairs, refuse_unfit_ids
from rankgate.spark.card_users import RESULTS
from rankgate.spark.partition_scores import JUDGED, locate_errors, rows_in
from rankgate.spark.sessions import translate_errors
from rankgate.spark.shuffle import encode_rows, map_partitions
from rankgate.spark.spark_inputs import COLLECTION_FIELDS, LIST_FIELDS, prepare, refuse_others
from rankgate.spark.task_results import CellTask, raise_first_error

if TYPE_CHECKING:
    from rankgate.data.collection import Collection
    from rankgate.spark.partition_scores import Cell
    from rankgate.spark.spark_inputs import SparkMeasurement

_PAIR = ["query_id", "doc_id"]


@dataclass(frozen=True)
class RatingPairs:
    """Pair the ratings of whole users with predictions.

    Attributes:
        labels: the sources of ratings and predictions, for errors.
    """

    labels: tuple[str, str]

    def results_of_cells(self, cells: Iterable[Cell]) -> Iterator[Any]:
        """The pairs of each cell by user, and at the end the number of ratings.

        Raises:
            InputError, DuplicateError: the rows are wrong.
        """
        ratings_label, predictions_label = self.labels
        rated = 0
        for cell in cells:
            ratings, rows = rows_in(cell, JUDGED, "grade"), rows_in(cell, 1, "score")
            with locate_errors(rows, predictions_label):
                check_rows(rows, "score", RowLocation(predictions_label))
                predictions = _without_repeats(rows, predictions_label)
            if ratings.is_empty():
                continue
            with locate_errors(ratings, ratings_label):
                table = Qrels(drop_empty(ratings), ratings_label, place=RowLocation(ratings_label)).table
            rated += len(table)
            pairs = table.select(*_PAIR, "grade").join(predictions, on=_PAIR, how="inner")
            yield {"users": [encode_rows(pairs.select("query_id", "grade", "score").sort("query_id"))]}
        yield {"counts": [pickle.dumps(rated)]}


def _without_repeats(rows: pl.DataFrame, label: str) -> pl.DataFrame:
    """The predictions, if no pair has two."""
    if rows.is_empty():
        return rows
    return Run("", lambda: iter((rows,)), place=RowLocation(label)).whole("error").frame


def pair_ratings(
    collection: Collection,
    run: Any,  # noqa: ANN401 - as of rankgate.rating_accuracy
) -> RatedPairs:
    """Pair ratings with predictions on executors; the driver gets the rating and the prediction of each.

    Raises:
        InputError: as of ``rankgate.rating_accuracy``.
        UsageError: a field of the collection that Spark does not have.
        MissingExtraError: PySpark is not installed.
    """
    unused = LIST_FIELDS | {"selection", "drop_seen"}
    refuse_others(collection, "rating-accuracy on Spark", COLLECTION_FIELDS | unused)
    work = prepare(collection, named_runs(run), ["RR"], "trec", numbered=False)
    cells = work.by_cells()
    labels = (work.qrels.label, work.runs[0].label)
    frame = map_partitions(cells.frame, CellTask(cells.opened, RatingPairs(labels)), RESULTS)
    with translate_errors(labels[0]):
        results = pl.DataFrame(pl.from_arrow(frame.toArrow()))
    raise_first_error(results["totals"].drop_nulls().to_list(), work.tables)
    rated = sum(pickle.loads(count) for count in results["counts"].drop_nulls())  # noqa: S301 - from our own executors
    no_pairs = pl.DataFrame(schema={"query_id": pl.String, "grade": pl.Float64, "score": pl.Float64})
    pairs = pl.concat([no_pairs, *map(pl.read_ipc_stream, results["users"].drop_nulls())])
    if len(pairs) < rated:
        refuse_unfit_ids(_matches(work), labels[1], accepts_ids=work.accepts_ids)
    return RatedPairs(pairs, rated, (work.qrels.name, work.names[0]), labels)


def _matches(work: SparkMeasurement) -> dict[str, IdMatch]:
    """How users and items of ratings and predictions fit."""
    sides = (work.qrels, work.runs[0])
    return {
        kind: IdMatch.from_ids(
            *(
                pl.Series(
                    pl.from_arrow(table.frame.select(column).distinct().toArrow()[column]), dtype=pl.String
                )
                for table in sides
            )
        )
        for kind, column in (("user", "query_id"), ("item", "doc_id"))
    }
