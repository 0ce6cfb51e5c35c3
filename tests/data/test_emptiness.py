"""Judgments and runs without a row are one error with one text, whatever they are."""

from __future__ import annotations

import pandas as pd
import polars as pl
import pytest

import rankgate
from support.command import assert_refused
from support.wording import raises

QRELS, RUN = {"q": {"a": 1}}, {"q": {"a": 1.0}}
COLUMNS = {"query_id": pl.String, "doc_id": pl.String}

EMPTY = {
    "dict": lambda _: {},
    "frame": lambda number: pl.DataFrame(schema=COLUMNS | {number: pl.Float64}),
    "frame without types": lambda number: pl.DataFrame(schema=[*COLUMNS, number]),
    "pandas": lambda number: pd.DataFrame(columns=[*COLUMNS, number]),
    "pandas with floats": lambda number: pd.DataFrame({"query_id": [], "doc_id": [], number: []}),
    "no columns": lambda _: pd.DataFrame(),
    "Arrow": lambda number: pl.DataFrame(schema=[*COLUMNS, number]).to_arrow(),
    "dict of columns": lambda number: {"query_id": [], "doc_id": [], number: []},
}

VERBS = {
    "evaluate": lambda qrels, run: rankgate.evaluate(qrels, run, ["RR"]),
    "compare": lambda qrels, run: rankgate.compare(qrels, run, run, ["RR"]),
    "gate": lambda qrels, run: rankgate.gate(qrels, run, run),
}


@pytest.mark.parametrize("source", EMPTY)
@pytest.mark.parametrize("verb", VERBS)
def test_empty_tables_are_one_error(verb, source):
    with raises("no-judgments"):
        VERBS[verb](EMPTY[source]("grade"), RUN)
    with raises("no-rankings"):
        VERBS[verb](QRELS, EMPTY[source]("score"))


@pytest.mark.parametrize("verb", ["compare", "gate"])
def test_queries_without_any_judgment_decide_nothing(verb):
    with raises("no-judgments"):
        VERBS[verb]({"q": {}}, RUN)
    unrated = pl.DataFrame({"query_id": ["q"], "doc_id": ["a"], "grade": [None]})
    with raises("no-judgments"):
        VERBS[verb](unrated, RUN)


def test_a_query_without_judgments_has_the_value_that_tools_give():
    assert rankgate.evaluate({"q": {}}, RUN, ["RR"]).means["RR"][0] == 0


def test_an_empty_list_is_no_judgments():
    with raises("no-judgments"):
        rankgate.evaluate([], RUN, ["RR"])


def test_a_query_that_returned_nothing_has_a_value():
    assert rankgate.evaluate(QRELS, {"q": {}}, ["RR"]).means["RR"][0] == 0


def test_files_and_logs(run, tmp_path):
    (tmp_path / "qrels.csv").write_text("query_id,doc_id,grade\n")
    (tmp_path / "run.csv").write_text("query_id,doc_id,score\n")
    (tmp_path / "log.csv").write_text("timestamp,action_name,query_id\n")
    (tmp_path / "good.csv").write_text("query_id,doc_id,grade\nq,a,1\n")
    assert_refused(run("eval", tmp_path / "qrels.csv", tmp_path / "run.csv"), "no-judgments")
    assert_refused(run("eval", tmp_path / "good.csv", tmp_path / "run.csv"), "no-rankings")
    for command in ("doctor", "kpi", "judgments", "intents", "weeks"):
        assert_refused(run("online", command, tmp_path / "log.csv"), "no-events")
