"""Rankings as matrices of scores or lists of numbers, scored without making ids."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from rankgate.core.errors import InputError
from rankgate.core.frozen import dataclass
from rankgate.data.formats.tables.memory_tables import run_table
from rankgate.data.id_match import NO_IDS
from rankgate.data.memory.ids import NOT_FOUND, unique_sorted
from rankgate.data.memory.matrices import Dense, Padded, Sparse, TopScores, nonzero_pairs, select_top_scores
from rankgate.data.run import RUN_SCHEMA
from rankgate.measurement.scoring.alignment.aligned_run import AlignedRun, JudgedRanks, align, apply_depth
from rankgate.measurement.scoring.alignment.kernel_inputs import Block
from rankgate.measurement.scoring.alignment.top_documents import first

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rankgate.data.logs.large_logs import UserItems
    from rankgate.data.memory.ids import Ids
    from rankgate.data.memory.matrices import MatrixInput
    from rankgate.data.run import Duplicates
    from rankgate.measurement.scoring.alignment.judgment_index import JudgmentIndex
    from rankgate.measurement.scoring.convention import Alignment
    from rankgate.measurement.scoring.scoring_plan import Plan

    Codes = NDArray[np.int64]


_CELLS = 1 << 21  # numbers in a block; the arrays of a block need about 100 MB
_FIRST_CELLS = 1 << 16  # numbers that are looked at for examples of ids
_INT32_LIMIT = 1 << 31


@dataclass(frozen=True)
class _ItemNames:
    """The ids of items by row; they are looked up only for rows that need them."""

    ids: Ids
    codes: Codes

    def gather(self, rows: Codes) -> pl.Series:
        return self.ids.names.gather(self.codes[rows])


def row_ranges(source: MatrixInput, cells: int) -> Iterator[slice]:
    """Row ranges with a limited number of cells."""
    users = source.users.size
    if isinstance(source, Sparse):
        # users of a sparse matrix have different numbers of items: a block is limited by its
        # numbers, and by its rows, because empty rows also need memory in the arrays of a block
        begin = 0
        while begin < users:
            end = int(np.searchsorted(source.offsets, source.offsets[begin] + cells, "right")) - 1
            yield slice(begin, end := min(users, max(end, begin + 1), begin + cells))
            begin = end
        return
    width = source.codes.shape[1] if isinstance(source, Padded) else source.items.size
    step = max(1, cells // max(1, width))
    for begin in range(0, users, step):
        yield slice(begin, min(users, begin + step))


@dataclass(frozen=True)
class SeenItems:
    """Items that users had before, which are removed from their lists.

    Attributes:
        keys: row of the run times ``size`` plus item, each once, in rising order.
        size: the number of items.
    """

    keys: Codes
    size: int

    @classmethod
    def from_pairs(cls, pairs: UserItems | MatrixInput, source: MatrixInput) -> SeenItems:
        """Make the seen items from the pairs of a log, or from a matrix."""
        if isinstance(pairs, Dense | Sparse | Padded):
            owner, item = nonzero_pairs(pairs)
            row = pairs.users.positions_in(source.users)[owner]
            column = pairs.items.positions_in(source.items)[item]
        else:
            row = source.users.codes(pairs.users)[pairs.owner]
            column = source.items.codes(pairs.items)[pairs.item]
        valid = (row != NOT_FOUND) & (column != NOT_FOUND)
        return cls(unique_sorted(row[valid] * source.items.size + column[valid]), source.items.size)

    def places(self, rows: slice) -> Codes:
        """Positions of the seen items in a block: row times ``size`` plus item."""
        ends = np.searchsorted(self.keys, [rows.start * self.size, rows.stop * self.size])
        return self.keys[ends[0] : ends[1]] - rows.start * self.size


def aligned_blocks(
    source: MatrixInput,
    index: JudgmentIndex,
    how: Alignment,
    depth: int | None,
    seen_items: SeenItems | None = None,
) -> Iterator[JudgedRanks]:
    """The judged items of every block, with their ranks.

    Args:
        source: a matrix or lists.
        index: the judgments.
        how: the rules that form rankings.
        depth: the depth that is needed; deeper items are left out, but `retrieved` counts all.
        seen_items: the items that are removed from rankings.

    Raises:
        InputError: a score is infinite.
        DuplicateError: an item appears twice in a list.
    """
    numbers = index.numbers
    queries, to_item = index.places_of(source.users), numbers.ids.positions_in(source.items)
    for rows in row_ranges(source, _CELLS):
        codes = queries[rows]
        is_judged = codes >= 0
        owner, judgment = index.rows(codes[is_judged])
        item = to_item[numbers.items[judgment]]
        block_judgments = _BlockJudgments(codes[is_judged], owner, item, index.grades[judgment], judgment)
        # lists without scores keep their order: no sorting is needed
        if isinstance(source, Padded) and _is_ranked_by_order(source, how, seen_items):
            aligned = _align_lists(source.lists(rows)[is_judged], block_judgments, how)
        else:
            best_items = find_best(source, rows, how, depth, seen_items)
            aligned = _align_scores(source, best_items, is_judged, block_judgments, how)
        present = np.ones(len(block_judgments.codes), bool)
        unknown = NO_IDS if is_judged.all() else source.users.names[rows].filter(pl.Series(~is_judged))
        yield replace(aligned, present=present, unknown=unknown)


def _is_ranked_by_order(source: Padded, how: Alignment, seen_items: SeenItems | None) -> bool:
    """True if the order of lists is their ranking."""
    is_whole = how.above is None and how.absent is None and not _drops_own_ids(source, how)
    return source.values is None and seen_items is None and is_whole


def _drops_own_ids(source: MatrixInput, alignment: Alignment) -> bool:
    """True if an item is removed whose id is that of its user; a row number is not an item's id."""
    return alignment.own_id == "dropped" and source.users.given is not None


