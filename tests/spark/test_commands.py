"""Commands with --backend spark give what they give on one machine."""

import json
import os

import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner

import rankgate
from rankgate import Collection, Items, metric
from rankgate.core.errors import UsageError
from rankgate.interface.cli import rankgate as program
from rankgate.spark import table
from support.spark import (
    assert_equal,
    spark,  # noqa: F401 - a fixture
    there,
)
from support.wording import raises

pytestmark = [
    pytest.mark.usefixtures("spark"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),  # sockets of Spark
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Judgments, two runs, training, items, users and predicted ratings in files."""
    path, rng = tmp_path_factory.mktemp("files"), np.random.default_rng(12)
    rows = [(f"u{i}", f"i{j}") for i in range(40) for j in rng.permutation(20)[:8]]
    pairs = pl.DataFrame(rows, schema=["query_id", "doc_id"], orient="row")
    for name in ("old", "new"):
        pairs.with_columns(score=pl.Series(rng.random(len(pairs)))).write_parquet(path / f"{name}.parquet")
    pairs[::3].with_columns(grade=pl.Series(rng.integers(1, 6, len(pairs[::3])))).write_csv(
        path / "qrels.csv"
    )
    users = {"user_id": [f"u{i}" for i in range(38)], "plan": ["free", "paid"] * 19}
    pl.DataFrame(users).write_parquet(path / "users.parquet")
    items = {"item_id": [f"i{j}" for j in range(21)], "kind": ["x|y", "y", "z"] * 7, "blurb": ["text"] * 21}
    pl.DataFrame(items).write_parquet(path / "items.parquet")
    log = pairs.sample(150, seed=2).rename({"query_id": "user_id", "doc_id": "item_id"})
    log.write_parquet(path / "train.parquet")
    return path


def printed(folder, *command):
    """What a command prints as JSON on one machine and on Spark, with the exit codes."""
    arguments = [str(folder / word) if (folder / word).exists() else word for word in command]
    results = []
    for backend in ("local", "spark"):
        result = CliRunner().invoke(program, [*arguments, "--format", "json", "--backend", backend])
        assert result.stdout, (result.exception, result.output)
        results.append((json.loads(result.stdout), result.exit_code))
    return results


def test_commands(spark, folder, monkeypatch):  # noqa: F811
    monkeypatch.setattr(spark, "stop", lambda: None)  # the session of all tests
    runs = ("old.parquet", "new.parquet")
    tables = ("--training", "train.parquet", "--items", "items.parquet", "--users", "users.parquet")
    (local_card, _), (spark_card, code) = printed(
        folder, "scorecard", "qrels.csv", *runs, *tables, "--category", "kind", "--slice", "plan",
        "--slice", "items.kind", "--slice", "history",
    )  # fmt: skip
    assert code == 0
    assert_equal(local_card, spark_card)
    (local_accuracy, _), (spark_accuracy, _) = printed(folder, "rating-accuracy", "qrels.csv", "old.parquet")
    assert_equal(local_accuracy, spark_accuracy)
    (local_result, _), (spark_result, _) = printed(folder, "compare", "qrels.csv", *runs, "-m", "RR")
    columns = ("n", "baseline", "candidate", "delta", "low", "high", "p_value")
    local_row, spark_row = (result["comparisons"][0]["metrics"][0] for result in (local_result, spark_result))
    assert_equal({name: local_row[name] for name in columns}, {name: spark_row[name] for name in columns})
    (local_verdict, local_code), (spark_verdict, spark_code) = printed(
        folder, "gate", "qrels.csv", *runs, "-m", "RR"
    )
    assert (spark_code, spark_verdict["verdict"]) == (local_code, local_verdict["verdict"])


def test_what_commands_refuse(spark, folder, monkeypatch):  # noqa: F811
    monkeypatch.setattr(spark, "stop", lambda: None)
    paths = [str(folder / name) for name in ("qrels.csv", "old.parquet", "new.parquet")]
    for command in (
        ["compare", *paths, "-m", "RR", "--test", "randomization"],
        ["gate", *paths, "-m", "RR", "--self-check"],
        ["gate", *paths, "-m", "RR", "--noise", paths[1]],
        ["compare", *paths, "-m", "RR", "--query", "u1"],
    ):
        result = CliRunner().invoke(program, [*command, "--backend", "spark"])
        assert isinstance(result.exception, UsageError), (command, result.output)


@pytest.mark.separate
def test_tables_that_stay_on_spark(folder):
    """Only named columns of items reach the driver; training and users do not."""
    tables = {name: table(folder / f"{name}.parquet") for name in ("train", "items", "users")}
    collection = Collection(
        table(folder / "qrels.csv"),
        training=tables["train"],
        items=Items(tables["items"], category="kind"),
        users=tables["users"],
    )
    runs = {"old": folder / "old.parquet", "new": folder / "new.parquet"}
    local = Collection(
        folder / "qrels.csv",
        training=folder / "train.parquet",
        items=Items(folder / "items.parquet", category="kind"),
        users=folder / "users.parquet",
    )
    options = {"slices": ["plan", "activity"], "resamples": 20}
    local_card = rankgate.scorecard(local, runs, **options).to_dict()
    assert_equal(local_card, rankgate.scorecard(collection, runs, **options).to_dict())
    with raises("on-spark", UsageError):
        rankgate.scorecard(Collection(folder / "qrels.csv", training=tables["train"]), runs)


def test_a_worker_that_ends_again_and_again():
    @metric
    def deadly(grades: list[float | None]) -> float:  # noqa: ARG001
        os._exit(3)

    with raises("executors-lost", UsageError):
        rankgate.evaluate(there({"q": {"a": 1}}), {"q": {"a": 1.0}}, [deadly])


def test_lists_in_rows(spark, tmp_path):  # noqa: F811
    """Rows of ALS, and lists with and without scores, in DataFrames and files."""
    qrels = {"1": {"10": 1, "12": 2}, "2": {"10": 1}}
    scored = [(1, [(10, 0.9), (11, 0.8)]), (2, [(12, 0.7), (10, 0.6)])]
    als = spark.createDataFrame(scored, "user int, recommendations array<struct<item:int,rating:float>>")
    ranked = [("1", ["10", "11"]), ("2", ["12", "10"])]
    lists = spark.createDataFrame(ranked, "user string, items array<string>")
    rows = [("1", ["11", "10"], [0.1, 0.5]), ("2", ["12", "10"], [0.3, 0.2])]
    numbers = spark.createDataFrame(rows, "query_id string, docs array<string>, score array<double>")
    grades = [("1", ["10", "12"], [1.0, 2.0]), ("2", ["10"], [1.0])]
    judged = spark.createDataFrame(grades, "query_id string, docs array<string>, labels array<double>")
    lists.write.parquet(str(tmp_path / "lists"))
    local_values = rankgate.evaluate(qrels, {"1": ["10", "11"], "2": ["12", "10"]}, ["nDCG@10", "RR"])
    expected = local_values.means.row(0)[1:]
    for judgments, run in (
        (qrels, als),
        (judged, lists),
        (qrels, numbers),
        (qrels, table(tmp_path / "lists")),
    ):
        assert rankgate.evaluate(judgments, run, ["nDCG@10", "RR"]).means.row(0)[1:] == expected
    local_als = pl.DataFrame(
        {"user": [1, 2], "recommendations": [[{"item": 10, "rating": 0.9}], [{"item": 12, "rating": 0.7}]]}
    )
    assert rankgate.evaluate(qrels, local_als, ["RR"]).means.row(0)[1] == 0.5
