"""Judgments of SearchTweak (API and CSV export), and RankQuest's test cases.

SearchTweak's API returns the judgments of a finished evaluation; its export of judgments has the
columns ``grade,keyword,doc``. RankQuest's test cases are search contexts with rated documents.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, BinaryIO

import polars as pl

from rankgate.core.errors import InputError
from rankgate.data.foreign_frames import string_table
from rankgate.data.formats.collected_judgments import GrowingQrels
from rankgate.data.formats.format import Format, Loss
from rankgate.data.formats.format_writing import (
    collect_pooled_grades,
    find_losses,
    format_data,
    has_pairs,
    texts_by_query,
    with_text_ids,
    write_json,
)
from rankgate.data.formats.products.product_sheets import detect_columns, product_format
from rankgate.data.run import Run
from rankgate.data.table_rows import RowLocation
from rankgate.data.text.json_text import cell_text, detect_keys, read_records, whole_numbers

if TYPE_CHECKING:
    from rankgate.data.file_contents import FileContents
    from rankgate.data.streams.source import InputFile


_SEARCHTWEAK_NAME = "searchtweak"
_PAIR = ("query_id", "doc_id")
_MAX_POSITION = 10_000  # no list that people grade is longer
_DOCUMENT_SCHEMA = {"query_id": pl.String, "doc_id": pl.String, "position": pl.String}


def read_searchtweak(source: InputFile) -> FileContents:
    """Judgments, and the position of each document."""
    judged, position_of_pair = GrowingQrels(source), dict[tuple[str, str], str | None]()
    for judgment in read_records(source):
        for key in ("grade", "keyword", "doc"):
            judgment.require(key)
        position = judgment.get("position")
        if position is not None and type(position) is not int:
            problem = f"'position' of {judgment.path} is not a whole number."
            raise judgment.error(problem, "not-a-whole-number")
        query = judgment.id("keyword")
        judged.add_rating(query, judgment["doc"], judgment, "grade")
        position_of_pair.setdefault((query, str(judgment["doc"])), cell_text(position))
    if not position_of_pair:
        raise InputError("no judgments found.", source=source.label, code="no-judgments")
    rows = [(*pair, position) for pair, position in position_of_pair.items()]
    documents = pl.DataFrame(rows, schema=_DOCUMENT_SCHEMA, orient="row")
    run = _run_of_positions(documents, source)
    return judged.contents(runs=(run,) if run else (), documents=documents)


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


def write_searchtweak(contents: FileContents, out: BinaryIO) -> tuple[Loss, ...]:
    """A list of judgments; whole grades are integers, others have two decimals, as in the API."""
    contents, query_losses = with_text_ids(contents)
    positions, grades_by_query = _values_by_pair(contents, "position"), collect_pooled_grades(contents)
    rows, rounded_pairs = [], []
    for query, grades in grades_by_query.items():
        for doc, grade in grades.items():
            rounded_grade = None if grade is None else whole_numbers(round(grade, 2))
            rounded_pairs += [] if rounded_grade == grade else [f"{query} {doc} {grade:g}"]
            position = positions.get((query, doc), "")
            position_field = {"position": int(position)} if position.isdigit() else {}
            rows.append({"grade": rounded_grade, "keyword": query, **position_field, "doc": doc})
    write_json(out, rows, levels=1)
    kept_parts = ["qrels", *(["documents"] if has_pairs(contents) else [])]
    kept_parts += ["runs"] if any(map(str.isdigit, positions.values())) else []
    return (
        *find_losses(
            contents,
            _SEARCHTWEAK_NAME,
            *kept_parts,
            "unjudged",
            runs=1,
            documents=("position",) if has_pairs(contents) else None,
        ),
        *query_losses,
        *Loss.of(
            "queries without judgments", (query for query, grades in grades_by_query.items() if not grades)
        ),
        *Loss.of("grades beyond two decimals", rounded_pairs),
    )


def _values_by_pair(contents: FileContents, column: str) -> dict[tuple[str, str], str]:
    """The values of a column of documents by pair, without empty ones."""
    table = contents.documents
    if table is None or not {*_PAIR, column} <= set(table.columns):
        return {}
    return {(query, doc): text for query, doc, text in table.select(*_PAIR, column).iter_rows() if text}


SEARCHTWEAK_FORMAT = Format(
    name=_SEARCHTWEAK_NAME,
    title="SearchTweak's judgments from its API",
    suffixes=(".json",),
    sniff=detect_keys(("a list of objects with grade, keyword and doc", "[].grade", "[].keyword", "[].doc")),
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


SEARCHTWEAK_CSV_FORMAT = product_format(
    "searchtweak-csv",
    "SearchTweak's judgments as CSV",
    _SEARCHTWEAK_CSV_COLUMNS,
    detect_columns(
        "the first line names grade, keyword and doc, as SearchTweak does", *_SEARCHTWEAK_CSV_COLUMNS
    ),
    "CSV with the columns grade, keyword and doc, in any order. Grades are SearchTweak's aggregate of its "
    "raters and may be fractions; an empty one is unrated. Further columns (position) are kept as fields of "
    "the document for the keyword.",
)


_RANKQUEST_NAME = "rankquest"
_TEXT_KEYS = ("q", "query", "text", "searchText")


def read_rankquest(source: InputFile) -> FileContents:
    """Judgments by the ids of test cases, with their search contexts as queries."""
    judged, rows, raw_cases, labels = GrowingQrels(source), [], {}, []
    for case in read_records(source):
        query = case.id("id")
        if query in raw_cases:
            problem = f"{case.path} repeats the id '{query}' of an earlier entry; give each its own."
            raise case.error(problem, "duplicate-query")
        context = case.record("searchContext")
        # the text of the query: the part of the context with such a name, or the complete context
        texts = (context[name] for name in _TEXT_KEYS if isinstance(context.get(name), str))
        text = {
            "query_id": query,
            "text": next(texts, cell_text(context.values_except()) if context else None),
        }
        rows.append(text | context.texts(*text, *_TEXT_KEYS))
        judged.ask(query)
        rating_fields = {}
        for rating in case.records("ratings"):
            doc = rating.id("documentId")
            judged.add_rating(query, doc, rating)
            rating_fields[doc] = rating.values_except("documentId", "rating")
            labels.append({"query_id": query, "doc_id": doc, "label": cell_text(rating.get("label"))})
        raw_cases[query] = {"case": case.values_except("ratings"), "ratings": rating_fields}
    has_labels = any(row["label"] is not None for row in labels)
    return judged.contents(
        queries=string_table(rows) if rows else None,
        documents=string_table(labels) if has_labels else judged.pool(),
        extra={_RANKQUEST_NAME: {"cases": raw_cases}} if raw_cases else {},
    )


def write_rankquest(contents: FileContents, out: BinaryIO) -> tuple[Loss, ...]:
    """Write the test cases with the current ratings."""
    grades, text = collect_pooled_grades(contents), texts_by_query(contents)
    raw_cases = format_data(contents, _RANKQUEST_NAME).get("cases", {})
    labels = _values_by_pair(contents, "label")
    cases = []
    for query in dict.fromkeys([*(query for query in raw_cases if query in grades), *grades]):
        raw_case = raw_cases.get(query, {})
        ratings = []
        for doc, grade in grades[query].items():
            label_field = {"label": labels[query, doc]} if (query, doc) in labels else {}
            rating_fields = raw_case.get("ratings", {}).get(doc, label_field)
            ratings.append({"documentId": doc, "rating": grade, **rating_fields})
        new_case = {"id": query, "searchContext": {"q": text.get(query, query)}}
        cases.append({**raw_case.get("case", new_case), "ratings": ratings})
    write_json(out, cases)
    return find_losses(
        contents,
        _RANKQUEST_NAME,
        *("qrels", "unjudged", "queries", *(["documents"] if has_pairs(contents) else [])),
        queries=None if raw_cases else ("text",),
        documents=("label",) if has_pairs(contents) else None,
    )


RANKQUEST_FORMAT = Format(
    name=_RANKQUEST_NAME,
    title="RankQuest's test cases",
    suffixes=(".json",),
    sniff=detect_keys(
        ("a list of objects with searchContext and ratings", "[].searchContext", "[].id|[].ratings")
    ),
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
