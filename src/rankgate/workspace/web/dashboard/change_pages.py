"""Pages on the change between two recorded evaluations: all queries, or one query's lists."""

from __future__ import annotations

from dataclasses import asdict
from itertools import pairwise
from typing import TYPE_CHECKING
from urllib.parse import urlencode

import polars as pl

from rankgate.core.present.document_model import PlainRows
from rankgate.store.material import project_engines, projects, queries_documents
from rankgate.store.rating import tasks
from rankgate.store.records import series
from rankgate.workspace.web.dashboard import comment_pages
from rankgate.workspace.web.dashboard import query_lists as lists
from rankgate.workspace.web.dashboard.evaluation_pair import (
    find_causes,
    metric_changes,
    query_changes,
    read_pair,
    sort_worst_first,
)
from rankgate.workspace.web.dashboard.missing_documents import (
    fallen_queries,
    find_batch,
    first_documents,
    judged_shares,
    list_rater_names,
    missing_pairs,
    query_status,
)
from rankgate.workspace.web.dashboard.recorded_results import (
    pair_address,
    query_address,
    record_address,
    record_title,
)
from rankgate.workspace.web.dashboard.side_lists import make_side_lists
from rankgate.workspace.web.replies import PageReply, not_found
from rankgate.workspace.web.shared_fields import PAIR
from rankgate.workspace.web.web_request import MANAGING_ROLES, VIEWING_ROLES, Field, page, page_window

if TYPE_CHECKING:
    from collections.abc import Collection

    from sqlalchemy import Connection

    from rankgate.store.records.records import Record
    from rankgate.store.records.series import Point
    from rankgate.workspace.web.dashboard.evaluation_pair import EvaluationPair
    from rankgate.workspace.web.dashboard.query_lists import RankedDocuments
    from rankgate.workspace.web.rendering import PageRow
    from rankgate.workspace.web.web_request import WebRequest


_PAGE_SIZE = 50
"""The number of queries on a page."""

_MAX_CHOICES = 100
"""The number of latest evaluations that can be chosen on the page."""

_STATUS_FIELDS = ("better", "judged_before", "judged_after")
_COLUMNS = ("query_id", "text", "before", "after", "change", "judged_before", "judged_after")


_QUERY = Field("query", "Query", required=True, most=500, help="Its id.")


@page(
    "change",
    "/projects/{project}/changes",
    VIEWING_ROLES,
    "What changed",
    *PAIR,
    Field("start", "First row", "whole"),
    tabular=True,
)
def change_page(request: WebRequest) -> PageReply:
    """The page with the metrics of two evaluations, the cause of the change, and fallen queries."""
    with request.store.read() as connection:
        pair = read_pair(connection, request)
        changes = query_changes(request, *pair.metric_points)
        sorted_changes = None if changes is None else sort_worst_first(changes, pair.metric_points[1])
        total = 0 if sorted_changes is None else len(sorted_changes)
        window, next_start = page_window(request.values["start"], _PAGE_SIZE, total)
        page_rows = [] if sorted_changes is None else sorted_changes[window].to_dicts()
        query_ids = [row["query_id"] for row in page_rows]
        texts = queries_documents.read_query_texts(connection, request.project.id, query_ids)
        fallen = fallen_queries(request, pair)
        documents = first_documents(connection, request, pair, {*query_ids, *fallen})
        missing = _missing_state(connection, request, pair, fallen, documents)
        evaluations = _list_evaluations(connection, request, pair)
        comments = comment_pages.list_comments(connection, request, "comparison", pair.subject)
        metrics = metric_changes(connection, request, pair)
    shares = judged_shares(documents)
    queries = [
        {
            "query_id": row["query_id"],
            "text": texts.get(row["query_id"], ""),
            "before": row["baseline"],
            "after": row["candidate"],
            "change": row["delta"],
            "better": (row["delta"] > 0) == pair.metric_points[1].higher_is_better,
            "judged_before": shares[0].get(row["query_id"]),
            "judged_after": shares[1].get(row["query_id"]),
        }
        for row in page_rows
    ]
    queries = [
        query | {"status": query_status(**{name: query[name] for name in _STATUS_FIELDS})}
        for query in queries
    ]
    data = {
        "project": request.project.name,
        "before": _side_view(request, pair.earlier, pair.metric_points[0]),
        "after": _side_view(request, pair.later, pair.metric_points[1]),
        "metric": pair.metric,
        "metrics": [vars(change) for change in metrics],
        "causes": asdict(find_causes(request, pair)),
        "queries": queries,
        "fallen": len(fallen),
        "moved": total,
        "count": 0 if changes is None else len(changes),
        "next": next_start,
        "missing": missing,
        "comments": comments,
    }
    addresses = {query_id: _pair_page_address(request, pair, query=query_id) for query_id in query_ids}
    extra = {
        "addresses": addresses,
        "evaluations": evaluations,
        "metric_addresses": {name: _pair_page_address(request, pair, metric=name) for name in pair.points},
        "subject_kind": "comparison",
        "subject": pair.subject,
        "hidden": _hidden_fields(request, pair),
        "raters": list_rater_names(request) if _can_manage(request) else [],
    }
    rows = [tuple(query[name] for name in _COLUMNS) for query in queries]
    return PageReply("change.html", data, extra, rows=PlainRows(_COLUMNS, rows))


