"""Scores of a model for learning to rank: a number a line, for the rows of the judgments' file.

LightGBM, XGBoost, SVMrank and TensorFlow Ranking write a number a line; RankLib's ``-score``
writes query, number of the document and score.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from rankgate.data.contents import FileContents
from rankgate.data.formats.format import Format
from rankgate.data.place import Place
from rankgate.data.run import Run
from rankgate.data.text.numbers import number_fault
from rankgate.data.text.utf8 import BOM, decoded
from rankgate.errors import InputError

if TYPE_CHECKING:
    from rankgate.data.streams.source import InputFile

_NAME = "model-scores"
_PIECE = 4 << 20
_LONGEST = 40  # characters of a number
_COLUMNS = (1, 3)  # the score alone; RankLib's query, document and score


def sniff(head: bytes, name: str) -> str | None:
    """The first line holds a number, and nothing else."""
    first = next((line for line in head.removeprefix(BOM).splitlines() if line.strip()), b"")
    text = first.decode(errors="replace").strip()
    one = len(text) <= _LONGEST and not number_fault(text, "score")
    return "the first line is one number" if one else None


def read_run(source: InputFile) -> Run:
    """A run by row: ids are numbers of rows until it meets its judgments."""
    return Run(source.stem, partial(_pieces, source), place=Place(source.label), by_row=True)


def read(source: InputFile) -> FileContents:
    """The run alone."""
    return FileContents(runs=(read_run(source),))


def _pieces(source: InputFile) -> Iterator[pl.DataFrame]:
    line, rows = 1, 0
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
        query = pl.repeat("row", len(at), eager=True, dtype=pl.String).alias("query_id")
        yield pl.DataFrame([query, number, score.alias("score")])
        line, rows = line + data.count(b"\n"), rows + len(at)


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
        "RankLib's -score files (query, number of the document, score) are read with "
        "model-scores:FILE. The number of lines must be that of the judgments."
    ),
)
