"""Rankings: the documents that a system returned for each query, with its scores."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from functools import cached_property
from itertools import chain
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypeVar

import numpy as np
import polars as pl

from rankgate.core.errors import DuplicateError, InputError
from rankgate.core.frozen import dataclass
from rankgate.core.present.columns import Column, Columns
from rankgate.core.present.common_columns import DOC_ID, QUERY_ID
from rankgate.core.present.number_formats import count_noun
from rankgate.data.foreign_frames import one_document_column
from rankgate.data.id_match import IdRules
from rankgate.data.streams.source import read_ahead
from rankgate.data.table_rows import (
    RowLocation,
    hash_pairs,
    no_rows_error,
    range_starts,
    refuse_duplicates,
    unique_range_starts,
)
from rankgate.data.text.text_values import refuse_surrogates

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(frozen=True)
class Rankings:
    """``{query_id: {doc_id: score}}``, in which a document cannot appear twice.

    Attributes:
        query_ids: the queries.
        rows: the documents of each query with scores.
        lengths: ``(T,)``, the number of documents of each query.
        scores: all scores, by query, in the order of the dictionaries.
    """

    query_ids: list[str]
    rows: list[Mapping[str, float]]
    lengths: NDArray[np.int64]
    scores: NDArray[np.float64]

    @classmethod
    def from_dict(
        cls, table: Mapping[Any, Mapping[Any, Any]], label: str, *, finite: bool = True
    ) -> Rankings:
        """Check a dictionary.

        Only one document id per query is checked, because dictionary keys are of one kind.

        Args:
            table: the dictionary.
            label: its name in errors.
            finite: True if a score that is not finite is an error.

        Raises:
            InputError: an id is not a string, or a score is not a finite number.
        """
        query_ids, rows = list(table), list(table.values())
        for query, row in zip(query_ids, rows, strict=True):
            if not isinstance(query, str) or not isinstance(next(iter(row), ""), str):
                problem = f"ids must be strings (query {query!r}); turn them into strings first."
                raise InputError(problem, source=label, code="invalid-id")
        refuse_surrogates(query_ids, label)
        lengths, scores = lengths_and_values(rows, "score", label)
        if finite and not (is_finite := np.isfinite(scores)).all():
            first_bad = int(np.argmin(is_finite))
            query = query_ids[int(np.searchsorted(np.cumsum(lengths), first_bad, side="right"))]
            problem = f"score {scores[first_bad]} of query '{query}' is not a finite number."
            raise InputError(problem, source=label, code="not-a-number")
        return cls(query_ids, rows, lengths, scores)


def lengths_and_values(
    rows: Sequence[Mapping[Any, float]], number: str, label: str
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """The lengths of dictionaries, and their values in order.

    Args:
        rows: the dictionaries.
        number: the name of a value in errors.
        label: the name of the source in errors.

    Raises:
        InputError: a value is not a number.
    """
    lengths = np.fromiter(map(len, rows), np.int64, len(rows))
    values = chain.from_iterable(row.values() for row in rows)
    try:
        return lengths, np.fromiter(values, np.float64, int(lengths.sum()))
    except (TypeError, ValueError, OverflowError) as error:
        raise InputError(f"a {number} is not a number: {error}.", source=label, code="not-a-number") from None


NUMBERED = "numbered-queries"
"""The code of the caution for a run without query ids, where queries are numbered."""

RUN_SCHEMA = Columns(
    "One row per document of a ranking.",
    QUERY_ID,
    DOC_ID,
    Column("score", pl.Float64, "the score of the system"),
)


Duplicates = Literal["error", "first", "last", "each", "place"]
"""The treatment of a document ranked twice for one query: an error, one of its rows, or each row;
or the first row counts, and the others keep their positions without effect."""


_MAX_DOCUMENTS = 16_000_000
"""Documents of one query at most, as they are in memory together."""

_ROWS_PER_SLICE = 1 << 18  # rows in a slice of a run in memory
_FLAG_BITS = 22  # bits of a query's hash
_NO_HASHES = np.zeros(0, np.uint64)


class ScatteredError(Exception):
    """The rows of a query are scattered in the file; the caller then reads all rows."""


NO_QUERY = "row"
"""The query id of rows from a model's scores, which have no queries."""


