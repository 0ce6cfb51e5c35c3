"""Rankings that are matrices or lists of numbers, aligned block by block."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from rankgate.data.devices import Best, best
from rankgate.data.ids import NOWHERE
from rankgate.data.matrices import Dense, Padded, Sparse
from rankgate.errors import InputError
from rankgate.scoring.align import Aligned, Met, align, limited

if TYPE_CHECKING:
    from collections.abc import Iterator

    import polars as pl
    from numpy.typing import NDArray

    from rankgate.data.ids import Ids
    from rankgate.data.matrices import Source
    from rankgate.scoring.coded import Coded
    from rankgate.scoring.convention import Alignment

    Codes = NDArray[np.int64]

_CELLS = 1 << 21  # numbers of a block; with what is made of them that is about 100 MB


@dataclass(frozen=True)
class _Names:
    """The ids of items by the row that they stand in; looked up for the few that need them."""

    ids: Ids
    codes: Codes

    def gather(self, rows: Codes) -> pl.Series:
        return self.ids.names.gather(self.codes[rows])


def blocks(source: Source) -> Iterator[slice]:
    """Stretches of rows of bounded size."""
    users = source.users.size
    if isinstance(source, Sparse):
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


def aligned_blocks(
    source: Source, index: Coded, how: Alignment, depth: int | None
) -> Iterator[Aligned]:
    """The judged items of every block, with their ranks.

    Args:
        source: a matrix or lists.
        index: the judgments.
        how: how rankings are formed.
        depth: how far a matrix is looked at; what follows is left out, `retrieved` counts all.

    Raises:
        InputError: a score is infinite.
        DuplicateError: an item stands twice in a list.
    """
    queries, to_item = index.places_of(source.users), index.ids.into(source.items)
    given = isinstance(source, Padded) and source.values is None
    for rows in blocks(source):
        codes = queries[rows]
        known = codes >= 0
        whose, which = index.rows(codes[known])
        wanted = _Wanted(codes[known], whose, to_item[index.items[which]], index.grades[which])
        if isinstance(source, Padded) and given and how.above is None and how.absent is None:
            aligned = _of_lists(source.lists(rows)[known], wanted, how)
        else:
            aligned = _of_scores(source, best_of(source, rows, how, depth), known, wanted, how)
        present = np.ones(len(wanted.codes), bool)
        yield replace(aligned, present=present, unknown=int((~known).sum()))


@dataclass(frozen=True)
class _Wanted:
    """The judgments of a block: the query of each, the item, the grade; and the queries' codes."""

    codes: Codes
    owner: Codes
    item: Codes
    grade: NDArray[np.float64]


def best_of(source: Source, rows: slice, how: Alignment, depth: int | None) -> Best:
    """What counts of some rows, as far as one looks.

    Raises:
        InputError, DuplicateError: as `aligned_blocks`.
    """
    single = how.precision == "float32"
    if isinstance(source, Dense):
        found = best(source.values[rows], depth, above=how.above, absent=how.absent, single=single)
    else:
        owner, item, score = source.flat(rows)
        kept = score > (-np.inf if how.above is None else how.above)
        if how.absent is not None:
            kept &= score != how.absent
        retrieved = np.bincount(owner[kept], minlength=rows.stop - rows.start)
        infinite = bool(np.isposinf(score).any())
        found = Best(owner[kept], item[kept], score[kept], retrieved, infinite)
    if found.infinite:
        problem = "score inf is not a finite number; only minus infinity says not ranked."
        raise InputError(problem, source=source.name)
    return found


def _of_scores(
    source: Source, found: Best, known: NDArray[np.bool_], wanted: _Wanted, how: Alignment
) -> Aligned:
    rows = known[found.owner]
    owner, item = (np.cumsum(known) - 1)[found.owner[rows]], found.column[rows]
    row, judgment = _met(owner, item, wanted, source)
    met = Met(
        found.score[rows], _Names(source.items, item), owner, wanted.codes, row,
        wanted.grade[judgment], None, 0, judgment, found.retrieved[known],
    )  # fmt: skip
    return align(met, replace(how, above=None, absent=None))  # as `best_of` has seen to


def _met(owner: Codes, item: Codes, wanted: _Wanted, source: Source) -> tuple[Codes, Codes]:
    """The rows that are judged, and the judgment of each."""
    size = source.items.size
    real = np.flatnonzero(wanted.item != NOWHERE)
    asked = wanted.owner[real] * size + wanted.item[real]
    here = owner * size + item
    if isinstance(source, Dense):
        table = np.full(len(wanted.codes) * size, NOWHERE, np.int32)
        table[here] = np.arange(len(here), dtype=np.int32)
        row = table[asked].astype(np.int64)
        held = row != NOWHERE
        return row[held], real[held]
    by = np.argsort(here)
    place = np.minimum(np.searchsorted(here, asked, sorter=by), max(len(here) - 1, 0))
    if not len(here):
        return place[:0], real[:0]
    row = by[place]
    held = here[row] == asked
    return row[held], real[held]


def _of_lists(lists: Codes, wanted: _Wanted, how: Alignment) -> Aligned:
    """Lists whose order ranks: each judged item is looked for in its list."""
    step = max(1, _CELLS // max(1, lists.shape[1]))
    found = []
    for begin in range(0, len(wanted.item), step):
        part = slice(begin, begin + step)
        item = wanted.item[part]
        same = (lists[wanted.owner[part]] == item[:, None]) & (item != NOWHERE)[:, None]
        judgment, place = np.nonzero(same)
        found.append((judgment + begin, place))
    judgment = np.concatenate([np.zeros(0, np.int64), *(each[0] for each in found)])
    rank = np.concatenate([np.zeros(0, np.int64), *(each[1] for each in found)]) + 1
    owner = wanted.owner[judgment]
    by = np.lexsort((rank, owner))
    rank, owner, grade = rank[by], owner[by], wanted.grade[judgment][by]
    retrieved = np.count_nonzero(lists != NOWHERE, axis=1)
    aligned = Aligned(
        wanted.codes, retrieved > 0, retrieved, owner, rank, rank, rank, grade, judgment[by]
    )
    return limited(aligned, how)
