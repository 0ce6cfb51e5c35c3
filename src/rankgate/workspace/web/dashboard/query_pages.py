"""Pages of queries: values over the records, both lists, computations and judgments."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

import polars as pl

from rankgate.core.errors import UsageError
from rankgate.core.frozen import dataclass
from rankgate.core.present.document_model import PlainRows
from rankgate.core.present.pages.page import Links, page_content
from rankgate.store.blobs import stored_runs
from rankgate.store.material import queries_documents
from rankgate.store.records import record_notes as stored
from rankgate.store.records import records
from rankgate.workspace.records.history import split_comparable
from rankgate.workspace.web.dashboard import comment_pages
from rankgate.workspace.web.dashboard import query_lists as lists
from rankgate.workspace.web.dashboard.recorded_results import (
    find_record,
    query_address,
    read_judgments_table,
    read_query_values,
    record_address,
    record_title,
)
from rankgate.workspace.web.dashboard.trend_pages import TrendLine
from rankgate.workspace.web.pages.document_card import image_sources
from rankgate.workspace.web.pages.document_view import document_title, document_view, read_titles
from rankgate.workspace.web.pages.highlighting import QueryWords
from rankgate.workspace.web.replies import PageReply, not_found
from rankgate.workspace.web.shared_fields import AFTER_FIELD
from rankgate.workspace.web.web_request import VIEWING_ROLES, Field, page, page_window

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from rankgate.store.records.records import Record
    from rankgate.workspace.web.dashboard.recorded_results import QueryValues
    from rankgate.workspace.web.rendering import PageRow
    from rankgate.workspace.web.web_request import WebRequest


_MAX_RECORDS = 60
"""The number of latest records that are searched for values of a query."""


@page(
    "query-values",
    "/projects/{project}/query",
    VIEWING_ROLES,
    "Query",
    Field("query", "Query", required=True, most=500, help="Its id."),
    Field("metric", "Metric", most=200),
    Field("record", "Record", most=64, help="The system with the lists; by default the last."),
    tabular=True,
)
def query_page(request: WebRequest) -> PageReply:
    """The page of a query with values, lists, judgments and comments."""
    query = request.values["query"]
    with request.store.read() as connection:
        latest = _records_with_values(connection, request)
        shown_record = (
            find_record(connection, request, request.values["record"])
            if request.values["record"]
            else _last_record_of(request, latest, query)
        )
        stored_query = _query_data(connection, request, query)
        values = [row for record in latest for row in _query_value_rows(request, record, query)]
        metrics = list(dict.fromkeys(row.metric for row in values))
        metric = request.values["metric"] or (metrics[0] if metrics else None)
        query_lists = (
            lists.find_query_lists(connection, request, shown_record, query) if shown_record else None
        )
        judgment_rows = _judgment_rows(connection, request, query)
        if stored_query is None and not values and not judgment_rows and query_lists is None:
            raise not_found("query")
        ids = {row.doc_id for row in judgment_rows} | (query_lists.documents if query_lists else set())
        fields = queries_documents.documents_of_query(
            connection, request.project.id, query, sorted(ids)[:500]
        )
        query_comments = comment_pages.list_comments(connection, request, "query", query)
    metric_rows = [row for row in values if row.metric == metric]
    document_views = {
        name: document_view(document, QueryWords(), request.project.settings)
        for name, document in fields.items()
    }
    data = {
        "project": request.project.name,
        "query": {"query_id": query} | (stored_query or {}),
        "metrics": metrics,
        "metric": metric,
        "values": metric_rows,
        "record": shown_record.sha256 if shown_record else None,
        "lists": query_lists.data if query_lists else None,
        "explained": list(query_lists.explained) if query_lists else [],
        "judgments": judgment_rows,
        "documents": {name: view["fields"] for name, view in document_views.items()},
        "comments": query_comments,
    }
    texts = {name: _document_line(view) for name, view in document_views.items()}
    extra = {
        "heading": (stored_query or {}).get("text") or f"Query {query}",
        "lists_html": query_lists.html(texts) if query_lists else "",
        "missing": query_lists.missing if query_lists else "",
        "chosen": record_title(shown_record) if shown_record else "",
        "chosen_at": record_address(request, shown_record) if shown_record else "",
        "seen": document_views,
        "titles": {
            name: document_title(document, request.project.settings) for name, document in fields.items()
        },
        "lines": _trend_lines(metric_rows, latest),
        "here_record": request.values["record"],
        "subject_kind": "query",
        "subject": query,
    }
    rows = PlainRows(
        _COLUMN_NAMES,
        [
            tuple(
                str(value) if isinstance(value, datetime) else value
                for value in (getattr(row, name) for name in _COLUMN_NAMES)
            )
            for row in values
        ],
    )
    images = image_sources(request.project.settings)
    return PageReply("query_values.html", data, extra, images=images, rows=rows)


@page(
    "explain",
    "/projects/{project}/explain",
    VIEWING_ROLES,
    "How a value is computed",
    Field("query", "Query", required=True, most=500),
    Field("metric", "Metric", required=True, most=200),
    Field("record", "Record", required=True, most=64),
    Field("system", "System", most=500, help="By default the last of the record."),
)
def explanation_page(request: WebRequest) -> PageReply:
    """The page with the computation of a metric's value for a query, step by step.

    Raises:
        Refused: the store lacks the run, the judgments or the convention.
        UsageError: the metric is unknown, or the query has no judgments.
    """
    fields = request.values
    with request.store.read() as connection:
        record = find_record(connection, request, fields["record"])
        system = fields["system"] or ("", *lists.list_systems(request, record))[-1]
        key = (request.project.id, record.sha256, fields["query"], fields["metric"], system)
        value_explanation = request.cache.get(
            ("explanation", *key),
            lambda: lists.explain_value(
                connection, request, record, fields["query"], fields["metric"], system
            ),
        )
        if value_explanation is None:
            raise not_found("explanation: the store lacks the run or the judgments")
        query_id = fields["query"]
        texts = queries_documents.read_query_texts(connection, request.project.id, [query_id])
        doc_ids = [row.doc_id for row in value_explanation.rows]
        doc_ids += [row.doc_id for row in value_explanation.ideal]
        titles = read_titles(connection, request, [(query_id, doc_id) for doc_id in doc_ids])
    links = Links(document_title=lambda doc_id: titles.get((query_id, doc_id), ""))
    html = request.cache.get(
        ("explanation page", *key, *titles.items()), lambda: page_content(value_explanation.document(), links)
    )
    data = {
        "project": request.project.name,
        "record": record.sha256,
        "explanation": value_explanation.to_dict(),
    }
    extra = {
        "document": html,
        "back": query_address(request, fields["query"], record),
        "of": texts.get(query_id, query_id),
    }
    return PageReply("explanation.html", data, extra)


_COLUMN_NAMES = ("evaluated_at", "record", "title", "system", "metric", "value")


def _records_with_values(connection: Connection, request: WebRequest) -> list[Record]:
    latest = records.list_records(connection, request.project.id, most=_MAX_RECORDS)
    return [record for record in latest if record.per_query is not None]


def _last_record_of(request: WebRequest, latest: Sequence[Record], query: str) -> Record | None:
    """The latest record with values of the query."""
    values_by_record = ((record, read_query_values(request, record)) for record in latest)
    return next((record for record, values in values_by_record if values and query in values.rows), None)


def _query_data(connection: Connection, request: WebRequest, query: str) -> PageRow | None:
    try:
        stored_query = queries_documents.get_query(connection, request.project.id, query)
    except UsageError:
        return None
    tags = {name: str(value) for name, value in stored_query.tags.items()}
    return {
        "id": stored_query.id,
        "text": stored_query.text,
        "information_need": stored_query.information_need,
        "tags": tags,
        "archived_at": stored_query.archived_at,
    }


@dataclass(frozen=True)
class _QueryValue:
    """The value of a query in a record, for one metric and system."""

    record: str
    evaluated_at: datetime
    title: str
    system: str
    metric: str
    value: float | None


def _query_value_rows(request: WebRequest, record: Record, query: str) -> list[_QueryValue]:
    """The values of a query in a record, one per metric and system."""
    values = read_query_values(request, record)
    if values is None:
        return []
    return [
        _QueryValue(record.sha256, record.evaluated_at, record_title(record), *system_value)
        for system_value in values.values_of_query(query)
    ]


@dataclass(frozen=True)
class _JudgedDocument:
    """A document with its grade in some judgments."""

    judgments: str
    doc_id: str
    grade: float | None


def _judgment_rows(connection: Connection, request: WebRequest, query: str) -> list[_JudgedDocument]:
    """The grades of the query's documents in the latest judgments."""
    stored_judgments = stored_runs.list_judgments(connection, request.project.id)
    if not stored_judgments:
        return []
    latest = stored_judgments[-1]
    table = read_judgments_table(connection, request, latest).filter(pl.col("query_id") == query)
    return [
        _JudgedDocument(latest.name, row["doc_id"], row["grade"])
        for row in table.sort("grade", "doc_id", descending=[True, False]).iter_rows(named=True)
    ]


