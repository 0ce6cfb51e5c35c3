"""Parts that executors write are those that Spark writes, and appear only when they are whole."""

import io
import json

import polars as pl
import pyarrow as pa
import pytest
from polars.testing import assert_frame_equal

from rankgate.core.errors import UsageError
from rankgate.data.logs.log_judgments import Truth
from rankgate.data.logs.splits import SplitPlan
from rankgate.data.streams.input_parts import list_part_files
from rankgate.data.streams.source import open_source
from rankgate.recommenders.splitting import split
from rankgate.spark.splitting import part_files
from rankgate.spark.splitting.packed_rows import JUDGMENTS
from rankgate.spark.splitting.part_files import PartTable, _move_file, _Writing
from support.spark import (
    measured,
    spark,  # noqa: F401 - a fixture
    there,
)
from support.wording import raises

pytestmark = [
    pytest.mark.usefixtures("spark"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),  # sockets of Spark
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
]


def rows_of(folder):
    read = pl.read_csv if folder.suffix == ".csv" else pl.read_parquet
    return pl.concat([read(part_file.path) for part_file in list_part_files(open_source(folder))])


@pytest.mark.parametrize(
    ("plan", "rule", "to"),
    [(SplitPlan(), Truth(), "parquet"), (SplitPlan("windows", windows=2), Truth(grades="value"), "csv")],
)
def test_both_writers_write_the_same(tmp_path, monkeypatch, plan, rule, to):
    log = pl.DataFrame(
        {
            "user": [f"u{i % 7:02}" for i in range(90)],
            "item": [f"i{i * i % 83}" for i in range(90)],
            "time": [1_700_000_000 + i * 50.5 for i in range(90)],
            "value": [1 + i % 4 / 2 for i in range(90)],
        }
    )
    log.write_parquet(tmp_path / "log.parquet")
    split_result = measured(split, there(tmp_path / "log.parquet"), plan, rule, partitions=2)
    names = split_result.write(tmp_path / "here", to=to)
    assert split_result.write(tmp_path / "here", to=to) == names  # in place of the first
    monkeypatch.setattr(part_files, "_local_folder", lambda *_: None)
    assert split_result.write(tmp_path / "there", to=to) == names
    split_result.maker.unpersist()
    assert [*(tmp_path / "here").glob(".w*")] == []
    for name in names[:-1]:
        assert_frame_equal(rows_of(tmp_path / "here" / name), rows_of(tmp_path / "there" / name))


def test_a_folder_that_cannot_be_written(spark, tmp_path):  # noqa: F811
    rows = [(f"u{i % 3}", f"i{i % 13}", 1_700_000_000 + i) for i in range(30)]
    frame = spark.createDataFrame(rows, "user string, item string, time bigint")
    split_result = measured(split, frame, "leave-last", partitions=1)
    (tmp_path / "file").touch()
    with raises("cannot-write", UsageError):
        split_result.write(tmp_path / "file")
    split_result.maker.unpersist()


@pytest.mark.pyspark
def test_what_an_executor_cannot_write_is_an_error(tmp_path):
    out = io.BytesIO()
    pl.DataFrame({"query_id": ["u"], "doc_id": ["i"], "grade": [1.0]}).write_ipc_stream(out)
    batch = pa.RecordBatch.from_pydict({"fold": [0], "part": [JUDGMENTS], "rows": [out.getvalue()]})
    table = PartTable(0, JUDGMENTS, "test.qrels.csv", "csv", "date", whole=True)
    (output_batch,) = _Writing(str(tmp_path), (table,)).process_batches([batch])
    (file_entry,) = json.loads(output_batch["totals"][0])
    assert (tmp_path / file_entry["file"]).read_text() == "query_id,doc_id,grade\nu,i,1\n"
    with raises("cannot-write", UsageError):
        [*_Writing(str(tmp_path / "nowhere"), (table,)).process_batches([batch])]


def test_a_file_that_is_not_whole_is_not_taken(tmp_path):
    (tmp_path / "a").write_text("12345")
    for file_entry in ({"size": 6}, {"size": 5}):
        with pytest.raises(OSError, match="folder"):
            _move_file(tmp_path / ("a" if file_entry["size"] == 6 else "b"), file_entry, tmp_path / "c")
    _move_file(tmp_path / "a", {"size": 5}, tmp_path / "c")
    assert (tmp_path / "c").read_text() == "12345"
