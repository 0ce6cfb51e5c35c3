"""Rows of each query in files: found on the driver, or by executors if there are many."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from rankgate.core.frozen import dataclass
from rankgate.spark.cells import encode_rows, probe_hashes, refuse_other_hash
from rankgate.spark.shipping import map_partitions, read_numbers

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import SparkSession

    from rankgate.spark.pieces import FilePiece, TableFiles

_MAX_LISTED = 400_000  # queries that are sent by their hashes, at most
_MAX_READ_RATIO = 1.5  # rows read for each row of the files, above which moving rows is cheaper
_RESULT_NAMES = ("places", "listed")


def query_ranges_of(piece: FilePiece, table: TableFiles) -> pl.DataFrame:
    """A row for each query: its hash, first row, end, and number of rows.

    Rows are counted from the first of the piece; ``stretches`` are those of rows that are together.

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
    """Pieces whose queries are located; the share of a query is the first group that has it.

    Attributes:
        pieces: with the number of their table, in the order of tables and rows.
        tables: the files of each table, by its number.
        groups: of each piece.
        later: the first group of the tables after the first.
    """

    pieces: tuple[tuple[int, FilePiece], ...]
    tables: Mapping[int, TableFiles]
    groups: tuple[int, ...]
    later: int

    def here(
        self, known_spans: Mapping[int, pl.DataFrame]
    ) -> tuple[pl.DataFrame, pl.DataFrame] | None:
        """The places of all shares, and the queries that are listed for them.

        Args:
            known_spans: the spans of some pieces, by their numbers; other pieces are read.

        Returns:
            For each ``share`` and ``piece``: its ``group``, ``begin``, ``end`` and the ``rows`` of
            the share between them. And ``share`` and ``query``: of tables but the first the
            queries of the share, of the first those that an earlier share has. None where too
            many rows would be read again, or too many queries listed.

        Raises:
            InputError: as of `query_ranges_of`.
        """
        numbers = range(len(self.pieces))
        return self.shared(
            [
                known_spans[number] if number in known_spans else self.of(number)
                for number in numbers
            ]
        )

    def by(self, spark: SparkSession, cores: int) -> tuple[pl.DataFrame, pl.DataFrame] | None:
        """Do as `here`, by executors, which send only places of shares; None also for bad files.

        Args:
            spark: the session.
            cores: the number of cores.
        """
        count = len(self.pieces)
        numbers = spark.range(0, count, 1, min(count, 4 * cores))
        moved = map_partitions(
            numbers,
            RangeSearch(self, 4 * cores, probe_hashes()),
            "key int, spans binary, totals string",
        )
        spans_by_key = moved.repartition(4 * cores, "key")
        rows = map_partitions(
            spans_by_key, ShareSearch(self), "places binary, listed binary, totals string"
        ).collect()
        if any(row.totals for row in rows):
            return None
        places, listed_queries = (
            pl.concat([pl.read_ipc_stream(bytes(row[name])) for row in rows])
            for name in _RESULT_NAMES
        )
        return self._worth(merge_places(places), listed_queries)

    def of(self, number: int) -> pl.DataFrame:
        """The spans of a piece, with its number and its ``group``."""
        table, piece = self.pieces[number]
        ranges = query_ranges_of(piece, self.tables[table])
        piece_number = pl.lit(number, pl.Int32).alias("piece")
        return ranges.with_columns(
            piece_number, pl.lit(self.groups[number], pl.Int32).alias("group")
        )

    def shared(
        self, piece_spans: Iterable[pl.DataFrame]
    ) -> tuple[pl.DataFrame, pl.DataFrame] | None:
        """Do as `here`, for some whole queries."""
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
        """Both, unless too many rows are read again or too many queries listed."""
        row_limit = _MAX_READ_RATIO * sum(piece.rows for _, piece in self.pieces)
        rows_read = (places["end"] - places["begin"]).sum()
        return (
            None
            if rows_read > row_limit or len(listed_queries) > _MAX_LISTED
            else (places, listed_queries)
        )


def merge_places(places: pl.DataFrame) -> pl.DataFrame:
    """Places of shares, one row for each piece."""
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

    def over(self, batches: Iterable[pa.RecordBatch]) -> Iterator[dict[str, Any]]:
        """The spans of the pieces with the given numbers, packed by parts.

        Raises:
            InputError: as of `query_ranges_of`.
            UsageError: Polars is another version than the driver's.
        """
        refuse_other_hash(self.probe)
        for number in read_numbers(batches):
            ranges = (
                self.spans.of(number)
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

    def over(self, batches: Iterable[pa.RecordBatch]) -> Iterator[dict[str, Any]]:
        """The places and lists of the given queries."""
        frames = [
            pl.read_ipc_stream(value.as_py()) for batch in batches for value in batch["spans"]
        ]
        if frames:
            parts = self.spans.shared(frames)
            if parts is None:
                yield {"totals": ["apart"]}
            else:
                yield {
                    name: [encode_rows(frame)]
                    for name, frame in zip(_RESULT_NAMES, parts, strict=True)
                }
