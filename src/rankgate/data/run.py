"""Rankings: which documents a system returned for which queries, with its scores."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypeVar

import numpy as np
import polars as pl

from rankgate.core.errors import DuplicateError, InputError
from rankgate.core.frozen import dataclass
from rankgate.data.columns import one_document_column
from rankgate.data.duplicates import pairs_of, refuse_duplicates
from rankgate.data.place import Place
from rankgate.data.streams.prefetch import ahead
from rankgate.data.stretches import starts_of, starts_together

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rankgate.data.rankings import Rankings

SCHEMA = {"query_id": pl.String, "doc_id": pl.String, "score": pl.Float64}
"""The columns every run has."""


Duplicates = Literal["error", "first", "last", "each", "place"]
"""What a document ranked twice for one query is: an error, one of its rows, or each of them;
or the first row counts, and the others hold their places for nothing."""


_DOCUMENTS = 16_000_000
"""Documents of one query at most: they are in memory together."""

_PIECE = 1 << 18  # rows at once of a run in memory
_FLAGS = 22  # bits of the hash of a query
_NONE = np.zeros(0, np.uint64)


class ScatteredError(Exception):
    """A query's rows are apart in the file; no message for a user: the whole is read instead."""


NO_QUERY = "row"
"""The query of rows that a model's scores have no query for."""


@dataclass(frozen=True)
class Batch:
    """Rows of whole queries.

    Attributes:
        frame: ``query_id``, ``doc_id``, ``score`` in file order.
        pairs: ``(n,)``, a hash of the query and document of each row.
        starts: ``(T,)``, where each query's rows begin, or None where they are apart.
        ordered: as of the run.
    """

    frame: pl.DataFrame
    pairs: NDArray[np.uint64]
    starts: NDArray[np.int64] | None = None
    ordered: bool = True


Pieces: TypeAlias = "Callable[[], Iterator[pl.DataFrame]]"
"""Reads the rows of a run from their beginning."""


