"""RRE's ratings: topics, groups of queries and the documents relevant to a group.

In gain mode each document has its gain, in array mode each gain has its documents.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, BinaryIO

from rankgate.core.errors import InputError
from rankgate.core.frozen import dataclass
from rankgate.data.file_contents import FileContents
from rankgate.data.formats.collected_judgments import GrowingQrels
from rankgate.data.formats.format import Format, Loss, Note
from rankgate.data.formats.format_writing import (
    collect_grades,
    find_losses,
    format_data,
    with_text_ids,
    write_json,
)
from rankgate.data.text.json_text import (
    describe_type,
    identifier,
    list_objects,
    matches_key,
    read_document,
    read_object,
    require_object,
    whole_numbers,
)

if TYPE_CHECKING:
    from rankgate.core.value_types import Json, JsonObject
    from rankgate.data.streams.source import InputFile

    Grades = Mapping[str, float]

    _TopicGroups = tuple[JsonObject | None, list[JsonObject]]  # fields of a topic, its groups


NAME = "rre"
_RELEVANT_PATH = r"(topics\[\]\.)?(query_groups\[\]\.)?(queries\[\]\.)?relevant_documents"
_QUERY_PLACEHOLDER = "$query"
_DEFAULT_HEADER = {"id_field": "id", "index": "index", "template": "template.json"}


@dataclass(frozen=True)
class _QueryGroup:
    """Queries that share their relevant documents, and their JSON path."""

    where: str
    queries: list[tuple[str, dict[str, Json]]]
    relevant: dict[str, Json]
    around: dict[str, Json]
    topic: dict[str, Json] | None


def sniff_arrays(first_bytes: bytes, name: str) -> str | None:
    """Relevant documents as lists."""
    if matches_key(first_bytes, _RELEVANT_PATH + r"\..+\[\]"):
        return "queries with relevant_documents, lists of documents by gain"
    return None


def sniff_gains(first_bytes: bytes, name: str) -> str | None:
    """Relevant documents with gains, or none at all."""
    if matches_key(first_bytes, _RELEVANT_PATH) and not sniff_arrays(first_bytes, name):
        return "queries with relevant_documents, each document with its gain"
    return None


def read(source: InputFile) -> FileContents:
    """Judgments of each query; those of a group hold for all its queries.

    The id of a query is its placeholder ``$query``. If the same text appears again with
    other judgments (another template, a filter), a number is added.
    """
    label = source.label
    root = require_object(read_document(source), source)
    judged, groups, renumbered = GrowingQrels(label), [], []
    gains_by_query: dict[str, dict[str, Json]] = {}
    for group in _read_groups(root, label):
        relevant_docs = list(_read_relevant(group, label))
        gain_of_doc = {doc: gain for doc, gain, _ in relevant_docs}
        names = []
        for json_path, query in group.queries:
            text = _query_text(query, json_path, label)
            name = _unique_name(text, gain_of_doc, gains_by_query)
            if name != text:
                renumbered.append(name)
            judged.ask(name)
            names.append(name)
            for doc, gain, gain_path in relevant_docs if name not in gains_by_query else ():
                judged.add(name, doc, gain, gain_path, "")
            gains_by_query[name] = gain_of_doc
        raw_queries = [query for _, query in group.queries]
        groups.append({"around": group.around, "topic": group.topic, "queries": raw_queries, "ids": names})
    header = {key: value for key, value in root.items() if key not in {"topics", "query_groups", "queries"}}
    shape = next((key for key in ("topics", "query_groups", "queries") if key in root), "queries")
    qrels, notes = judged.qrels(source.stem)
    if qrels is None:
        raise InputError("there are no queries in it.", source=label, code="no-queries")
    renumbered_notes = Note.of(
        "queries that repeat an earlier text with other judgments, numbered", renumbered
    )
    return FileContents(
        qrels=qrels,
        documents=judged.pool(),
        extra={NAME: {"head": header, "groups": groups, "shape": shape}},
        notes=(*notes, *renumbered_notes),
    )


def _read_groups(root: dict[str, Json], label: str) -> Iterator[_QueryGroup]:
    """All groups of queries, inside topics or outside, and the queries of the flat form."""
    for topic_path, topic in list_objects(root.get("topics") or [], "topics", label):
        other_fields = {key: value for key, value in topic.items() if key != "query_groups"}
        yield from _read_query_groups(topic, f"{topic_path}.", other_fields, label)
    yield from _read_query_groups(root, "", None, label)
    for topic_path, query in list_objects(root.get("queries") or [], "queries", label):
        relevant = read_object(query, "relevant_documents", topic_path, label)
        raw_query = {key: value for key, value in query.items() if key != "relevant_documents"}
        yield _QueryGroup(topic_path, [(topic_path, raw_query)], relevant, {}, None)


def _read_query_groups(
    parent: dict[str, Json], path_prefix: str, topic: dict[str, Json] | None, label: str
) -> Iterator[_QueryGroup]:
    for group_path, group in list_objects(
        parent.get("query_groups") or [], f"{path_prefix}query_groups", label
    ):
        relevant = read_object(group, "relevant_documents", group_path, label)
        group_keys = {"queries", "relevant_documents"}
        other_fields = {key: value for key, value in group.items() if key not in group_keys}
        queries = list(list_objects(group.get("queries") or [], f"{group_path}.queries", label))
        yield _QueryGroup(group_path, queries, relevant, other_fields, topic)


def _read_relevant(group: _QueryGroup, label: str) -> Iterator[tuple[str, Json, str]]:
    """Each document with its gain and JSON path; keys are documents, or gains of lists."""
    for key, value in group.relevant.items():
        document_path = f"{group.where}.relevant_documents.{key}"
        if isinstance(value, list):
            for index, doc in enumerate(value):
                yield identifier(doc, f"{document_path}[{index}]", label), key, document_path
        elif isinstance(value, dict):
            if "gain" not in value:
                raise InputError(f"{document_path} has no 'gain'.", source=label, code="missing-key")
            yield key, value["gain"], f"{document_path}.gain"
        else:
            kind = describe_type(value)
            problem = f"{document_path} is {kind}, where a gain or a list of documents is needed."
            raise InputError(problem, source=label, code="wrong-type")


def _query_text(query: dict[str, Json], json_path: str, label: str) -> str:
    """The text of a query: its placeholder ``$query``, its only placeholder, or all of them."""
    placeholders = read_object(query, "placeholders", json_path, label)
    query_text = placeholders.get(
        _QUERY_PLACEHOLDER, next(iter(placeholders.values())) if len(placeholders) == 1 else None
    )
    if query_text is None and placeholders:
        return json.dumps(placeholders, ensure_ascii=False)
    if query_text is None:
        raise InputError(
            f"{json_path} has no placeholders, which hold the query.", source=label, code="missing-key"
        )
    return identifier(query_text, f"placeholder of {json_path}", label)


def _unique_name(text: str, relevant: dict[str, Json], gains_by_query: Mapping[str, dict[str, Json]]) -> str:
    name, count = text, 1
    while name in gains_by_query and gains_by_query[name] != relevant:
        count += 1
        name = f"{text} ({count})"
    return name


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
        remaining_pairs = [
            pair for pair in zip(group["ids"], group["queries"], strict=True) if pair[0] in grades
        ]
        while remaining_pairs:  # queries with diverging judgments become separate groups
            shared_grades = grades[remaining_pairs[0][0]]
            same_grades = [pair for pair in remaining_pairs if grades[pair[0]] == shared_grades]
            remaining_pairs = [pair for pair in remaining_pairs if grades[pair[0]] != shared_grades]
            written_queries |= {name for name, _ in same_grades}
            queries = [query for _, query in same_grades]
            if shape == "queries":
                flat_queries += [
                    {**query, "relevant_documents": relevant(shared_grades)} for query in queries
                ]
                continue
            new_group = {**group["around"], "queries": queries, "relevant_documents": relevant(shared_grades)}
            if not topics or topics[-1][0] != group["topic"]:
                topics.append((group["topic"], []))
            topics[-1][1].append(new_group)
    for query in (query for query in grades if query not in written_queries):
        query_fields = {"placeholders": {_QUERY_PLACEHOLDER: query}}
        flat_queries.append({**query_fields, "relevant_documents": relevant(grades[query])})
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
