"""A record: its result as a page, and the files of its tables, charts and values."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from rankgate.core.errors import MissingExtraError, RankgateError
from rankgate.core.frozen import dataclass
from rankgate.core.present.document import Document, PlainRows, Section
from rankgate.core.present.document import Table as DocumentTable
from rankgate.core.present.grid import Grid
from rankgate.core.present.numbers import format_decimal
from rankgate.core.present.pages import links
from rankgate.core.present.pages.page import page_content
from rankgate.core.present.resolve import load_name
from rankgate.core.present.result import ReportOptions
from rankgate.decisions.comparison.comparison import Comparisons
from rankgate.decisions.gating.verdict import Verdict
from rankgate.store.material import queries
from rankgate.store.records import records
from rankgate.workspace.reports.compose import ReportPart, compose
from rankgate.workspace.web.cache import Cache
from rankgate.workspace.web.dashboard import comments, evidence
from rankgate.workspace.web.dashboard.found import (
    find_record,
    kind_label,
    query_address,
    read_query_values,
    read_result,
    record_address,
    record_title,
    record_view,
)
from rankgate.workspace.web.replies import FileReply, PageReply, not_found

if TYPE_CHECKING:
    import polars as pl
    from sqlalchemy import Connection

    from rankgate.core.present.result import Result
    from rankgate.store.records.records import Record
    from rankgate.workspace.web.asked import WebRequest

_MAX_QUERIES = 200
"""Queries in the table of values."""


@dataclass(frozen=True)
class _RecordContent:
    """The content of a record's page, which never changes.

    Attributes:
        document: that of the result.
        html: the same as HTML.
    """

    document: Document
    html: str


_PAGES: Cache[_RecordContent] = Cache(64)


def record_page(request: WebRequest) -> PageReply:
    """The record, its result, and its comments."""
    with request.store.read() as connection:
        record = find_record(connection, request)
        values = records.read_values(connection, record.id)
        page_content = _make_record_content(request, connection, record)
        record_comments = comments.list_comments(connection, request, "record", record.sha256)
    data = {
        "project": request.project.name,
        "record": record_view(record) | {"inputs": dict(record.inputs)},
        "values": [vars(value) for value in values],
        "tables": [] if page_content is None else _list_tables(page_content.document),
        "comments": record_comments,
        "result": records.read_result(record, request.store.blobs),
    }
    extra = {
        "document": "" if page_content is None else page_content.html,
        "heading": record_title(record),
        "what": kind_label(record.kind),
        "has_values": record.per_query is not None,
        "subject_kind": "record",
        "subject": record.sha256,
    }
    return PageReply("record.html", data, extra)


def _make_record_content(
    request: WebRequest, connection: Connection, record: Record
) -> _RecordContent | None:
    result = read_result(request, record)
    if result is None:
        return None
    count = queries.count_queries(connection, request.project.id)  # their texts are on the page
    key = (request.store.name, request.project.id, record.sha256, request.config.base, count)

    def made() -> _RecordContent:
        document = _make_document(request, connection, record, result)
        address = record_address(request, record)
        query = partial(query_address, request, record=record)
        query_ids = _linked_queries(request, record)
        link_targets = links.Links(
            f"{address}/tables/",
            f"{address}/charts/",
            lambda query_id: query(query_id) if query_id in query_ids else "",
        )
        return _RecordContent(document, page_content(document, link_targets))

    return _PAGES.get(key, made)


def _make_document(
    request: WebRequest, connection: Connection, record: Record, result: Result
) -> Document:
    texts = {
        query.query_id: query.text
        for query in queries.list_queries(connection, request.project.id, archived=True)
        if query.text
    }
    document = compose([ReportPart(result, record.name)], ReportOptions(queries=texts))
    *first, last = document.sections
    if isinstance(result, Verdict):
        first.append(evidence.evidence_section(result))
    values = read_query_values(request, record)
    if values is not None and not _has_queries(document):
        tables = tuple(_value_tables(values.table, texts))
        first.append(Section("values", "Values by query", tables, "Queries"))
    return replace(document, sections=(*first, last))


def _has_queries(document: Document) -> bool:
    """True if a table of the document has a row for each query."""
    return any(table.grid.flat.head[0] in links.QUERY_COLUMNS for _, table in document.tables)


def _value_tables(table: pl.DataFrame, texts: dict[str, str]) -> list[DocumentTable]:
    """The queries of each system with the lowest values of the first metric."""
    metrics = [name for name in table.columns if name not in {"system", "query_id"}]
    tables = []
    for (system,), values in table.group_by("system", maintain_order=True):
        lowest_rows = values.sort(metrics[0], "query_id", nulls_last=True).head(_MAX_QUERIES)
        rows = tuple(
            (
                row["query_id"],
                *([texts.get(row["query_id"], "")] if texts else []),
                *(format_decimal(row[name]) for name in metrics),
            )
            for row in lowest_rows.iter_rows(named=True)
        )
        column_names = ("query", *(["text"] if texts else []), *metrics)
        text_columns = frozenset({0, 1} if texts else {0})
        heading = (
            f"{system}: {len(rows):,} of {len(values):,} queries, the lowest {metrics[0]} first"
        )
        tables.append(DocumentTable(heading, Grid(column_names, rows, text_columns), find=True))
    return tables


def _linked_queries(request: WebRequest, record: Record) -> frozenset[str]:
    """The queries that have a page with values of this record."""
    values = read_query_values(request, record)
    if values is not None:
        return frozenset(values.rows)
    result = read_result(request, record)
    if not isinstance(result, Comparisons):
        return frozenset()
    tables = (comparison.queries for comparison in result.comparisons)
    return frozenset(query for query_table in tables for query in query_table["query_id"].to_list())


def _list_tables(document: Document) -> list[dict[str, str]]:
    return [
        {"table": anchor, "heading": table.heading}
        for anchor, table in links.anchored_tables(document)
    ]


def _find_document(request: WebRequest) -> tuple[Record, Document]:
    with request.store.read() as connection:
        record = find_record(connection, request)
        page_content = _make_record_content(request, connection, record)
    if page_content is None:
        raise not_found("table")
    return record, page_content.document


def table_page(request: WebRequest) -> PageReply:
    """One table of a record."""
    record, document = _find_document(request)
    document_table = dict(links.anchored_tables(document)).get(request.path["table"])
    if document_table is None:
        raise not_found("table")
    grid = document_table.grid.flat
    data = {
        "project": request.project.name,
        "record": record.sha256,
        "heading": document_table.heading,
        "head": list(grid.head),
        "rows": [list(row) for row in grid.rows],
    }
    query = partial(query_address, request, record=record)
    query_ids = _linked_queries(request, record)
    link_targets = links.Links(
        query=lambda query_id: query(query_id) if query_id in query_ids else ""
    )
    table_document = Document(
        document_table.heading or record_title(record),
        sections=(
            Section("table", "", (replace(document_table, heading="", folded=False, links=()),)),
        ),
    )
    html = page_content(table_document, link_targets)
    extra = {"document": html, "back": record_address(request, record), "of": record_title(record)}
    return PageReply("record_table.html", data, extra, rows=PlainRows(grid.head, grid.rows))


def chart_svg(request: WebRequest) -> FileReply:
    """One chart of a record as SVG."""
    return FileReply(_draw_picture(request).svg().encode(), "image/svg+xml", fresh=True)


def chart_png(request: WebRequest) -> FileReply:
    """One chart of a record as PNG."""
    return FileReply(_draw_picture(request).png(), "image/png", fresh=True)


def _draw_picture(request: WebRequest) -> Any:
    _, document = _find_document(request)
    chart = dict(links.anchored_charts(document)).get(request.path["chart"])
    if chart is None:
        raise not_found("chart")
    try:
        return load_name(chart.draw)(chart.result)
    except MissingExtraError:
        raise
    except RankgateError:
        raise not_found("chart") from None


def query_values_page(request: WebRequest) -> PageReply:
    """Every value per query of a record."""
    with request.store.read() as connection:
        record = find_record(connection, request)
    values = read_query_values(request, record)
    if values is None:
        raise not_found("table of values")
    value_table = values.table
    start = max(request.values["after"] or 0, 0)
    page_rows = value_table.slice(start, _PAGE_SIZE)
    data = {
        "project": request.project.name,
        "record": record.sha256,
        "head": page_rows.columns,
        "rows": page_rows.rows(),
        "total": len(value_table),
        "next": start + _PAGE_SIZE if start + _PAGE_SIZE < len(value_table) else None,
    }
    extra = {"back": record_address(request, record), "of": record_title(record)}
    return PageReply(
        "record_values.html",
        data,
        extra,
        rows=PlainRows(tuple(value_table.columns), value_table.rows()),
    )


_PAGE_SIZE = 200
"""Queries of a page of values; the file in CSV has all."""
