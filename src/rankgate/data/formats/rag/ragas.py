"""RAGAS: one sample per line, with the contexts that were retrieved and those that should be."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any, BinaryIO

from rankgate.core.errors import InputError
from rankgate.data.columns import strings
from rankgate.data.contents import FileContents
from rankgate.data.formats.collected import GrowingQrels, documents_from, nothing_for, ranked
from rankgate.data.formats.format import Format
from rankgate.data.formats.tables.schemas import run_losses
from rankgate.data.formats.writing import by_query, known, lost, ranking_by_query
from rankgate.data.notes import Loss
from rankgate.data.text.json_keys import keys
from rankgate.data.text.json_text import document, dumped, identifier, kind, objects
from rankgate.data.text.normalized import normalized
from rankgate.data.text.utf8 import BOM

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
    return _read(source, normalize=False)


def _not_guessed(_head: bytes, _name: str) -> None:
    """Never: the same files are ``ragas``."""


def read_normalized(source: InputFile) -> FileContents:
    """As `read`; without ids the normalized text of a context is its id."""
    return _read(source, normalize=True)


def _read(source: InputFile, *, normalize: bool) -> FileContents:
    qrels = GrowingQrels(source.label)
    pairs: list[tuple[str, str]] = []
    lines: list[int] = []
    referenced, unreferenced = False, 0  # the line of the first sample without references
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
        for doc, content in _contexts(value, _RETRIEVED, source, line, normalize=normalize):
            pairs.append((query, doc))
            lines.append(line)
            fields.append({"query_id": query, "doc_id": doc, "text": content})
        if all(value.get(name) is None for group in _REFERENCES for name in group):
            unreferenced = unreferenced or line
            continue
        referenced = True
        qrels.ask(query)
        references = _contexts(value, _REFERENCES, source, line, normalize=normalize)
        for doc, content in dict(references).items():
            qrels.add(query, doc, 1, f"line {line}", "")
            fields.append({"query_id": query, "doc_id": doc, "text": content})
    if not queries:
        raise InputError("there are no samples in it.", source=source.label, code="no-queries")
    if referenced and unreferenced:
        problem = (
            "the sample has no reference_contexts, and others have; add them, or [] if no context "
            "is relevant."
        )
        raise InputError(problem, source=source.label, line=unreferenced, code="missing-key")
    empty = nothing_for(query for query in queries if query not in {each for each, _ in pairs})
    run = ranked(
        source.stem,
        [query for query, _ in pairs],
        [doc for _, doc in pairs],
        None,
        label=source.label,
        states=empty,
        lines=lines,
    )
    described = [each for each in fields if each["text"] is not None]
    return FileContents(
        qrels=qrels.qrels(source.stem)[0] if referenced else None,
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
    value: dict[str, Any],
    names: tuple[tuple[str, ...], ...],
    source: InputFile,
    line: int,
    *,
    normalize: bool,
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
            has_ids = group[0].endswith("_ids") and value.get(group[0]) is not None
            if normalize and not has_ids:
                same = [text if isinstance(text, str) else None for text in texts]
                ids = [" ".join(normalized(text).split()) or text for text in ids]
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
        "contexts are their own ids: a context retrieved is relevant only if a reference has its "
        "exact text; give ids where spellings differ, or convert the file --from ragas-normalized. "
        "All samples have references, or none; [] says that nothing is relevant. "
        "query_id is kept if it is there."
    ),
)

NORMALIZED = replace(
    FORMAT,
    name="ragas-normalized",
    title="samples of RAGAS, with contexts that match by their normalized text",
    sniff=_not_guessed,
    read=read_normalized,
    write=None,
    detail=(
        "As ragas, for files without ids of contexts, and only where --from names it: contexts "
        "match without regard to case, white space, Unicode form, typographic quotes and hyphens, "
        "ligatures and soft hyphens. A context retrieved in two spellings is retrieved twice, "
        "which the axis duplicates of the convention decides."
    ),
)
