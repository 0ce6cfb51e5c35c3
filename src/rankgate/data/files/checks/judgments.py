"""Checks of judgments: duplicate, missing and invalid rows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import polars as pl

from rankgate.data.files.checks.declare import Found, check, counted, some
from rankgate.data.files.checks.subject import PAIR

if TYPE_CHECKING:
    from rankgate.data.files.checks.subject import RawQrels


@check("empty-id", "error", "qrels", "The id of a query or document is missing.")
def _empty(found: RawQrels) -> Iterator[Found]:
    """Ids that are missing; a row of a query alone says that it has no judgments."""
    query = pl.col("query_id").fill_null("") == ""
    doc = (pl.col("doc_id").fill_null("") == "") & pl.col("grade").is_not_null()
    rows = found.table.select(query | doc).to_series().arg_true()
    if len(rows):
        yield Found(
            f"{counted(len(rows), 'row')} without the id of a query or document",
            len(rows),
            "write the ids, or remove the rows",
            row=int(rows[0]),
        )


@check("judged-twice", "error", "qrels", "A document is judged twice for one query.")
def _twice(found: RawQrels) -> Iterator[Found]:
    rated = pl.col("doc_id").is_not_null() & pl.col("grade").is_not_null()
    table = found.table.with_row_index("row").filter(rated)
    key = [*PAIR, *(["subtopic"] if "subtopic" in table.columns else [])]
    again = table.filter(~pl.struct(key).is_first_distinct())
    if again.is_empty():
        return
    pairs = table.join(again.select(key).unique(), on=key, how="semi").group_by(key)
    differ = int((pairs.agg(n=pl.col("grade").n_unique())["n"] > 1).sum())
    subtopics = "iteration" in again.columns and table["iteration"].n_unique() > 1
    mend = (
        "the second column differs, as in judgments by subtopic: read them --from trec-subtopics"
        if subtopics
        else "remove all but one of them; rankgate resolve does that for ratings of several people"
    )
    yield Found(
        f"{counted(len(again), 'row')} judging a document again for the same query, "
        f"{counted(differ, 'document')} with another grade",
        len(again),
        mend,
        _pair(again),
        row=int(again["row"][0]),
    )


@check("no-grade", "error", "qrels", "A grade is not a finite number.")
def _no_number(found: RawQrels) -> Iterator[Found]:
    bad = ~pl.col("grade").is_finite().fill_null(value=True)
    if "written" in found.table.columns:
        bad |= pl.col("grade").is_null() & (pl.col("written").fill_null("") != "")
    rows = found.table.with_row_index("row").filter(bad)
    if len(rows):
        written = rows["written"] if "written" in rows.columns else rows["grade"]
        yield Found(
            f"no finite number for a grade in {counted(len(rows), 'row')} "
            f"({some(written.unique().sort())})",
            len(rows),
            "write a number such as 2, or leave the row out where there is no grade",
            _pair(rows),
            row=int(rows["row"][0]),
        )


@check("unrated", "note", "qrels", "Pairs have no grade.")
def _unrated(found: RawQrels) -> Iterator[Found]:
    empty = pl.col("grade").is_null() & pl.col("doc_id").is_not_null()
    if "written" in found.table.columns:
        empty &= pl.col("written").fill_null("") == ""
    rows = found.table.with_row_index("row").filter(empty)
    if len(rows):
        yield Found(
            f"{counted(len(rows), 'pair')} without a grade: they are unrated, which is not grade 0",
            len(rows),
            "nothing needs to be done; judge them if they matter",
            _pair(rows),
            row=int(rows["row"][0]),
        )


@check("query-unjudged", "note", "qrels", "Queries have no judgment.")
def _asked(found: RawQrels) -> Iterator[Found]:
    known = found.table.filter(pl.col("grade").is_null())["query_id"].unique(maintain_order=True)
    every = dict.fromkeys([*found.unjudged, *known.drop_nulls()])
    graded = set(found.query_ids)
    without = [query for query in every if query not in graded]
    if without:
        yield Found(
            f"{counted(len(without), 'query', 'queries')} without any judgment; metrics leave "
            "them out or have no value there",
            len(without),
            "judge some documents of each, or remove the queries",
            some(without, 3),
        )


def _pair(rows: pl.DataFrame) -> str:
    query, document = rows.select(PAIR).row(0)
    return f"query {query}, document {document}"
