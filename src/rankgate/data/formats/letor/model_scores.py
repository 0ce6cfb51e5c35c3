"""Scores of a model for learning to rank: a number a line, for the rows of the judgments' file.

LightGBM, XGBoost, SVMrank and TensorFlow Ranking write a number a line; RankLib's ``-score``
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
from rankgate.data.contents import FileContents
from rankgate.data.formats.format import Format
from rankgate.data.place import Place
from rankgate.data.run import NO_QUERY, Run
from rankgate.data.text.numbers import number_fault
from rankgate.data.text.utf8 import BOM, decoded

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rankgate.data.streams.source import InputFile

_NAME = "model-scores"
_PIECE = 4 << 20
_LONGEST = 40  # characters of a number
_COLUMNS = (1, 3)  # the score alone; RankLib's query, document and score
_RANKLIB = re.compile(rb"(\S+)\t(\d+)\t[-+.\dEe]+")


def sniff(head: bytes, name: str) -> str | None:
    """The first line holds a number and nothing else, or all lines are those of RankLib."""
    if _of_ranklib(head):
        return "lines of a query, the number of its document from 0 and a score"
    first = next((line for line in head.removeprefix(BOM).splitlines() if line.strip()), b"")
    text = first.decode(errors="replace").strip()
    one = len(text) <= _LONGEST and not number_fault(text, "score")
    return "the first line is one number" if one else None


def _of_ranklib(head: bytes) -> bool:
    """True if documents are numbered from 0 in each query, as in RankLib's ``-score``."""
    lines = [line for line in head[: head.rfind(b"\n") + 1].splitlines() if line.strip()]
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
    """A run by row: ids are numbers of rows until it meets its judgments."""
    return Run(source.stem, partial(_pieces, source), place=Place(source.label), by_row=True)


def read(source: InputFile) -> FileContents:
    """The run alone."""
    return FileContents(runs=(read_run(source),))


def _pieces(source: InputFile) -> Iterator[pl.DataFrame]:
    line, rows, last = 1, 0, ("", -1)
    for data in source.chunks(_PIECE):
        text = decoded(data.removeprefix(BOM) if line == 1 else data, source.label, line)
        lines = pl.Series("line", text.replace("\r\n", "\n").split("\n"), pl.String)
        at = np.flatnonzero((lines.str.strip_chars() != "").to_numpy())
        words = lines.gather(at).str.strip_chars().str.replace_all(r"\s+", " ").str.split(" ")
        score = words.list.last().cast(pl.Float64, strict=False)
        wrong = ~(words.list.len().is_in(_COLUMNS) & score.is_finite().fill_null(value=False))
        if wrong.any():
            row = int(wrong.arg_max() or 0)
            shown = words.list.last()[row][:40]
            problem = number_fault(shown, "score") or (
                f"'{' '.join(words[row])[:40]}', expected a score, or query, document and score."
            )
            raise InputError(
                problem, source=source.label, line=line + int(at[row]), code="not-a-number"
            )
        number = pl.Series("doc_id", np.arange(rows + 1, rows + 1 + len(at))).cast(pl.String)
        query = pl.repeat(NO_QUERY, len(at), eager=True, dtype=pl.String).alias("query_id")
        numbered = (words.list.len() == _COLUMNS[1]).to_numpy()
        if numbered.any():
            query = words.list.first().alias("query_id")
            last = _refuse_gaps(words, last, source.label, line + at)
        yield pl.DataFrame([query, number, score.alias("score")])
        line, rows = line + data.count(b"\n"), rows + len(at)


def _refuse_gaps(
    words: pl.Series, last: tuple[str, int], label: str, lines: NDArray[np.int64]
) -> tuple[str, int]:
    """Documents of RankLib are numbered from 0 in each query, in the order of the features.

    Returns:
        The query and the number of the last row, for the next piece of the file.

    Raises:
        InputError: a row of another shape than the others, or another number.
    """
    for row, fields in enumerate(words.to_list()):
        expected = last[1] + 1 if fields[0] == last[0] else 0
        if len(fields) != _COLUMNS[1] or fields[1] != str(expected):
            problem = (
                f"{' '.join(fields)[:40]!r}, expected query, document {expected} and score: "
                "documents are numbered from 0 in each query, in the order of the features; keep "
                "the order in which RankLib wrote them."
            )
            raise InputError(problem, source=label, line=int(lines[row]), code="wrong-order")
        last = fields[0], expected
    return last


FORMAT = Format(
    name=_NAME,
    title="scores of a learning-to-rank model (LightGBM, XGBoost, SVMrank, RankLib)",
    suffixes=(".scores", ".txt"),
    sniff=sniff,
    read=read,
    read_run=read_run,
    holds=("runs",),
    detail=(
        "A number a line: the scores that a model gives to the rows of a file of features, in the "
        "order of that file, which is the judgments then: rankgate eval test.svmlight model.txt. "
        "RankLib's -score files (query, number of the document from 0, score) must have the "
        "queries of the judgments, row by row; model-scores:FILE names the format. The number of "
        "lines must be that of the judgments."
    ),
)