def _document_line(view: Mapping[str, Any]) -> str:
    """The first fields of a document on one line."""
    texts = ["".join(text for text, _ in field["segments"]) for field in view["fields"][:2]]
    return " · ".join(texts)[:_LINE_LENGTH]


_LINE_LENGTH = 200


def _trend_lines(rows: list[_QueryValue], latest: Sequence[Record]) -> list[TrendLine]:
    """The values of each system over time, as small lines with gaps between incomparable values."""
    lines = []
    for system in dict.fromkeys(row.system for row in rows):
        values = {row.record: row.value for row in rows if row.system == system}
        records_of_system = [record for record in reversed(latest) if record.sha256 in values]
        segments = split_comparable(records_of_system) if records_of_system else []
        lines.append(
            TrendLine.from_series(
                system,
                [
                    [(record.evaluated_at, values[record.sha256]) for record in segment]
                    for segment in segments
                ],
            )
        )
    return lines


@page(
    "queries",
    "/projects/{project}/queries",
    VIEWING_ROLES,
    "Queries",
    Field("words", "Search", most=200),
    AFTER_FIELD,
    tabular=True,
)
def queries_page(request: WebRequest) -> PageReply:
    """The page of active queries of the project and its latest record, with values."""
    fields = request.values
    search_text = (fields["words"] or "").lower()
    with request.store.read() as connection:
        latest = next(iter(_records_with_values(connection, request)), None)
        counts = stored.count_comments(connection, request.project.id, "query")
        text_of_query = {
            query.query_id: query.text
            for query in queries_documents.list_queries(connection, request.project.id)
        }
        archived = queries_documents.archived_ids(connection, request.project.id)
    values = read_query_values(request, latest) if latest else None
    rows = [row for row in _query_rows(values, text_of_query, counts) if row.query_id not in archived]
    if search_text:
        rows = [row for row in rows if search_text in f"{row.query_id} {row.text}".lower()]
    window, next_start = page_window(fields["after"], _PAGE_SIZE, len(rows))
    page_rows = rows[window]
    metrics = values.metrics if values else []
    data = {
        "project": request.project.name,
        "queries": page_rows,
        "metrics": metrics,
        "record": latest.sha256 if latest else None,
        "total": len(rows),
        "words": fields["words"],
        "next": next_start,
    }
    addresses = {row.query_id: query_address(request, row.query_id) for row in page_rows}
    column_names = ("query_id", "text", "system", *metrics, "comments")
    sheet = PlainRows(
        column_names,
        [
            (
                row.query_id,
                row.text,
                row.system,
                *(row.values.get(metric) for metric in metrics),
                str(row.comments),
            )
            for row in rows
        ],
    )
    extra = {
        "places": addresses,
        "of": record_title(latest) if latest else "",
        "of_at": record_address(request, latest) if latest else "",
    }
    return PageReply("queries.html", data, extra, rows=sheet)


