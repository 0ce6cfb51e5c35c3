"""Shared parts of writers: judgments by query, texts, and the list of losses."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, BinaryIO

import polars as pl

from rankgate.data.formats.format import Loss
from rankgate.data.qrels import SCHEMA
from rankgate.data.text.json_text import whole

if TYPE_CHECKING:
    from rankgate.data.contents import FileContents
    from rankgate.data.qrels import Qrels
    from rankgate.data.run import Run


_PAIR = ["query_id", "doc_id"]
_ENCODER = json.JSONEncoder(ensure_ascii=False, allow_nan=False)


def by_query(qrels: Qrels) -> dict[str, dict[str, float]]:
    """The grades of each query's documents; queries without judgments come last, empty.

    Raises nothing: a pair appears once in judgments.
    """
    table = qrels.table
    found: dict[str, dict[str, float]] = {}
    columns = (table["query_id"], table["doc_id"], table["grade"])
    for query, document, grade in zip(*(column.to_list() for column in columns), strict=True):
        found.setdefault(query, {})[document] = whole(grade)
    for query in qrels.unjudged:
        found.setdefault(query, {})
    return found


def pooled_by_query(contents: FileContents) -> dict[str, dict[str, float | None]]:
    """As `by_query`, with the documents that belong to a query and have no grade: None.

    Raises:
        InputError: there are no judgments.
    """
    grades = by_query(contents.judgments(""))
    found: dict[str, dict[str, float | None]] = {q: {**known} for q, known in grades.items()}
    for query, document in unrated(contents).iter_rows():
        found.setdefault(query, {})[document] = None
    return found


def by_pair(contents: FileContents) -> bool:
    """Whether documents are listed per query, so that they are a pool for it."""
    return contents.documents is not None and {*_PAIR} <= set(contents.documents.columns)


def unrated(contents: FileContents) -> pl.DataFrame:
    """The pairs of query and document, in the order of documents, that are not judged."""
    documents, qrels = contents.documents, contents.qrels
    if documents is None or not by_pair(contents):
        return pl.DataFrame(schema=dict.fromkeys(_PAIR, pl.String))
    pairs = documents.select(_PAIR).unique(maintain_order=True)
    return pairs if qrels is None else pairs.join(qrels.table, _PAIR, "anti", maintain_order="left")


def appearance(table: pl.DataFrame) -> pl.Series:
    """The row in which the query of each row is first: to sort by, queries in file order."""
    rows = table.select("query_id").with_row_index("place")
    return rows.select(pl.col("place").min().over("query_id")).to_series()


def ranking_by_query(run: Run) -> dict[str, list[tuple[str, float]]]:
    """Each query's documents with their scores, best first; equal scores in file order."""
    table = run.table.with_columns(appearance(run.table).alias("first")).sort(
        ["first", "score"], descending=[False, True], maintain_order=True
    )
    found: dict[str, list[tuple[str, float]]] = {}
    for query, document, score in table.select("query_id", "doc_id", "score").iter_rows():
        found.setdefault(query, []).append((document, score))
    return found


def texts(contents: FileContents) -> dict[str, str]:
    """The text of each query that has one."""
    table = contents.queries
    if table is None or not {"query_id", "text"} <= set(table.columns):
        return {}
    rows = zip(table["query_id"].to_list(), table["text"].to_list(), strict=True)
    return {query: text for query, text in rows if text}


def known(table: pl.DataFrame | None, key: str) -> dict[str, dict[str, str]]:
    """The rows of a table of strings by an id, without its nulls."""
    if table is None or key not in table.columns:
        return {}
    return {
        row[key]: {name: value for name, value in row.items() if value is not None}
        for row in table.iter_rows(named=True)
    }


def own(contents: FileContents, name: str) -> Mapping[str, Any]:
    """What only this format knows of the contents; empty where it is not from there."""
    found = contents.extra.get(name)
    return found if isinstance(found, dict) else {}


def lost(
    contents: FileContents, name: str, *kept: str, runs: int | None = None
) -> tuple[Loss, ...]:
    """What is lost where a format writes some parts.

    Args:
        contents: all of it.
        name: the format, whose own fields are kept.
        kept: the parts that it writes, with ``scale`` and ``unjudged`` where it writes these.
        runs: how many runs it writes; all if not given.
    """
    others = {owner: value for owner, value in contents.extra.items() if owner != name}
    documents, qrels = contents.documents, contents.qrels
    bare = documents is not None and set(documents.columns) == {*_PAIR}
    left = replace(contents, extra=others, documents=None if bare else documents)
    found = list(left.losses(*kept, runs=runs))
    if qrels and "documents" not in kept:
        pairs = (f"{query} {document}" for query, document in unrated(contents).iter_rows())
        found += Loss.of("pairs without a grade", pairs)
    if qrels is None or "qrels" not in kept:
        return tuple(found)
    if qrels.scale and "scale" not in kept:
        shown = f"{qrels.scale.lowest:g} to {qrels.scale.highest:g}"
        found.append(Loss("scale of the grades", 1, (shown,)))
    if "unjudged" not in kept:
        found += Loss.of("queries without judgments", qrels.unjudged)
    columns = [name for name in qrels.table.columns if name not in SCHEMA]
    return (*found, *Loss.of("columns of judgments", columns))


def lost_columns(what: str, table: pl.DataFrame | None, kept: Iterable[str]) -> tuple[Loss, ...]:
    """The columns of a table that a format has no place for."""
    names = [] if table is None else [name for name in table.columns if name not in {*kept}]
    return Loss.of(f"fields of {what}", names)


def put(out: BinaryIO, value: Any, levels: int = 3) -> None:
    """Write one JSON document: a line for each thing in its outer levels.

    Python's own indentation would break every inner object into lines, and takes ten times as
    long.
    """
    out.write(_in_lines(whole(value), levels).encode() + b"\n")


def _in_lines(value: Any, levels: int, pad: str = " ") -> str:
    if not levels or not isinstance(value, dict | list) or not value:
        return _ENCODER.encode(value)
    if isinstance(value, dict):
        pairs = value.items()
        inner = [f"{_ENCODER.encode(k)}: {_in_lines(v, levels - 1, pad + ' ')}" for k, v in pairs]
    else:
        inner = [_in_lines(each, levels - 1, pad + " ") for each in value]
    first, last = "{}" if isinstance(value, dict) else "[]"
    return f"{first}\n{pad}" + f",\n{pad}".join(inner) + f"\n{pad[1:]}{last}"


def text_of(value: Any) -> str | None:
    """A JSON value as a string of a table: strings as they are, others as JSON, null as null."""
    if value is None or isinstance(value, str):
        return value
    return json.dumps(whole(value), ensure_ascii=False)
