"""OpenSearch's experiments: what is compared, and what each configuration retrieved."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import polars as pl

from rankgate.core.errors import InputError
from rankgate.data.contents import FileContents
from rankgate.data.formats.collected import VALUES, nothing_for, ranked
from rankgate.data.formats.format import Format
from rankgate.data.formats.opensearch import search_answer
from rankgate.data.text.json_reader import a_text, an_id, inside
from rankgate.data.text.json_text import identifier, member, number

if TYPE_CHECKING:
    from rankgate.data.streams.source import InputFile

_NAME = "opensearch-experiment"


def sniff(head: bytes, name: str) -> str | None:
    """A query set with configurations, or results of evaluations with documents."""
    found = search_answer.inner(head)
    if {"querySetId", "searchConfigurationList"} <= found:
        return "an object with querySetId and searchConfigurationList"
    if {"searchText", "searchConfigurationId", "documentIds"} <= found:
        return "results with searchText, searchConfigurationId and documentIds"
    return None


def read(source: InputFile) -> FileContents:
    """The experiment's settings; or runs and values from the results of evaluations."""
    found = search_answer.sources(source)
    if all("documentIds" in each for each in found) and found:
        return _results(found, source)
    if len(found) != 1:
        problem = f"{len(found)} experiments, where one is needed; save one of them alone."
        raise InputError(problem, source=source.label, code="several-candidates")
    return FileContents(extra={_NAME: {"experiment": found[0]}})


def _results(found: list[dict[str, Any]], source: InputFile) -> FileContents:
    """A run of each configuration, in the order of its documents."""
    label = source.label
    ranking: dict[str, tuple[list[str], list[str], list[str]]] = {}
    values = []
    for index, result in enumerate(found):
        where = f"hits.hits[{index}]._source" if len(found) > 1 else "the document"
        system = an_id(result, "searchConfigurationId", where, label)
        query = an_id(result, "searchText", where, label)
        queries, docs, zero = ranking.setdefault(system, ([], [], []))
        listed = member(result, "documentIds", list, where, label)
        docs += [identifier(doc, f"a document of {where}", label) for doc in listed]
        queries += [query] * len(listed)
        zero += [] if listed else [query]
        for at, metric in inside({"metrics": [], **result}, "metrics", where, label):
            name = a_text(metric, "metric", at, label) or "metric"
            if metric.get("value") is not None:
                value = number(metric["value"], f"{at}.value", label)
                values.append((system, query, name, value, None))
    runs = []
    for system, (queries, docs, zero) in ranking.items():
        name = system if len(ranking) > 1 else source.stem
        runs.append(ranked(name, queries, docs, None, label=label, states=nothing_for(zero)))
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