def _removed_places(
    source: MatrixInput, rows: slice, alignment: Alignment, seen_items: SeenItems | None
) -> Codes | None:
    """Positions of the removed items in a block, as `SeenItems.places`; None if none can be there."""
    places = [] if seen_items is None else [seen_items.places(rows)]
    if _drops_own_ids(source, alignment):
        item = source.items.codes(source.users.names[rows])
        row = np.flatnonzero(item != NOT_FOUND)
        places.append(row * source.items.size + item[row])
    return np.concatenate(places) if places else None


@dataclass(frozen=True)
class _BlockJudgments:
    """A block's judgments: query, item, grade, position in the index; the codes of queries."""

    codes: Codes
    owner: Codes
    item: Codes
    grade: NDArray[np.float64]
    place: Codes


def find_best(
    source: MatrixInput, rows: slice, how: Alignment, depth: int | None, seen_items: SeenItems | None = None
) -> TopScores:
    """The best items of some rows, down to a depth.

    Raises:
        InputError, DuplicateError: see `aligned_blocks`.
    """
    is_float32 = how.precision == "float32"
    removed_places = _removed_places(source, rows, how, seen_items)
    # a dense matrix may be on another device: find the best items there, and copy only these
    if isinstance(source, Dense):
        mask = None
        if removed_places is not None:
            mask = np.zeros((rows.stop - rows.start, source.items.size), bool)
            mask.flat[removed_places] = True
        best_items = select_top_scores(
            source.values[rows], depth, above=how.above, absent=how.absent, single=is_float32, without=mask
        )
    else:
        owner, item, score = source.flat(rows)
        is_retrieved = score > (-np.inf if how.above is None else how.above)
        if how.absent is not None:
            is_retrieved &= score != how.absent
        if removed_places is not None:
            is_retrieved &= ~np.isin(owner * source.items.size + item, removed_places)
        retrieved = np.bincount(owner[is_retrieved], minlength=rows.stop - rows.start)
        infinite = bool(np.isposinf(score).any())
        best_items = TopScores(
            owner[is_retrieved], item[is_retrieved], score[is_retrieved], retrieved, infinite
        )
    if best_items.infinite:
        problem = "score inf is not a finite number; only minus infinity means not ranked."
        raise InputError(problem, source=source.name, code="not-a-number")
    return best_items


