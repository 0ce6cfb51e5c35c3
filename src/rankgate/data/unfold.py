"""Unfold tables that hold lists: one row per document, whatever holds the list.

A list is a column of lists or of lists of objects, text in a cell (``727 514``, ``[727, 514]``,
``['a', 'b']``, ``a|b``), a column for each rank, or the only ranking of a table. Files and frames
are unfolded alike. Names and values say which list holds the documents; if two lists could, that is
an error. `paths` names them instead.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from rankgate.core.errors import InputError
from rankgate.core.frozen import dataclass
from rankgate.core.present.number_formats import count_noun
from rankgate.data.column_names import ALIASES, NAME_SEPARATOR, match_columns
from rankgate.data.table_rows import RowLocation

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

ONE_QUERY = "query"
"""The id of the query of a table that is one ranking."""
QUERY_TEXTS = ("query_text", "question", "text", "user_input", "input", "prompt")
"""Names of columns of queries in tables with lists, if no other column has them."""
LIST_COLUMN, RELEVANT_COLUMN = "docs", "relevant"
"""Our names of a list of documents, and of one of relevant documents, where a user names columns."""
CAUTIONS = {"grade": "judgments-unfolded", "score": "run-unfolded"}
"""The codes of cautions about tables that were unfolded by a guess."""

_QUERY_TEXT_ALIASES = frozenset({"query", "keyword"})  # ids only if no other column has them
_ANY_IDS = ("id", "_id")  # of rows, and of queries unless a query is elsewhere
QUERY_IDS = (*_ANY_IDS, "question_id", "task_id", "sample_id", "example_id", "narrative_id")
DOCUMENT_IDS = ("id", "_id", "id_", "key", "chunk_id", "corpus_id", "doc_uri")
RANKED = re.compile(r"(?i)rank|result|retriev|return|recommend|predict|hits|(^|\.)contexts$|(^|\.)response\.")
"""Names of lists that a system returned."""
RELEVANT = re.compile(
    r"(?i)expect|gold|relevant|reference|target|truth|positive|answer|evidence|(^|\.)context$"
)
"""Names of lists of relevant documents."""
_CITED = ("references", "narrative_id")
"""The list of an answer of TREC RAG, which is a ranking, and the last part of the query's name."""
_OTHER_NUMBERS = {"score": {*ALIASES["grade"]} - {*ALIASES["score"]}, "grade": set[str]()}
"""Names of lists of numbers that are neither documents nor their numbers."""
_NOT_DOCUMENTS = re.compile(r"(?i)negativ|haystack|tool|tags?$|embedding|message|metric|attribute|event")
_TOOLS = re.compile(r"(?i)(expect|gold|relevant|target|correct|retriev|rank|return)\w*[ _.]?(tool|api)s?$")
"""Names of lists of tools that are the documents of a search for tools."""
_JUDGED_RECORDS = frozenset({"labels", "judgments", "judgements", "qrels"})
"""Names of lists of relevant documents, if objects are in them; numbers there are grades."""
_IDS = re.compile(r"(?i)(^|[^a-z])_?ids?$|docids?$")
_LIST_NAMES = re.compile(r"(?i)(ids?|items?|docs?|documents?|products?|lists?)$")
"""Names of columns in which cells with blanks or commas may be lists."""
_RANK_COLUMN = re.compile(
    r"(?i)(rank|top|doc|document|item|product|result|hit|pos|position|rec|pred|prediction|#)?[ _.-]*(\d+)"
)
_TOKEN = r'"(?:[^"\\]|\\.)*"' + r"|'(?:[^'\\]|\\.)*'|" + r"""[^\[\](),\s'"]+"""
_EXAMPLE_VALUES, _MAX_LENGTH, _MAX_COLUMNS = 2, 20, 10  # values, their characters, and columns in errors
_FIRST_ROWS = 1000  # rows that show whether a column of text could hold lists
_MAX_PIECE = 1_000_000  # documents that are unfolded at a time


