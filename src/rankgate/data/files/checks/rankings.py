"""Checks of runs: duplicate, missing, invalid and truncated rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from rankgate.data.duplicates import pairs_of
from rankgate.data.files.checks.declare import Found, check, counted, some
from rankgate.data.files.checks.subject import PAIR

if TYPE_CHECKING:
    from rankgate.data.files.checks.subject import Outline, RawRun


@check("empty-doc", "error", "run", "The id of a query or document is missing.")
def _empty(found: RawRun) -> Iterator[Found]:
    columns = [found.table[name] for name in PAIR]
    empty = (columns[0].fill_null("") == "") | (columns[1].fill_null("") == "")
    rows = empty.arg_true()
    if len(rows):
        yield Found(
            f"{counted(len(rows), 'row')} without the id of a query or document",
            len(rows),
            "write the ids, or remove the rows",
            row=int(rows[0]),
        )


@check("ranked-twice", "error", "run", "A document is ranked twice for one query.")
def _twice(found: RawRun) -> Iterator[Found]:
    table = found.table.select(PAIR)
    pairs = pairs_of(table)
    ordered = np.sort(pairs)
    suspects = ordered[1:][ordered[1:] == ordered[:-1]]
    if not len(suspects):
        return
    again = (
        table.with_row_index("row")
        .filter(pl.Series(np.isin(pairs, suspects)))
        .filter(~pl.struct(PAIR).is_first_distinct())
    )
    if len(again):
        query, document = again.select(PAIR).row(0)
        yield Found(
            f"{counted(len(again), 'row')} ranking a document again for the same query",
            len(again),
            "keep the best of them; chunks of a document become one row with their highest score",
            f"query {query}, document {document}",
            row=int(again["row"][0]),
        )


@check("no-score", "error", "run", "A score is not a finite number.")
def _no_number(found: RawRun) -> Iterator[Found]:
    rows = np.flatnonzero(~np.isfinite(found.table["score"].fill_null(float("nan")).to_numpy()))
    if not len(rows):
        return
    bad = found.table[rows]
    written = bad["written"] if "written" in bad.columns else bad["score"]
    query, document = bad.select(PAIR).row(0)
    yield Found(
        f"no finite number for a score in {counted(len(rows), 'row')} "
        f"({some(written.fill_null('empty').unique().sort())})",
        len(rows),
        "look where the system computes them (0/0, log 0); write finite numbers or leave the "
        "documents out",
        f"query {query}, document {document}",
        row=int(rows[0]),
    )


@check("short-lists", "note", "run", "Some queries have fewer documents than most.")
def _short(found: RawRun) -> Iterator[Found]:
    """Lists shorter than the others of the run, if most have one length."""
    lengths = found.lengths
    if len(lengths) < 2:  # one list is as long as itself
        return
    full = int(lengths.max())
    short = np.flatnonzero(lengths < full)
    if not len(short) or np.count_nonzero(lengths == full) <= len(lengths) / 2:
        return
    least = int(lengths.argmin())
    yield Found(
        f"{counted(len(short), 'query', 'queries')} of {len(lengths):,} with fewer than the "
        f"{full:,} documents that the others have",
        len(short),
        "nothing needs to be done if the system found no more; otherwise look for errors or "
        "timeouts of these queries",
        f"query {found.query_ids[least]} has {lengths[least]:,}",
        row=int(found.rows[found.starts[least]]),
    )


@check("depths", "warning", "runs", "Runs are cut at different depths.")
def _depths(found: Sequence[Outline]) -> Iterator[Found]:
    """Runs of different depths, which metrics that look deep do not compare fairly."""
    depths = {run.name: run.depth for run in found}
    if len(set(depths.values())) > 1:
        result = sorted(depths.items(), key=lambda item: item[1])
        yield Found(
            f"the runs are cut at different depths: {some(f'{n} at {d:,}' for n, d in result)}",
            len(result),
            f"cut all at {result[0][1]:,}, or use metrics that look no deeper",
        )


@check("run-queries", "warning", "runs", "Runs have different queries.")
def _queries(found: Sequence[Outline]) -> Iterator[Found]:
    """Runs that do not have the same queries."""
    sets = {run.name: run.query_ids for run in found}
    every = frozenset().union(*sets.values())
    lacking = {name: every - own for name, own in sets.items() if own != every}
    if lacking:
        name, lost = max(lacking.items(), key=lambda item: len(item[1]))
        yield Found(
            "the runs have different queries: "
            f"{some(f'{n} lacks {len(q):,}' for n, q in lacking.items())} of {len(every):,}",
            len(set().union(*lacking.values())),
            "run the missing queries, or compare over those in common (rankgate compare --unequal)",
            f"{name} lacks query {min(lost)}",
        )
