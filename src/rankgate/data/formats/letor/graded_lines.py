"""Files for learning to rank, line by line: a grade, a query, what follows, and a comment."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from rankgate.core.errors import InputError
from rankgate.core.frozen import dataclass
from rankgate.data.text.numbers import number_fault
from rankgate.data.text.utf8 import BOM, decoded

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rankgate.data.streams.source import InputFile

_PIECE = 4 << 20  # bytes taken apart at one time, and the longest line
_SHOWN = 40


@dataclass(frozen=True)
class GradedLines:
    """The lines of a file that hold a grade.

    Attributes:
        rows: the groups of the pattern as columns of strings, ``grade`` as numbers.
        at: ``(n,)``, the line that each row is on.
        comments: the lines that begin with ``#``.
    """

    rows: pl.DataFrame
    at: NDArray[np.int64]
    comments: pl.Series


def graded_lines(
    source: InputFile, pattern: str, example: str, without: Sequence[str] = ()
) -> GradedLines:
    """Take the lines of a file apart; blank lines and comments hold no grade.

    Args:
        source: the file.
        pattern: what a line is, with named groups, of which one is ``grade``.
        example: a line as it should be, for the error.
        without: groups that are not kept.

    Raises:
        InputError: a line of another shape, a grade that is not a finite number, text that is not
            UTF-8; with the line.
    """
    pieces = list(_pieces(source, pattern, example, without))
    if not pieces:
        problem = "the file is empty; check whether it was written completely."
        raise InputError(problem, source=source.label, code="empty-file")
    return GradedLines(
        pl.concat([piece.rows for piece in pieces]),
        np.concatenate([piece.at for piece in pieces]),
        pl.concat([piece.comments for piece in pieces]),
    )


def _pieces(
    source: InputFile, pattern: str, example: str, without: Sequence[str]
) -> Iterator[GradedLines]:
    line = 1
    for data in source.chunks(_PIECE):
        if line > 1 and data.isspace():  # nothing but blank lines, however many
            line += data.count(b"\n")
            continue
        text = decoded(data.removeprefix(BOM) if line == 1 else data, source.label, line)
        lines = pl.Series("line", text.replace("\r\n", "\n").split("\n"), pl.String)
        comment = lines.str.contains(r"^\s*#")
        at = np.flatnonzero((~(comment | (lines.str.strip_chars() == ""))).to_numpy())
        body = lines.gather(at)
        rows = pl.DataFrame(body.str.extract_groups(pattern)).unnest("line")
        rows = _numbered(rows, body, at + line, source, example)
        yield GradedLines(rows.drop(without), at + line, lines.filter(comment))
        line += data.count(b"\n")


def _numbered(
    rows: pl.DataFrame, body: pl.Series, at: NDArray[np.int64], source: InputFile, example: str
) -> pl.DataFrame:
    """The rows with their grades as numbers."""
    strange = rows["grade"].is_null()
    if strange.any():
        row = int(strange.arg_max() or 0)
        problem = f"'{body[row][:_SHOWN]}', expected a line such as {example}."
        raise InputError(problem, source=source.label, line=int(at[row]), code="invalid-syntax")
    number = rows["grade"].cast(pl.Float64, strict=False)
    wrong = ~number.is_finite().fill_null(value=False)
    if wrong.any():
        row = int(wrong.arg_max() or 0)
        shown = rows["grade"][row][:_SHOWN]
        problem = number_fault(shown, "grade") or f"grade {shown} is not a finite number."
        raise InputError(problem, source=source.label, line=int(at[row]), code="not-a-number")
    return rows.with_columns(number)
