"""Write TREC qrels and runs; report ids that had to be changed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, BinaryIO

import numpy as np
import polars as pl

from rankgate.core.errors import InputError
from rankgate.data.formats.format import Loss
from rankgate.data.formats.tables import schemas
from rankgate.data.stretches import starts_of

if TYPE_CHECKING:
    from rankgate.data.contents import FileContents
    from rankgate.data.qrels import Qrels
    from rankgate.data.run import Run

_UNHELD = r"^[#\x{FEFF}]|[\x00-\x20\x7F]"  # blanks end a field; a line with # is a comment
_INSTEAD = "_"
_EXAMPLES = 3
_PIECE = 1 << 20  # rows written at one time, or one query that has more


def write(contents: FileContents, out: BinaryIO) -> tuple[Loss, ...]:
    """The judgments if there are any, else the first run.

    Blanks in ids become ``_``, which is reported as a loss.

    Raises:
        InputError: two ids that would become one.
        UsageError: neither judgments nor a run.
        ScatteredError: as of the run's batches.
    """
    part, lost = schemas.chosen(contents, ("qrels", "runs"), columns=())
    content = _Held()
    if part == "qrels" and contents.qrels:
        frames = _judged(contents.qrels)
    else:
        run = contents.runs[0]
        lost = (*contents.losses("runs", runs=1), *schemas.run_losses(run, tag=True))
        frames = _ranked(run)
    for frame in frames:
        table = content.fitted(frame)
        table.write_csv(out, include_header=False, separator=" ", quote_style="never")
    return (*lost, *content.losses())


def judgments(
    contents: FileContents, out: BinaryIO, fields: Sequence[str | pl.Expr], kept: Sequence[str] = ()
) -> tuple[Loss, ...]:
    """The judgments in fields of their own, between blanks.

    Args:
        contents: what is written.
        out: where to.
        fields: the columns of a line, from those of the judgments.
        kept: the columns among them that few judgments have.

    Raises:
        InputError: there are none, or two ids that would become one.
    """
    qrels = contents.judgments("")
    content = _Held()
    table = content.fitted(qrels.table).select(fields)
    table.write_csv(out, include_header=False, separator=" ", quote_style="never")
    lost = (*contents.losses("qrels"), *schemas.qrels_losses(qrels, kept))
    return (*lost, *content.losses())


def _judged(qrels: Qrels) -> Iterator[pl.DataFrame]:
    grade = schemas.whole(qrels.table)
    for frame in _pieces(qrels.table):
        yield frame.select("query_id", pl.lit("0").alias("iteration"), "doc_id", grade)


def _pieces(table: pl.DataFrame) -> Iterator[pl.DataFrame]:
    """The rows, some whole queries at a time; all at once where the rows of a query are apart."""
    starts = starts_of(table["query_id"])
    if table["query_id"].gather(starts).n_unique() < len(starts):
        yield table
        return
    cuts = starts[np.searchsorted(starts, np.arange(0, len(table), _PIECE))[1:] - 1]
    ends = [*np.unique(cuts[cuts > 0]).tolist(), len(table)]
    for begin, end in pairwise([0, *ends]):
        yield table.slice(begin, end - begin)


def _ranked(run: Run) -> Iterator[pl.DataFrame]:
    """Rows in the run's order; ranks follow the score, and the order of rows where it ties."""
    tag = pl.Series([run.tag or run.name]).str.replace_all(_UNHELD, _INSTEAD).item()
    rank = pl.col("score").rank("ordinal", descending=True).over("query_id").alias("rank")
    for batch in run.batches():
        yield batch.frame.select(
            "query_id",
            pl.lit("Q0").alias("Q0"),
            "doc_id",
            rank,
            "score",
            pl.lit(tag or "run").alias("tag"),
        )


class _Held:
    """Ids that the format can express, and the changes made for it."""

    def __init__(self) -> None:
        self._queries: dict[str, str] = {}
        self._written: set[str] = set()
        self._documents = 0
        self._shown: list[str] = []
        self._rows = 0

    def fitted(self, frame: pl.DataFrame) -> pl.DataFrame:
        """A batch of whole queries with ids that can be written.

        Raises:
            InputError: two ids of queries, or of documents of one query, that become one.
        """
        ids = pl.col("query_id", "doc_id")
        fitted = frame.with_columns(ids.str.replace_all(_UNHELD, _INSTEAD))
        self._note_queries(frame["query_id"], fitted["query_id"])
        changed = frame["doc_id"] != fitted["doc_id"]
        if changed.any():
            keys = [name for name in ("query_id", "doc_id", "subtopic") if name in frame.columns]
            both = fitted.select(keys)
            if both.is_duplicated().any():
                row = int(both.is_duplicated().arg_max() or 0)
                raise _merged("doc_id", frame["doc_id"][row], fitted["doc_id"][row])
            self._documents += int(changed.sum())
            shown = frame["doc_id"].filter(changed).head(_EXAMPLES - len(self._shown))
            self._shown += shown.to_list()
        return fitted

    def _note_queries(self, given: pl.Series, written: pl.Series) -> None:
        names = pl.DataFrame([given.alias("given"), written.alias("written")])
        for old, new in names.unique(maintain_order=True).iter_rows():
            if new in self._written:
                raise _merged("query_id", old, new)
            self._written.add(new)
            if old != new:
                self._queries[old] = new

    def losses(self) -> Iterator[Loss]:
        """What was changed."""
        words = "query ids with blanks or signs that TREC cannot hold, written with _"
        yield from Loss.of(words, map(repr, self._queries))
        if self._documents:
            words = "rows with such a doc_id, written with _"
            yield Loss(words, self._documents, tuple(map(repr, self._shown)))


def _merged(column: str, given: str, written: str) -> InputError:
    problem = (
        f"{column} {given!r} would be written as {written}, which another one is; "
        "TREC ids have no blanks: choose csv or jsonl."
    )
    return InputError(problem, code="invalid-id")
