"""Blank, empty, null, unrated and not a number: one meaning each, in every source.

The table of meanings in docs/sources.md is compared with the behaviour of all sources here.
"""

import math
from pathlib import Path

import openpyxl
import polars as pl
import pytest

import rankgate
from rankgate.core.errors import InputError, RankgateError
from support.table_sources import MEMORY

DOCS = Path(__file__).parents[2] / "docs/sources.md"


def outcome(judgments, run):
    """The reciprocal rank, or the code of the error."""
    try:
        return rankgate.evaluate(judgments, run, ["RR"]).means["RR"].item()
    except RankgateError as error:
        return error.code


@pytest.mark.parametrize("source", ["parquet", "polars", "pandas", "arrow", "rows"])
@pytest.mark.parametrize("value", [None, math.nan, math.inf])
def test_the_error_of_a_score_names_its_row(tmp_path, source, value):
    run = pl.DataFrame({"query_id": ["q", "q"], "doc_id": ["a", "b"], "score": [1.0, value]})
    run.write_parquet(tmp_path / "run.parquet")
    table = MEMORY[source](run) if source in MEMORY else tmp_path / "run.parquet"
    with pytest.raises(InputError) as caught:
        rankgate.evaluate({"q": {"a": 1}}, table, ["RR"])
    assert caught.value.code == "not-a-number"
    assert "in row 2" in str(caught.value)


@pytest.mark.parametrize("value", [None, math.nan])
def test_a_null_score_of_a_dictionary_is_an_error(value):
    assert outcome({"q": {"a": 1}}, {"q": {"a": 1.0, "b": value}}) == "not-a-number"


def test_a_null_score_of_a_matrix_is_not_ranked():
    labels, scores = [[0.0, 1.0, 0.0]], [[math.nan, 0.5, 0.9]]
    assert (
        outcome(pl.DataFrame(labels, orient="row").to_numpy(), pl.DataFrame(scores, orient="row").to_numpy())
        == 0.5
    )


def test_a_null_grade_of_a_dictionary_is_unrated():
    judgments = {"q": {"b": None, "a": 1, "c": 0}, "r": {"c": 1}}
    evaluated = rankgate.evaluate(judgments, {"q": ["b", "a"], "r": ["c"]}, ["RR", "judged@2"])
    assert evaluated.means.row(0)[1:] == (0.75, 0.75)


@pytest.mark.parametrize("blank", ["", " "])
def test_an_id_of_blanks_in_dictionaries_is_an_error(blank):
    filled = {"q": {"a": 1.0}}
    for faulty in ({"q": {"a": 1.0, blank: 2.0}}, {**filled, blank: {"a": 1.0}}):
        assert outcome(faulty, filled) == outcome(filled, faulty) == "empty-value"
    for faulty in ({"q": ["a", blank]}, {"q": ["a"], blank: ["b"]}):
        assert outcome(faulty, filled) == outcome(filled, faulty) == "empty-value"


@pytest.mark.parametrize("formula", ["=1+1", "=A2", '=CONCATENATE("3", "")'])
def test_a_formula_without_a_saved_value_is_an_error_with_its_cell(tmp_path, formula):
    book = openpyxl.Workbook()
    for row in (["query_id", "doc_id", "grade"], ["q", "a", 1], ["q", "b", formula]):
        book.active.append(row)
    book.create_sheet("other").append(["=1+1"])  # is not read
    book.save(tmp_path / "t.xlsx")
    with pytest.raises(InputError) as caught:
        rankgate.read_qrels(f"{tmp_path}/t.xlsx:Sheet")
    assert caught.value.code == "unsaved-formula"
    assert "C3" in str(caught.value)


def test_labels_may_mean_unrated(tmp_path):
    path = tmp_path / "labels.csv"
    path.write_text("query,docid,rating\nq,b,N/A\nq,a,good\n")
    frame_of_labels = pl.read_csv(path)
    run = {"q": ["b", "a"]}
    for judgments in (str(path), frame_of_labels, {"q": {"b": "N/A", "a": "good"}}):
        for unrated in ("unrated", math.nan):
            grades = {"good": 2, "N/A": unrated}
            collection = rankgate.Collection(judgments, grades=grades)
            assert rankgate.evaluate(collection, run, ["RR", "judged@2"]).means.row(0)[1:] == (0.5, 0.5)
    with pytest.raises(InputError) as caught:
        rankgate.evaluate(rankgate.Collection(str(path), grades={"good": 2}), run, ["RR"])
    assert (caught.value.code, caught.value.line) == ("unknown-label", 2)


def test_the_documentation_has_the_table_of_meanings():
    text = DOCS.read_text("utf-8").split("## Empty values")[1].split("\n## ")[0]
    rows = [line.split("|")[1].strip() for line in text.splitlines() if line.startswith("|")][2:]
    assert rows == [
        "a row of separators, blanks or nulls only",
        "an id that is empty, null or blanks",
        "a grade that is empty or null",
        "a query of which no document is rated",
        "a label that `--grades` calls `unrated`",
        "a score that is empty, null or NaN",
        "a formula without a saved value",
        "a flag that is empty or null",
    ]


@pytest.mark.parametrize(("convention", "mean"), [("trec", 1.0), ("quepid", 0.5)])
def test_a_query_that_nobody_rated_is_named_and_counts_as_the_convention_says(tmp_path, convention, mean):
    path = tmp_path / "u.csv"
    path.write_text("query,docid,rating\nlaptop,d1,3\nunrated,,\n")
    run = {"laptop": ["d1"], "unrated": ["d7"]}
    scores = rankgate.evaluate(str(path), run, ["RR"], convention=convention)
    assert scores.means["RR"].item() == mean
    assert scores.runs[0].counts.unrated == 1
    assert [notice.code for notice in scores.notices] == ["queries-unrated"]


def test_a_query_that_nobody_rated_counts_where_all_are_so_or_the_user_says_so():
    """With nothing else rated the oracle has 0 for trec (conformance-0419 and five more)."""
    run = {"a": ["d1"], "b": ["d7"]}
    assert rankgate.evaluate({"a": {}}, run, ["RR"]).means["RR"].item() == 0
    rated = {"a": {"d1": 1}, "b": {}}
    counted = rankgate.evaluate(
        rated, run, ["RR"], convention=rankgate.convention("trec", {"unrated": "counted"})
    )
    assert counted.means["RR"].item() == 0.5
    assert counted.convention["name"] == "trec+"
