"""The local engine reads the folders of part files that Spark writes."""

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from rankgate import evaluate
from rankgate import split as local_split
from rankgate.data.read import read_qrels, read_run
from support.spark import (
    measured,
    spark,  # noqa: F401 - a fixture
    there,
)

pytestmark = [
    pytest.mark.usefixtures("spark"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),  # sockets of Spark
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
]

FORMATS = {
    "parquet": {},
    "csv.gz": {"header": True, "compression": "gzip"},
    "json.gz": {"compression": "gzip"},
}


def test_runs_and_judgments_that_spark_wrote(spark, tmp_path):  # noqa: F811
    rows = [(f"q{i // 5}", f"d{i % 5}", float(i * 7 % 13)) for i in range(100)]
    run = pl.DataFrame(rows, schema=["query_id", "doc_id", "score"], orient="row")
    qrels = run.select("query_id", "doc_id", grade=pl.col("score") % 3)
    # more partitions than queries in most of them: some parts have no rows
    frame = spark.createDataFrame(rows, "query_id string, doc_id string, score double")
    parts = frame.where("query_id < 'q14'").repartition(4, "query_id")
    expected_run = run.filter(pl.col("query_id") < "q14")
    for name, options in FORMATS.items():
        folder = str(tmp_path / f"new.{name}")
        parts.write.format(name.removesuffix(".gz")).options(**options).save(folder)
        spark_run = read_run(folder)
        assert_frame_equal(
            spark_run.table.sort("query_id", "doc_id"), expected_run.sort("query_id", "doc_id")
        )
        local_mean, spark_mean = (
            evaluate(qrels, source, ["AP"]).means["AP"].item() for source in (expected_run, folder)
        )
        assert local_mean == spark_mean


@pytest.mark.separate
def test_a_split_that_spark_wrote(tmp_path):
    log = pl.DataFrame(
        {
            "user": [f"u{i % 7:02}" for i in range(90)],
            "item": [f"i{i * i % 83}" for i in range(90)],
            "time": [1_700_000_000 + i * 50 for i in range(90)],
        }
    )
    log.write_parquet(tmp_path / "log.parquet")
    spark_split = measured(local_split, there(tmp_path / "log.parquet"), "leave-last", partitions=2)
    spark_split.write(tmp_path, to="parquet")
    expected_split = local_split(log, "leave-last")
    judged = read_qrels(tmp_path / "test.qrels.csv").table
    assert_frame_equal(judged, expected_split.qrels.table)
    spark_train, local_train = (
        local_split(source, "random").train for source in (tmp_path / "train.parquet", expected_split.train)
    )
    assert_frame_equal(spark_train, local_train)
    spark_split.maker.unpersist()
