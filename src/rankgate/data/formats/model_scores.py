"""Scores of a learning-to-rank model: a number per line, for the rows of the file of judgments.

LightGBM, XGBoost, SVMrank and TensorFlow Ranking write a number per line; RankLib's ``-score``
writes query, number of the document and score.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING

import polars as pl

from rankgate.core.errors import InputError
from rankgate.data.file_contents import FileContents
from rankgate.data.formats.format import Format
from rankgate.data.formats.learning_to_rank import read_lines
from rankgate.data.run import NO_QUERY, Run
from rankgate.data.table_rows import RowLocation
from rankgate.data.text.text_values import BOM, number_fault

if TYPE_CHECKING:
    from rankgate.data.streams.source import InputFile


_NAME = "model-scores"
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


def read(source: InputFile) -> FileContents:
    """A run by row: ids are row numbers until it is joined with its judgments."""
    run = Run(source.stem, partial(_read_scores, source), place=RowLocation(source.label), by_row=True)
    return FileContents(runs=(run,))


def _read_scores(source: InputFile) -> Iterator[pl.DataFrame]:
    row_count, last_document = 0, ("", -1)
    for lines in read_lines(source):
        fields = pl.col("line").str.strip_chars().str.replace_all(r"\s+", " ").str.split(" ")
        score, field_count = (
            pl.col("fields").list.last().cast(pl.Float64, strict=False),
            pl.col("fields").list.len(),
        )
        rows = lines.with_columns(fields=fields).with_columns(score=score, count=field_count)
        is_number = pl.col("score").is_finite().fill_null(value=False)
        wrong_rows = rows.filter(~(is_number & pl.col("count").is_in(_COLUMN_COUNTS)))
        if len(wrong_rows):
            line, texts = wrong_rows.select("at", "fields").row(0)
            problem = number_fault(texts[-1][:40], "score") or (
                f"'{' '.join(texts)[:40]}', expected a score, or query, document and score."
            )
            raise InputError(problem, source=source.label, line=line, code="not-a-number")
        query = pl.lit(NO_QUERY)
        if (rows["count"] == _COLUMN_COUNTS[1]).any():
            query = pl.col("fields").list.first()
            last_document = _refuse_gaps(rows, last_document, source.label)
        row_number = pl.int_range(row_count + 1, row_count + len(rows) + 1).cast(pl.String)
        yield rows.select(query_id=query, doc_id=row_number, score="score")
        row_count += len(rows)


def _refuse_gaps(rows: pl.DataFrame, last_document: tuple[str, int], label: str) -> tuple[str, int]:
    """Check that RankLib numbers the documents of each query from 0, in the order of features.

    Returns:
        The query and the number of the last row, for the next piece of the file.

    Raises:
        InputError: a row has another shape than the other rows, or an unexpected number.
    """
    for line, fields in rows.select("at", "fields").iter_rows():
        expected = last_document[1] + 1 if fields[0] == last_document[0] else 0
        if len(fields) != _COLUMN_COUNTS[1] or fields[1] != str(expected):
            problem = (
                f"{' '.join(fields)[:40]!r}, expected query, document {expected} and score: documents "
                "are numbered from 0 in each query, in the order of the features; keep the order in which "
                "RankLib wrote them."
            )
            raise InputError(problem, source=label, line=line, code="wrong-order")
        last_document = fields[0], expected
    return last_document


FORMAT = Format(
    name=_NAME,
    title="scores of a learning-to-rank model (LightGBM, XGBoost, SVMrank, RankLib)",
    suffixes=(".scores", ".txt"),
    sniff=sniff,
    read=read,
    holds=("runs",),
    detail=(
        "A number a line: the scores that a model gives to the rows of a file of features, in the order of "
        "that file, which is the judgments then: rankgate eval test.svmlight model.txt. RankLib's -score "
        "files (query, number of the document from 0, score) must have the queries of the judgments, row by "
        "row; model-scores:FILE names the format. The number of lines must equal the number of judgments."
    ),
)
