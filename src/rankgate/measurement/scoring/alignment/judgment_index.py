"""An index of judgments by query, and the check for swapped arguments."""

from __future__ import annotations

from dataclasses import field, replace
from functools import cached_property
from itertools import chain
from typing import TYPE_CHECKING, Any, TypeVar, cast

import numpy as np
import polars as pl

from rankgate.core.errors import InputError, UsageError
from rankgate.core.frozen import dataclass
from rankgate.core.present.number_formats import count_noun
from rankgate.data import read_qrels
from rankgate.data.id_match import NO_IDS
from rankgate.data.memory.ids import NOT_FOUND, Ids, find_positions
from rankgate.data.memory.matrices import MatrixInput, is_source, make_source, positions_of
from rankgate.data.qrels import QRELS_SCHEMA, Qrels
from rankgate.data.read import read_run, refuse_forked
from rankgate.data.table_rows import (
    RowLocation,
    gather_ranges,
    hash_pairs,
    range_starts,
    sort_ranges,
    split_ranges,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from rankgate.data.input_types import QrelsLike
    from rankgate.data.run import Pieces, Run
    from rankgate.data.table_rows import Positions

    Codes = NDArray[np.int64]
    Rows = NDArray[Any]


_MOST_GRADES = 10  # largest number of different grades
_HIGHEST_GRADE = 100  # highest grade
_SAMPLE_SIZE = 1 << 16  # rows
_SCORE_SHARE = 0.9  # share of the rows that look like scores


def _positions(table: Qrels | Run | MatrixInput) -> Positions:
    return positions_of(table) if isinstance(table, MatrixInput) else table.place.positions


def refuse_exchanged(grades: NDArray[np.float64], offsets: NDArray[np.int64], name: str, run: Run) -> None:
    """Check that the grades are not the scores of a system, and the scores not grades.

    Grades are few whole numbers, which repeat within queries or include 0; scores have
    fractions, and hardly any score repeats within a query.

    Args:
        grades: the grades of the judgments, by query.
        offsets: the first position of each query.
        name: the name of the judgments.
        run: the run.

    Raises:
        InputError: the judgments look like a run, and the run looks like judgments.
    """
    if not _like_scores(grades[:_SAMPLE_SIZE], offsets):
        return
    rows = next(iter(run.pieces()), None)
    if rows is not None and _like_grades(rows.head(_SAMPLE_SIZE)):
        problem = (
            f"its scores are few whole numbers, like grades, and the grades of {name} are fractions without "
            "repeats, like scores; the judgments come first, then the run. If this order is right, write the "
            "scores with fractions."
        )
        raise InputError(problem, source=run.place.label, code="exchanged-arguments")


def _like_scores(grades: NDArray[np.float64], offsets: NDArray[np.int64]) -> bool:
    if not len(grades) or (grades == np.floor(grades)).mean() > 1 - _SCORE_SHARE:
        return False
    owner = np.searchsorted(offsets, np.arange(len(grades)), "right")
    return pl.DataFrame({"query": owner, "grade": grades}).n_unique() >= _SCORE_SHARE * len(grades)


def _like_grades(rows: pl.DataFrame) -> bool:
    scores = rows["score"]
    are_small_integers = (scores == scores.floor()).all() and scores.is_between(0, _HIGHEST_GRADE).all()
    repeats = (scores == 0).any() or rows.select("query_id", "score").is_duplicated().any()
    return bool(are_small_integers and repeats and scores.n_unique() <= _MOST_GRADES)


_PAIR = ["query_id", "doc_id"]
_PIECE = 1 << 20  # judgments to hash at one time

_Ranked = TypeVar("_Ranked", bound="Run | MatrixInput")


@dataclass(frozen=True)
class _Numbers:
    """The documents of judgments as numbers.

    Attributes:
        items: ``(n,)``, the code of each grade's document.
        ids: the names of the codes.
        by_row: ``(U,)``, the query of each row of the judgments' own matrix, `NOT_FOUND` for a row
            without judgments; None if queries have names.
    """

    items: Codes
    ids: Ids
    by_row: Codes | None = None


@dataclass(frozen=True, eq=False)
class Subtopics:
    """The subtopics that relevant judgments of an index answer.

    Attributes:
        judgment: ``(r,)``, the position of each relevant judgment in the index, by query, then by
            falling document id.
        starts: ``(T + 1,)``, the start of each query.
        grades: ``(r, S)``, the grade for each subtopic; subtopics are numbered by query.
        place: ``(n,)``, for each judgment of the index its position here; -1 if it is not here.
        weights: ``(T, S)``, the weight of each subtopic; None if all weights are equal.
    """

    judgment: Codes
    starts: Codes
    grades: NDArray[np.float32]
    place: Codes
    weights: NDArray[np.float64] | None = None


@dataclass(frozen=True, eq=False)
class JudgmentIndex:
    """Judgments by query; ids, numbers and subtopics are indexed at first use.

    Attributes:
        given: the judgments before indexing.
        query_ids: ``(T,)``, every judged query once, in byte order.
        offsets: ``(T + 1,)``, the start of each query's judgments.
        grades: all grades by query, best first.
        subtopics: the subtopics that each judgment answers, if a plan needs them.
    """

    given: Qrels | MatrixInput
    query_ids: pl.Series
    offsets: Codes
    grades: NDArray[np.float64]
    subtopics: Subtopics | None = None
    _rows: Rows | None = field(default=None, repr=False)
    _numbers: _Numbers | None = field(default=None, repr=False)

    @classmethod
    def read(cls, qrels: QrelsLike, *, subtopics: bool = False) -> JudgmentIndex:
        """Read judgments and index them; arguments as in `read_qrels`.

        Raises:
            InputError, DuplicateError: the judgments have an error; the message has file and line.
        """
        refuse_forked()
        if isinstance(qrels, JudgmentIndex):
            return qrels
        if is_source(qrels):
            return cls.of_matrix(make_source(qrels, "qrels"))
        return cls.from_judgments(read_qrels(qrels, subtopics=subtopics))

    @classmethod
    def from_judgments(cls, qrels: Qrels) -> JudgmentIndex:
        """Index judgments by id; of the grades by subtopic, a document's best grade counts."""
        table = qrels.by_document().table
        starts = range_starts(table["query_id"])
        range_queries = table["query_id"][starts]
        unjudged = pl.Series(qrels.unjudged, dtype=pl.String)
        if unjudged.is_empty() and (range_queries[1:] > range_queries[:-1]).all():
            query_ids, codes = range_queries, np.arange(len(range_queries))
        else:
            query_ids = pl.concat([range_queries, unjudged]).unique().sort()
            codes = _find_queries(range_queries, query_ids, *_by_hash(query_ids))
        lengths = np.diff(starts, append=len(table))
        offsets, grades = _offsets(codes, len(query_ids), lengths), table["grade"].to_numpy()
        rows = _best_first(starts, codes, grades)
        if not _is_in_order(rows):
            grades = grades[rows]
        return cls(qrels, query_ids, offsets, grades, _rows=rows)

    @classmethod
    def of_matrix(cls, source: MatrixInput) -> JudgmentIndex:
        """Index a matrix or lists; users without judgments are not among the queries.

        Raises:
            InputError, DuplicateError: see `read_grades`.
        """
        from rankgate.data.formats.tables.memory_tables import read_grades

        owner, items, grades = read_grades(source)
        judged = np.flatnonzero(np.bincount(owner, minlength=source.users.size))
        names = source.users.names.gather(judged)
        rows = judged[names.arg_sort().to_numpy()]
        by_row = np.full(source.users.size, NOT_FOUND)
        by_row[rows] = np.arange(len(rows))
        range_starts = np.flatnonzero(np.append(True, np.diff(owner)))[: len(owner)]
        row_order = _best_first(range_starts, by_row[owner[range_starts]], grades)
        offsets = _offsets(by_row[owner], len(rows))
        query_of_row = by_row if source.users.given is None else None
        query_ids = source.users.names.gather(rows).alias("query_id")
        numbers = _Numbers(items[row_order], source.items, query_of_row)
        return cls(source, query_ids, offsets, grades[row_order], _numbers=numbers)

    @classmethod
    def without_queries(cls, name: str = "qrels") -> JudgmentIndex:
        """Make the index for a batch of users without judgments."""
        rows = pl.DataFrame(schema=QRELS_SCHEMA)
        nothing = Qrels(rows, name, unjudged=("",), place=RowLocation(name))  # Qrels need something
        none = np.zeros(0, np.int64)
        return cls(nothing, rows["query_id"], np.zeros(1, np.int64), np.zeros(0), _rows=none)

    @property
    def name(self) -> str:
        """The name of the judgments."""
        return self.given.name

    @property
    def accepts_ids(self) -> bool:
        """True if ids of runs that do not fit are accepted."""
        return isinstance(self.given, Qrels) and self.given.ids.accept

    @cached_property
    def qrels(self) -> Qrels:
        """The judgments as a table with one grade per document."""
        return self.by_subtopic.by_document()

    @cached_property
    def by_subtopic(self) -> Qrels:
        """The judgments by subtopic, if they were read by subtopic."""
        return read_qrels(self.given, subtopics=True)

    def ranked(self, run: _Ranked) -> _Ranked:
        """Rankings by ids; scores without ids get those of the judgments' rows, in order.

        If several columns could hold the ids of documents, the one with judged ids is used.

        Raises:
            InputError: see ``Run.of_rows``; or the run looks like judgments, and they look like a
                run.
            UsageError: the run has several seeds, which the verb does not tell apart.
        """
        if not (self.accepts_ids or self.query_ids.is_empty()):
            self._refuse_positions(run)
        if isinstance(run, MatrixInput):
            return run
        if run.seeds:
            raise UsageError(
                f"{run.name} has {len(run.seeds) + 1} seeds, which only compare and scorecard put together; "
                "give the run of one seed.",
                code="unused-option",
            )
        if run.by_row:
            return cast("_Ranked", run.of_rows(self.by_subtopic.table))
        identified = self._with_judged_ids(run) if run.readings else run
        refuse_exchanged(self.grades, self.offsets, self.name, identified)
        return cast("_Ranked", identified)

    def _refuse_positions(self, run: Run | MatrixInput) -> None:
        """Check that positions in an array do not meet ids that are not positions.

        Ids are positions if all are whole numbers below the size of the array, and 0 is among them;
        documents need no 0 if queries have it.

        Raises:
            InputError: the ids of one table are positions, and those of the other are not; or the
                tables have other numbers of rows.
        """
        has_zero = False
        for column, judged_size, run_size in zip(_PAIR, _positions(self.given), _positions(run), strict=True):
            if column == "query_id" and judged_size and run_size and judged_size != run_size:
                problem = (
                    f"{count_noun(run_size, 'row')}, where {self.name} has {judged_size}; make them equal, "
                    "or give their ids with query_ids."
                )
                raise InputError(problem, source=run.name, code="wrong-shape")
            if not (size := judged_size or run_size) or None not in (judged_size, run_size):
                continue
            array_name, other_name = self.name, run.name
            if judged_size:
                pieces: Iterator[pl.Series] = (piece[column] for piece in read_run(run).pieces())
            else:
                array_name, other_name = other_name, array_name
                pieces = iter([self.query_ids if column == "query_id" else self.doc_ids])
            ids = next(pieces, NO_IDS)
            has_zero = has_zero or any((piece == "0").any() for piece in chain([ids], pieces))
            if len(ids) and not (has_zero and (Ids(size).codes(ids) >= 0).all()):
                examples = ", ".join(map(repr, ids.unique(maintain_order=True).head(3)))
                problem = (
                    f"the {column}s are positions in an array, 0 to {size - 1}, where {other_name} has ids "
                    f"such as {examples}; name rows and columns: Matrix(m, users, items), or query_ids and "
                    "doc_ids of Lists and from_arrays."
                )
                raise InputError(problem, source=array_name, code="positions-for-ids")

    def _with_judged_ids(self, run: Run) -> Run:
        """Select the only column with judged ids; keep the run if there are several or none."""
        judged = [reading for reading in run.readings.values() if self.judges(reading)]
        if not judged or not all(_same_rows(judged[0], reading) for reading in judged[1:]):
            return run
        return replace(run, pieces=judged[0], readings={})

    def judges(self, reading: Pieces) -> bool:
        """True if any document of some rows is judged for its query."""
        try:
            return any(np.isin(hash_pairs(frame), self.pairs).any() for frame in reading())
        except InputError:  # the values are not ids, such as fractions
            return False

    @property
    def table(self) -> pl.DataFrame:
        """``query_id`` and ``doc_id`` of each grade."""
        owner = np.repeat(np.arange(len(self.query_ids)), np.diff(self.offsets))
        return pl.DataFrame({"query_id": self.query_ids.gather(owner), "doc_id": self.doc_ids})

    @property
    def doc_ids(self) -> pl.Series:
        """The document of each grade; for some of the grades `documents` needs less memory."""
        return self.documents(slice(None))

    def documents(self, positions: Codes | slice) -> pl.Series:
        """The documents of some grades."""
        if self._rows is not None:
            return self.qrels.table["doc_id"][self._rows[positions]]
        return self.numbers.ids.names.gather(self.numbers.items[positions]).alias("doc_id")

    def strings(self, rows: Codes) -> list[str]:
        """The documents of some grades as Python strings."""
        if self._rows is None:
            return self.documents(rows).to_list()
        doc_ids = self.qrels.documents
        return [doc_ids[row] for row in self._rows[rows].tolist()]

    @cached_property
    def pairs(self) -> NDArray[np.uint64]:
        """A hash of the query and document of each grade."""
        if self._rows is not None:
            ids, out = self.qrels.table.select(_PAIR), np.empty(len(self._rows), np.uint64)
            for begin in range(0, len(out), _PIECE):
                window = slice(begin, begin + _PIECE)
                out[window] = hash_pairs(ids[self._rows[window]])
            return out
        return hash_pairs(self.table)

    @cached_property
    def numbers(self) -> _Numbers:
        """The documents as numbers."""
        if self._numbers is not None:
            return self._numbers
        names = (doc_ids := self.doc_ids).unique()
        return _Numbers(find_positions(doc_ids, names), Ids(len(names), names))

    @cached_property
    def _hashes(self) -> tuple[NDArray[np.uint64], Codes]:
        return _by_hash(self.query_ids)

    def codes(self, query_ids: pl.Series) -> Codes:
        """The position of each query in ``query_ids``; -1 for a query without judgments."""
        if len(query_ids):  # most runs have all queries, in the order of their names
            begins_alike = self.query_ids[:1].equals(query_ids[:1])
            first = 0 if begins_alike else int(self.query_ids.search_sorted(query_ids[0]))
            if self.query_ids.slice(first, len(query_ids)).equals(query_ids):
                return np.arange(first, first + len(query_ids))
        return _find_queries(query_ids, self.query_ids, *self._hashes)

    def places_of(self, users: Ids) -> Codes:
        """The query of each user of a matrix, `NOT_FOUND` for a user without judgments."""
        by_row = self.numbers.by_row
        if by_row is None or users.given is not None:
            return find_positions(users.names, self.query_ids)
        out = np.full(users.size, NOT_FOUND)
        shared = min(users.size, len(by_row))
        out[:shared] = by_row[:shared]
        return out

    def rows(self, codes: Codes) -> tuple[Codes, Codes]:
        """The judgments of some queries: the position of each query in ``codes``, and the row."""
        return gather_ranges(self.offsets, codes)

    def copies(self, queries: Codes, judgment: Codes, grades: NDArray[np.float64]) -> JudgmentIndex:
        """Copies of queries, each with another grade for one judgment; documents are unknown.

        Args:
            queries: ``(C,)``, the query of each copy.
            judgment: ``(C,)``, the position of the judgment whose grade is replaced.
            grades: ``(C,)``, the new grades.
        """
        owner, rows = self.rows(queries)
        copied = np.where(rows == judgment[owner], grades[owner], self.grades[rows])
        return replace(
            self,
            query_ids=self.query_ids.gather(queries),
            offsets=np.append(0, np.cumsum(np.diff(self.offsets)[queries])),
            grades=copied[np.lexsort((-copied, owner))],
        )

    @cached_property
    def is_rated(self) -> NDArray[np.bool_]:
        """``(T,)``, False for queries without any rated document."""
        return np.diff(self.offsets) > 0

    @cached_property
    def lowest_positive(self) -> float:
        """The lowest grade above 0; infinity if there is none."""
        return float(self.grades.min(where=self.grades > 0, initial=np.inf))

    def best(self, codes: Codes) -> NDArray[np.float64]:
        """The best grade of some queries, ``(t,)``; minus infinity without judgments."""
        out = np.full(len(codes), -np.inf)
        has_judgments = self.offsets[codes + 1] > self.offsets[codes]
        out[has_judgments] = self.grades[self.offsets[codes[has_judgments]]]
        return out


def _same_rows(reading: Pieces, other_reading: Pieces) -> bool:
    return all(left.equals(right) for left, right in zip(reading(), other_reading(), strict=True))


def _offsets(owner: Codes, T: int, lengths: Codes | None = None) -> Codes:
    offsets = np.zeros(T + 1, np.int64)
    np.cumsum(np.bincount(owner, lengths, T), out=offsets[1:], dtype=np.int64)
    return offsets


def _best_first(starts: Codes, heads: Codes, grades: NDArray[np.float64]) -> Rows:
    """Order rows by query, best grade first; rows with equal grades keep their order.

    Args:
        starts: the first row of each range of rows of one query.
        heads: the query of each range of rows.
        grades: the grades of each row.
    """
    if (heads[1:] > heads[:-1]).all():
        return _sort_ranges(starts, grades)
    range_order = np.argsort(heads, kind="stable")
    lengths = np.diff(starts, append=len(grades))[range_order]
    begins = np.cumsum(lengths) - lengths
    rows = np.repeat(starts[range_order] - begins, lengths)
    rows += np.arange(len(rows))
    first = np.flatnonzero(np.append(True, np.diff(heads[range_order])))
    return rows.astype(_row_type(len(rows)))[_sort_ranges(begins[first], grades[rows])]


def _sort_ranges(starts: Codes, grades: NDArray[np.float64]) -> Rows:
    """Rows by query and falling grade, if each query has one range of rows, in order."""
    levels, out = np.unique(grades[:_SAMPLE_SIZE]), np.empty(len(grades), _row_type(len(grades)))
    for first, after, begin, end in split_ranges(starts, len(grades)):
        range_grades, low = grades[begin:end], (end - begin).bit_length()
        query = np.repeat(np.arange(after - first), np.diff(starts[first:after], append=end))
        level = np.minimum(np.searchsorted(levels, range_grades), len(levels) - 1)
        if np.array_equal(levels[level], range_grades):
            # query, grade and row in one number: sorting such numbers is several times faster
            keys = (query * len(levels) - level) << low
            keys += np.arange(len(range_grades))
            sort_ranges(keys, starts[first:after] - begin)
            rows = keys & ((1 << low) - 1)
        else:
            rows = np.lexsort((-range_grades, query))  # there are many different grades
        np.add(rows, begin, out=out[begin:end])
    return out


def _row_type(count: int) -> type[np.int32 | np.int64]:
    """The smallest integer type for this number of rows."""
    return np.int32 if count < 1 << 31 else np.int64


def _is_in_order(rows: Rows) -> bool:
    """True if rows have the order of their table."""
    if len(rows) and rows[-1] != len(rows) - 1:
        return False
    parts = ((begin, rows[begin : begin + _PIECE]) for begin in range(0, len(rows), _PIECE))
    return all(np.array_equal(block, np.arange(begin, begin + len(block))) for begin, block in parts)


def _by_hash(query_ids: pl.Series) -> tuple[NDArray[np.uint64], Codes]:
    """The hashes of queries in rising order, and the position of each."""
    hashes = query_ids.hash().to_numpy()
    by_hash = np.argsort(hashes)
    return hashes[by_hash], by_hash


def _find_queries(
    wanted_ids: pl.Series, query_ids: pl.Series, hashes: NDArray[np.uint64], by_hash: Codes
) -> Codes:
    """The position of each requested id, found by its hash and confirmed on the string."""
    if not len(by_hash):
        return np.full(len(wanted_ids), -1)
    wanted_hashes = wanted_ids.hash().to_numpy()
    rising = np.argsort(wanted_hashes)  # neighbouring ids then read neighbouring memory
    found_at = np.empty(len(wanted_hashes), np.int64)
    found_at[rising] = np.searchsorted(hashes, wanted_hashes[rising])
    candidates = by_hash[np.minimum(found_at, len(by_hash) - 1)]
    is_match = (query_ids[candidates] == wanted_ids).to_numpy()
    if is_match.all() or len(np.unique(hashes)) == len(hashes):
        return np.where(is_match, candidates, -1)
    slow = {query: position for position, query in enumerate(query_ids.to_list())}  # equal hashes
    return np.array([slow.get(query, -1) for query in wanted_ids.to_list()], np.int64)