@dataclass(frozen=True)
class Lists:
    """The lists of a table, not yet read.

    Attributes:
        table: a row per query: ``query_id``, and ``doc_id`` and perhaps numbers as lists.
        lengths: of each row that has a list its number in the table, the query and the number of
            documents: ``row``, ``query_id``, ``documents``.
        explode: makes a row per document of rows of the table.
    """

    table: pl.LazyFrame
    lengths: pl.DataFrame
    explode: Callable[[pl.LazyFrame], pl.LazyFrame]

    @property
    def empty_queries(self) -> tuple[str, ...]:
        """The queries with an empty list."""
        return tuple(self.lengths.filter(pl.col("documents") == 0)["query_id"].to_list())

    @property
    def query_count(self) -> int:
        """The number of queries with documents."""
        return self.lengths.filter(pl.col("documents") > 0)["query_id"].n_unique()

    def _ends(self) -> NDArray[np.int64]:
        return np.cumsum(self.lengths["documents"].to_numpy(), dtype=np.int64)

    def row_of(self, document_row: int) -> int:
        """The row of the table that holds a row of the unfolded one, both from 0."""
        return int(self.lengths["row"][int(np.searchsorted(self._ends(), document_row, "right"))])

    def pieces(self) -> Iterator[pl.LazyFrame]:
        """A row per document, in pieces of whole lists of about a million documents."""
        ends, rows = self._ends(), self.lengths["row"]
        first, exploded = 0, 0
        while first < len(ends):
            last = max(int(np.searchsorted(ends, exploded + _MAX_PIECE, "right")) - 1, first)
            yield self.explode(self.table.slice(rows[first], rows[last] - rows[first] + 1))
            first, exploded = last + 1, int(ends[last])


@dataclass(frozen=True)
class Unfolded:
    """A table with one row per document.

    Attributes:
        rows: the table; with our names of columns if lists were unfolded.
        location: the location of its rows.
        documents: the column of the lists of documents; empty if there were none.
        lists: the lists, to be unfolded in pieces; None if there were none.
        caution: what was read by a guess, after a number or the name of the table; empty if nothing was.
    """

    rows: pl.LazyFrame
    location: RowLocation
    documents: str = ""
    lists: Lists | None = None
    caution: str = ""

    @property
    def empty_queries(self) -> tuple[str, ...]:
        """The queries with an empty list."""
        return self.lists.empty_queries if self.lists else ()

    def cautions(self, number: str, label: str) -> dict[str, str]:
        """The caution by its code."""
        return {CAUTIONS[number]: f"{label}: {self.caution}"} if self.caution else {}


def unfold(
    frame: pl.LazyFrame,
    number: str,
    label: str,
    paths: Mapping[str, str] | None = None,
    location: RowLocation | None = None,
) -> Unfolded:
    """One row per document, from a row per query with lists, or from the list of one query.

    >>> rows = pl.LazyFrame({"query": ["q"], "docs": [["a", "b"]], "labels": [[1, 0]]})
    >>> unfold(rows, "grade", "qrels").rows.collect().rows()
    [('q', 'a', 1), ('q', 'b', 0)]

    Args:
        frame: the table; a table with a row per document and a query is returned unchanged.
        number: ``grade`` or ``score``.
        label: the name of its origin in errors.
        paths: our columns and the paths that the user named; ``docs`` is the list, and the paths of
            documents and numbers begin in its elements.
        location: the location of the rows in a file.

    Raises:
        InputError: several lists could be the documents or their grades, lists of a row have
            other lengths, a query has two rankings, or a path does not exist.
    """
    location = location or RowLocation(label)
    schema = frame.collect_schema()
    usual = match_columns(schema.names(), ("query_id", "doc_id", number, "rank"))
    is_row_per_document = {"query_id", "doc_id"} < set(usual) and not any(
        isinstance(schema[name], pl.List) for name in usual.values()
    )
    if not paths and is_row_per_document and not (number in usual and _begins_list(frame, usual[number])):
        return Unfolded(frame, location)
    table, paths = flatten_structs(frame), paths or {}
    query = _find_query(table, paths)
    if query is None and paths:
        raise _missing_path(paths.get("query_id", "query"), table, label)
    if query is None:
        return Unfolded(_as_ranking_of_one_query(frame, usual.get("rank")), location)
    table, has_texts = _with_lists_from_texts(table, query, paths)
    ranks = _rank_columns(table) if number == "score" and "doc_id" not in usual else []
    if ranks:
        ids = [pl.col(name).cast(pl.String).str.strip_chars().replace("", None) for name in ranks]
        table = table.with_columns(pl.concat_list(ids).list.drop_nulls().alias(LIST_COLUMN))
    types = table.collect_schema()
    lists = {name: dtype.inner for name, dtype in types.items() if isinstance(dtype, pl.List)}
    if paths and not {LIST_COLUMN, "doc_id"}.isdisjoint(paths):
        columns = _named_lists(lists, paths, number, label)
        if not columns:
            return Unfolded(_named_columns(table, query, paths, number, label), location)
    else:
        columns = columns_of_lists(lists, query, number, label)
    if not columns:
        return Unfolded(frame, location)
    unfolded = _one_row_per_document(table, {"query_id": query} | columns, number, location, paths)
    is_plain = not has_texts and len(lists) == 1 and bool(match_columns([query], ("query_id",)))
    if paths or (is_plain and not ranks):
        return unfolded
    source = f"ranks in {ranks[0]} to {ranks[-1]}" if ranks else f"lists in '{columns['doc_id']}'"
    meaning = "rankings, the best first" if number == "score" else "relevant documents, each with grade 1"
    if number in columns:
        meaning = f"documents, with numbers in '{columns[number]}'"
    caution = f"{source} read as {meaning}, with '{query}' as queries; --columns names others"
    return replace(unfolded, caution=caution)


