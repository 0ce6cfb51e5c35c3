"""Where the rows of each query are in files: found on the driver, or by executors for many."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from rankgate.core.frozen import dataclass
from rankgate.spark.cells import probed, refuse_other_hash, value_of
from rankgate.spark.shipping import mapped, numbers_in

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import SparkSession

    from rankgate.spark.pieces import Piece, Pieces

_LISTED = 400_000  # queries that are sent by their hashes, at most
_AGAIN = 1.5  # rows that are read for each row of the files, from which on moving rows is cheaper
_FOUND = ("places", "listed")


def spans_of(piece: Piece, table: Pieces) -> pl.DataFrame:
    """A row a query: its hash, its first row, the one after its last, and how many are its own.

    Rows are counted from the first of the piece; ``stretches`` are those of rows that are together.

    Args:
        piece: some rows of a file.
        table: whose piece it is.

    Raises:
        InputError: a damaged file; a column that is missing or holds what it should not.
    """
    hashes = piece.queries(table).to_numpy()
    starts = np.flatnonzero(np.append(True, hashes[1:] != hashes[:-1])[: len(hashes)])
    ends = np.append(starts[1:], len(hashes))[: len(starts)]
    found = pl.DataFrame({
        "query": hashes[starts], "begin": starts, "end": ends, "rows": ends - starts
    }).with_columns(stretches=pl.lit(1))  # fmt: skip
    if found["query"].n_unique() == len(found):
        return found
    sums = pl.col("rows", "stretches").sum()
    return found.group_by("query").agg(pl.col("begin").min(), pl.col("end").max(), sums)


@dataclass(frozen=True)
class Spans:
    """Pieces whose queries are looked for; the share of a query is the first group that has it.

    Attributes:
        pieces: by whose rows they are, in the order of tables and rows.
        tables: by whose rows they are, how files are read.
        groups: of each piece.
        later: the first group of tables but the first.
    """

    pieces: tuple[tuple[int, Piece], ...]
    tables: Mapping[int, Pieces]
    groups: tuple[int, ...]
    later: int

    def here(self, known: Mapping[int, pl.DataFrame]) -> tuple[pl.DataFrame, pl.DataFrame] | None:
        """The places of all shares, and the queries that are listed for them.

        Args:
            known: the spans of some pieces, by their numbers; other pieces are read.

        Returns:
            For each ``share`` and ``piece``: its ``group``, ``begin``, ``end`` and the ``rows`` of
            the share between them. And ``share`` and ``query``: of tables but the first the
            queries of the share, of the first those that an earlier share has. None where too
            many rows would be read again, or too many queries listed.

        Raises:
            InputError: as of `spans_of`.
        """
        numbers = range(len(self.pieces))
        return self.shared(
            [known[number] if number in known else self.of(number) for number in numbers]
        )

    def by(self, spark: SparkSession, cores: int) -> tuple[pl.DataFrame, pl.DataFrame] | None:
        """As `here`, by executors; only places of shares come back. None also for errors of files.

        Args:
            spark: the session.
            cores: how many work.
        """
        count = len(self.pieces)
        numbers = spark.range(0, count, 1, min(count, 4 * cores))
        moved = mapped(
            numbers, Looking(self, 4 * cores, probed()), "key int, spans binary, totals string"
        )
        whole = moved.repartition(4 * cores, "key")
        rows = mapped(whole, Sharing(self), "places binary, listed binary, totals string").collect()
        if any(each.totals for each in rows):
            return None
        places, listed = (
            pl.concat([pl.read_ipc_stream(bytes(each[name])) for each in rows]) for name in _FOUND
        )
        return self._worth(merged(places), listed)

    def of(self, number: int) -> pl.DataFrame:
        """The spans of a piece, with its number and its ``group``."""
        table, piece = self.pieces[number]
        found = spans_of(piece, self.tables[table])
        at = pl.lit(number, pl.Int32).alias("piece")
        return found.with_columns(at, pl.lit(self.groups[number], pl.Int32).alias("group"))

    def shared(self, spans: Iterable[pl.DataFrame]) -> tuple[pl.DataFrame, pl.DataFrame] | None:
        """As `here`, of some whole queries."""
        owned = pl.concat(spans).with_columns(pl.col("group").min().over("query").alias("share"))
        mine = (pl.col("group") == pl.col("share")) & (pl.col("share") >= self.later)
        others = (pl.col("group") > pl.col("share")) & (pl.col("group") < self.later)
        listed = owned.filter(mine | others)
        named = listed.select(pl.col("group").alias("share"), "query").unique()
        return self._worth(merged(owned), named)

    def _worth(
        self, places: pl.DataFrame, listed: pl.DataFrame
    ) -> tuple[pl.DataFrame, pl.DataFrame] | None:
        """Both, if not too much is read again or listed."""
        most = _AGAIN * sum(piece.rows for _, piece in self.pieces)
        again = (places["end"] - places["begin"]).sum()
        return None if again > most or len(listed) > _LISTED else (places, listed)


def merged(places: pl.DataFrame) -> pl.DataFrame:
    """Places of shares, each piece once."""
    return (
        places.group_by("share", "group", "piece")
        .agg(pl.col("begin").min(), pl.col("end").max(), pl.col("rows").sum())
        .sort("share", "piece")
    )


@dataclass(frozen=True)
class Looking:
    """Find the spans of pieces, on executors.

    Attributes:
        spans: what is looked for.
        parts: how many parts the queries have, by their hash.
        probe: what some texts hash to on the driver.
    """

    spans: Spans
    parts: int
    probe: tuple[int, ...]

    def over(self, batches: Iterable[pa.RecordBatch]) -> Iterator[dict[str, Any]]:
        """The spans of the pieces whose numbers come, packed by parts.

        Raises:
            InputError: as of `spans_of`.
            UsageError: Polars is another version than the driver's.
        """
        refuse_other_hash(self.probe)
        for number in numbers_in(batches):
            found = (
                self.spans.of(number)
                .drop("stretches")
                .with_columns(key=pl.col("query") % self.parts)
            )
            apart = found.partition_by("key", as_dict=True, include_key=False)
            yield {
                "key": [key for (key,) in apart],
                "spans": [value_of(each) for each in apart.values()],
            }


@dataclass(frozen=True)
class Sharing:
    """Find the shares of whole queries, on executors.

    Attributes:
        spans: what is looked for.
    """

    spans: Spans

    def over(self, batches: Iterable[pa.RecordBatch]) -> Iterator[dict[str, Any]]:
        """The places and lists of the queries that come."""
        found = [pl.read_ipc_stream(each.as_py()) for batch in batches for each in batch["spans"]]
        if found:
            parts = self.spans.shared(found)
            if parts is None:
                yield {"totals": ["apart"]}
            else:
                yield {name: [value_of(each)] for name, each in zip(_FOUND, parts, strict=True)}
