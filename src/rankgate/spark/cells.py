"""Move rows between executors as columns: packed by cells of queries, unpacked cell by cell.

Spark's own shuffle takes rows one by one: it hashes, copies and sorts each in the JVM, which costs
several times what scoring does. Here a task packs all of its rows of a cell into one value, in the
format of Arrow, so that Spark moves a few large values.
"""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

import polars as pl

from rankgate.core.errors import InputError, UsageError
from rankgate.core.frozen import dataclass

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import SparkSession

PACKED = "key int, cell int, part byte, rows binary, totals string"
"""What a task packs: the cell, its partition's key, whose rows they are; ``totals`` is an error."""

ORDER = "row"
"""Columns that begin so give the order of rows, where a convention asks for it."""

_SEED = 0x5EED
QUERY = pl.col("query_id").hash(_SEED)
"""The hash of a query, by which it gets its place."""

_PROBES = (
    "",
    "7",
    "query 12",
    "a longer name of a query",
    "one of more than sixty-four bytes " * 3,
)
_ROWS = 1 << 20  # that are packed at once, at least
_MOST_ROWS = 1 << 23
_EACH = 1000  # rows of a packed value, if there are that many: its header takes 500 bytes
_LONGEST = 16_000_000  # documents of one query, as of the local engine


@dataclass(frozen=True)
class Cells:
    """How queries are spread: by a hash over cells, of which each partition has several.

    Attributes:
        count: of cells.
        keys: for each partition a number that Spark puts there.
        probe: what some texts hash to; executors that find another number have another Polars.
    """

    count: int
    keys: tuple[int, ...]
    probe: tuple[int, ...]

    @classmethod
    def of(cls, spark: SparkSession, partitions: int, count: int) -> Cells:
        """Cells for some partitions.

        Args:
            spark: the session, which says where it puts keys.
            partitions: of the shuffle.
            count: of cells; rounded up to the same number for each partition.
        """
        return cls(-(-count // partitions) * partitions, _keys(spark, partitions), probed())

    def packed(self, frames: Iterable[pl.DataFrame], part: int) -> Iterator[dict[str, Any]]:
        """Rows with a ``query_id`` as columns of `PACKED`.

        Args:
            frames: the rows.
            part: whose they are.
        """
        refuse_other_hash(self.probe)
        enough = min(max(_ROWS, _EACH * self.count), _MOST_ROWS)
        for frame in _gathered(frames, enough):
            cell = (QUERY % self.count).cast(pl.Int32).alias("cell")
            cells, values = [], []
            for (number,), rows in (
                frame.with_columns(cell)
                .partition_by("cell", as_dict=True, include_key=False)
                .items()
            ):
                cells.append(number)
                values.append(value_of(rows))
            keys = [self.keys[each % len(self.keys)] for each in cells]
            yield {"key": keys, "cell": cells, "part": [part] * len(cells), "rows": values}


@dataclass(frozen=True)
class Packing:
    """Pack the rows of a DataFrame, which Spark reads.

    Attributes:
        cells: how queries are spread.
        part: whose rows they are.
    """

    cells: Cells
    part: int

    def over(self, batches: Iterable[pa.RecordBatch]) -> Iterator[dict[str, Any]]:
        """Rows, packed.

        Raises:
            UsageError: Polars is another version than the driver's.
        """
        frames = (pl.DataFrame(pl.from_arrow(each)) for each in batches if each.num_rows)
        yield from self.cells.packed(frames, self.part)


def unpacked(batches: Iterable[pa.RecordBatch]) -> Iterator[dict[int, pl.DataFrame]]:
    """The rows of each cell by whose they are; cells are whole queries.

    Args:
        batches: columns of `PACKED`, with those of a cell together.

    Raises:
        InputError: a query has more rows than any ranking.
    """
    now: int | None = None
    parts: dict[int, list[pl.DataFrame]] = {}
    size = 0
    for cell, part, rows in _values(batches):
        if cell != now:
            yield from _joined(parts)
            now, parts, size = cell, {}, 0
        frame = pl.read_ipc_stream(rows)
        parts.setdefault(part, []).append(frame)
        size += len(frame)
        if size > _LONGEST:
            refuse_longest(parts[part])
    yield from _joined(parts)


def value_of(rows: pl.DataFrame, compression: Literal["zstd", "lz4"] = "zstd") -> bytes:
    """Rows as one value; ``pl.read_ipc_stream`` reads it."""
    out = io.BytesIO()
    rows.write_ipc_stream(out, compression=compression)
    return out.getvalue()


def _gathered(frames: Iterable[pl.DataFrame], enough: int) -> Iterator[pl.DataFrame]:
    """Rows in frames of a size that is worth packing."""
    kept: list[pl.DataFrame] = []
    size = 0
    for frame in frames:
        kept.append(frame)
        size += len(frame)
        if size >= enough:
            yield pl.concat(kept)
            kept, size = [], 0
    if size:
        yield pl.concat(kept)


def _values(batches: Iterable[pa.RecordBatch]) -> Iterator[tuple[int, int, bytes]]:
    for batch in batches:
        cells, parts = (batch.column(name).to_pylist() for name in ("cell", "part"))
        values = (each.as_py() for each in batch.column("rows"))
        yield from zip(cells, parts, values, strict=True)


def _joined(parts: Mapping[int, Sequence[pl.DataFrame]]) -> Iterator[dict[int, pl.DataFrame]]:
    """The rows of one cell, in the order of rows where there is one."""
    if not parts:
        return
    found = {}
    for part, frames in parts.items():
        frame = pl.concat(frames, how="diagonal", rechunk=False)
        order = [name for name in frame.columns if name.startswith(ORDER)]
        found[part] = frame.sort(order).drop(order) if order else frame
    yield found


def refuse_longest(frames: Sequence[pl.DataFrame]) -> None:
    """Check that no query is longer than any ranking.

    Args:
        frames: the rows of some whole queries.

    Raises:
        InputError: one is.
    """
    if sum(map(len, frames)) <= _LONGEST:
        return
    counts = pl.concat([each.select("query_id") for each in frames])["query_id"].value_counts()
    query, rows = counts.sort("count").row(-1)
    if rows > _LONGEST:
        problem = f"query '{query}' has more than {_LONGEST} rows; no ranking is so long."
        raise InputError(problem, code="too-large")


def refuse_other_hash(probe: tuple[int, ...]) -> None:
    """Check that queries have the hash here that they have on the driver.

    Args:
        probe: what `probed` gives there.

    Raises:
        UsageError: they have not, as Polars is another version.
    """
    if probed() != probe:
        problem = (
            f"executors have Polars {pl.__version__}, whose hash differs from the driver's; "
            "install the same version everywhere."
        )
        raise UsageError(problem, code="versions-differ")


def probed() -> tuple[int, ...]:
    """What texts of several lengths hash to."""
    return tuple(pl.Series(_PROBES).hash(_SEED))


def _keys(spark: SparkSession, partitions: int) -> tuple[int, ...]:
    """For each partition a number that Spark's hash puts there."""
    from pyspark.sql import functions as F

    found: dict[int, int] = {}
    begin = 0
    while len(found) < partitions:
        some = spark.range(begin, begin + 16 * partitions).select(
            F.col("id").cast("int").alias("k")
        )
        placed = some.select("k", F.pmod(F.hash("k"), F.lit(partitions)).alias("p")).collect()
        found |= {each.p: each.k for each in placed}
        begin += 16 * partitions
    return tuple(found[each] for each in range(partitions))
