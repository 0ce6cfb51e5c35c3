"""A task as a rater sees it: without systems, ranks, known answers, and what others said."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit
from zlib import crc32

from rankgate.core.present.charts.style import GRADES
from rankgate.judging.rating.session import keys_of
from rankgate.store.kept import runs
from rankgate.store.material import documents, projects
from rankgate.workspace.web.cache import Cache

if TYPE_CHECKING:
    import polars as pl
    from sqlalchemy import Connection

    from rankgate.store.kept.runs import StoredRun
    from rankgate.store.material.documents import Document
    from rankgate.store.material.projects import Project
    from rankgate.store.material.queries import Query
    from rankgate.store.rating.answers import Answer
    from rankgate.store.rating.tasks import Task
    from rankgate.store.store import Store

REASONS = (
    ("unclear query", "I do not understand the query"),
    ("unclear document", "The document is empty, broken or in another language"),
    ("no knowledge", "I do not know enough about the subject"),
    ("guideline", "The guideline does not cover this"),
)
"""Why raters cannot tell; those of the query and of the document are apart."""

_LONGEST = 20_000
"""Characters of a field that are shown."""

_BRIEF = 160
"""Characters of a field in a list."""

LISTED = 10
"""Documents of a list that are shown side by side."""

_WORD = re.compile(r"\w+")
Segments = list[tuple[str, bool]]


def scale_view(connection: Connection, project: int) -> list[dict[str, Any]]:
    """The grades with their keys, labels, descriptions, and shades from worthless to best."""
    grades = projects.grades(connection, project)
    if not grades:
        return []
    keys = {grade: key for key, grade in keys_of([each.grade for each in grades]).items()}
    low, high = grades[0].grade, grades[-1].grade
    return [
        {
            "grade": each.grade,
            "key": keys.get(each.grade, ""),
            "label": each.label or f"{each.grade:g}",
            "description": each.description,
            "shade": round((len(GRADES) - 1) * (each.grade - low) / ((high - low) or 1)),
        }
        for each in grades
    ]


def task_view(
    connection: Connection,
    store: Store,
    project: Project,
    task: Task,
    rater: int,
    mine: Answer | None = None,
) -> dict[str, Any]:
    """What the page and programs get of a task."""
    query = task.query
    words = {each.lower() for each in _WORD.findall(query.text or "") if len(each) > 1}
    turned = swapped(task.id, task.batch.kind, rater)
    sides = [
        document_view(document, words, project.settings)
        if document is not None
        else {"list": _listed(connection, store, project, run, query, words)}
        for document, run in ((task.document, task.run), (task.other_document, task.other_run))
        if document is not None or run is not None
    ]
    shown: dict[str, Any] = {
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
        "sides": sides[::-1] if turned else sides,
        "swapped": turned,
        "mine": None if mine is None else _mine(mine),
    }
    if not task.batch.blind:
        shown["pool"] = dict(task.pool)
    return shown


def _mine(mine: Answer) -> dict[str, Any]:
    return {
        "grade": mine.grade, "choice": mine.choice, "reason": mine.reason, "comment": mine.comment,
    }  # fmt: skip


def swapped(task: int, kind: str, rater: int) -> bool:
    """Whether a rater sees the second of two on the left: by chance, and always the same."""
    two = kind in {"documents", "lists"}
    return two and bool(crc32(f"{task} {rater}".encode()) & 1)


def _listed(
    connection: Connection,
    store: Store,
    project: Project,
    run: StoredRun | None,
    query: Query,
    words: set[str],
) -> list[dict[str, Any]]:
    """The first documents of a list, each with its first fields."""
    assert run is not None
    table = rankings(store, run.id)
    found = table.filter(table["query_id"] == query.query_id).sort("score", descending=True)
    ids = found["doc_id"].head(LISTED).to_list()
    known = documents.of_query(connection, project.id, query.query_id, ids)
    return [
        _brief(document_view(known[each], words, project.settings)) if each in known
        else {"doc_id": each, "fields": [], "url": None} for each in ids
    ]  # fmt: skip


def _brief(view: dict[str, Any]) -> dict[str, Any]:
    """What a list shows of a document: its title and the beginning of the next field."""
    fields = [
        {"name": each["name"], "segments": _cut(each["segments"], _BRIEF)}
        for each in view["fields"][:2]
    ]
    return {"doc_id": view["doc_id"], "fields": fields, "url": view["url"]}


def _cut(segments: Segments, most: int) -> Segments:
    """The beginning of marked text."""
    kept: Segments = []
    for text, mark in segments:
        kept.append((text[:most], mark))
        most -= len(text)
        if most < 0:
            return [*kept, ("…", False)]
    return kept


_RANKINGS: Cache[pl.DataFrame] = Cache(20)


def rankings(store: Store, number: int) -> pl.DataFrame:
    """The rows of a run, which never change."""

    def read() -> pl.DataFrame:
        with store.read() as connection:
            return runs.rankings(runs.by_number(connection, number), store.blobs).table

    return _RANKINGS.get((store.name, number), read)


def document_view(
    document: Document, words: set[str], settings: Mapping[str, Any]
) -> dict[str, Any]:
    """The fields of a document that the project shows, with the query's words marked."""
    wanted: Sequence[str] = settings.get("fields") or ()
    names = [each for each in wanted if each in document.fields] or list(document.fields)
    fields = []
    for name in names:
        text = str(document.fields[name])
        fields.append(
            {
                "name": name,
                "segments": marked(text[:_LONGEST], words),
                "cut": len(text) > _LONGEST,
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


def marked(text: str, words: set[str]) -> Segments:
    """The text in pieces, each with whether it is a word of the query.

    >>> marked("A red bike, redder", {"red"})
    [('A ', False), ('red', True), (' bike, redder', False)]
    """
    pieces: Segments = []
    end = 0
    for found in _WORD.finditer(text):
        if found.group().lower() in words:
            if found.start() > end:
                pieces.append((text[end : found.start()], False))
            pieces.append((found.group(), True))
            end = found.end()
    if end < len(text):
        pieces.append((text[end:], False))
    return pieces


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
    found = (origin_of(str(each)) for each in settings.get("images") or ())
    return tuple(each for each in found if each)
