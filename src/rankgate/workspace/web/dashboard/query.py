"""One query: its values over the records, both lists, how a value was computed, judgments."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import polars as pl

from rankgate.core.errors import UsageError
from rankgate.core.present.document import PlainRows
from rankgate.core.present.pages.page import content
from rankgate.store.kept import judgments
from rankgate.store.material import documents, queries
from rankgate.store.records import comments as stored
from rankgate.store.records import records
from rankgate.workspace.records.follow import comparable_segments
from rankgate.workspace.web.cache import Cache
from rankgate.workspace.web.dashboard import comments, lists
from rankgate.workspace.web.dashboard.found import place, query_place, record_of, title, values_of
from rankgate.workspace.web.dashboard.lines import Line
from rankgate.workspace.web.dashboard.stored import judgments_table
from rankgate.workspace.web.pages.task_view import document_view, image_origins
from rankgate.workspace.web.replies import Page, not_found

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from rankgate.measurement.explanation.explanation import Explanation
    from rankgate.store.records.records import Record
    from rankgate.workspace.web.asked import Asked
    from rankgate.workspace.web.dashboard.found import QueryValues

_RECORDS = 60
"""The latest records in which values of a query are looked up."""

_OTHER = {"system", "query_id"}


def page(asked: Asked) -> Page:
    """All that is known of a query."""
    query = asked.values["query"]
    with asked.store.read() as connection:
        latest = _with_values(connection, asked)
        chosen = record_of(connection, asked, asked.values["record"]) if asked.values[
            "record"] else _last_of(asked, latest, query)  # fmt: skip
        about = _about(connection, asked, query)
        values = [row for each in latest for row in _values(asked, each, query)]
        metrics = list(dict.fromkeys(row["metric"] for row in values))
        metric = asked.values["metric"] or (metrics[0] if metrics else None)
        shown = lists.of_query(connection, asked, chosen, query) if chosen else None
        graded = _judged(connection, asked, query)
        if about is None and not values and not graded and shown is None:
            raise not_found("query")
        ids = {row["doc_id"] for row in graded} | (shown.documents if shown else set())
        fields = documents.of_query(connection, asked.project.id, query, sorted(ids)[:500])
        said = comments.view(connection, asked, "query", query)
    own = [row for row in values if row["metric"] == metric]
    seen = {name: document_view(each, set(), asked.project.settings)
            for name, each in fields.items()}  # fmt: skip
    data = {
        "project": asked.project.name,
        "query": {"query_id": query} | (about or {}),
        "metrics": metrics,
        "metric": metric,
        "values": own,
        "record": chosen.sha256 if chosen else None,
        "lists": shown.data if shown else None,
        "explained": list(shown.explained) if shown else [],
        "judgments": graded,
        "documents": {name: each["fields"] for name, each in seen.items()},
        "comments": said,
    }
    texts = {name: _words(each) for name, each in seen.items()}
    extra = {
        "heading": (about or {}).get("text") or f"Query {query}",
        "lists_html": shown.html(texts) if shown else "",
        "missing": shown.missing if shown else "",
        "chosen": title(chosen) if chosen else "",
        "chosen_at": place(asked, chosen) if chosen else "",
        "seen": seen,
        "lines": _lines(own, latest),
        "here_record": asked.values["record"],
        "subject_kind": "query",
        "subject": query,
    }
    rows = PlainRows(_HEAD, [tuple(str(row[name]) if name == "evaluated_at" else row[name]
                                   for name in _HEAD) for row in values])  # fmt: skip
    images = image_origins(asked.project.settings)
    return Page("query_values.html", data, extra, images=images, rows=rows)


def explanation(asked: Asked) -> Page:
    """How the value of a metric for a query was computed, step by step.

    Raises:
        Refused: the store lacks the run, the judgments or the convention.
        UsageError: there is no such metric, or the query has no judgments.
    """
    given = asked.values
    with asked.store.read() as connection:
        record = record_of(connection, asked, given["record"])
        system = given["system"] or ("", *lists.systems_of(asked, record))[-1]
        key = (asked.store.name, record.sha256, given["query"], given["metric"], system)
        found = _EXPLAINED.get(
            key,
            lambda: lists.explanation_of(
                connection, asked, record, given["query"], given["metric"], system
            ),
        )
    if found is None:
        raise not_found("explanation: the store lacks the run or the judgments")
    html = _DRAWN.get(key, lambda: content(found.document()))
    data = {"project": asked.project.name, "record": record.sha256, "explanation": found.to_dict()}
    extra = {"document": html, "back": query_place(asked, given["query"], record),
             "of": given["query"]}  # fmt: skip
    return Page("explanation.html", data, extra)


_EXPLAINED: Cache[Explanation | None] = Cache(200)
_DRAWN: Cache[str] = Cache(200)

_HEAD = ("evaluated_at", "record", "title", "system", "metric", "value")


def _with_values(connection: Connection, asked: Asked) -> list[Record]:
    found = records.listed(connection, asked.project.id, most=_RECORDS)
    return [each for each in found if each.per_query is not None]


def _last_of(asked: Asked, latest: Sequence[Record], query: str) -> Record | None:
    """The latest record that has values of the query."""
    own = ((each, values_of(asked, each)) for each in latest)
    return next((each for each, values in own if values and query in values.rows), None)


def _about(connection: Connection, asked: Asked, query: str) -> dict[str, Any] | None:
    try:
        found = queries.get(connection, asked.project.id, query)
    except UsageError:
        return None
    tags = {name: str(value) for name, value in found.tags.items()}
    return {"id": found.id, "text": found.text, "information_need": found.information_need,
            "tags": tags, "archived_at": found.archived_at}  # fmt: skip


def _values(asked: Asked, record: Record, query: str) -> list[dict[str, Any]]:
    """The values of a query in a record, one a metric and system."""
    values = values_of(asked, record)
    if values is None:
        return []
    return [
        {"record": record.sha256, "evaluated_at": record.evaluated_at, "title": title(record),
         "system": row["system"], "metric": metric, "value": value}
        for row in values.of(query)
        for metric, value in row.items()
        if metric not in _OTHER
    ]  # fmt: skip


def _judged(connection: Connection, asked: Asked, query: str) -> list[dict[str, Any]]:
    """The grades of the query's documents by the latest judgments."""
    found = judgments.listed(connection, asked.project.id)
    if not found:
        return []
    latest = found[-1]
    table = judgments_table(connection, asked, latest).filter(pl.col("query_id") == query)
    return [
        {"judgments": latest.name, "doc_id": row["doc_id"], "grade": row["grade"]}
        for row in table.sort("grade", "doc_id", descending=[True, False]).iter_rows(named=True)
    ]


