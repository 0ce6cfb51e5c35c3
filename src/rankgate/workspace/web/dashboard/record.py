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
from rankgate.core.present.numbers import decimal
from rankgate.core.present.pages import links
from rankgate.core.present.pages.page import content
from rankgate.core.present.resolve import resolved
from rankgate.core.present.result import ReportOptions
from rankgate.decisions.comparison.comparison import Comparisons
from rankgate.decisions.gating.verdict import Verdict
from rankgate.store.material import queries
from rankgate.store.records import records
from rankgate.workspace.reports.compose import ReportPart, compose
from rankgate.workspace.web.cache import Cache
from rankgate.workspace.web.dashboard import comments, evidence
from rankgate.workspace.web.dashboard.found import (
    kind_word,
    place,
    query_place,
    record_of,
    result_of,
    title,
    values_of,
    view,
)
from rankgate.workspace.web.replies import Page, Sent, not_found

if TYPE_CHECKING:
    import polars as pl
    from sqlalchemy import Connection

    from rankgate.core.present.result import Result
    from rankgate.store.records.records import Record
    from rankgate.workspace.web.asked import Asked

_WORST = 200
"""Queries in the table of values."""


@dataclass(frozen=True)
class _Made:
    """What a record's page shows: it never changes.

    Attributes:
        document: what the result says.
        html: the same as HTML.
    """

    document: Document
    html: str


_PAGES: Cache[_Made] = Cache(64)


def page(asked: Asked) -> Page:
    """The record, its result, and what people say about it."""
    with asked.store.read() as connection:
        record = record_of(connection, asked)
        values = records.values(connection, record.id)
        found = _made(asked, connection, record)
        said = comments.view(connection, asked, "record", record.sha256)
    data = {
        "project": asked.project.name,
        "record": view(record) | {"inputs": dict(record.inputs)},
        "values": [vars(each) for each in values],
        "tables": [] if found is None else _listed(found.document),
        "comments": said,
        "result": records.result(record, asked.store.blobs),
    }
    extra = {
        "document": "" if found is None else found.html,
        "heading": title(record),
        "what": kind_word(record.kind),
        "has_values": record.per_query is not None,
        "subject_kind": "record",
        "subject": record.sha256,
    }
    return Page("record.html", data, extra)


def _made(asked: Asked, connection: Connection, record: Record) -> _Made | None:
    result = result_of(asked, record)
    if result is None:
        return None
    count = queries.count(connection, asked.project.id)  # their texts are on the page
    key = (asked.store.name, asked.project.id, record.sha256, asked.config.base, count)

    def made() -> _Made:
        document = _document(asked, connection, record, result)
        at = place(asked, record)
        query = partial(query_place, asked, record=record)
        known = _queries(asked, record)
        where = links.Links(
            f"{at}/tables/", f"{at}/charts/",
            lambda words: query(words) if words in known else "",
        )  # fmt: skip
        return _Made(document, content(document, where))

    return _PAGES.get(key, made)


def _document(
    asked: Asked, connection: Connection, record: Record, result: Result
) -> Document:  # fmt: skip
    texts = {
        each.query_id: each.text
        for each in queries.listed(connection, asked.project.id, archived=True)
        if each.text
    }
    found = compose([ReportPart(result, record.name)], ReportOptions(queries=texts))
    *first, last = found.sections
    if isinstance(result, Verdict):
        first.append(evidence.section(result))
    values = values_of(asked, record)
    if values is not None and not _has_queries(found):
        tables = tuple(_tables(values.table, texts))
        first.append(Section("values", "Values by query", tables, "Queries"))
    return replace(found, sections=(*first, last))


def _has_queries(document: Document) -> bool:
    """Whether a table of the document has a row for each query."""
    return any(table.grid.flat.head[0] in links.QUERY for _, table in document.tables)


