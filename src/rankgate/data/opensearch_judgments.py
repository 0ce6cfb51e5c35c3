"""OpenSearch's judgment lists: ratings, as strings, of the documents of each query."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rankgate.data import opensearch
from rankgate.data.called import by_text
from rankgate.data.carried import by_query, lost, own, put
from rankgate.data.collected import Judged
from rankgate.data.contents import Contents
from rankgate.data.format import Format, Loss, Note
from rankgate.data.json_walk import an_id, an_object, inside

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import BinaryIO

    from rankgate.data.source import Source

_NAME = "opensearch-judgments"
_LISTS = ("judgmentRatings", "judgmentScores")
_TYPES = ("IMPORT_JUDGMENT", "UBI_JUDGMENT", "LLM_JUDGMENT")


def sniff(head: bytes, name: str) -> str | None:  # noqa: ARG001 - what every format is asked
    """Ratings of a judgment list, or the request to make one."""
    found = opensearch.inner(head)
    if found & {*_LISTS}:
        return "an object with judgmentRatings"
    if "type" in found and any(f'"{each}"'.encode() in head for each in _TYPES):
        return "a request for judgments, by its type"
    return None


def read(source: Source) -> Contents:
    """Judgments; entries of one query are one.

    Raises:
        InputError: something of another shape, a rating that is no number; with the place.
        DuplicateError: a document with two ratings for one query.
    """
    label = source.label
    found = opensearch.only(source, "judgment lists")
    key = next((name for name in _LISTS if name in found), None)
    judged, seen, merged = Judged(label), set(), []
    if key and isinstance(found[key], dict):
        for query, ratings in found[key].items():
            judged.ask(query)
            for doc, grade in an_object({query: ratings}, query, key, label).items():
                judged.add(query, doc, grade, f"{key}.{query}.{doc}", "")
    elif key:
        for where, entry in inside(found, key, "", label):
            query = an_id(entry, "query", where, label)
            merged += [query] if query in seen else []
            seen.add(query)
            judged.ask(query)
            for at, rating in inside({"ratings": [], **entry}, "ratings", where, label):
                judged.add(query, rating.get("docId"), rating.get("rating"), at, "rating")
    qrels, notes = judged.qrels(source.stem)
    rest = {name: value for name, value in found.items() if name not in _LISTS}
    return Contents(
        qrels=qrels,
        documents=judged.pool(),
        extra={_NAME: {"list": rest}},
        notes=(*notes, *Note.of("entries of a query that has one before, merged", merged)),
    )


def write(contents: Contents, out: BinaryIO) -> tuple[Loss, ...]:
    """A list to import; ratings are strings with three decimals, or with as many as they need.

    Raises:
        InputError: there are no judgments.
    """
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
    loses="raters, scales, ids beside texts",
    detail=(
        "The body that imports judgments, or the answer of a search for a list: judgmentRatings "
        "with a query and its ratings, which are strings. One query may have several entries; "
        "they are merged. Requests for judgments from clicks or a language model are read for "
        "their settings. A file query,docid,rating for upload is quepid-csv."
    ),
)
