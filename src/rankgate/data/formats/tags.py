"""Tags of queries: head or tail, intent, critical; from a file, from features, or from ids."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from rankgate.core.errors import InputError, UsageError
from rankgate.data.dataframes import polars_frame
from rankgate.data.formats.run_meta import read
from rankgate.data.streams.source import source
from rankgate.data.text.utf8 import BOM

if TYPE_CHECKING:
    from rankgate.data.inputs import TagsLike
    from rankgate.data.streams.source import InputFile

IDS = "ids:"
"""What begins a pattern of ids, where a file of tags could be."""
_FEATURE = "feature_"
_PARTS = 4  # of the queries, by the mean of a feature
_NAMES = ("query_id", "qid", "query-id", "query", "topic", "user_id", "user")


def tags_of(tags: TagsLike, query_ids: pl.Series, wanted: Sequence[str] = ()) -> pl.DataFrame:
    """Tags as a table: from a frame, a file, or the ids of queries by a regular expression.

    Args:
        tags: a frame, a file, or ``ids:PATTERN``, whose named groups are the tags:
            ``ids:(?P<topic>.+)_(?P<turn>[0-9]+)``. An id that does not fit has no tags.
        query_ids: the ids that a pattern is applied to.
        wanted: as of `tags_from`.

    Raises:
        InputError: as of `tags_from`.
        UsageError: a pattern that is not a regular expression, or has no named groups.
    """
    if not isinstance(tags, str | Path):
        return polars_frame(tags, "tags")
    if not str(tags).startswith(IDS):
        return tags_from(tags, wanted)
    pattern = str(tags).removeprefix(IDS)
    try:
        groups = list(re.compile(pattern).groupindex)
    except re.error as error:
        problem = f"--tags {tags}: not a regular expression: {error}."
        raise UsageError(problem, code="invalid-syntax") from None
    if not groups:
        problem = f"--tags {tags}: name the tags, as in ids:(?P<topic>.+)_(?P<turn>[0-9]+)."
        raise UsageError(problem, code="invalid-syntax")
    found = [re.fullmatch(pattern, each) for each in query_ids.to_list()]
    columns = {name: [match and match[name] for match in found] for name in groups}
    frame = pl.DataFrame(columns, schema=dict.fromkeys(groups, pl.String))
    return frame.insert_column(0, query_ids.alias("query_id"))


def matching_tags(tags: TagsLike, query_ids: pl.Series, wanted: Sequence[str] = ()) -> pl.DataFrame:
    """As `tags_of`, of a table that has some of the queries.

    Raises:
        InputError: it has none of them; as of `tags_from`.
        UsageError: as of `tags_of`.
    """
    table = tags_of(tags, query_ids, wanted)
    ids = table["query_id"].cast(pl.String)
    if len(ids) and len(query_ids) and not ids.is_in(query_ids.implode()).any():
        problem = (
            f"none of its {ids.n_unique():,} queries ({ids[0]}, …) is among the "
            f"{query_ids.n_unique():,} judged ones ({query_ids[0]}, …); give the tags of these."
        )
        label = str(tags) if isinstance(tags, str | Path) else "tags"
        raise InputError(problem, source=label, code="ids-do-not-match")
    return table


def tags_from(path: str | Path, wanted: Sequence[str] = ()) -> pl.DataFrame:
    """``query_id`` and a column of strings for each tag.

    Args:
        path: CSV or TSV whose first line names the columns; JSONL (``.jsonl``), one object a
            query; or a file of features, whose tag ``feature_7`` is the quarter of the queries
            by the mean of feature 7 over a query's documents.
        wanted: the tags that are needed; of features there are no others.

    Raises:
        InputError: a file that cannot be read, without queries or tags, a query twice.
    """
    if ".jsonl" in Path(path).suffixes or ".ndjson" in Path(path).suffixes:
        return read(path).drop("state", "latency_ms", "error")
    place = source(path)
    if (features := _features(place, wanted)) is not None:
        return features
    table = table_of(place)
    twice = table.filter(pl.col("query_id").is_duplicated())
    if len(twice):
        problem = f"query {twice['query_id'][0]!r} appears twice; keep one row."
        raise InputError(problem, source=place.label, code="duplicate-query")
    return table


def table_of(place: InputFile) -> pl.DataFrame:
    """``query_id`` and the other columns as strings, of CSV or TSV.

    Raises:
        InputError: a file that cannot be read, or without queries or other columns.
    """
    data = b"".join(place.chunks()).removeprefix(BOM)
    separator = "\t" if b"\t" in data.split(b"\n", 1)[0] else ","
    try:
        table = pl.read_csv(data, separator=separator, infer_schema=False)
    except pl.exceptions.PolarsError as error:
        problem = f"cannot be read as a table of tags: {str(error).splitlines()[0]}."
        raise InputError(problem, source=place.label, code="invalid-syntax") from None
    named = {name.strip().lower(): name for name in table.columns}
    theirs = next((named[name] for name in _NAMES if name in named), None)
    if theirs is None or len(table.columns) < 2:  # a query and a tag
        problem = "tags need a column query_id and one or more others; see its first line."
        raise InputError(problem, source=place.label, line=1, code="missing-column")
    table = table.rename({theirs: "query_id"}).with_columns(pl.col("query_id").str.strip_chars())
    return table.select("query_id", *(name for name in table.columns if name != "query_id"))


def _features(place: InputFile, wanted: Sequence[str]) -> pl.DataFrame | None:
    """Tags from a file of features; None where it is not one."""
    from rankgate.data.formats.letor import svmlight

    if svmlight.sniff(place.head(), "") is None:
        return None
    numbers = [name.removeprefix(_FEATURE) for name in wanted if name.startswith(_FEATURE)]
    if not numbers:
        problem = "tags of features are named by their numbers; ask for one, as feature_7."
        raise InputError(problem, source=place.label, code="missing-column")
    rows: pl.DataFrame = svmlight.read(place).extra[svmlight.FORMAT.name]["features"]
    text = pl.lit(" ") + pl.col("features")
    values = [
        text.str.extract(rf" {re.escape(each)}:(\S+)").cast(pl.Float64).fill_null(0)
        .alias(f"{_FEATURE}{each}")
        for each in numbers
    ]  # fmt: skip
    means = rows.select("query_id", *values).group_by("query_id").mean().sort("query_id")
    names = means.columns[1:]
    for name in names:
        if (means[name] == 0).all():
            problem = f"no row has {name.replace('_', ' ')}; see which features the file has."
            raise InputError(problem, source=place.label, code="missing-column")
    return means.select("query_id", *(_quarters(means[name]) for name in names))


def _quarters(values: pl.Series) -> pl.Series:
    """The quarter of the queries that each value is in, equal values in the same; with its ends."""
    part = ((values.rank("min") - 1) * _PARTS // len(values)).alias("part")
    ends = pl.DataFrame([values.alias("value"), part]).group_by("part").agg(
        pl.col("value").min().alias("low"), pl.col("value").max().alias("high")
    )  # fmt: skip
    words = {
        number: f"{place}: {low:.4g}" + (f" to {high:.4g}" if high > low else "")
        for place, (number, low, high) in enumerate(ends.sort("part").iter_rows(), 1)
    }
    return part.replace_strict(words, return_dtype=pl.String).alias(values.name)
