"""Judgments laid out for scoring: by query, found by id, by number or by subtopic."""

from __future__ import annotations

from dataclasses import field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar, cast

import numpy as np
import polars as pl

from rankgate.core.errors import InputError
from rankgate.core.frozen import dataclass
from rankgate.data import read_qrels
from rankgate.data.duplicates import pairs_of
from rankgate.data.forked import refuse_forked
from rankgate.data.memory.ids import NOWHERE, Ids, places
from rankgate.data.memory.matrices import MatrixInput, is_source, source_of
from rankgate.data.place import Place
from rankgate.data.qrels import SCHEMA, Qrels
from rankgate.data.stretches import sort_stretches, starts_of, whole_stretches
from rankgate.measurement.scoring.alignment.exchanged import refuse_exchanged

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rankgate.data.inputs import QrelsLike
    from rankgate.data.run import Pieces, Run

    Codes = NDArray[np.int64]
    Rows = NDArray[Any]
    Flags = NDArray[np.bool_]

_PAIR = ["query_id", "doc_id"]
_LOOKED_AT = 1 << 16  # grades among which all that there are is looked for
_PIECE = 1 << 20  # judgments of which hashes are made together

_Ranked = TypeVar("_Ranked", bound="Run | MatrixInput")


@dataclass(frozen=True)
class _Numbers:
    """The documents of judgments as numbers.

    Attributes:
        items: ``(n,)``, the code of each grade's document.
        ids: what the codes are called.
        by_row: ``(U,)``, the query of each row of the judgments' own matrix, `NOWHERE` where it
            has none; None where queries go by names.
    """

    items: Codes
    ids: Ids
    by_row: Codes | None = None


@dataclass(frozen=True, eq=False)
class Subtopics:
    """Which subtopics the relevant judgments of an index answer.

    Attributes:
        judgment: ``(r,)``, the place in the index of each relevant judgment; by query, the
            documents of each by falling id.
        starts: ``(T + 1,)``, where those of each query begin.
        grades: ``(r, S)``, how well each answers each subtopic, numbered by query.
        place: ``(n,)``, for each judgment of the index its place among these; -1 for none.
        weights: ``(T, S)``, what each subtopic weighs; None where all weigh the same.
    """

    judgment: Codes
    starts: Codes
    grades: NDArray[np.float32]
    place: Codes
    weights: NDArray[np.float64] | None = None


