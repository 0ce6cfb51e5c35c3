"""A task as a rater sees it: without systems, ranks, known answers, and others' answers."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit
from zlib import crc32

from rankgate.core.present.charts.chart_style import GRADES
from rankgate.judging.rating.rating_session import grade_keys
from rankgate.store.blobs import stored_runs
from rankgate.store.material import projects, queries_documents
from rankgate.workspace.web.rendering import render_guideline

if TYPE_CHECKING:
    import polars as pl
    from sqlalchemy import Connection

    from rankgate.store.blobs.stored_runs import StoredRun
    from rankgate.store.material.queries_documents import Document, Query
    from rankgate.store.rating.rating_answers import Answer
    from rankgate.store.rating.tasks import Task
    from rankgate.workspace.web.rendering import PageValue
    from rankgate.workspace.web.web_request import WebRequest

REASONS = (
    ("unclear query", "I do not understand the query"),
    ("unclear document", "The document is empty, broken or in another language"),
    ("no knowledge", "I do not know enough about the subject"),
    ("guideline", "The guideline does not cover this"),
)
"""The reasons why raters cannot tell; those of query and document are separate."""

_MAX_FIELD_LENGTH = 20_000
"""Characters of a field that are shown."""

_BRIEF_LENGTH = 160
"""Characters of a field in a list."""

LIST_LENGTH = 10
"""Documents of a list that are shown side by side."""

_WORD_PATTERN = re.compile(r"\w+")
Segments = list[tuple[str, bool]]


def scale_view(connection: Connection, project: int) -> list[dict[str, PageValue]]:
    """The grades with their keys, labels, descriptions, and shades from worthless to best."""
    grades = projects.grades(connection, project)
    if not grades:
        return []
    keys = {
        grade: key
        for key, grade in grade_keys([scale_grade.grade for scale_grade in grades]).items()
    }
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
    connection: Connection,
    request: WebRequest,
    task: Task,
    rater: int,
    rater_answer: Answer | None = None,
) -> dict[str, PageValue]:
    """The task as the page and programs get it."""
    query = task.query
    query_words = {
        word.lower() for word in _WORD_PATTERN.findall(query.text or "") if len(word) > 1
    }
    is_swapped = swaps_sides(task.id, task.batch.kind, rater)
    sides = [
        document_view(document, query_words, request.project.settings)
        if document is not None
        else {"list": _list_view(connection, request, run, query, query_words)}
        for document, run in ((task.document, task.run), (task.other_document, task.other_run))
        if document is not None or run is not None
    ]
    view: dict[str, PageValue] = {
        "id": task.id,
        "batch": {
            "id": task.batch.id,
            "name": task.batch.name,
            "kind": task.batch.kind,
            "deadline": task.batch.deadline,
        },
        "query": {
            "query_id": query.query_id,
            "text": query.text or query.query_id,
            "information_need": query.information_need,
            "fields": [[name, str(value)] for name, value in query.tags.items()],
        },
        "sides": sides[::-1] if is_swapped else sides,
        "swapped": is_swapped,
        "mine": None if rater_answer is None else _answer_view(rater_answer),
    }
    if not task.batch.blind:
        view["pool"] = dict(task.pool)
    return view


def _answer_view(rater_answer: Answer) -> dict[str, PageValue]:
    return {
        "grade": rater_answer.grade,
        "choice": rater_answer.choice,
        "reason": rater_answer.reason,
        "comment": rater_answer.comment,
    }


def swaps_sides(task: int, kind: str, rater: int) -> bool:
    """True if a rater sees the second of two on the left: at random, and always the same."""
    has_two_sides = kind in {"documents", "lists"}
    return has_two_sides and bool(crc32(f"{task} {rater}".encode()) & 1)


def _list_view(
    connection: Connection,
    request: WebRequest,
    run: StoredRun | None,
    query: Query,
    query_words: set[str],
) -> list[dict[str, PageValue]]:
    """The first documents of a list, each with its first fields."""
    assert run is not None
    table = read_run_table(request, run)
    ranking = table.filter(table["query_id"] == query.query_id).sort("score", descending=True)
    ids = ranking["doc_id"].head(LIST_LENGTH).to_list()
    documents_by_id = queries_documents.documents_of_query(
        connection, request.project.id, query.query_id, ids
    )
    return [
        _brief_view(document_view(documents_by_id[doc_id], query_words, request.project.settings))
        if doc_id in documents_by_id
        else {"doc_id": doc_id, "fields": [], "url": None}
        for doc_id in ids
    ]


def _brief_view(view: dict[str, Any]) -> dict[str, PageValue]:
    """The view of a document in a list: its title and the beginning of the next field."""
    fields = [
        {"name": field["name"], "segments": _cut_segments(field["segments"], _BRIEF_LENGTH)}
        for field in view["fields"][:2]
    ]
    return {"doc_id": view["doc_id"], "fields": fields, "url": view["url"]}


def _cut_segments(segments: Segments, length: int) -> Segments:
    """The beginning of marked text."""
    shortened: Segments = []
    for text, mark in segments:
        shortened.append((text[:length], mark))
        length -= len(text)
        if length < 0:
            return [*shortened, ("…", False)]
    return shortened


def read_run_table(request: WebRequest, stored_run: StoredRun) -> pl.DataFrame:
    """The rows of a run, which never change."""
    return request.cache.get(
        ("run", stored_run.blob),
        lambda: stored_runs.rankings(stored_run, request.store.blobs).table,
    )


def guideline_html(request: WebRequest, text: str) -> str:
    """The guideline as HTML; what is HTML in it is shown as text."""
    return request.cache.get(("guideline", text), lambda: render_guideline(text))


def document_view(
    document: Document, query_words: set[str], settings: Mapping[str, Any]
) -> dict[str, PageValue]:
    """The fields of a document that the project shows, with the query's words marked."""
    field_names: Sequence[str] = settings.get("fields") or ()
    names = [name for name in field_names if name in document.fields] or list(document.fields)
    fields = []
    for name in names:
        text = str(document.fields[name])
        fields.append(
            {
                "name": name,
                "segments": mark_words(text[:_MAX_FIELD_LENGTH], query_words),
                "cut": len(text) > _MAX_FIELD_LENGTH,
            }
        )
    image = safe_link(document.image)
    return {
        "doc_id": document.doc_id,
        "fields": fields,
        "url": safe_link(document.url),
        "image": image,
        "image_shown": image is not None and origin_of(image) in image_origins(settings),
    }


