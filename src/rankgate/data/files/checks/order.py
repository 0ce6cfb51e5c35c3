"""Checks of the order of a run: scores, ranks, file order and ties."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from rankgate.data.files.checks.declare import Found, check, counted

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rankgate.data.files.checks.subject import RawRun

_MOST = 0.9


@check("rank-order", "warning", "run", "Scores disagree with the rank column.")
def _by_rank(found: RawRun) -> Iterator[Found]:
    """Scores that rise where ranks fall, and ranks that appear twice."""
    rank = found.rank
    if rank is None or not len(rank):
        return
    rows, score = found.rows, found.score
    if ((rank[1:] <= rank[:-1]) & found.follows).any():
        owner = np.repeat(np.arange(len(found.starts)), found.lengths)
        order = np.lexsort((-score, rank, owner))
        rows, rank, score = rows[order], rank[order], score[order]
    rises = np.zeros(len(rank), bool)
    rises[1:] = (score[1:] > score[:-1]) & (rank[1:] > rank[:-1]) & found.follows
    count = int(rises.sum())
    if count:
        queries = int(np.count_nonzero(found.by_query(rises)))
        at = int(rises.argmax())
        yield Found(
            f"{counted(count, 'document')} in {counted(queries, 'query', 'queries')} with a higher "
            "score than the rank above: metrics follow the score, and pass over the rank",
            count,
            "write scores that fall with the rank, such as 1/rank, if the rank is what was meant",
            _beside(found, rows[at - 1], rows[at]),
            row=int(rows[at]),
        )
    again = np.zeros(len(rank), bool)
    again[1:] = (rank[1:] == rank[:-1]) & found.follows
    if again.any():
        yield Found(
            f"{counted(int(again.sum()), 'row')} whose rank another document of the query has",
            int(again.sum()),
            "nothing needs to be done, as the score decides; but see how the ranks came about",
            row=int(rows[int(again.argmax())]),
            severity="note",
        )


@check("file-order", "note", "run", "Rows are not in the order of scores.")
def _by_file(found: RawRun) -> Iterator[Found]:
    """Rows that are not best first."""
    rises, falls = found.steps(up=True), found.steps(up=False)
    count = int(rises.sum())
    if not count or _distances(found, rises, falls):
        return
    queries = int(np.count_nonzero(found.by_query(rises)))
    at = int(rises.argmax())
    yield Found(
        f"{counted(count, 'row')} in {counted(queries, 'query', 'queries')} with a higher score "
        "than the row before: the file is not in the order of its scores, which decide",
        count,
        "nothing needs to be done if the scores are right; sort the file for tools that take its "
        "order",
        _beside(found, found.rows[at - 1], found.rows[at]),
        row=int(found.rows[at]),
    )


@check("rising-scores", "warning", "run", "Scores rise down the lists, as distances do.")
def _upside_down(found: RawRun) -> Iterator[Found]:
    """Scores that rise down every list: distances, or ranks taken for scores."""
    rises, falls = found.steps(up=True), found.steps(up=False)
    if not _distances(found, rises, falls):
        return
    lists = int(np.count_nonzero(found.lengths > 1))
    at = int(rises.argmax())
    yield Found(
        f"the scores rise down the lists of {counted(lists, 'query', 'queries')}: they look like "
        "distances, of which the smallest is best, and the highest score counts as best",
        int(rises.sum()),
        "write them with the other sign",
        _beside(found, found.rows[at - 1], found.rows[at]),
        row=int(found.rows[at]),
    )


def _distances(found: RawRun, rises: NDArray[np.bool_], falls: NDArray[np.bool_]) -> bool:
    """Whether scores rise down nearly all lists and fall nearly nowhere."""
    up, down = found.by_query(rises), found.by_query(falls)
    lists = found.lengths > 1
    rising = np.count_nonzero(lists & (up > 0) & (down == 0))
    return bool(rising and rising >= _MOST * np.count_nonzero(lists))


@check("all-tied", "warning", "run", "All documents of a query have one score.")
def _all_tied(found: RawRun) -> Iterator[Found]:
    """Queries all of whose documents have one score; what is not a number is not a score."""
    apart = found.steps(up=True) | found.steps(up=False) | ~np.isfinite(found.score)
    tied = (found.by_query(apart) == 0) & (found.lengths > 1)
    count, lists = int(tied.sum()), int(np.count_nonzero(found.lengths > 1))
    if count:
        first = int(tied.argmax())
        yield Found(
            f"in {count:,} of {counted(lists, 'query', 'queries')} all documents have the same "
            "score: the ids of documents decide the order",
            count,
            "write the scores, or 1/rank, before anything is measured",
            f"query {found.query_ids[first]}",
            row=int(found.rows[found.starts[first]]),
            severity="warning" if count == lists else "note",
        )


@check("ties", "note", "run", "Documents of a query have equal scores.")
def _ties(found: RawRun) -> Iterator[Found]:
    """Scores that are equal."""
    equal = found.tied
    count = int(equal.sum())
    if count:
        queries = int(np.count_nonzero(found.by_query(equal)))
        first, second = _two(found, int(equal.argmax()))
        yield Found(
            f"{counted(count, 'document')} in {counted(queries, 'query', 'queries')} with the "
            "score of the document before: tools order them differently",
            count,
            "see ties in rankgate conventions axes; break them in the system if they are many",
            _beside(found, first, second),
            row=int(second),
        )


@check("single-precision", "note", "run", "Scores are equal in single precision only.")
def _single(found: RawRun) -> Iterator[Found]:
    """Scores that are equal in single precision only."""
    score = found.score[found.best_first]
    with np.errstate(over="ignore", invalid="ignore"):
        single = score.astype(np.float32)
    near = np.zeros(len(single), bool)
    near[1:] = (single[1:] == single[:-1]) & (score[1:] != score[:-1]) & found.follows
    near &= np.isfinite(single)
    if near.any():
        first, second = _two(found, int(near.argmax()))
        yield Found(
            f"{counted(int(near.sum()), 'score')} different from the one before only beyond "
            "single precision: trec_eval up to 9.0.8 takes them for ties",
            int(near.sum()),
            "nothing needs to be done here; --convention trec9 gives what those versions give",
            _beside(found, first, second),
            row=int(second),
        )


def _two(found: RawRun, place: int) -> tuple[np.int64, np.int64]:
    """The rows at a place of the order by score and before it."""
    rows = found.rows[found.best_first[place - 1 : place + 1]]
    return rows[0], rows[1]


def _beside(found: RawRun, first: np.int64, second: np.int64) -> str:
    query, document, score = found.table.row(int(first))[:1] + _named(found, int(first))
    other, value = _named(found, int(second))
    return f"query {query}: {document} {score!r}, then {other} {value!r}"


def _named(found: RawRun, row: int) -> tuple[str, float]:
    return found.table["doc_id"][row], found.table["score"][row]