def _list_evaluations(connection: Connection, request: WebRequest, pair: EvaluationPair) -> list[PageRow]:
    """The latest evaluations with the metric, and those of the page, newest first."""
    latest = series.list_points(connection, request.project.id, pair.metric)[-_MAX_CHOICES:]
    points = sorted((*pair.metric_points, *latest), key=lambda point: point.evaluated_at)
    return [
        {
            "sha256": point.sha256,
            "at": point.evaluated_at.isoformat(),
            "system": point.system,
            "value": point.value,
        }
        for point in reversed(points)
    ]


@page(
    "query-change",
    "/projects/{project}/changes/query",
    VIEWING_ROLES,
    "What changed for a query",
    _QUERY,
    *PAIR,
)
def query_change_page(request: WebRequest) -> PageReply:
    """The page with both lists of a query, and the grade and move of each document."""
    query_id = request.values["query"]
    with request.store.read() as connection:
        pair = read_pair(connection, request)
        ranked, missing_text, explained = _ranked_lists(connection, request, pair, query_id)
        doc_ids = {doc_id for side in ranked for doc_id, _ in side.values()}
        values = _query_values(query_changes(request, *pair.metric_points), query_id)
        texts = queries_documents.read_query_texts(connection, request.project.id, [query_id])
        if not doc_ids and values["change"] is None and query_id not in texts:
            raise not_found("query")
        documents = queries_documents.documents_of_query(
            connection, request.project.id, query_id, sorted(doc_ids)
        )
        grades = projects.grades(connection, request.project.id)
        first_rows = first_documents(connection, request, pair, [query_id])
        missing = _missing_state(connection, request, pair, [query_id], first_rows)
        fallen = fallen_queries(request, pair)
        comments = comment_pages.list_comments(connection, request, "query", query_id)
        engines = project_engines.list_engines(connection, request.project.id)
    listed_grades = [g for side in ranked for _, g in side.values() if g is not None]
    top = max([*(grade.grade for grade in grades), *listed_grades], default=0.0)
    text = texts.get(query_id, "")
    side_lists = make_side_lists(ranked, documents, text, request.project.settings, top)
    data = {
        "project": request.project.name,
        "query": {"query_id": query_id, "text": text},
        "before": _side_view(request, pair.earlier, pair.metric_points[0]),
        "after": _side_view(request, pair.later, pair.metric_points[1]),
        "metric": pair.metric,
        "values": values,
        "lists": {"before": side_lists.first, "after": side_lists.second},
        "missing": missing,
        "comments": comments,
    }
    is_better = ((values["change"] or 0.0) > 0) == pair.metric_points[1].higher_is_better
    shares = [side.get(query_id) for side in judged_shares(first_rows)]
    neighbours = {
        name: _pair_page_address(request, pair, query=neighbour)
        for name, neighbour in _neighbours(fallen, query_id).items()
    }
    extra = {
        "heading": text or f"Query {query_id}",
        "status": query_status(better=is_better, judged_before=shares[0], judged_after=shares[1]),
        "lacking": missing_text,
        "explanations": explained,
        "live_address": _live_address(request, text) if engines else "",
        "pair_address": _pair_page_address(request, pair),
        "query_address": query_address(request, query_id, pair.later, pair.metric),
        "position": fallen.index(query_id) + 1 if query_id in fallen else 0,
        "fallen": len(fallen),
        "neighbours": neighbours,
        "subject_kind": "query",
        "subject": query_id,
        "comparison": pair.subject,
        "hidden": _hidden_fields(request, pair) | {"query": query_id},
        "raters": list_rater_names(request) if _can_manage(request) else [],
    }
    return PageReply("query_change.html", data, extra)


