"""Files for learning to rank, line by line: a grade, a query, features, and a comment."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from rankgate.core.errors import InputError
from rankgate.core.frozen import dataclass
from rankgate.data.text.numbers import number_fault
from rankgate.data.text.utf8 import BOM, decode_utf8

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rankgate.data.streams.source import InputFile

_PIECE = 4 << 20  # bytes parsed at one time, and the longest line
_SHOWN = 40


@dataclass(frozen=True)
class GradedLines:
    """The lines of a file that hold a grade.

    Attributes:
        rows: the groups of the pattern as columns of strings, ``grade`` as numbers.
        at: ``(n,)``, the line of each row.
        comments: the lines that begin with ``#``.
    """

    rows: pl.DataFrame
    at: NDArray[np.int64]
    comments: pl.Series


def read_graded_lines(
    source: InputFile, pattern: str, example: str, dropped_groups: Sequence[str] = ()
) -> GradedLines:
    """Parse the lines of a file into groups; blank lines and comments hold no grade.

    Args:
        source: the file.
        pattern: the pattern of a line, with named groups, one of them ``grade``.
        example: a line as it should be, for the error.
        dropped_groups: groups that are dropped.

    Raises:
        InputError: a line of another shape, a grade that is not a finite number, text that is not
            UTF-8; with the line.
    """
    chunks = list(_parse_chunks(source, pattern, example, dropped_groups))
    if not chunks:
        problem = "the file is empty; check whether it was written completely."
        raise InputError(problem, source=source.label, code="empty-file")
    return GradedLines(
        pl.concat([chunk.rows for chunk in chunks]),
        np.concatenate([chunk.at for chunk in chunks]),
        pl.concat([chunk.comments for chunk in chunks]),
    )


def _parse_chunks(
    source: InputFile, pattern: str, example: str, dropped_groups: Sequence[str]
) -> Iterator[GradedLines]:
    line = 1
    for data in source.chunks(_PIECE):
        if line > 1 and data.isspace():  # only blank lines, however many
            line += data.count(b"\n")
            continue
        text = decode_utf8(data.removeprefix(BOM) if line == 1 else data, source.label, line)
        lines = pl.Series("line", text.replace("\r\n", "\n").split("\n"), pl.String)
        is_comment = lines.str.contains(r"^\s*#")
        offsets = np.flatnonzero((~(is_comment | (lines.str.strip_chars() == ""))).to_numpy())
        graded = lines.gather(offsets)
        rows = pl.DataFrame(graded.str.extract_groups(pattern)).unnest("line")
        rows = _parse_grades(rows, graded, offsets + line, source, example)
        yield GradedLines(rows.drop(dropped_groups), offsets + line, lines.filter(is_comment))
        line += data.count(b"\n")


def _parse_grades(
    rows: pl.DataFrame,
    graded: pl.Series,
    line_numbers: NDArray[np.int64],
    source: InputFile,
    example: str,
) -> pl.DataFrame:
    """The rows with their grades as numbers."""
    is_invalid = rows["grade"].is_null()
    if is_invalid.any():
        row = int(is_invalid.arg_max() or 0)
        problem = f"'{graded[row][:_SHOWN]}', expected a line such as {example}."
        raise InputError(
            problem, source=source.label, line=int(line_numbers[row]), code="invalid-syntax"
        )
    number = rows["grade"].cast(pl.Float64, strict=False)
    is_wrong = ~number.is_finite().fill_null(value=False)
    if is_wrong.any():
        row = int(is_wrong.arg_max() or 0)
        grade_text = rows["grade"][row][:_SHOWN]
        problem = number_fault(grade_text, "grade") or f"grade {grade_text} is not a finite number."
        raise InputError(
            problem, source=source.label, line=int(line_numbers[row]), code="not-a-number"
        )
    return rows.with_columns(number)
