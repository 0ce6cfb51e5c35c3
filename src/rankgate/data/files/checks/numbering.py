"""Checks for queries that are numbered differently, and scales that run the other way."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from rankgate.data.files.checks.declare import Found, check, counted

if TYPE_CHECKING:
    from rankgate.data.files.checks.subject import Both, RawQueries

_DEPTH = 100
_MORE = 2.0  # times the documents found by the ids as they are
_ENOUGH, _QUERIES = 10, 10
_AGAINST = -0.1
_SIGMAS = 3.0


@check(
    "numbering",
    "warning",
    "both",
    "Queries of the run are numbered differently from those of the judgments.",
)
def _numbered(found: Both) -> Iterator[Found]:
    """Lists hold another query's relevant documents, and a rule says whose.

    For each rule that could lead from the judgments' queries to the run's (their order in the
    files, the order of their numbers, numbers that differ by one) the relevant documents among
    the first 100 are counted; a rule that finds more than twice as many as the ids is reported.
    """
    judged, ranked = found.judged.query_ids, found.ranked.query_ids
    hits = _hits(found)
    as_is = _met(hits, pl.DataFrame({"ours": judged, "theirs": judged}))
    best, how, table = as_is, "", pl.DataFrame()
    for result, rule in _rules(judged, ranked):
        count = _met(hits, rule)
        if count > best:
            best, how, table = count, result, rule
    if not how or best < _ENOUGH or best <= _MORE * as_is:
        return
    moved = table.filter(pl.col("ours") != pl.col("theirs"))
    shown = ", ".join(f"{ours} = {theirs}" for ours, theirs in moved.head(5).rows())
    yield Found(
        "the queries are numbered differently: "
        f"{best:,} relevant documents are among the first {_DEPTH} when queries go together {how}, "
        f"{as_is:,} by their ids as they are",
        len(moved),
        f"renumber the run: judgments = run is {shown}, and so on {how}",
        f"query {moved['ours'][0]} of the judgments is {moved['theirs'][0]} of the run",
    )


def _hits(found: Both) -> pl.DataFrame:
    """``ours``, ``theirs``, ``len``: relevant documents of one query in the list of another."""
    relevant = found.judged.graded.filter(pl.col("grade") > 0)
    relevant = relevant.select("doc_id", ours="query_id")
    tops = found.ranked.tops(_DEPTH).select("doc_id", theirs="query_id")
    return tops.join(relevant, on="doc_id").group_by("ours", "theirs").len()


def _met(hits: pl.DataFrame, rule: pl.DataFrame) -> int:
    return int(hits.join(rule, on=["ours", "theirs"])["len"].sum())


def _rules(judged: pl.Series, ranked: pl.Series) -> Iterator[tuple[str, pl.DataFrame]]:
    """Ways to lead from a query of the judgments to one of the run."""
    ours, theirs = _by_number(judged), _by_number(ranked)
    if len(judged) == len(ranked):
        yield "in the order of the files", pl.DataFrame({"ours": judged, "theirs": ranked})
        if ours is not None and theirs is not None:
            yield "in the order of their numbers", pl.DataFrame({"ours": ours, "theirs": theirs})
    if ours is not None and theirs is not None:
        for step, result in ((1, "one higher"), (-1, "one lower")):
            other = (ours.cast(pl.Int64) + step).cast(pl.String)
            yield f"with the run's number {result}", pl.DataFrame({"ours": ours, "theirs": other})


def _by_number(ids: pl.Series) -> pl.Series | None:
    """The ids in the order of their numbers, if all are numbers."""
    numbers = ids.cast(pl.Int64, strict=False)
    return None if numbers.null_count() else ids.gather(numbers.arg_sort())


@check(
    "query-file",
    "warning",
    "queries",
    "Judged queries are not in the file of queries, or numbered differently.",
)
def _asked(found: RawQueries) -> Iterator[Found]:
    """As many queries as judged ones, the latter counted through, the former not."""
    judged, asked = _by_number(found.judged.query_ids), _by_number(found.query_ids)
    strangers = found.judged.query_ids.filter(
        ~found.judged.query_ids.is_in(found.query_ids.implode())
    )
    if strangers.is_empty():
        return
    said = f"{len(strangers):,} of {counted(len(found.judged.query_ids), 'judged query', 'judged queries')} are not in the file of queries"  # noqa: E501
    if judged is None or asked is None or len(judged) != len(asked) or not _through(judged):
        yield Found(
            said,
            len(strangers),
            "see whether both belong together and call the queries by the same ids",
            f"query {strangers[0]}",
        )
        return
    table = pl.DataFrame({"ours": judged, "theirs": asked})
    moved = table.filter(pl.col("ours") != pl.col("theirs"))
    shown = ", ".join(f"{ours} = {theirs}" for ours, theirs in moved.head(5).rows())
    yield Found(
        f"the queries are numbered differently: {said}; the judgments count them through from "
        f"{judged[0]} to {judged[-1]}, and the file has its own numbers from {asked[0]} to "
        f"{asked[-1]}",
        len(moved),
        f"take the position in the file for the number: judgments = file is {shown}, and so on",
        f"query {moved['ours'][0]} of the judgments is {moved['theirs'][0]} of the file",
    )


def _through(ids: pl.Series) -> bool:
    numbers = ids.cast(pl.Int64)
    return int(numbers[-1]) - int(numbers[0]) == len(numbers) - 1


@check("grades-against-ranks", "warning", "both", "Higher grades are lower in the lists.")
def _against(found: Both) -> Iterator[Found]:
    """Higher grades are lower in the lists, query after query.

    The correlation of grade and position is taken within each query; their mean must exceed 0.1
    and three standard errors.
    """
    met = found.met.filter(pl.col("grade") >= 0)
    each = met.group_by("query_id").agg(
        correlation=pl.corr(pl.col("grade"), -pl.col("position").cast(pl.Float64))
    )["correlation"]
    values = each.filter(each.is_finite()).to_numpy()
    if len(values) < _QUERIES:
        return
    mean = float(values.mean())
    error = float(values.std(ddof=1) / np.sqrt(len(values)))
    if mean < _AGAINST and mean < -_SIGMAS * error:
        yield Found(
            f"higher grades are lower in the lists (mean correlation {mean:.2f} over "
            f"{len(values):,} queries): the scale or the scores look reversed",
            len(values),
            "see whether 1 is the best grade, or the scores are distances; turn one round",
        )