def _align_scores(
    source: MatrixInput,
    best_items: TopScores,
    is_judged: NDArray[np.bool_],
    block_judgments: _BlockJudgments,
    how: Alignment,
) -> JudgedRanks:
    rows = is_judged[best_items.owner]
    owner, item = (np.cumsum(is_judged) - 1)[best_items.owner[rows]], best_items.column[rows]
    row, judgment = _match_judgments(owner, item, block_judgments, source)
    aligned_run = AlignedRun(
        best_items.score[rows],
        _ItemNames(source.items, item),
        owner,
        block_judgments.codes,
        row,
        block_judgments.grade[judgment],
        None,
        NO_IDS,
        block_judgments.place[judgment],
        best_items.retrieved[is_judged],
        ordered=False,
    )
    return align(
        aligned_run, replace(how, above=None, absent=None, own_id="kept")
    )  # `find_best` has applied these


def _match_judgments(
    owner: Codes, item: Codes, block_judgments: _BlockJudgments, source: MatrixInput
) -> tuple[Codes, Codes]:
    """The judged rows, and the judgment of each."""
    size = source.items.size
    known_judgments = np.flatnonzero(block_judgments.item != NOT_FOUND)
    judgment_keys = block_judgments.owner[known_judgments] * size + block_judgments.item[known_judgments]
    item_keys = owner * size + item
    if not len(item_keys):
        return known_judgments[:0], known_judgments[:0]
    row_order = np.argsort(item_keys) if isinstance(source, Padded) else None  # matrices are in order
    row = np.minimum(np.searchsorted(item_keys, judgment_keys, sorter=row_order), len(item_keys) - 1)
    row = row if row_order is None else row_order[row]
    valid = item_keys[row] == judgment_keys
    return row[valid], known_judgments[valid]


