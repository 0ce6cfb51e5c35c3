"""RankQuest's test cases: search contexts with rated documents."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, BinaryIO

from rankgate.core.errors import InputError
from rankgate.data.columns import strings
from rankgate.data.contents import FileContents
from rankgate.data.formats.collected import GrowingQrels
from rankgate.data.formats.format import Format, Loss
from rankgate.data.formats.writing import (
    by_pair,
    lost,
    lost_columns,
    own,
    pooled_by_query,
    put,
    text_of,
    texts,
)
from rankgate.data.text.json_keys import have, matching
from rankgate.data.text.json_reader import an_id, an_object, each, inside
from rankgate.data.text.json_text import document

if TYPE_CHECKING:
    import polars as pl

    from rankgate.data.streams.source import InputFile

_NAME = "rankquest"
_WORDS = ("q", "query", "text", "searchText")


def sniff(head: bytes, name: str) -> str | None:
    """A list of test cases."""
    if have(head, "[].searchContext") and matching(head, r"\[\]\.(id|ratings).*"):
        return "a list of objects with searchContext and ratings"
    return None


def read(source: InputFile) -> FileContents:
    """Judgments by the ids of test cases, and their search contexts as queries."""
    label = source.label
    judged, rows, raw, labels = GrowingQrels(label), [], {}, []
    for where, case in each(document(source), "", label):
        query = an_id(case, "id", where, label)
        if query in raw:
            raise InputError(
                f"{where} has id '{query}', as one before has.",
                source=label,
                code="duplicate-query",
            )
        context = an_object(case, "searchContext", where, label)
        rows.append({"query_id": query, "text": _words(context), **_tags(context)})
        judged.ask(query)
        rest: dict[str, Any] = {key: value for key, value in case.items() if key != "ratings"}
        kept = {}
        for at, rating in inside({"ratings": [], **case}, "ratings", where, label):
            doc = an_id(rating, "documentId", at, label)
            judged.add(query, doc, rating.get("rating"), at, "rating")
            kept[doc] = {k: v for k, v in rating.items() if k not in {"documentId", "rating"}}
            labels.append({"query_id": query, "doc_id": doc, "label": text_of(rating.get("label"))})
        raw[query] = {"case": rest, "ratings": kept}
    qrels, notes = judged.qrels(source.stem)
    shown = strings(labels, ("query_id", "doc_id", "label"))
    return FileContents(
        qrels=qrels,
        queries=strings(rows) if rows else None,
        documents=shown if shown["label"].null_count() < len(shown) else judged.pool(),
        extra={_NAME: {"cases": raw}} if raw else {},
        notes=notes,
    )


def _words(context: Mapping[str, Any]) -> str | None:
    """What is asked: the part of the context that is called so, or the whole."""
    for name in _WORDS:
        if isinstance(context.get(name), str):
            return str(context[name])
    return text_of(dict(context)) if context else None


def _tags(context: Mapping[str, Any]) -> dict[str, str | None]:
    """The other parts of the context."""
    taken = {"query_id", "text", *_WORDS}
    return {key: text_of(value) for key, value in context.items() if key not in taken}


def write(contents: FileContents, out: BinaryIO) -> tuple[Loss, ...]:
    """The test cases, with ratings as they are now."""
    grades, text = pooled_by_query(contents), texts(contents)
    raw, labels = own(contents, _NAME).get("cases", {}), _labels(contents.documents)
    cases = []
    for query in dict.fromkeys([*(query for query in raw if query in grades), *grades]):
        before = raw.get(query, {})
        new = {"id": query, "searchContext": {"q": text.get(query, query)}}
        ratings = []
        for doc, grade in grades[query].items():
            shown = {"label": labels[query, doc]} if labels.get((query, doc)) else {}
            more = before.get("ratings", {}).get(doc, shown)
            ratings.append({"documentId": doc, "rating": grade, **more})
        case = before.get("case", new)
        cases.append({**case, "ratings": ratings})
    put(out, cases)
    kept = ["qrels", "unjudged", "queries", *(["documents"] if by_pair(contents) else [])]
    mine = (
        () if not raw else tuple(contents.queries.columns if contents.queries is not None else ())
    )
    return (
        *lost(contents, _NAME, *kept),
        *lost_columns("queries", contents.queries, ("query_id", "text", *mine)),
        *lost_columns(
            "documents",
            contents.documents if by_pair(contents) else None,
            ("query_id", "doc_id", "label"),
        ),
    )


def _labels(documents: pl.DataFrame | None) -> dict[tuple[str, str], str]:
    names = ("query_id", "doc_id", "label")
    if documents is None or not {*names} <= set(documents.columns):
        return {}
    return {
        (query, doc): label for query, doc, label in documents.select(names).iter_rows() if label
    }


FORMAT = Format(
    name=_NAME,
    title="RankQuest's test cases",
    suffixes=(".json",),
    sniff=sniff,
    read=read,
    write=write,
    holds=("qrels", "queries", "documents"),
    loses="raters, scales, runs",
    detail=(
        "A list of test cases, each with an id, a search context and rated documents. The query "
        "is called by the id; q of the context is its text, the rest are columns. Labels, "
        "comments and tags come back as they were. A null rating is unrated."
    ),
)
