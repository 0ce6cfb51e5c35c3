"""Rankings that are matrices or lists of numbers, aligned block by block."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from rankgate.core.errors import InputError
from rankgate.core.frozen import dataclass
from rankgate.data.memory.devices import Best, best
from rankgate.data.memory.ids import NOWHERE, rising
from rankgate.data.memory.matrices import Dense, Padded, Sparse, pairs_of
from rankgate.measurement.scoring.alignment.align import Aligned, align, limited
from rankgate.measurement.scoring.alignment.first import first
from rankgate.measurement.scoring.alignment.met import Met

if TYPE_CHECKING:
    import polars as pl
    from numpy.typing import NDArray

    from rankgate.data.logs.user_items import Meetings
    from rankgate.data.memory.ids import Ids
    from rankgate.data.memory.matrices import MatrixInput
    from rankgate.measurement.scoring.alignment.judgments import JudgmentIndex
    from rankgate.measurement.scoring.convention import Alignment

    Codes = NDArray[np.int64]

_CELLS = 1 << 21  # numbers of a block; with what is made of them that is about 100 MB
_SHORT = 1 << 31


@dataclass(frozen=True)
class _Names:
    """The ids of items by the row that they are in; looked up for the few that need them."""

    ids: Ids
    codes: Codes

    def gather(self, rows: Codes) -> pl.Series:
        return self.ids.names.gather(self.codes[rows])


def blocks(source: MatrixInput) -> Iterator[slice]:
    """Stretches of rows of bounded size."""
    users = source.users.size
    if isinstance(source, Sparse):
        # users of a sparse matrix differ in what they have: a block is bounded by its numbers,
        # and by its rows too, as empty rows take room in what is made of them
        begin = 0
        while begin < users:
            end = int(np.searchsorted(source.offsets, source.offsets[begin] + _CELLS, "right")) - 1
            yield slice(begin, end := min(users, max(end, begin + 1), begin + _CELLS))
            begin = end
        return
    width = source.codes.shape[1] if isinstance(source, Padded) else source.items.size
    step = max(1, _CELLS // max(1, width))
    for begin in range(0, users, step):
        yield slice(begin, min(users, begin + step))


@dataclass(frozen=True)
class SeenItems:
    """What users had before, which leaves their lists.

    Attributes:
        keys: row of the run times ``size`` plus item, each once, rising.
        size: items.
    """

    keys: Codes
    size: int

    @classmethod
    def of(cls, pairs: Meetings | MatrixInput, source: MatrixInput) -> SeenItems:
        """From the pairs of a log, or a matrix of what was met."""
        if isinstance(pairs, Dense | Sparse | Padded):
            owner, item = pairs_of(pairs)
            row = pairs.users.into(source.users)[owner]
            column = pairs.items.into(source.items)[item]
        else:
            row = source.users.codes(pairs.users)[pairs.owner]
            column = source.items.codes(pairs.items)[pairs.item]
        valid = (row != NOWHERE) & (column != NOWHERE)
        return cls(rising(row[valid] * source.items.size + column[valid]), source.items.size)

    def places(self, rows: slice) -> Codes:
        """Row of a block times ``size`` plus item of what was seen by the users of a block."""
        ends = np.searchsorted(self.keys, [rows.start * self.size, rows.stop * self.size])
        found: Codes = self.keys[ends[0] : ends[1]] - rows.start * self.size
        return found


def aligned_blocks(
    source: MatrixInput,
    index: JudgmentIndex,
    how: Alignment,
    depth: int | None,
    seen: SeenItems | None = None,
) -> Iterator[Aligned]:
    """The judged items of every block, with their ranks.

    Args:
        source: a matrix or lists.
        index: the judgments.
        how: how rankings are formed.
        depth: how far a matrix is looked at; what follows is left out, `retrieved` counts all.
        seen: what leaves the rankings.

    Raises:
        InputError: a score is infinite.
        DuplicateError: an item appears twice in a list.
    """
    numbers = index.numbers
    queries, to_item = index.places_of(source.users), numbers.ids.into(source.items)
    for rows in blocks(source):
        codes = queries[rows]
        known = codes >= 0
        whose, which = index.rows(codes[known])
        item = to_item[numbers.items[which]]
        wanted = _Wanted(codes[known], whose, item, index.grades[which], which)
        # lists without scores are ranked as they are: nothing has to be sorted
        if isinstance(source, Padded) and _stands(source, how, seen):
            aligned = _of_lists(source.lists(rows)[known], wanted, how)
        else:
            found = best_of(source, rows, how, depth, seen)
            aligned = _of_scores(source, found, known, wanted, how)
        present = np.ones(len(wanted.codes), bool)
        yield replace(aligned, present=present, unknown=int((~known).sum()))


def _stands(source: Padded, how: Alignment, seen: SeenItems | None) -> bool:
    """Whether lists are rankings as they are."""
    return source.values is None and seen is None and how.above is None and how.absent is None


@dataclass(frozen=True)
class _Wanted:
    """The judgments of a block: query, item, grade and place in the index; the queries' codes."""

    codes: Codes
    owner: Codes
    item: Codes
    grade: NDArray[np.float64]
    place: Codes