@dataclass(frozen=True)
class Batch:
    """The rows of whole queries.

    Attributes:
        frame: ``query_id``, ``doc_id``, ``score`` in file order.
        pairs: ``(n,)``, a hash of the query and document of each row.
        starts: ``(T,)``, the start of each query's rows, or None if they are scattered.
        ordered: as for the run.
    """

    frame: pl.DataFrame
    pairs: NDArray[np.uint64]
    starts: NDArray[np.int64] | None = None
    ordered: bool = True


Pieces: TypeAlias = "Callable[[], Iterator[pl.DataFrame]]"
"""A reader of the rows of a run from their beginning."""


@dataclass(frozen=True)
class Run:
    """One system's rankings; rows stay in their file until they are needed.

    Attributes:
        name: the file's name without folder, compression suffix and one known suffix.
        pieces: the rows as frames of ``query_id``, ``doc_id``, ``score``, in file order, ids
            there and scores finite; can be called again.
        tag: the name that a TREC file gives the run.
        rankings: the same as a dictionary, where it is one; quicker to score than its rows.
        queries: data about each query: ``query_id``, ``state`` and more.
        place: the location of the rows.
        ordered: True if the order of rows is a ranking, as in a file that a system wrote; rows of a
            matrix, a frame or a dictionary of scores are in any order.
        by_row: True if rows are those of the judgments' file in its order, as models write their
            scores; ids are then numbers of rows until `of_rows` replaces them.
        readings: the rows by the column of ids, where several columns could hold the ids of
            documents; judgments decide which does (`JudgmentIndex.ranked`).
        cautions: warnings about the reading of the rows, by code.
        corpus: facts about the searched corpus that a snapshot noted: ``documents``, ``state``,
            ``settings`` and ``changes`` of the index, and ``texts``, hashes of the texts of documents
            by hashes of ids; without those that are not known.
        earlier: a run of the same system at an earlier time, for metrics of stability.
        repeats: other rankings of a system that draws them, for expected exposure.
        noise: other answers of the same system to the same queries, which show its noise.
        seeds: the rankings of the same model, trained with other seeds.
        ids: the spellings that its ids have.
    """

    name: str
    pieces: Callable[[], Iterator[pl.DataFrame]]
    tag: str | None = None
    rankings: Rankings | None = None
    queries: pl.DataFrame | None = None
    place: RowLocation = field(default=RowLocation("run"))
    ordered: bool = True
    by_row: bool = False
    readings: Mapping[str, Pieces] = field(default_factory=dict)
    cautions: Mapping[str, str] = field(default_factory=dict)
    corpus: Mapping[str, Any] = field(default_factory=dict)
    earlier: Any = None
    repeats: tuple[Any, ...] = ()
    noise: tuple[Any, ...] = ()
    seeds: tuple[Any, ...] = ()
    ids: IdRules = IdRules()

    @classmethod
    def of_columns(cls, name: str, readings: Mapping[str, Pieces], **fields: Any) -> Run:
        """A run in a table in which one column or several could hold the ids of documents.

        Args:
            name: the name of the run.
            readings: the rows, by the column that the ids are taken from.
            fields: other fields of the run.
        """
        first_column, *other_columns = readings
        if not other_columns:
            return cls(name, readings[first_column], **fields)

        def pieces() -> Iterator[pl.DataFrame]:
            one_document_column(readings, fields["place"].label)
            yield from readings[first_column]()

        return cls(name, pieces, readings=readings, **fields)

    @cached_property
    def table(self) -> pl.DataFrame:
        """All rows, checked.

        Raises:
            InputError: no rows, a missing id, a score that is not finite.
            DuplicateError: a document ranked twice for one query.
        """
        frame = self._rows()
        starts = unique_range_starts(frame["query_id"])
        pairs = hash_pairs(frame, starts)
        refuse_duplicates(frame, pairs, word="ranked", place=self.place, starts=starts)
        self._refuse_nothing(len(frame))
        return frame

    @cached_property
    def sha256(self) -> str:
        """A hash of the canonical table: the same for the same rankings in any file."""
        from rankgate.data.table_rows import hash_table, sort_rankings

        return hash_table(sort_rankings(self.table))

    def batches(self, duplicates: Duplicates = "error") -> Iterator[Batch]:
        """Rows in batches of whole queries, checked, for files with adjacent rows of each query.

        Args:
            duplicates: the treatment of a document that is ranked twice.

        Raises:
            ScatteredError: a query comes back after others; use ``whole`` instead.
            InputError, DuplicateError: as ``table``.
        """
        seen_queries = _SeenQueries()
        pending, first_row = pl.DataFrame(schema=RUN_SCHEMA), 0
        for piece, is_last in self._pieces_with_end():
            frame = pl.concat([pending, piece], rechunk=False)
            starts = range_starts(frame["query_id"])
            end = len(frame) if is_last else int(starts[-1]) if len(starts) else 0
            pending = frame.slice(end)
            if len(pending) > _MAX_DOCUMENTS:
                problem = f"more than {_MAX_DOCUMENTS} documents for one query; no ranking is so long."
                raise InputError(problem, source=self.place.label, code="too-large")
            if not end:
                continue
            batch = frame.head(end)
            starts = starts[: np.searchsorted(starts, end)]
            if not seen_queries.add(batch["query_id"][starts].hash().to_numpy()):
                raise ScatteredError
            query_batch = Batch(batch, hash_pairs(batch, starts), starts, self.ordered)
            yield self._checked(query_batch, duplicates, first_row)
            first_row += end
        self._refuse_nothing(first_row)

    def whole(self, duplicates: Duplicates = "error") -> Batch:
        """All rows as one batch, for any order of rows; they are not kept."""
        checked_table = self.__dict__.get("table")  # checked already
        frame = self._rows() if checked_table is None else checked_table
        self._refuse_nothing(len(frame))
        pairs = np.concatenate(
            [hash_pairs(slice_) for slice_ in frame.iter_slices(_ROWS_PER_SLICE)] or [_NO_HASHES]
        )
        batch = Batch(frame, pairs, ordered=self.ordered)
        if duplicates == "error" and checked_table is not None:
            return batch
        return self._checked(batch, duplicates, 0)

    def over_queries(self, use: Callable[[Batches], _UseResult]) -> _UseResult:
        """Apply a function to batches; to all rows at once if a query's rows are scattered.

        Args:
            use: takes the function that reads batches, such as ``batches``.

        Raises:
            InputError, DuplicateError: as ``table``.
        """
        try:
            return use(self.batches)
        except ScatteredError:  # a query appeared again after others
            pass  # free the rows that the error holds before all rows are read again
        return use(lambda rule: (self.whole(duplicate_rule) for duplicate_rule in [rule]))  # which keeps none

    def of_rows(self, judged: pl.DataFrame) -> Run:
        """The run with the ids of judgments, where it has one score for each of their rows.

        Args:
            judged: ``query_id`` and ``doc_id``, in the order of the judgments' file.

        Raises:
            InputError: more scores than rows, or fewer; rows of other queries; no numbers.
        """
        if not self.by_row:
            return self
        scores = self.table["score"]
        if len(scores) != len(judged):
            problem = (
                f"{count_noun(len(scores), 'score')}, but the judgments have "
                f"{count_noun(len(judged), 'row')}; a model's scores need one line for each row of the file "
                "that it scored."
            )
            raise InputError(problem, source=self.place.label, code="wrong-shape")
        queries = self.table["query_id"]
        is_other_query = (queries != NO_QUERY) & (queries != judged["query_id"])
        if is_other_query.any():
            row = int(is_other_query.arg_max() or 0)
            problem = (
                f"row {row + 1} is of query '{queries[row]}', but of query '{judged['query_id'][row]}' in "
                f"the judgments; scores need the rows of the file that was scored, in its order."
            )
            raise InputError(problem, source=self.place.label, code="wrong-order")
        frame = judged.select("query_id", "doc_id").with_columns(scores)
        run = replace(self, pieces=lambda: frame.iter_slices(_ROWS_PER_SLICE), by_row=False)
        return replace(run, ordered=False)

    def together(self) -> Run:
        """The same run with the rows of each query adjacent, in memory."""
        first_row = pl.col("row").min().over("query_id")

        def pieces() -> Iterator[pl.DataFrame]:
            yield self.table.with_row_index("row").sort(first_row, "row").drop("row")

        return replace(self, pieces=pieces, readings={})

    @property
    def query_ids(self) -> pl.Series:
        """The queries that have rows, each once, even if a document is ranked twice."""
        return self._rows()["query_id"].unique()

    def in_memory(self, duplicates: Duplicates = "error") -> Run:
        """The same run in memory, for repeated reading.

        Args:
            duplicates: unless this is ``error``, rows of a document ranked twice remain, for
                ``batches`` to treat.

        Raises:
            InputError, DuplicateError: as ``table``.
        """
        table = self.table if duplicates == "error" else self.whole("each").frame
        run = replace(self, pieces=lambda: table.iter_slices(_ROWS_PER_SLICE), readings={})
        if duplicates == "error":
            run.__dict__["table"] = table  # equal to the effect of the cached property
        return run

    def _rows(self) -> pl.DataFrame:
        return pl.concat([pl.DataFrame(schema=RUN_SCHEMA), *read_ahead(self.pieces())], rechunk=False)

    def _pieces_with_end(self) -> Iterator[tuple[pl.DataFrame, bool]]:
        """Yield pieces, with True for the last; at the end of a file this is an empty piece.

        So the last query of a short run in memory is not a separate batch.
        """
        table = self.__dict__.get("table")  # checked already
        if table is not None and len(table) <= _ROWS_PER_SLICE:
            yield table, True
            return
        for piece in read_ahead(self.pieces()):
            yield piece, False
        yield pl.DataFrame(schema=RUN_SCHEMA), True

    def _checked(self, batch: Batch, duplicates: Duplicates, first_row: int) -> Batch:
        """A batch without duplicates, or with them if all rows count."""
        if duplicates == "each":
            return batch
        try:
            refuse_duplicates(
                batch.frame,
                batch.pairs,
                word="ranked",
                place=self.place,
                first_row=first_row,
                starts=batch.starts,
            )
        except DuplicateError:
            if duplicates == "error":
                raise
            pair = ["query_id", "doc_id"]
            if duplicates == "place":
                # ids of documents; for ignored rows an id that no document has
                frame = batch.frame.with_columns(
                    pl.when(pl.struct(pair).is_first_distinct())
                    .then("doc_id")
                    .otherwise(pl.format("{}\0", "doc_id"))
                    .alias("doc_id")
                )
                return replace(batch, frame=frame, pairs=hash_pairs(frame, batch.starts))
            frame = batch.frame.unique(pair, keep=duplicates, maintain_order=True)
            starts = None if batch.starts is None else range_starts(frame["query_id"])
            return replace(batch, frame=frame, pairs=hash_pairs(frame, starts), starts=starts)
        return batch

    def _refuse_nothing(self, rows: int) -> None:
        if not rows and self.queries is None:
            raise no_rows_error("score", self.place.label)