@dataclass(frozen=True)
class Run:
    """One system's rankings; rows stay in their file until they are asked for.

    Attributes:
        name: the file's name without folder, compression suffix and one known suffix.
        pieces: the rows as frames of ``query_id``, ``doc_id``, ``score``, in file order, ids
            there and scores finite; can be called again.
        tag: the name that a TREC file gives the run.
        rankings: the same as a dictionary, where it is one; quicker to score than its rows.
        queries: what is known of each query: ``query_id``, ``state`` and more.
        place: where the rows come from.
        ordered: whether the order of rows is a ranking, as in a file that a system wrote; rows
            of a matrix, a frame or a dictionary of scores are in any order.
        by_row: whether rows are those of the judgments' file in its order, as models write their
            scores; ids are then numbers of rows until `of_rows` replaces them.
        readings: the rows by the column of ids, where several columns could hold the ids of
            documents; judgments say which does (`JudgmentIndex.ranked`).
        cautions: by code what the reader should know of how the rows were read.
        earlier: a run of the same system at an earlier time, for metrics of stability.
        repeats: other rankings of a system that draws them, for expected exposure.
        noise: other answers of the same system to the same queries, which show its noise.
    """

    name: str
    pieces: Callable[[], Iterator[pl.DataFrame]]
    tag: str | None = None
    rankings: Rankings | None = None
    queries: pl.DataFrame | None = None
    place: Place = field(default=Place("run"))
    ordered: bool = True
    by_row: bool = False
    readings: Mapping[str, Pieces] = field(default_factory=dict)
    cautions: Mapping[str, str] = field(default_factory=dict)
    earlier: Any = None
    repeats: tuple[Any, ...] = ()
    noise: tuple[Any, ...] = ()

    @classmethod
    def of_columns(cls, name: str, readings: Mapping[str, Pieces], **fields: Any) -> Run:
        """A run in a table in which one column or several could hold the ids of documents.

        Args:
            name: of the run.
            readings: the rows, by the column that the ids are taken from.
            fields: other fields of the run.
        """
        first, *others = readings
        if not others:
            return cls(name, readings[first], **fields)

        def pieces() -> Iterator[pl.DataFrame]:
            one_document_column(readings, fields["place"].label)
            yield from readings[first]()

        return cls(name, pieces, readings=readings, **fields)

    @cached_property
    def table(self) -> pl.DataFrame:
        """All rows, checked.

        Raises:
            InputError: no rows, a missing id, a score that is not finite.
            DuplicateError: a document ranked twice for one query.
        """
        frame = self._rows()
        starts = starts_together(frame["query_id"])
        pairs = pairs_of(frame, starts)
        refuse_duplicates(frame, pairs, word="ranked", place=self.place, starts=starts)
        self._refuse_nothing(len(frame))
        return frame

    @cached_property
    def sha256(self) -> str:
        """A hash of the canonical table: the same for the same rankings in any file."""
        order = ["query_id", "score", "doc_id"]
        from rankgate.data.digest import digest

        return digest(self.table.sort(order, descending=[False, True, True]))

    def batches(self, duplicates: Duplicates = "error") -> Iterator[Batch]:
        """Rows in batches of whole queries, checked, for files whose queries are together.

        Args:
            duplicates: what a document ranked twice is.

        Raises:
            ScatteredError: a query comes back after others; use ``whole`` instead.
            InputError, DuplicateError: as ``table``.
        """
        seen = _SeenQueries()
        rest, row = pl.DataFrame(schema=SCHEMA), 0
        for piece in self._with_end():
            last = piece is None
            frame = rest if piece is None else pl.concat([rest, piece], rechunk=False)
            starts = starts_of(frame["query_id"])
            end = len(frame) if last else int(starts[-1]) if len(starts) else 0
            rest = frame.slice(end)
            if len(rest) > _DOCUMENTS:
                problem = f"more than {_DOCUMENTS} documents for one query; no ranking is so long."
                raise InputError(problem, source=self.place.label, code="too-large")
            if not end:
                continue
            batch = frame.head(end)
            starts = starts[: np.searchsorted(starts, end)]
            if not seen.add(batch["query_id"].gather(starts).hash().to_numpy()):
                raise ScatteredError
            whole = Batch(batch, pairs_of(batch, starts), starts, self.ordered)
            yield self._checked(whole, duplicates, row)
            row += end
        self._refuse_nothing(row)

    def whole(self, duplicates: Duplicates = "error") -> Batch:
        """All rows as one batch, wherever the rows of a query are; they are not kept."""
        known = self.__dict__.get("table")  # checked already
        frame = self._rows() if known is None else known
        self._refuse_nothing(len(frame))
        pairs = np.concatenate([pairs_of(part) for part in frame.iter_slices(_PIECE)] or [_NONE])
        whole = Batch(frame, pairs, ordered=self.ordered)
        if duplicates == "error" and known is not None:
            return whole
        return self._checked(whole, duplicates, 0)

    def over_queries(self, use: Callable[[Batches], _Found]) -> _Found:
        """What a function makes of batches; of all rows at once where a query's rows are apart.

        Args:
            use: takes the function that reads batches, such as ``batches``.

        Raises:
            InputError, DuplicateError: as ``table``.
        """
        try:
            return use(self.batches)
        except ScatteredError:  # a query came back after others
            pass  # the error holds what was read, and goes before all is read again
        return use(lambda rule: (self.whole(each) for each in [rule]))  # which keeps none

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
                f"{len(scores)} scores, and the judgments have {len(judged)} rows; a model's "
                "scores need one line for each row of the file that it scored."
            )
            raise InputError(problem, source=self.place.label, code="wrong-shape")
        queries = self.table["query_id"]
        other = (queries != NO_QUERY) & (queries != judged["query_id"])
        if other.any():
            row = int(other.arg_max() or 0)
            problem = (
                f"row {row + 1} is of query '{queries[row]}', and of query "
                f"'{judged['query_id'][row]}' in the judgments; scores need the rows of the file "
                "that was scored, in its order."
            )
            raise InputError(problem, source=self.place.label, code="wrong-order")
        frame = judged.select("query_id", "doc_id").with_columns(scores)
        found = replace(self, pieces=lambda: frame.iter_slices(_PIECE), by_row=False)
        return replace(found, ordered=False)

    def together(self) -> Run:
        """The same run with the rows of each query together, in memory."""
        first = pl.col("row").min().over("query_id")

        def pieces() -> Iterator[pl.DataFrame]:
            yield self.table.with_row_index("row").sort(first, "row").drop("row")

        return replace(self, pieces=pieces, readings={})

    @property
    def query_ids(self) -> pl.Series:
        """The queries that have rows, each once, also where a document is ranked twice."""
        return self._rows()["query_id"].unique()

    def in_memory(self, duplicates: Duplicates = "error") -> Run:
        """The same run in memory, for those who read it more than once.

        Args:
            duplicates: unless this is ``error``, rows of a document ranked twice remain, for
                ``batches`` to treat.

        Raises:
            InputError, DuplicateError: as ``table``.
        """
        table = self.table if duplicates == "error" else self.whole("each").frame
        same = replace(self, pieces=lambda: table.iter_slices(_PIECE), readings={})
        if duplicates == "error":
            same.__dict__["table"] = table  # as the cached property would
        return same

    def _rows(self) -> pl.DataFrame:
        return pl.concat([pl.DataFrame(schema=SCHEMA), *ahead(self.pieces())], rechunk=False)

    def _with_end(self) -> Iterator[pl.DataFrame | None]:
        yield from ahead(self.pieces())
        yield None

    def _checked(self, batch: Batch, duplicates: Duplicates, first_row: int) -> Batch:
        """A batch without duplicates, or with both where both count."""
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
                frame = batch.frame.with_columns(_renamed(pl.struct(pair).is_first_distinct()))
                return replace(batch, frame=frame, pairs=pairs_of(frame, batch.starts))
            frame = batch.frame.unique(pair, keep=duplicates, maintain_order=True)
            starts = None if batch.starts is None else starts_of(frame["query_id"])
            return replace(batch, frame=frame, pairs=pairs_of(frame, starts), starts=starts)
        return batch

    def _refuse_nothing(self, rows: int) -> None:
        if not rows and self.queries is None:
            raise InputError(
                "there are no rankings in it.", source=self.place.label, code="no-rankings"
            )


