"""OpenSearch's judgment lists, search configurations and experiments.

First comes the answer of a search, which encloses all documents of OpenSearch's search relevance.
Search configurations are the query settings of one system. Judgment lists are ratings, as strings,
of the documents of each query. Experiments are their settings, and the documents that
configurations retrieved.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING, BinaryIO

import polars as pl

from rankgate.core.errors import InputError
from rankgate.data.file_contents import FileContents, Loss
from rankgate.data.formats.collected_judgments import VALUES, GrowingQrels, make_run, zero_states
from rankgate.data.formats.format import Format, Note
from rankgate.data.formats.format_writing import (
    collect_grades,
    find_losses,
    format_data,
    with_text_ids,
    write_json,
)
from rankgate.data.text.json_text import (
    TOP,
    find_key_paths,
    identifier,
    list_objects,
    member,
    number,
    objects_under_key,
    parse_json,
    read_document,
    read_id,
    read_object,
    read_text,
    require_object,
)

if TYPE_CHECKING:
    from rankgate.core.value_types import Json, JsonObject
    from rankgate.data.streams.source import InputFile

    _Rating = tuple[Json, Json, str, str]  # document, grade, their JSON path, the grade's key


_SOURCE_PATH = "hits.hits[]._source."


def inner_key_paths(first_bytes: bytes) -> frozenset[str]:
    """The paths of keys, relative to the document inside a search answer."""
    key_paths = find_key_paths(first_bytes)
    return key_paths | {
        path.removeprefix(_SOURCE_PATH) for path in key_paths if path.startswith(_SOURCE_PATH)
    }


def read_documents(source: InputFile) -> list[dict[str, Json]]:
    """The document itself, or all documents of a search answer.

    Raises:
        InputError: the value is not an object.
    """
    root = require_object(read_document(source), source)
    if "hits" not in root:
        return [root]
    hits = read_object(root, "hits", "", source.label)
    hit_objects = list_objects(hits.get("hits"), "hits.hits", source.label)
    return [read_object(hit, "_source", json_path, source.label) for json_path, hit in hit_objects]


def read_single_document(source: InputFile, noun: str) -> dict[str, Json]:
    """The only document.

    Raises:
        InputError: there are none or several.
    """
    documents = read_documents(source)
    if len(documents) != 1:
        problem = f"{len(documents)} {noun}, where one is needed; save one of them alone."
        raise InputError(problem, source=source.label, code="several-candidates")
    return documents[0]


def write_kept(contents: FileContents, out: BinaryIO, owner: str, key: str) -> tuple[Loss, ...]:
    """Write a document unchanged, in a format that can be written only from a file of that format.

    Args:
        contents: the contents of a file.
        out: the output stream.
        owner: the format.
        key: the key of the document in the format's extra data, and its name in the error.

    Raises:
        InputError: the contents are not from such a file.
    """
    kept_document = format_data(contents, owner).get(key)
    if kept_document is None:
        problem = f"no {key} of OpenSearch in it; such a file is written only from one."
        raise InputError(problem, code="no-such-content")
    write_json(out, kept_document)
    return find_losses(contents, owner)


_CONFIGURATION_NAME = "opensearch-configuration"


def sniff_configuration(first_bytes: bytes, name: str) -> str | None:
    """A name, an index and a query with the placeholder of the search."""
    key_paths = inner_key_paths(first_bytes)
    if {"index", "query"} <= key_paths and b"%SearchText%" in first_bytes:
        return "an object with index and a query for %SearchText%"
    return None


def read_configuration(source: InputFile) -> FileContents:
    """Read the configuration; the query in it must be JSON."""
    configuration = read_single_document(source, "search configurations")
    read_id(configuration, "index", "", source.label)
    query = member(configuration, "query", str, TOP, source.label)
    parse_json(query.encode(), f"{source.label}, the query in it")
    return FileContents(extra={_CONFIGURATION_NAME: {"configuration": configuration}})


CONFIGURATION_FORMAT = Format(
    name=_CONFIGURATION_NAME,
    title="OpenSearch's search configurations",
    suffixes=(".json",),
    sniff=sniff_configuration,
    read=read_configuration,
    write=partial(write_kept, owner=_CONFIGURATION_NAME, key="configuration"),
    holds=("extra",),
    loses="everything but the configuration",
    detail=(
        "The body that makes a search configuration: name, index, pipeline, and the query as a string of "
        "JSON with %SearchText% in it. It is written back unchanged."
    ),
)


_JUDGMENT_LIST_NAME = "opensearch-judgments"
_LISTS = ("judgmentRatings", "judgmentScores")
_TYPES = ("IMPORT_JUDGMENT", "UBI_JUDGMENT", "LLM_JUDGMENT")


def sniff_judgment_list(first_bytes: bytes, name: str) -> str | None:
    """Ratings of a judgment list, or the request to make one."""
    key_paths = inner_key_paths(first_bytes)
    if key_paths & {*_LISTS}:
        return "an object with judgmentRatings"
    if "type" in key_paths and any(f'"{type_name}"'.encode() in first_bytes for type_name in _TYPES):
        return "a request for judgments, by its type"
    return None


def read_judgment_list(source: InputFile) -> FileContents:
    """Read judgments; entries with the same query are merged."""
    label = source.label
    judgment_list = read_single_document(source, "judgment lists")
    judged, merged_queries = GrowingQrels(label), []
    for query, ratings in _read_entries(judgment_list, label):
        merged_queries += [query] if query in judged.asked else []
        judged.ask(query)
        for rating in ratings:
            judged.add(query, *rating)
    qrels, notes = judged.qrels(source.stem)
    other_fields = {name: value for name, value in judgment_list.items() if name not in _LISTS}
    return FileContents(
        qrels=qrels,
        documents=judged.pool(),
        extra={_JUDGMENT_LIST_NAME: {"list": other_fields}},
        notes=(*notes, *Note.of("entries of a query that has one before, merged", merged_queries)),
    )


def _read_entries(judgment_list: dict[str, Json], label: str) -> Iterator[tuple[str, Iterator[_Rating]]]:
    """The query of each entry and its ratings; a query may have several entries in a list."""
    key = next((name for name in _LISTS if name in judgment_list), None)
    if key is None:
        return
    entries = judgment_list[key]
    if not isinstance(entries, dict):
        for json_path, query_entry in objects_under_key(judgment_list, key, "", label):
            query = read_id(query_entry, "query", json_path, label)
            yield (query, _read_ratings(query_entry.get("ratings", []), f"{json_path}.ratings", label))
        return
    for query, ratings in entries.items():
        json_path = f"{key}.{query}"
        if isinstance(ratings, list):
            yield query, _read_ratings(ratings, json_path, label)
        else:
            grades = read_object({query: ratings}, query, key, label)
            yield query, ((doc, grade, f"{json_path}.{doc}", "") for doc, grade in grades.items())


def _read_ratings(ratings: Json, json_path: str, label: str) -> Iterator[_Rating]:
    for rating_path, rating in list_objects(ratings, json_path, label):
        yield rating.get("docId"), rating.get("rating"), rating_path, "rating"


def write_judgment_list(contents: FileContents, out: BinaryIO) -> tuple[Loss, ...]:
    """Write a list to import; ratings are strings with three decimals, or more if needed."""
    other_fields: JsonObject = format_data(contents, _JUDGMENT_LIST_NAME).get("list", {})
    if contents.qrels is None and other_fields:
        write_json(out, other_fields)
        return find_losses(contents, _JUDGMENT_LIST_NAME)
    contents, query_losses = with_text_ids(contents)
    qrels = contents.judgments("")
    list_fields = other_fields or {"name": qrels.name, "description": "", "type": _TYPES[0]}
    entries: list[Json] = [
        {
            "query": query,
            "ratings": [{"docId": doc, "rating": _format_rating(grade)} for doc, grade in grades.items()],
        }
        for query, grades in collect_grades(qrels).items()
    ]
    write_json(out, {**list_fields, _LISTS[0]: entries})
    return (*find_losses(contents, _JUDGMENT_LIST_NAME, "qrels", "unjudged"), *query_losses)


def _format_rating(grade: float) -> str:
    rounded = f"{grade:.3f}"
    return rounded if float(rounded) == grade else repr(float(grade))


JUDGMENT_LIST_FORMAT = Format(
    name=_JUDGMENT_LIST_NAME,
    title="OpenSearch's judgment lists",
    suffixes=(".json",),
    sniff=sniff_judgment_list,
    read=read_judgment_list,
    write=write_judgment_list,
    loses="raters, scales, ids besides texts",
    detail=(
        "The body that imports judgments, or the answer of a search for a list: judgmentRatings with a query "
        "and its ratings, which are strings; or an object of ratings by query. One query may have several "
        "entries; they are merged. Requests for judgments from clicks or a language model are read for their "
        "settings. A file query,docid,rating for upload is quepid-csv."
    ),
)


_EXPERIMENT_NAME = "opensearch-experiment"


def sniff_experiment(first_bytes: bytes, name: str) -> str | None:
    """A query set with configurations, or results of evaluations with documents."""
    key_paths = inner_key_paths(first_bytes)
    if {"querySetId", "searchConfigurationList"} <= key_paths:
        return "an object with querySetId and searchConfigurationList"
    if {"searchText", "searchConfigurationId", "documentIds"} <= key_paths:
        return "results with searchText, searchConfigurationId and documentIds"
    return None


def read_experiment(source: InputFile) -> FileContents:
    """Read the settings of the experiment, or runs and values from the results of evaluations."""
    documents = read_documents(source)
    if all("documentIds" in document for document in documents) and documents:
        return _read_results(documents, source)
    if len(documents) != 1:
        problem = f"{len(documents)} experiments, where one is needed; save one of them alone."
        raise InputError(problem, source=source.label, code="several-candidates")
    return FileContents(extra={_EXPERIMENT_NAME: {"experiment": documents[0]}})


def _read_results(evaluations: list[dict[str, Json]], source: InputFile) -> FileContents:
    """A run for each configuration, in the order of its documents."""
    label = source.label
    lists_by_system: dict[str, tuple[list[str], list[str], list[str]]] = {}
    values = []
    for index, result in enumerate(evaluations):
        json_path = f"hits.hits[{index}]._source" if len(evaluations) > 1 else "the document"
        system = read_id(result, "searchConfigurationId", json_path, label)
        query = read_id(result, "searchText", json_path, label)
        queries, docs, zero = lists_by_system.setdefault(system, ([], [], []))
        doc_ids = member(result, "documentIds", list, json_path, label)
        docs += [identifier(doc, f"a document of {json_path}", label) for doc in doc_ids]
        queries += [query] * len(doc_ids)
        zero += [] if doc_ids else [query]
        for metric_path, metric in objects_under_key({"metrics": [], **result}, "metrics", json_path, label):
            name = read_text(metric, "metric", metric_path, label) or "metric"
            if metric.get("value") is not None:
                value = number(metric["value"], f"{metric_path}.value", label)
                values.append((system, query, name, value, None))
    runs = []
    for system, (queries, docs, zero) in lists_by_system.items():
        name = system if len(lists_by_system) > 1 else source.stem
        runs.append(make_run(name, queries, docs, None, label=label, states=zero_states(zero)))
    table = pl.DataFrame(values, schema=VALUES, orient="row") if values else None
    return FileContents(runs=tuple(runs), values=table)


EXPERIMENT_FORMAT = Format(
    name=_EXPERIMENT_NAME,
    title="OpenSearch's experiments",
    suffixes=(".json",),
    sniff=sniff_experiment,
    read=read_experiment,
    write=partial(write_kept, owner=_EXPERIMENT_NAME, key="experiment"),
    holds=("runs", "values", "extra"),
    loses="everything but the experiment's settings",
    detail=(
        "The body that starts an experiment (query set, configurations, judgments, size, type), which comes "
        "back as it was; or the answer of a search for results of evaluations: the documents of each "
        "configuration are a run, the values of its metrics are kept."
    ),
)
