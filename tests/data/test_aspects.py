"""Judgments with a column for each quality: weighted, or demanded together."""

from __future__ import annotations

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rankgate
from rankgate.core.errors import UsageError
from rankgate.data.collection import Collection
from rankgate.data.column_map import map_columns
from rankgate.data.grades_from_columns import Aspects
from support.wording import raises

SHEET = "q,d,relevance,fresh,trust\n1,a,3,0,1\n1,b,2,3,0\n2,a,0,3,2\n2,c,2,2,\n"
PAIR = {"query": "q", "doc": "d"}


@pytest.fixture
def sheet(tmp_path):
    (tmp_path / "sheet.csv").write_text(SHEET)
    return tmp_path / "sheet.csv"


def test_every_verb_takes_them(sheet, run, tmp_path):
    runs = [tmp_path / "old.run", tmp_path / "new.run"]
    runs[0].write_text("1 Q0 a 1 2 x\n1 Q0 b 2 1 x\n2 Q0 c 1 1 x\n")
    runs[1].write_text("1 Q0 b 1 2 x\n1 Q0 a 2 1 x\n2 Q0 c 1 1 x\n")
    column_options = ["--columns", "query=q,doc=d,aspects=relevance&fresh"]
    evaluation = run("eval", str(sheet), str(runs[1]), "-m", "P@1", *column_options)
    assert "1.0000" in evaluation.out
    assert run("compare", str(sheet), *map(str, runs), "-m", "P@1", *column_options).code == 0
    result = rankgate.evaluate(
        Collection(sheet, columns=column_options[1]), {"1": {"a": 1.0}, "2": {"c": 1.0}}, ["P@1"]
    )
    assert result.runs[0].per_query("P@1") == {"1": 0, "2": 1}


@pytest.mark.parametrize(
    ("aspects", "code"),
    [
        ("relevance", "invalid-syntax"),
        ("relevance*2", "invalid-syntax"),
        ("relevance:x+fresh:1", "invalid-syntax"),
        ("relevance&>=1", "invalid-syntax"),
        ("relevance:1+relevance:2", "duplicate-name"),
        ("relevance:0+fresh:0", "not-a-number"),
    ],
)
def test_a_rule_that_makes_no_sense(sheet, aspects, code):
    with raises(code, UsageError):
        map_columns(sheet, {**PAIR, "aspects": aspects}, "qrels")


def test_a_rule_and_a_column_of_grades(sheet):
    with raises("conflicting-options", UsageError):
        map_columns(sheet, {**PAIR, "aspects": "relevance&fresh", "grade": "trust"}, "qrels")


GRADES = st.lists(st.integers(0, 4), min_size=2, max_size=2)


@given(GRADES, st.floats(0.01, 9), st.floats(0.01, 9))
def test_laws(values, one, other):
    row = pl.DataFrame([values], ["a", "b"], orient="row")

    def grade(aspects):
        return row.select(Aspects.read(aspects).grade).item()

    mean = grade(f"a:{one:.4f}+b:{other:.4f}")
    conjunction = grade("a&b")
    assert min(values) - 1e-9 <= mean <= max(values) + 1e-9
    assert conjunction == min(values)
    assert grade("a&b>=0") == values[0]
    assert grade("a>=1&b>=1") == float(min(values) >= 1)
