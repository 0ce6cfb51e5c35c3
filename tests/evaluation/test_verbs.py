"""Python's verbs."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from scipy import stats

import rankgate
from rankgate.core.errors import UsageError
from rankgate.metrics import RR, nDCG
from support.wording import raises

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
    html = rankgate.evaluate(QRELS, {"<b>": RUN})._repr_html_()
    assert "&lt;b&gt;" in html
    assert "<b>" not in html
    result = rankgate.explain({"q": {"<i>": 1}}, {"q": {"<i>": 1.0}}, "q", "nDCG@10")
    assert "&lt;i&gt;" in result._repr_html_()
    assert "<i>" not in result._repr_html_()


def test_an_explanation_s_rows_add_up():
    result = rankgate.explain(QRELS, RUN, "<q>", nDCG @ 10)
    assert result.rows[-1].running / result.ideal[-1].running == pytest.approx(result.value)


def test_intervals_are_those_of_scipy_of_queries_and_of_slices():
    rng = np.random.default_rng(3)
    qrels = {f"{'ab'[i % 2]}{i}": {"d": 1} for i in range(40)}
    run = {query: {"d": 1.0, **{f"x{j}": 2.0 for j in range(rng.integers(0, 5))}} for query in qrels}
    shop = rankgate.Collection(qrels, tags="ids:(?P<kind>.).*")
    scores = rankgate.evaluate(shop, {"one": run}, ["RR", "num_rel"], slices=["kind"])
    values = scores.runs[0].per_query("RR")
    for kind, letters in ((None, "ab"), ("a", "a"), ("b", "b")):
        slice_values = np.array([value for query, value in values.items() if query[0] in letters])
        (row,) = scores.intervals.filter(pl.col("value").eq_missing(kind), metric="RR").to_dicts()
        reach = stats.t.interval(0.95, len(slice_values) - 1, slice_values.mean(), stats.sem(slice_values))
        assert (row["n"], row["mean"]) == (len(slice_values), pytest.approx(slice_values.mean()))
        assert (row["low"], row["high"]) == pytest.approx(reach)
    (row,) = scores.intervals.filter(pl.col("tag").is_null(), metric="num_rel").to_dicts()
    assert (row["mean"], row["low"]) == (40.0, None)  # a sum, and no mean
    saved = rankgate.Scores.from_dict(scores.to_dict())
    with raises("missing-part", UsageError):
        _ = saved.intervals
    sampled_scores = rankgate.evaluate(rankgate.Collection(qrels, sample="random"), run, ["RR"])
    with raises("missing-part", UsageError):
        _ = sampled_scores.intervals
