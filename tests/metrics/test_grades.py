"""Means, counts and shares of the first k documents, written out."""

from __future__ import annotations

import numpy as np
import pytest

from rankgate.measurement.evaluation.evaluate import evaluate
from rankgate.measurement.explanation.explain import explain
from rankgate.measurement.metrics.judged_block import block
from rankgate.measurement.metrics.metric_name_parser import parse

# grades 2, none, 0, 1, 3 and one in the pool only; a 3, a 1 and a 0 are missed
LIST = block([[2, None, 0, 1, 3, -1]], ideal=[[3, 3, 2, 1, 1, 0, 0, -1]])

VALUES = [
    ("AvgGrade@4", (2 + 0 + 0 + 1) / 4),
    ("AvgGrade@10", (2 + 0 + 0 + 1 + 3) / 10),
    ("AvgGrade", (2 + 0 + 0 + 1 + 3) / 6),
    ("AvgGrade(denominator='returned')@10", (2 + 0 + 0 + 1 + 3) / 6),
    ("AvgGrade(denominator='judged')@4", (2 + 0 + 1) / 3),
    ("AvgGrade(denominator='judged')", (2 + 0 + 1 + 3) / 4),
    ("AvgGrade(gain='exp')@4", (3 + 1) / 4),
    ("Hits@4", 2),
    ("Hits(rel=2)", 2),
    ("Hits(rel=0)@4", 3),
    ("NCG@4", (2 + 1) / (3 + 3 + 2 + 1)),
    ("NCG", (2 + 1 + 3) / (3 + 3 + 2 + 1 + 1)),
    ("NCG(gain='exp')@1", 3 / 7),
    ("NCG(ideal='retrieved')@4", (2 + 1) / (3 + 2 + 1)),
    ("NCG(depth='all')@4", (2 + 1) / (3 + 3 + 2 + 1 + 1)),
    ("NCG(depth='returned')@9", (2 + 1 + 3) / (3 + 3 + 2 + 1 + 1)),
    ("R_cap@2", 1 / 2),
    ("capped_recall@10", 3 / 5),
]


@pytest.mark.parametrize(("name", "expected"), VALUES)
def test_a_value_is_its_formula(name, expected):
    assert parse(name).compute(LIST)[0] == pytest.approx(expected, abs=1e-15)


@pytest.mark.parametrize("name", ["AvgGrade@5", "Hits@3", "NCG@3"])
def test_steps_add_up(name):
    qrels, run = {"q": {"a": 3, "b": 1, "c": 2}}, {"q": {"b": 3.0, "x": 2.0, "a": 1.0}}
    result = explain(qrels, run, "q", name)
    assert sum(row.contribution for row in result.rows) == pytest.approx(result.summed.value)
    assert result.summed.value / result.norm.value == pytest.approx(result.value)


def test_where_there_is_nothing():
    empty_lists = block([[], [0, None]], ideal=[[1], [0]])
    assert np.isnan(parse("NCG@3").compute(empty_lists)).tolist() == [False, True]
    assert parse("Hits@3").compute(empty_lists).tolist() == [0, 0]
    assert np.isnan(parse("AvgGrade").compute(empty_lists)).tolist() == [True, False]
    assert parse("AvgGrade@3").compute(empty_lists).tolist() == [0, 0]


def test_capped_recall_is_beir_s():
    qrels = {"q": {"a": 1, "b": 1, "c": 1}}
    run = {"q": {"a": 3.0, "x": 2.0, "b": 1.0}}
    beir = evaluate(qrels, run, "R_cap@2", "beir").runs[0].means["R_cap@2"]
    assert evaluate(qrels, run, "R_cap@2").runs[0].means["R_cap@2"] == beir == 1 / 2


@pytest.mark.parametrize(
    ("name", "low", "high"), [("AvgGrade@2", 1.5, 3.0), ("Hits@2", 1, 2), ("NCG@2", 3 / 4, 1.0)]
)
def test_bounds(name, low, high):
    qrels, run = {"q": {"a": 3, "b": 1}}, {"q": {"u": 2.0, "a": 1.0}}
    result = evaluate(qrels, run, [name], bounds=True).runs[0]
    assert (result.all_irrelevant.values[name][0], result.all_best.values[name][0]) == (low, high)
