"""OpenSearch's experiments: their settings, and the documents that configurations retrieved."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import polars as pl

from rankgate.core.errors import InputError
from rankgate.data.contents import FileContents
from rankgate.data.formats.collected import VALUES, make_run, zero_states
from rankgate.data.formats.format import Format
from rankgate.data.formats.opensearch import search_answer
from rankgate.data.text.json_reader import objects_under_key, read_id, read_text
from rankgate.data.text.json_text import identifier, member, number

if TYPE_CHECKING:
    from rankgate.data.streams.source import InputFile

_NAME = "opensearch-experiment"


def sniff(first_bytes: bytes, name: str) -> str | None:
    """A query set with configurations, or results of evaluations with documents."""
    key_paths = search_answer.inner_key_paths(first_bytes)
    if {"querySetId", "searchConfigurationList"} <= key_paths:
        return "an object with querySetId and searchConfigurationList"
    if {"searchText", "searchConfigurationId", "documentIds"} <= key_paths:
        return "results with searchText, searchConfigurationId and documentIds"
    return None


def read(source: InputFile) -> FileContents:
    """The experiment's settings; or runs and values from the results of evaluations."""
    documents = search_answer.read_documents(source)
    if all("documentIds" in document for document in documents) and documents:
        return _read_results(documents, source)
    if len(documents) != 1:
        problem = f"{len(documents)} experiments, where one is needed; save one of them alone."
        raise InputError(problem, source=source.label, code="several-candidates")
    return FileContents(extra={_NAME: {"experiment": documents[0]}})


def _read_results(evaluations: list[dict[str, Any]], source: InputFile) -> FileContents:
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
        for metric_path, metric in objects_under_key(
            {"metrics": [], **result}, "metrics", json_path, label
        ):
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


FORMAT = Format(
    name=_NAME,
    title="OpenSearch's experiments",
    suffixes=(".json",),
    sniff=sniff,
    read=read,
    write=partial(search_answer.write_kept, owner=_NAME, key="experiment"),
    holds=("runs", "values", "extra"),
    loses="everything but the experiment's settings",
    detail=(
        "The body that starts an experiment (query set, configurations, judgments, size, type), "
        "which comes back as it was; or the answer of a search for results of evaluations: the "
        "documents of each configuration are a run, the values of its metrics are kept."
    ),
)
