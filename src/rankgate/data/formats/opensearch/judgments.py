"""OpenSearch's judgment lists: ratings, as strings, of the documents of each query."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, BinaryIO

from rankgate.data.contents import FileContents
from rankgate.data.formats.collected import GrowingQrels
from rankgate.data.formats.format import Format, Loss, Note
from rankgate.data.formats.opensearch import search_answer
from rankgate.data.formats.query_texts import by_text
from rankgate.data.formats.writing import by_query, lost, own, put
from rankgate.data.text.json_reader import an_id, an_object, each, inside

if TYPE_CHECKING:
    from rankgate.data.streams.source import InputFile

    _Rating = tuple[Any, Any, str, str]  # document, grade, their place, the grade's key there

_NAME = "opensearch-judgments"
_LISTS = ("judgmentRatings", "judgmentScores")
_TYPES = ("IMPORT_JUDGMENT", "UBI_JUDGMENT", "LLM_JUDGMENT")


def sniff(head: bytes, name: str) -> str | None:
    """Ratings of a judgment list, or the request to make one."""
    found = search_answer.inner(head)
    if found & {*_LISTS}:
        return "an object with judgmentRatings"
    if "type" in found and any(f'"{each}"'.encode() in head for each in _TYPES):
        return "a request for judgments, by its type"
    return None


def read(source: InputFile) -> FileContents:
    """Judgments; entries of one query are one."""
    label = source.label
    found = search_answer.only(source, "judgment lists")
    judged, merged = GrowingQrels(label), []
    for query, ratings in _entries(found, label):
        merged += [query] if query in judged.asked else []
        judged.ask(query)
        for rating in ratings:
            judged.add(query, *rating)
    qrels, notes = judged.qrels(source.stem)
    rest = {name: value for name, value in found.items() if name not in _LISTS}
    return FileContents(
        qrels=qrels,
        documents=judged.pool(),
        extra={_NAME: {"list": rest}},
        notes=(*notes, *Note.of("entries of a query that has one before, merged", merged)),
    )


def _entries(found: dict[str, Any], label: str) -> Iterator[tuple[str, Iterator[_Rating]]]:
    """The query of each entry and its ratings; a query may have several entries in a list."""
    key = next((name for name in _LISTS if name in found), None)
    if key is None:
        return
    if not isinstance(found[key], dict):
        for where, entry in inside(found, key, "", label):
            query = an_id(entry, "query", where, label)
            yield query, _listed(entry.get("ratings", []), f"{where}.ratings", label)
        return
    for query, ratings in found[key].items():
        where = f"{key}.{query}"
        if isinstance(ratings, list):
            yield query, _listed(ratings, where, label)
        else:
            grades = an_object({query: ratings}, query, key, label)
            yield query, ((doc, grade, f"{where}.{doc}", "") for doc, grade in grades.items())


def _listed(ratings: Any, where: str, label: str) -> Iterator[_Rating]:
    for at, rating in each(ratings, where, label):
        yield rating.get("docId"), rating.get("rating"), at, "rating"


def write(contents: FileContents, out: BinaryIO) -> tuple[Loss, ...]:
    """A list to import; ratings are strings with three decimals, or with as many as they need."""
    rest: Mapping[str, Any] = own(contents, _NAME).get("list", {})
    if contents.qrels is None and rest:
        put(out, rest)
        return lost(contents, _NAME)
    contents, called = by_text(contents)
    qrels = contents.judgments("")
    head = rest or {"name": qrels.name, "description": "", "type": _TYPES[0]}
    entries = [
        {
            "query": query,
            "ratings": [{"docId": doc, "rating": _shown(grade)} for doc, grade in grades.items()],
        }
        for query, grades in by_query(qrels).items()
    ]
    put(out, {**head, _LISTS[0]: entries})
    return (*lost(contents, _NAME, "qrels", "unjudged"), *called)


def _shown(grade: float) -> str:
    short = f"{grade:.3f}"
    return short if float(short) == grade else repr(float(grade))


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