def _align_lists(lists: Codes, block_judgments: _BlockJudgments, how: Alignment) -> JudgedRanks:
    """Align lists that are already rankings: find each judged item in its list."""
    position = np.full(len(block_judgments.item), NOT_FOUND)
    largest = max(lists.max(initial=0), block_judgments.item.max(initial=0))
    # comparing judgments with complete lists is bound by memory: half the width, half the time
    narrow_lists = lists.astype(np.int32) if largest < _INT32_LIMIT else lists
    step = max(1, _CELLS // max(1, lists.shape[1]))
    for begin in range(0, len(position) if lists.size else 0, step):
        window = slice(begin, begin + step)
        item = block_judgments.item[window]
        is_match = narrow_lists[block_judgments.owner[window]] == item.astype(narrow_lists.dtype)[:, None]
        first = is_match.argmax(axis=1)  # the only position, because no item appears twice
        valid = is_match[np.arange(len(item)), first] & (item != NOT_FOUND)
        position[window] = np.where(valid, first, NOT_FOUND)
    judgment = np.flatnonzero(position != NOT_FOUND)
    rank, owner = position[judgment] + 1, block_judgments.owner[judgment]
    row_order = np.argsort(owner * (lists.shape[1] + 1) + rank, kind="stable")
    rank, owner, grade = (rank[row_order], owner[row_order], block_judgments.grade[judgment][row_order])
    retrieved = np.count_nonzero(lists != NOT_FOUND, axis=1)
    aligned = JudgedRanks(
        block_judgments.codes,
        retrieved > 0,
        retrieved,
        owner,
        rank,
        rank,
        rank,
        grade,
        judgment[row_order],
        block_judgments.place[judgment[row_order]],
    )
    return apply_depth(aligned, how)


def tops_by_number(
    source: MatrixInput,
    index: JudgmentIndex,
    how: Alignment,
    depth: int | None,
    seen_items: SeenItems | None = None,
    *,
    everyone: bool = False,
) -> tuple[Codes, pl.Series]:
    """The first items of the lists of judged users; with `everyone` also those of other users.

    Arguments as in `aligned_blocks`; a depth of None means complete lists.

    Returns:
        ``(T, K)`` items, padded at the end with `NOT_FOUND`, judged users first; and the other
        users.
    """
    queries = index.places_of(source.users)
    other_users = np.flatnonzero(queries < 0) if everyone else np.zeros(0, np.int64)
    judged = len(index.query_ids)
    if len(other_users):
        queries = queries.copy()
        queries[other_users] = judged + np.arange(len(other_users))
    out = np.full((judged + len(other_users), 1), NOT_FOUND)
    for rows in row_ranges(source, _CELLS):
        is_wanted = queries[rows] >= 0
        codes = queries[rows][is_wanted]
        if isinstance(source, Padded) and _is_ranked_by_order(source, how, seen_items):
            top_items = source.lists(rows)[is_wanted][:, : how.depth]
        else:
            top_items = _rank_all(source, find_best(source, rows, how, depth, seen_items), is_wanted, how)
        top_items = top_items[:, :depth]
        if top_items.shape[1] > out.shape[1]:
            wider = top_items.shape[1] - out.shape[1]
            out = np.pad(out, ((0, 0), (0, wider)), constant_values=NOT_FOUND)
        out[codes, : top_items.shape[1]] = top_items
    return out, source.users.names.gather(other_users)


def _rank_all(
    source: MatrixInput, best_items: TopScores, is_wanted: NDArray[np.bool_], how: Alignment
) -> Codes:
    """The ranked lists of a block, as if all items were judged."""
    rows = is_wanted[best_items.owner]
    owner, item = (np.cumsum(is_wanted) - 1)[best_items.owner[rows]], best_items.column[rows]
    users, all_rows = int(is_wanted.sum()), np.arange(len(item))
    aligned_run = AlignedRun(
        best_items.score[rows],
        _ItemNames(source.items, item),
        owner,
        np.arange(users),
        all_rows,
        all_rows.astype(np.float64),
        None,
        NO_IDS,
        all_rows,
        ordered=False,
    )
    remaining_rules = replace(how, above=None, absent=None, own_id="kept")  # `find_best` has applied these
    top = first(aligned_run, remaining_rules, None)
    out = np.full((users, int(top.rank.max(initial=1))), NOT_FOUND)
    out[top.owner, top.rank - 1] = item[top.row]
    return out


@dataclass(frozen=True, eq=False)
class MatrixSource:
    """Rankings given as a matrix or lists.

    A matrix is read to the depth that the plan needs; deeper ties are not counted.

    Attributes:
        matrix: the rankings.
        judgments: the judgments.
        seen: the items to remove from the rankings.
    """

    matrix: MatrixInput
    judgments: JudgmentIndex
    seen: SeenItems | None = None
    tag: str | None = None
    duplicates: Duplicates | None = "error"

    @property
    def name(self) -> str:
        """The name of the matrix."""
        return self.matrix.name

    @property
    def label(self) -> str:
        """The name of the matrix, for errors."""
        return self.matrix.name

    @property
    def states(self) -> pl.DataFrame | None:
        """Return None: a matrix has no states of queries."""

    @property
    def zero(self) -> pl.Series:
        """Queries that ran and returned nothing."""
        return NO_IDS

    @property
    def cautions(self) -> Mapping[str, str]:
        """Return no cautions, because the form of a matrix is never ambiguous."""
        return {}

    def first_rows(self) -> pl.DataFrame:
        """The first rows with ids, of as few users as have some."""
        tables = (run_table(self.matrix, rows) for rows in row_ranges(self.matrix, _FIRST_CELLS))
        return next((table for table in tables if len(table)), pl.DataFrame(schema=RUN_SCHEMA))

    def blocks(self, plan: Plan) -> Iterator[Block]:
        """Yield the judged items of row ranges, in every ranking mode of the plan.

        Raises:
            InputError: a score is infinite.
            DuplicateError: an item appears twice in a list.
        """
        for mode in plan.ways:
            alignment = mode.alignment
            depth = plan.depth(mode)
            for aligned in aligned_blocks(self.matrix, self.judgments, alignment, depth, self.seen):
                yield Block(mode, aligned, self.judgments)
