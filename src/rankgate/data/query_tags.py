"""Tags and clusters of queries.

Tags such as head or tail, intent, critical come from a file, from features, or from ids. Clusters
are a column of the table of queries, or near-copies by text.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from rankgate.core.errors import InputError, UsageError
from rankgate.core.present.number_formats import count_noun
from rankgate.data.foreign_frames import polars_frame
from rankgate.data.formats.run_companions import read
from rankgate.data.id_match import IdRules
from rankgate.data.streams.source import open_source
from rankgate.data.table_rows import in_row_order

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rankgate.data.input_types import TagsLike
    from rankgate.data.streams.source import InputFile


IDS = "ids:"
"""The beginning of a pattern of ids, in place of a file of tags."""
_FEATURE = "feature_"
_QUARTERS = 4  # groups of the queries, by the mean of a feature
_NAMES = ("query_id", "qid", "query-id", "query", "topic", "user_id", "user")


def read_tags(tags: TagsLike, query_ids: pl.Series, tag_names: Sequence[str] = ()) -> pl.DataFrame:
    """Read tags as a table: from a frame, a file, or ids of queries by a regular expression.

    Args:
        tags: a frame, a file, or ``ids:PATTERN``, whose named groups are the tags:
            ``ids:(?P<topic>.+)_(?P<turn>[0-9]+)``. An id that does not match has no tags.
        query_ids: the ids to match with a pattern.
        tag_names: see `read_tags_file`.

    Raises:
        InputError: see `read_tags_file`.
        UsageError: the pattern is not a regular expression, or has no named groups.
    """
    if not isinstance(tags, str | Path):
        return _with_queries(polars_frame(tags, "tags"), "tags")
    if not str(tags).startswith(IDS):
        return read_tags_file(tags, tag_names)
    pattern = str(tags).removeprefix(IDS)
    try:
        groups = list(re.compile(pattern).groupindex)
    except re.error as error:
        problem = f"--tags {tags}: not a regular expression: {error}."
        raise UsageError(problem, code="invalid-syntax") from None
    if not groups:
        problem = f"--tags {tags}: name the tags, as in ids:(?P<topic>.+)_(?P<turn>[0-9]+)."
        raise UsageError(problem, code="invalid-syntax")
    matches = [re.fullmatch(pattern, query_id) for query_id in query_ids.to_list()]
    columns = {name: [match and match[name] for match in matches] for name in groups}
    frame = pl.DataFrame(columns, schema=dict.fromkeys(groups, pl.String))
    return frame.insert_column(0, query_ids.alias("query_id"))


def matching_tags(
    tags: TagsLike, query_ids: pl.Series, tag_names: Sequence[str] = (), id_rules: str | None = None
) -> pl.DataFrame:
    """As `read_tags`, with a check that the table has some of the queries.

    Args:
        tags: see `read_tags`.
        query_ids: the judged queries.
        tag_names: see `read_tags`.
        id_rules: see ``Collection.ids``.

    Raises:
        InputError: the table has none of the queries, or their ids do not fit; see also
            `read_tags_file`.
        UsageError: see `read_tags`.
    """
    source, tables = source_name(tags, "tags"), ("the judgments", "the tags")
    raw_table = read_tags(tags, query_ids, tag_names)
    table = IdRules.read(id_rules).fitting(raw_table, query_ids, tables, source)
    ids = table["query_id"]
    if len(ids) and len(query_ids) and not ids.is_in(query_ids.implode()).any():
        problem = (
            f"none of its {count_noun(ids.n_unique(), 'query')} ({ids[0]}, …) is among the "
            f"{count_noun(query_ids.n_unique(), 'judged one')} ({query_ids[0]}, …); give the tags of these."
        )
        raise InputError(problem, source=source, code="ids-do-not-match")
    return table


def source_name(source: object, name: str) -> str:
    """The path of a source, or a name for what is in memory."""
    return str(source) if isinstance(source, str | Path) else name


def read_tags_file(path: str | Path, tag_names: Sequence[str] = ()) -> pl.DataFrame:
    """``query_id`` and a column of strings for each tag.

    Args:
        path: CSV or TSV with column names in the first line; JSONL (``.jsonl``), one object a
            query; or a file of features, whose tag ``feature_7`` is the quarter of the queries
            by the mean of feature 7 over a query's documents.
            A file of traces has what they say of each query: its trace, session, user, time.
        tag_names: the needed tags; a file of features has no others.

    Raises:
        InputError: the file cannot be read, has no queries or tags, or a query is repeated.
    """
    input_file = open_source(path)
    if (trace_tags := _read_trace_tags(input_file)) is not None:
        return trace_tags
    if ".jsonl" in Path(path).suffixes or ".ndjson" in Path(path).suffixes:
        return read(path).drop("state", "latency_ms", "error", "censored")
    if (features := _read_feature_tags(input_file, tag_names)) is not None:
        return features
    table = read_tag_table(input_file)
    repeated = table.filter(pl.col("query_id").is_duplicated())
    if len(repeated):
        problem = f"query {repeated['query_id'][0]!r} appears twice; keep one row."
        raise InputError(problem, source=input_file.label, code="duplicate-query")
    return table


def read_tag_table(input_file: InputFile) -> pl.DataFrame:
    """``query_id`` and the other columns as strings, from CSV or TSV.

    Raises:
        InputError: the file cannot be read, or has no queries or no other columns.
    """
    from rankgate.data.formats.tables.csv_tables import CsvTable

    sheet = CsvTable(input_file)
    table = _with_queries(sheet.frame().collect(), input_file.label, line=sheet.header_line)
    return table.with_columns(pl.col("query_id").str.strip_chars())


def _with_queries(table: pl.DataFrame, label: str, line: int | None = None) -> pl.DataFrame:
    """The same table with query ids as texts in its first column, ``query_id``.

    Raises:
        InputError: there is no column of queries, or no other column.
    """
    name_by_lower_case = {name.strip().lower(): name for name in table.columns}
    id_column = next((name_by_lower_case[name] for name in _NAMES if name in name_by_lower_case), None)
    if id_column is None or len(table.columns) < 2:  # at least a query and a tag
        hint = "; see its first line" if line else ""
        problem = f"tags need a column query_id and one or more others{hint}."
        raise InputError(problem, source=label, line=line, code="missing-column")
    query_ids = pl.col(id_column).cast(pl.String).alias("query_id")
    return table.select(query_ids, pl.all().exclude(id_column))


def _read_trace_tags(input_file: InputFile) -> pl.DataFrame | None:
    """What traces say of their queries; None if the file has no traces of searches."""
    from rankgate.data.formats import trace_files

    if trace_files.sniff(input_file.head(), "") is None:
        return None
    queries = trace_files.read(replace(input_file, read_as=None)).queries
    return None if queries is None else queries.drop("text")


def _read_feature_tags(input_file: InputFile, tag_names: Sequence[str]) -> pl.DataFrame | None:
    """Tags from a file of features; None if the file has another format."""
    from rankgate.data.formats import learning_to_rank

    if learning_to_rank.sniff_svmlight(input_file.head(), "") is None:
        return None
    numbers = [name.removeprefix(_FEATURE) for name in tag_names if name.startswith(_FEATURE)]
    if not numbers:
        problem = "tags of features are named by their numbers; ask for one, as feature_7."
        raise InputError(problem, source=input_file.label, code="missing-column")
    rows: pl.DataFrame = learning_to_rank.read_svmlight(input_file).extra[
        learning_to_rank.SVMLIGHT_FORMAT.name
    ]["features"]
    text = pl.lit(" ") + pl.col("features")
    feature_values = [
        text.str.extract(rf" {re.escape(number)}:(\S+)")
        .cast(pl.Float64)
        .fill_null(0)
        .alias(f"{_FEATURE}{number}")
        for number in numbers
    ]
    by_query = rows.select("query_id", *feature_values).group_by("query_id")
    means = by_query.agg(in_row_order(pl.all()).mean()).sort("query_id")
    names = means.columns[1:]
    for name in names:
        if (means[name] == 0).all():
            problem = f"no row has {name.replace('_', ' ')}; see which features the file has."
            raise InputError(problem, source=input_file.label, code="missing-column")
    return means.select("query_id", *(_quarter_labels(means[name]) for name in names))


def _quarter_labels(values: pl.Series) -> pl.Series:
    """The quarter (with its ends) of each query by value; equal values are in the same quarter."""
    quarter = ((values.rank("min") - 1) * _QUARTERS // len(values)).alias("part")
    ends = (
        pl.DataFrame([values.alias("value"), quarter])
        .group_by("part")
        .agg(pl.col("value").min().alias("low"), pl.col("value").max().alias("high"))
    )
    labels = {
        number: f"{position}: {low:.4g}" + (f" to {high:.4g}" if high > low else "")
        for position, (number, low, high) in enumerate(ends.sort("part").iter_rows(), 1)
    }
    return quarter.replace_strict(labels, return_dtype=pl.String).alias(values.name)


CLUSTER = "cluster"
"""The column of the queries' table with the cluster of each query."""

