"""Judgments with labels as grades, in a file, a frame or dictionaries."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rankgate.core.errors import InputError
from rankgate.data.column_map import ColumnMap, map_columns
from rankgate.data.foreign_frames import is_frame, polars_frame, rename_columns
from rankgate.data.formats.tables import memory_tables
from rankgate.data.grades_from_columns import label_grade, map_label_column
from rankgate.data.table_rows import RowLocation

if TYPE_CHECKING:
    from rankgate.data.input_types import ColumnsLike, QrelsLike
    from rankgate.data.qrels import Qrels


def graded_judgments(judgments: QrelsLike, columns: ColumnsLike | None, grades: Mapping[str, float]) -> Qrels:
    """Judgments with the grade of each label; an empty label is not a judgment.

    Args:
        judgments: a file that is a table, a frame, or ``{query: {doc: label}}``.
        columns: the columns of the table for ours.
        grades: the grade of each label.

    Raises:
        InputError: a label has no grade, or a column does not exist; the message has file and line.
    """
    if isinstance(judgments, Mapping) and isinstance(next(iter(judgments.values()), {}), Mapping):
        labels_by_query: Mapping[Any, Any] = judgments
        by_query = {
            query: {doc: label_grade(label, grades, "judgments") for doc, label in documents.items()}
            for query, documents in labels_by_query.items()
        }
        return memory_tables.qrels_of_table(by_query)
    if isinstance(judgments, str | Path):
        qrels: Qrels = map_columns(judgments, columns, "qrels", grades)
        return qrels
    if not is_frame(judgments):
        problem = "grades of labels are for tables: CSV, JSONL, Parquet, a frame or dictionaries."
        raise InputError(problem, source="judgments", code="wrong-type")
    column_map = ColumnMap.read(columns)
    frame_columns = column_map.of_frames if column_map else None
    table = polars_frame(rename_columns(polars_frame(judgments, "judgments"), frame_columns))
    return memory_tables.qrels_of_table(map_label_column(table, grades, RowLocation("judgments")), "qrels")
