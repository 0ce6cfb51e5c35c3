"""Lists of queries that people type, paste from a spreadsheet, or draw from a search log."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from rankgate.core.errors import InputError, UsageError
from rankgate.core.frozen import dataclass
from rankgate.core.present.number_formats import count_noun
from rankgate.data.logs.item_tables import read_frame
from rankgate.data.text.delimited_records import first_fields
from rankgate.data.text.spreadsheet_cells import number_rows
from rankgate.judging.pooling.pool_sampling import sample_queries

if TYPE_CHECKING:
    from rankgate.judging.pooling.pool_sampling import QuerySampling


_CODE = "invalid-queries"
_SOURCE = "queries"
_SEPARATORS = "\t;,"
_LONGEST = 2_000
"""The largest number of characters of a query."""

_ALIASES = {
    "query_id": ("query_id", "id", "qid"),
    "text": (
        *("text", "query", "query_text", "user_query", "search_query", "search_term"),
        *("keywords", "keyword", "search", "term", "q"),
    ),
    "frequency": ("frequency", "weight", "count", "searches", "traffic"),
    "information_need": ("information_need", "need", "description"),
}
"""The usual names of columns; earlier names take precedence."""


@dataclass(frozen=True)
class QueryList:
    """A parsed list of queries.

    Attributes:
        table: ``text`` and any of query_id, frequency, information_need, and tags.
        columns: the field for each column of a table; empty for a list of texts.
        repeated: the number of repeated texts, which count once.
    """

    table: pl.DataFrame
    columns: Mapping[str, str]
    repeated: int = 0


def parse_query_list(text: str) -> QueryList:
    """Parse typed queries, one per line, or a pasted table with column names in the first line.

    Raises:
        InputError: there are no queries; a table has no column of texts; a line does not fit.
    """
    plain_text = text.lstrip("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
    lines = plain_text.split("\n")
    first = next((index for index, line in enumerate(lines) if line.strip()), None)
    if first is None:
        raise InputError("there are no queries in it.", source=_SOURCE, code="no-queries")
    separator = _table_separator(lines[first:])
    if separator is None:
        texts: dict[str, None] = {}
        count = 0
        header = _column_name(next(line for line in lines if line.strip()))
        for number, line in enumerate(lines, 1):
            text = line.strip()
            if not text or (not count and not texts and header in _ALIASES["text"] and number == 1):
                continue
            _check_text(text, number)
            texts[text] = None
            count += 1
        if not texts:
            raise InputError("there are no queries in it.", source=_SOURCE, code="no-queries")
        return QueryList(pl.DataFrame({"text": list(texts)}), {}, count - len(texts))
    return _read_table(plain_text, first, separator)


def _table_separator(lines: Sequence[str]) -> str | None:
    """The separator of a table; None for plain texts, which may contain commas."""
    names = {name for aliases in _ALIASES.values() for name in aliases}
    for separator in _SEPARATORS:
        header = [_column_name(cell) for cell in first_fields(lines[0].encode(), separator)]
        if len(header) > 1 and (separator == "\t" or names & set(header)):
            return separator
    return None


def _column_name(cell: str) -> str:
    return cell.strip().lower().replace(" ", "_")


def _error(problem: str, line: int | None = None) -> InputError:
    return InputError(problem, source=_SOURCE, line=line, code=_CODE)


def _check_text(text: str, line: int) -> None:
    """Refuse texts that are not queries: code, very long texts, and texts without a letter."""
    if len(text) > _LONGEST:
        raise _error(f"the query has more than {_LONGEST:,} characters.", line)
    if text[0] in "{[<" and text[-1] in "}]>,":
        problem = f"{text[:40]!r} is not a query; send JSON and other formats as a file."
        raise _error(problem, line)
    if not any(sign.isalnum() for sign in text):
        raise _error(f"{text[:40]!r} has no letter and no digit.", line)


def _read_table(text: str, first: int, separator: str) -> QueryList:
    numbered_rows = number_rows(text, separator, _SOURCE)
    rows = [(line, row) for line, row in numbered_rows if any(map(str.strip, row))]
    names = [_column_name(cell) for cell in rows[0][1]]
    fields = _match_columns(names)
    if "text" not in fields.values():
        raise _error(
            f"the columns {', '.join(filter(None, names))[:200]} hold no texts of queries; call one of them "
            "query, as in: id, query, weight.",
            first + 1,
        )
    if len(set(names)) < len(names):
        raise _error("two columns have the same name.", first + 1)
    queries: list[dict[str, str | float | None]] = []
    line_of_id: dict[str, int] = {}
    line_of_text: dict[str, int] = {}
    repeated = 0
    for line, row in rows[1:]:
        query = _read_row(line, row, names, fields)
        text, query_id = str(query["text"]), query.get("query_id")
        if query_id is not None and str(query_id) in line_of_id:
            earlier_line = line_of_id[str(query_id)]
            raise _error(f"the id {query_id!r} is that of line {earlier_line}, too.", line)
        if query_id is None and text in line_of_text:
            repeated += 1
            continue
        line_of_id[str(query_id)] = line_of_text[text] = line
        queries.append(query)
    if not queries:
        problem = "there are names of columns and no queries."
        raise InputError(problem, source=_SOURCE, code="no-queries")
    column_names = list(dict.fromkeys(name for query in queries for name in query))
    schema = {name: pl.Float64 if name == "frequency" else pl.String for name in column_names}
    columns = {name: fields.get(name, "tag") for name in names if name}
    return QueryList(pl.DataFrame(queries, schema=schema), columns, repeated)


def _match_columns(names: Sequence[str]) -> dict[str, str]:
    """The field of each column with a known name; each field has one column."""
    return {
        name: field
        for field, aliases in _ALIASES.items()
        for name in [next((alias for alias in aliases if alias in names), None)]
        if name is not None
    }


def _read_row(
    line: int, row: Sequence[str], names: Sequence[str], fields: Mapping[str, str]
) -> dict[str, str | float | None]:
    if [cell for cell in row[len(names) :] if cell.strip()]:
        raise _error(f"there are {count_noun(len(row), 'cell')}, and {len(names)} names of columns.", line)
    query: dict[str, str | float | None] = {}
    for name, cell in zip(names, row, strict=False):
        value = cell.strip()
        if not name or not value:
            continue
        field = fields.get(name, name)
        query[field] = _read_number(name, value, line) if field == "frequency" else value
    if "text" not in query:
        raise _error("the query has no text.", line)
    _check_text(str(query["text"]), line)
    return query


def _read_number(name: str, value: str, line: int) -> float:
    try:
        number = float(value.replace(",", ".") if value.count(",") == 1 else value)
    except ValueError:
        number = -1.0
    if not isfinite(number) or number < 0:
        raise _error(f"{name} is {value[:40]!r}; it is a number from 0 on.", line)
    return number


def draw_from_log(path: Path, count: int, sampling: QuerySampling = "stratified", seed: int = 0) -> QueryList:
    """Draw queries from a search log, with the frequency of each query.

    Args:
        path: a table with a column of search queries: CSV, TSV, JSONL or Parquet.
        count: the number of queries; all if the log has fewer.
        sampling: as in `sample_queries`.
        seed: the seed of the random draws.

    Raises:
        InputError: the file is not a table, or has no column of queries.
    """
    counts = Counter(_read_searches(path))
    if not counts:
        raise InputError("the log has no searches.", source=path.name, code="no-queries")
    sizes = {text: float(number) for text, number in counts.items()}
    try:
        sampled_queries = sample_queries(list(counts), min(count, len(counts)), sampling, sizes, seed)
    except UsageError as error:
        raise InputError(error.problem, source=path.name, code=error.code) from None
    frequencies = [sizes[text] for text in sampled_queries["query_id"]]
    table = pl.DataFrame(
        {
            "text": sampled_queries["query_id"],
            "frequency": frequencies,
            "query_inclusion": sampled_queries["query_inclusion"].cast(pl.String),
            "query_stratum": sampled_queries["query_stratum"],
        }
    ).sort("frequency", descending=True, maintain_order=True)
    return QueryList(table, {}, sum(counts.values()) - len(counts))


def _read_searches(path: Path) -> Iterator[str]:
    """The text of each search, without surrounding blanks."""
    try:
        table, _ = read_frame(path, "a log")
        columns = {
            name: table[name].cast(pl.String)
            for name in table.columns
            if _column_name(name) in _ALIASES["text"]
        }
    except (InputError, pl.exceptions.PolarsError):
        problem = "it cannot be read as a table; send CSV, TSV, JSONL or Parquet."
        raise InputError(problem, source=path.name, code="invalid-log") from None
    names = {_column_name(name): name for name in reversed(list(columns))}
    column = next((names[alias] for alias in _ALIASES["text"] if alias in names), None)
    if column is None:
        raise InputError(
            f"no column is called query, user_query or search_term; there are "
            f"{', '.join(table.columns)[:200]}.",
            source=path.name,
            code="invalid-log",
        )
    for text in columns[column].drop_nulls():
        search = text.strip()
        if search and len(search) <= _LONGEST and any(sign.isalnum() for sign in search):
            yield search