def best_of(
    source: MatrixInput,
    rows: slice,
    how: Alignment,
    depth: int | None,
    seen: SeenItems | None = None,
) -> Best:
    """What counts of some rows, as far as one looks.

    Raises:
        InputError, DuplicateError: as `aligned_blocks`.
    """
    single = how.precision == "float32"
    gone = None if seen is None else seen.places(rows)
    # a dense matrix may be on another device: the best are found there, and only they leave it
    if isinstance(source, Dense):
        mask = None
        if gone is not None:
            mask = np.zeros((rows.stop - rows.start, source.items.size), bool)
            mask.flat[gone] = True
        found = best(
            source.values[rows],
            depth,
            above=how.above,
            absent=how.absent,
            single=single,
            without=mask,
        )
    else:
        owner, item, score = source.flat(rows)
        kept = score > (-np.inf if how.above is None else how.above)
        if how.absent is not None:
            kept &= score != how.absent
        if gone is not None:
            kept &= ~np.isin(owner * source.items.size + item, gone)
        retrieved = np.bincount(owner[kept], minlength=rows.stop - rows.start)
        infinite = bool(np.isposinf(score).any())
        found = Best(owner[kept], item[kept], score[kept], retrieved, infinite)
    if found.infinite:
        problem = "score inf is not a finite number; only minus infinity says not ranked."
        raise InputError(problem, source=source.name, code="not-a-number")
    return found


def _of_scores(
    source: MatrixInput, found: Best, known: NDArray[np.bool_], wanted: _Wanted, how: Alignment
) -> Aligned:
    rows = known[found.owner]
    owner, item = (np.cumsum(known) - 1)[found.owner[rows]], found.column[rows]
    row, judgment = _met(owner, item, wanted, source)
    met = Met(
        found.score[rows],
        _Names(source.items, item),
        owner,
        wanted.codes,
        row,
        wanted.grade[judgment],
        None,
        0,
        wanted.place[judgment],
        found.retrieved[known],
        ordered=False,
    )
    return align(
        met, replace(how, above=None, absent=None, own_id="kept")
    )  # as `best_of` has seen to


def _met(owner: Codes, item: Codes, wanted: _Wanted, source: MatrixInput) -> tuple[Codes, Codes]:
    """The rows that are judged, and the judgment of each."""
    size = source.items.size
    real = np.flatnonzero(wanted.item != NOWHERE)
    asked = wanted.owner[real] * size + wanted.item[real]
    here = owner * size + item
    if isinstance(source, Dense):
        # a dense block has a cell for each pair anyway, so a table of that size costs no more
        # than the block, and looks up without sorting; below, lists may name millions of items
        table = np.full(len(wanted.codes) * size, NOWHERE, np.int32)
        table[here] = np.arange(len(here), dtype=np.int32)
        row = table[asked].astype(np.int64)
        valid = row != NOWHERE
        return row[valid], real[valid]
    by = np.argsort(here)
    place = np.minimum(np.searchsorted(here, asked, sorter=by), max(len(here) - 1, 0))
    if not len(here):
        return place[:0], real[:0]
    row = by[place]
    valid = here[row] == asked
    return row[valid], real[valid]


