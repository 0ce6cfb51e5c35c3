"""Areas, losses and depths, against a loop over all pairs and against scikit-learn's examples."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankgate.measurement.evaluation.evaluate import evaluate
from rankgate.measurement.metrics.judged_block import block
from rankgate.measurement.scoring.presets import chosen_convention
from rankgate.metrics import AUC, GAUC, LRAP, CoverageError, RankingLoss

LABELS = {"1": {"a": 1, "b": 0, "c": 0}, "2": {"a": 0, "b": 0, "c": 1}}
SCORES = {"1": {"a": 0.75, "b": 0.5, "c": 1.0}, "2": {"a": 1.0, "b": 0.2, "c": 0.1}}


def of_one(metric, qrels, run):
    return evaluate({"q": qrels}, {"q": run}, [metric]).runs[0].values[str(metric)][0]


def test_the_examples_of_scikit_learn():
    """As its documentation prints them, of release 1.9."""
    labels, scores = {"a": 0, "b": 0, "c": 1, "d": 1}, {"a": 0.1, "b": 0.4, "c": 0.35, "d": 0.8}
    assert of_one(AUC, labels, scores) == 0.75  # roc_auc_score
    means = evaluate(LABELS, SCORES, [RankingLoss, CoverageError, LRAP]).runs[0].means
    assert means["RankingLoss"] == 0.75  # label_ranking_loss
    assert means["CoverageError"] == 2.5  # coverage_error
    assert round(means["LRAP"], 3) == 0.417  # label_ranking_average_precision_score: 0.416...


@st.composite
def collections(draw):
    docs = [f"d{i}" for i in range(draw(st.integers(1, 8)))]
    run = {doc: float(draw(st.integers(0, 3))) for doc in docs if draw(st.booleans())}
    grades = st.sampled_from([-1, 0, 0, 1, 1, 2, 3])
    qrels = {doc: draw(grades) for doc in docs if doc not in run or draw(st.booleans())}
    return {"zero": 0, **qrels}, {"first": 9.0, **run}


def pairs(qrels, run, rel, over):
    """The scores of the relevant and the other document of every pair."""
    docs = {*run} if over == "retrieved" else {*qrels, *run}
    score = {doc: run.get(doc, -1.0) for doc in docs}
    good_scores = [score[doc] for doc in docs if qrels.get(doc, 0) >= rel]
    bad = [score[doc] for doc in docs if qrels.get(doc, 0) < rel]
    return [(good_score, bad_score) for good_score in good_scores for bad_score in bad]


@pytest.mark.parametrize("over", ["known", "retrieved"])
@pytest.mark.parametrize("rel", [1, 2])
@given(collections())
def test_areas_are_those_of_a_loop_over_all_pairs(rel, over, collection):
    qrels, run = collection
    score_pairs = pairs(qrels, run, rel, over)
    if not score_pairs:
        return
    won, tied = (sum(f(a, b) for a, b in score_pairs) for f in (lambda a, b: a > b, lambda a, b: a == b))
    half = of_one(AUC(over=over, rel=rel), qrels, run)
    assert half == pytest.approx((won + tied / 2) / len(score_pairs), abs=1e-12)
    lost = of_one(AUC(over=over, rel=rel, ties="lost"), qrels, run)
    assert lost == pytest.approx(won / len(score_pairs), abs=1e-12)
    loss = of_one(RankingLoss(over=over, rel=rel), qrels, run)
    assert loss == pytest.approx(1 - won / len(score_pairs), abs=1e-12)


@given(collections())
def test_coverage_is_that_of_a_loop(collection):
    qrels, run = collection
    score = {doc: run.get(doc, -1.0) for doc in {*qrels, *run}}
    good_scores = [score[doc] for doc in score if qrels.get(doc, 0) >= 1]
    if good_scores:
        expected = sum(doc_score >= min(good_scores) for doc_score in score.values())
        assert of_one(CoverageError, qrels, run) == expected


def test_an_empty_list_and_a_lack_of_pairs_have_no_area():
    judged = block([[], [1, 1], [0]], ideal=[[1, 0], [1, 1], [0]])
    assert np.isnan(AUC.compute(judged)).all()


def test_the_mean_is_weighted_by_relevant_documents():
    qrels = {"1": {"a": 1, "b": 0}, "2": {"a": 1, "b": 1, "c": 0, "d": 0}}
    run = {"1": {"b": 2.0, "a": 1.0}, "2": {"a": 4.0, "b": 3.0, "c": 2.0, "d": 1.0}}
    means = evaluate(qrels, run, [AUC, GAUC, GAUC(by="documents")]).runs[0].means
    assert means["AUC"] == 1 / 2
    assert means["GAUC"] == (1 * 0 + 2 * 1) / 3
    assert means["GAUC(by='documents')"] == (2 * 0 + 4 * 1) / 6


def test_a_query_without_pairs_weighs_nothing_where_it_is_left_out():
    qrels = {"1": {"a": 1, "b": 0}, "2": {"a": 0}}
    run = {"1": {"a": 2.0, "b": 1.0}, "2": {"a": 1.0}}
    result = evaluate(qrels, run, [AUC, GAUC], chosen_convention("trec", {"without_relevant": None})).runs[0]
    assert result.means == {"AUC": 1.0, "GAUC": 1.0}
    assert evaluate(qrels, run, [AUC, GAUC]).runs[0].means == {"AUC": 0.5, "GAUC": 1.0}
    lone = evaluate({"2": {"a": 0}}, {"2": {"a": 1.0}}, [GAUC]).runs[0]
    assert np.isnan(lone.means["GAUC"])


@pytest.mark.parametrize("metric", [AUC, GAUC])
def test_bounds(metric):
    qrels, run = {"q": {"a": 1, "b": 0}}, {"q": {"u": 3.0, "a": 2.0, "b": 1.0}}
    result = evaluate(qrels, run, [metric], bounds=True).runs[0]
    name = str(metric)
    assert result.values[name][0] == result.all_irrelevant.values[name][0] == 1 / 2  # u before a before b
    assert result.all_best.values[name][0] == result.all_best.means[name] == 1
