"""Every format gives the same values; what Spark and Java lack is one clear error."""

import gzip
import sys

import polars as pl
import pytest

import rankgate
from rankgate.errors import InputError, MissingExtraError, UsageError
from rankgate.spark import evaluate
from rankgate.spark.failures import known_failure
from rankgate.spark.sessions import check_java, pyspark
from support.spark import spark  # noqa: F401 - a fixture
from support.wording import raises

pytestmark = [
    pytest.mark.filterwarnings("ignore::ResourceWarning"),  # sockets of Spark
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]

RUN = pl.DataFrame(
    [(f"q{i}", f'd "{j}", x', float((7 * i + 5 * j) % 11)) for i in range(12) for j in range(8)],
    schema=["query_id", "doc_id", "score"],
    orient="row",
)
QRELS = RUN[::5].select("query_id", "doc_id", pl.lit(1).alias("grade"))


def test_formats_give_the_same_values(spark, tmp_path):  # noqa: F811
    RUN.write_csv(tmp_path / "a.csv")
    RUN.write_csv(tmp_path / "a.tsv", separator="\t")
    RUN.write_ndjson(tmp_path / "a.jsonl")
    for name in ("a.csv", "a.jsonl"):
        (tmp_path / f"{name}.gz").write_bytes(gzip.compress((tmp_path / name).read_bytes()))
    for part, rows in (("x", RUN[:40]), ("y", RUN[40:])):
        (tmp_path / "nested" / part).mkdir(parents=True)
        rows.write_csv(tmp_path / "nested" / part / "rows.csv")
    place = tmp_path / "table"
    table = spark.createDataFrame(RUN.to_dicts()).write.mode("overwrite").option("path", str(place))
    table.saveAsTable("rankgate_run")
    try:
        files = ("a.csv", "a.tsv", "a.jsonl", "a.csv.gz", "a.jsonl.gz", "nested")
        runs = {name: tmp_path / name for name in files} | {"table": "table:rankgate_run"}
        runs["rows"] = spark.createDataFrame(RUN.to_dicts())  # Spark does not know their size
        there = evaluate(QRELS, runs, ["nDCG@5", "AP"], spark=spark, values=False)
    finally:
        spark.sql("DROP TABLE rankgate_run")
    here = rankgate.evaluate(QRELS, RUN, ["nDCG@5", "AP"]).means.row(0)[1:]
    assert there.means["run"].to_list() == list(runs)
    for row in there.means.iter_rows():
        assert row[1:] == pytest.approx(here, rel=1e-12)


def test_a_file_with_other_columns_or_without_files(spark, tmp_path):  # noqa: F811
    folder = tmp_path / "run"
    folder.mkdir()
    with raises("empty-file", InputError):
        evaluate(QRELS, folder, ["RR"], spark=spark)
    RUN[:50].write_csv(folder / "a.csv")
    RUN[50:].select("doc_id", "query_id", "score").write_csv(folder / "b.csv")
    with raises("wrong-header", InputError) as caught:
        evaluate(QRELS, folder, ["RR"], spark=spark)
    assert caught.value.source.startswith(str(folder))


@pytest.mark.parametrize(
    ("text", "kind", "code"),
    [
        ("[DATA_SOURCE_NOT_FOUND] Failed to find the data source: delta.", UsageError,
         "missing-package"),
        ("[PATH_NOT_FOUND] Path does not exist: file:/data/a.csv.", InputError, "no-such-file"),
        ("native zStandard library not available: FAILED_READ_FILE file:/a.csv.zst", InputError,
         "unsupported-compression"),
        ('Cannot run program "/nowhere/python": error=2', UsageError, "python-missing"),
        ("[PARSE_SYNTAX_ERROR] Syntax error at or near 'such'.", InputError, "no-such-file"),
    ],
)  # fmt: skip
def test_what_spark_raises(text, kind, code):
    found = known_failure(text, "run")
    assert (type(found), found.code) == (kind, code)
    assert "\n" not in str(found)


def test_java_and_pyspark_that_are_missing_or_old(tmp_path, monkeypatch):
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with raises("java-missing", UsageError):
        check_java()
    program = tmp_path / "bin" / "java"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\necho 'openjdk version \"11.0.2\" 2019-01-15' >&2\n")
    program.chmod(0o755)
    with raises("java-too-old", UsageError):
        check_java()
    (tmp_path / "pyspark.py").write_text("__version__ = '3.5.1'\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "pyspark", raising=False)
    with raises("missing-extra", MissingExtraError):
        pyspark()
