"""Pages to add queries to a project: typed, pasted, from a file, or drawn from a log."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from rankgate.core.errors import InputError, UsageError
from rankgate.judging.store.import_export import read_incoming
from rankgate.judging.store.query_lists import QueryList, draw_from_log, parse_query_list
from rankgate.store.material import projects, queries_documents
from rankgate.workspace.web.pages.upload_files import upload_file
from rankgate.workspace.web.replies import ActionReply, PageReply, Reply, RequestRefused
from rankgate.workspace.web.shared_fields import PROJECT
from rankgate.workspace.web.web_request import MANAGING_ROLES, Field, action, invalid_value

if TYPE_CHECKING:
    from rankgate.store.material.queries_documents import Query
    from rankgate.workspace.web.web_request import WebRequest


SOURCES = ("text", "file", "log")
"""The fields of the form for queries; exactly one of them must be filled in."""

_MAX_QUERIES = 50_000
_FIRST_ROWS = 10
"""The number of queries in a preview."""


_QUERY_FIELDS = (
    Field(
        "text",
        "Type or paste queries",
        "long",
        most=1_000_000,
        help="One query per line; or a table from a spreadsheet with column names in the first line: query, "
        "and optionally id, weight and tags.",
    ),
    Field("file", "Or a file of queries", "file", help="In any format that rankgate reads."),
    Field(
        "log",
        "Or a log of searches to draw queries from",
        "file",
        help="CSV, TSV, JSONL or Parquet with a column query, user_query or search_term.",
    ),
    Field(
        "count", "Queries to draw from the log", "whole", default="100", unset=100, least=1, largest=50_000
    ),
    Field(
        "sampling",
        "How they are drawn",
        "choice",
        default="stratified",
        unset="stratified",
        choices=(
            ("stratified", "equal numbers of frequent, less frequent and rare queries"),
            ("pps", "frequent ones more often"),
            ("random", "each as likely as any other"),
        ),
    ),
    Field("preview", kind="flag", help="Only report what would be added."),
)


@action(
    "queries-add", f"{PROJECT}/queries", MANAGING_ROLES, "Add the queries", *_QUERY_FIELDS, does_step=True
)
def add_queries(request: WebRequest) -> Reply:
    """Add queries, or only report how the input is understood."""
    source, query_list = _read_source(request)
    with request.store.write() as connection:
        projects.lock(connection, request.project.id)  # so that two managers get different ids
        stored_queries = queries_documents.list_queries(connection, request.project.id, archived=True)
        try:
            new_queries = _number_queries(query_list.table, stored_queries)
        except InputError as error:
            raise _refusal(source, error) from None
        counts = {"queries": len(query_list.table), "new": len(new_queries), "repeated": query_list.repeated}
        if request.values["preview"]:
            return PageReply(
                "query_list.html",
                {
                    "project": request.project.name,
                    **counts,
                    "columns": dict(query_list.columns),
                    "first": query_list.table.head(_FIRST_ROWS).to_dicts(),
                    "added": False,
                },
            )
        queries_documents.add_queries(connection, request.project.id, new_queries)
        request.record(connection, "queries.add", source, **counts)
    return ActionReply(request.project_path("queries"), counts)


def _read_source(request: WebRequest) -> tuple[str, QueryList]:
    """The filled field of the form, and its queries.

    Raises:
        Refused: no field or several fields are filled in; or a field has an error, shown next to
            it.
    """
    filled_fields = [name for name in SOURCES if request.values[name] is not None]
    if not filled_fields:
        raise invalid_value("text", "type queries, or choose a file")
    if len(filled_fields) > 1:
        raise invalid_value(filled_fields[1], "queries come from one source at a time; clear one")
    [source] = filled_fields
    try:
        query_list = _read_field(request, source)
    except (InputError, UsageError) as error:
        raise _refusal(source, error) from None
    if len(query_list.table) > _MAX_QUERIES:
        raise invalid_value(source, f"has more than {_MAX_QUERIES:,} queries")
    return source, query_list


def _refusal(source: str, error: InputError | UsageError) -> RequestRefused:
    line = f"line {error.line}: " if error.line else ""
    return RequestRefused(400, error.code, f"{line}{error.problem}", field=source)


def _read_field(request: WebRequest, source: str) -> QueryList:
    value = request.values[source]
    if source == "text":
        return parse_query_list(value)
    with upload_file(value, request.config.largest_unpacked) as path:
        if source == "log":
            return draw_from_log(path, request.values["count"], request.values["sampling"])
        queries = read_incoming(path).contents.queries
        if queries is None or "text" not in queries.columns:
            return parse_query_list(value.content.decode("utf-8-sig", "replace"))
        return QueryList(queries, {})


def _number_queries(table: pl.DataFrame, stored_queries: list[Query]) -> pl.DataFrame:
    """The new queries, each with an id; queries with known texts are left out.

    Raises:
        InputError: an id that the project has for another text.
    """
    text_of_id = {query.query_id: query.text for query in stored_queries}
    known_texts = {query.text for query in stored_queries}
    number = len(text_of_id)
    rows = []
    for row in table.iter_rows(named=True):
        query_id = row.get("query_id")
        if query_id is None:
            if row["text"] in known_texts:
                continue
            while query_id is None or query_id in text_of_id:
                number += 1
                query_id = f"q{number}"
        elif text_of_id.get(query_id) not in (None, row["text"]):
            raise InputError(
                f"the id {query_id!r} is that of {text_of_id[query_id]!r} in the project; leave ids out, or "
                "choose others.",
                source="queries",
                code="invalid-queries",
            )
        elif query_id in text_of_id and text_of_id[query_id] == row["text"]:
            continue
        text_of_id[query_id] = row["text"]
        known_texts.add(row["text"])
        rows.append({**row, "query_id": query_id})
    schema = {"query_id": pl.String} | dict(table.schema)
    return pl.DataFrame(rows, schema=schema)
