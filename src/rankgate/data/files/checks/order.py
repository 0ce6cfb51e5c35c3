"""Checks of the order of a run: scores, ranks, file order and ties."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from rankgate.data.files.checks.declare import Found, check, count_noun

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rankgate.data.files.checks.subject import RawRun

_MIN_SHARE = 0.9


@check("rank-order", "warning", "run", "Scores disagree with the rank column.")
def _find_rank_order(run: RawRun) -> Iterator[Found]:
    """Find scores that rise as ranks fall, and ranks that appear twice."""
    rank = run.rank
    if rank is None or not len(rank):
        return
    rows, scores = run.rows, run.score
    if ((rank[1:] <= rank[:-1]) & run.follows).any():
        owner = np.repeat(np.arange(len(run.starts)), run.lengths)
        order = np.lexsort((-scores, rank, owner))
        rows, rank, scores = rows[order], rank[order], scores[order]
    is_rising = np.zeros(len(rank), bool)
    is_rising[1:] = (scores[1:] > scores[:-1]) & (rank[1:] > rank[:-1]) & run.follows
    count = int(is_rising.sum())
    if count:
        queries = int(np.count_nonzero(run.by_query(is_rising)))
        position = int(is_rising.argmax())
        yield Found(
            f"{count_noun(count, 'document')} in {count_noun(queries, 'query', 'queries')} with "
            "a higher "
            "score than the rank above: metrics follow the score, and pass over the rank",
            count,
            "write scores that fall with the rank, such as 1/rank, if the rank is what was meant",
            _format_neighbours(run, rows[position - 1], rows[position]),
            row=int(rows[position]),
        )
    has_repeated_rank = np.zeros(len(rank), bool)
    has_repeated_rank[1:] = (rank[1:] == rank[:-1]) & run.follows
    if has_repeated_rank.any():
        yield Found(
            f"{count_noun(int(has_repeated_rank.sum()), 'row')} whose rank another document of the "
            "query has",
            int(has_repeated_rank.sum()),
            "nothing needs to be done, as the score decides; but see how the ranks came about",
            row=int(rows[int(has_repeated_rank.argmax())]),
            severity="note",
        )


@check("file-order", "note", "run", "Rows are not in the order of scores.")
def _find_file_order(run: RawRun) -> Iterator[Found]:
    """Find rows that are not best first."""
    is_rising, is_falling = run.steps(up=True), run.steps(up=False)
    count = int(is_rising.sum())
    if not count or _are_distances(run, is_rising, is_falling):
        return
    queries = int(np.count_nonzero(run.by_query(is_rising)))
    position = int(is_rising.argmax())
    yield Found(
        f"{count_noun(count, 'row')} in {count_noun(queries, 'query', 'queries')} with a higher "
        "score than the row before: the file is not in the order of its scores, which decide",
        count,
        "nothing needs to be done if the scores are right; sort the file for tools that take its "
        "order",
        _format_neighbours(run, run.rows[position - 1], run.rows[position]),
        row=int(run.rows[position]),
    )


@check("rising-scores", "warning", "run", "Scores rise down the lists, as distances do.")
def _find_rising_scores(run: RawRun) -> Iterator[Found]:
    """Find scores that rise down every list: distances, or ranks used as scores."""
    is_rising, is_falling = run.steps(up=True), run.steps(up=False)
    if not _are_distances(run, is_rising, is_falling):
        return
    list_count = int(np.count_nonzero(run.lengths > 1))
    position = int(is_rising.argmax())
    yield Found(
        f"the scores rise down the lists of {count_noun(list_count, 'query', 'queries')}: they "
        "look like "
        "distances, of which the smallest is best, and the highest score counts as best",
        int(is_rising.sum()),
        "write them with the other sign",
        _format_neighbours(run, run.rows[position - 1], run.rows[position]),
        row=int(run.rows[position]),
    )


def _are_distances(
    run: RawRun, is_rising: NDArray[np.bool_], is_falling: NDArray[np.bool_]
) -> bool:
    """True if scores rise down nearly all lists and fall almost nowhere."""
    rising_steps, falling_steps = run.by_query(is_rising), run.by_query(is_falling)
    has_order = run.lengths > 1
    rising_lists = np.count_nonzero(has_order & (rising_steps > 0) & (falling_steps == 0))
    return bool(rising_lists and rising_lists >= _MIN_SHARE * np.count_nonzero(has_order))


@check("all-tied", "warning", "run", "All documents of a query have one score.")
def _find_all_tied(run: RawRun) -> Iterator[Found]:
    """Find queries whose documents all have one score; invalid scores do not count."""
    differs = run.steps(up=True) | run.steps(up=False) | ~np.isfinite(run.score)
    is_all_tied = (run.by_query(differs) == 0) & (run.lengths > 1)
    tied_count, list_count = int(is_all_tied.sum()), int(np.count_nonzero(run.lengths > 1))
    if tied_count:
        first_tied = int(is_all_tied.argmax())
        yield Found(
            f"in {tied_count:,} of {count_noun(list_count, 'query', 'queries')} all documents have "
            "the same "
            "score: the ids of documents decide the order",
            tied_count,
            "write the scores, or 1/rank, before anything is measured",
            f"query {run.query_ids[first_tied]}",
            row=int(run.rows[run.starts[first_tied]]),
            severity="warning" if tied_count == list_count else "note",
        )


@check("ties", "note", "run", "Documents of a query have equal scores.")
def _find_ties(run: RawRun) -> Iterator[Found]:
    """Find equal scores."""
    is_tied = run.tied
    count = int(is_tied.sum())
    if count:
        queries = int(np.count_nonzero(run.by_query(is_tied)))
        first, second = _neighbour_rows(run, int(is_tied.argmax()))
        yield Found(
            f"{count_noun(count, 'document')} in {count_noun(queries, 'query', 'queries')} with "
            "the score of the document before: tools order them differently",
            count,
            "see ties in rankgate conventions axes; break them in the system if they are many",
            _format_neighbours(run, first, second),
            row=int(second),
        )


@check("single-precision", "note", "run", "Scores are equal in single precision only.")
def _find_single_precision_ties(run: RawRun) -> Iterator[Found]:
    """Find scores that are equal in single precision only."""
    scores = run.score[run.best_first]
    with np.errstate(over="ignore", invalid="ignore"):
        single_scores = scores.astype(np.float32)
    is_near = np.zeros(len(single_scores), bool)
    is_near[1:] = (
        (single_scores[1:] == single_scores[:-1]) & (scores[1:] != scores[:-1]) & run.follows
    )
    is_near &= np.isfinite(single_scores)
    if is_near.any():
        first, second = _neighbour_rows(run, int(is_near.argmax()))
        yield Found(
            f"{count_noun(int(is_near.sum()), 'score')} different from the one before only beyond "
            "single precision: trec_eval up to 9.0.8 takes them for ties",
            int(is_near.sum()),
            "nothing needs to be done here; --convention trec9 gives what those versions give",
            _format_neighbours(run, first, second),
            row=int(second),
        )


def _neighbour_rows(run: RawRun, position: int) -> tuple[np.int64, np.int64]:
    """The rows at a position of the order by score and at the position before it."""
    rows = run.rows[run.best_first[position - 1 : position + 1]]
    return rows[0], rows[1]


def _format_neighbours(run: RawRun, first: np.int64, second: np.int64) -> str:
    query, document, score = run.table.row(int(first))[:1] + _doc_and_score(run, int(first))
    other_doc, other_score = _doc_and_score(run, int(second))
    return f"query {query}: {document} {score!r}, then {other_doc} {other_score!r}"


def _doc_and_score(run: RawRun, row: int) -> tuple[str, float]:
    return run.table["doc_id"][row], run.table["score"][row]
