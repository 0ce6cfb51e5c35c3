"""Click counts on Spark are those of DuckDB, and give the judgments of the log itself."""

import json

import polars as pl
import pytest
from click.testing import CliRunner
from polars.testing import assert_frame_equal

from online.logs import event, search, written
from rankgate import online
from rankgate.core.errors import InputError
from rankgate.interface.cli import rankgate as program
from rankgate.online.clicks import click_counts as counting
from rankgate.online.indicators import tables
from rankgate.spark import click_counts
from support.spark import spark  # noqa: F401 - a fixture
from support.wording import raises

pytestmark = [
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
        return log.base.rows(log.base.text(counting.click_counts(tables.events(), **chosen)))


@pytest.mark.parametrize("chosen", [{}, {"ranks": 2}, {"min_searches": 5}])
def test_counts_are_those_of_duckdb(spark, events, chosen):  # noqa: F811
    found = pl.DataFrame(click_counts(str(events), **chosen, spark=spark).toArrow())
    assert_frame_equal(
        *(each.cast(counting.COLUMNS) for each in (found, local(events, **chosen))),
        check_row_order=False,
    )
    if not chosen:
        # c comes before d2, and d0 is shown twice
        at_three = [place(1, "d0"), place(2, "d1"), place(3, "c"), place(6, "d0")]
        assert {"query_id": "words 0", "list": at_three, "searches": 1} in found.to_dicts()
        usual = [place(1, "d0"), place(2, "d1"), place(3, "d2")]
        assert {"query_id": "words 0", "list": usual, "searches": 5} in found.to_dicts()
        assert found["searches"].sum() == 12
    if "min_searches" in chosen:
        assert set(found["query_id"]) == {"words 0"}


def test_counts_give_the_judgments_of_the_log(spark, events, tmp_path):  # noqa: F811
    chosen = {
        "models": ("dctr", "sdbn", "pbm"),
        "grading": online.Grading(min_examined=1),
        "resamples": 0,
        "held_out": 0,
    }  # fmt: skip - twelve searches are too few for the condition
    here = online.judgments(str(events), **chosen)
    assert len(here.judged)
    counted = click_counts(str(events), spark=spark)
    counted.write.parquet(str(tmp_path / "counts"))
    for given in (counted.toArrow(), tmp_path / "counts"):
        there = online.judgments(given, **chosen)
        assert_frame_equal(here.judged, there.judged)
        assert_frame_equal(here.models.drop("seconds"), there.models.drop("seconds"))


def test_the_command_has_a_backend(spark, events, tmp_path, monkeypatch):  # noqa: F811
    monkeypatch.setattr(spark, "stop", lambda: None)  # the session of all tests
    words = ["--model", "dctr", "--min-examined", "1", "--held-out", "0", "--format", "json"]
    command = ["online", "judgments", str(events), *words]
    own = [*command, "--backend", "spark", "-o", str(tmp_path / "q.csv")]
    here, there = (CliRunner().invoke(program, each) for each in (command, own))
    assert there.exit_code == 0, there.output
    assert json.loads(there.stdout)["judged"] == json.loads(here.stdout)["judged"]
    assert (tmp_path / "q.csv").exists()


def test_counts_of_other_types():
    wrong = pl.DataFrame({"query_id": ["q"], "list": ["a b"], "searches": [1]})
    with raises("wrong-type", InputError):
        online.judgments(wrong)
