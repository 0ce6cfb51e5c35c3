"""Judgments of SearchTweak (API and CSV export), and RankQuest's test cases.

SearchTweak's API returns the judgments of a finished evaluation; its export of judgments has the
columns ``grade,keyword,doc``. RankQuest's test cases are search contexts with rated documents.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, BinaryIO

import polars as pl

from rankgate.core.errors import InputError
from rankgate.data.file_contents import FileContents
from rankgate.data.foreign_frames import string_table
from rankgate.data.formats.collected_judgments import GrowingQrels
from rankgate.data.formats.format import Format, Loss
from rankgate.data.formats.format_writing import (
    cell_text,
    collect_pooled_grades,
    column_losses,
    find_losses,
    format_data,
    has_pairs,
    texts_by_query,
    with_text_ids,
    write_json,
)
from rankgate.data.formats.products.product_sheets import product_format
from rankgate.data.run import Run
from rankgate.data.table_rows import RowLocation
from rankgate.data.text import delimited_records
from rankgate.data.text.json_text import (
    describe_type,
    has_keys,
    identifier,
    list_objects,
    matches_key,
    objects_under_key,
    read_document,
    read_id,
    read_object,
    whole_numbers,
)

if TYPE_CHECKING:
    from rankgate.core.value_types import Json, JsonObject
    from rankgate.data.streams.source import InputFile


_SEARCHTWEAK_NAME = "searchtweak"
_PAIR = ("query_id", "doc_id")
_MAX_POSITION = 10_000  # no list that people grade is longer
_DOCUMENT_SCHEMA = {"query_id": pl.String, "doc_id": pl.String, "position": pl.String}


def sniff_searchtweak(first_bytes: bytes, name: str) -> str | None:
    """A list of grade, keyword and doc."""
    if has_keys(first_bytes, "[].grade", "[].keyword", "[].doc"):
        return "a list of objects with grade, keyword and doc"
    return None


def read_searchtweak(source: InputFile) -> FileContents:
    """Judgments, and the position of each document."""
    judgments = read_document(source)
    if not isinstance(judgments, list):
        problem = f"{describe_type(judgments)}, where a list of judgments is needed."
        raise InputError(problem, source=source.label, code="wrong-type")
    judged = GrowingQrels(source.label)
    rows: dict[tuple[str, str], str | None] = {}
    for index, judgment in enumerate(judgments):
        json_path = f"[{index}]"
        query, doc, grade, position = _read_fields(judgment, json_path, source.label)
        judged.add(query, doc, grade, json_path, "grade")
        rows.setdefault((query, str(doc)), position)
    qrels, notes = judged.qrels(source.stem)
    columns = [[pair[0] for pair in rows], [pair[1] for pair in rows], list(rows.values())]
    documents = pl.DataFrame(dict(zip(_DOCUMENT_SCHEMA, columns, strict=True)), schema=_DOCUMENT_SCHEMA)
    if qrels is None:
        raise InputError("no judgments found.", source=source.label, code="no-judgments")
    run = _run_of_positions(documents, source)
    return FileContents(
        qrels=qrels, runs=(run,) if run else (), documents=documents if rows else None, notes=notes
    )


def _run_of_positions(documents: pl.DataFrame, source: InputFile) -> Run | None:
    """The graded lists; None without positions, or if two documents share one or one is no rank.

    A position that is not in the answer holds an ungraded document, which keeps its rank.
    """
    position = pl.col("position").cast(pl.Float64)  # a whole number of any size
    graded = documents.select("query_id", "doc_id", position).drop_nulls("position")
    is_shared = graded.select("query_id", "position").is_duplicated().any()
    if graded.is_empty() or is_shared or not graded["position"].is_between(1, _MAX_POSITION).all():
        return None
    graded = graded.with_columns(pl.col("position").cast(pl.Int64))
    ranks = graded.group_by("query_id", maintain_order=True).agg(pl.col("position").max())
    ranks = ranks.with_columns(pl.int_ranges(1, pl.col("position") + 1).alias("position")).explode("position")
    ungraded = pl.format("(ungraded at {})", "position")
    rows = ranks.join(graded, ["query_id", "position"], "left", maintain_order="left").select(
        "query_id", pl.col("doc_id").fill_null(ungraded), score=-pl.col("position").cast(pl.Float64)
    )
    return Run(source.stem, lambda: iter([rows]), place=RowLocation(source.label))


def _read_fields(judgment: Json, json_path: str, label: str) -> tuple[str, Json, Json, str | None]:
    if not isinstance(judgment, dict):
        raise InputError(
            f"{json_path} is {describe_type(judgment)}, where an object is needed.",
            source=label,
            code="wrong-type",
        )
    for key in ("grade", "keyword", "doc"):
        if key not in judgment:
            raise InputError(f"{json_path} has no '{key}'.", source=label, code="missing-key")
    position = judgment.get("position")
    if position is not None and (not isinstance(position, int) or isinstance(position, bool)):
        raise InputError(
            f"'position' of {json_path} is not a whole number.", source=label, code="not-a-whole-number"
        )
    position_text = None if position is None else str(position)
    return (
        identifier(judgment["keyword"], f"'keyword' of {json_path}", label),
        judgment["doc"],
        judgment["grade"],
        position_text,
    )


def write_searchtweak(contents: FileContents, out: BinaryIO) -> tuple[Loss, ...]:
    """A list of judgments; whole grades are integers, others have two decimals, as in the API."""
    contents, query_losses = with_text_ids(contents)
    table = contents.documents
    positions = _positions_of_pairs(table)
    rows, rounded_pairs = [], []
    for query, grades in collect_pooled_grades(contents).items():
        for doc, grade in grades.items():
            rounded_grade = None if grade is None else whole_numbers(round(grade, 2))
            rounded_pairs += [] if rounded_grade == grade else [f"{query} {doc} {grade:g}"]
            position = positions.get((query, doc))
            position_field = {"position": int(position)} if position else {}
            rows.append({"grade": rounded_grade, "keyword": query, **position_field, "doc": doc})
    write_json(out, rows, levels=1)
    has_documents = has_pairs(contents)
    kept_parts = ("qrels", "documents") if has_documents else ("qrels",)
    if has_documents and positions:
        kept_parts = (*kept_parts, "runs")
    return (
        *find_losses(contents, _SEARCHTWEAK_NAME, *kept_parts, "unjudged", runs=1),
        *query_losses,
        *column_losses("documents", table if has_documents else None, (*_PAIR, "position")),
        *Loss.of("queries without judgments", _queries_without_documents(contents)),
        *Loss.of("grades beyond two decimals", rounded_pairs),
    )


def _positions_of_pairs(table: pl.DataFrame | None) -> dict[tuple[str, str], str]:
    """The position of each document for a query, if given."""
    if table is None or not {*_PAIR, "position"} <= set(table.columns):
        return {}
    rows = table.select(*_PAIR, "position").iter_rows()
    return {(query, doc): position for query, doc, position in rows if position and position.isdigit()}


def _queries_without_documents(contents: FileContents) -> list[str]:
    """The queries without judgments and documents."""
    pooled = collect_pooled_grades(contents)
    return [query for query, documents in pooled.items() if not documents]


SEARCHTWEAK_FORMAT = Format(
    name=_SEARCHTWEAK_NAME,
    title="SearchTweak's judgments from its API",
    suffixes=(".json",),
    sniff=sniff_searchtweak,
    read=read_searchtweak,
    write=write_searchtweak,
    holds=("qrels", "runs", "documents"),
    loses="raters, scales, queries without judgments, digits after the second decimal",
    detail=(
        "The answer of SearchTweak's API for a finished evaluation: a list of objects with grade, keyword, "
        "position and doc. The grades are its aggregate of the raters, whole or with two decimals; a null "
        "grade is unrated. The positions are the list of the keyword, as a run; a position without a grade "
        "counts as an ungraded document."
    ),
)


_SEARCHTWEAK_CSV_COLUMNS = {"grade": "grade", "keyword": "query_id", "doc": "doc_id"}


def sniff_searchtweak_csv(first_bytes: bytes, name: str) -> str | None:
    """The columns grade, keyword and doc."""
    if delimited_records.names_columns(first_bytes, *_SEARCHTWEAK_CSV_COLUMNS):
        return "the first line names grade, keyword and doc, as SearchTweak does"
    return None


SEARCHTWEAK_CSV_FORMAT = product_format(
    "searchtweak-csv",
    "SearchTweak's judgments as CSV",
    _SEARCHTWEAK_CSV_COLUMNS,
    sniff_searchtweak_csv,
    "CSV with the columns grade, keyword and doc, in any order. Grades are SearchTweak's aggregate of its "
    "raters and may be fractions; an empty one is unrated. Further columns (position) are kept as fields of "
    "the document for the keyword.",
)


_RANKQUEST_NAME = "rankquest"
_TEXT_KEYS = ("q", "query", "text", "searchText")


def sniff_rankquest(first_bytes: bytes, name: str) -> str | None:
    """A list of test cases."""
    if has_keys(first_bytes, "[].searchContext") and matches_key(first_bytes, r"\[\]\.(id|ratings).*"):
        return "a list of objects with searchContext and ratings"
    return None


def read_rankquest(source: InputFile) -> FileContents:
    """Judgments by the ids of test cases, with their search contexts as queries."""
    label = source.label
    judged, rows, raw_cases, labels = GrowingQrels(label), [], {}, []
    for json_path, case in list_objects(read_document(source), "", label):
        query = read_id(case, "id", json_path, label)
        if query in raw_cases:
            raise InputError(
                f"{json_path} repeats the id '{query}' of an earlier entry; give each its own.",
                source=label,
                code="duplicate-query",
            )
        context = read_object(case, "searchContext", json_path, label)
        rows.append({"query_id": query, "text": _query_text(context), **_other_fields(context)})
        judged.ask(query)
        other_fields: dict[str, Json] = {key: value for key, value in case.items() if key != "ratings"}
        rating_fields = {}
        for rating_path, rating in objects_under_key({"ratings": [], **case}, "ratings", json_path, label):
            doc = read_id(rating, "documentId", rating_path, label)
            judged.add(query, doc, rating.get("rating"), rating_path, "rating")
            rating_fields[doc] = {
                key: rating_value
                for key, rating_value in rating.items()
                if key not in {"documentId", "rating"}
            }
            labels.append({"query_id": query, "doc_id": doc, "label": cell_text(rating.get("label"))})
        raw_cases[query] = {"case": other_fields, "ratings": rating_fields}
    qrels, notes = judged.qrels(source.stem)
    label_table = string_table(labels, ("query_id", "doc_id", "label"))
    return FileContents(
        qrels=qrels,
        queries=string_table(rows) if rows else None,
        documents=label_table if label_table["label"].null_count() < len(label_table) else judged.pool(),
        extra={_RANKQUEST_NAME: {"cases": raw_cases}} if raw_cases else {},
        notes=notes,
    )


def _query_text(context: JsonObject) -> str | None:
    """The text of the query: the part of the context with such a name, or the complete context."""
    for name in _TEXT_KEYS:
        if isinstance(context.get(name), str):
            return str(context[name])
    return cell_text(dict(context)) if context else None


def _other_fields(context: JsonObject) -> dict[str, str | None]:
    """The other parts of the context."""
    own_columns = {"query_id", "text", *_TEXT_KEYS}
    return {key: cell_text(value) for key, value in context.items() if key not in own_columns}


def write_rankquest(contents: FileContents, out: BinaryIO) -> tuple[Loss, ...]:
    """Write the test cases with the current ratings."""
    grades, text = collect_pooled_grades(contents), texts_by_query(contents)
    raw_cases, labels = (
        format_data(contents, _RANKQUEST_NAME).get("cases", {}),
        _labels_by_pair(contents.documents),
    )
    cases = []
    for query in dict.fromkeys([*(query for query in raw_cases if query in grades), *grades]):
        raw_case = raw_cases.get(query, {})
        new_case = {"id": query, "searchContext": {"q": text.get(query, query)}}
        ratings = []
        for doc, grade in grades[query].items():
            label_field = {"label": labels[query, doc]} if labels.get((query, doc)) else {}
            rating_fields = raw_case.get("ratings", {}).get(doc, label_field)
            ratings.append({"documentId": doc, "rating": grade, **rating_fields})
        case = raw_case.get("case", new_case)
        cases.append({**case, "ratings": ratings})
    write_json(out, cases)
    kept_parts = ["qrels", "unjudged", "queries", *(["documents"] if has_pairs(contents) else [])]
    own_columns = (
        () if not raw_cases else tuple(contents.queries.columns if contents.queries is not None else ())
    )
    return (
        *find_losses(contents, _RANKQUEST_NAME, *kept_parts),
        *column_losses("queries", contents.queries, ("query_id", "text", *own_columns)),
        *column_losses(
            "documents", contents.documents if has_pairs(contents) else None, ("query_id", "doc_id", "label")
        ),
    )


def _labels_by_pair(documents: pl.DataFrame | None) -> dict[tuple[str, str], str]:
    names = ("query_id", "doc_id", "label")
    if documents is None or not {*names} <= set(documents.columns):
        return {}
    return {(query, doc): label for query, doc, label in documents.select(names).iter_rows() if label}


RANKQUEST_FORMAT = Format(
    name=_RANKQUEST_NAME,
    title="RankQuest's test cases",
    suffixes=(".json",),
    sniff=sniff_rankquest,
    read=read_rankquest,
    write=write_rankquest,
    holds=("qrels", "queries", "documents"),
    loses="raters, scales, runs",
    detail=(
        "A list of test cases, each with an id, a search context and rated documents. The id identifies the "
        "query; q of the context is its text, the other fields are columns. Labels, comments and tags come "
        "back as they were. A null rating is unrated."
    ),
)