def _named_columns(
    table: pl.LazyFrame, query: str, paths: Mapping[str, str], number: str, label: str
) -> pl.LazyFrame:
    """The named columns of a table that has a row per document.

    Raises:
        InputError: there is no column of documents.
    """
    table_columns = table.collect_schema().names()
    path_columns = {
        column: _first_existing(paths.get(column), table_columns) for column in ("doc_id", number, "rank")
    }
    names = match_columns(table_columns, [column for column in (number, "rank") if column not in paths])
    names |= {column: name for column, name in path_columns.items() if name}
    if LIST_COLUMN in paths or "doc_id" not in names:
        raise _missing_path(paths.get(LIST_COLUMN) or paths["doc_id"], table, label)
    columns = {"query_id": query, **names}
    return table.select(**{column: pl.col(name) for column, name in columns.items()})


def _begins_list(frame: pl.LazyFrame, column: str) -> bool:
    """True if a column of text begins with a bracket."""
    if frame.collect_schema()[column] != pl.String:
        return False
    first = frame.select(pl.col(column).drop_nulls().first()).collect().item()
    return first is not None and first.lstrip().startswith("[")


def flatten_structs(table: pl.LazyFrame) -> pl.LazyFrame:
    """Fields of objects as columns named by their paths, as in ``inputs.query``."""
    columns = {
        path: column
        for name, dtype in table.collect_schema().items()
        for path, column in _fields(name, dtype, pl.col(name)).items()
    }
    return table.select(column.alias(path) for path, column in columns.items())


def _fields(name: str, dtype: Any, column: pl.Expr) -> dict[str, pl.Expr]:
    """The fields of a column of objects by their paths, at any depth; or the column itself."""
    if not isinstance(dtype, pl.Struct):
        return {name: column}
    return {
        path: field
        for inner in dtype.fields
        for path, field in _fields(
            f"{name}.{inner.name}", inner.dtype, column.struct.field(inner.name)
        ).items()
    }


def _find_query(table: pl.LazyFrame, paths: Mapping[str, str]) -> str | None:
    """The column of the queries: a named one, one with a usual name, or one with a unique id."""
    schema = table.collect_schema()
    if "query_id" in paths:
        return _first_existing(paths["query_id"], schema.names())
    plain = [name for name, dtype in schema.items() if not dtype.is_nested()]
    alias = match_columns(plain, ("query_id",)).get("query_id")
    if alias and alias.strip().lower() not in _QUERY_TEXT_ALIASES:
        return alias
    by_leaf = {name.rpartition(".")[2].lower(): name for name in reversed(plain) if "." in name}
    by_name = {name.lower(): name for name in reversed(plain)}
    leaf = next((by_leaf[name] for name in ("query_id", "qid", "query", "question") if name in by_leaf), None)
    ids = [key for key in QUERY_IDS if key in by_name]
    is_unique = [(pl.col(by_name[key]).n_unique() == pl.len()).alias(key) for key in ids]
    is_filled = [(pl.col(by_name[key]).null_count() == 0).alias(f"filled {key}") for key in ids]
    facts = table.select(*is_unique, *is_filled).collect().to_dicts()[0] if ids else {}
    unique_ids = [key for key in ids if facts[key] and facts[f"filled {key}"]]
    own_id = next((by_name[key] for key in unique_ids if key not in _ANY_IDS), None)
    any_id = next((by_name[key] for key in unique_ids), None)
    text = next((by_name[name] for name in QUERY_TEXTS if name in by_name), None)
    nested_id = next((by_leaf[name] for name in QUERY_IDS if name in by_leaf), None)
    return own_id or leaf or any_id or alias or text or nested_id


