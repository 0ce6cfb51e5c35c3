"""Scores of a learning-to-rank model: a number per line, for the rows of the file of judgments.

LightGBM, XGBoost, SVMrank and TensorFlow Ranking write a number per line; RankLib's ``-score``
writes query, number of the document and score.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from rankgate.core.errors import InputError
from rankgate.data.file_contents import FileContents
from rankgate.data.formats.format import Format
from rankgate.data.run import NO_QUERY, Run
from rankgate.data.table_rows import RowLocation
from rankgate.data.text.text_values import BOM, decode_utf8, number_fault

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rankgate.data.streams.source import InputFile


_NAME = "model-scores"
_PIECE = 1 << 20  # bytes of one piece, in which each line is an object of Python
_MAX_NUMBER_LENGTH = 40  # characters of a number
_COLUMN_COUNTS = (1, 3)  # the score alone; RankLib's query, document and score
_RANKLIB = re.compile(rb"(\S+)\t(\d+)\t[-+.\dEe]+")


def sniff(first_bytes: bytes, name: str) -> str | None:
    """The first line holds only a number, or all lines have RankLib's format."""
    if _is_ranklib(first_bytes):
        return "lines of a query, the number of its document from 0 and a score"
    first_line = next((line for line in first_bytes.removeprefix(BOM).splitlines() if line.strip()), b"")
    text = first_line.decode(errors="replace").strip()
    is_number = len(text) <= _MAX_NUMBER_LENGTH and not number_fault(text, "score")
    return "the first line is one number" if is_number else None


def _is_ranklib(first_bytes: bytes) -> bool:
    """True if documents are numbered from 0 in each query, as in RankLib's ``-score``."""
    lines = [line for line in first_bytes[: first_bytes.rfind(b"\n") + 1].splitlines() if line.strip()]
    query, expected = b"", 0
    for line in lines:
        match = _RANKLIB.fullmatch(line.rstrip())
        if not match:
            return False
        expected = expected + 1 if match[1] == query else 0
        query = match[1]
        if int(match[2]) != expected:
            return False
    return len(lines) > 1


def read_run(source: InputFile) -> Run:
    """A run by row: ids are row numbers until it is joined with its judgments."""
    return Run(source.stem, partial(_read_scores, source), place=RowLocation(source.label), by_row=True)


def read(source: InputFile) -> FileContents:
    """The run alone."""
    return FileContents(runs=(read_run(source),))


def _read_scores(source: InputFile) -> Iterator[pl.DataFrame]:
    line, rows, last_document = 1, 0, ("", -1)
    for data in source.chunks(_PIECE):
        text = decode_utf8(data.removeprefix(BOM) if line == 1 else data, source.label, line)
        lines = pl.Series("line", text.replace("\r\n", "\n").split("\n"), pl.String)
        offsets = np.flatnonzero((lines.str.strip_chars() != "").to_numpy())
        fields = lines.gather(offsets).str.strip_chars().str.replace_all(r"\s+", " ").str.split(" ")
        score = fields.list.last().cast(pl.Float64, strict=False)
        is_wrong = ~(fields.list.len().is_in(_COLUMN_COUNTS) & score.is_finite().fill_null(value=False))
        if is_wrong.any():
            row = int(is_wrong.arg_max() or 0)
            score_text = fields.list.last()[row][:40]
            problem = number_fault(score_text, "score") or (
                f"'{' '.join(fields[row])[:40]}', expected a score, or query, document and score."
            )
            raise InputError(problem, source=source.label, line=line + int(offsets[row]), code="not-a-number")
        row_numbers = pl.Series("doc_id", np.arange(rows + 1, rows + 1 + len(offsets))).cast(pl.String)
        query_ids = pl.repeat(NO_QUERY, len(offsets), eager=True, dtype=pl.String).alias("query_id")
        is_numbered = (fields.list.len() == _COLUMN_COUNTS[1]).to_numpy()
        if is_numbered.any():
            query_ids = fields.list.first().alias("query_id")
            last_document = _refuse_gaps(fields, last_document, source.label, line + offsets)
        yield pl.DataFrame([query_ids, row_numbers, score.alias("score")])
        line, rows = line + data.count(b"\n"), rows + len(offsets)


def _refuse_gaps(
    field_lists: pl.Series, last_document: tuple[str, int], label: str, lines: NDArray[np.int64]
) -> tuple[str, int]:
    """Check that RankLib numbers the documents of each query from 0, in the order of features.

    Returns:
        The query and the number of the last row, for the next piece of the file.

    Raises:
        InputError: a row has another shape than the other rows, or an unexpected number.
    """
    for row, row_fields in enumerate(field_lists.to_list()):
        expected = last_document[1] + 1 if row_fields[0] == last_document[0] else 0
        if len(row_fields) != _COLUMN_COUNTS[1] or row_fields[1] != str(expected):
            problem = (
                f"{' '.join(row_fields)[:40]!r}, expected query, document {expected} and score: documents "
                "are numbered from 0 in each query, in the order of the features; keep the order in which "
                "RankLib wrote them."
            )
            raise InputError(problem, source=label, line=int(lines[row]), code="wrong-order")
        last_document = row_fields[0], expected
    return last_document


FORMAT = Format(
    name=_NAME,
    title="scores of a learning-to-rank model (LightGBM, XGBoost, SVMrank, RankLib)",
    suffixes=(".scores", ".txt"),
    sniff=sniff,
    read=read,
    read_run=read_run,
    holds=("runs",),
    detail=(
        "A number a line: the scores that a model gives to the rows of a file of features, in the order of "
        "that file, which is the judgments then: rankgate eval test.svmlight model.txt. RankLib's -score "
        "files (query, number of the document from 0, score) must have the queries of the judgments, row by "
        "row; model-scores:FILE names the format. The number of lines must equal the number of judgments."
    ),
)
