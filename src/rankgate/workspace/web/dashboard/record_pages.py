"""Pages of records: the list, single records, and the evidence for verdicts.

The page of a verdict has a section with the evidence for each rule. The list of records has
filters, search, pages, and addresses that can be shared. The page of a record shows its result,
with files of its tables, charts and values.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlencode

import polars as pl

from rankgate.core.errors import MissingExtraError, RankgateError
from rankgate.core.frozen import dataclass
from rankgate.core.present.base_result import ReportOptions
from rankgate.core.present.columns import Column, Columns
from rankgate.core.present.common_columns import METRIC, QUERY_ID
from rankgate.core.present.document_model import SIGNS, Document, PlainRows, Section, Table
from rankgate.core.present.layout import View
from rankgate.core.present.pages import page as document_page
from rankgate.core.present.pages.page import page_content
from rankgate.decisions.comparison.comparison import Comparisons
from rankgate.decisions.comparison.documents.comparison_report import query_texts
from rankgate.decisions.gating.verdict import Verdict
from rankgate.store.material import queries_documents
from rankgate.store.records import record_search, records
from rankgate.store.records.record_search import RecordFilter
from rankgate.workspace.reports.report import ReportPart, compose
from rankgate.workspace.web.dashboard import comment_pages
from rankgate.workspace.web.dashboard.recorded_results import (
    find_record,
    kind_label,
    query_address,
    read_query_values,
    read_result,
    record_address,
    record_title,
    record_view,
)
from rankgate.workspace.web.pages.document_view import read_titles
from rankgate.workspace.web.replies import FileReply, PageReply, not_found
from rankgate.workspace.web.shared_fields import AFTER_FIELD, SINCE_FIELD, SYSTEM
from rankgate.workspace.web.web_request import VIEWING_ROLES, Field, page, page_window

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from datetime import datetime

    from sqlalchemy import Connection

    from rankgate.core.present.base_result import Result
    from rankgate.store.records.records import Record
    from rankgate.workspace.web.rendering import PageRow
    from rankgate.workspace.web.web_request import WebRequest


_EVIDENCE = Columns(
    "One row per rule.",
    Column(
        "status", pl.String, "the outcome", {status: f"{sign} {status}" for status, sign in SIGNS.items()}
    ),
    Column("id", pl.String, "the rule", header="rule"),
    Column("kind", pl.String, "its kind"),
    METRIC,
    Column("slice", pl.String, "the queries that it looks at"),
    Column("n", pl.Int64, "the number of queries", header="queries"),
    Column("delta", pl.Float64, "candidate − baseline", "signed", header="change"),
    Column("low", pl.Float64, "the low end of the interval", "signed", header="interval"),
    Column("high", pl.Float64, "the high end of the interval", "signed"),
    Column("margin", pl.Float64, "the margin"),
    Column("mde", pl.Float64, "the difference that the queries detect", header="detectable"),
)
_RULES = View(
    cells=("status", "id", "kind", "metric", "slice", "n", "delta", ("low", "high"), "margin", "mde"),
    columns=_EVIDENCE,
)


def evidence_section(verdict: Verdict) -> Section:
    """The figures behind each rule: difference, interval, margin, detectable difference."""
    return Section("evidence", "Evidence of each rule", tuple(_RULES.blocks(verdict)), "Evidence")


DEFAULT_RECORDS = 50
"""The default number of records on a page."""

_MAX_RECORDS = 10_000
"""The largest number of records in a reply."""

_FILTER_FIELDS = ("kind", "system", "branch", "verdict", "label", "words", "since", "until")
_COLUMNS = (
    "sha256",
    "evaluated_at",
    "kind",
    "name",
    "system",
    "branch",
    "revision",
    "verdict",
    "convention",
    "qrels_sha256",
    "recorded_at",
)

KIND_GROUPS = (
    ("Gates", ("verdict", "gate_check", "ramp_verdict")),
    (
        "Comparisons",
        ("comparison", "comparisons", "rank_similarity", "rank_similarities", "engine_comparison"),
    ),
    ("Runs", ("evaluation", "tradeoff", "scorecard")),
    ("Snapshots", ("snapshot", "engine_check")),
    ("Sweeps", ("sweep",)),
    ("Experiments", ("experiment", "preference", "off_policy_estimate", "counterfactual_replay")),
    ("KPIs", ("kpi_table",)),
)
"""The groups of kinds of results, named as in the tabs of the list."""

ONLINE_GROUPS = ("experiments", "kpis")
"""The groups that have separate pages in the navigation."""


_RECORD = "/projects/{project}/records/{record}"


@page(
    "records",
    "/projects/{project}/records",
    VIEWING_ROLES,
    "Records",
    Field("kind", "Kind", most=50, help="Of the result, such as verdict; or a group, such as gates."),
    SYSTEM,
    Field("branch", "Branch", most=500),
    Field(
        "verdict",
        "Verdict",
        "choice",
        choices=tuple((verdict, verdict) for verdict in ("pass", "fail", "inconclusive")),
    ),
    Field("label", "Label", most=500, help="name=value, or a name for any value."),
    Field(
        "words", "Search", most=200, help="In names, systems, branches and revisions, or the start of a hash."
    ),
    SINCE_FIELD,
    Field("until", "Before", "moment"),
    Field("before", "Below this record", "whole"),
    Field("most", "Records", "whole", help="At most 10000; 50 by default."),
    tabular=True,
)
def records_page(request: WebRequest) -> PageReply:
    """The page of records that match the filters, newest first."""
    fields = request.values
    record_filter = _make_filter(fields)
    page_size = min(max(fields["most"] or DEFAULT_RECORDS, 1), _MAX_RECORDS)
    with request.store.read() as connection:
        rows = record_search.find_records(
            connection, request.project.id, record_filter, before=fields["before"], most=page_size
        )
        total = record_search.count_matches(connection, request.project.id, record_filter)
        choices = record_search.count_choices(connection, request.project.id)
    filter_texts = {name: _filter_text(fields[name]) for name in _FILTER_FIELDS if fields[name] is not None}
    data = {
        "project": request.project.name,
        "records": [record_view(record) for record in rows],
        "total": total,
        "filter": filter_texts,
        "choices": choices,
        "next": rows[-1].id if len(rows) == page_size and len(rows) < total else None,
    }
    tabs = _make_tabs(choices["kind"], fields["kind"])
    group = _kind_group(fields["kind"] or "")
    names = {name.lower(): name for name, _ in KIND_GROUPS}
    extra = {
        "record_group": group,
        "heading": names[group] if group in ONLINE_GROUPS else "Records",
        "tabs": tabs,
        "kept": _query_string(filter_texts),
        "kind_word": kind_label,
        "without_kind": _query_string({k: v for k, v in filter_texts.items() if k != "kind"}),
    }
    cells = [tuple(_cell_text(getattr(record, name)) for name in _COLUMNS) for record in rows]
    return PageReply("records.html", data, extra, rows=PlainRows(_COLUMNS, cells))


def _make_filter(fields: Mapping[str, Any]) -> RecordFilter:
    kind = fields["kind"]
    kinds: Sequence[str] = {name.lower(): group_kinds for name, group_kinds in KIND_GROUPS}.get(
        kind or "", (kind,)
    )
    return RecordFilter(
        kinds=kinds if kind else (),
        system=fields["system"],
        branch=fields["branch"],
        verdict=fields["verdict"],
        label=fields["label"],
        words=fields["words"],
        since=fields["since"],
        until=fields["until"],
    )


def _kind_group(kind: str) -> str:
    """The group of a kind; a group is returned unchanged; empty for a kind without a group."""
    groups = ((name.lower(), group_kinds) for name, group_kinds in KIND_GROUPS)
    return next((name for name, kinds in groups if kind == name or kind in kinds), "")


def _filter_text(value: str | datetime) -> str:
    return value if isinstance(value, str) else value.isoformat().replace("+00:00", "Z")


def _query_string(parameters: Mapping[str, str]) -> str:
    return urlencode(parameters, quote_via=quote)


def _make_tabs(kinds: Mapping[str, int], current_kind: str | None) -> list[PageRow]:
    """The groups and other kinds of existing records, with their numbers of records."""
    grouped_kinds = {kind for _, group_kinds in KIND_GROUPS for kind in group_kinds}
    tabs = [
        (name.lower(), name, sum(kinds.get(kind, 0) for kind in group_kinds))
        for name, group_kinds in KIND_GROUPS
    ]
    tabs += [(kind, kind_label(kind), n) for kind, n in kinds.items() if kind not in grouped_kinds]
    return [
        {"kind": kind, "label": label, "count": n, "here": kind == current_kind}
        for kind, label, n in tabs
        if n
    ]


def _cell_text(value: str | datetime | None) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else _filter_text(value)


_MAX_QUERIES = 200
"""The number of queries in the table of values."""


@dataclass(frozen=True)
class _RecordContent:
    """The content of a record's page, which is constant.

    Attributes:
        document: the document of the result.
        html: the document as HTML.
    """

    document: Document
    html: str


@page("record", _RECORD, VIEWING_ROLES, "Record")
def record_page(request: WebRequest) -> PageReply:
    """The page of a record with its result and comments."""
    with request.store.read() as connection:
        record = find_record(connection, request)
        values = records.read_values(connection, record.id)
        page_content = _make_record_content(request, connection, record)
        record_comments = comment_pages.list_comments(connection, request, "record", record.sha256)
    data = {
        "project": request.project.name,
        "record": record_view(record) | {"inputs": dict(record.inputs)},
        "values": [vars(value) for value in values],
        "tables": []
        if page_content is None
        else [
            {"table": anchor, "heading": table.heading}
            for anchor, table in document_page.anchored_tables(page_content.document)
        ],
        "comments": record_comments,
        "result": records.read_result(record, request.store.blobs),
    }
    extra = {
        "document": "" if page_content is None else page_content.html,
        "record_group": _kind_group(record.kind),
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
    project = request.project.id
    counts = (  # the texts are already on the page
        queries_documents.count_queries(connection, project),
        queries_documents.count_documents(connection, project),
    )
    key = ("record page", project, record.sha256, request.config.base, counts)

    def make_content() -> _RecordContent:
        texts = _query_texts(connection, request)
        document = _make_document(request, connection, record, result, texts)
        links = _make_links(request, record, texts)
        return _RecordContent(document, page_content(document, links))

    return request.cache.get(key, make_content)


def _query_texts(connection: Connection, request: WebRequest) -> dict[str, str]:
    """The texts of all queries of the project, including archived queries."""
    queries = queries_documents.list_queries(connection, request.project.id, archived=True)
    return {query.query_id: query.text for query in queries if query.text}


def _make_links(request: WebRequest, record: Record, texts: Mapping[str, str]) -> document_page.Links:
    """The addresses of a record's tables, charts and queries, and the texts of the queries."""
    address = record_address(request, record)
    query = partial(query_address, request, record=record)
    query_ids = _linked_queries(request, record)
    return document_page.Links(
        f"{address}/tables/",
        f"{address}/charts/",
        lambda query_id: query(query_id) if query_id in query_ids else "",
        query_text=lambda query_id: texts.get(query_id, ""),
    )


