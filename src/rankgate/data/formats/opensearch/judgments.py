"""OpenSearch's judgment lists: ratings, as strings, of the documents of each query."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, BinaryIO

from rankgate.data.contents import FileContents
from rankgate.data.formats.collected import GrowingQrels
from rankgate.data.formats.format import Format, Loss, Note
from rankgate.data.formats.opensearch import search_answer
from rankgate.data.formats.query_texts import with_text_ids
from rankgate.data.formats.writing import collect_grades, find_losses, format_data, write_json
from rankgate.data.text.json_reader import list_objects, objects_under_key, read_id, read_object

if TYPE_CHECKING:
    from rankgate.data.streams.source import InputFile

    _Rating = tuple[Any, Any, str, str]  # document, grade, their JSON path, the grade's key

_NAME = "opensearch-judgments"
_LISTS = ("judgmentRatings", "judgmentScores")
_TYPES = ("IMPORT_JUDGMENT", "UBI_JUDGMENT", "LLM_JUDGMENT")


def sniff(first_bytes: bytes, name: str) -> str | None:
    """Ratings of a judgment list, or the request to make one."""
    key_paths = search_answer.inner_key_paths(first_bytes)
    if key_paths & {*_LISTS}:
        return "an object with judgmentRatings"
    if "type" in key_paths and any(
        f'"{type_name}"'.encode() in first_bytes for type_name in _TYPES
    ):
        return "a request for judgments, by its type"
    return None


def read(source: InputFile) -> FileContents:
    """Judgments; entries of one query are merged."""
    label = source.label
    judgment_list = search_answer.read_single_document(source, "judgment lists")
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
        extra={_NAME: {"list": other_fields}},
        notes=(*notes, *Note.of("entries of a query that has one before, merged", merged_queries)),
    )


def _read_entries(
    judgment_list: dict[str, Any], label: str
) -> Iterator[tuple[str, Iterator[_Rating]]]:
    """The query of each entry and its ratings; a query may have several entries in a list."""
    key = next((name for name in _LISTS if name in judgment_list), None)
    if key is None:
        return
    if not isinstance(judgment_list[key], dict):
        for json_path, query_entry in objects_under_key(judgment_list, key, "", label):
            query = read_id(query_entry, "query", json_path, label)
            yield (
                query,
                _read_ratings(query_entry.get("ratings", []), f"{json_path}.ratings", label),
            )
        return
    for query, ratings in judgment_list[key].items():
        json_path = f"{key}.{query}"
        if isinstance(ratings, list):
            yield query, _read_ratings(ratings, json_path, label)
        else:
            grades = read_object({query: ratings}, query, key, label)
            yield query, ((doc, grade, f"{json_path}.{doc}", "") for doc, grade in grades.items())


def _read_ratings(ratings: Any, json_path: str, label: str) -> Iterator[_Rating]:
    for rating_path, rating in list_objects(ratings, json_path, label):
        yield rating.get("docId"), rating.get("rating"), rating_path, "rating"


def write(contents: FileContents, out: BinaryIO) -> tuple[Loss, ...]:
    """A list to import; ratings are strings with three decimals, or with more if needed."""
    other_fields: Mapping[str, Any] = format_data(contents, _NAME).get("list", {})
    if contents.qrels is None and other_fields:
        write_json(out, other_fields)
        return find_losses(contents, _NAME)
    contents, query_losses = with_text_ids(contents)
    qrels = contents.judgments("")
    list_fields = other_fields or {"name": qrels.name, "description": "", "type": _TYPES[0]}
    entries = [
        {
            "query": query,
            "ratings": [
                {"docId": doc, "rating": _format_rating(grade)} for doc, grade in grades.items()
            ],
        }
        for query, grades in collect_grades(qrels).items()
    ]
    write_json(out, {**list_fields, _LISTS[0]: entries})
    return (*find_losses(contents, _NAME, "qrels", "unjudged"), *query_losses)


def _format_rating(grade: float) -> str:
    rounded = f"{grade:.3f}"
    return rounded if float(rounded) == grade else repr(float(grade))


FORMAT = Format(
    name=_NAME,
    title="OpenSearch's judgment lists",
    suffixes=(".json",),
    sniff=sniff,
    read=read,
    write=write,
    loses="raters, scales, ids besides texts",
    detail=(
        "The body that imports judgments, or the answer of a search for a list: judgmentRatings "
        "with a query and its ratings, which are strings; or an object of ratings by query. One "
        "query may have several entries; they are merged. Requests for judgments from clicks or "
        "a language model are read for their settings. A file query,docid,rating for upload is "
        "quepid-csv."
    ),
)
