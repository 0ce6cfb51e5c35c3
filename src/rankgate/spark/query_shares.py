"""Whole queries that tasks read directly from files, so that rows need not be moved.

The driver locates the rows of each query in the files, or executors do for many queries.

Most files have the rows of a query together, and files of judgments and runs have queries in
about the same order. The column of queries, a small part of a file, shows where the rows of
each query are. Every task gets some queries with the rows to read for them.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from rankgate.core.frozen import dataclass
from rankgate.spark.shuffle import (
    QUERY,
    encode_rows,
    map_partitions,
    probe_hashes,
    read_numbers,
    refuse_longest,
    refuse_other_hash,
)

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import SparkSession

    from rankgate.spark.file_pieces import FilePiece, TableFiles
    from rankgate.spark.shuffle import Columns


_MAX_LISTED = 400_000  # the largest number of queries whose hashes are sent
_MAX_READ_RATIO = 1.5  # rows read for each row of the files, above which moving rows is cheaper
_RESULT_NAMES = ("places", "listed")


def query_ranges_of(piece: FilePiece, table: TableFiles) -> pl.DataFrame:
    """A row for each query: its hash, first row, end, and number of rows.

    Rows are counted from the first of the piece; ``stretches`` are ranges of adjacent rows.

    Args:
        piece: some rows of a file.
        table: the pieces of its table.

    Raises:
        InputError: a damaged file; a column that is missing or has wrong values.
    """
    hashes = piece.queries(table).to_numpy()
    starts = np.flatnonzero(np.append(True, hashes[1:] != hashes[:-1])[: len(hashes)])
    ends = np.append(starts[1:], len(hashes))[: len(starts)]
    ranges = pl.DataFrame(
        {"query": hashes[starts], "begin": starts, "end": ends, "rows": ends - starts}
    ).with_columns(stretches=pl.lit(1))
    if ranges["query"].n_unique() == len(ranges):
        return ranges
    sums = pl.col("rows", "stretches").sum()
    return ranges.group_by("query").agg(pl.col("begin").min(), pl.col("end").max(), sums)


@dataclass(frozen=True)
class QueryRanges:
    """Pieces whose queries are located; a query is in the share of the first group that has it.

    Attributes:
        pieces: the pieces with the number of their table, in the order of tables and rows.
        tables: the files of each table, by its number.
        groups: the groups of each piece.
        later: the first group of the tables after the first.
    """

    pieces: tuple[tuple[int, FilePiece], ...]
    tables: Mapping[int, TableFiles]
    groups: tuple[int, ...]
    later: int

    def list_queries(
        self, known_spans: Mapping[int, pl.DataFrame]
    ) -> tuple[pl.DataFrame, pl.DataFrame] | None:
        """The row ranges of all shares, and the queries that are listed for them.

        Args:
            known_spans: the spans of some pieces, by their numbers; other pieces are read.

        Returns:
            For each ``share`` and ``piece``: its ``group``, ``begin``, ``end`` and the ``rows`` of
            the share between them. And ``share`` and ``query``: for the first table the queries
            that an earlier share has, for other tables the queries of the share. None if too many
            rows would be read again, or too many queries listed.

        Raises:
            InputError: as of `query_ranges_of`.
        """
        numbers = range(len(self.pieces))
        return self.shared(
            [
                known_spans[number] if number in known_spans else self.ranges_of_piece(number)
                for number in numbers
            ]
        )

    def list_by_executors(self, spark: SparkSession, cores: int) -> tuple[pl.DataFrame, pl.DataFrame] | None:
        """Do the work of `here` on executors, which send only row ranges; None also for bad files.

        Args:
            spark: the session.
            cores: the number of cores.
        """
        count = len(self.pieces)
        numbers = spark.range(0, count, 1, min(count, 4 * cores))
        moved = map_partitions(
            numbers, RangeSearch(self, 4 * cores, probe_hashes()), "key int, spans binary, totals string"
        )
        spans_by_key = moved.repartition(4 * cores, "key")
        rows = map_partitions(
            spans_by_key, ShareSearch(self), "places binary, listed binary, totals string"
        ).collect()
        if any(row.totals for row in rows):
            return None
        places, listed_queries = (
            pl.concat([pl.read_ipc_stream(bytes(row[name])) for row in rows]) for name in _RESULT_NAMES
        )
        return self._worth(merge_places(places), listed_queries)

    def ranges_of_piece(self, number: int) -> pl.DataFrame:
        """The spans of a piece, with its number and its ``group``."""
        table, piece = self.pieces[number]
        ranges = query_ranges_of(piece, self.tables[table])
        piece_number = pl.lit(number, pl.Int32).alias("piece")
        return ranges.with_columns(piece_number, pl.lit(self.groups[number], pl.Int32).alias("group"))

    def shared(self, piece_spans: Iterable[pl.DataFrame]) -> tuple[pl.DataFrame, pl.DataFrame] | None:
        """Do the work of `here` for some whole queries."""
        spans_with_share = pl.concat(piece_spans).with_columns(
            pl.col("group").min().over("query").alias("share")
        )
        is_of_later_table = (pl.col("group") == pl.col("share")) & (pl.col("share") >= self.later)
        is_repeated = (pl.col("group") > pl.col("share")) & (pl.col("group") < self.later)
        listed_rows = spans_with_share.filter(is_of_later_table | is_repeated)
        listed_queries = listed_rows.select(pl.col("group").alias("share"), "query").unique()
        return self._worth(merge_places(spans_with_share), listed_queries)

    def _worth(
        self, places: pl.DataFrame, listed_queries: pl.DataFrame
    ) -> tuple[pl.DataFrame, pl.DataFrame] | None:
        """The places and listed queries; None if too many rows are read again or queries listed."""
        row_limit = _MAX_READ_RATIO * sum(piece.rows for _, piece in self.pieces)
        rows_read = (places["end"] - places["begin"]).sum()
        return (
            None if rows_read > row_limit or len(listed_queries) > _MAX_LISTED else (places, listed_queries)
        )


def merge_places(places: pl.DataFrame) -> pl.DataFrame:
    """The row ranges of shares, merged to one row for each piece."""
    return (
        places.group_by("share", "group", "piece")
        .agg(pl.col("begin").min(), pl.col("end").max(), pl.col("rows").sum())
        .sort("share", "piece")
    )


@dataclass(frozen=True)
class RangeSearch:
    """Find the spans of pieces, on executors.

    Attributes:
        spans: the pieces, with their tables and groups.
        parts: the number of parts of the queries, by their hash.
        probe: the hashes of some texts on the driver.
    """

    spans: QueryRanges
    parts: int
    probe: tuple[int, ...]

    def process_batches(self, batches: Iterable[pa.RecordBatch]) -> Iterator[Columns]:
        """Find the spans of the pieces with the given numbers, and pack them by parts.

        Raises:
            InputError: as of `query_ranges_of`.
            UsageError: Polars is another version than the driver's.
        """
        refuse_other_hash(self.probe)
        for number in read_numbers(batches):
            ranges = (
                self.spans.ranges_of_piece(number)
                .drop("stretches")
                .with_columns(key=pl.col("query") % self.parts)
            )
            spans_by_key = ranges.partition_by("key", as_dict=True, include_key=False)
            yield {
                "key": [key for (key,) in spans_by_key],
                "spans": [encode_rows(key_spans) for key_spans in spans_by_key.values()],
            }


@dataclass(frozen=True)
class ShareSearch:
    """Find the shares of whole queries, on executors.

    Attributes:
        spans: the pieces, with their tables and groups.
    """

    spans: QueryRanges

    def process_batches(self, batches: Iterable[pa.RecordBatch]) -> Iterator[Columns]:
        """Find the row ranges and listed queries for the given queries."""
        frames = [pl.read_ipc_stream(value.as_py()) for batch in batches for value in batch["spans"]]
        if frames:
            parts = self.spans.shared(frames)
            if parts is None:
                yield {"totals": ["apart"]}
            else:
                yield {name: [encode_rows(frame)] for name, frame in zip(_RESULT_NAMES, parts, strict=True)}


_ROWS = 5 << 18  # rows of a share over all tables, in large files
_MAX_DRIVER_QUERIES = 4_000_000  # with more queries, executors find their rows instead of the driver
_MAX_RANGES_PER_QUERY = 1.5  # ranges of rows for each query of a piece, above which moving rows is cheaper


@dataclass(frozen=True)
class SharePart:
    """Rows of a table for one share.

    Attributes:
        table: the number of the table.
        piece: the rows, from the first to the last of the share's queries.
        own: True if the queries of these rows belong to this share, unless an earlier share has
            them.
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
        excluded: True if the listed queries are left out, and the share has all other queries of
            its own parts; False if the share has only the listed queries.
    """

    parts: tuple[SharePart, ...]
    listed: tuple[int, ...]
    excluded: bool

    def query_hashes(self, read: Sequence[Sequence[pl.DataFrame]]) -> pl.Series:
        """The hashes of the share's queries.

        Args:
            read: the rows of each part.
        """
        listed_hashes = pl.Series(self.listed, dtype=pl.UInt64)
        if not self.excluded:
            return listed_hashes
        own_frames = [rows for share_part, rows in zip(self.parts, read, strict=True) if share_part.own]
        all_hashes = pl.concat([frame.select(QUERY).to_series() for rows in own_frames for frame in rows])
        own_hashes = all_hashes.unique()
        return own_hashes.filter(~own_hashes.is_in(listed_hashes.implode()))


@dataclass(frozen=True)
class QueryShares:
    """The queries of some files; each query is in one share.

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
            InputError: a damaged file; a query with more rows than a ranking may have.
            UsageError: Polars is another version than the driver's.
        """
        refuse_other_hash(self.probe)
        for number in read_numbers(batches):
            yield self._rows(self.every[number])

    def _rows(self, share: QueryShare) -> dict[int, pl.DataFrame]:
        read = [[*share_part.piece.frames(self.tables[share_part.table])] for share_part in share.parts]
        if not all(share_part.pure for share_part in share.parts):
            is_wanted = QUERY.is_in(share.query_hashes(read).implode())
            read = [
                frames if share_part.pure else [frame.filter(is_wanted) for frame in frames]
                for share_part, frames in zip(share.parts, read, strict=True)
            ]
        tables: dict[int, list[pl.DataFrame]] = {}
        for share_part, frames in zip(share.parts, read, strict=True):
            tables.setdefault(share_part.table, []).extend(frames)
        for frames in tables.values():
            refuse_longest(frames)
        return {table: pl.concat(frames, how="diagonal", rechunk=False) for table, frames in tables.items()}


def plan_shares(spark: SparkSession, tables: Mapping[int, TableFiles], cores: int) -> QueryShares | None:
    """Divide the queries of files into shares, if that is cheaper than moving their rows.

    Args:
        spark: the session.
        tables: the files of each table, by its number; the longest decides on the shares.
        cores: the number of cores.

    Returns:
        The shares; None if the rows of a query are far apart, if files have queries in different
        orders, or if the files have no rows.

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
        query_ranges.list_queries(first)
        if _estimate_queries(query_ranges, first) <= _MAX_DRIVER_QUERIES
        else query_ranges.list_by_executors(spark, cores)
    )
    if places_and_queries is None:
        return None
    places, listed_queries = places_and_queries
    queries_of_share = {share: tuple(rows["query"]) for (share,), rows in listed_queries.group_by("share")}
    all_shares = []
    for (share,), rows in places.group_by("share", maintain_order=True):
        parts = tuple(
            _rows_of_share(query_ranges.pieces[row["piece"]], row) for row in rows.iter_rows(named=True)
        )
        all_shares.append(QueryShare(parts, queries_of_share.get(share, ()), share < query_ranges.later))
    return QueryShares(tuple(all_shares), tables, probe_hashes())


