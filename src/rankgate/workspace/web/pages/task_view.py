"""A task for a rater, without systems, ranks, known answers and other raters' answers."""

from __future__ import annotations

from typing import TYPE_CHECKING
from zlib import crc32

from rankgate.core.present.charts.chart_style import GRADES
from rankgate.judging.rating_session import grade_keys
from rankgate.store.blobs import stored_runs
from rankgate.store.material import projects, queries_documents
from rankgate.store.rating.batch_rules import rules_of
from rankgate.store.rating.batches import get_batch
from rankgate.workspace.web.pages.document_view import brief_view, document_view
from rankgate.workspace.web.pages.highlighting import QueryWords, read_query_words
from rankgate.workspace.web.rendering import render_guideline

if TYPE_CHECKING:
    import polars as pl
    from sqlalchemy import Connection

    from rankgate.store.blobs.stored_runs import StoredRun
    from rankgate.store.material.queries_documents import Query
    from rankgate.store.rating.rating_answers import Answer
    from rankgate.store.rating.tasks import Task
    from rankgate.workspace.web.rendering import PageRow
    from rankgate.workspace.web.web_request import WebRequest

REASONS = (
    ("unclear query", "I do not understand the query"),
    ("unclear document", "The document is empty, broken or in another language"),
    ("no knowledge", "I do not know enough about the subject"),
    ("guideline", "The guideline does not cover this"),
)
"""The reasons why raters cannot tell; reasons about the query and the document are separate."""

LIST_LENGTH = 10
"""The number of documents in lists shown side by side."""


def scale_view(connection: Connection, project: int) -> list[PageRow]:
    """The grades with keys, labels, descriptions, and shades from worthless to best."""
    grades = projects.grades(connection, project)
    if not grades:
        return []
    keys = {grade: key for key, grade in grade_keys([scale_grade.grade for scale_grade in grades]).items()}
    low, high = grades[0].grade, grades[-1].grade
    return [
        {
            "grade": scale_grade.grade,
            "key": keys.get(scale_grade.grade, ""),
            "label": scale_grade.label or f"{scale_grade.grade:g}",
            "description": scale_grade.description,
            "shade": round((len(GRADES) - 1) * (scale_grade.grade - low) / ((high - low) or 1)),
        }
        for scale_grade in grades
    ]


def task_view(
    connection: Connection, request: WebRequest, task: Task, rater: int, rater_answer: Answer | None = None
) -> PageRow:
    """The task in the form for pages and programs."""
    query = task.query
    language = request.project.settings.get("language") or ""
    query_words = read_query_words(query.text or "", language)
    is_swapped = swaps_sides(task.id, task.batch.kind, rater)
    sides = [
        document_view(document, query_words, request.project.settings)
        if document is not None
        else {"list": _list_view(connection, request, run, query, query_words)}
        for document, run in ((task.document, task.run), (task.other_document, task.other_run))
        if document is not None or run is not None
    ]
    batch, kind = task.batch, task.batch.kind
    again_of = rules_of(batch.settings).again_of
    if again_of is not None:  # a repeated pair looks like any other pair
        batch, kind = get_batch(connection, again_of), "rating"
    view: PageRow = {
        "id": task.id,
        "batch": {"id": batch.id, "name": batch.name, "kind": kind, "deadline": batch.deadline},
        "query": {
            "query_id": query.query_id,
            "text": query.text or query.query_id,
            "information_need": query.information_need,
            "fields": [[name, str(value)] for name, value in query.tags.items()],
        },
        "sides": sides[::-1] if is_swapped else sides,
        "swapped": is_swapped,
        "mine": None
        if rater_answer is None
        else {
            "grade": rater_answer.grade,
            "choice": rater_answer.choice,
            "reason": rater_answer.reason,
            "comment": rater_answer.comment,
        },
    }
    if not task.batch.blind:
        view["pool"] = dict(task.pool)
    return view


def swaps_sides(task: int, kind: str, rater: int) -> bool:
    """True if a rater sees the second subject on the left: random, but always the same."""
    has_two_sides = kind in {"documents", "lists"}
    return has_two_sides and bool(crc32(f"{task} {rater}".encode()) & 1)


def _list_view(
    connection: Connection, request: WebRequest, run: StoredRun | None, query: Query, query_words: QueryWords
) -> list[PageRow]:
    """The first documents of a list, each with its first fields."""
    assert run is not None
    table = read_run_table(request, run)
    ranking = table.filter(table["query_id"] == query.query_id).sort("score", descending=True)
    ids = ranking["doc_id"].head(LIST_LENGTH).to_list()
    documents_by_id = queries_documents.documents_of_query(
        connection, request.project.id, query.query_id, ids
    )
    return [
        brief_view(document_view(documents_by_id[doc_id], query_words, request.project.settings))
        if doc_id in documents_by_id
        else {"doc_id": doc_id, "fields": [], "url": None}
        for doc_id in ids
    ]


def read_run_table(request: WebRequest, stored_run: StoredRun) -> pl.DataFrame:
    """The rows of a run, which are constant."""
    return request.cache.get(
        ("run", stored_run.blob), lambda: stored_runs.rankings(stored_run, request.store.blobs).table
    )


def guideline_html(request: WebRequest, text: str) -> str:
    """The guideline as HTML; any HTML in its text is shown as text."""
    return request.cache.get(("guideline", text), lambda: render_guideline(text))