def _listed_titles(connection: Connection, request: WebRequest, result: Result) -> pl.DataFrame | None:
    """The titles of the documents in a comparison's lists, in the form for reports."""
    if not isinstance(result, Comparisons):
        return None
    tables = [comparison.lists.select("query_id", "doc_id") for comparison in result.comparisons]
    pairs = pl.concat(tables).unique(maintain_order=True)
    titles = read_titles(connection, request, pairs.iter_rows())
    rows = [(query_id, doc_id, title) for (query_id, doc_id), title in titles.items()]
    schema = dict.fromkeys(("query_id", "doc_id", "text"), pl.String)
    return pl.DataFrame(rows, schema, orient="row")


def _make_document(
    request: WebRequest, connection: Connection, record: Record, result: Result, texts: dict[str, str]
) -> Document:
    options = ReportOptions(queries=texts, documents=_listed_titles(connection, request, result))
    document = compose([ReportPart(result, record.name)], options)
    *first, last = document.sections
    if isinstance(result, Verdict):
        first.append(evidence_section(result))
    values = read_query_values(request, record)
    if values is not None and not any(
        (table.grid.flat.head[0] in document_page.QUERY_COLUMNS for _, table in document.tables)
    ):
        tables = tuple(_value_tables(values.table, texts))
        first.append(Section("values", "Values by query", tables, "Queries"))
    return replace(document, sections=(*first, last))


