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
from rankgate.data.table_rows import range_starts

if TYPE_CHECKING:
    from rankgate.data.file_contents import FileContents
    from rankgate.data.qrels import Qrels
    from rankgate.data.run import Run


_INVALID_CHARACTERS = r"^[#\x{FEFF}]|[\x00-\x20\x7F]"  # blanks end a field; a line with # is a comment
_REPLACEMENT = "_"
_EXAMPLES = 3
_ROWS_PER_WRITE = 1 << 20  # rows to write at one time, or one query with more rows


def write(contents: FileContents, out: BinaryIO) -> tuple[Loss, ...]:
    """Write the judgments if there are any, else the first run.

    Blanks in ids become ``_``, which is reported as a loss.

    Raises:
        InputError: two ids would become equal.
        UsageError: there are neither judgments nor a run.
        ScatteredError: see the run's batches.
    """
    part_name, lost = schemas.choose_part(contents, ("qrels", "runs"), columns=())
    fitted_ids = _WritableIds()
    if part_name == "qrels" and contents.qrels:
        frames = _qrels_frames(contents.qrels)
    else:
        run = contents.runs[0]
        lost = (*contents.losses("runs", runs=1), *schemas.run_losses(run, tag=True))
        frames = _run_frames(run)
    for frame in frames:
        table = fitted_ids.fitted(frame)
        table.write_csv(out, include_header=False, separator=" ", quote_style="never")
    return (*lost, *fitted_ids.losses())


def write_judgments(
    contents: FileContents, out: BinaryIO, fields: Sequence[str | pl.Expr], kept_columns: Sequence[str] = ()
) -> tuple[Loss, ...]:
    """Write judgments with fields other than TREC's, separated by blanks.

    Args:
        contents: the content to write.
        out: the output stream.
        fields: the columns of a line, out of those of the judgments.
        kept_columns: the optional columns among them.

    Raises:
        InputError: there are no documents, or two ids would become equal.
    """
    qrels = contents.judgments("")
    fitted_ids = _WritableIds()
    table = fitted_ids.fitted(qrels.table).select(fields)
    table.write_csv(out, include_header=False, separator=" ", quote_style="never")
    lost = (*contents.losses("qrels"), *schemas.qrels_losses(qrels, kept_columns))
    return (*lost, *fitted_ids.losses())


def _qrels_frames(qrels: Qrels) -> Iterator[pl.DataFrame]:
    grade = schemas.grade_expression(qrels.table)
    for frame in _slice_queries(qrels.table):
        yield frame.select("query_id", pl.lit("0").alias("iteration"), "doc_id", grade)


def _slice_queries(table: pl.DataFrame) -> Iterator[pl.DataFrame]:
    """Batches of whole queries; all rows at once if the rows of a query are scattered."""
    starts = range_starts(table["query_id"])
    if table["query_id"].gather(starts).n_unique() < len(starts):
        yield table
        return
    slice_starts = starts[np.searchsorted(starts, np.arange(0, len(table), _ROWS_PER_WRITE))[1:] - 1]
    slice_ends = [*np.unique(slice_starts[slice_starts > 0]).tolist(), len(table)]
    for begin, end in pairwise([0, *slice_ends]):
        yield table.slice(begin, end - begin)


def _run_frames(run: Run) -> Iterator[pl.DataFrame]:
    """Rows in the order of the run; ranks follow the score, then the order of rows."""
    tag = pl.Series([run.tag or run.name]).str.replace_all(_INVALID_CHARACTERS, _REPLACEMENT).item()
    rank = pl.col("score").rank("ordinal", descending=True).over("query_id").alias("rank")
    for batch in run.batches():
        yield batch.frame.select(
            "query_id", pl.lit("Q0").alias("Q0"), "doc_id", rank, "score", pl.lit(tag or "run").alias("tag")
        )


class _WritableIds:
    """Ids that the format can express, and the changes that were needed."""

    def __init__(self) -> None:
        self._queries: dict[str, str] = {}
        self._written: set[str] = set()
        self._documents = 0
        self._shown: list[str] = []
        self._rows = 0

    def fitted(self, frame: pl.DataFrame) -> pl.DataFrame:
        """A batch of whole queries with ids that can be written.

        Raises:
            InputError: two ids of queries, or of documents of one query, would become equal.
        """
        ids = pl.col("query_id", "doc_id")
        fitted = frame.with_columns(ids.str.replace_all(_INVALID_CHARACTERS, _REPLACEMENT))
        names = pl.DataFrame([frame["query_id"].alias("given"), fitted["query_id"].alias("written")])
        for old, new in names.unique(maintain_order=True).iter_rows():
            if new in self._written:
                raise _merged_id_error("query_id", old, new)
            self._written.add(new)
            if old != new:
                self._queries[old] = new
        is_changed = frame["doc_id"] != fitted["doc_id"]
        if is_changed.any():
            keys = [name for name in ("query_id", "doc_id", "subtopic") if name in frame.columns]
            pairs = fitted.select(keys)
            if pairs.is_duplicated().any():
                row = int(pairs.is_duplicated().arg_max() or 0)
                raise _merged_id_error("doc_id", frame["doc_id"][row], fitted["doc_id"][row])
            self._documents += int(is_changed.sum())
            examples = frame["doc_id"].filter(is_changed).head(_EXAMPLES - len(self._shown))
            self._shown += examples.to_list()
        return fitted

    def losses(self) -> Iterator[Loss]:
        """The losses from changed ids."""
        loss_text = "query ids with blanks or signs that TREC cannot hold, written with _"
        yield from Loss.of(loss_text, map(repr, self._queries))
        if self._documents:
            loss_text = "rows with such a doc_id, written with _"
            yield Loss(loss_text, self._documents, tuple(map(repr, self._shown)))


def _merged_id_error(column: str, original_id: str, written_id: str) -> InputError:
    problem = (
        f"{column} {original_id!r} would be written as {written_id}, like another one; TREC ids have no "
        "blanks: choose csv or jsonl."
    )
    return InputError(problem, code="invalid-id")