def _first_existing(path: str | None, names: Sequence[str]) -> str | None:
    """The first of several paths, separated by bars, that is a column."""
    return next((name for name in (path or "").split(NAME_SEPARATOR) if name in names), None)


def _with_lists_from_texts(
    table: pl.LazyFrame, query: str, paths: Mapping[str, str]
) -> tuple[pl.LazyFrame, bool]:
    """The table with lists in place of columns of text whose cells are all lists; True if there are any."""
    path_names = {name for path in paths.values() for name in path.split(NAME_SEPARATOR)}
    schema = table.collect_schema()
    texts = [name for name, dtype in schema.items() if dtype == pl.String and name != query]
    if not texts:
        return table, False
    row_count = table.select(pl.len()).collect().item()
    null_counts = table.select(pl.col(texts).null_count()).collect().to_dicts()[0]
    texts = [name for name in texts if null_counts[name] < row_count]
    is_list = {name: len(texts) == 1 or name in path_names for name in texts}
    first_rows = table.select(texts).head(_FIRST_ROWS).collect()
    could_be_lists = [  # others are not read any further
        column.name
        for column in first_rows
        if column.null_count() == len(column) or parse_lists(column, is_list=is_list[column.name]) is not None
    ]
    columns = table.select(could_be_lists).collect()
    # a row per document has repeated queries, a list has not
    query_count = table.select(pl.col(query).n_unique()).collect().item() if could_be_lists else row_count
    lists = [
        parsed
        for column in columns
        if query_count == row_count or str(column.drop_nulls().first()).lstrip().startswith("[")
        if (parsed := parse_lists(column, is_list=is_list[column.name])) is not None
    ]
    return (table.collect().with_columns(lists).lazy() if lists else table), bool(lists)


def parse_lists(texts: pl.Series, *, is_list: bool = False) -> pl.Series | None:
    """The lists that texts write; None if one of the texts is not a list. Empty text is null.

    >>> parse_lists(pl.Series(["['a', 'b']", "[]"])).to_list()
    [['a', 'b'], []]
    >>> parse_lists(pl.Series("ids", ["727 514", "3"])).to_list()
    [['727', '514'], ['3']]

    Args:
        texts: the cells of a column.
        is_list: True if nothing else in the table could be a list.
    """
    cells = texts.str.strip_chars().replace("", None)
    filled = cells.drop_nulls()
    if filled.is_empty():
        return None
    has_objects = bool(filled.str.contains(r"^\[\s*\{").any())
    if (filled.str.starts_with("[") & filled.str.ends_with("]")).all():
        # whole numbers of any size stay as they are written
        options: Any = {"infer_schema_length": None} if has_objects else {"dtype": pl.List(pl.String)}
        with suppress(pl.exceptions.PolarsError):
            return _with_numbers(cells.str.json_decode(**options))
        if has_objects or not filled.str.replace_all(_TOKEN, "").str.contains(r"^\[[\s,]*\]$").all():
            return None
        quoted = pl.element().str.contains(r"^['\"]")
        inner = pl.element().str.slice(1, pl.element().str.len_chars() - 2).str.replace_all(r"\\(.)", "$1")
        return cells.str.extract_all(_TOKEN).list.eval(pl.when(quoted).then(inner).otherwise(pl.element()))
    is_named = is_list or names_list(texts.name)
    for sign in ("|", ";", ",", " "):
        if not filled.str.contains(sign, literal=True).any():
            continue
        parts = (
            cells.str.split(sign)
            .list.eval(pl.element().str.strip_chars())
            .list.eval(pl.element().filter(pl.element() != ""))
        )
        list_cells = parts.explode().drop_nulls()
        has_blanks = sign != "|" and list_cells.str.contains(r"\s").any()
        has_brackets = list_cells.str.contains(r"^[\[{]|[\]}]$").any()
        is_text = sign == " " and not (_IDS.search(texts.name) or list_cells.str.contains(r"\d").all())
        is_id = sign in ",;" and bool(match_columns([texts.name], ("doc_id",)))  # one id has a comma
        return None if is_text or is_id or has_blanks or has_brackets or not is_named else parts
    return None