def _of_lists(lists: Codes, wanted: _Wanted, how: Alignment) -> Aligned:
    """Lists whose order ranks: each judged item is looked for in its list."""
    place = np.full(len(wanted.item), NOWHERE)
    largest = max(lists.max(initial=0), wanted.item.max(initial=0))
    # comparing every judgment with its whole list is bound by memory: half the width, half the time
    short = lists.astype(np.int32) if largest < _SHORT else lists
    step = max(1, _CELLS // max(1, lists.shape[1]))
    for begin in range(0, len(place) if lists.size else 0, step):
        part = slice(begin, begin + step)
        item = wanted.item[part]
        same = short[wanted.owner[part]] == item.astype(short.dtype)[:, None]
        first = same.argmax(axis=1)  # the only one: no item appears twice
        valid = same[np.arange(len(item)), first] & (item != NOWHERE)
        place[part] = np.where(valid, first, NOWHERE)
    judgment = np.flatnonzero(place != NOWHERE)
    rank, owner = place[judgment] + 1, wanted.owner[judgment]
    by = np.argsort(owner * (lists.shape[1] + 1) + rank, kind="stable")
    rank, owner, grade = rank[by], owner[by], wanted.grade[judgment][by]
    retrieved = np.count_nonzero(lists != NOWHERE, axis=1)
    aligned = Aligned(
        wanted.codes,
        retrieved > 0,
        retrieved,
        owner,
        rank,
        rank,
        rank,
        grade,
        judgment[by],
        wanted.place[judgment[by]],
    )
    return limited(aligned, how)


def tops_by_number(
    source: MatrixInput,
    index: JudgmentIndex,
    how: Alignment,
    depth: int | None,
    seen: SeenItems | None = None,
    *,
    everyone: bool = False,
) -> tuple[Codes, pl.Series]:
    """The first items of the lists of judged users, and of the others if `everyone` is wanted.

    Arguments as of `aligned_blocks`; a depth of None is whole lists.

    Returns:
        ``(T, K)`` items, padded behind with `NOWHERE`, the judged users first; and the others.
    """
    queries = index.places_of(source.users)
    others = np.flatnonzero(queries < 0) if everyone else np.zeros(0, np.int64)
    judged = len(index.query_ids)
    if len(others):
        queries = queries.copy()
        queries[others] = judged + np.arange(len(others))
    out = np.full((judged + len(others), 1), NOWHERE)
    for rows in blocks(source):
        known = queries[rows] >= 0
        codes = queries[rows][known]
        if isinstance(source, Padded) and _stands(source, how, seen):
            part = source.lists(rows)[known][:, : how.depth]
        else:
            part = _ranked(source, best_of(source, rows, how, depth, seen), known, how)
        part = part[:, :depth]
        if part.shape[1] > out.shape[1]:
            wider = part.shape[1] - out.shape[1]
            out = np.pad(out, ((0, 0), (0, wider)), constant_values=NOWHERE)
        out[codes, : part.shape[1]] = part
    return out, source.users.names.gather(others)


def _ranked(source: MatrixInput, found: Best, known: NDArray[np.bool_], how: Alignment) -> Codes:
    """The lists of a block: all that is in it has its rank, as if it had been judged."""
    rows = known[found.owner]
    owner, item = (np.cumsum(known) - 1)[found.owner[rows]], found.column[rows]
    users, every = int(known.sum()), np.arange(len(item))
    met = Met(
        found.score[rows],
        _Names(source.items, item),
        owner,
        np.arange(users),
        every,
        every.astype(np.float64),
        None,
        0,
        every,
        ordered=False,
    )
    top = first(met, replace(how, above=None, absent=None), None)  # as `best_of` has seen to
    out = np.full((users, int(top.rank.max(initial=1))), NOWHERE)
    out[top.owner, top.rank - 1] = item[top.row]
    return out
