"""Checks of judgments: duplicate, missing and invalid rows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import polars as pl

from rankgate.data.files.checks.declare import Found, check, count_noun, first_few
from rankgate.data.files.checks.subject import PAIR

if TYPE_CHECKING:
    from rankgate.data.files.checks.subject import RawQrels


@check("empty-id", "error", "qrels", "The id of a query or document is missing.")
def _find_empty_ids(qrels: RawQrels) -> Iterator[Found]:
    """Missing ids; a row with a query alone means that the query has no judgments."""
    lacks_query = pl.col("query_id").fill_null("") == ""
    lacks_doc = (pl.col("doc_id").fill_null("") == "") & pl.col("grade").is_not_null()
    rows = qrels.table.select(lacks_query | lacks_doc).to_series().arg_true()
    if len(rows):
        yield Found(
            f"{count_noun(len(rows), 'row')} without the id of a query or document",
            len(rows),
            "write the ids, or remove the rows",
            row=int(rows[0]),
        )


@check("judged-twice", "error", "qrels", "A document is judged twice for one query.")
def _find_judged_twice(qrels: RawQrels) -> Iterator[Found]:
    is_rated = pl.col("doc_id").is_not_null() & pl.col("grade").is_not_null()
    table = qrels.table.with_row_index("row").filter(is_rated)
    key = [*PAIR, *(["subtopic"] if "subtopic" in table.columns else [])]
    repeated_rows = table.filter(~pl.struct(key).is_first_distinct())
    if repeated_rows.is_empty():
        return
    pairs = table.join(repeated_rows.select(key).unique(), on=key, how="semi").group_by(key)
    differing_count = int((pairs.agg(n=pl.col("grade").n_unique())["n"] > 1).sum())
    has_subtopics = "iteration" in repeated_rows.columns and table["iteration"].n_unique() > 1
    advice = (
        "the second column differs, as in judgments by subtopic: read them --from trec-subtopics"
        if has_subtopics
        else "remove all but one of them; rankgate resolve does that for ratings of several people"
    )
    yield Found(
        f"{count_noun(len(repeated_rows), 'row')} judging a document again for the same query, "
        f"{count_noun(differing_count, 'document')} with another grade",
        len(repeated_rows),
        advice,
        _format_pair(repeated_rows),
        row=int(repeated_rows["row"][0]),
    )


@check("no-grade", "error", "qrels", "A grade is not a finite number.")
def _find_invalid_grades(qrels: RawQrels) -> Iterator[Found]:
    is_invalid = ~pl.col("grade").is_finite().fill_null(value=True)
    if "written" in qrels.table.columns:
        is_invalid |= pl.col("grade").is_null() & (pl.col("written").fill_null("") != "")
    rows = qrels.table.with_row_index("row").filter(is_invalid)
    if len(rows):
        invalid_texts = rows["written"] if "written" in rows.columns else rows["grade"]
        yield Found(
            f"no finite number for a grade in {count_noun(len(rows), 'row')} "
            f"({first_few(invalid_texts.unique().sort())})",
            len(rows),
            "write a number such as 2, or leave the row out where there is no grade",
            _format_pair(rows),
            row=int(rows["row"][0]),
        )


@check("unrated", "note", "qrels", "Pairs have no grade.")
def _find_unrated_pairs(qrels: RawQrels) -> Iterator[Found]:
    is_unrated = pl.col("grade").is_null() & pl.col("doc_id").is_not_null()
    if "written" in qrels.table.columns:
        is_unrated &= pl.col("written").fill_null("") == ""
    rows = qrels.table.with_row_index("row").filter(is_unrated)
    if len(rows):
        yield Found(
            f"{count_noun(len(rows), 'pair')} without a grade: they are unrated, which is not "
            "grade 0",
            len(rows),
            "nothing needs to be done; judge them if they matter",
            _format_pair(rows),
            row=int(rows["row"][0]),
        )


@check("query-unjudged", "note", "qrels", "Queries have no judgment.")
def _find_unjudged_queries(qrels: RawQrels) -> Iterator[Found]:
    unrated_queries = qrels.table.filter(pl.col("grade").is_null())["query_id"].unique(
        maintain_order=True
    )
    all_queries = dict.fromkeys([*qrels.unjudged, *unrated_queries.drop_nulls()])
    judged_queries = set(qrels.query_ids)
    unjudged_queries = [query for query in all_queries if query not in judged_queries]
    if unjudged_queries:
        yield Found(
            f"{count_noun(len(unjudged_queries), 'query', 'queries')} without any judgment; "
            "metrics leave "
            "them out or have no value there",
            len(unjudged_queries),
            "judge some documents of each, or remove the queries",
            first_few(unjudged_queries, 3),
        )


def _format_pair(rows: pl.DataFrame) -> str:
    query, document = rows.select(PAIR).row(0)
    return f"query {query}, document {document}"
