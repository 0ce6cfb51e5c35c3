"""Every format gives the same values; what Spark and Java lack is one clear error."""

import gzip
import sys
from dataclasses import fields

import polars as pl
import pytest

import rankgate
from rankgate.core.errors import InputError, MissingExtraError, UsageError
from rankgate.data.read import read_run
from rankgate.spark import table
from rankgate.spark.sessions import check_java, find_known_failure, pyspark
from support.programs import importable
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
]

RUN = pl.DataFrame(
    [(f"q{i}", f'd "{j}", x', float((7 * i + 5 * j) % 11)) for i in range(12) for j in range(8)],
    schema=["query_id", "doc_id", "score"],
    orient="row",
)
QRELS = RUN[::5].select("query_id", "doc_id", pl.lit(1).alias("grade"))


def evaluate(qrels, runs, metrics, **settings):
    """Scores of judgments on Spark."""
    return measured(rankgate.evaluate, there(qrels), runs, metrics, **settings)


def test_formats_give_the_same_values(spark, tmp_path):  # noqa: F811
    RUN.write_csv(tmp_path / "a.csv")
    RUN.write_csv(tmp_path / "a.tsv", separator="\t")
    RUN.write_ndjson(tmp_path / "a.jsonl")
    for name in ("a.csv", "a.jsonl"):
        (tmp_path / f"{name}.gz").write_bytes(gzip.compress((tmp_path / name).read_bytes()))
    for folder, rows in (("x", RUN[:40]), ("y", RUN[40:])):
        (tmp_path / "nested" / folder).mkdir(parents=True)
        rows.write_csv(tmp_path / "nested" / folder / "rows.csv")
    table_path = tmp_path / "table"
    table = spark.createDataFrame(RUN.to_dicts()).write.mode("overwrite").option("path", str(table_path))
    table.saveAsTable("rankgate_run")
    try:
        files = ("a.csv", "a.tsv", "a.jsonl", "a.csv.gz", "a.jsonl.gz", "nested")
        runs = {name: there(tmp_path / name) for name in files}
        runs["table"] = there("table:rankgate_run")
        runs["rows"] = spark.createDataFrame(RUN.to_dicts())  # Spark does not know their size
        result = evaluate(QRELS, runs, ["nDCG@5", "AP"])
    finally:
        spark.sql("DROP TABLE rankgate_run")
    local_means = rankgate.evaluate(QRELS, RUN, ["nDCG@5", "AP"]).means.row(0)[1:]
    assert result.means["run"].to_list() == list(runs)
    for row in result.means.iter_rows():
        assert row[1:] == pytest.approx(local_means, rel=1e-12)


def test_a_file_with_other_columns_or_without_files(tmp_path):
    folder = tmp_path / "run"
    folder.mkdir()
    with raises("empty-file", InputError):
        evaluate(QRELS, folder, ["RR"])
    RUN[:50].write_csv(folder / "a.csv")
    RUN[50:].select("doc_id", "query_id", "score").write_csv(folder / "b.csv")
    with raises("wrong-header", InputError) as caught:
        evaluate(QRELS, folder, ["RR"])
    assert caught.value.source.startswith(str(folder))


@pytest.mark.parametrize(
    ("text", "kind", "code"),
    [
        ("[DATA_SOURCE_NOT_FOUND] Failed to find the data source: delta.", UsageError, "missing-package"),
        ("[PATH_NOT_FOUND] Path does not exist: file:/data/a.csv.", InputError, "no-such-file"),
        (
            "native zStandard library not available: FAILED_READ_FILE file:/a.csv.zst",
            InputError,
            "unsupported-compression",
        ),
        ('Cannot run program "/nowhere/python": error=2', UsageError, "python-missing"),
        ("[PARSE_SYNTAX_ERROR] Syntax error at or near 'such'.", InputError, "no-such-file"),
    ],
)
def test_what_spark_raises(text, kind, code):
    error = find_known_failure(text, "run")
    assert (type(error), error.code) == (kind, code)
    assert "\n" not in str(error)


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
    for name in ("ContextP@3", "Coverage@10"):
        with raises("unsupported-metric", UsageError):  # before a session is opened
            rankgate.evaluate(table("qrels.parquet"), RUN, ["RR", name])


STATED = {
    "grades": {"Exact": 3},
    "sample": "random",
    "ids": "as-they-are",
    "predicted": "qrels.csv",
    "training": "log.csv",
    "sequences": "ids:(?P<sequence>.)",
    "users": "users.csv",
    "selection": "pooled",
    "candidates": "items.csv",
    "reference": "old.run",
    "drop_seen": True,
    "name": "shop",
    "judged_users_only": True,
    "columns": "query=query_id",
    "tags": "ids:(?P<first>.)",
}
UNCHANGED = {  # fields that change no value of rankings, here and on Spark
    "training",
    "users",
    "selection",
    "candidates",
    "reference",
    "judged_users_only",
    "columns",
    "tags",
    "name",
    "ids",
}