def _words(view: Mapping[str, Any]) -> str:
    """The first fields of a document in a line."""
    words = ["".join(text for text, _ in field["segments"]) for field in view["fields"][:2]]
    return " · ".join(words)[:_LINE]


_LINE = 200


def _lines(rows: list[dict[str, Any]], latest: Sequence[Record]) -> list[Line]:
    """The values of each system over time, as small lines; gaps where they are not comparable."""
    lines = []
    for system in dict.fromkeys(row["system"] for row in rows):
        values = {row["record"]: row["value"] for row in rows if row["system"] == system}
        evaluated = [record for record in reversed(latest) if record.sha256 in values]
        segments = comparable_segments(evaluated) if evaluated else []
        lines.append(Line.of(system, [
            [(record.evaluated_at, values[record.sha256]) for record in segment]
            for segment in segments
        ]))  # fmt: skip
    return lines


def listed(asked: Asked) -> Page:
    """The queries of the project and of its latest record that are not archived, with values."""
    given = asked.values
    words = (given["words"] or "").lower()
    with asked.store.read() as connection:
        latest = next(iter(_with_values(connection, asked)), None)
        counts = _comment_counts(connection, asked)
        known = {each.query_id: each.text
                 for each in queries.listed(connection, asked.project.id)}  # fmt: skip
        archived = queries.archived_ids(connection, asked.project.id)
    values = values_of(asked, latest) if latest else None
    rows = [row for row in _joined(values, known, counts) if row["query_id"] not in archived]
    if words:
        rows = [row for row in rows if words in f"{row['query_id']} {row['text']}".lower()]
    after = max(given["after"] or 0, 0)
    shown = rows[after : after + _PAGE]
    metrics = values.metrics if values else []
    data = {
        "project": asked.project.name,
        "queries": shown,
        "metrics": metrics,
        "record": latest.sha256 if latest else None,
        "total": len(rows),
        "words": given["words"],
        "next": after + _PAGE if after + _PAGE < len(rows) else None,
    }
    places = {row["query_id"]: query_place(asked, row["query_id"]) for row in shown}
    head = ("query_id", "text", "system", *metrics, "comments")
    sheet = PlainRows(head, [
        (row["query_id"], row["text"], row["system"], *(row["values"].get(m) for m in metrics),
         str(row["comments"]))
        for row in rows
    ])  # fmt: skip
    extra = {"places": places, "of": title(latest) if latest else "",
             "of_at": place(asked, latest) if latest else ""}  # fmt: skip
    return Page("queries.html", data, extra, rows=sheet)


_PAGE = 100
"""Queries on a page of the list."""


def _comment_counts(connection: Connection, asked: Asked) -> dict[str, int]:
    return stored.counts(connection, asked.project.id, "query")


def _joined(
    values: QueryValues | None, known: Mapping[str, str | None], counts: Mapping[str, int]
) -> list[dict[str, Any]]:
    """A row for each query and system, those with the lowest values first."""
    rows: list[dict[str, Any]] = []
    if values is not None and values.metrics:
        metrics = values.metrics
        system = values.table["system"][-1]  # of a comparison the candidate, which comes last
        own = values.table.filter(pl.col("system") == system)
        for row in own.sort(metrics[0], "query_id", nulls_last=True).iter_rows(named=True):
            figures = {name: row[name] for name in metrics}
            rows.append(_row(row["query_id"], row["system"], figures, known, counts))
    seen = {row["query_id"] for row in rows}
    rows += [_row(each, "", {}, known, counts) for each in known if each not in seen]
    return rows


def _row(
    query: str, system: str, figures: Mapping[str, float | None],
    known: Mapping[str, str | None], counts: Mapping[str, int],
) -> dict[str, Any]:  # fmt: skip
    return {"query_id": query, "text": known.get(query) or "", "system": system,
            "values": dict(figures), "comments": counts.get(query, 0)}  # fmt: skip
