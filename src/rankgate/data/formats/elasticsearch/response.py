"""Elasticsearch's ranking evaluation: the response with the retrieved documents."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import polars as pl

from rankgate.data.contents import FileContents
from rankgate.data.formats.collected import VALUES, GrowingQrels, documents_from, ranked
from rankgate.data.formats.format import Format, Note
from rankgate.data.formats.writing import text_of
from rankgate.data.text.json_keys import matching
from rankgate.data.text.json_reader import an_id, an_object, each, whole_object
from rankgate.data.text.json_text import document, number

if TYPE_CHECKING:
    from rankgate.data.streams.source import InputFile

_SCORE = ("metric_score", "quality_level")  # the second is of version 6
_UNRATED = ("unrated_docs", "unknown_docs")


def sniff(head: bytes, name: str) -> str | None:
    """Details by query with hits and ratings."""
    if matching(
        head, r"details\..+\.(hits|metric_score|quality_level|unrated_docs|unknown_docs).*"
    ):
        return "an object with details of each query: its value and its hits"
    return None


def read(source: InputFile) -> FileContents:
    """A run from the hits, judgments of the hits that are rated, and the metric's values.

    Scores are the hits' own where every hit has one and they never rise; otherwise -rank.
    """
    label = source.label
    found = whole_object(document(source), source)
    judged, queries, docs, scores, unrated = GrowingQrels(label), [], [], [], []
    fields: list[dict[str, Any]] = []
    values: list[tuple[Any, ...]] = []
    states: list[tuple[str, str, str | None]] = []
    for query, details in an_object(found, "details", "", label).items():
        where = f"details.{query}"
        detail = an_object({query: details}, query, "details", label)
        judged.ask(query)
        hits = list(each(detail.get("hits") or [], f"{where}.hits", label))
        for at, entry in hits:
            hit = an_object(entry, "hit", at, label)
            doc = an_id(hit, "_id", f"{at}.hit", label)
            queries.append(query)
            docs.append(doc)
            scores.append(_score(hit.get("_score"), f"{at}.hit._score", label))
            fields.append({"query_id": query, "doc_id": doc, **_fields(hit, at, label)})
            judged.add(query, doc, entry.get("rating"), at, "rating")
        if not hits:
            states.append((query, "zero", None))
        for name in _UNRATED:
            for at, other in each(detail.get(name) or [], f"{where}.{name}", label):
                unrated.append(f"{query} {an_id(other, '_id', at, label)}")
        values += _value(detail, query, where, source)
    for query, failure in an_object(found, "failures", "", label).items():
        states.append((query, "failed", text_of(failure)))
    values += _value(found, None, "the document", source)
    own = [score for score in scores if score is not None] if _falling(queries, scores) else None
    run = ranked(source.stem, queries, docs, own, label=label, states=states)
    qrels, notes = judged.qrels(source.stem)
    partial = "judgments of retrieved documents only; the request has all"
    rated = [] if qrels is None else qrels.table["query_id"].to_list()
    return FileContents(
        qrels=qrels if rated else None,
        runs=(run,),
        documents=documents_from(fields),
        values=pl.DataFrame(values, schema=VALUES, orient="row") if values else None,
        notes=(
            *Note.of(partial, rated),
            *(note for note in notes if "unrated" not in note.what),
            *Note.of("retrieved documents that are unrated", unrated),
        ),
    )


def _score(value: Any, where: str, label: str) -> float | None:
    return None if value is None else number(value, where, label)


def _falling(queries: list[str], scores: list[float | None]) -> bool:
    """Whether every hit has a score, and none is above the one before."""
    if any(score is None for score in scores):
        return False
    rows = zip(queries, scores, strict=True)
    return all(
        query != other or (score or 0) >= (after or 0)
        for (query, score), (other, after) in pairwise(rows)
    )


def _fields(hit: Mapping[str, Any], at: str, label: str) -> dict[str, str | None]:
    source = an_object(hit, "_source", f"{at}.hit", label)
    shown = source | an_object(hit, "fields", f"{at}.hit", label)
    taken = {"query_id", "doc_id"}
    return {name: text_of(value) for name, value in shown.items() if name not in taken}


def _value(
    found: Mapping[str, Any], query: str | None, where: str, source: InputFile
) -> list[tuple[str, str | None, str, float, None]]:
    """The value of a query, or of all of them, under the metric's name if given."""
    name = next((key for key in _SCORE if found.get(key) is not None), None)
    if name is None:
        return []
    details = an_object(found, "metric_details", where, source.label)
    metric = next(iter(details), name)
    value = number(found[name], f"'{name}' of {where}", source.label)
    return [(source.stem, query, metric, value, None)]


FORMAT = Format(
    name="rank-eval-response",
    title="Elasticsearch's ranking evaluation, response",
    suffixes=(".json",),
    sniff=sniff,
    read=read,
    holds=("runs", "qrels", "documents", "values"),
    detail=(
        "The answer to a _rank_eval request: the hits of each query are a run, the values of the "
        "metric are kept. Judgments are only those of retrieved documents, so that an ideal needs "
        "the request. The names of version 6 (quality_level, unknown_docs) are read too. It is "
        "not written."
    ),
)
