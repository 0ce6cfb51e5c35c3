"""OpenSearch's judgment lists, search configurations and experiments.

Search configurations are the query settings of one system. Judgment lists are ratings, as strings,
of the documents of each query. Experiments are their settings, and the documents that
configurations retrieved.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING, BinaryIO

import polars as pl

from rankgate.core.errors import InputError
from rankgate.data.file_contents import FileContents, Loss
from rankgate.data.formats.collected_judgments import VALUES, GrowingQrels, GrowingRun
from rankgate.data.formats.format import Format, Note
from rankgate.data.formats.format_writing import (
    collect_grades,
    find_losses,
    format_data,
    with_text_ids,
    write_json,
)
from rankgate.data.text.json_text import JsonRecord, detect_keys, parse_json, read_record

if TYPE_CHECKING:
    from rankgate.core.value_types import Json, JsonObject
    from rankgate.data.streams.source import InputFile


_SOURCE_PATH = "hits.hits[]._source."


def detect_inner_keys(*alternatives: tuple[str | bytes, ...]) -> Callable[[bytes, str], str | None]:
    """As `detect_keys`, also for documents inside a search answer."""
    inner_alternatives = (
        tuple(
            f"{_SOURCE_PATH}{path}" if index and isinstance(path, str) else path
            for index, path in enumerate(paths)
        )
        for paths in alternatives
    )
    return detect_keys(*alternatives, *inner_alternatives)


def read_documents(source: InputFile) -> list[JsonRecord]:
    """The document itself, or all documents of a search answer.

    Raises:
        InputError: the value is not an object.
    """
    root = read_record(source)
    if "hits" not in root:
        return [root]
    hits = root.record("hits")
    hits.setdefault("hits", None)
    return [hit.record("_source") for hit in hits.records("hits")]


def read_single_document(source: InputFile, noun: str) -> JsonRecord:
    """The only document; its paths in errors begin at itself.

    Raises:
        InputError: there are none or several.
    """
    documents = read_documents(source)
    if len(documents) != 1:
        problem = f"{len(documents)} {noun}, where one is needed; save one of them alone."
        raise InputError(problem, source=source.label, code="several-candidates")
    return JsonRecord(documents[0], source.label)


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


def read_configuration(source: InputFile) -> FileContents:
    """Read the configuration; the query in it must be JSON."""
    configuration = read_single_document(source, "search configurations")
    configuration.id("index")
    query = configuration.require("query", str)
    parse_json(query.encode(), f"{source.label}, the query in it")
    return FileContents(extra={_CONFIGURATION_NAME: {"configuration": configuration.values_except()}})


CONFIGURATION_FORMAT = Format(
    name=_CONFIGURATION_NAME,
    title="OpenSearch's search configurations",
    suffixes=(".json",),
    sniff=detect_inner_keys(
        ("an object with index and a query for %SearchText%", "index", "query", b"%SearchText%")
    ),
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


def read_judgment_list(source: InputFile) -> FileContents:
    """Read judgments; entries with the same query are merged."""
    judgment_list = read_single_document(source, "judgment lists")
    judged, merged_queries = GrowingQrels(source), []
    for query, ratings in _read_entries(judgment_list):
        merged_queries += [query] if query in judged.asked else []
        judged.ask(query)
        if isinstance(ratings, JsonRecord):
            judged.add_grades(query, ratings)
        else:
            for rating in ratings:
                judged.add_rating(query, rating.get("docId"), rating)
    return judged.contents(
        *Note.of("entries of a query that has one before, merged", merged_queries),
        extra={_JUDGMENT_LIST_NAME: {"list": judgment_list.values_except(*_LISTS)}},
    )


def _read_entries(judgment_list: JsonRecord) -> Iterator[tuple[str, JsonRecord | Iterator[JsonRecord]]]:
    """The query of each entry and its ratings, an object of grades or objects with their grade."""
    key = next((name for name in _LISTS if name in judgment_list), None)
    if key is None:
        return
    if not isinstance(judgment_list[key], dict):
        for entry in judgment_list.records(key, required=True):
            yield entry.id("query"), entry.records("ratings")
        return
    entries = judgment_list.record(key)
    for query in entries:
        yield query, entries.records(query) if isinstance(entries[query], list) else entries.record(query)


def write_judgment_list(contents: FileContents, out: BinaryIO) -> tuple[Loss, ...]:
    """Write a list to import; ratings are strings with three decimals, or more if needed."""
    other_fields: JsonObject = format_data(contents, _JUDGMENT_LIST_NAME).get("list", {})
    if contents.qrels is None and other_fields:
        write_json(out, other_fields)
        return find_losses(contents, _JUDGMENT_LIST_NAME)
    contents, query_losses = with_text_ids(contents)
    qrels = contents.judgments("")
    list_fields = other_fields or {"name": qrels.name, "description": "", "type": "IMPORT_JUDGMENT"}
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
    sniff=detect_inner_keys(
        ("an object with judgmentRatings", "judgmentRatings|judgmentScores"),
        ("a request for judgments, by its type", "type", b'"(IMPORT|UBI|LLM)_JUDGMENT"'),
    ),
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


def read_experiment(source: InputFile) -> FileContents:
    """Read the settings of the experiment, or runs and values from the results of evaluations."""
    documents = read_documents(source)
    if not documents or any("documentIds" not in document for document in documents):
        experiment = read_single_document(source, "experiments")
        return FileContents(extra={_EXPERIMENT_NAME: {"experiment": experiment.values_except()}})
    run_of_system: dict[str, GrowingRun] = {}
    values = []
    for result in documents:
        system, query = result.id("searchConfigurationId"), result.id("searchText")
        ranked = run_of_system.setdefault(system, GrowingRun(source))
        ranked.ask(query)
        for doc in result.require("documentIds", list):
            ranked.rank(query, result.as_id(doc, f"a document of {result.location_text}"))
        for metric in result.records("metrics"):
            name, value = metric.text("metric") or "metric", metric.number("value")
            values += [] if value is None else [(system, query, name, value, None)]
    has_several = len(run_of_system) > 1
    return FileContents(
        runs=tuple(ranked.run(system if has_several else None) for system, ranked in run_of_system.items()),
        values=pl.DataFrame(values, schema=VALUES, orient="row") if values else None,
    )


EXPERIMENT_FORMAT = Format(
    name=_EXPERIMENT_NAME,
    title="OpenSearch's experiments",
    suffixes=(".json",),
    sniff=detect_inner_keys(
        ("an object with querySetId and searchConfigurationList", "querySetId", "searchConfigurationList"),
        (
            "results with searchText, searchConfigurationId and documentIds",
            "searchText",
            "searchConfigurationId",
            "documentIds",
        ),
    ),
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
