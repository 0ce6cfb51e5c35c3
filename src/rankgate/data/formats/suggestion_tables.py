"""Tables of suggestions: completions by typed prefix, corrections of queries, facets."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import polars as pl

from rankgate.core.errors import DuplicateError, InputError
from rankgate.data.file_contents import FileContents
from rankgate.data.formats.collected_judgments import GrowingQrels, GrowingRun
from rankgate.data.formats.format import Format
from rankgate.data.formats.products.product_sheets import detect_columns
from rankgate.data.text.spreadsheet_cells import read_csv_rows, require_width
from rankgate.data.text.text_values import number_fault

if TYPE_CHECKING:
    from rankgate.core.value_types import Schema
    from rankgate.data.run import Run
    from rankgate.data.streams.source import InputFile


_COMPLETIONS = ("target", "prefix", "suggestion")
_CORRECTIONS = ("query", "correction", "expected")
_FACETS = ("query", "facet", "documents")
_MAY_BE_EMPTY = frozenset({"prefix", "suggestion", "correction", "documents"})
_QUERY_SCHEMA: Schema = {
    "query_id": pl.String,
    "state": pl.String,
    "sequence": pl.String,
    "position": pl.Float64,
}


def read_completions(source: InputFile) -> FileContents:
    """Read a ranking for each prefix of a query; the query itself is relevant."""
    qrels, lists = GrowingQrels(source), _RankingLists(source)
    for line, row in _read_rows(source, _COMPLETIONS):
        target, prefix = row["target"], row["prefix"]
        if not target.lower().startswith(prefix.lower()):
            problem = f"'{prefix}' is not a prefix of '{target}'."
            raise InputError(problem, source=source.label, line=line, code="wrong-shape")
        if target not in qrels.asked:
            qrels.add(target, target, 1, f"line {line}")
        lists.add(line, f"{target}#{len(prefix)}", row["suggestion"], row, target, float(len(prefix)))
    return FileContents(qrels=qrels.qrels()[0], runs=(lists.run(),))


def read_corrections(source: InputFile) -> FileContents:
    """Read the corrections of each query as a ranking; the expected text is judged."""
    qrels, lists = GrowingQrels(source), _RankingLists(source)
    expected: dict[str, str] = {}
    for line, row in _read_rows(source, _CORRECTIONS):
        query = row["query"]
        if expected.setdefault(query, row["expected"]) != row["expected"]:
            problem = f"'{query}' has two expected texts; separate several by bars."
            raise InputError(problem, source=source.label, line=line, code="wrong-shape")
        if query not in qrels.asked:
            for text in dict.fromkeys(map(str.strip, row["expected"].split("|"))):
                qrels.add(query, text, 1, f"line {line}")
        lists.add(line, query, row["correction"], row)
    return FileContents(qrels=qrels.qrels()[0], runs=(lists.run(),))


def read_facets(source: InputFile) -> FileContents:
    """Read each facet of a query as a ranking of its documents; judgments are in another file."""
    lists = _RankingLists(source)
    facets_by_query: dict[str, set[str]] = {}
    for line, row in _read_rows(source, _FACETS):
        query, facet = row["query"], row["facet"]
        facets = facets_by_query.setdefault(query, set())
        if facet in facets:
            problem = f"facet '{facet}' appears twice for query '{query}'; keep one."
            raise DuplicateError(problem, source=source.label, line=line)
        facets.add(facet)
        rank = _read_rank(row, source, line)
        position = float(len(facets)) if rank is None else rank
        for doc in row["documents"].split("|"):
            lists.add(line, f"{query}#{facet}", doc.strip(), {}, query, position)
    return FileContents(runs=(lists.run(),))


class _RankingLists:
    """The rows of a run while it is read, and the data of its rankings."""

    def __init__(self, source: InputFile) -> None:
        self._source = source
        self._ranked = GrowingRun(source)
        self._lists: dict[str, dict[str, Any]] = {}
        self._documents: dict[str, set[str]] = {}

    def add(
        self,
        line: int,
        ranking: str,
        doc: str,
        row: dict[str, str],
        sequence: str | None = None,
        position: float | None = None,
    ) -> None:
        """Add a suggestion; an empty one is a list without suggestions."""
        list_data = {"query_id": ranking, "state": "zero", "sequence": sequence, "position": position}
        self._lists.setdefault(ranking, list_data)
        if not doc:
            return
        documents = self._documents.setdefault(ranking, set())
        if doc in documents:
            problem = f"'{doc}' appears twice in the list of '{ranking}'; keep one."
            raise DuplicateError(problem, source=self._source.label, line=line)
        documents.add(doc)
        rank = _read_rank(row, self._source, line)
        self._ranked.rank(ranking, doc, -(float(len(documents)) if rank is None else rank))
        self._lists[ranking]["state"] = "ok"

    def run(self) -> Run:
        """Return the run.

        Raises:
            InputError: there are no rows.
        """
        if not self._lists:
            raise InputError("there are no rows in it.", source=self._source.label, code="no-rankings")
        queries = pl.DataFrame(list(self._lists.values()), schema=_QUERY_SCHEMA)
        if queries["sequence"].is_null().all():
            queries = queries.drop("sequence", "position")
        return replace(self._ranked.run(), queries=queries)


def _read_rows(source: InputFile, columns: tuple[str, ...]) -> Iterator[tuple[int, dict[str, str]]]:
    """The rows of a table with their lines, under our names.

    Raises:
        InputError: a column is missing, a row has another length, or a required field is empty.
    """
    (_, header), *rows = read_csv_rows(source.everything(), source) or [(1, ())]
    names = [name.strip().lower() for name in header]
    missing_columns = [name for name in columns if name not in names]
    if missing_columns:
        problem = f"no column '{missing_columns[0]}' among {', '.join(names)}."
        raise InputError(problem, source=source.label, line=1, code="missing-column")
    required_columns = [name for name in columns if name not in _MAY_BE_EMPTY]
    for line, fields in require_width(rows, len(names), source.label):
        row = dict(zip(names, map(str.strip, fields), strict=True))
        empty_column = next((name for name in required_columns if not row[name]), None)
        if empty_column:
            raise InputError(f"{empty_column} is empty.", source=source.label, line=line, code="empty-value")
        yield line, row


def _read_rank(row: dict[str, str], source: InputFile, line: int) -> float | None:
    """The rank of a row, or None."""
    text = row.get("rank", "")
    if not text:
        return None
    if fault := number_fault(text, "rank"):
        raise InputError(fault, source=source.label, line=line, code="not-a-number")
    return float(text)


def _make_format(
    name: str,
    title: str,
    columns: tuple[str, ...],
    read: Callable[[InputFile], FileContents],
    holds: tuple[str, ...],
    detail: str,
) -> Format:
    sniff = detect_columns(f"the first line names {', '.join(columns)}", *columns, separators=",\t;")
    return Format(
        name=name, title=title, suffixes=(".csv", ".tsv"), sniff=sniff, read=read, holds=holds, detail=detail
    )


COMPLETIONS = _make_format(
    "completions",
    "suggestions while a query is typed",
    _COMPLETIONS,
    read_completions,
    ("runs", "qrels"),
    "Columns target (the query that a user means), prefix (what is typed), suggestion and perhaps rank; an "
    "empty suggestion is a prefix without suggestions. The lists after each prefix are the rankings of a "
    "target, and the target is the relevant document: rankgate eval table.csv table.csv -m PrefixRR@3 -m "
    "KeystrokesSaved@10 -m MinKeystrokes.",
)
CORRECTIONS = _make_format(
    "corrections",
    "corrections of queries, applied or suggested (did you mean)",
    _CORRECTIONS,
    read_corrections,
    ("runs", "qrels"),
    "Columns query (as it was typed), correction, expected (several between bars) and perhaps rank; an empty "
    "correction, or the query itself, means no change. Corrections are a run, expected texts are judgments: "
    "rankgate eval table.csv table.csv -m CorrectionP -m CorrectionR.",
)
FACETS = _make_format(
    "facets",
    "facets shown for queries, with their documents",
    _FACETS,
    read_facets,
    ("runs",),
    "Columns query, facet, documents (ids between bars) and perhaps rank. Each facet is a ranking of its "
    "documents, and the query is their task: with judgments of documents EvidenceR@3 measures the documents "
    "that the first three facets reach, FirstUseful the first facet that leads to a relevant document, "
    "Redundancy how much facets overlap.",
)