def names_list(name: str) -> bool:
    """True for names that lists of documents have.

    >>> names_list("expected"), names_list("item_ids"), names_list("title")
    (True, True, False)
    """
    return any(names.search(name) for names in (_LIST_NAMES, RANKED, RELEVANT))


def _with_numbers(lists: pl.Series) -> pl.Series:
    """Lists of texts that are all numbers, as numbers; whole numbers only if nothing is lost."""
    for dtype in (pl.Int64, pl.Float64) if lists.dtype == pl.List(pl.String) else ():
        with suppress(pl.exceptions.PolarsError):
            numbers = lists.cast(pl.List(dtype))
            has_fractions = dtype == pl.Float64 and (numbers.explode() % 1 != 0).any()
            if has_fractions or numbers.cast(lists.dtype).eq_missing(lists).all():
                return numbers
    return lists


def _rank_columns(table: pl.LazyFrame) -> list[str]:
    """The columns of ids that are numbered without a gap, as ``rank1``, ``rank2``; in their order."""
    numbered = {
        name: match
        for name, dtype in table.collect_schema().items()
        if (dtype == pl.String or dtype.is_integer()) and (match := _RANK_COLUMN.fullmatch(name.strip()))
    }
    numbers = table.select(pl.col(*numbered).cast(pl.Float64, strict=False)).collect() if numbered else ()
    groups: dict[str, dict[int, str]] = {}
    for column in numbers:
        if not (column != column.floor()).any():  # scores are no ids
            match = numbered[column.name]
            groups.setdefault((match[1] or "").lower(), {})[int(match[2])] = column.name
    columns: dict[int, str] = next((group for group in groups.values() if len(group) > 1), {})
    ranks = sorted(columns)
    return (
        [columns[rank] for rank in ranks]
        if ranks and ranks == [*range(ranks[0], ranks[0] + len(ranks))]
        else []
    )


def _named_lists(
    lists: Mapping[str, Any], paths: Mapping[str, str], number: str, label: str
) -> dict[str, str]:
    """The lists that the user named: documents, and numbers in a list beside them.

    Raises:
        InputError: two lists have names that the user gave.
    """
    stated = paths.get(LIST_COLUMN) or next(
        (path for path in [paths.get("doc_id")] if _first_existing(path, [*lists])), None
    )
    if stated is None:
        return {}
    names = [name for name in stated.split(NAME_SEPARATOR) if name in lists]
    if not names:
        return {}
    pattern = RELEVANT if number == "grade" else RANKED
    documents = _single_name(
        [name for name in names if pattern.search(name)] or names, "the documents", label
    )
    numbers = _first_existing(paths.get(number), [*lists])
    return {"doc_id": documents} | ({number: numbers} if numbers else {})


def _missing_path(path: str, table: pl.LazyFrame, label: str) -> InputError:
    """The error for a path that is no column, with the columns and two values of each."""
    columns = []
    for column in table.select(table.collect_schema().names()[:_MAX_COLUMNS]).head(_FIRST_ROWS).collect():
        values = [str(value)[:_MAX_LENGTH] for value in column.drop_nulls().head(_EXAMPLE_VALUES).to_list()]
        columns.append(f"{column.name} ({', '.join(values)})")
    problem = f"no {path} among {'; '.join(columns)}."
    return InputError(problem, source=label, code="missing-column")


def _one_row_per_document(
    table: pl.LazyFrame,
    columns: Mapping[str, str],
    number: str,
    location: RowLocation,
    paths: Mapping[str, str],
) -> Unfolded:
    """The lists of a table, to be unfolded.

    Raises:
        InputError: the lists of a row have other lengths, a query has two rankings, or no field of
            the objects in a list could be the documents.
    """
    table = table.select(**{column: pl.col(name) for column, name in columns.items()})
    lengths = (
        table.with_row_index("row")
        .select(
            "row",
            "query_id",
            pl.col("doc_id").list.len().alias("documents"),
            *([pl.col(number).list.len().fill_null(0)] if number in columns else []),
        )
        .filter(pl.col("documents").is_not_null())
        .collect(engine="streaming")
        .sort("row")
    )
    if number in columns:
        unequal = lengths.filter(pl.col("documents") != pl.col(number))
        if len(unequal):
            row, _, document_count, number_count = unequal.row(0)
            line = location.line(row)
            problem = (
                f"{'' if line else f'row {row + 1} has '}{count_noun(document_count, 'document')} in "
                f"{columns['doc_id']} and {count_noun(number_count, 'number')} in {columns[number]}; make "
                "them equal."
            )
            raise InputError(problem, source=location.file(row), line=line, code="wrong-shape")
    elif number == "score":
        repeated = lengths.filter(pl.col("query_id").is_duplicated()).sort("row")
        if len(repeated):
            raise _two_rankings_error(repeated, location)
    name = columns["doc_id"]
    explode = partial(_explode, number=number, name=name, label=location.label, paths=paths)
    rows = explode(table)
    rows.collect_schema()  # the fields of objects are found, or there is an error
    lists = Lists(table, lengths.with_columns(pl.col("query_id").cast(pl.String)), explode)
    row_location = RowLocation(
        location.label, lambda row: location.line(lists.row_of(row)), source_row=lists.row_of
    )
    return Unfolded(rows, row_location, name, lists)


