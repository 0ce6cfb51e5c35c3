"""Tables whose grades are labels (Exact, Partial): each label becomes a grade."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from difflib import get_close_matches
from typing import TYPE_CHECKING

import polars as pl

from rankgate.core.errors import InputError
from rankgate.data.columns import map_columns, missing_column_message
from rankgate.data.formats import registry

if TYPE_CHECKING:
    from rankgate.data.streams.source import InputFile


def map_labels(
    input_file: InputFile, format_name: str | None, grades: Mapping[str, float]
) -> InputFile:
    """A table with grades in place of labels; a file without a column of labels is unchanged.

    Args:
        input_file: a file with our column names.
        format_name: its format; found by looking into it if not given.
        grades: the grade of each label.

    Raises:
        InputError: a label that has no grade; with file and line.
    """
    format_ = (
        registry.find_format(format_name) if format_name else registry.detect_format(input_file)[0]
    )
    if format_.table is None:
        return input_file
    frame = format_.table(input_file)
    names = frame.collect_schema().names()
    known_columns = map_columns(names, ("query_id", "doc_id", "grade"))
    if len(known_columns) < 3:
        return input_file
    has_lines = format_.name in {"csv", "tsv"}
    graded = map_label_column(frame.collect(), grades, input_file.label, lines=has_lines)
    if not has_lines:
        from rankgate.data.formats.tables.arrow import file_of

        return file_of(graded, input_file)
    return replace(input_file, content=graded.write_csv().encode())  # with its lines, for errors


def map_label_column(
    table: pl.DataFrame, grades: Mapping[str, float], label: str, *, lines: bool
) -> pl.DataFrame:
    """The table with the grade of each label; null for an empty label.

    Raises:
        InputError: a label that has no grade, no column of labels.
    """
    grade_column = map_columns(table.columns, ("grade",)).get("grade")
    if grade_column is None:
        problem = missing_column_message("grade", table.columns)
        raise InputError(problem, source=label, line=1, code="missing-column")
    texts = table[grade_column].cast(pl.String).str.strip_chars().replace("", None)
    rows = pl.int_range(2, len(table) + 2, eager=True)
    is_first = texts.is_first_distinct() & texts.is_not_null()
    for text, row in zip(texts.filter(is_first), rows.filter(is_first), strict=True):
        label_grade(text, grades, label, row if lines else None)
    grade_by_label = {text: float(grade) for text, grade in grades.items()}
    graded = texts.replace_strict(grade_by_label, default=None, return_dtype=pl.Float64).alias(
        grade_column
    )
    return table.with_columns(graded)


def label_grade(
    label: object, grades: Mapping[str, float], source_name: str, line: int | None = None
) -> float:
    """The grade of a label.

    Raises:
        InputError: it has none.
    """
    text = "" if label is None else str(label)
    if text in grades:
        return float(grades[text])
    close_labels = get_close_matches(text, grades, 1)
    hint = (
        f"did you mean {close_labels[0]}?" if close_labels else f"grades has {', '.join(grades)}."
    )
    problem = f"the label {text!r} has no grade; {hint}"
    raise InputError(problem, source=source_name, line=line, code="unknown-label")
