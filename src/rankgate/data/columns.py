"""The names that other tools give our columns; they end here."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import polars as pl

from rankgate.core.errors import InputError, UsageError
from rankgate.data.dataframes import is_frame, lazy_frame
from rankgate.data.qrels import OPTIONAL

_FRAME = ("query_id", "doc_id", "grade", "score", "rank")
"""The columns that frames of judgments and runs have."""

ALIASES: Mapping[str, tuple[str, ...]] = {
    "query_id": (
        "query_id", "qid", "query-id", "query", "q_id", "queryid", "topic", "topic_id",
        "user_id", "user", "keyword", "request_id", "userid", "uid",
    ),
    "doc_id": (
        "doc_id", "docid", "docno", "doc-id", "doc", "document", "document_id", "documentid",
        "corpus-id", "pid", "item_id", "item", "product_id", "itemid", "iid", "movie_id",
        "movieid",
    ),
    "grade": (
        "grade", "relevance", "rel", "rating", "label", "gain", "judgment", "judgement", "score",
    ),
    "score": ("score", "sim", "similarity", "prediction"),
    "rank": ("rank", "position"),
    "subtopic": ("subtopic", "subtopic_id"),
    "subtopic_weight": ("subtopic_weight", "intent_weight", "intent_probability"),
    "inclusion": ("inclusion",),
    "stratum": ("stratum",),
    "rater": ("rater", "judge", "assessor", "annotator", "user_email", "rater_id"),
    "text": ("text", "query_text", "title"),
    "metric": ("metric", "measure"),
    "value": ("value",),
}  # fmt: skip
"""For each of our columns the names it may have, best first; upper and lower case are one."""

_TEXTS = frozenset({"doc", "document", "item"})
"""Names of ids that hold a text or a title where another column holds the id."""


def named(found: Iterable[str], wanted: Iterable[str]) -> dict[str, str]:
    """Which column of a table is which of ours: ours -> theirs, for those that are there."""
    theirs: dict[str, str] = {}
    for name in found:
        theirs.setdefault(name.strip().lower(), name)
    columns = {ours: _first(theirs, ours) for ours in wanted}
    return {ours: theirs[alias] for ours, alias in columns.items() if alias}


def _first(theirs: Mapping[str, str], ours: str) -> str | None:
    """The best of the names that a column may have, among those that are there."""
    names = [alias for alias in ALIASES[ours] if alias in theirs]
    ids = [name for name in names if name not in _TEXTS] if ours == "doc_id" else []
    return next(iter(ids or names), None)


def document_columns(names: Iterable[str]) -> tuple[str, ...]:
    """The columns that could hold the ids of documents, as PyTerrier has ``docid`` and ``docno``.

    >>> document_columns(["qid", "docid", "docno", "item", "score"])
    ('docid', 'docno')
    """
    theirs = {name.strip().lower(): name for name in names}
    ids = [alias for alias in ALIASES["doc_id"] if alias in theirs and alias not in _TEXTS]
    return tuple(theirs[alias] for alias in ids)


def one_document_column(names: Iterable[str], label: str) -> None:
    """Check that one column holds the ids of documents; ``doc_id`` goes before all others.

    Raises:
        InputError: several could, and none is called ``doc_id``.
    """
    columns = document_columns(names)
    if len(columns) > 1 and columns[0].strip().lower() != "doc_id":
        problem = (
            f"{' and '.join(columns)} could both hold the ids of documents; remove one, or name "
            f"the right one with columns: doc={columns[-1]}."
        )
        raise InputError(problem, source=label, code="ambiguous-column")


def renamed(table: Any, columns: Mapping[str, str] | None) -> Any:
    """A frame, or a list or mapping of frames, under our names; anything else as it is.

    Args:
        table: what may be a frame.
        columns: ours -> theirs; columns that the frame lacks are ignored.

    Raises:
        UsageError: a column that is not one of ours.
    """
    if not columns:
        return table
    for ours in columns:
        if ours not in _FRAME:
            raise UsageError(
                f"frames have no column '{ours}' here; use {', '.join(_FRAME)}.",
                code="missing-column",
            )
    if isinstance(table, list | tuple):
        return [renamed(each, columns) for each in table]
    if isinstance(table, Mapping):
        return {
            name: renamed(each, columns) if is_frame(each) else each for name, each in table.items()
        }
    if not is_frame(table):
        return table
    frame = lazy_frame(table)
    names = frame.collect_schema().names()
    said = {ours: theirs for ours, theirs in columns.items() if theirs in names}
    ids = document_columns(names) if "doc_id" in said else ()
    others = [name for name in names if name not in {*said, *said.values(), *ids}]
    return frame.select(*others, *(pl.col(theirs).alias(ours) for ours, theirs in said.items()))


def is_header(fields: Iterable[str]) -> bool:
    """Whether a line names columns: a query and a document are among them."""
    return {"query_id", "doc_id"} <= set(named(fields, ("query_id", "doc_id")))


def graded(found: Iterable[str]) -> bool:
    """Whether columns are those of judgments: a grade is among them, and no score or rank.

    ``score`` alone is of a run, though some tools call a grade so.
    """
    lower = {name.strip().lower() for name in found}
    return bool(lower & {*ALIASES["grade"]} - {"score"}) and not lower & {"score", "sim"}


def missing_column(ours: str, columns: Sequence[str], noun: str = "column") -> str:
    """What a table lacks and how to name it; judgments in the place of a run are called so."""
    names = ", ".join(ALIASES[ours][:4])
    problem = f"no {noun} for {ours} among {', '.join(columns)}; name one {names}."
    if ours == "score" and graded(columns):
        return f"{problem} These are judgments, which come before the run."
    return problem


def shaped(
    frame: pl.LazyFrame, number: str, label: str, document: str | None = None
) -> pl.LazyFrame:
    """A table with our columns and dtypes from one with anybody's names.

    A run may have a rank instead of a score; rank 1 is best. Judgments may have the columns that
    few have.

    Args:
        frame: the table.
        number: ``grade`` or ``score``.
        label: what errors call its origin.
        document: the column of the ids of documents, where several could be it.

    Raises:
        InputError: a column is missing, or two could hold the ids of documents; ids are neither
            strings nor whole numbers.
    """
    schema = frame.collect_schema()
    found = named(schema.names(), ("query_id", "doc_id", number, "rank"))
    if document is None:
        one_document_column(schema.names(), label)
    else:
        found["doc_id"] = document
    if number == "score" and "score" not in found and "rank" in found:
        frame = frame.with_columns(-pl.col(found["rank"]).cast(pl.Float64).alias("score"))
        found["score"] = "score"
    for ours in ("query_id", "doc_id", number):
        if ours not in found:
            problem = missing_column(ours, schema.names())
            raise InputError(problem, source=label, code="missing-column")
    for ours in ("query_id", "doc_id"):
        dtype = schema[found[ours]]
        text = dtype in (pl.String, pl.Categorical, pl.Enum)
        if not text and not dtype.is_integer():
            problem = f"column {found[ours]} holds {dtype}; ids are strings: cast the column."
            raise InputError(problem, source=label, code="invalid-id")
    optional = named(schema.names(), OPTIONAL) if number == "grade" else {}
    return frame.select(
        pl.col(found["query_id"]).cast(pl.String).alias("query_id"),
        pl.col(found["doc_id"]).cast(pl.String).alias("doc_id"),
        pl.col(found[number]).cast(pl.Float64).alias(number),
        *(pl.col(optional[ours]).cast(OPTIONAL[ours]).alias(ours) for ours in optional),
    )


def shaped_by_column(frame: pl.LazyFrame, number: str, label: str) -> dict[str, pl.LazyFrame]:
    """As `shaped`, by each column that could hold the ids of documents.

    Raises:
        InputError: as `shaped`.
    """
    columns = document_columns(frame.collect_schema().names())
    if len(columns) < 2:
        return {"doc_id": shaped(frame, number, label)}
    return {column: shaped(frame, number, label, column) for column in columns}


def strings(rows: Sequence[Mapping[str, str | None]], first: Sequence[str] = ()) -> pl.DataFrame:
    """Rows as a table of strings: the first columns, then those that any row has."""
    names = dict.fromkeys([*first, *(name for row in rows for name in row)])
    columns = {name: [row.get(name) for row in rows] for name in names}
    return pl.DataFrame(columns, schema=dict.fromkeys(names, pl.String))