@dataclass(frozen=True, eq=False)
class JudgmentIndex:
    """Judgments by query; ids, numbers and subtopics are laid out when they are first used.

    Attributes:
        given: the judgments as they were read.
        query_ids: ``(T,)``, every judged query once, in byte order.
        offsets: ``(T + 1,)``, where each query's judgments begin.
        grades: all grades, query after query, the best first.
        subtopics: which subtopics each judgment answers, where a plan asks for it.
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
        """Read judgments and lay them out; arguments as of `read_qrels`.

        Raises:
            InputError, DuplicateError: what is wrong, with file and line.
        """
        refuse_forked()
        if isinstance(qrels, JudgmentIndex):
            return qrels
        if is_source(qrels):
            return cls.of_matrix(source_of(qrels, "qrels"))
        return cls.of(read_qrels(qrels, subtopics=subtopics))

    @classmethod
    def of(cls, qrels: Qrels) -> JudgmentIndex:
        """Lay out judgments by id; of judgments by subtopic the best grade of each document."""
        table = qrels.by_document().table
        starts = starts_of(table["query_id"])
        heads = table["query_id"].gather(starts)
        unjudged = pl.Series(qrels.unjudged, dtype=pl.String)
        if unjudged.is_empty() and (heads[1:] > heads[:-1]).all():
            query_ids, codes = heads, np.arange(len(heads))
        else:
            query_ids = pl.concat([heads, unjudged]).unique().sort()
            codes = _find(heads, query_ids, *_by_hash(query_ids))
        lengths = np.diff(starts, append=len(table))
        offsets, grades = _offsets(codes, len(query_ids), lengths), table["grade"].to_numpy()
        rows = _best_first(starts, codes, grades)
        if not _counts_up(rows):
            grades = grades[rows]
        return cls(qrels, query_ids, offsets, grades, _rows=rows)

    @classmethod
    def of_matrix(cls, source: MatrixInput) -> JudgmentIndex:
        """Lay out a matrix or lists; users without judgments are not among the queries.

        Raises:
            InputError, DuplicateError: as `graded`.
        """
        from rankgate.data.memory.arrays import graded

        owner, items, grades = graded(source)
        judged = np.flatnonzero(np.bincount(owner, minlength=source.users.size))
        names = source.users.names.gather(judged)
        rows = judged[names.arg_sort().to_numpy()]
        by_row = np.full(source.users.size, NOWHERE)
        by_row[rows] = np.arange(len(rows))
        heads = np.flatnonzero(np.append(True, np.diff(owner)))[: len(owner)]
        by = _best_first(heads, by_row[owner[heads]], grades)
        offsets = _offsets(by_row[owner], len(rows))
        own = by_row if source.users.given is None else None
        query_ids = source.users.names.gather(rows).alias("query_id")
        numbers = _Numbers(items[by], source.items, own)
        return cls(source, query_ids, offsets, grades[by], _numbers=numbers)

    @classmethod
    def without_queries(cls, name: str = "qrels") -> JudgmentIndex:
        """The index of a batch whose users have no judgments."""
        rows = pl.DataFrame(schema=SCHEMA)
        nothing = Qrels(rows, name, unjudged=("",), place=Place(name))  # Qrels need something
        none = np.zeros(0, np.int64)
        return cls(nothing, rows["query_id"], np.zeros(1, np.int64), np.zeros(0), _rows=none)

    @property
    def name(self) -> str:
        """What the judgments are called."""
        return self.given.name

    @cached_property
    def qrels(self) -> Qrels:
        """The judgments as a table, one grade a document."""
        return self.by_subtopic.by_document()

    @cached_property
    def by_subtopic(self) -> Qrels:
        """The same by subtopic, if they were read so."""
        return read_qrels(self.given, subtopics=True)

    def ranked(self, run: _Ranked) -> _Ranked:
        """Rankings by ids; scores of a model have those of the judgments' rows, in their order.

        Where several columns could hold the ids of documents, it is the one whose ids are judged.

        Raises:
            InputError: as ``Run.of_rows``; the run looks like judgments, and they like a run.
        """
        if isinstance(run, MatrixInput):
            return run
        if run.by_row:
            return cast("_Ranked", run.of_rows(self.by_subtopic.table))
        identified = self._with_judged_ids(run) if run.readings else run
        refuse_exchanged(self.grades, self.offsets, self.name, identified)
        return cast("_Ranked", identified)

    def _with_judged_ids(self, run: Run) -> Run:
        """The run under the one column of ids that are judged; as it is if several are, or none."""
        judged = [pieces for pieces in run.readings.values() if self.judges(pieces)]
        if not judged or not all(_same_rows(judged[0], pieces) for pieces in judged[1:]):
            return run
        return replace(run, pieces=judged[0], readings={})

    def judges(self, pieces: Pieces) -> bool:
        """True if any document of some rows is judged for its query."""
        try:
            return any(np.isin(pairs_of(frame), self.pairs).any() for frame in pieces())
        except InputError:  # no ids, such as fractions
            return False

    @property
    def doc_ids(self) -> pl.Series:
        """The document of each grade; `documents` takes less memory for some of them."""
        return self.documents(slice(None))

    def documents(self, which: Codes | slice) -> pl.Series:
        """The documents of some grades."""
        if self._rows is not None:
            return self.qrels.table["doc_id"].gather(self._rows[which])
        return self.numbers.ids.names.gather(self.numbers.items[which]).alias("doc_id")

    def strings(self, rows: Codes) -> list[str]:
        """The documents of some grades as Python strings."""
        if self._rows is None:
            return self.documents(rows).to_list()
        every = self.qrels.documents
        return [every[row] for row in self._rows[rows].tolist()]

    @cached_property
    def pairs(self) -> NDArray[np.uint64]:
        """A hash of the query and document of each grade."""
        if self._rows is not None:
            ids, out = self.qrels.table.select(_PAIR), np.empty(len(self._rows), np.uint64)
            for begin in range(0, len(out), _PIECE):
                part = slice(begin, begin + _PIECE)
                out[part] = pairs_of(ids[self._rows[part]])
            return out
        owner = np.repeat(np.arange(len(self.query_ids)), np.diff(self.offsets))
        return pairs_of(pl.DataFrame([self.query_ids.gather(owner), self.doc_ids]))

    @cached_property
    def numbers(self) -> _Numbers:
        """The documents as numbers."""
        if self._numbers is not None:
            return self._numbers
        names = (doc_ids := self.doc_ids).unique()
        return _Numbers(places(doc_ids, names), Ids(len(names), names))

    @cached_property
    def _hashes(self) -> tuple[NDArray[np.uint64], Codes]:
        return _by_hash(self.query_ids)

    def codes(self, query_ids: pl.Series) -> Codes:
        """The place of each query in ``query_ids``; -1 for one without judgments."""
        if len(query_ids):  # most runs have the queries in the order of their names, and all
            first = int(self.query_ids.search_sorted(query_ids[0]))
            if self.query_ids.slice(first, len(query_ids)).equals(query_ids):
                return np.arange(first, first + len(query_ids))
        return _find(query_ids, self.query_ids, *self._hashes)

    def places_of(self, users: Ids) -> Codes:
        """The query of each user of a matrix, `NOWHERE` where a user has no judgments."""
        by_row = self.numbers.by_row
        if by_row is None or users.given is not None:
            return places(users.names, self.query_ids)
        out = np.full(users.size, NOWHERE)
        shared = min(users.size, len(by_row))
        out[:shared] = by_row[:shared]
        return out

    def rows(self, codes: Codes) -> tuple[Codes, Codes]:
        """The judgments of some queries: the place of each one's query in ``codes``, its row."""
        lengths = self.offsets[codes + 1] - self.offsets[codes]
        owner = np.repeat(np.arange(len(codes)), lengths)
        first = np.repeat(self.offsets[codes] - np.cumsum(lengths) + lengths, lengths)
        return owner, first + np.arange(len(owner))

    @cached_property
    def lowest_positive(self) -> float:
        """The lowest grade above 0; infinity where there is none."""
        return float(self.grades.min(where=self.grades > 0, initial=np.inf))

    def best(self, codes: Codes) -> NDArray[np.float64]:
        """The best grade of some queries, ``(t,)``; minus infinity for one without a judgment."""
        out = np.full(len(codes), -np.inf)
        some = self.offsets[codes + 1] > self.offsets[codes]
        out[some] = self.grades[self.offsets[codes[some]]]
        return out


