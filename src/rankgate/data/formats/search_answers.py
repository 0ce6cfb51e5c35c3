"""Saved answers of search engines: one file, JSON Lines, or a folder with a file for each query.

The query of an answer is its field ``query_id``. Without this field it is the name of the file in a
folder, the query that the answer repeats, or the number of the answer.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from rankgate.core.errors import InputError
from rankgate.core.frozen import dataclass
from rankgate.core.present.number_formats import count_noun
from rankgate.data.answers.clients import QUERY_ID_KEYS, STORED_KEYS, WRAPPER_KEYS
from rankgate.data.answers.engine_answers import (
    MISSING,
    NO_USABLE_ID,
    Answer,
    Path,
    break_ties,
    parse_path,
    value_at_path,
)
from rankgate.data.answers.engine_products import PRODUCTS, Product
from rankgate.data.file_contents import FileContents
from rankgate.data.formats import registry
from rankgate.data.formats.collected_judgments import GrowingRun
from rankgate.data.formats.format import Format, Note
from rankgate.data.formats.run_companions import SUFFIX
from rankgate.data.run import NUMBERED
from rankgate.data.streams.input_parts import is_folder, list_part_files
from rankgate.data.text.json_text import find_key_paths, identifier, read_document, read_json_lines
from rankgate.data.text.text_values import BOM

if TYPE_CHECKING:
    from rankgate.core.value_types import Json, JsonObject
    from rankgate.data.streams.source import InputFile


_WRAPPER_QUERY_KEYS = (*QUERY_ID_KEYS, "query", "q", "topic")
"""Keys of the query in an object that has the answer under another key."""

_ORDER_LABEL = "the order of the answers"
_JSON_BEGINS = (b"{", b"[")
_FIRST_LINE_BYTES = 1 << 23  # bytes to search for the end of the first line of JSON Lines
_MAX_DEPTH = 3  # largest number of keys around an answer


@dataclass(frozen=True)
class _Reply:
    """An answer with its origin.

    Attributes:
        value: the answer.
        file: the file of the answer.
        query: the query from a field; None if there is no such field.
        line: its line in JSON Lines.
    """

    value: Any
    file: InputFile
    query: str | None = None
    line: int | None = None

    def error(self, problem: str, code: str, suggestions: tuple[str, ...] = ()) -> InputError:
        """An error with the file and the line of the answer."""
        return InputError(problem, source=self.file.label, line=self.line, code=code, suggestions=suggestions)


@dataclass(frozen=True)
class _AnswerReader:
    """A reader for the answers of one product."""

    product: Product

    def sniff(self, first_bytes: bytes, name: str) -> str | None:  # noqa: ARG002 - as of all formats
        """An answer of the product, alone, in a list, or under another key."""
        paths = find_key_paths(first_bytes)
        for marks in self.product.marks:
            longest_mark = max(marks, key=len)
            prefixes = {path.removesuffix(longest_mark) for path in paths if path.endswith(longest_mark)}
            for prefix in prefixes:
                is_near = prefix[-1:] in {"", "."} and prefix.count(".") < _MAX_DEPTH
                if is_near and all(prefix + mark in paths for mark in marks):
                    return f"an answer of {self.product.title}"
        return None

    def read(self, source: InputFile) -> FileContents:
        """The run from the answers; notes describe the source of the query ids."""
        replies = [*self._replies(source)]
        if not replies:
            problem = f"no answer of {self.product.title} in it; save at least one."
            raise InputError(problem, source=source.label, code="no-rankings")
        query_ids, named_by = self._query_ids(replies, source)
        answers = {
            query: self._answer(reply, query, source) for query, reply in zip(query_ids, replies, strict=True)
        }
        rising = [
            query
            for query, answer in answers.items()
            if any(score < next_score for score, next_score in pairwise(answer.scores or ()))
        ]
        has_scores = not rising and all(answer.scores for answer in answers.values() if answer.doc_ids)
        ranked = GrowingRun(source)
        for query, answer in answers.items():
            ranked.ask(query)
            scores = (
                break_ties(np.array(answer.scores, np.float64)) if has_scores and answer.doc_ids else None
            )
            for position, doc_id in enumerate(answer.doc_ids):
                ranked.rank(query, doc_id, None if scores is None else float(scores[position]))
        cautions = _cautions([*answers.values()])
        if named_by == _ORDER_LABEL:
            cautions[NUMBERED] = (
                "no answer names its query, so queries are numbered in the order of the answers; write an "
                'answer in each line, with "query_id", or one in each file of a folder'
            )
        notes = (
            *Note.of(f"queries, named by {named_by}", query_ids),
            *Note.of("queries with scores that do not fall; the order of the results counts", rising),
            *Note.of(
                "queries with a document twice; the first one counts",
                [query for query, answer in answers.items() if answer.repeated],
            ),
            *Note.of(
                "queries with documents that have no usable id, which are left out",
                [query for query, answer in answers.items() if answer.unusable],
            ),
        )
        return FileContents(runs=(replace(ranked.run(), cautions=cautions),), notes=notes)

    def _replies(self, source: InputFile) -> Iterator[_Reply]:
        """All answers of a file or a folder."""
        parts = list_part_files(source) if is_folder(source) else (source,)
        if is_folder(source):
            self._refuse_others(source, parts)
        for part_file in parts:
            for line, value in _read_values(part_file):
                if isinstance(value, list):
                    for element in value:
                        yield from self._expanded(element, part_file, line)
                else:
                    yield from self._expanded(value, part_file, line)

    def _refuse_others(self, folder: InputFile, parts: Sequence[InputFile]) -> None:
        """Check that every file of a folder could be an answer, including empty files.

        Raises:
            InputError: a file is empty, a web page or in another format.
        """
        assert folder.path is not None
        for path in sorted(folder.path.iterdir()):
            if path.is_file() and not path.name.startswith(("_", ".")) and not path.stat().st_size:
                query = replace(folder, path=path).stem
                problem = (
                    "an empty file, where an answer is needed; ask again, or remove it and add to "
                    f"{folder.path}{SUFFIX}, so that the query counts as failed:"
                )
                raise InputError(
                    problem, source=str(path), code="empty-file", suggestions=(_failed_line(query),)
                )
        title = self.product.title
        for part_file in parts:
            first_bytes = part_file.head()
            if unsupported_problem := registry.unsupported_problem(first_bytes):
                raise InputError(unsupported_problem, source=part_file.label, code="unknown-format")
            if first_bytes.removeprefix(BOM).lstrip()[:1] not in _JSON_BEGINS:
                problem = (
                    f"it is not JSON, but in a folder with answers of {title} ({parts[0].label}); move it to "
                    f"another folder."
                )
                raise InputError(problem, source=part_file.label, code="mixed-formats")

    def _expanded(self, value: Json, file: InputFile, line: int | None) -> Iterator[_Reply]:
        """The answers in one value: the value itself, answers to several queries, or by query."""
        is_wrapped = not self._is_answer(value) and self.product.answers_in(value) is None
        query = _find_query(value, file, line, _WRAPPER_QUERY_KEYS if is_wrapped else QUERY_ID_KEYS)
        inner_value = value
        if not self._is_answer(value) and isinstance(value, dict):
            inner_value = next((value[key] for key in WRAPPER_KEYS if self._holds(value.get(key))), value)
        query_answers = self.product.answers_in(inner_value)
        if query_answers is not None and not self._is_answer(inner_value):
            for query_answer in query_answers:
                yield _Reply(query_answer, file, _find_query(query_answer, file, line), line)
        elif self._is_answer(inner_value):
            yield _Reply(inner_value, file, query, line)
        elif isinstance(value, dict) and value and all(map(self._is_answer, value.values())):
            for name, query_answer in value.items():
                yield _Reply(query_answer, file, name, line)
        else:
            raise self._refused(value, file, line)

    def _holds(self, value: Json) -> bool:
        return self._is_answer(value) or self.product.answers_in(value) is not None

    def _is_answer(self, value: Json) -> bool:
        """True for an answer of this product, including an error."""
        product = self.product
        if not isinstance(value, dict):
            return False
        if product.error_in(value):
            return True
        return any(
            isinstance(value_at_path(value, shape.hits), list) or shape.total_in(value) == 0
            for shape in (product.shape, *product.more_shapes)
        ) and (product.several != ("result",) or not _is_batch(value))

    def _refused(self, value: Json, file: InputFile, line: int | None) -> InputError:
        """The error for a value that is not an answer of this product."""
        title = self.product.title
        json_bytes = json.dumps(value).encode()
        readers = [_AnswerReader(product) for product in PRODUCTS]
        marked_products = [reader.product for reader in readers if reader.sniff(json_bytes, "")]
        matching_products = [reader.product for reader in readers if reader._is_answer(value)]  # noqa: SLF001
        other_product = next(iter((*marked_products, *matching_products)), None)
        description = f"an answer of {other_product.title}" if other_product else "JSON that is not an answer"
        hits_path = ".".join(self.product.shape.hits)
        problem = (
            f"{description}, where one of {title} is needed, with its documents at {hits_path}; move it to "
            "another folder or file, or name its format with --from."
        )
        return InputError(problem, source=file.label, line=line, code="mixed-formats")

    def _answer(self, reply: _Reply, query: str, source: InputFile) -> Answer:
        """The documents of an answer.

        Raises:
            InputError: the answer is an error, is incomplete, or has no usable id.
        """
        doc_id, score = (self._path(source, reply.value, column) for column in ("doc_id", "score"))
        answer = self.product.read(reply.value, doc_id, score)
        if isinstance(answer, Answer):
            return answer
        title, label = self.product.title, source.path or "RUN"
        error = self.product.error_in(reply.value)
        problem = (
            f"an error of {title}, where documents are needed: {error.rstrip('.')}"
            if error
            else f"an answer of {title} that cannot be used: {answer.problem}"
        )
        if NO_USABLE_ID in answer.problem:
            path = ".".join(doc_id or self.product.shape.doc_id)
            problem += f", expected at {path}; say where it is, such as:"
            suggestion = "--columns doc=_source.sku"
        else:
            problem += (
                f"; ask again, or remove the answer and add to {label}{SUFFIX}, so that the query counts as "
                "failed:"
            )
            suggestion = _failed_line(query)
        raise reply.error(problem, "engine-error", (suggestion,))

    def _path(self, source: InputFile, value: Json, column: str) -> Path | None:
        """The path of a document's id or score that the user chose; of several, the first found.

        A name without dots is also searched among stored fields, if clients have them.
        """
        column_path = source.renamed.get(column)
        if column_path is None:
            return None
        shapes = (self.product.shape, *self.product.more_shapes)
        hit_lists = [hits for shape in shapes if isinstance(hits := value_at_path(value, shape.hits), list)]
        first_hit = hit_lists[0][0] if hit_lists and hit_lists[0] else {}
        for name in column_path.split("|"):
            for path in (*((key, name) for key in STORED_KEYS), parse_path(name)):
                path_value = value_at_path(first_hit, path)
                if path_value is not MISSING:
                    return (*path, "0") if isinstance(path_value, list) else path
        return None

    def _query_ids(self, replies: Sequence[_Reply], source: InputFile) -> tuple[list[str], str]:
        """The query id of each answer, and the source of the ids.

        Raises:
            InputError: only some answers contain their query, or a query appears twice.
        """
        named_queries = [reply.query for reply in replies]
        if any(query is not None for query in named_queries):
            if None in named_queries:
                problem = 'no query_id in this answer, but in others; add "query_id": "…".'
                raise replies[named_queries.index(None)].error(problem, "missing-key")
            return _check_once(named_queries, replies), "a field"
        if is_folder(source):
            labels_so_far: set[str] = set()
            for reply in replies:
                if reply.file.label in labels_so_far:
                    problem = (
                        "several answers in one file of a folder, and nothing names their queries; add "
                        '"query_id": "…" to each of them.'
                    )
                    raise reply.error(problem, "missing-key")
                labels_so_far.add(reply.file.label)
            return _check_once([reply.file.stem for reply in replies], replies), "their files"
        path = self.product.echo
        echoed_queries = [MISSING if path is None else value_at_path(reply.value, path) for reply in replies]
        if all(isinstance(text, str) and text for text in echoed_queries):
            return _check_once(echoed_queries, replies), "the text of the request"
        if len(replies) == 1:
            return [source.stem], "the file"
        return [str(number) for number, _ in enumerate(replies, 1)], _ORDER_LABEL


def _check_once(query_ids: Sequence[Any], replies: Sequence[_Reply]) -> list[str]:
    """The queries, after a check that each appears once."""
    index_of_query: dict[str, int] = {}
    for index, query in enumerate(query_ids):
        if (first_index := index_of_query.setdefault(query, index)) != index:
            first_reply = replies[first_index]
            first_location = f"line {first_reply.line}" if first_reply.line else first_reply.file.label
            problem = (
                f"query {query!r} is answered twice (first in {first_location}, answer {first_index + 1}); "
                'keep one, or give each its "query_id": "…".'
            )
            raise replies[index].error(problem, "duplicate-query")
    return [*index_of_query]


def _cautions(answers: Sequence[Answer]) -> dict[str, str]:
    """The cautions for every result of the run, with the texts of a snapshot."""
    cautions: dict[str, str] = {}
    if repeated_count := sum(answer.repeated for answer in answers):
        cautions["repeated-documents"] = (
            f"{count_noun(repeated_count, 'document appears', 'documents appear')} again in one answer; the "
            "first position counts"
        )
    if unusable_count := sum(len(answer.unusable) for answer in answers):
        cautions["unusable-ids"] = (
            f"{count_noun(unusable_count, 'document has', 'documents have')} no usable id and "
            f"{'is' if unusable_count == 1 else 'are'} left out"
        )
    return cautions


def _failed_line(query: str) -> str:
    """The line that records a query as failed."""
    return json.dumps({"query_id": query, "state": "failed"}, ensure_ascii=False)


def _is_batch(value: JsonObject) -> bool:
    """True if Qdrant answers several queries: a list of lists, or of objects with points."""
    batch_results = value.get("result")
    first_result = batch_results[0] if isinstance(batch_results, list) and batch_results else None
    return isinstance(first_result, list) or (isinstance(first_result, dict) and "points" in first_result)


def _read_values(source: InputFile) -> Iterator[tuple[int | None, Any]]:
    """The values of a file, with their lines if each line has one value."""
    first_line, _, other_lines = source.head(_FIRST_LINE_BYTES).removeprefix(BOM).lstrip().partition(b"\n")
    if other_lines.strip() and _is_json(first_line):
        yield from read_json_lines(source)
    else:
        yield None, read_document(source)


def _is_json(text: bytes) -> bool:
    with suppress(ValueError, RecursionError):
        json.loads(text)
        return True
    return False


def _find_query(
    value: Json, file: InputFile, line: int | None, usual_keys: Sequence[str] = QUERY_ID_KEYS
) -> str | None:
    """The query in a field of an answer; None if there is no such field."""
    if not isinstance(value, dict):
        return None
    column_path = file.renamed.get("query_id")
    paths = [parse_path(column_name) for column_name in column_path.split("|")] if column_path else []
    for path in (*paths, *((key,) for key in usual_keys)):
        if (query := value_at_path(value, path)) is not MISSING and query is not None:
            return identifier(query, f"'{'.'.join(path)}'", file.label, line)
    return None


def _make_format(product: Product) -> Format:
    reader = _AnswerReader(product)
    return Format(
        name=product.name,
        title=f"Answers of {product.title} to searches",
        suffixes=(".json", ".ndjson", ".jsonl"),
        sniff=reader.sniff,
        read=reader.read,
        holds=("runs",),
        folders=True,
        paths=True,
        detail=(
            "The product's response to one search, or to several at once; a list of answers, an object with "
            "an answer under each query, JSON Lines with an answer a line, or a folder with a file for each "
            "query. The query is the answer's query_id, the file's name in a folder, the text that the "
            "answer repeats, or the number of the answer. Another field of documents can hold the id: "
            "--columns doc=sku, or a path as in doc=_source.sku. If scores do not fall, the order counts. An "
            "answer that is an error, or incomplete, is not read. "
            f"{product.source}"
        ),
    )


FORMATS = tuple(map(_make_format, PRODUCTS))
(ELASTICSEARCH, SOLR, ALGOLIA, VESPA, QDRANT, WEAVIATE, MEILISEARCH, TYPESENSE) = FORMATS