COPY_CLUSTER = "cluster_by_text"
"""The column of near-copies by text, for tables without clusters."""

TEXT_COLUMNS = ("text", "query_text", "query")
"""Columns of the queries' table that hold texts."""


def word_key(text: str) -> str:
    """A key that is equal for near-copies: sorted words without case and punctuation.

    >>> word_key("iPhone 15 case!") == word_key("Case  iphone-15")
    True
    """
    plain_text = unicodedata.normalize("NFKC", text).casefold()
    return " ".join(sorted(re.findall(r"\w+", plain_text)))


def find_near_copies(texts: Mapping[str, str]) -> dict[str, str]:
    """The first query with the same words, for each query that is a near-copy of an earlier one."""
    by_words: dict[str, list[str]] = {}
    for query, text in texts.items():
        if key := word_key(text):
            by_words.setdefault(key, []).append(query)
    groups = (queries for queries in by_words.values() if len(queries) > 1)
    return {query: queries[0] for queries in groups for query in queries}


def with_clusters(tags: pl.DataFrame) -> pl.DataFrame:
    """The table of queries with clusters of near-copies, if it has no clusters.

    Args:
        tags: ``query_id`` and other columns.
    """
    if CLUSTER in tags.columns:
        return tags
    column = next((name for name in TEXT_COLUMNS if name in tags.columns), None)
    if column is None or tags[column].dtype != pl.String:
        return tags
    query_texts = tags.select(pl.col("query_id").cast(pl.String), column).drop_nulls()
    copies = find_near_copies(dict(query_texts.iter_rows()))
    if not copies:
        return tags
    ids = tags["query_id"].cast(pl.String).to_list()
    return tags.with_columns(pl.Series(COPY_CLUSTER, [copies.get(query) for query in ids], pl.String))


def in_slice(slice_: str) -> pl.Expr:
    """True for the queries of a slice, ``tag=value``; a query without the tag has an empty value."""
    tag, _, value = slice_.partition("=")
    return pl.col(tag).fill_null("") == value


def read_clusters(tables: Iterable[pl.DataFrame]) -> dict[str, str]:
    """The cluster of each query that has a cluster, from tables with ``query_id`` and tags."""
    cluster_of_query: dict[str, str] = {}
    for table in tables:
        name = next((name for name in (CLUSTER, COPY_CLUSTER) if name in table.columns), None)
        if name is None:
            continue
        named_clusters = table.select("query_id", pl.col(name).cast(pl.String).replace("", None))
        for query, cluster in named_clusters.drop_nulls().iter_rows():
            cluster_of_query.setdefault(query, cluster)
    return cluster_of_query
