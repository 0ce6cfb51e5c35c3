"""Grades from columns: texts of labels, the aspects of a judgment, and a column for each rater."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from typing import TYPE_CHECKING

import polars as pl

from rankgate.core.errors import InputError, UsageError
from rankgate.core.frozen import dataclass
from rankgate.data.column_names import match_columns
from rankgate.data.foreign_frames import missing_column_message
from rankgate.data.formats.table import parse_numbers
from rankgate.data.formats.tables.mapped_tables import DerivedTable
from rankgate.data.table_rows import blank_ids

if TYPE_CHECKING:
    from rankgate.data.formats.table import Table
    from rankgate.data.table_rows import RowLocation


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

    @property
    def grade(self) -> pl.Expr:
        """The combined grade of a row; null where an aspect has no grade.

        >>> frame = pl.DataFrame({"relevance": [2.0], "trust": [0.0]})
        >>> frame.select(Aspects.read("relevance:3+trust:1").grade).item()
        1.5
        >>> frame.select(Aspects.read("relevance&trust>=1").grade).item()
        0.0
        """
        numbers = dict(zip(self.columns, self.numbers, strict=True))
        if self.weighted:
            weighted_sum = sum(
                (pl.col(name) * (number or 0) for name, number in numbers.items()), start=pl.lit(0.0)
            )
            return (weighted_sum / sum(number or 0 for number in self.numbers)).alias("grade")
        free_columns = [name for name, number in numbers.items() if number is None]
        lowest = pl.min_horizontal(free_columns) if free_columns else pl.lit(1.0)
        is_missed = pl.any_horizontal(
            pl.lit(value=False),
            *(pl.col(name) < number for name, number in numbers.items() if number is not None),
        )
        is_empty = pl.any_horizontal(pl.col(self.columns).is_null())
        return (
            pl.when(is_empty).then(None).when(is_missed).then(0.0).otherwise(lowest.cast(pl.Float64))
        ).alias("grade")

    def table(self, table: Table, columns: Sequence[str]) -> Table:
        """The table with the column ``grade`` in place of its aspects.

        Args:
            table: the table.
            columns: the names that the aspects have in the table.

        Raises:
            InputError: a grade is not a number.
        """
        rows = _rows_with_numbers(table, columns)
        aspects = rows.select(
            pl.col(column).alias(name) for column, name in zip(columns, self.columns, strict=True)
        )
        return DerivedTable(table, rows.drop(columns).with_columns(aspects.select(self.grade).to_series()))


def melt_raters(table: Table, ids: Mapping[str, str], raters: Sequence[str]) -> Table:
    """One row per rating from a table with a column per rater; empty cells are not ratings.

    Args:
        table: the table.
        ids: our columns, and those of the table, that every rating keeps.
        raters: the columns of the raters.

    Raises:
        InputError: an id is empty, or a grade is not a number.
    """
    rows = _rows_with_numbers(table, raters)
    single_columns = [pl.col(column).cast(pl.String).alias(name) for name, column in ids.items()]
    for ids_of_rows in rows.select(single_columns):
        is_blank = blank_ids(ids_of_rows.fill_null(""))
        if ids_of_rows.name in {"query_id", "doc_id"} and is_blank.any():
            line = table.line(int(is_blank.arg_max() or 0))
            problem = f"{ids_of_rows.name} is empty."
            raise InputError(problem, source=table.source.label, line=line, code="empty-value")
    ratings = (
        rows.select(*single_columns, *raters)
        .with_row_index("row")
        .unpivot(raters, index=["row", *ids], variable_name="rater", value_name="grade")
        .drop_nulls("grade")
        .sort("row", maintain_order=True)
    )
    return DerivedTable(table, ratings.drop("row"), ratings["row"])


def _rows_with_numbers(table: Table, columns: Sequence[str]) -> pl.DataFrame:
    """All rows, with some columns as numbers.

    Raises:
        InputError: a text is not a number.
    """
    rows = table.frame().collect()
    return rows.with_columns(
        parse_numbers(column, table.location) if column.dtype == pl.String else column.cast(pl.Float64)
        for column in rows.select(columns)
    )


def _parse_number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def grade_labels(table: Table, grades: Mapping[str, float]) -> Table:
    """The table with the grade of each label; one without a column of labels is unchanged.

    Raises:
        InputError: a label has no grade; the message has file and line.
    """
    if len(match_columns(table.names, ("query_id", "doc_id", "grade"))) < 3:
        return table
    return DerivedTable(table, map_label_column(table.frame().collect(), grades, table.location))


def map_label_column(table: pl.DataFrame, grades: Mapping[str, float], location: RowLocation) -> pl.DataFrame:
    """The table with the grade of each label; null for an empty label.

    Raises:
        InputError: a label has no grade, or there is no column of labels.
    """
    grade_column = match_columns(table.columns, ("grade",)).get("grade")
    if grade_column is None:
        problem = missing_column_message("grade", table.columns)
        raise InputError(problem, source=location.label, code="missing-column")
    texts = table[grade_column].cast(pl.String).str.strip_chars().replace("", None)
    first_rows = (texts.is_first_distinct() & texts.is_not_null()).arg_true()
    grade_by_label = {
        text: label_grade(text, grades, location.label, location.line(row))
        for text, row in zip(texts[first_rows], first_rows, strict=True)
    }
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
