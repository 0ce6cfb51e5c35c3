"""Values with all unjudged documents irrelevant, and with all of them best."""

from __future__ import annotations

from math import log2

import numpy as np
import pytest

from rankgate.services import evaluate

# a is best, b and c are judged, u is not; b and u are tied, and u goes first
QRELS = {"1": {"a": 3.0, "b": 0.0, "c": 1.0}, "2": {"x": 1.0}}
RUN = {"1": {"a": 9.0, "b": 8.0, "u": 8.0, "c": 7.0}}


def ends(metric, how="trec", qrels=QRELS, run=RUN, row=0):
    scores = evaluate(qrels, run, [metric], how, bounds=True).runs[0]
    return (
        scores.low.values[metric][row],
        scores.values[metric][row],
        scores.high.values[metric][row],
    )


def test_precision():
    assert ends("P@3") == (1 / 3, 1 / 3, 2 / 3)


def test_ndcg_has_its_ideal_raised_too():
    low = 3 / (3 + 1 / log2(3))
    high = (3 + 3 / log2(3)) / (3 + 3 / log2(3) + 1 / log2(4))
    assert ends("nDCG@3") == pytest.approx((low, low, high), rel=1e-15)


def test_documents_behind_the_cutoff_stay_as_they_are():
    assert ends("nDCG@1") == (1, 1, 1)


def test_average_precision_can_lose():
    qrels, run = {"q": {"a": 1.0, "b": 0.0}}, {"q": {"a": 3.0, "b": 2.0, "u": 1.0}}
    assert ends("AP", qrels=qrels, run=run) == pytest.approx((1, 1, (1 + 2 / 3) / 2))


def test_rbp_is_bounded_by_its_residual():
    rbp, residual = "RBP(p=0.5,gain='binary')@3", "RBPResid(p=0.5)@3"
    rest = evaluate(QRELS, RUN, [residual]).runs[0].values[residual][0]
    assert rest == 1 - 0.5 * (1 + 0.25)
    assert ends(rbp) == (0.5, 0.5, 0.5 + rest)


def test_bpref_ignores_the_unjudged_and_its_bounds_do_not():
    # c has one of one irrelevant documents above it, or two of two; u is found before b
    assert ends("Bpref") == pytest.approx((1 / 2, 1 / 2, 2 / 3))


def test_a_negative_grade_is_unjudged_too():
    qrels = {"1": {**QRELS["1"], "u": -1.0}}
    assert ends("P@3", qrels=qrels) == (1 / 3, 1 / 3, 2 / 3)


def test_a_missing_query_stays_0():
    for metric in ("P@3", "RBP(p=0.5)", "nDCG"):
        assert ends(metric, row=1) == (0, 0, 0)


def test_the_mean_is_that_of_the_values():
    scores = evaluate(QRELS, RUN, ["P@3", "RBP@3"], bounds=True).runs[0]
    for side in (scores.low, scores.high):
        for metric, values in side.values.items():
            assert side.means[metric] == np.mean(values)


def test_metrics_of_the_holes_have_none():
    scores = evaluate(QRELS, RUN, ["Judged@3", "P@3"], bounds=True).runs[0]
    assert set(scores.low.values) == set(scores.high.values) == {"P@3"}


def test_nothing_is_there_unasked():
    scores = evaluate(QRELS, RUN, ["P@3"]).runs[0]
    assert scores.low is None
    assert scores.high is None


def test_a_file_whose_lines_are_mixed(tmp_path):
    path = tmp_path / "mixed.run"
    path.write_text("1 Q0 c 1 7 t\n2 Q0 v 1 1 t\n1 Q0 u 1 8 t\n1 Q0 a 1 9 t\n1 Q0 b 1 8 t\n")
    assert ends("P@3", run=path) == (1 / 3, 1 / 3, 2 / 3)
    assert ends("P@3", run=path, row=1) == (0, 0, 1 / 3)
