"""RRE's ratings: topics, groups of queries and the documents relevant to a group.

In gain mode each document has its gain, in array mode each gain has its documents.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, BinaryIO

from rankgate.data.formats.collected_judgments import GrowingQrels
from rankgate.data.formats.format import Format, Loss, Note
from rankgate.data.formats.format_writing import (
    collect_grades,
    find_losses,
    format_data,
    with_text_ids,
    write_json,
)
from rankgate.data.text.json_text import JsonRecord, describe_type, detect_keys, read_record, whole_numbers

if TYPE_CHECKING:
    from rankgate.core.value_types import Json, JsonObject
    from rankgate.data.file_contents import FileContents
    from rankgate.data.streams.source import InputFile

    Grades = Mapping[str, float]

    _TopicGroups = tuple[JsonObject | None, list[JsonObject]]  # fields of a topic, its groups


NAME = "rre"
_RELEVANT = "relevant_documents"
_PARENTS = ("topics[].query_groups[].", "query_groups[].", "queries[].")
_SHAPES = ("topics", "query_groups", "queries")
_QUERY_PLACEHOLDER = "$query"
_DEFAULT_HEADER = {"id_field": "id", "index": "index", "template": "template.json"}


sniff_arrays = detect_keys(
    (
        "queries with relevant_documents, lists of documents by gain",
        "|".join(f"{parent}{_RELEVANT}.*[]" for parent in _PARENTS),
    )
)
_detect_documents = detect_keys(
    (
        "queries with relevant_documents, each document with its gain",
        "|".join(f"{parent}{_RELEVANT}" for parent in _PARENTS),
    )
)


def sniff_gains(first_bytes: bytes, name: str) -> str | None:
    """Relevant documents with gains, or none at all."""
    return None if sniff_arrays(first_bytes, name) else _detect_documents(first_bytes, name)


def read(source: InputFile) -> FileContents:
    """Judgments of each query; those of a group hold for all its queries.

    The id of a query is its placeholder ``$query``. If the same text appears again with
    other judgments (another template, a filter), a number is added.
    """
    root = read_record(source)
    judged, groups, renumbered = GrowingQrels(source), [], []
    gains_by_query: dict[str, dict[str, Json]] = {}
    for group, queries, topic in _read_groups(root):
        relevant_docs = list(_read_relevant(group.record(_RELEVANT)))
        gain_of_doc = {doc: gain for doc, gain, _ in relevant_docs}
        names = []
        for query in queries:
            text = _query_text(query)
            name, count = text, 1
            while name in gains_by_query and gains_by_query[name] != gain_of_doc:
                count += 1
                name = f"{text} ({count})"
            renumbered += [name] if name != text else []
            judged.ask(name)
            names.append(name)
            for doc, gain, gain_path in relevant_docs if name not in gains_by_query else ():
                judged.add(name, doc, gain, gain_path)
            gains_by_query[name] = gain_of_doc
        around = {} if queries == [group] else group.values_except("queries", _RELEVANT)
        raw_queries = [
            query.values_except(_RELEVANT) if query is group else query.values_except() for query in queries
        ]
        groups.append({"around": around, "topic": topic, "queries": raw_queries, "ids": names})
    if not judged.asked:
        raise root.error("there are no queries in it.", "no-queries")
    shape = next((key for key in _SHAPES if key in root), "queries")
    return judged.contents(
        *Note.of("queries that repeat an earlier text with other judgments, numbered", renumbered),
        extra={NAME: {"head": root.values_except(*_SHAPES), "groups": groups, "shape": shape}},
    )


def _read_groups(root: JsonRecord) -> Iterator[tuple[JsonRecord, list[JsonRecord], JsonObject | None]]:
    """All groups with their queries and the fields of their topic.

    Groups are inside topics or outside; a query of the flat form is its own group.
    """
    for topic in root.records("topics", nullable=True):
        for group in topic.records("query_groups", nullable=True):
            yield group, [*group.records("queries", nullable=True)], topic.values_except("query_groups")
    for group in root.records("query_groups", nullable=True):
        yield group, [*group.records("queries", nullable=True)], None
    for query in root.records("queries", nullable=True):
        yield query, [query], None


def _read_relevant(relevant: JsonRecord) -> Iterator[tuple[str, Json, str]]:
    """Each document with its gain and JSON path; keys are documents, or gains of lists."""
    for key, gain in relevant.items():
        path = relevant.path_of(key)
        if isinstance(gain, list):
            for index, doc in enumerate(gain):
                yield relevant.as_id(doc, f"{path}[{index}]"), key, path
        elif isinstance(gain, dict):
            document = relevant.record(key)
            yield key, document.require("gain"), document.path_of("gain")
        else:
            problem = f"{path} is {describe_type(gain)}, where a gain or a list of documents is needed."
            raise relevant.error(problem)


def _query_text(query: JsonRecord) -> str:
    """The text of a query: its placeholder ``$query``, its only placeholder, or all of them."""
    placeholders = query.record("placeholders")
    only_placeholder = next(iter(placeholders.values())) if len(placeholders) == 1 else None
    query_text = placeholders.get(_QUERY_PLACEHOLDER, only_placeholder)
    if query_text is None and placeholders:
        return json.dumps(placeholders, ensure_ascii=False)
    if query_text is None:
        raise query.error(f"{query.location_text} has no placeholders, which hold the query.", "missing-key")
    return query.as_id(query_text, f"placeholder of {query.location_text}")


def _write(
    relevant: Callable[[Grades], JsonObject], contents: FileContents, out: BinaryIO
) -> tuple[Loss, ...]:
    """Write the groups as they were read, and all other queries in the flat form."""
    contents, query_losses = with_text_ids(contents)
    grades, format_extra = collect_grades(contents.judgments("")), format_data(contents, NAME)
    header, shape = format_extra.get("head", _DEFAULT_HEADER), format_extra.get("shape", "queries")
    topics: list[_TopicGroups] = []
    flat_queries: list[dict[str, Json]] = []
    written_queries: set[str] = set()
    for group in format_extra.get("groups", ()):
        pairs_by_grades: dict[frozenset[tuple[str, float]], list[tuple[str, JsonObject]]] = {}
        for name, query in zip(group["ids"], group["queries"], strict=True):
            if name in grades:  # queries with diverging judgments become separate groups
                pairs_by_grades.setdefault(frozenset(grades[name].items()), []).append((name, query))
        for pairs in pairs_by_grades.values():
            relevant_docs = {_RELEVANT: relevant(grades[pairs[0][0]])}
            queries = [query for _, query in pairs]
            written_queries |= {name for name, _ in pairs}
            if shape == "queries":
                flat_queries += [{**query, **relevant_docs} for query in queries]
                continue
            if not topics or topics[-1][0] != group["topic"]:
                topics.append((group["topic"], []))
            topics[-1][1].append({**group["around"], "queries": queries, **relevant_docs})
    flat_queries += [
        {"placeholders": {_QUERY_PLACEHOLDER: query}, _RELEVANT: relevant(grade_of_doc)}
        for query, grade_of_doc in grades.items()
        if query not in written_queries
    ]
    write_json(out, {**header, **_arrange_queries(topics, flat_queries, shape)})
    return (*find_losses(contents, NAME, "qrels", "unjudged"), *query_losses)


def _arrange_queries(
    topics: list[_TopicGroups], flat_queries: list[dict[str, Json]], shape: str
) -> dict[str, Json]:
    if shape == "topics":
        grouped: dict[str, Json] = {
            "topics": [{**(fields or {}), "query_groups": groups} for fields, groups in topics]
        }
    elif shape == "query_groups":
        grouped = {"query_groups": [group for _, groups in topics for group in groups]}
    else:
        grouped = {}
    return grouped | {"queries": flat_queries} if flat_queries or not grouped else grouped


def _gains_by_document(grades: Grades) -> JsonObject:
    return {doc: {"gain": whole_numbers(grade)} for doc, grade in grades.items()}


def _documents_by_gain(grades: Grades) -> JsonObject:
    """The documents by gain, the lowest gain first."""
    docs_by_gain: dict[str, list[str]] = {}
    for doc, grade in sorted(grades.items(), key=lambda pair: pair[1]):
        docs_by_gain.setdefault(str(whole_numbers(grade)), []).append(doc)
    return docs_by_gain


GAINS = Format(
    name="rre",
    title="RRE's ratings, gain mode",
    suffixes=(".json",),
    sniff=sniff_gains,
    read=read,
    write=partial(_write, _gains_by_document),
    loses="raters, scales, ids besides texts",
    detail=(
        "Topics with groups of queries that share their relevant documents, or a flat list of queries; "
        '{"doc": {"gain": 3}}. Index, templates and placeholders come back as they were. Quepid writes this '
        "mode and reads only the other mode, rre-array."
    ),
)
ARRAYS = replace(
    GAINS,
    name="rre-array",
    title="RRE's ratings, array mode",
    sniff=sniff_arrays,
    write=partial(_write, _documents_by_gain),
    detail=(
        'As rre, with {"3": ["doc", ...]}: the key is the gain. It is the mode that Quepid can import. The '
        "two modes are distinguished by the type of their values."
    ),
)