@pytest.mark.parametrize("verb", ["evaluate", "compare", "scorecard"])
def test_every_field_of_a_collection_is_measured_or_refused(verb, monkeypatch):
    names = {field.name for field in fields(rankgate.Collection)} - {"_", "judgments", "items"}
    assert names == {*STATED}
    allowed_fields = UNCHANGED
    if verb == "scorecard":  # drops what was seen
        allowed_fields = UNCHANGED | {"drop_seen"}
    runs = ("old.run", "new.run") if verb == "compare" else (["old.run"],)
    for module in ("spark_evaluation", "spark_comparison", "spark_scorecards"):
        monkeypatch.setattr(f"rankgate.spark.{module}.prepare", _stop)
    for name, value in STATED.items():
        shop = rankgate.Collection(table("qrels.csv"), **{name: value})
        if name in allowed_fields:
            with pytest.raises(StopIteration):
                getattr(rankgate, verb)(shop, *runs)
        else:
            with raises("conflicting-options", UsageError):
                getattr(rankgate, verb)(shop, *runs)
    passages = rankgate.Items({"item_id": ["a"]}, document="page")
    shop = rankgate.Collection(table("qrels.csv"), items=passages)
    with raises("conflicting-options", UsageError):
        getattr(rankgate, verb)(shop, *runs)


def test_spellings_of_ids_are_refused_before_a_session_is_opened():
    with raises("conflicting-options", UsageError):
        rankgate.evaluate(rankgate.Collection(table("qrels.parquet"), ids="case"), RUN, ["RR"])


def _stop(*_given, **_named):
    raise StopIteration


def test_columns_are_named_as_on_one_machine(spark, tmp_path):  # noqa: F811
    run_columns = {"query_id": "term", "doc_id": "sku", "score": "weight"}
    judged = {"query_id": "term", "doc_id": "sku", "grade": "rated"}
    RUN.rename(run_columns).write_parquet(tmp_path / "run.parquet")
    QRELS.rename(judged).write_csv(tmp_path / "qrels.csv")
    columns = {"query": "keyword|term", "doc": "SKU", "grade": "rated", "score": "weight"}
    shop = rankgate.Collection(there(tmp_path / "qrels.csv"), columns=columns)
    local_mean = rankgate.evaluate(QRELS, RUN, ["AP"]).means["AP"][0]
    for run in (tmp_path / "run.parquet", spark.createDataFrame(RUN.rename(run_columns).to_dicts())):
        result = rankgate.evaluate(shop, there(run), ["AP"])
        assert result.means["AP"][0] == pytest.approx(local_mean, rel=1e-12)
    for columns in ("grade=stars", "query=words"):
        shop = rankgate.Collection(there(tmp_path / "qrels.csv"), columns=columns)
        with raises("missing-column", InputError):
            rankgate.evaluate(shop, RUN, ["AP"])
    shop = rankgate.Collection(there(tmp_path / "qrels.csv"), columns="grade=rated+term")
    with raises("conflicting-options", UsageError):
        rankgate.evaluate(shop, RUN, ["AP"])


def test_tables_on_spark_are_checked_and_shown():
    assert repr(table("a.csv", "csv")) == "SparkTable('a.csv', format='csv')"
    assert "SparkTable('a.csv')" in repr(rankgate.Collection(table("a.csv")))
    for source in ({"q": {"a": 1}}, "", []):
        with raises("wrong-type", UsageError):
            table(source)
    with raises("conflicting-options", UsageError):
        table("table:runs", "csv")
    with raises("on-spark", UsageError):  # no other table is read by Spark
        rankgate.Collection("qrels.csv", tags=table("tags.csv"))
    with raises("on-spark", UsageError):  # nor measured there
        rankgate.holes(table("qrels.csv"), RUN, RUN)
    with raises("on-spark", UsageError):
        read_run(table("new.run"))
    with raises("missing-part", UsageError):
        rankgate.evaluate(table("qrels.csv"), RUN, bounds=True)


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
def test_damaged_lines_and_files_without_rows(tmp_path, name, text, code, line):
    path = tmp_path / name
    path.write_text(text)
    with raises(code, InputError, line=line) as caught:
        evaluate(QRELS, path, ["RR"], partitions=2)
    assert caught.value.source == str(path)
    if name != "arrays.jsonl":  # the local engine does not know the format
        with pytest.raises(InputError) as local_error:
            rankgate.evaluate(QRELS, path, ["RR"])
        assert (local_error.value.code, local_error.value.line) == (code, line)


def test_judgments_without_rows(tmp_path):
    path = tmp_path / "qrels.csv"
    path.write_text("query_id,doc_id,grade\n")
    with raises("no-judgments", InputError) as caught:
        evaluate(path, RUN, ["RR"], partitions=2)
    assert caught.value.source == str(path)


def _cut(data):
    return data[: len(data) // 2]  # the footer is gone


def _scrambled(data):
    return data[:4] + bytes(255 - byte for byte in data[4:-200]) + data[-200:]  # pages


def _empty(_data):
    return b""


def _text(_data):
    return b"query_id,doc_id,score\nq1,d1,1.0\n"


@pytest.mark.parametrize("damage", [_cut, _scrambled, _empty, _text])
def test_the_one_damaged_file_of_a_thousand_is_named(thousand_files, damage):
    wrong = thousand_files / "part-0617.parquet"
    sound = wrong.read_bytes()
    wrong.write_bytes(damage(sound))
    try:
        with raises("damaged-file", InputError) as caught:
            evaluate(QRELS, thousand_files, ["RR"], partitions=2)
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