def document_title(document: Document, settings: Mapping[str, Any]) -> str:
    """The first field of a document that the project shows, cut; empty without fields."""
    field_names: Sequence[str] = settings.get("fields") or ()
    names = [name for name in field_names if name in document.fields] or list(document.fields)
    return str(document.fields[names[0]])[:_BRIEF_LENGTH] if names else ""


def read_titles(
    connection: Connection, request: WebRequest, pairs: Iterable[tuple[str, str]]
) -> dict[tuple[str, str], str]:
    """The title of each pair's document by query and document; those without one are left out."""
    documents_by_pair = queries_documents.documents_of_pairs(connection, request.project.id, pairs)
    titles = {
        pair: document_title(document, request.project.settings)
        for pair, document in documents_by_pair.items()
    }
    return {pair: title for pair, title in titles.items() if title}


def mark_words(text: str, query_words: set[str]) -> Segments:
    """The text in segments, each with True if it is a word of the query.

    >>> mark_words("A red bike, redder", {"red"})
    [('A ', False), ('red', True), (' bike, redder', False)]
    """
    segments: Segments = []
    end = 0
    for match in _WORD_PATTERN.finditer(text):
        if match.group().lower() in query_words:
            if match.start() > end:
                segments.append((text[end : match.start()], False))
            segments.append((match.group(), True))
            end = match.end()
    if end < len(text):
        segments.append((text[end:], False))
    return segments


def safe_link(address: str | None) -> str | None:
    """An address of the web that may be linked; None for scripts, files and all else.

    >>> safe_link("javascript:alert(1)"), safe_link("https://example.org/a")
    (None, 'https://example.org/a')
    """
    if not address or len(address) > 2_000 or not address.isprintable() or " " in address:
        return None
    return address if origin_of(address) else None


def origin_of(address: str) -> str | None:
    """Scheme, host and port of an address of the web; None of any other.

    >>> origin_of("https://img.example.org:8443/a.png"), origin_of("data:image/png;base64,AA")
    ('https://img.example.org:8443', None)
    """
    try:
        parts = urlsplit(address)
        port = f":{parts.port}" if parts.port else ""
    except ValueError:
        return None
    host = parts.hostname or ""
    if parts.scheme not in {"http", "https"} or not re.fullmatch(r"[a-z0-9.-]+", host):
        return None
    return f"{parts.scheme}://{host}{port}"


def image_origins(settings: Mapping[str, Any]) -> tuple[str, ...]:
    """The origins from which a project shows images; by default none, so nothing is loaded."""
    origins = (origin_of(str(address)) for address in settings.get("images") or ())
    return tuple(origin for origin in origins if origin)
