"""Python's verbs."""

from __future__ import annotations

import polars as pl
import pytest

import rankgate
from rankgate.metrics import RR, nDCG

QRELS = {"<q>": {"a": 3, "b": 0}, "none": {"c": 0}}
RUN = {"<q>": {"b": 2.0, "a": 1.0}, "none": {"x": 1.0}}


def test_an_evaluation_has_frames():
    result = rankgate.evaluate(QRELS, {"mine": RUN}, [nDCG @ 10, RR])
    assert result.means.columns == ["run", "nDCG@10", "RR"]
    assert result.means["RR"].to_list() == [0.25]
    assert result.values.filter(pl.col("metric") == "RR").rows() == [
        ("mine", "<q>", "RR", 0.5, None),
        ("mine", "none", "RR", 0.0, "no relevant"),
    ]


def test_results_show_themselves_with_every_word_escaped():
    shown = rankgate.evaluate(QRELS, {"<b>": RUN})._repr_html_()
    assert "&lt;b&gt;" in shown
    assert "<b>" not in shown
    result = rankgate.explain({"q": {"<i>": 1}}, {"q": {"<i>": 1.0}}, "q", "nDCG@10")
    assert "&lt;i&gt;" in result._repr_html_()
    assert "<i>" not in result._repr_html_()


def test_an_explanation_s_rows_add_up():
    result = rankgate.explain(QRELS, RUN, "<q>", nDCG @ 10)
    assert result.rows[-1].running / result.ideal[-1].running == pytest.approx(result.value)