Batches: TypeAlias = "Callable[[Duplicates], Iterable[Batch]]"
"""A reader of batches of whole queries, for a treatment of documents ranked twice."""

_UseResult = TypeVar("_UseResult")


class _SeenQueries:
    """A set of the queries so far, by their hashes.

    Hashes are kept in sorted parts, each more than twice as long as the next, so that a hash is
    moved a few times and not once per batch. Flags for the first bits of hashes exclude most
    queries at once.
    """

    def __init__(self) -> None:
        self._parts: list[NDArray[np.uint64]] = []
        self._flags = np.zeros(1 << _FLAG_BITS, bool)

    def add(self, hashes: NDArray[np.uint64]) -> bool:
        """Add some queries; return False if any of them was added before."""
        new_hashes = np.sort(hashes)
        if (new_hashes[1:] == new_hashes[:-1]).any():
            return False
        flag_index = (new_hashes >> np.uint64(64 - _FLAG_BITS)).view(np.int64)
        maybe_seen = new_hashes[self._flags[flag_index]]
        self._flags[flag_index] = True
        for sorted_part in self._parts:
            positions = np.minimum(np.searchsorted(sorted_part, maybe_seen), len(sorted_part) - 1)
            if (sorted_part[positions] == maybe_seen).any():
                return False
        while self._parts and len(self._parts[-1]) <= 2 * len(new_hashes):
            new_hashes = np.sort(np.append(self._parts.pop(), new_hashes))
        self._parts.append(new_hashes)
        return True