def _value_tables(table: pl.DataFrame, texts: Mapping[str, str]) -> Iterator[Table]:
    """For each system, a table of the queries with the lowest values of the first metric."""
    metrics = [name for name in table.columns if name not in {"system", "query_id"}]
    order = pl.Enum(table["system"].unique(maintain_order=True))
    rows = table.sort(pl.col("system").cast(order), metrics[0], "query_id", nulls_last=True)
    columns = Columns(
        "One row per query.",
        QUERY_ID,
        Column("query text", pl.String, "the text of the query", header="text"),
        *(Column(name, pl.Float64, "the value of the query") for name in metrics),
    )
    return View(
        rows.with_columns(query_texts(texts).alias("query text")),
        "{system}: the lowest {metric} first",
        columns=columns,
        optional=("query text",),
        first=_MAX_QUERIES,
        table_key="system",
        find=True,
    ).blocks(SimpleNamespace(metric=metrics[0]))


def _linked_queries(request: WebRequest, record: Record) -> frozenset[str]:
    """The queries with values in this record and with a page."""
    values = read_query_values(request, record)
    if values is not None:
        return frozenset(values.rows)
    result = read_result(request, record)
    if not isinstance(result, Comparisons):
        return frozenset()
    tables = (comparison.queries for comparison in result.comparisons)
    return frozenset(query for query_table in tables for query in query_table["query_id"].to_list())


