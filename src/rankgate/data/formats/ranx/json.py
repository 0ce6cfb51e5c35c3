"""ranx's JSON: ``{"q1": {"d1": 2}}``, whole numbers for judgments and floats for a run."""

from __future__ import annotations

import json
import re
from itertools import chain
from typing import TYPE_CHECKING, Any, BinaryIO

from rankgate.core.errors import InputError
from rankgate.data import frames as memory
from rankgate.data.contents import FileContents
from rankgate.data.formats.format import Format
from rankgate.data.formats.tables import schemas
from rankgate.data.formats.writing import collect_grades, find_losses
from rankgate.data.text import json_text
from rankgate.data.text.json_reader import require_object
from rankgate.data.text.utf8 import BOM

if TYPE_CHECKING:
    from rankgate.data.formats.format import Loss
    from rankgate.data.qrels import Qrels
    from rankgate.data.run import Run
    from rankgate.data.streams.source import InputFile

NAME = "ranx"

_STRING = rb'"(?:[^"\\]|\\.)*+"\s*+'
_NUMBER = rb"-?\d++(?:\.\d++)?+(?:[eE][-+]?\d++)?+\s*+"
_EMPTY = _STRING + rb":\s*+\{\s*+\}\s*+,\s*+"
_FIRST_ROW = re.compile(
    rb"\{\s*+(?:"
    + _EMPTY
    + rb")*+"
    + _STRING
    + rb":\s*+\{\s*+"
    + _STRING
    + rb":\s*+"
    + _NUMBER
    + rb"[,}]"
)


def sniff(first_bytes: bytes, name: str) -> str | None:
    """An object of queries, each an object of documents with numbers."""
    if _FIRST_ROW.match(first_bytes.removeprefix(BOM).lstrip()):
        return "an object of queries, each of documents with numbers, as ranx and BEIR write"
    return None


def read(source: InputFile) -> FileContents:
    """Judgments if all numbers are whole, otherwise a run.

    Raises:
        InputError: another shape of JSON, a number that is invalid or not finite.
    """
    return contents_of(json_text.read_document(source), source)


def read_qrels(source: InputFile) -> Qrels:
    """Read judgments, regardless of their numbers."""
    return memory.qrels_of(
        require_numbers(json_text.read_document(source), source), source.stem, source.label
    )


def read_run(source: InputFile) -> Run:
    """A run, even if all of its scores are whole."""
    return memory.run_of(
        require_numbers(json_text.read_document(source), source), source.stem, source.label
    )


def contents_of(value: Any, source: InputFile) -> FileContents:
    """Judgments or a run from a dictionary of dictionaries.

    Raises:
        InputError: as `read`.
    """
    table = require_numbers(value, source)
    all_numbers = chain.from_iterable(row.values() for row in table.values())
    if all(isinstance(number, int) for number in all_numbers):
        return FileContents(qrels=memory.qrels_of(table, source.stem, source.label))
    return FileContents(runs=(memory.run_of(table, source.stem, source.label),))


def require_numbers(value: Any, source: InputFile) -> dict[str, dict[str, float]]:
    """The dictionary, checked to be one of dictionaries of numbers under ids.

    Raises:
        InputError: it is not.
    """
    table = require_object(value, source)
    for query, row in table.items():
        if not query or not isinstance(row, dict):
            problem = (
                f"query '{query}' has {json_text.describe_type(row)}, where documents are needed."
            )
            raise InputError(problem, source=source.label, code="wrong-type")
        for document, number in row.items():
            if not document or isinstance(number, bool) or not isinstance(number, int | float):
                problem = (
                    f"'{document}' of query '{query}' has {json_text.describe_type(number)}, "
                    "where an id "
                    "and a number are needed."
                )
                raise InputError(problem, source=source.label, code="wrong-type")
    return table


def write(contents: FileContents, out: BinaryIO) -> tuple[Loss, ...]:
    """The judgments if there are any, else the first run."""
    table, losses = table_of(contents)
    out.write(b"{")
    for index, (query, row) in enumerate(table.items()):
        line_start = ",\n  " if index else "\n  "
        row_text = json.dumps({query: row}, ensure_ascii=False, allow_nan=False)
        out.write((line_start + row_text[1:-1]).encode())
    out.write(b"\n}\n")
    return losses


def table_of(contents: FileContents) -> tuple[dict[str, dict[str, float]], tuple[Loss, ...]]:
    """The table to write: whole numbers for judgments that have no others, floats for a run.

    Raises:
        UsageError: neither judgments nor a run.
    """
    part_name, _ = schemas.choose_part(contents, ("qrels", "runs"))
    if part_name == "qrels" and contents.qrels:
        return collect_grades(contents.qrels), find_losses(contents, NAME, "qrels", "unjudged")
    run = contents.runs[0]
    table: dict[str, dict[str, float]] = {}
    for query, document, score in run.table.select("query_id", "doc_id", "score").iter_rows():
        table.setdefault(query, {})[document] = score
    if run.queries is not None:
        table |= {query: {} for query in run.queries["query_id"] if query not in table}
    losses = (*find_losses(contents, NAME, "runs", runs=1), *schemas.run_losses(run))
    return table, losses


FORMAT = Format(
    name=NAME,
    title="judgments and runs of ranx, BEIR and pytrec_eval as JSON",
    suffixes=(".json",),
    sniff=sniff,
    read=read,
    write=write,
    read_qrels=read_qrels,
    read_run=read_run,
    holds=("qrels", "runs"),
    loses="all parts but one; raters, scales, texts, a run's tag",
    detail=(
        'An object of queries, each an object of documents: {"q1": {"d1": 2}}; it is the form of '
        "ranx, of BEIR's files of results and of pytrec_eval. It holds judgments if all numbers "
        "are written as whole ones, otherwise a run, as ranx writes them; --as says otherwise. A "
        "query with an empty object has no judgments, or nothing was found for it."
    ),
)
