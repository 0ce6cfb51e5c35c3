"""RankQuest's test cases: search contexts with rated documents."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, BinaryIO

from rankgate.core.errors import InputError
from rankgate.data.columns import string_table
from rankgate.data.contents import FileContents
from rankgate.data.formats.collected import GrowingQrels
from rankgate.data.formats.format import Format, Loss
from rankgate.data.formats.writing import (
    cell_text,
    collect_pooled_grades,
    column_losses,
    find_losses,
    format_data,
    has_pairs,
    texts_by_query,
    write_json,
)
from rankgate.data.text.json_keys import has_keys, matches_key
from rankgate.data.text.json_reader import list_objects, objects_under_key, read_id, read_object
from rankgate.data.text.json_text import read_document

if TYPE_CHECKING:
    import polars as pl

    from rankgate.data.streams.source import InputFile

_NAME = "rankquest"
_TEXT_KEYS = ("q", "query", "text", "searchText")


def sniff(first_bytes: bytes, name: str) -> str | None:
    """A list of test cases."""
    if has_keys(first_bytes, "[].searchContext") and matches_key(
        first_bytes, r"\[\]\.(id|ratings).*"
    ):
        return "a list of objects with searchContext and ratings"
    return None


def read(source: InputFile) -> FileContents:
    """Judgments by the ids of test cases, and their search contexts as queries."""
    label = source.label
    judged, rows, raw_cases, labels = GrowingQrels(label), [], {}, []
    for json_path, case in list_objects(read_document(source), "", label):
        query = read_id(case, "id", json_path, label)
        if query in raw_cases:
            raise InputError(
                f"{json_path} has id '{query}', as one before has.",
                source=label,
                code="duplicate-query",
            )
        context = read_object(case, "searchContext", json_path, label)
        rows.append({"query_id": query, "text": _query_text(context), **_other_fields(context)})
        judged.ask(query)
        other_fields: dict[str, Any] = {
            key: value for key, value in case.items() if key != "ratings"
        }
        rating_fields = {}
        for rating_path, rating in objects_under_key(
            {"ratings": [], **case}, "ratings", json_path, label
        ):
            doc = read_id(rating, "documentId", rating_path, label)
            judged.add(query, doc, rating.get("rating"), rating_path, "rating")
            rating_fields[doc] = {
                key: rating_value
                for key, rating_value in rating.items()
                if key not in {"documentId", "rating"}
            }
            labels.append(
                {"query_id": query, "doc_id": doc, "label": cell_text(rating.get("label"))}
            )
        raw_cases[query] = {"case": other_fields, "ratings": rating_fields}
    qrels, notes = judged.qrels(source.stem)
    label_table = string_table(labels, ("query_id", "doc_id", "label"))
    return FileContents(
        qrels=qrels,
        queries=string_table(rows) if rows else None,
        documents=label_table
        if label_table["label"].null_count() < len(label_table)
        else judged.pool(),
        extra={_NAME: {"cases": raw_cases}} if raw_cases else {},
        notes=notes,
    )


def _query_text(context: Mapping[str, Any]) -> str | None:
    """The text of the query: the part of the context with such a name, or the whole context."""
    for name in _TEXT_KEYS:
        if isinstance(context.get(name), str):
            return str(context[name])
    return cell_text(dict(context)) if context else None


def _other_fields(context: Mapping[str, Any]) -> dict[str, str | None]:
    """The other parts of the context."""
    own_columns = {"query_id", "text", *_TEXT_KEYS}
    return {key: cell_text(value) for key, value in context.items() if key not in own_columns}


def write(contents: FileContents, out: BinaryIO) -> tuple[Loss, ...]:
    """Write the test cases with the current ratings."""
    grades, text = collect_pooled_grades(contents), texts_by_query(contents)
    raw_cases, labels = (
        format_data(contents, _NAME).get("cases", {}),
        _labels_by_pair(contents.documents),
    )
    cases = []
    for query in dict.fromkeys([*(query for query in raw_cases if query in grades), *grades]):
        raw_case = raw_cases.get(query, {})
        new_case = {"id": query, "searchContext": {"q": text.get(query, query)}}
        ratings = []
        for doc, grade in grades[query].items():
            label_field = {"label": labels[query, doc]} if labels.get((query, doc)) else {}
            rating_fields = raw_case.get("ratings", {}).get(doc, label_field)
            ratings.append({"documentId": doc, "rating": grade, **rating_fields})
        case = raw_case.get("case", new_case)
        cases.append({**case, "ratings": ratings})
    write_json(out, cases)
    kept_parts = ["qrels", "unjudged", "queries", *(["documents"] if has_pairs(contents) else [])]
    own_columns = (
        ()
        if not raw_cases
        else tuple(contents.queries.columns if contents.queries is not None else ())
    )
    return (
        *find_losses(contents, _NAME, *kept_parts),
        *column_losses("queries", contents.queries, ("query_id", "text", *own_columns)),
        *column_losses(
            "documents",
            contents.documents if has_pairs(contents) else None,
            ("query_id", "doc_id", "label"),
        ),
    )


def _labels_by_pair(documents: pl.DataFrame | None) -> dict[tuple[str, str], str]:
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