Batches: TypeAlias = "Callable[[Duplicates], Iterable[Batch]]"
"""Reads batches of whole queries, given what a document ranked twice is."""

_Found = TypeVar("_Found")


def _renamed(first: pl.Expr) -> pl.Expr:
    """Ids of documents, those of later rows turned into one that no document has."""
    return pl.when(first).then("doc_id").otherwise(pl.format("{}\0", "doc_id")).alias("doc_id")


class _SeenQueries:
    """The queries so far, by their hashes.

    They are kept in sorted parts, each more than twice as long as the next, so that a hash is
    moved a few times and not once for every batch. Flags for their first bits leave out most
    queries at once.
    """

    def __init__(self) -> None:
        self._parts: list[NDArray[np.uint64]] = []
        self._flags = np.zeros(1 << _FLAGS, bool)

    def add(self, hashes: NDArray[np.uint64]) -> bool:
        """Note some queries; False where one of them was there before."""
        fresh = np.sort(hashes)
        if (fresh[1:] == fresh[:-1]).any():
            return False
        first = (fresh >> np.uint64(64 - _FLAGS)).view(np.int64)
        near = fresh[self._flags[first]]
        self._flags[first] = True
        for part in self._parts:
            places = np.minimum(np.searchsorted(part, near), len(part) - 1)
            if (part[places] == near).any():
                return False
        while self._parts and len(self._parts[-1]) <= 2 * len(fresh):
            fresh = np.sort(np.append(self._parts.pop(), fresh))
        self._parts.append(fresh)
        return True
