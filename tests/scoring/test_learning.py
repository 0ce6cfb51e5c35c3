"""The conventions of libraries for learning to rank, for cases without rows of the tools."""

from dataclasses import replace
from math import log2

import pytest

from rankgate.core.errors import InputError
from rankgate.measurement.evaluation.evaluate import evaluate
from rankgate.measurement.scoring import CONVENTIONS
from support.wording import raises

EMPTY = {"1": {"a": 1, "b": 0}, "2": {"a": 0, "b": 0}}
RUN = {"1": {"b": 2.0, "a": 1.0}, "2": {"a": 2.0, "b": 1.0}}


def means(how, *metrics, qrels=EMPTY, run=RUN):
    return evaluate(qrels, run, list(metrics), how).runs[0].means


def test_lenskit_counts_lists_without_a_value_as_0_in_its_mean():
    mean_values = means("lenskit", "RecipRank(3)", "RBP(3)", "NDCG(3)", "Precision(3)", "Hit()")
    expected = {
        "RecipRank(3)": (1 / 2 + 0) / 2,
        "RBP(3)": 0.15 * 0.85 / 2,
        "NDCG(3)": (1 + 0) / 2,  # no discount at rank 2
        "Precision(3)": (1 / 2 + 0) / 2,
        "Hit()": (1 + 0) / 2,
    }
    assert mean_values == pytest.approx(expected)


def test_lenskit_counts_a_list_that_is_missing_as_0():
    assert means("lenskit", "RecipRank(3)", run={"2": {"a": 1.0}}) == {"RecipRank(3)": 0}


def test_xgboost_and_allrank_count_a_query_without_a_relevant_document_as_1():
    mean_values = means("xgboost", "ndcg", "map@5", "pre@5")
    expected = {"ndcg": (1 / log2(3) + 1) / 2, "map@5": (1 / 2 + 1) / 2, "pre@5": (1 / 2 + 0) / 2}
    assert mean_values == pytest.approx(expected)
    assert means("allrank", "mrr()", "mrr(ats=[1])") == {"mrr()": 0.75, "mrr(ats=[1])": 0.5}


def test_a_query_without_a_relevant_document_may_be_an_error():
    convention = replace(CONVENTIONS["torchmetrics"], no_relevant="error")
    with raises("no-relevant-document", InputError):
        means(convention, "RetrievalMAP")
    assert means(convention, "RetrievalMAP", run={"1": RUN["1"]}) == {"RetrievalMAP": 1 / 2}


def test_torchmetrics_retrieves_what_scores_above_0_for_some_metrics_only():
    names = [f"retrieval_{name}" for name in ("recall", "hit_rate", "reciprocal_rank")]
    mean_values = means("torchmetrics", *names, qrels={"1": {"a": 1}}, run={"1": {"b": 1.0, "a": 0.0}})
    assert mean_values == dict(zip(names, (0, 1, 0), strict=True))


def test_scikit_learn_refuses_what_it_has_no_answer_to():
    refused = {"grade-outside-scale": {"1": {"a": 1, "b": -1}}, "single-document": {"1": {"b": 1}}}
    for code, qrels in refused.items():
        with raises(code, InputError):
            means("sklearn", "ndcg_score", qrels=qrels, run={"1": {"b": 2.0}})
