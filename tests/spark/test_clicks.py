"""Click counts on Spark equal those of DuckDB, and give the judgments of the log itself."""

import json

import polars as pl
import pytest
from click.testing import CliRunner
from polars.testing import assert_frame_equal

from online.logs import event, search, written
from rankgate import online
from rankgate.core.errors import InputError, UsageError
from rankgate.interface.cli import rankgate as program
from rankgate.online.clicks import packed_searches as counting
from rankgate.online.indicators import search_tables
from rankgate.spark import click_counts
from support.spark import (
    spark,  # noqa: F401 - a fixture
    there,
)
from support.wording import raises

pytestmark = [
    pytest.mark.usefixtures("spark"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),  # sockets of Spark
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]


def place(rank, doc, *, clicked=False):
    return {"rank": rank, "doc_id": doc, "clicked": clicked}


@pytest.fixture(scope="module")
def events(tmp_path_factory):
    """Searches with equal lists, a document twice, two at a rank, no words, and no list."""
    rows = []
    for number in range(12):
        rows.append(search(number, number, user_query=f"words {number % 3 // 2}"))
        rows += [event("impression", number, number, rank, f"d{rank}") for rank in range(3)]
        if number % 4 == 0:
            rows.append(event("click", number, number, 1, "d1"))
    rows += [event("impression", 1, 1, 5, "d0"), event("impression", 1, 1, 2, "c")]
    rows += [event("click", 2, 1, 9, "elsewhere"), event("impression", 3, 1, None, "unranked")]
    rows += [event("impression", 40, 1, 0, "d0"), search(41, 1)]
    folder = tmp_path_factory.mktemp("log")
    online.ingest(written(folder / "log.ndjson", rows), folder / "events")
    return folder / "events"


def local(events, **chosen):
    with online.Events(events).open() as log:
        return log.base.rows(log.base.text(counting.click_counts(search_tables.events(), **chosen)))


@pytest.mark.parametrize("chosen", [{}, {"ranks": 2, "min_searches": 5}])
def test_counts_are_those_of_duckdb(events, chosen):
    counts = pl.DataFrame(click_counts(there(events), **chosen).toArrow())
    assert_frame_equal(
        *(frame.cast(counting.COLUMNS) for frame in (counts, local(events, **chosen))), check_row_order=False
    )
    if not chosen:
        # c comes before d2, and d0 is shown twice
        at_three = [place(1, "d0"), place(2, "d1"), place(3, "c"), place(6, "d0")]
        assert {"query_id": "words 0", "list": at_three, "searches": 1} in counts.to_dicts()
        usual = [place(1, "d0"), place(2, "d1"), place(3, "d2")]
        assert {"query_id": "words 0", "list": usual, "searches": 5} in counts.to_dicts()
        assert counts["searches"].sum() == 12
    if "min_searches" in chosen:
        assert set(counts["query_id"]) == {"words 0"}


def test_counts_give_the_judgments_of_the_log(events, tmp_path):
    options = {
        "models": ("dctr", "sdbn", "pbm"),
        "grading": online.Grading(min_examined=1),
        "resamples": 0,
        "held_out": 0,
    }  # fmt: skip - twelve searches are too few for the condition
    local_result = online.judgments(str(events), **options)
    assert len(local_result.judged)
    counts = click_counts(there(events))
    counts.write.parquet(str(tmp_path / "counts"))
    for source in (counts.toArrow(), tmp_path / "counts", there(events)):
        result = online.judgments(source, **options)
        assert_frame_equal(local_result.judged, result.judged)
        assert_frame_equal(local_result.models.drop("seconds"), result.models.drop("seconds"))


def test_the_command_has_a_backend(spark, events, tmp_path, monkeypatch):  # noqa: F811
    monkeypatch.setattr(spark, "stop", lambda: None)  # the session of all tests
    options = ["--model", "dctr", "--min-examined", "1", "--held-out", "0", "--format", "json"]
    command = ["online", "judgments", str(events), *options]
    spark_command = [*command, "--backend", "spark", "-o", str(tmp_path / "q.csv")]
    local_result, spark_result = (
        CliRunner().invoke(program, arguments) for arguments in (command, spark_command)
    )
    assert spark_result.exit_code == 0, spark_result.output
    assert json.loads(spark_result.stdout)["judged"] == json.loads(local_result.stdout)["judged"]
    assert (tmp_path / "q.csv").exists()


@pytest.mark.separate
def test_every_command_prints_what_it_prints_on_one_machine(spark, events, tmp_path, monkeypatch):  # noqa: F811
    monkeypatch.setattr(spark, "stop", lambda: None)
    rows = [(f"q{i}", f"d{j}", float((7 * i + 5 * j) % 11)) for i in range(12) for j in range(8)]
    run = pl.DataFrame(rows, schema=["query_id", "doc_id", "score"], orient="row")
    run.write_parquet(tmp_path / "run.parquet")
    run[::5].with_columns(grade=pl.lit(1)).drop("score").write_csv(tmp_path / "qrels.csv")
    log = run.rename({"query_id": "user", "doc_id": "item", "score": "value"})
    log.with_columns(time=pl.int_range(1, 97)).write_parquet(tmp_path / "log.parquet")
    paths = [str(tmp_path / name) for name in ("qrels.csv", "run.parquet")]
    commands = {
        "means": ["eval", *paths, "-m", "RR", "--tags", "ids:q(?P<first>.).*", "--slice", "first"],
        "figures": ["scorecard", *paths, "-m", "RR", "-m", "Coverage@3", "--resamples", "9"],
        "parts": ["split", str(tmp_path / "log.parquet"), "--way", "leave-last"],
        "values": ["online", "kpi", str(events), "-k", "search_ctr"],
    }
    for key, command in commands.items():
        command += ["--format", "json"]
        local_result, spark_result = (
            CliRunner().invoke(program, arguments)
            for arguments in (command, [*command, "--backend", "spark"])
        )
        assert spark_result.exit_code == 0, spark_result.output
        (local_output, spark_output) = (json.loads(result.stdout) for result in (local_result, spark_result))
        assert local_output.keys() == spark_output.keys()
        if key == "means":
            assert local_output["runs"][0]["mean"] == spark_output["runs"][0]["mean"]
            assert local_output["slices"] == spark_output["slices"]
        elif key == "figures":
            assert [row["value"] for row in local_output[key]] == [row["value"] for row in spark_output[key]]
        elif key == "parts":
            assert {**local_output, "log": ""} == {**spark_output, "log": ""}
        else:
            assert local_output[key] == spark_output[key]
    refused = [*commands["means"][:5], "--per-query", "--backend", "spark"]
    result = CliRunner().invoke(program, refused)
    assert isinstance(result.exception, UsageError), result.output


def test_counts_of_other_types():
    wrong = pl.DataFrame({"query_id": ["q"], "list": ["a b"], "searches": [1]})
    with raises("wrong-type", InputError):
        online.judgments(wrong)
