"""Judgments whose grades are labels (Exact, Partial): each label becomes a grade."""

from __future__ import annotations

import io
from collections.abc import Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from rankgate.core.errors import InputError
from rankgate.data.column_map import ColumnMap
from rankgate.data.columns import missing_column, named, renamed
from rankgate.data.dataframes import is_frame, polars_frame
from rankgate.data.formats import registry
from rankgate.data.memory import frames
from rankgate.data.place import Place
from rankgate.data.streams.source import source
from rankgate.data.text.utf8 import BOM

if TYPE_CHECKING:
    from rankgate.data.inputs import ColumnsLike, QrelsLike
    from rankgate.data.qrels import Qrels

_COLUMNS = ("query_id", "doc_id", "grade")


def graded_judgments(
    judgments: QrelsLike, columns: ColumnsLike | None, grades: Mapping[str, float]
) -> Qrels:
    """Judgments with the grade of each label.

    Args:
        judgments: CSV, TSV, JSONL or Parquet, a frame, or ``{query: {doc: label}}``.
        columns: which of their columns is which of ours.
        grades: by label.

    Raises:
        InputError: a label that has no grade, a column that is not there; with file and line.
    """
    if isinstance(judgments, Mapping):
        labelled: Mapping[Any, Any] = judgments
        by_query = {
            query: {doc: _grade_of(label, grades, "judgments") for doc, label in documents.items()}
            for query, documents in labelled.items()
        }
        return frames.qrels_of(by_query)
    if isinstance(judgments, str | Path):
        label, name, table = _read(judgments)
    elif is_frame(judgments):
        label, name, table = "judgments", "qrels", polars_frame(judgments, "judgments")
    else:
        problem = "grades of labels are for tables: CSV, JSONL, Parquet, a frame or dictionaries."
        raise InputError(problem, source="judgments", code="wrong-type")
    column_map = ColumnMap.of(columns)
    table = polars_frame(renamed(table, column_map.of_frames if column_map else None))
    ours = named(table.columns, _COLUMNS)
    for column in _COLUMNS:
        if column not in ours:
            problem = missing_column(column, table.columns)
            raise InputError(problem, source=label, line=1, code="missing-column")
    texts = table[ours["grade"]].cast(pl.String).str.strip_chars()
    lines = pl.int_range(2, len(table) + 2, eager=True)
    for text, line in zip(
        texts.unique(maintain_order=True), _first_lines(texts, lines), strict=True
    ):
        _grade_of(text, grades, label, line)
    values = {text: float(grade) for text, grade in grades.items()}
    graded = texts.replace_strict(values, return_dtype=pl.Float64).alias("grade")
    rows = table.select(
        pl.col(ours["query_id"]).cast(pl.String).alias("query_id"),
        pl.col(ours["doc_id"]).cast(pl.String).alias("doc_id"),
    ).with_columns(graded)
    return frames.qrels_of(rows, name, Place(label).label)


def _grade_of(
    label: object, grades: Mapping[str, float], source_name: str, line: int | None = None
) -> float:
    """The grade of a label.

    Raises:
        InputError: it has none.
    """
    text = "" if label is None else str(label)
    if text in grades:
        return float(grades[text])
    near = get_close_matches(text, grades, 1)
    hint = f"did you mean {near[0]}?" if near else f"grades has {', '.join(grades)}."
    raise InputError(
        f"the label {text!r} has no grade; {hint}", source=source_name, line=line,
        code="unknown-label",
    )  # fmt: skip


def _first_lines(texts: pl.Series, lines: pl.Series) -> list[int]:
    """The line on which each different text is first."""
    return lines.filter(texts.is_first_distinct()).to_list()


def _read(path: str | Path) -> tuple[str, str, pl.DataFrame]:
    """The name of a file for errors, the name of its judgments, and its rows.

    Raises:
        InputError: it is not a table.
    """
    form, location = registry.prefixed(path)
    file = source(location)
    suffixes = {*Path(location).suffixes}
    data = file.everything().removeprefix(BOM)
    try:
        if form == "parquet" or ".parquet" in suffixes:
            table = pl.read_parquet(io.BytesIO(data))
        elif {".jsonl", ".ndjson"} & suffixes:
            table = pl.read_ndjson(io.BytesIO(data))
        else:
            separator = "\t" if b"\t" in data.split(b"\n", 1)[0] else ","
            table = pl.read_csv(data, separator=separator, infer_schema=False)
    except pl.exceptions.PolarsError as error:
        problem = f"cannot be read as a table of labels: {str(error).splitlines()[0]}."
        raise InputError(problem, source=file.label, code="invalid-syntax") from None
    return file.label, file.stem, table
