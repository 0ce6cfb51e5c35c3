"""Logs that executors read by themselves, and move as columns: packed by ranges of users."""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator, Mapping
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from rankgate.core.errors import InputError
from rankgate.core.frozen import dataclass
from rankgate.data.formats.tables.arrow import collected, scanned
from rankgate.data.logs.columns import mapped as named
from rankgate.data.streams.source import InputFile
from rankgate.spark.cells import value_of
from rankgate.spark.pieces import TASK_BYTES
from rankgate.spark.shipping import mapped, numbers_in

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

    from rankgate.spark.pieces import Piece, Pieces

RANGED = "key int, range int, piece int, place int, rows binary, totals string"
"""What a task packs: the range of users, its partition's key, and where in the log the rows are."""

_ROWS = 1 << 22  # that are packed at once
_RANGE_BYTES = 12 << 20  # of input for one range, which is sorted at once
_SAMPLES = 1000  # users of each piece of a sample
_WHOLE = (pl.String, pl.Categorical, pl.Enum)
_TIMES = (*_WHOLE, pl.Datetime, pl.Date)


def columns_of(pieces: Pieces, chosen: Mapping[str, str], label: str) -> dict[str, str] | None:
    """Which column of a log is which of ours; None where Spark has to read, or to refuse.

    Raises:
        InputError: a damaged file, a column that is missing.
    """
    schema = scanned(InputFile(Path(pieces.every[0].path))).collect_schema()
    found = named(schema.names(), chosen, label)
    for ours, theirs in found.items():
        kind = schema[theirs]
        plain = kind.is_numeric() if ours in {"at", "value"} else kind.is_integer()
        text = _TIMES if ours == "at" else () if ours == "value" else _WHOLE
        if kind.is_decimal() or not (plain or kind in text):
            return None
    return found


@dataclass(frozen=True)
class Packing:
    """Read pieces of a log and pack their rows by ranges of users.

    Attributes:
        pieces: of the log, in the order of its rows.
        columns: our name of each column, and theirs.
        ends: the users with which ranges but the first begin.
        keys: for each partition a number that Spark puts there; a partition has several ranges.
    """

    pieces: tuple[Piece, ...]
    columns: Mapping[str, str]
    ends: pl.Series
    keys: tuple[int, ...]

    def over(self, batches: Iterable[pa.RecordBatch]) -> Iterator[dict[str, Any]]:
        """The rows of the pieces whose numbers come, packed.

        Raises:
            InputError: a damaged file, a column that is missing.
        """
        for number in numbers_in(batches):
            for place, frame in enumerate(_frames(self.pieces[number], self.columns)):
                yield self._packed(frame, number, place)

    def _packed(self, frame: pl.DataFrame, piece: int, place: int) -> dict[str, Any]:
        users = frame["query_id"].fill_null("")
        every = users.unique().sort()
        codes = users.cast(pl.Enum(every)).to_physical().to_numpy()
        firsts = np.asarray(every.search_sorted(self.ends, side="left"))
        ranges = np.searchsorted(firsts, codes, side="right").astype(np.uint16)
        rows = frame.select(pl.all().gather(np.argsort(ranges, kind="stable")))
        counts = np.bincount(ranges, minlength=len(self.ends) + 1)
        starts = np.cumsum(counts) - counts
        found = np.flatnonzero(counts).tolist()
        values = [
            value_of(rows.slice(int(starts[each]), int(counts[each])), "lz4") for each in found
        ]
        many = len(found)
        each_key = -(-(len(self.ends) + 1) // len(self.keys))
        keys = [self.keys[each // each_key] for each in found]
        places = {"piece": [piece] * many, "place": [place] * many}
        return {"key": keys, "range": found, **places, "rows": values}


def unpacked_ranges(batches: Iterable[pa.RecordBatch]) -> Iterator[pl.DataFrame]:
    """The rows of each range of users, in the order of the log; users are whole.

    Args:
        batches: columns of `RANGED`, by range, piece and place.

    Raises:
        InputError: files whose columns have types that do not go together.
    """
    for _, values in groupby(_values(batches), key=itemgetter(0)):
        try:
            frames = [pl.read_ipc_stream(io.BytesIO(rows)) for _, rows in values]
            yield pl.concat(frames, how="vertical_relaxed", rechunk=True)
        except pl.exceptions.PolarsError as error:
            problem = f"columns of several types: {str(error).splitlines()[0]}."
            raise InputError(problem, code="wrong-type") from None


def by_range(
    spark: SparkSession, pieces: Pieces, columns: Mapping[str, str], keys: tuple[int, ...]
) -> DataFrame:
    """The rows of a log, packed: partitions are in byte order of users, and ranges in them.

    Args:
        spark: the session.
        pieces: of the log.
        columns: our name of each column, and theirs.
        keys: for each partition of the shuffle a number that Spark puts there.
    """
    partitions = len(keys)
    ranges = partitions * -(-pieces.size // (_RANGE_BYTES * partitions))
    packing = Packing(pieces.every, dict(columns), _ends(pieces, columns, ranges), keys)
    work = len(pieces.every)
    tasks = max(int(spark.sparkContext.defaultParallelism), -(-pieces.size // TASK_BYTES))
    numbers = spark.range(0, work, 1, min(work, tasks))
    moved = mapped(numbers, packing, RANGED).repartition(partitions, "key")
    return moved.sortWithinPartitions("range", "piece", "place")


def _ends(pieces: Pieces, columns: Mapping[str, str], ranges: int) -> pl.Series:
    """Users that cut the log into ranges of about equal size, of a sample of its rows."""
    many = min(max(4 * ranges, 16), 256)
    asked = np.linspace(0, len(pieces.every), many, endpoint=False)
    found = []
    for place in asked:
        piece = pieces.every[int(place)]
        source = InputFile(Path(piece.path))
        scan = scanned(source, checked=True).select(pl.col(columns["query_id"]).cast(pl.String))
        begin = piece.begin + int((place % 1) * piece.rows)
        found.append(collected(scan.slice(begin, _SAMPLES), source).to_series())
    users = pl.concat(found).drop_nulls().sort()
    places = np.arange(1, ranges) * len(users) // ranges
    return users.gather(places).unique(maintain_order=True) if len(users) else users


def _frames(piece: Piece, columns: Mapping[str, str]) -> Iterator[pl.DataFrame]:
    """The rows of a piece under our names."""
    source = InputFile(Path(piece.path))
    scan = scanned(source, checked=True)  # when it was cut
    names = scan.collect_schema().names()
    for theirs in columns.values():
        if theirs not in names:
            problem = f"no column '{theirs}' among {', '.join(names[:10])}, as other files have."
            raise InputError(problem, source=piece.path, code="missing-column")
    kinds = {"query_id": pl.String, "doc_id": pl.String, "kind": pl.String, "value": pl.Float64}
    chosen = [
        pl.col(theirs).cast(kinds[ours]).alias(ours)
        if ours in kinds
        else pl.col(theirs).alias(ours)
        for ours, theirs in columns.items()
    ]
    frame = scan.select(chosen)
    end = piece.begin + piece.rows
    for begin in range(piece.begin, end, _ROWS):
        yield collected(frame.slice(begin, min(_ROWS, end - begin)), source)


def _values(batches: Iterable[pa.RecordBatch]) -> Iterator[tuple[int, bytes]]:
    for batch in batches:
        ranges = batch.column("range").to_pylist()
        values = (each.as_py() for each in batch.column("rows"))
        yield from zip(ranges, values, strict=True)