def _side_view(request: WebRequest, record: Record, point: Point) -> PageRow:
    return {
        "record": record.sha256,
        "title": record_title(record),
        "address": record_address(request, record),
        "system": point.system,
        "evaluated_at": record.evaluated_at,
        "revision": record.revision,
        "value": point.value,
    }


def _missing_state(
    connection: Connection,
    request: WebRequest,
    pair: EvaluationPair,
    query_ids: Collection[str],
    documents: list[pl.DataFrame],
) -> PageRow:
    """The unjudged documents of queries, and the batch for them."""
    tables = [table.filter(pl.col("query_id").is_in(list(query_ids))) for table in documents]
    pairs = missing_pairs(connection, request, tables)
    waiting = tasks.waiting_pairs(connection, request.project.id)
    batch = find_batch(connection, request, pair)
    progress = tasks.progress(connection, request.project.id, batch.id) if batch else None
    return {
        "documents": len(pairs),
        "waiting": len(pairs.join(waiting, on=["query_id", "doc_id"], how="semi")),
        "batch": None
        if batch is None or progress is None
        else {"id": batch.id, "name": batch.name, "done": progress.done, "total": progress.total},
    }


def _ranked_lists(
    connection: Connection, request: WebRequest, pair: EvaluationPair, query_id: str
) -> tuple[tuple[RankedDocuments, RankedDocuments], str, dict[str, str]]:
    """Each evaluation's list, the reason for a missing list, and the links to explanations."""
    sides: list[RankedDocuments] = []
    missing_texts, explained = [], {}
    for name, record, point in zip(
        ("before", "after"), (pair.earlier, pair.later), pair.metric_points, strict=True
    ):
        query_lists = lists.find_query_lists(connection, request, record, query_id)
        by_system = dict(zip(query_lists.systems, query_lists.ranked, strict=False))
        sides.append(by_system.get(point.system, {}))
        missing_texts.append(query_lists.missing)
        if point.system in query_lists.explained:
            explained[name] = lists.explanation_address(request, query_id, pair.metric, record, point.system)
    return (sides[0], sides[1]), next(filter(None, missing_texts), ""), explained


def _query_values(changes: pl.DataFrame | None, query_id: str) -> dict[str, float | None]:
    """The value of a query before and after, and its change; None if a value is missing."""
    rows = [] if changes is None else changes.filter(pl.col("query_id") == query_id).to_dicts()
    columns = {"before": "baseline", "after": "candidate", "change": "delta"}
    return {name: rows[0][column] if rows else None for name, column in columns.items()}


def _neighbours(fallen: list[str], query_id: str) -> dict[str, str]:
    """The previous and the next query among the fallen queries."""
    next_queries = dict(pairwise(fallen))
    previous_queries = {second: first for first, second in next_queries.items()}
    neighbours = {"previous": previous_queries.get(query_id), "next": next_queries.get(query_id)}
    return {name: neighbour for name, neighbour in neighbours.items() if neighbour is not None}


def _hidden_fields(request: WebRequest, pair: EvaluationPair) -> dict[str, str]:
    """The hidden fields of the form that requests missing documents."""
    return {
        "project": request.project.name,
        "before": pair.earlier.sha256,
        "after": pair.later.sha256,
        "metric": pair.metric,
        "system": request.values["system"] or "",
        "query": "",
    }


def _pair_page_address(
    request: WebRequest, pair: EvaluationPair, *, metric: str = "", query: str = ""
) -> str:
    return pair_address(
        request,
        pair.earlier.sha256,
        pair.later.sha256,
        metric=metric or pair.metric,
        system=request.values["system"] or "",
        query=query,
    )


def _live_address(request: WebRequest, text: str) -> str:
    """The address where managers send the query to the engines; empty for other users."""
    if not text or not _can_manage(request):
        return ""
    return f"{request.config.base}{request.project_path('live')}?{urlencode({'text': text})}"


def _can_manage(request: WebRequest) -> bool:
    return request.role in MANAGING_ROLES
