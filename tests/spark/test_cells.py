"""Rows that are packed by cells come back whole, each query in one cell."""

from dataclasses import replace

import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

from rankgate.core.errors import InputError, UsageError
from rankgate.spark import shuffle as module
from rankgate.spark.file_pieces import PieceReading, list_pieces
from rankgate.spark.shuffle import Cells, Packing, unpack_cells
from support.spark import spark  # noqa: F401 - a fixture
from support.wording import raises

pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning")

SIX = Cells(6, (0, 1), module.probe_hashes())
TYPES = {"cell": pa.int32(), "part": pa.int8(), "rows": pa.binary()}


def frame(queries):
    """A row a query, with a number that counts up."""
    rows = [(query, f"d{i}", float(i)) for i, query in enumerate(queries)]
    schema = {"query_id": pl.String, "doc_id": pl.String, "number": pl.Float64}
    return pl.DataFrame(rows, schema=schema, orient="row")


def moved(packed):
    """What a shuffle does: values by their cells."""
    rows = [row for batch in packed for row in zip(*(batch[n] for n in TYPES), strict=True)]
    rows.sort(key=lambda row: row[0])
    columns = zip(*rows, strict=True) if rows else [(), (), ()]
    arrays = [pa.array(x, kind) for x, kind in zip(columns, TYPES.values(), strict=True)]
    return [pa.RecordBatch.from_arrays(arrays, names=[*TYPES])]


@given(st.lists(st.text("abcé0", max_size=3), max_size=40), st.integers(1, 5))
def test_each_query_comes_back_whole_in_one_cell(queries, size):
    rows = frame(queries)
    batches = [piece.to_arrow() for piece in rows.iter_slices(size)]
    batches = [batch for table in batches for batch in table.to_batches()]
    cells = [*unpack_cells(moved(Packing(SIX, 1).process_batches(batches)))]
    all_rows = pl.concat([cell[1] for cell in cells]) if cells else rows.clear()
    assert_frame_equal(all_rows, rows, check_row_order=False)
    query_sets = [set(cell[1]["query_id"]) for cell in cells]
    assert sum(map(len, query_sets)) == len(set(queries))


def test_rows_come_back_in_their_order():
    first = frame(["q"] * 3).with_columns(row0=pl.lit(1), row1=pl.Series([0, 1, 2]))
    second = frame(["q"] * 3).with_columns(row0=pl.lit(0), row1=pl.Series([2, 0, 1]))
    packed = [*SIX.packed([first], 1), *SIX.packed([second], 1)]
    (cell,) = unpack_cells(moved(packed))
    assert cell[1]["number"].to_list() == [1, 2, 0, 0, 1, 2]
    assert cell[1].columns == ["query_id", "doc_id", "number"]


def test_another_hash_is_an_error():
    with raises("versions-differ", UsageError):
        [*replace(SIX, probe=(1, 2)).packed([frame(["q"])], 1)]


def test_a_query_that_is_longer_than_any_ranking(monkeypatch):
    monkeypatch.setattr(module, "_MAX_QUERY_ROWS", 10)
    short_queries = [f"q{i}" for i in range(30)]  # many short queries of one cell are fine
    one_cell = Cells(1, (0,), module.probe_hashes())
    assert len([*unpack_cells(moved(one_cell.packed([frame(short_queries)], 1)))]) == 1
    with raises("too-large", InputError):
        [*unpack_cells(moved(one_cell.packed([frame([*short_queries, *["long"] * 11])], 1)))]


def test_spark_puts_the_keys_into_their_partitions(spark):  # noqa: F811
    from pyspark.sql import functions as F

    for count in (1, 2, 7, 40):
        keys = [(key,) for key in Cells.for_partitions(spark, count, count).keys]
        rows = spark.createDataFrame(keys, "k int").repartition(count, "k")
        collected = rows.select("k", F.spark_partition_id().alias("p")).collect()
        assert [keys[row.p] for row in collected] == [(row.k,) for row in collected]


def test_pieces_of_files_are_all_rows_once_and_in_order(tmp_path, monkeypatch):
    monkeypatch.setattr("rankgate.spark.file_pieces._LEAST_BYTES", 200)
    rows = frame([f"q{i % 7}" for i in range(500)])
    folder = tmp_path / "run"
    folder.mkdir()
    (folder / "_SUCCESS").touch()
    rows.head(300).rename({"number": "score"}).write_parquet(folder / "a.parquet")
    rows.slice(300).rename({"number": "score"}).write_parquet(folder / "b.parquet")
    pieces = list_pieces([str(folder)], "score", {}, 4)
    assert len(pieces.every) > 4
    one_cell = Cells(1, (0,), module.probe_hashes())
    task = PieceReading(((1, pieces),), one_cell, ordered=True)
    numbers = [*range(len(task.work()))][::-1]
    ids = pa.RecordBatch.from_pydict({"id": numbers})
    (cell,) = unpack_cells(moved(task.process_batches([ids])))
    assert_frame_equal(cell[1], rows)


@pytest.mark.parametrize("name", ["s3a://bucket/run.parquet", "part-*.parquet"])
def test_spark_reads_what_is_no_file_of_this_machine(name):
    assert list_pieces([name], "score", {}, 2) is None


def test_spark_reads_columns_that_are_names_of_folders(tmp_path):
    (tmp_path / "day=1").mkdir()
    frame(["q"]).write_parquet(tmp_path / "day=1" / "a.parquet")
    assert list_pieces([str(tmp_path)], "score", {}, 2) is None
