"""Grades from columns: texts of labels, and the aspects of a judgment."""

from __future__ import annotations

import csv
import io
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from difflib import get_close_matches
from typing import TYPE_CHECKING

import polars as pl

from rankgate.core.errors import InputError, UsageError
from rankgate.core.frozen import dataclass
from rankgate.data.column_names import match_columns
from rankgate.data.foreign_frames import missing_column_message
from rankgate.data.formats import registry
from rankgate.data.text.text_values import decode_utf8, number_fault

if TYPE_CHECKING:
    from rankgate.data.streams.source import InputFile


_WEIGHTED = re.compile(r"(?P<column>.+?):(?P<number>[0-9.]+)")
_DEMANDED = re.compile(r"(?P<column>[^<>=]+?)\s*(?:>=\s*(?P<number>-?[0-9.]+))?")


@dataclass(frozen=True)
class Aspects:
    """The rule that combines several columns into one grade.

    Attributes:
        columns: the names of the columns.
        numbers: the weight or the lowest grade of each column; None for no lowest grade.
        weighted: True if the numbers are weights.
    """

    columns: tuple[str, ...]
    numbers: tuple[float | None, ...]
    weighted: bool

    @classmethod
    def read(cls, text: str) -> Aspects:
        """Read ``relevance:0.7+freshness:0.3`` or ``relevance&trust>=1``.

        Raises:
            UsageError: the text has neither form, the weights add up to 0, or a column is repeated.
        """
        weighted = "&" not in text and ">=" not in text
        pattern = _WEIGHTED if weighted else _DEMANDED
        terms = [term.strip() for term in text.split("+" if weighted else "&")]
        matches = [pattern.fullmatch(term) for term in terms]
        numbers = [match and match["number"] for match in matches]
        if None in matches or any(
            number_text and _parse_number(number_text) is None for number_text in numbers
        ):
            problem = (
                f"columns: aspects={text} is not like relevance:0.7+freshness:0.3 (weights) or "
                "relevance&trust>=1 (demands)."
            )
            raise UsageError(problem, code="invalid-syntax")
        columns = tuple(match["column"].strip() for match in matches if match)
        values = tuple(_parse_number(number_text) if number_text else None for number_text in numbers)
        if len(set(columns)) < len(columns):
            problem = f"columns: aspects={text} names a column twice."
            raise UsageError(problem, code="duplicate-name")
        if weighted and not sum(number or 0 for number in values):
            problem = f"columns: the weights of aspects={text} add up to 0."
            raise UsageError(problem, code="not-a-number")
        return cls(columns, values, weighted)

    def grade(self, values: Sequence[float]) -> float:
        """The combined grade of a document.

        Args:
            values: the grades of the document, by column.

        >>> Aspects.read("relevance:3+freshness:1").grade([2, 0])
        1.5
        >>> Aspects.read("relevance&trust>=1").grade([2, 0])
        0.0
        """
        pairs = list(zip(values, self.numbers, strict=True))
        if self.weighted:
            weight_sum = sum(number or 0 for _, number in pairs)
            return sum(value * (number or 0) for value, number in pairs) / weight_sum
        if any(number is not None and value < number for value, number in pairs):
            return 0.0
        free_grades = [value for value, number in pairs if number is None]
        return float(min(free_grades)) if free_grades else 1.0

    def table(
        self,
        data: bytes,
        column_indexes: Mapping[str, tuple[int, ...]],
        names: Sequence[str],
        separator: str,
        input_file: InputFile,
    ) -> bytes:
        """Convert a CSV to one grade per row; a document without a grade in an aspect is unrated.

        Args:
            data: the file.
            column_indexes: our columns and their indexes; ``aspects`` by column.
            names: the columns of the file.
            separator: the text between the fields.
            input_file: the file, for errors.

        Raises:
            InputError: a row has another length, or a grade is not a number; the message has the
                line.
        """
        from rankgate.data.text.spreadsheet_cells import number_rows, require_width

        single = [name for name in column_indexes if name != "aspects"]
        out = io.StringIO()
        write_row = csv.writer(out, lineterminator="\n").writerow
        write_row([*single, "grade"])
        rows = number_rows(decode_utf8(data, input_file.label), separator)
        next(rows)
        for line, fields in require_width(rows, len(names), input_file.label):
            cells = [fields[i].strip() for i in column_indexes["aspects"]]
            for cell, i in zip(cells, column_indexes["aspects"], strict=True):
                if cell and (fault := number_fault(cell, names[i])):
                    raise InputError(fault, source=input_file.label, line=line, code="not-a-number")
            grade = repr(self.grade([float(cell) for cell in cells])) if all(cells) else ""
            write_row([*(fields[column_indexes[name][0]] for name in single), grade])
        return out.getvalue().encode()

    def framed(self, frame: pl.DataFrame) -> pl.DataFrame:
        """A frame with a column ``grade``; rows without a grade in an aspect are left out."""
        import polars as pl

        rows = frame.drop_nulls(list(self.columns))
        columns = [rows[name].cast(pl.Float64).to_list() for name in self.columns]
        grades = [self.grade(values) for values in zip(*columns, strict=True)]
        return rows.drop(self.columns).with_columns(pl.Series("grade", grades, dtype=pl.Float64))


