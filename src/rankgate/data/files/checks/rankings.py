"""Checks of runs: duplicate, missing, invalid and truncated rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from rankgate.data.duplicates import hash_pairs
from rankgate.data.files.checks.declare import Found, check, count_noun, first_few
from rankgate.data.files.checks.subject import PAIR

if TYPE_CHECKING:
    from rankgate.data.files.checks.subject import Outline, RawRun


@check("empty-doc", "error", "run", "The id of a query or document is missing.")
def _find_empty_ids(run: RawRun) -> Iterator[Found]:
    columns = [run.table[name] for name in PAIR]
    is_empty = (columns[0].fill_null("") == "") | (columns[1].fill_null("") == "")
    rows = is_empty.arg_true()
    if len(rows):
        yield Found(
            f"{count_noun(len(rows), 'row')} without the id of a query or document",
            len(rows),
            "write the ids, or remove the rows",
            row=int(rows[0]),
        )


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
    invalid_texts = (
        invalid_rows["written"] if "written" in invalid_rows.columns else invalid_rows["score"]
    )
    query, document = invalid_rows.select(PAIR).row(0)
    yield Found(
        f"no finite number for a score in {count_noun(len(rows), 'row')} "
        f"({first_few(invalid_texts.fill_null('empty').unique().sort())})",
        len(rows),
        "look where the system computes them (0/0, log 0); write finite numbers or leave the "
        "documents out",
        f"query {query}, document {document}",
        row=int(rows[0]),
    )


@check("short-lists", "note", "run", "Some queries have fewer documents than most.")
def _find_short_lists(run: RawRun) -> Iterator[Found]:
    """Find lists shorter than the others of the run, if most have one length."""
    lengths = run.lengths
    if len(lengths) < 2:  # one list is as long as itself
        return
    full_length = int(lengths.max())
    short_lists = np.flatnonzero(lengths < full_length)
    if not len(short_lists) or np.count_nonzero(lengths == full_length) <= len(lengths) / 2:
        return
    shortest = int(lengths.argmin())
    yield Found(
        f"{count_noun(len(short_lists), 'query', 'queries')} of {len(lengths):,} with fewer than "
        f"the {full_length:,} documents that the others have",
        len(short_lists),
        "nothing needs to be done if the system found no more; otherwise look for errors or "
        "timeouts of these queries",
        f"query {run.query_ids[shortest]} has {lengths[shortest]:,}",
        row=int(run.rows[run.starts[shortest]]),
    )


@check("depths", "warning", "runs", "Runs are cut at different depths.")
def _find_different_depths(runs: Sequence[Outline]) -> Iterator[Found]:
    """Find runs of different depths, which metrics that look deep do not compare fairly."""
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
        name, missing = max(
            missing_by_run.items(), key=lambda run_and_missing: len(run_and_missing[1])
        )
        yield Found(
            "the runs have different queries: "
            f"{first_few(f'{name} lacks {len(ids):,}' for name, ids in missing_by_run.items())} of "
            f"{len(all_queries):,}",
            len(set().union(*missing_by_run.values())),
            "run the missing queries, or compare over those in common (rankgate compare --unequal)",
            f"{name} lacks query {min(missing)}",
        )