def _two_rankings_error(rows: pl.DataFrame, location: RowLocation) -> InputError:
    """The error for the first query that has several rows.

    Args:
        rows: the rows of such queries, as in `Lists.lengths`.
        location: the location of the rows of the table.
    """
    query_id = rows["query_id"][0]
    first, second, *_ = of_query = rows.filter(pl.col("query_id") == query_id)["row"].to_list()
    line = location.line(second)
    both_lines = (
        f"on lines {location.line(first)} and {line}" if line else f"in rows {first + 1} and {second + 1}"
    )
    problem = (
        f"query {str(query_id)!r} has {len(of_query)} rankings, {both_lines}; keep one, or name another "
        "column of queries."
    )
    return InputError(problem, source=location.file(second), line=line, code="duplicate-query")


def _explode(
    table: pl.LazyFrame, *, number: str, name: str, label: str, paths: Mapping[str, str]
) -> pl.LazyFrame:
    """A row per document: the query, the document, and its number or rank.

    Raises:
        InputError: no field could be the documents.
    """
    length = pl.col("doc_id").list.len()
    rows = table.filter(length > 0).with_columns(rank=pl.int_ranges(1, length + 1))
    types = rows.collect_schema()
    rows = rows.explode([column for column in ("doc_id", number, "rank") if column in types])
    numbers: list[Any] = [number] if number in types else []
    document = pl.col("doc_id")
    dtype = types["doc_id"].inner  # type: ignore[attr-defined]
    if isinstance(dtype, pl.Struct):
        document, value = _fields_of_records(dtype, number, name, label, paths)
        numbers = numbers or ([] if value is None else [value.alias(number)])
    if not numbers:
        numbers = ["rank"] if number == "score" else [pl.lit(1.0).alias("grade")]
    return rows.select("query_id", document.alias("doc_id"), *numbers)


def _fields_of_records(
    dtype: pl.Struct, number: str, name: str, label: str, paths: Mapping[str, str]
) -> tuple[pl.Expr, pl.Expr | None]:
    """The documents and their numbers in objects, by path, usual name or last part of a path.

    Raises:
        InputError: no field could be the documents.
    """
    fields = {path.removeprefix("."): field for path, field in _fields("", dtype, pl.col("doc_id")).items()}
    names = [*fields]
    by_leaf = {path.rpartition(".")[2]: path for path in reversed(names)}
    by_leaf = {renamed_fields(name, [*by_leaf]).get(leaf, leaf): path for leaf, path in by_leaf.items()}
    usual = match_columns(by_leaf, ("doc_id", number))
    documents = _first_existing(paths.get("doc_id"), names)
    if documents is None and paths.get("doc_id", name) == name:
        key = usual.get("doc_id") or next((key for key in DOCUMENT_IDS if key in by_leaf), None)
        documents = by_leaf[key] if key else None
    if documents is None:
        problem = (
            f"no id of documents among {', '.join(names[:10])} in the lists of '{name}'; --columns "
            f"docs={name},doc=FIELD."
        )
        raise InputError(problem, source=label, code="missing-column")
    numbers = _first_existing(paths.get(number), names)
    is_scored = number == "score" or "score" not in str(usual.get(number))
    if numbers is None and number not in paths and is_scored and number in usual:
        numbers = by_leaf[usual[number]]
    return fields[documents].cast(pl.String), fields.get(numbers or "")