def _parse_number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def map_labels(input_file: InputFile, format_name: str | None, grades: Mapping[str, float]) -> InputFile:
    """A table with grades instead of labels; a file without a column of labels is unchanged.

    Args:
        input_file: a file with our column names.
        format_name: the format of the file; detected from its contents if not given.
        grades: the grade of each label.

    Raises:
        InputError: a label has no grade; the message has file and line.
    """
    format_ = registry.find_format(format_name) if format_name else registry.detect_format(input_file)[0]
    if format_.table is None and ".csv" in format_.suffixes:  # a product's sheet, such as Quepid's
        format_ = registry.find_format("csv")
    if format_.table is None:
        return input_file
    table = format_.table(input_file)
    known_columns = match_columns(table.names, ("query_id", "doc_id", "grade"))
    if len(known_columns) < 3:
        return input_file
    has_lines = format_.name in {"csv", "tsv"}
    graded = map_label_column(table.frame().collect(), grades, input_file.label, lines=has_lines)
    if not has_lines:
        from rankgate.data.formats.tables.parquet_arrow import file_of

        return file_of(graded, input_file)
    return replace(input_file, content=graded.write_csv().encode())  # one line per row, for errors


def map_label_column(
    table: pl.DataFrame, grades: Mapping[str, float], label: str, *, lines: bool
) -> pl.DataFrame:
    """The table with the grade of each label; null for an empty label.

    Raises:
        InputError: a label has no grade, or there is no column of labels.
    """
    grade_column = match_columns(table.columns, ("grade",)).get("grade")
    if grade_column is None:
        problem = missing_column_message("grade", table.columns)
        raise InputError(problem, source=label, line=1, code="missing-column")
    texts = table[grade_column].cast(pl.String).str.strip_chars().replace("", None)
    rows = pl.int_range(2, len(table) + 2, eager=True)
    is_first = texts.is_first_distinct() & texts.is_not_null()
    for text, row in zip(texts.filter(is_first), rows.filter(is_first), strict=True):
        label_grade(text, grades, label, row if lines else None)
    grade_by_label = {text: label_grade(text, grades, label) for text in grades}
    graded = texts.replace_strict(grade_by_label, default=None, return_dtype=pl.Float64).alias(grade_column)
    return table.with_columns(graded)


def label_grade(
    label: object, grades: Mapping[str, float], source_name: str, line: int | None = None
) -> float | None:
    """The grade of a label; None for a label that means unrated.

    Raises:
        InputError: the label has no grade.
    """
    text = "" if label is None else str(label)
    if text in grades:
        return None if math.isnan(grades[text]) else float(grades[text])
    close_labels = get_close_matches(text, grades, 1)
    hint = f"did you mean {close_labels[0]}?" if close_labels else f"grades has {', '.join(grades)}."
    problem = f"the label {text!r} has no grade; {hint}"
    raise InputError(problem, source=source_name, line=line, code="unknown-label")