def _tables(table: pl.DataFrame, texts: dict[str, str]) -> list[DocumentTable]:
    """The queries of each system with the lowest values of the first metric."""
    metrics = [name for name in table.columns if name not in {"system", "query_id"}]
    made = []
    for (system,), own in table.group_by("system", maintain_order=True):
        some = own.sort(metrics[0], "query_id", nulls_last=True).head(_WORST)
        rows = tuple(
            (row["query_id"], *([texts.get(row["query_id"], "")] if texts else []),
             *(decimal(row[name]) for name in metrics))
            for row in some.iter_rows(named=True)
        )  # fmt: skip
        head = ("query", *(["text"] if texts else []), *metrics)
        words = frozenset({0, 1} if texts else {0})
        heading = f"{system}: {len(rows):,} of {len(own):,} queries, the lowest {metrics[0]} first"
        made.append(DocumentTable(heading, Grid(head, rows, words), find=True))
    return made


def _queries(asked: Asked, record: Record) -> frozenset[str]:
    """The queries that have a page with what this record says of them."""
    values = values_of(asked, record)
    if values is not None:
        return frozenset(values.rows)
    result = result_of(asked, record)
    if not isinstance(result, Comparisons):
        return frozenset()
    tables = (each.queries for each in result.comparisons)
    return frozenset(query for each in tables for query in each["query_id"].to_list())


def _listed(document: Document) -> list[dict[str, str]]:
    return [{"table": anchor, "heading": table.heading} for anchor, table in links.tables(document)]


def _document_of(asked: Asked) -> tuple[Record, Document]:
    with asked.store.read() as connection:
        record = record_of(connection, asked)
        found = _made(asked, connection, record)
    if found is None:
        raise not_found("table")
    return record, found.document


def table(asked: Asked) -> Page:
    """One table of a record."""
    record, document = _document_of(asked)
    found = dict(links.tables(document)).get(asked.path["table"])
    if found is None:
        raise not_found("table")
    grid = found.grid.flat
    data = {
        "project": asked.project.name,
        "record": record.sha256,
        "heading": found.heading,
        "head": list(grid.head),
        "rows": [list(row) for row in grid.rows],
    }
    query = partial(query_place, asked, record=record)
    known = _queries(asked, record)
    where = links.Links(query=lambda words: query(words) if words in known else "")
    alone = Document(
        found.heading or title(record),
        sections=(Section("table", "", (replace(found, heading="", folded=False, links=()),)),),
    )
    html = content(alone, where)
    extra = {"document": html, "back": place(asked, record), "of": title(record)}
    return Page("record_table.html", data, extra, rows=PlainRows(grid.head, grid.rows))


def svg(asked: Asked) -> Sent:
    """One chart of a record as SVG."""
    return Sent(_picture(asked).svg().encode(), "image/svg+xml", fresh=True)


def png(asked: Asked) -> Sent:
    """One chart of a record as PNG."""
    return Sent(_picture(asked).png(), "image/png", fresh=True)


def _picture(asked: Asked) -> Any:
    _, document = _document_of(asked)
    chart = dict(links.charts(document)).get(asked.path["chart"])
    if chart is None:
        raise not_found("chart")
    try:
        return resolved(chart.draw)(chart.result)
    except MissingExtraError:
        raise
    except RankgateError:
        raise not_found("chart") from None


def query_values(asked: Asked) -> Page:
    """Every value per query of a record."""
    with asked.store.read() as connection:
        record = record_of(connection, asked)
    values = values_of(asked, record)
    if values is None:
        raise not_found("table of values")
    found = values.table
    start = max(asked.values["after"] or 0, 0)
    some = found.slice(start, _PAGE)
    data = {
        "project": asked.project.name,
        "record": record.sha256,
        "head": some.columns,
        "rows": some.rows(),
        "total": len(found),
        "next": start + _PAGE if start + _PAGE < len(found) else None,
    }
    extra = {"back": place(asked, record), "of": title(record)}
    return Page("record_values.html", data, extra,
                rows=PlainRows(tuple(found.columns), found.rows()))  # fmt: skip


_PAGE = 200
"""Queries of a page of values; the file in CSV has all."""