def _find_document(request: WebRequest) -> tuple[Record, Document]:
    with request.store.read() as connection:
        record = find_record(connection, request)
        page_content = _make_record_content(request, connection, record)
    if page_content is None:
        raise not_found("table")
    return record, page_content.document


@page("record-table", f"{_RECORD}/tables/{{table}}", VIEWING_ROLES, "Table", tabular=True)
def table_page(request: WebRequest) -> PageReply:
    """The page of one table of a record."""
    record, document = _find_document(request)
    document_table = dict(document_page.anchored_tables(document)).get(request.path["table"])
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
    with request.store.read() as connection:
        links = _make_links(request, record, _query_texts(connection, request))
    table_document = Document(
        document_table.heading or record_title(record),
        sections=(Section("table", "", (replace(document_table, heading="", folded=False, links=()),)),),
    )
    html = page_content(table_document, replace(links, tables="", charts=""))
    extra = {
        "record_group": _kind_group(record.kind),
        "document": html,
        "back": record_address(request, record),
        "of": record_title(record),
    }
    return PageReply("record_table.html", data, extra, rows=PlainRows(grid.head, grid.rows))


@page("record-svg", f"{_RECORD}/charts/{{chart}}.svg", VIEWING_ROLES, "Chart as SVG")
def chart_svg(request: WebRequest) -> FileReply:
    """A chart of a record as SVG."""
    return FileReply(_draw_picture(request).svg().encode(), "image/svg+xml", fresh=True)


@page("record-png", f"{_RECORD}/charts/{{chart}}.png", VIEWING_ROLES, "Chart as PNG")
def chart_png(request: WebRequest) -> FileReply:
    """A chart of a record as PNG."""
    return FileReply(_draw_picture(request).png(), "image/png", fresh=True)


def _draw_picture(request: WebRequest) -> Any:
    _, document = _find_document(request)
    chart = dict(document_page.anchored_charts(document)).get(request.path["chart"])
    if chart is None:
        raise not_found("chart")
    try:
        return chart.picture()
    except MissingExtraError:
        raise
    except RankgateError:
        raise not_found("chart") from None


@page("record-values", f"{_RECORD}/values", VIEWING_ROLES, "Values by query", AFTER_FIELD, tabular=True)
def query_values_page(request: WebRequest) -> PageReply:
    """The page of all values per query of a record."""
    with request.store.read() as connection:
        record = find_record(connection, request)
        values = read_query_values(request, record)
        if values is None:
            raise not_found("table of values")
        value_table = values.table
        window, next_start = page_window(request.values["after"], _PAGE_SIZE, len(value_table))
        page_rows = value_table[window]
        query_ids = page_rows["query_id"].unique()
        texts = queries_documents.read_query_texts(connection, request.project.id, query_ids)
    data = {
        "project": request.project.name,
        "record": record.sha256,
        "head": page_rows.columns,
        "rows": page_rows.rows(),
        "total": len(value_table),
        "next": next_start,
    }
    extra = {
        "record_group": _kind_group(record.kind),
        "texts": texts,
        "back": record_address(request, record),
        "of": record_title(record),
    }
    return PageReply(
        "record_values.html", data, extra, rows=PlainRows(tuple(value_table.columns), value_table.rows())
    )


_PAGE_SIZE = 200
"""The number of queries on a page of values; the CSV file has all queries."""
