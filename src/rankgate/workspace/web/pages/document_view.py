"""A document for display: the fields of its card, images, and highlighted words of a query."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import TYPE_CHECKING, Any

from rankgate.store.material import queries_documents
from rankgate.workspace.web.pages.document_card import CardField, choose_fields, image_address, safe_link
from rankgate.workspace.web.pages.document_html import mark_plain, render_html, render_markdown
from rankgate.workspace.web.pages.highlighting import QueryWords, Segments, mark_words

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from rankgate.store.material.projects import ProjectSettings
    from rankgate.store.material.queries_documents import Document
    from rankgate.workspace.web.rendering import PageRow
    from rankgate.workspace.web.web_request import WebRequest

_MAX_FIELD_LENGTH = 20_000
"""The largest number of displayed characters of a field."""

_MAX_MARKUP_LENGTH = 200_000
"""The largest number of characters of a field with its markup."""

BRIEF_LENGTH = 160
"""The largest number of characters of a field in a list."""

_BRIEF_FIELDS = 2
"""The number of fields of a document in a list."""


def document_view(document: Document, query_words: QueryWords, settings: ProjectSettings) -> PageRow:
    """The displayed fields of a document, with highlighted words of the query."""
    card_fields = choose_fields(settings, list(document.fields))
    image = image_address(document.image, settings)
    return {
        "doc_id": document.doc_id,
        "fields": [
            _field_view(card_field, str(document.fields[card_field.field]), query_words, settings)
            for card_field in card_fields
        ],
        "url": safe_link(document.url),
        "image": None if image is None else image.address,
        "image_shown": image is not None and image.is_shown,
    }


def _field_view(
    card_field: CardField, text: str, query_words: QueryWords, settings: ProjectSettings
) -> PageRow:
    view: PageRow = {
        "name": card_field.field,
        "label": card_field.label or card_field.field,
        "place": card_field.position,
        "kind": card_field.kind,
        "cut": False,
    }
    if card_field.kind == "image":
        image = image_address(text, settings)
        address = None if image is None else image.address
        is_shown = image is not None and image.is_shown
        is_within = text.startswith("data:")
        return view | {
            "segments": [] if is_within else [(text[:_MAX_FIELD_LENGTH], False)],
            "image": address,
            "image_shown": is_shown,
        }
    if card_field.kind == "text":
        segments = mark_words(text[:_MAX_FIELD_LENGTH], query_words)
        return view | {"segments": segments, "cut": len(text) > _MAX_FIELD_LENGTH}
    render = render_html if card_field.kind == "html" else render_markdown
    image_of = partial(image_address, settings=settings)
    html = render(text[:_MAX_MARKUP_LENGTH], query_words, image_of)
    return view | {
        "segments": mark_plain(html, query_words),
        "html": html,
        "cut": len(text) > _MAX_MARKUP_LENGTH,
    }


def brief_view(view: dict[str, Any]) -> PageRow:
    """A document for a list: its title and the beginning of the next field."""
    text_fields = [field for field in view["fields"] if field["kind"] != "image"]
    fields = [
        {"name": field["name"], "segments": _cut_segments(field["segments"], BRIEF_LENGTH)}
        for field in text_fields[:_BRIEF_FIELDS]
    ]
    return {"doc_id": view["doc_id"], "fields": fields, "url": view["url"]}


def _cut_segments(segments: Segments, length: int) -> Segments:
    """The beginning of highlighted text."""
    shortened: Segments = []
    for text, mark in segments:
        shortened.append((text[:length], mark))
        length -= len(text)
        if length < 0:
            return [*shortened, ("…", False)]
    return shortened


def document_title(document: Document, settings: ProjectSettings) -> str:
    """The shortened title of a document: its title field or its first field, or empty."""
    fields = [
        card_field
        for card_field in choose_fields(settings, list(document.fields))
        if card_field.kind != "image"
    ]
    titles = [card_field for card_field in fields if card_field.position == "title"] or fields
    if not titles:
        return ""
    view = _field_view(titles[0], str(document.fields[titles[0].field]), QueryWords(), settings)
    segments: Any = view["segments"]
    return "".join(text for text, _ in segments)[:BRIEF_LENGTH]


def read_titles(
    connection: Connection, request: WebRequest, pairs: Iterable[tuple[str, str]]
) -> dict[tuple[str, str], str]:
    """The titles of documents by query and document; missing titles are left out."""
    documents_by_pair = queries_documents.documents_of_pairs(connection, request.project.id, pairs)
    titles = {
        pair: document_title(document, request.project.settings)
        for pair, document in documents_by_pair.items()
    }
    return {pair: title for pair, title in titles.items() if title}
