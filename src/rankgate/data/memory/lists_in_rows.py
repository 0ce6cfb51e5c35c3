"""Tables that hold a whole list: in the cells of a query's row, or as the one list of a query.

A script that evaluates by hand keeps a row for each query, with a list of documents, their grades
in another list, and the ranking in a third; or one table that is a ranking, without a query. The name
and the content of a list say what it holds. If two lists could hold the same, that is an error.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import polars as pl

from rankgate.core.errors import InputError
from rankgate.core.present.number_formats import count_noun
from rankgate.data.column_names import match_columns

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

ONE_QUERY = "query"
"""The id of the query of a table that is one ranking."""
QUERY_TEXTS = ("query_text", "question", "text")
"""Names of columns of queries in tables with lists, if no other column has them."""
_RANKED = re.compile(r"(?i)rank|result|retriev|return|recommend|predict|hits")
"""Names of lists that a system returned."""


def expand_rows(frame: pl.LazyFrame, number: str, label: str) -> pl.LazyFrame:
    """One row per document, from a row per query with lists, or from the list of one query.

    >>> rows = pl.LazyFrame({"query": ["q"], "docs": [["a", "b"]], "labels": [[1, 0]]})
    >>> expand_rows(rows, "grade", "qrels").collect().rows()
    [('q', 'a', 1), ('q', 'b', 0)]

    Args:
        frame: the table; a table with a row per document and a query is returned unchanged.
        number: ``grade`` or ``score``.
        label: the name of its origin in errors.

    Raises:
        InputError: several lists could be the documents or their grades, or lists of a row have
            other lengths.
    """
    schema = frame.collect_schema()
    lists = {name: dtype.inner for name, dtype in schema.items() if isinstance(dtype, pl.List)}
    query = match_columns(schema.names(), ("query_id",)).get("query_id")
    if lists:
        query = query or next((name for name in QUERY_TEXTS if name in schema), None)
        return frame if query is None else _one_row_per_document(frame, query, lists, number, label)
    rank = match_columns(schema.names(), ("rank",)).get("rank")
    if query is not None or rank is None or not schema[rank].is_integer():
        return frame
    return _as_ranking_of_one_query(frame, rank)


def _one_row_per_document(
    frame: pl.LazyFrame, query: str, lists: Mapping[str, Any], number: str, label: str
) -> pl.LazyFrame:
    columns = columns_of_lists(lists, query, number, label)
    if not columns:
        return frame
    table = frame.select(**{column: pl.col(list_name) for column, list_name in columns.items()}).collect()
    table = table.drop_nulls("doc_id").with_row_index("row", 1)
    if number in columns:
        unequal = table.filter(pl.col("doc_id").list.len() != pl.col(number).list.len())
        if len(unequal):
            row, documents_of_row, numbers_of_row = unequal.select("row", "doc_id", number).row(0)
            problem = (
                f"row {row} has {count_noun(len(documents_of_row), 'document')} in {columns['doc_id']} and "
                f"{count_noun(len(numbers_of_row or ()), 'number')} in {columns[number]}; make them equal."
            )
            raise InputError(problem, source=label, code="wrong-shape")
    else:
        table = table.with_columns(rank=pl.int_ranges(1, pl.col("doc_id").list.len() + 1))
    exploded = [name for name in ("doc_id", number, "rank") if name in table.columns]
    table = table.filter(pl.col("doc_id").list.len() > 0).explode(exploded)
    return table.select("query_id", *exploded).lazy()


def columns_of_lists(lists: Mapping[str, Any], query: str, number: str, label: str) -> dict[str, str]:
    """Our columns in a table with lists (ours -> theirs); empty for judgments without a list of grades.

    Judgments have lists of documents and grades, a run has a ranking, perhaps with its scores.

    Args:
        lists: the types of the elements of the lists, by column.
        query: the column of queries.
        number: ``grade`` or ``score``.
        label: the name of the table in errors.

    Raises:
        InputError: several lists could be the documents or their numbers, or none.
    """
    names = match_columns(lists, ("doc_id", number))
    texts = [name for name, dtype in lists.items() if dtype == pl.String]
    numbers = [name for name, dtype in lists.items() if dtype.is_numeric()]
    ranked = [name for name in lists if _RANKED.search(name)]
    if number == "score":
        documents = [name for name in texts if name in ranked] or texts
        number_lists = [names["score"]] if "score" in names else []
    else:
        documents = [name for name in texts if name not in ranked]
        number_lists = (
            [names["grade"]] if "grade" in names else [name for name in numbers if name not in ranked]
        )
        if not number_lists:
            return {}
    if "doc_id" in names and (number == "grade" or not ranked):
        documents = [names["doc_id"]]
    columns = {"doc_id": _single_name(documents, "the documents", label), "query_id": query}
    if number_lists:
        columns[number] = _single_name(number_lists, "their numbers", label)
    return columns


def _single_name(names: Sequence[str], meaning: str, label: str) -> str:
    """The only name.

    Raises:
        InputError: no name, or several names.
    """
    if len(names) != 1:
        lists = f"the lists {' and '.join(names)} could each be" if names else "no list could be"
        problem = f"{lists} {meaning}; give a row per document, or {{query: {{document: number}}}}."
        raise InputError(problem, source=label, code="ambiguous-column" if names else "missing-column")
    return names[0]


def _as_ranking_of_one_query(frame: pl.LazyFrame, rank: str) -> pl.LazyFrame:
    """A ranking as that of a query, if each rank from 1 occurs once; its only texts are documents."""
    table = frame.collect()
    if table[rank].sort().to_list() != list(range(1, len(table) + 1)):
        return frame
    texts = [name for name, dtype in table.schema.items() if dtype == pl.String]
    if not match_columns(table.columns, ("doc_id",)) and len(texts) == 1:
        table = table.rename({texts[0]: "doc_id"})
    return table.with_columns(query_id=pl.lit(ONE_QUERY)).lazy()
