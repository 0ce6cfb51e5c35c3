"""Delta tables are read at their newest version, where Delta's jars are there."""

import polars as pl
import pytest

import rankgate
from rankgate.core.errors import InputError
from support.spark import (
    measured,
    spark,  # noqa: F401 - a fixture
    there,
)

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore::ResourceWarning"),  # sockets of Spark
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
]

RUN = pl.DataFrame(
    [(f"q{i}", f"d{j}", float((7 * i + 5 * j) % 11)) for i in range(12) for j in range(8)],
    schema=["query_id", "doc_id", "score"],
    orient="row",
)
QRELS = RUN[::5].select("query_id", "doc_id", pl.lit(1).alias("grade"))


@pytest.fixture
def delta(spark):  # noqa: F811
    """The session, with Delta."""
    return spark


def written(spark, place, *tables, by=()):  # noqa: F811
    """A Delta table of several commits; rows of the first commit do not count any more."""
    first = tables[0].with_columns((pl.nth(2) * 0).name.keep())
    for i, table in enumerate((first, *tables)):
        rows = spark.createDataFrame(table.to_dicts()).write.format("delta").partitionBy(*by)
        rows.mode("overwrite" if i < 2 else "append").save(str(place))


def test_rows_of_older_versions_do_not_count(delta, tmp_path):
    written(delta, tmp_path / "run", RUN[:50], RUN[50:])
    written(delta, tmp_path / "qrels", QRELS, by=["query_id"])
    inputs = there(tmp_path / "qrels"), there(tmp_path / "run")
    result = measured(rankgate.evaluate, *inputs, ["nDCG@5", "AP"])
    local_result = rankgate.evaluate(QRELS, RUN, ["nDCG@5", "AP"])
    for label in ("nDCG@5", "AP"):
        spark_values = dict(result.maker.values.select("query_id", f"`{label}`").collect())
        assert spark_values == local_result.runs[0].per_query(label)


def test_a_file_that_a_table_lost_is_named(delta, tmp_path):
    written(delta, tmp_path / "run", RUN)
    newest = max((tmp_path / "run").glob("*.parquet"), key=lambda each: each.stat().st_mtime_ns)
    newest.unlink()
    with pytest.raises(InputError) as caught:  # the name of the file is drawn
        rankgate.evaluate(QRELS, there(tmp_path / "run"), ["AP"])
    assert (caught.value.code, caught.value.source) == ("no-such-file", str(newest))


def test_a_split_and_a_scorecard_of_tables(delta, tmp_path):
    log = RUN.with_columns(pl.int_range(1, 1 + len(RUN)).alias("time"))
    log = log.rename({"query_id": "user", "doc_id": "item", "score": "value"})
    log.write_parquet(tmp_path / "log.parquet")
    written(delta, tmp_path / "log", log.select("user", "item", "value", "time"))
    parts = measured(rankgate.split, there(tmp_path / "log"), "leave-last")
    local_parts = rankgate.split(tmp_path / "log.parquet", "leave-last")
    assert {**parts.to_dict(), "log": ""} == {**local_parts.to_dict(), "log": ""}
    parts.maker.unpersist()
    written(delta, tmp_path / "run", RUN)
    items = [f"d{j}" for j in range(8)]
    shop = rankgate.Collection(QRELS, items=rankgate.Items(catalogue=items))
    spark_card = measured(rankgate.scorecard, shop, there(tmp_path / "run"), ["Coverage@2"])
    card = rankgate.scorecard(shop, RUN, ["Coverage@2"])
    assert spark_card["run", "Coverage@2"] == card.figures["value"][0]