_PAGE_SIZE = 100
"""The number of queries on a page of the list."""


@dataclass(frozen=True)
class _QueryRow:
    """A query in the list, with its values by metric and its number of comments."""

    query_id: str
    text: str
    system: str
    values: dict[str, float | None]
    comments: int


def _query_rows(
    values: QueryValues | None, text_of_query: Mapping[str, str | None], counts: Mapping[str, int]
) -> list[_QueryRow]:
    """A row for each query and system, lowest values first."""
    rows: list[_QueryRow] = []
    if values is not None and values.metrics:
        metrics = values.metrics
        system = values.table["system"][-1]  # the candidate of a comparison, which comes last
        system_rows = values.table.filter(pl.col("system") == system)
        for row in system_rows.sort(metrics[0], "query_id", nulls_last=True).iter_rows(named=True):
            figures = {name: row[name] for name in metrics}
            rows.append(_query_row(row["query_id"], row["system"], figures, text_of_query, counts))
    query_ids = {row.query_id for row in rows}
    rows += [
        _query_row(query_id, "", {}, text_of_query, counts)
        for query_id in text_of_query
        if query_id not in query_ids
    ]
    return rows


def _query_row(
    query: str,
    system: str,
    figures: dict[str, float | None],
    text_of_query: Mapping[str, str | None],
    counts: Mapping[str, int],
) -> _QueryRow:
    text = text_of_query.get(query) or ""
    return _QueryRow(query, text, system, figures, counts.get(query, 0))
