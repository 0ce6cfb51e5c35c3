"""Every format gives the same values; what Spark and Java lack is one clear error."""

import gzip
import sys

import polars as pl
import pytest

import rankgate
from rankgate.core.errors import InputError, MissingExtraError, UsageError
from rankgate.spark import evaluate
from rankgate.spark.failures import known_failure
from rankgate.spark.sessions import check_java, pyspark
from support.programs import importable
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
    monkeypatch.delitem(sys.modules, "pyspark", raising=False)
    with importable(tmp_path), raises("missing-extra", MissingExtraError):
        pyspark()


def test_metrics_of_whole_tasks_are_refused():
    with raises("unsupported-metric", UsageError):  # before a session is opened
        evaluate(QRELS, RUN, ["RR", "ContextP@3"])


ROW = '{"query_id": "q1", "doc_id": "d1", "score": 1}\n'


@pytest.mark.parametrize(
    ("name", "text", "code", "line"),
    [
        ("array.jsonl", ROW + '\n["q2", "d2", 2.0]\n', "wrong-type", 3),
        ("arrays.jsonl", '["q2", "d2", 2.0]\n["q3", "d2", 2.0]\n', "wrong-type", 1),
        ("cut.jsonl", ROW + '{"query_id": "q2", "doc_id": "d', "invalid-json", 2),
        ("head.csv", "query_id,doc_id,score\n", "no-rankings", None),
        ("head.tsv", "query_id\tdoc_id\tscore\n", "no-rankings", None),
        ("empty.csv", "", "empty-file", None),
        ("empty.jsonl", "", "empty-file", None),
    ],
)
def test_damaged_lines_and_files_without_rows(spark, tmp_path, name, text, code, line):  # noqa: F811
    place = tmp_path / name
    place.write_text(text)
    with raises(code, InputError, line=line) as caught:
        evaluate(QRELS, place, ["RR"], spark=spark, partitions=2, values=False)
    assert caught.value.source == str(place)
    if name != "arrays.jsonl":  # the local engine does not know the format
        with pytest.raises(InputError) as here:
            rankgate.evaluate(QRELS, place, ["RR"])
        assert (here.value.code, here.value.line) == (code, line)


def test_judgments_without_rows(spark, tmp_path):  # noqa: F811
    place = tmp_path / "qrels.csv"
    place.write_text("query_id,doc_id,grade\n")
    with raises("no-judgments", InputError) as caught:
        evaluate(place, RUN, ["RR"], spark=spark, partitions=2, values=False)
    assert caught.value.source == str(place)


def _cut(data):
    return data[: len(data) // 2]  # the footer is gone


def _scrambled(data):
    return data[:4] + bytes(255 - each for each in data[4:-200]) + data[-200:]  # pages


def _empty(_data):
    return b""


def _text(_data):
    return b"query_id,doc_id,score\nq1,d1,1.0\n"


@pytest.mark.parametrize("damage", [_cut, _scrambled, _empty, _text])
def test_the_one_damaged_file_of_a_thousand_is_named(spark, thousand_files, damage):  # noqa: F811
    wrong = thousand_files / "part-0617.parquet"
    sound = wrong.read_bytes()
    wrong.write_bytes(damage(sound))
    try:
        with raises("damaged-file", InputError) as caught:
            evaluate(QRELS, thousand_files, ["RR"], spark=spark, partitions=2, values=False)
    finally:
        wrong.write_bytes(sound)
    assert caught.value.source == str(wrong)


@pytest.fixture(scope="module")
def thousand_files(tmp_path_factory):
    """A run of a thousand small Parquet files."""
    folder = tmp_path_factory.mktemp("run")
    for i in range(1000):
        rows = RUN.with_columns(pl.format("{}-{}", "query_id", pl.lit(i)))
        rows.write_parquet(folder / f"part-{i:04}.parquet")
    return folder
