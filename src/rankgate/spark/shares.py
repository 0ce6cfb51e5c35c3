"""Whole queries that tasks read from files by themselves, so that no row has to be moved.

Most files have the rows of a query together, and files of judgments and runs have queries in about
the same order. The column of queries, a small part of a file, shows where the rows of each query
are. Every task gets some queries with the rows to read for them.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import polars as pl

from rankgate.core.frozen import dataclass
from rankgate.spark.cells import QUERY, probe_hashes, refuse_longest, refuse_other_hash
from rankgate.spark.shipping import read_numbers
from rankgate.spark.spans import QueryRanges

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import SparkSession

    from rankgate.spark.pieces import FilePiece, TableFiles

_ROWS = 5 << 18  # rows of a share, of all tables, if there are that many
_MAX_DRIVER_QUERIES = (
    4_000_000  # with more queries, executors find their rows instead of the driver
)
_MAX_RANGES_PER_QUERY = (
    1.5  # ranges of rows for each query of a piece, above which moving rows is cheaper
)


@dataclass(frozen=True)
class SharePart:
    """Rows of a table for one share.

    Attributes:
        table: the number of their table.
        piece: the rows, from the first to the last of the share's queries.
        own: True if the share has the queries of these rows, unless an earlier share has them.
        pure: True if all of the rows belong to the share.
    """

    table: int
    piece: FilePiece
    own: bool
    pure: bool


@dataclass(frozen=True)
class QueryShare:
    """Some whole queries.

    Attributes:
        parts: their rows.
        listed: hashes of queries.
        excluded: True if the listed queries are left out: the share then has all other queries of
            its own parts, and otherwise only the listed ones.
    """

    parts: tuple[SharePart, ...]
    listed: tuple[int, ...]
    excluded: bool

    def wanted(self, read: Sequence[Sequence[pl.DataFrame]]) -> pl.Series:
        """The hashes of the share's queries.

        Args:
            read: the rows of each part.
        """
        listed_hashes = pl.Series(self.listed, dtype=pl.UInt64)
        if not self.excluded:
            return listed_hashes
        own_frames = [
            rows for share_part, rows in zip(self.parts, read, strict=True) if share_part.own
        ]
        all_hashes = pl.concat(
            [frame.select(QUERY).to_series() for rows in own_frames for frame in rows]
        )
        own_hashes = all_hashes.unique()
        return own_hashes.filter(~own_hashes.is_in(listed_hashes.implode()))


@dataclass(frozen=True)
class QueryShares:
    """The queries of some files; each is in one share.

    Attributes:
        every: the shares.
        tables: the files of each table, by its number.
        probe: the hashes of some texts on the driver.
    """

    every: tuple[QueryShare, ...]
    tables: Mapping[int, TableFiles]
    probe: tuple[int, ...]

    def opened(self, batches: Iterable[pa.RecordBatch]) -> Iterator[dict[int, pl.DataFrame]]:
        """The rows of the shares with the given numbers, by table.

        Raises:
            InputError: a damaged file; a query has more rows than any ranking.
            UsageError: Polars is another version than the driver's.
        """
        refuse_other_hash(self.probe)
        for number in read_numbers(batches):
            yield self._rows(self.every[number])

    def _rows(self, share: QueryShare) -> dict[int, pl.DataFrame]:
        read = [
            [*share_part.piece.frames(self.tables[share_part.table])] for share_part in share.parts
        ]
        if not all(share_part.pure for share_part in share.parts):
            is_wanted = QUERY.is_in(share.wanted(read).implode())
            read = [
                frames if share_part.pure else [frame.filter(is_wanted) for frame in frames]
                for share_part, frames in zip(share.parts, read, strict=True)
            ]
        tables: dict[int, list[pl.DataFrame]] = {}
        for share_part, frames in zip(share.parts, read, strict=True):
            tables.setdefault(share_part.table, []).extend(frames)
        for frames in tables.values():
            refuse_longest(frames)
        return {
            table: pl.concat(frames, how="diagonal", rechunk=False)
            for table, frames in tables.items()
        }


def plan_shares(
    spark: SparkSession, tables: Mapping[int, TableFiles], cores: int
) -> QueryShares | None:
    """The queries of files in shares, where that is cheaper than to move their rows.

    Args:
        spark: the session.
        tables: the files of each table, by its number; the longest decides on the shares.
        cores: the number of cores.

    Returns:
        None where rows of one query are far apart, or files have queries in different orders; or
        where there are no rows.

    Raises:
        InputError: a damaged file; a column that is missing or has wrong values.
    """
    if not any(table_pieces.rows for table_pieces in tables.values()):
        return None
    query_ranges = _plan_ranges(tables, cores)
    first = _first_ranges(query_ranges)
    if first is None:
        return None
    places_and_queries = (
        query_ranges.here(first)
        if _estimate_queries(query_ranges, first) <= _MAX_DRIVER_QUERIES
        else query_ranges.by(spark, cores)
    )
    if places_and_queries is None:
        return None
    places, listed_queries = places_and_queries
    queries_of_share = {
        share: tuple(rows["query"]) for (share,), rows in listed_queries.group_by("share")
    }
    all_shares = []
    for (share,), rows in places.group_by("share", maintain_order=True):
        parts = tuple(
            _part(query_ranges.pieces[row["piece"]], row) for row in rows.iter_rows(named=True)
        )
        all_shares.append(
            QueryShare(parts, queries_of_share.get(share, ()), share < query_ranges.later)
        )
    return QueryShares(tuple(all_shares), tables, probe_hashes())


def _plan_ranges(tables: Mapping[int, TableFiles], cores: int) -> QueryRanges:
    """The rows of all tables, the longest first, in pieces and groups of the size of a share."""
    total = sum(table_pieces.rows for table_pieces in tables.values())
    share_fraction = min(_ROWS / total, 1 / (4 * cores))
    pieces: list[tuple[int, FilePiece]] = []
    groups: list[int] = []
    later = 0
    for table, table_pieces in sorted(
        tables.items(), key=lambda numbered_pieces: -numbered_pieces[1].rows
    ):
        row_limit = math.ceil(table_pieces.rows * share_fraction)
        cut_pieces = [
            piece for table_piece in table_pieces.every for piece in table_piece.cut(row_limit)
        ]
        pieces += [(table, piece) for piece in cut_pieces]
        groups += _groups(cut_pieces, row_limit, groups[-1] + 1 if groups else 0)
        later = later or groups[-1] + 1
    return QueryRanges(tuple(pieces), tables, tuple(groups), later)


def _first_ranges(query_ranges: QueryRanges) -> dict[int, pl.DataFrame] | None:
    """The spans of the first piece of each table, by its number; None as `plan_shares`."""
    spans_of_piece = {}
    tables = [table for table, _ in query_ranges.pieces]
    for number in map(tables.index, dict.fromkeys(tables)):
        spans_of_piece[number] = query_ranges.of(number)
        if spans_of_piece[number]["stretches"].sum() > _MAX_RANGES_PER_QUERY * len(
            spans_of_piece[number]
        ):
            return None
    return spans_of_piece


def _estimate_queries(query_ranges: QueryRanges, first: Mapping[int, pl.DataFrame]) -> float:
    """An estimate of the number of queries of all tables, from the first piece of each."""
    estimate = 0.0
    for number, query_spans in first.items():
        table, piece = query_ranges.pieces[number]
        estimate += len(query_spans) / piece.rows * query_ranges.tables[table].rows
    return estimate


def _part(table_and_piece: tuple[int, FilePiece], span: Mapping[str, int]) -> SharePart:
    """The rows of a share in a piece."""
    table, piece = table_and_piece
    length = span["end"] - span["begin"]
    rows_of_share = replace(piece, begin=piece.begin + span["begin"], rows=length)
    return SharePart(table, rows_of_share, span["group"] == span["share"], length == span["rows"])


def _groups(pieces: Sequence[FilePiece], row_limit: int, first: int) -> Iterator[int]:
    """The group of each piece of a table: consecutive pieces with at most `row_limit` rows."""
    group, size = first, 0
    for piece in pieces:
        if size and size + piece.rows > row_limit:
            group, size = group + 1, 0
        yield group
        size += piece.rows
