"""Send work to Spark executors, and move rows between them as columns.

Work is a task, pickled, as a function of record batches. Rows move packed by cells of queries,
and are unpacked cell by cell.

Spark's own shuffle takes rows one by one: it hashes, copies and sorts each in the JVM, which
takes several times longer than scoring. Here a task packs all of its rows of a cell into one value,
in the format of Arrow, so that Spark moves a few large values.
"""

from __future__ import annotations

import io
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

import polars as pl

from rankgate.core.errors import InputError, UsageError
from rankgate.core.frozen import dataclass
from rankgate.spark.worker import ShippedTask

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

    Columns = Mapping[str, Sequence[int | str | bytes]]
    """The values of columns of Spark, by name."""

_TYPES = {
    "string": "string",
    "bigint": "int64",
    "int": "int32",
    "byte": "int8",
    "double": "float64",
    "binary": "binary",
}


def map_partitions(
    frame: DataFrame,
    task: Any,  # noqa: ANN401 - an object with `over`
    columns: str,
    modules: Sequence[str] = (),
) -> DataFrame:
    """The rows that a task makes of each partition.

    Args:
        frame: the rows of the record batches.
        task: the work; its ``process_batches`` makes frames, or columns, of record batches.
        columns: the columns of the result, as ``name type, ...``; ``totals string`` is for errors.
        modules: the modules of the user's functions, which are sent by value if executors lack
            them.
    """
    import pyarrow as pa
    from pyspark import cloudpickle

    pickler: Any = cloudpickle  # the module has no types
    names = [column.split() for column in columns.split(", ")]
    schema = pa.schema([(name, pa.type_for_alias(_TYPES[kind])) for name, kind in names])
    for module in _unshipped_modules(modules):
        pickler.register_pickle_by_value(module)
    run = ShippedTask(pickler.dumps(task), sys.version_info[:2], schema.serialize().to_pybytes())

    def work(batches: Any) -> Any:  # noqa: ANN401 - Spark asks for a plain function
        yield from run(batches)

    return frame.mapInArrow(work, columns)


def read_numbers(batches: Iterable[pa.RecordBatch]) -> Iterator[int]:
    """The numbers in the only column of some record batches, as ``spark.range`` makes them."""
    for batch in batches:
        yield from batch.column(0).to_pylist()


def _unshipped_modules(names: Sequence[str]) -> list[Any]:
    """The modules that executors may lack: those that are not installed."""
    modules = [sys.modules[name] for name in names if name in sys.modules]
    return [
        module
        for module in modules
        if not module.__name__.startswith("rankgate.")
        and module.__name__ != "__main__"
        and "site-packages" not in (getattr(module, "__file__", None) or "site-packages")
    ]


PACKED = "key int, cell int, part byte, rows binary, totals string"
"""Columns that a task packs: the cell, its partition's key, the part; ``totals`` is an error."""

ORDER = "row"
"""The first letters of columns with the order of rows, where a convention needs it."""

_SEED = 0x5EED
QUERY = pl.col("query_id").hash(_SEED)
"""The hash of a query, which places it in a cell."""

_PROBES = ("", "7", "query 12", "a longer name of a query", "one of more than sixty-four bytes " * 3)
_ROWS = 1 << 20  # the smallest number of rows to pack in one step
_MOST_ROWS = 1 << 23
_ROWS_OF_VALUE = 1000  # rows of a packed value in large input: its header takes 500 bytes
_MAX_QUERY_ROWS = 16_000_000  # documents of one query, as in the local engine