def _same_rows(one: Pieces, other: Pieces) -> bool:
    return all(left.equals(right) for left, right in zip(one(), other(), strict=True))


def _offsets(owner: Codes, T: int, lengths: Codes | None = None) -> Codes:
    offsets = np.zeros(T + 1, np.int64)
    np.cumsum(np.bincount(owner, lengths, T), out=offsets[1:], dtype=np.int64)
    return offsets


def _best_first(starts: Codes, heads: Codes, grades: NDArray[np.float64]) -> Rows:
    """Rows by query, the best grade first; those of one grade in the order that they had.

    Args:
        starts: where each stretch of rows of one query begins.
        heads: the query of each stretch.
        grades: of each row.
    """
    if (heads[1:] > heads[:-1]).all():
        return _within(starts, grades)
    by = np.argsort(heads, kind="stable")
    lengths = np.diff(starts, append=len(grades))[by]
    begins = np.cumsum(lengths) - lengths
    rows = np.repeat(starts[by] - begins, lengths)
    rows += np.arange(len(rows))
    first = np.flatnonzero(np.append(True, np.diff(heads[by])))
    return rows.astype(_row_type(len(rows)))[_within(begins[first], grades[rows])]


def _within(starts: Codes, grades: NDArray[np.float64]) -> Rows:
    """The same where each query has one stretch of rows, and these are in order."""
    levels, out = np.unique(grades[:_LOOKED_AT]), np.empty(len(grades), _row_type(len(grades)))
    for first, after, begin, end in whole_stretches(starts, len(grades)):
        part, low = grades[begin:end], (end - begin).bit_length()
        query = np.repeat(np.arange(after - first), np.diff(starts[first:after], append=end))
        place = np.minimum(np.searchsorted(levels, part), len(levels) - 1)
        if np.array_equal(levels[place], part):
            # query, grade and row in one number: sorting such is several times faster
            keys = (query * len(levels) - place) << low
            keys += np.arange(len(part))
            sort_stretches(keys, starts[first:after] - begin)
            rows = keys & ((1 << low) - 1)
        else:
            rows = np.lexsort((-part, query))  # many different grades
        np.add(rows, begin, out=out[begin:end])
    return out


def _row_type(count: int) -> type[np.int32 | np.int64]:
    """Numbers as narrow as places of so many rows may be."""
    return np.int32 if count < 1 << 31 else np.int64


def _counts_up(rows: Rows) -> bool:
    """Whether rows are those of a table in its own order."""
    if len(rows) and rows[-1] != len(rows) - 1:
        return False
    parts = ((at, rows[at : at + _PIECE]) for at in range(0, len(rows), _PIECE))
    return all(np.array_equal(part, np.arange(at, at + len(part))) for at, part in parts)


def _by_hash(query_ids: pl.Series) -> tuple[NDArray[np.uint64], Codes]:
    """The hashes of queries, rising, and the place of each."""
    hashes = query_ids.hash().to_numpy()
    by_hash = np.argsort(hashes)
    return hashes[by_hash], by_hash


def _find(
    wanted: pl.Series, query_ids: pl.Series, hashes: NDArray[np.uint64], by_hash: Codes
) -> Codes:
    """The place of each wanted id, by its hash, confirmed on the string."""
    if not len(by_hash):
        return np.full(len(wanted), -1)
    own = wanted.hash().to_numpy()
    rising = np.argsort(own)  # neighbours look into neighbouring memory
    found_at = np.empty(len(own), np.int64)
    found_at[rising] = np.searchsorted(hashes, own[rising])
    found = by_hash[np.minimum(found_at, len(by_hash) - 1)]
    same = (query_ids.gather(found) == wanted).to_numpy()
    if same.all() or len(np.unique(hashes)) == len(hashes):
        return np.where(same, found, -1)
    slow = {query: place for place, query in enumerate(query_ids.to_list())}  # two hashes met
    return np.array([slow.get(query, -1) for query in wanted.to_list()], np.int64)
