"""RAGAS: one sample per line, with the contexts that were retrieved and those that should be."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, BinaryIO

from rankgate.data.columns import strings
from rankgate.data.contents import FileContents
from rankgate.data.formats.collected import GrowingQrels, documents_from, nothing_for, ranked
from rankgate.data.formats.format import Format
from rankgate.data.formats.tables.schemas import run_losses
from rankgate.data.formats.writing import by_query, known, lost, ranking_by_query
from rankgate.data.notes import Loss
from rankgate.data.text.json_keys import keys
from rankgate.data.text.json_text import document, dumped, identifier, kind, objects
from rankgate.data.text.utf8 import BOM
from rankgate.errors import DuplicateError, InputError

if TYPE_CHECKING:
    from rankgate.data.streams.source import InputFile

_NAME = "ragas"
_QUESTION = ("user_input", "question")
_RETRIEVED = (("retrieved_context_ids", "retrieved_contexts"), ("contexts",))
_REFERENCES = (("reference_context_ids", "reference_contexts"), ("ground_truth_contexts",))
_LISTS = frozenset(name for names in (*_RETRIEVED, *_REFERENCES) for name in names)


def sniff(head: bytes, name: str) -> str | None:
    """Objects with user_input (or question) and lists of contexts."""
    if not head.removeprefix(BOM).lstrip().startswith((b"{", b"[")):
        return None
    found = {each.removeprefix("[].") for each in keys(head)}
    if found & set(_QUESTION) and found & {f"{each}[]" for each in _LISTS}:
        return "objects with a question and lists of contexts"
    return None


def read(source: InputFile) -> FileContents:
    """A run of the contexts retrieved, judgments of those that should be, questions and texts.

    Without ids a question and a context are their own ids.
    """
    qrels = GrowingQrels(source.label)
    pairs: list[tuple[str, str]] = []
    queries: dict[str, dict[str, str | None]] = {}
    fields: list[dict[str, str | None]] = []
    for line, value in _samples(source):
        text = next((value[name] for name in _QUESTION if value.get(name)), None)
        query = identifier(value.get("query_id", text), "the question", source.label, line)
        if query in queries:
            problem = f"question '{query}' is in a line before already; keep one."
            raise InputError(problem, source=source.label, line=line, code="duplicate-query")
        others = {name: each for name, each in value.items() if isinstance(each, str)}
        queries[query] = {"query_id": query, "text": text if isinstance(text, str) else None} | {
            name: each for name, each in others.items() if name not in {"query_id", *_QUESTION}
        }
        seen: set[str] = set()
        for doc, content in _contexts(value, _RETRIEVED, source, line):
            if doc in seen:
                problem = f"context '{doc[:60]}' appears twice for '{query}'; keep one."
                raise DuplicateError(problem, source=source.label, line=line)
            seen.add(doc)
            pairs.append((query, doc))
            fields.append({"query_id": query, "doc_id": doc, "text": content})
        qrels.ask(query)
        for doc, content in dict(_contexts(value, _REFERENCES, source, line)).items():
            qrels.add(query, doc, 1, f"line {line}", "")
            fields.append({"query_id": query, "doc_id": doc, "text": content})
    if not queries:
        raise InputError("there are no samples in it.", source=source.label, code="no-queries")
    judged, _ = qrels.qrels(source.stem)
    empty = nothing_for(query for query in queries if query not in {each for each, _ in pairs})
    run = ranked(
        source.stem,
        [query for query, _ in pairs],
        [doc for _, doc in pairs],
        None,
        label=source.label,
        states=empty,
    )
    described = [each for each in fields if each["text"] is not None]
    return FileContents(
        qrels=judged,
        runs=(run,),
        queries=strings(list(queries.values())),
        documents=documents_from(described) if described else None,
    )


def write(contents: FileContents, out: BinaryIO) -> tuple[Loss, ...]:
    """An object a query: its question, the contexts of the first run, the relevant ones.

    Raises:
        InputError: neither judgments nor a run.
    """
    run = contents.runs[0] if contents.runs else None
    if run is None and contents.qrels is None:
        contents.judgments("")
    grades = by_query(contents.qrels) if contents.qrels else {}
    lists = ranking_by_query(run) if run else {}
    asked, texts = known(contents.queries, "query_id"), _texts(contents)
    for query in dict.fromkeys([*lists, *grades]):
        own = asked.get(query, {})
        sample: dict[str, Any] = {"user_input": own.get("text", query)}
        if sample["user_input"] != query:
            sample["query_id"] = query
        shown = [doc for doc, _ in lists.get(query, [])]
        wanted = [doc for doc, grade in grades.get(query, {}).items() if grade > 0]
        for name, docs, there in (("retrieved", shown, run), ("reference", wanted, contents.qrels)):
            if there is not None:
                sample[f"{name}_context_ids"] = docs
                sample[f"{name}_contexts"] = [texts.get(doc, doc) for doc in docs]
        sample |= {name: each for name, each in own.items() if name not in {"query_id", "text"}}
        out.write(dumped(sample).encode() + b"\n")
    return (
        *lost(contents, _NAME, "qrels", "runs", "queries", "documents", "unjudged", runs=1),
        *(_grades(grades) if contents.qrels else ()),
        *(run_losses(run) if run else ()),
    )


def _samples(source: InputFile) -> Iterator[tuple[int, dict[str, Any]]]:
    """The samples of JSON lines, or of one list."""
    if not source.head().removeprefix(BOM).lstrip().startswith(b"["):
        yield from objects(source)
        return
    for place, value in enumerate(document(source), 1):
        if not isinstance(value, dict):
            problem = f"sample {place} is {kind(value)}, where an object is needed."
            raise InputError(problem, source=source.label, code="wrong-type")
        yield place, value


def _contexts(
    value: dict[str, Any], names: tuple[tuple[str, ...], ...], source: InputFile, line: int
) -> list[tuple[str, str | None]]:
    """The contexts of a sample: ids and texts, or texts that are their own ids."""
    for group in names:
        found = [value[name] for name in group if value.get(name) is not None]
        for each in found:
            if not isinstance(each, list):
                problem = f"contexts are {kind(each)}, where a list is needed."
                raise InputError(problem, source=source.label, line=line, code="wrong-type")
        if found:
            ids = [identifier(each, "a context", source.label, line) for each in found[0]]
            texts = found[-1]
            if len(texts) != len(ids):
                problem = f"{len(ids)} ids of contexts and {len(texts)} texts; give one for each."
                raise InputError(problem, source=source.label, line=line, code="wrong-shape")
            named = len(found) > 1 or not group[0].endswith("_ids")
            same = [each if isinstance(each, str) and named else None for each in texts]
            return list(zip(ids, same, strict=True))
    return []


def _texts(contents: FileContents) -> dict[str, str]:
    rows = known(contents.documents, "doc_id")
    return {doc: own["text"] for doc, own in rows.items() if "text" in own}


def _grades(grades: dict[str, dict[str, float]]) -> tuple[Loss, ...]:
    """Grades other than 1 are not kept."""
    strange = [
        f"{query} {doc}"
        for query, own in grades.items()
        for doc, grade in own.items()
        if grade != 1
    ]
    return Loss.of("grades other than 1", strange)


FORMAT = Format(
    name=_NAME,
    title="samples of RAGAS",
    suffixes=(".jsonl", ".json"),
    sniff=sniff,
    read=read,
    write=write,
    holds=("runs", "qrels", "queries", "documents"),
    loses="grades other than 1, ratings; all runs but the first, its scores",
    detail=(
        "An object a line, or a list of them: user_input, retrieved_contexts and "
        "reference_contexts, with retrieved_context_ids and reference_context_ids if there are "
        "any; question, contexts and ground_truth_contexts of older versions are known. The "
        "contexts retrieved are a run, those of reference are judgments of grade 1, so that one "
        "file can be both: rankgate eval samples.jsonl samples.jsonl. Without ids, questions and "
        "contexts are their own ids; query_id is kept if it is there."
    ),
)