def _plan_ranges(tables: Mapping[int, TableFiles], cores: int) -> QueryRanges:
    """The rows of all tables, the longest table first, in pieces and groups as large as a share."""
    total = sum(table_pieces.rows for table_pieces in tables.values())
    share_fraction = min(_ROWS / total, 1 / (4 * cores))
    pieces: list[tuple[int, FilePiece]] = []
    groups: list[int] = []
    later = 0
    for table, table_pieces in sorted(tables.items(), key=lambda numbered_pieces: -numbered_pieces[1].rows):
        row_limit = math.ceil(table_pieces.rows * share_fraction)
        cut_pieces = [piece for table_piece in table_pieces.every for piece in table_piece.cut(row_limit)]
        pieces += [(table, piece) for piece in cut_pieces]
        groups += _groups(cut_pieces, row_limit, groups[-1] + 1 if groups else 0)
        later = later or groups[-1] + 1
    return QueryRanges(tuple(pieces), tables, tuple(groups), later)


def _first_ranges(query_ranges: QueryRanges) -> dict[int, pl.DataFrame] | None:
    """The spans of the first piece of each table, by its number; None as `plan_shares`."""
    spans_of_piece = {}
    tables = [table for table, _ in query_ranges.pieces]
    for number in map(tables.index, dict.fromkeys(tables)):
        spans_of_piece[number] = query_ranges.ranges_of_piece(number)
        if spans_of_piece[number]["stretches"].sum() > _MAX_RANGES_PER_QUERY * len(spans_of_piece[number]):
            return None
    return spans_of_piece


def _estimate_queries(query_ranges: QueryRanges, first: Mapping[int, pl.DataFrame]) -> float:
    """An estimate of the number of queries of all tables, from the first piece of each."""
    estimate = 0.0
    for number, query_spans in first.items():
        table, piece = query_ranges.pieces[number]
        estimate += len(query_spans) / piece.rows * query_ranges.tables[table].rows
    return estimate


def _rows_of_share(table_and_piece: tuple[int, FilePiece], span: Mapping[str, int]) -> SharePart:
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