def columns_of_lists(lists: Mapping[str, Any], query: str, number: str, label: str) -> dict[str, str]:
    """Our columns in a table with lists (ours -> theirs); empty for a table without lists.

    Judgments have lists of relevant documents, perhaps with their grades; a run has a ranking,
    perhaps with its scores.

    Args:
        lists: the types of the elements of the lists, by column.
        query: the column of queries.
        number: ``grade`` or ``score``.
        label: the name of the table in errors.

    Raises:
        InputError: several lists could be the documents or their numbers, or none.
    """
    if not lists:
        return {}
    names = match_columns(lists, ("doc_id", number))
    numbers = [name for name, dtype in lists.items() if dtype.is_numeric()]
    documents = [
        name
        for name, dtype in lists.items()
        if (dtype == pl.String or dtype.is_integer() or _has_id(dtype))
        and (not _NOT_DOCUMENTS.search(name) or _TOOLS.search(name))
        and name.lower() not in _OTHER_NUMBERS[number]
    ]
    is_cited = query.rpartition(".")[2] == _CITED[1]
    ranked = [name for name in documents if RANKED.search(name) or (is_cited and name == _CITED[0])]
    relevant = [
        name
        for name in documents
        if name not in ranked
        and (
            RELEVANT.search(name) or (name.lower() in _JUDGED_RECORDS and isinstance(lists[name], pl.Struct))
        )
    ]
    number_lists = [names[number]] if number in names else []
    if number == "score":
        documents = ranked or [name for name in documents if name not in relevant]
    else:
        documents = [name for name in documents if name not in ranked]
        texts = [name for name in documents if name not in numbers]
        if not number_lists and texts:
            number_lists = [name for name in numbers if name not in {*ranked, *relevant}]
        documents = relevant or documents
    if remaining := [name for name in documents if name not in number_lists]:
        documents = remaining
    else:  # ``prediction`` is a usual name of scores, and of the only list
        number_lists = []
    if "doc_id" in names and (number == "grade" or not ranked):
        documents = [names["doc_id"]]
    texts = [name for name in documents if name not in numbers]
    documents = [name for name in documents if _IDS.search(name)] or texts or documents
    columns = {"query_id": query, "doc_id": _single_name(documents, "the documents", label)}
    if number_lists:
        columns[number] = _single_name(number_lists, "their numbers", label)
    return columns


def _has_id(dtype: Any) -> bool:
    """True for objects with a usual name of ids of documents in them, at any depth."""
    return isinstance(dtype, pl.Struct) and any(
        inner.name in DOCUMENT_IDS or match_columns([inner.name], ("doc_id",)) or _has_id(inner.dtype)
        for inner in dtype.fields
    )


def _single_name(names: Sequence[str], meaning: str, label: str) -> str:
    """The only name.

    Raises:
        InputError: no name, or several names.
    """
    if len(names) != 1:
        lists = f"the lists {' and '.join(names)} could each be" if names else "no list could be"
        problem = f"{lists} {meaning}; give a row per document, or {{query: {{document: number}}}}."
        if names and meaning == "the documents":
            problem = f"{lists} {meaning}; name one:"
        lines = tuple(f"--columns {LIST_COLUMN}={name}" for name in names) if problem.endswith(":") else ()
        code = "ambiguous-column" if names else "missing-column"
        raise InputError(problem, source=label, code=code, suggestions=lines)
    return names[0]


def _as_ranking_of_one_query(frame: pl.LazyFrame, rank: str | None) -> pl.LazyFrame:
    """A ranking as that of a query, if each rank from 1 occurs once; its only texts are documents."""
    if rank is None or not frame.collect_schema()[rank].is_integer():
        return frame
    table = frame.collect()
    if table[rank].sort().to_list() != list(range(1, len(table) + 1)):
        return frame
    texts = [name for name, dtype in table.schema.items() if dtype == pl.String]
    if not match_columns(table.columns, ("doc_id",)) and len(texts) == 1:
        table = table.rename({texts[0]: "doc_id"})
    return table.with_columns(query_id=pl.lit(ONE_QUERY)).lazy()


ALS_LIST = "recommendations"
"""The column of lists that ``recommendForAllUsers`` of Spark's ALS makes."""


def renamed_fields(list_name: str, names: Sequence[str]) -> dict[str, str]:
    """The fields of a list of documents to be renamed: ``rating`` in `ALS_LIST` is a score."""
    is_predicted = list_name == ALS_LIST and "rating" in names and "score" not in names
    return {"rating": "score"} if is_predicted else {}
