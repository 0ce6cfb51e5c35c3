"""RRE's ratings: topics, groups of queries and the documents that are relevant to a group.

In gain mode each document has its gain, in array mode each gain has its documents.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, BinaryIO

from rankgate.core.errors import InputError
from rankgate.core.frozen import dataclass
from rankgate.data.contents import FileContents
from rankgate.data.formats.collected import GrowingQrels
from rankgate.data.formats.format import Format, Loss, Note
from rankgate.data.formats.query_texts import by_text
from rankgate.data.formats.writing import by_query, lost, own, put
from rankgate.data.text.json_keys import matching
from rankgate.data.text.json_reader import an_object, each, whole_object
from rankgate.data.text.json_text import document, identifier, kind, whole

if TYPE_CHECKING:
    from rankgate.data.streams.source import InputFile

    Grades = Mapping[str, float]

NAME = "rre"
_GROUPED = r"(topics\[\]\.)?(query_groups\[\]\.)?(queries\[\]\.)?relevant_documents"
_TEXT = "$query"
_HEAD = {"id_field": "id", "index": "index", "template": "template.json"}


@dataclass(frozen=True)
class _QueryGroup:
    """Queries that share their relevant documents, and where they are."""

    where: str
    queries: list[tuple[str, dict[str, Any]]]
    relevant: dict[str, Any]
    around: dict[str, Any]
    topic: dict[str, Any] | None


def sniff_arrays(head: bytes, name: str) -> str | None:
    """Relevant documents as lists."""
    if matching(head, _GROUPED + r"\..+\[\]"):
        return "queries with relevant_documents, lists of documents by gain"
    return None


def sniff_gains(head: bytes, name: str) -> str | None:
    """Relevant documents with gains, or none at all."""
    if matching(head, _GROUPED) and not sniff_arrays(head, name):
        return "queries with relevant_documents, each document with its gain"
    return None


def read(source: InputFile) -> FileContents:
    """Judgments of each query; those of a group hold for all its queries.

    A query is called by its placeholder ``$query``. Where the same words are asked again with
    other judgments (another template, a filter), a number is added.
    """
    label = source.label
    found = whole_object(document(source), source)
    judged, groups, again = GrowingQrels(label), [], []
    known: dict[str, dict[str, str]] = {}
    for group in _groups(found, label):
        relevant = list(_relevant(group, label))
        shared = {doc: gain for doc, gain, _ in relevant}
        names = []
        for where, query in group.queries:
            text = _called(query, where, label)
            name = _name(text, shared, known)
            if name != text:
                again.append(name)
            judged.ask(name)
            names.append(name)
            for doc, gain, at in relevant if name not in known else ():
                judged.add(name, doc, gain, at, "")
            known[name] = shared
        raw = [query for _, query in group.queries]
        groups.append({"around": group.around, "topic": group.topic, "queries": raw, "ids": names})
    head = {
        key: value
        for key, value in found.items()
        if key not in {"topics", "query_groups", "queries"}
    }
    shape = next((key for key in ("topics", "query_groups", "queries") if key in found), "queries")
    qrels, notes = judged.qrels(source.stem)
    if qrels is None:
        raise InputError("there are no queries in it.", source=label, code="no-queries")
    more = Note.of("queries whose words are asked before with other judgments, numbered", again)
    return FileContents(
        qrels=qrels,
        documents=judged.pool(),
        extra={NAME: {"head": head, "groups": groups, "shape": shape}},
        notes=(*notes, *more),
    )


def _groups(found: dict[str, Any], label: str) -> Iterator[_QueryGroup]:
    """All groups of queries, in topics or without, and the queries of the flat form."""
    for at, topic in each(found.get("topics") or [], "topics", label):
        around = {key: value for key, value in topic.items() if key != "query_groups"}
        yield from _grouped(topic, f"{at}.", around, label)
    yield from _grouped(found, "", None, label)
    for at, query in each(found.get("queries") or [], "queries", label):
        relevant = an_object(query, "relevant_documents", at, label)
        raw = {key: value for key, value in query.items() if key != "relevant_documents"}
        yield _QueryGroup(at, [(at, raw)], relevant, {}, None)


def _grouped(
    found: dict[str, Any], before: str, topic: dict[str, Any] | None, label: str
) -> Iterator[_QueryGroup]:
    for at, group in each(found.get("query_groups") or [], f"{before}query_groups", label):
        relevant = an_object(group, "relevant_documents", at, label)
        inner = {"queries", "relevant_documents"}
        around = {key: value for key, value in group.items() if key not in inner}
        queries = list(each(group.get("queries") or [], f"{at}.queries", label))
        yield _QueryGroup(at, queries, relevant, around, topic)


def _relevant(group: _QueryGroup, label: str) -> Iterator[tuple[str, Any, str]]:
    """Each document with its gain and place: keys are documents, or gains over lists of them."""
    for key, value in group.relevant.items():
        at = f"{group.where}.relevant_documents.{key}"
        if isinstance(value, list):
            for index, doc in enumerate(value):
                yield identifier(doc, f"{at}[{index}]", label), key, at
        elif isinstance(value, dict):
            if "gain" not in value:
                raise InputError(f"{at} has no 'gain'.", source=label, code="missing-key")
            yield key, value["gain"], f"{at}.gain"
        else:
            problem = f"{at} is {kind(value)}, where a gain or a list of documents is needed."
            raise InputError(problem, source=label, code="wrong-type")


def _called(query: dict[str, Any], where: str, label: str) -> str:
    """The words of a query: its placeholder ``$query``, its only one, or all of them."""
    holders = an_object(query, "placeholders", where, label)
    words = holders.get(_TEXT, next(iter(holders.values())) if len(holders) == 1 else None)
    if words is None and holders:
        return json.dumps(holders, ensure_ascii=False)
    if words is None:
        raise InputError(
            f"{where} has no placeholders, which hold the query.", source=label, code="missing-key"
        )
    return identifier(words, f"placeholder of {where}", label)


def _name(text: str, relevant: dict[str, Any], known: Mapping[str, dict[str, Any]]) -> str:
    name, count = text, 1
    while name in known and known[name] != relevant:
        count += 1
        name = f"{text} ({count})"
    return name


def _write(
    relevant: Callable[[Grades], dict[str, Any]], contents: FileContents, out: BinaryIO
) -> tuple[Loss, ...]:
    """The groups as they were read, and all other queries in the flat form, in one of the modes."""
    contents, called = by_text(contents)
    grades, kept = by_query(contents.judgments("")), own(contents, NAME)
    head, shape = kept.get("head", _HEAD), kept.get("shape", "queries")
    topics: list[dict[str, Any]] = []
    flat: list[dict[str, Any]] = []
    done: set[str] = set()
    for group in kept.get("groups", ()):
        here = [
            pair for pair in zip(group["ids"], group["queries"], strict=True) if pair[0] in grades
        ]
        while here:  # queries whose judgments have parted ways become groups of their own
            shared = grades[here[0][0]]
            alike = [pair for pair in here if grades[pair[0]] == shared]
            here = [pair for pair in here if grades[pair[0]] != shared]
            done |= {name for name, _ in alike}
            queries = [query for _, query in alike]
            if shape == "queries":
                flat += [{**query, "relevant_documents": relevant(shared)} for query in queries]
                continue
            new = {**group["around"], "queries": queries, "relevant_documents": relevant(shared)}
            if not topics or topics[-1]["around"] != group["topic"]:
                topics.append({"around": group["topic"], "groups": []})
            topics[-1]["groups"].append(new)
    for query in (query for query in grades if query not in done):
        holders = {"placeholders": {_TEXT: query}}
        flat.append({**holders, "relevant_documents": relevant(grades[query])})
    put(out, {**head, **_shaped(topics, flat, shape)})
    return (*lost(contents, NAME, "qrels", "unjudged"), *called)


def _shaped(topics: list[dict[str, Any]], flat: list[dict[str, Any]], shape: str) -> dict[str, Any]:
    if shape == "topics":
        found: dict[str, Any] = {
            "topics": [
                {**(topic["around"] or {}), "query_groups": topic["groups"]} for topic in topics
            ]
        }
    elif shape == "query_groups":
        found = {"query_groups": [group for topic in topics for group in topic["groups"]]}
    else:
        found = {}
    return found | {"queries": flat} if flat or not found else found


def _by_document(grades: Grades) -> dict[str, Any]:
    return {doc: {"gain": whole(grade)} for doc, grade in grades.items()}


def _by_gain(grades: Grades) -> dict[str, Any]:
    """The lowest gain first."""
    found: dict[str, list[str]] = {}
    for doc, grade in sorted(grades.items(), key=lambda pair: pair[1]):
        found.setdefault(str(whole(grade)), []).append(doc)
    return found


GAINS = Format(
    name="rre",
    title="RRE's ratings, gain mode",
    suffixes=(".json",),
    sniff=sniff_gains,
    read=read,
    write=partial(_write, _by_document),
    loses="raters, scales, ids besides texts",
    detail=(
        "Topics with groups of queries that share their relevant documents, or a flat list of "
        'queries; {"doc": {"gain": 3}}. Index, templates and placeholders come back as they were. '
        "Quepid writes this mode and reads only the other one: rre-array."
    ),
)
ARRAYS = replace(
    GAINS,
    name="rre-array",
    title="RRE's ratings, array mode",
    sniff=sniff_arrays,
    write=partial(_write, _by_gain),
    detail=(
        'As rre, with {"3": ["doc", ...]}: the key is the gain. It is the mode that Quepid can '
        "import. The two modes are distinguished by the type of their values."
    ),
)