@dataclass(frozen=True)
class Cells:
    """The cells of queries, by hash; each partition has several cells.

    Attributes:
        count: the number of cells.
        keys: for each partition, a number that Spark's hash assigns to the partition.
        probe: the hashes of some texts; executors with other hashes have another Polars.
    """

    count: int
    keys: tuple[int, ...]
    probe: tuple[int, ...]

    @classmethod
    def for_partitions(cls, spark: SparkSession, partitions: int, count: int) -> Cells:
        """Cells for some partitions.

        Args:
            spark: the session, which assigns keys to partitions.
            partitions: the partitions of the shuffle.
            count: the number of cells; rounded up to the same number for each partition.
        """
        return cls(-(-count // partitions) * partitions, _partition_keys(spark, partitions), probe_hashes())

    def packed(self, frames: Iterable[pl.DataFrame], part: int) -> Iterator[Columns]:
        """Rows with a ``query_id``, packed into the columns of `PACKED`.

        Args:
            frames: the rows.
            part: the table of the rows, as `rankgate.spark.partition_scores` numbers them.
        """
        refuse_other_hash(self.probe)
        row_target = min(max(_ROWS, _ROWS_OF_VALUE * self.count), _MOST_ROWS)
        for frame in _gather_frames(frames, row_target):
            cell = (QUERY % self.count).cast(pl.Int32).alias("cell")
            cells, values = [], []
            for (number,), rows in (
                frame.with_columns(cell).partition_by("cell", as_dict=True, include_key=False).items()
            ):
                cells.append(number)
                values.append(encode_rows(rows))
            keys = [self.keys[cell_number % len(self.keys)] for cell_number in cells]
            yield {"key": keys, "cell": cells, "part": [part] * len(cells), "rows": values}


@dataclass(frozen=True)
class Packing:
    """A task that packs the rows of a DataFrame, which Spark reads.

    Attributes:
        cells: the cells of queries.
        part: the table of the rows.
    """

    cells: Cells
    part: int

    def process_batches(self, batches: Iterable[pa.RecordBatch]) -> Iterator[Columns]:
        """Pack the rows.

        Raises:
            UsageError: Polars is another version than the driver's.
        """
        frames = (pl.DataFrame(pl.from_arrow(batch)) for batch in batches if batch.num_rows)
        yield from self.cells.packed(frames, self.part)


def unpack_cells(batches: Iterable[pa.RecordBatch]) -> Iterator[dict[int, pl.DataFrame]]:
    """The rows of each cell by part; cells are whole queries.

    Args:
        batches: columns of `PACKED`; the rows of a cell are adjacent.

    Raises:
        InputError: a query with more rows than a ranking may have.
    """
    current_cell: int | None = None
    parts: dict[int, list[pl.DataFrame]] = {}
    size = 0
    for cell, part_number, rows in _values(batches):
        if cell != current_cell:
            yield from _join_parts(parts)
            current_cell, parts, size = cell, {}, 0
        frame = pl.read_ipc_stream(rows)
        parts.setdefault(part_number, []).append(frame)
        size += len(frame)
        if size > _MAX_QUERY_ROWS:
            refuse_longest(parts[part_number])
    yield from _join_parts(parts)


def encode_rows(rows: pl.DataFrame, compression: Literal["zstd", "lz4"] = "zstd") -> bytes:
    """Rows as one value, for ``pl.read_ipc_stream``."""
    buffer = io.BytesIO()
    rows.write_ipc_stream(buffer, compression=compression)
    return buffer.getvalue()


def _gather_frames(frames: Iterable[pl.DataFrame], row_target: int) -> Iterator[pl.DataFrame]:
    """The rows in frames that are large enough to pack."""
    gathered: list[pl.DataFrame] = []
    size = 0
    for frame in frames:
        gathered.append(frame)
        size += len(frame)
        if size >= row_target:
            yield pl.concat(gathered)
            gathered, size = [], 0
    if size:
        yield pl.concat(gathered)


def _values(batches: Iterable[pa.RecordBatch]) -> Iterator[tuple[int, int, bytes]]:
    for batch in batches:
        cells, parts = (batch.column(name).to_pylist() for name in ("cell", "part"))
        values = (rows_value.as_py() for rows_value in batch.column("rows"))
        yield from zip(cells, parts, values, strict=True)


def _join_parts(parts: Mapping[int, Sequence[pl.DataFrame]]) -> Iterator[dict[int, pl.DataFrame]]:
    """The rows of one cell, in the order of rows if they have one."""
    if not parts:
        return
    frame_of_part = {}
    for part_number, frames in parts.items():
        frame = pl.concat(frames, how="diagonal", rechunk=False)
        order = [name for name in frame.columns if name.startswith(ORDER)]
        frame_of_part[part_number] = frame.sort(order).drop(order) if order else frame
    yield frame_of_part


def refuse_longest(frames: Sequence[pl.DataFrame]) -> None:
    """Refuse queries with more rows than a ranking may have.

    Args:
        frames: the rows of some whole queries.

    Raises:
        InputError: a query has too many rows.
    """
    if sum(map(len, frames)) <= _MAX_QUERY_ROWS:
        return
    counts = pl.concat([frame.select("query_id") for frame in frames])["query_id"].value_counts()
    query, rows = counts.sort("count").row(-1)
    if rows > _MAX_QUERY_ROWS:
        problem = f"query '{query}' has more than {_MAX_QUERY_ROWS} rows; no ranking is so long."
        raise InputError(problem, code="too-large")


def refuse_other_hash(probe: tuple[int, ...]) -> None:
    """Check that queries have the same hash here as on the driver.

    Args:
        probe: the result of `probe_hashes` on the driver.

    Raises:
        UsageError: the hashes differ, because Polars has another version.
    """
    if probe_hashes() != probe:
        problem = (
            f"executors have Polars {pl.__version__}, which hashes differently from the driver's version; "
            "install the same version everywhere."
        )
        raise UsageError(problem, code="versions-differ")


def probe_hashes() -> tuple[int, ...]:
    """The hashes of texts of several lengths."""
    return tuple(pl.Series(_PROBES).hash(_SEED))


def _partition_keys(spark: SparkSession, partitions: int) -> tuple[int, ...]:
    """For each partition, a number that Spark's hash assigns to the partition."""
    from pyspark.sql import functions as F

    key_of_partition: dict[int, int] = {}
    begin = 0
    while len(key_of_partition) < partitions:
        numbers = spark.range(begin, begin + 16 * partitions).select(F.col("id").cast("int").alias("k"))
        placed_numbers = numbers.select("k", F.pmod(F.hash("k"), F.lit(partitions)).alias("p")).collect()
        key_of_partition |= {row.p: row.k for row in placed_numbers}
        begin += 16 * partitions
    return tuple(key_of_partition[partition] for partition in range(partitions))
