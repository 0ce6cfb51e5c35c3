"""Two lists of a query side by side: ranks, moves, grades, and texts with highlighted words."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal

from rankgate.core.frozen import dataclass
from rankgate.workspace.web.pages.document_view import brief_view, document_view
from rankgate.workspace.web.pages.highlighting import Segments, read_query_words
from rankgate.workspace.web.pages.live_engines import EXPLANATION

if TYPE_CHECKING:
    from rankgate.core.value_types import Json
    from rankgate.store.material.projects import ProjectSettings
    from rankgate.store.material.queries_documents import Document
    from rankgate.workspace.web.dashboard.query_lists import RankedDocuments

_SHADES = 4
"""The number of shades of grades above the lowest grade."""


@dataclass(frozen=True)
class ListRow:
    """A document in one of two lists.

    Attributes:
        rank: the rank in this list.
        doc_id: the id of the document.
        grade: the grade; None if unjudged.
        shade: the shade of the grade, from 0 to 4; ``x`` if unjudged.
        moved: the ranks gained from the first list to the second; None if the document is in one
            list only.
        title, text: the first two fields, with highlighted words of the query.
        url: the address of the document; None if unknown.
        explanation: the engine's explanation of the score; may be empty.
    """

    rank: int
    doc_id: str
    grade: float | None
    shade: str
    moved: int | None
    title: Segments
    text: Segments
    url: str | None
    explanation: str


@dataclass(frozen=True)
class SideLists:
    """Two lists of a query.

    Attributes:
        first, second: the rows of each list, the best rank first.
    """

    first: tuple[ListRow, ...]
    second: tuple[ListRow, ...]

    @property
    def unjudged(self) -> int:
        """The number of documents without a grade in the lists."""
        rows = (*self.first, *self.second)
        return len({row.doc_id for row in rows if row.grade is None})


def make_side_lists(
    ranked: tuple[RankedDocuments, RankedDocuments],
    documents: Mapping[str, Document],
    query_text: str,
    settings: ProjectSettings,
    top: float,
) -> SideLists:
    """Create the rows of two lists.

    Args:
        ranked: for each list, documents and grades by rank.
        documents: the fields of the documents by id.
        query_text: the query, whose words are highlighted.
        settings: the settings of the project.
        top: the highest grade of the scale.
    """
    query_words = read_query_words(query_text, settings.get("language") or "")
    views = {
        doc_id: brief_view(_without_explanation(document_view(document, query_words, settings)))
        for doc_id, document in documents.items()
    }
    explanations = {
        doc_id: format_explanation(document.fields.get(EXPLANATION)) for doc_id, document in documents.items()
    }
    places = [{doc_id: rank for rank, (doc_id, _) in side.items()} for side in ranked]

    def make_row(side: Literal[0, 1], rank: int) -> ListRow:
        doc_id, grade = ranked[side][rank]
        other_rank = places[1 - side].get(doc_id)
        gained = None if other_rank is None else (rank - other_rank) * (-1 if side else 1)
        view: Mapping[str, Any] = views.get(doc_id, {"fields": [], "url": None})
        segments: list[Segments] = [field["segments"] for field in view["fields"]]
        title, text = (*segments, [], [])[:2]
        return ListRow(
            rank,
            doc_id,
            grade,
            grade_shade(grade, top),
            gained,
            title,
            text,
            view["url"],
            explanations.get(doc_id, ""),
        )

    first, second = (tuple(make_row(side, rank) for rank in sorted(ranked[side])) for side in (0, 1))
    return SideLists(first, second)


def _without_explanation(view: dict[str, Any]) -> dict[str, Any]:
    """The view of a document without the explanation, which is shown separately."""
    fields = [field for field in view["fields"] if field["name"] != EXPLANATION]
    return {**view, "fields": fields}


def grade_shade(grade: float | None, top: float) -> str:
    """The shade of a grade: from 0 to 4, ``x`` without one.

    >>> [grade_shade(grade, 3) for grade in (None, -1, 0, 1, 2, 3, 4)]
    ['x', '0', '0', '1', '3', '4', '4']
    >>> grade_shade(1, 0)
    '0'
    """
    if grade is None:
        return "x"
    return str(round(_SHADES * min(max(grade / top, 0.0), 1.0))) if top > 0 else "0"


def format_explanation(value: Json) -> str:
    """An engine's explanation as text: strings unchanged, objects as indented JSON."""
    if value is None or isinstance(value, str):
        return (value or "").strip()
    return json.dumps(value, indent=1, ensure_ascii=False)
