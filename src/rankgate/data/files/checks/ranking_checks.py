"""Checks of runs: duplicate, missing, invalid and truncated rows, and their order.

The checks of the order compare scores, ranks, the order in the file, and ties.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from rankgate.core.present.number_formats import count_noun
from rankgate.data.files.checks.check_declarations import PAIR, Found, check, find_without_id, first_few
from rankgate.data.table_rows import hash_pairs

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rankgate.data.unchecked_rows import Outline, RawRun


@check("empty-doc", "error", "run", "The id of a query or document is missing.")
def _find_empty_ids(run: RawRun) -> Iterator[Found]:
    columns = [run.table[name] for name in PAIR]
    is_empty = (columns[0].fill_null("") == "") | (columns[1].fill_null("") == "")
    yield from find_without_id(is_empty)


@check("ranked-twice", "error", "run", "A document is ranked twice for one query.")
def _find_ranked_twice(run: RawRun) -> Iterator[Found]:
    table = run.table.select(PAIR)
    pairs = hash_pairs(table)
    sorted_pairs = np.sort(pairs)
    repeated_pairs = sorted_pairs[1:][sorted_pairs[1:] == sorted_pairs[:-1]]
    if not len(repeated_pairs):
        return
    repeated_rows = (
        table.with_row_index("row")
        .filter(pl.Series(np.isin(pairs, repeated_pairs)))
        .filter(~pl.struct(PAIR).is_first_distinct())
    )
    if len(repeated_rows):
        query, document = repeated_rows.select(PAIR).row(0)
        yield Found(
            f"{count_noun(len(repeated_rows), 'row')} ranking a document again for the same query",
            len(repeated_rows),
            "keep the best of them; chunks of a document become one row with their highest score",
            f"query {query}, document {document}",
            row=int(repeated_rows["row"][0]),
        )


@check("no-score", "error", "run", "A score is not a finite number.")
def _find_invalid_scores(run: RawRun) -> Iterator[Found]:
    rows = np.flatnonzero(~np.isfinite(run.table["score"].fill_null(float("nan")).to_numpy()))
    if not len(rows):
        return
    invalid_rows = run.table[rows]
    invalid_texts = invalid_rows["written"] if "written" in invalid_rows.columns else invalid_rows["score"]
    query, document = invalid_rows.select(PAIR).row(0)
    yield Found(
        f"{count_noun(len(rows), 'row')} with a score that is not a finite number "
        f"({first_few(invalid_texts.fill_null('empty').unique().sort())})",
        len(rows),
        "look where the system computes them (0/0, log 0); write finite numbers or leave the documents out",
        f"query {query}, document {document}",
        row=int(rows[0]),
    )


@check("short-lists", "note", "run", "Some queries have fewer documents than most.")
def _find_short_lists(run: RawRun) -> Iterator[Found]:
    """Find lists shorter than the others of a run in which most lists have one length."""
    lengths = run.lengths
    if len(lengths) < 2:  # a single list has nothing to be compared with
        return
    full_length = int(lengths.max())
    short_lists = np.flatnonzero(lengths < full_length)
    if not len(short_lists) or np.count_nonzero(lengths == full_length) <= len(lengths) / 2:
        return
    shortest = int(lengths.argmin())
    yield Found(
        f"{count_noun(len(short_lists), 'query')} of {len(lengths):,} with fewer than the "
        f"{count_noun(full_length, 'document')} that the others have",
        len(short_lists),
        "ignore this if the system found no more documents; otherwise look for errors and timeouts",
        f"query {run.query_ids[shortest]} has {lengths[shortest]:,}",
        row=int(run.rows[run.starts[shortest]]),
    )


@check("depths", "warning", "runs", "Runs are cut at different depths.")
def _find_different_depths(runs: Sequence[Outline]) -> Iterator[Found]:
    """Find runs of different depths, which metrics at deep ranks cannot compare fairly."""
    depths = {run.name: run.depth for run in runs}
    if len(set(depths.values())) > 1:
        depths_by_name = sorted(depths.items(), key=lambda name_and_depth: name_and_depth[1])
        yield Found(
            "the runs are cut at different depths: "
            f"{first_few(f'{name} at {depth:,}' for name, depth in depths_by_name)}",
            len(depths_by_name),
            f"cut all at {depths_by_name[0][1]:,}, or use metrics that look no deeper",
        )


@check("run-queries", "warning", "runs", "Runs have different queries.")
def _find_different_queries(runs: Sequence[Outline]) -> Iterator[Found]:
    """Find runs that do not have the same queries."""
    queries_by_run = {run.name: run.query_ids for run in runs}
    all_queries = frozenset().union(*queries_by_run.values())
    missing_by_run = {
        name: all_queries - run_queries
        for name, run_queries in queries_by_run.items()
        if run_queries != all_queries
    }
    if missing_by_run:
        name, missing = max(missing_by_run.items(), key=lambda run_and_missing: len(run_and_missing[1]))
        yield Found(
            "the runs have different queries: "
            f"{first_few(f'{name} lacks {len(ids):,}' for name, ids in missing_by_run.items())} of "
            f"{len(all_queries):,}",
            len(set().union(*missing_by_run.values())),
            "run the missing queries, or compare over those in common (rankgate compare --unequal)",
            f"{name} lacks query {min(missing)}",
        )


_MIN_SHARE = 0.9


@check("rank-order", "warning", "run", "Scores disagree with the rank column.")
def _find_rank_order(run: RawRun) -> Iterator[Found]:
    """Find scores that are higher at lower ranks, and ranks that appear twice."""
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
            f"{count_noun(count, 'document')} in {count_noun(queries, 'query')} with a higher score than the "
            "rank above: metrics follow the score and ignore the rank",
            count,
            "write scores that fall with the rank, such as 1/rank, if you meant the rank",
            _format_neighbours(run, rows[position - 1], rows[position]),
            row=int(rows[position]),
        )
    has_repeated_rank = np.zeros(len(rank), bool)
    has_repeated_rank[1:] = (rank[1:] == rank[:-1]) & run.follows
    if has_repeated_rank.any():
        yield Found(
            f"{count_noun(int(has_repeated_rank.sum()), 'row')} with the rank of another document of the "
            "query",
            int(has_repeated_rank.sum()),
            "scores decide the ranking, but check how the ranks were made",
            row=int(rows[int(has_repeated_rank.argmax())]),
            severity="note",
        )


@check("file-order", "note", "run", "Rows are not in the order of scores.")
def _find_file_order(run: RawRun) -> Iterator[Found]:
    """Find rows that are not ordered best first."""
    is_rising, is_falling = run.steps(up=True), run.steps(up=False)
    count = int(is_rising.sum())
    if not count or _are_distances(run, is_rising, is_falling):
        return
    queries = int(np.count_nonzero(run.by_query(is_rising)))
    position = int(is_rising.argmax())
    yield Found(
        f"{count_noun(count, 'row')} in {count_noun(queries, 'query')} with a higher score than the row "
        "before: the file is not in the order of its scores, which decide the ranking",
        count,
        "ignore this if the scores are right; sort the file for tools that use its order",
        _format_neighbours(run, run.rows[position - 1], run.rows[position]),
        row=int(run.rows[position]),
    )


@check("rising-scores", "warning", "run", "Scores rise down the lists, as distances do.")
def _find_rising_scores(run: RawRun) -> Iterator[Found]:
    """Find scores that rise in every list: distances, or ranks used as scores."""
    is_rising, is_falling = run.steps(up=True), run.steps(up=False)
    if not _are_distances(run, is_rising, is_falling):
        return
    list_count = int(np.count_nonzero(run.lengths > 1))
    position = int(is_rising.argmax())
    yield Found(
        f"the scores rise down the lists of {count_noun(list_count, 'query')}: they look like distances (the "
        "smallest is best), but the highest score counts as best",
        int(is_rising.sum()),
        "write them with the opposite sign",
        _format_neighbours(run, run.rows[position - 1], run.rows[position]),
        row=int(run.rows[position]),
    )


def _are_distances(run: RawRun, is_rising: NDArray[np.bool_], is_falling: NDArray[np.bool_]) -> bool:
    """True if scores rise in nearly all lists and almost never fall."""
    rising_steps, falling_steps = run.by_query(is_rising), run.by_query(is_falling)
    has_order = run.lengths > 1
    rising_lists = np.count_nonzero(has_order & (rising_steps > 0) & (falling_steps == 0))
    return bool(rising_lists and rising_lists >= _MIN_SHARE * np.count_nonzero(has_order))


@check("all-tied", "warning", "run", "All documents of a query have one score.")
def _find_all_tied(run: RawRun) -> Iterator[Found]:
    """Find queries where all documents have the same score; invalid scores are ignored."""
    differs = run.steps(up=True) | run.steps(up=False) | ~np.isfinite(run.score)
    is_all_tied = (run.by_query(differs) == 0) & (run.lengths > 1)
    tied_count, list_count = int(is_all_tied.sum()), int(np.count_nonzero(run.lengths > 1))
    if tied_count:
        first_tied = int(is_all_tied.argmax())
        yield Found(
            f"in {tied_count:,} of {count_noun(list_count, 'query')} all documents have the same score: the "
            "ids of documents decide the order",
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
            f"{count_noun(count, 'document')} in {count_noun(queries, 'query')} with the score of the "
            "document before: tools order them differently",
            count,
            "see ties in rankgate conventions axes; break them in the system if they are many",
            _format_neighbours(run, first, second),
            row=int(second),
        )


@check("single-precision", "note", "run", "Scores are equal in single precision only.")
def _find_single_precision_ties(run: RawRun) -> Iterator[Found]:
    """Find scores that are equal only in single precision."""
    scores = run.score[run.best_first]
    with np.errstate(over="ignore", invalid="ignore"):
        single_scores = scores.astype(np.float32)
    is_near = np.zeros(len(single_scores), bool)
    is_near[1:] = (single_scores[1:] == single_scores[:-1]) & (scores[1:] != scores[:-1]) & run.follows
    is_near &= np.isfinite(single_scores)
    if is_near.any():
        first, second = _neighbour_rows(run, int(is_near.argmax()))
        yield Found(
            f"{count_noun(int(is_near.sum()), 'score')} different from the one before only beyond single "
            "precision: trec_eval up to 9.0.8 takes them for ties",
            int(is_near.sum()),
            "use --convention trec9 for the values of those versions; otherwise ignore this",
            _format_neighbours(run, first, second),
            row=int(second),
        )


def _neighbour_rows(run: RawRun, position: int) -> tuple[np.int64, np.int64]:
    """The rows at a position in the order of scores, and at the position before it."""
    rows = run.rows[run.best_first[position - 1 : position + 1]]
    return rows[0], rows[1]


def _format_neighbours(run: RawRun, first: np.int64, second: np.int64) -> str:
    query, document, score = run.table.row(int(first))[:1] + _doc_and_score(run, int(first))
    other_doc, other_score = _doc_and_score(run, int(second))
    return f"query {query}: {document} {score!r}, then {other_doc} {other_score!r}"


def _doc_and_score(run: RawRun, row: int) -> tuple[str, float]:
    return run.table["doc_id"][row], run.table["score"][row]
