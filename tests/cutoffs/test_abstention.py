"""Abstention against the formula of MTEB, worked by hand, and against all coverages."""

import math
from itertools import pairwise

import numpy as np
import pytest

import rankgate
from rankgate.measurement.stats.abstention import coverage_at_risk, normalized_auc

VALUES = np.array([1.0, 0.5, 0.0, 0.25, 0.75])
CONFIDENCE = np.array([0.9, 0.2, 0.4, 0.4, 0.8])


def _trapezoid(means):
    return sum((first + second) / 2 * 0.1 for first, second in pairwise(means))


def test_nauc_is_the_formula_of_mteb_by_hand():
    # left out: round(5 r) for r = 0, 0.1, ..., 0.9, where round(0.5) = 0, round(1.5) = 2, round(2.5) = 2
    left_out = [0, 0, 1, 2, 2, 2, 3, 4, 4, 4]  # round(3.5000000000000004) = 4, and at most 5 - 1
    by_confidence = [0.5, 0.0, 0.25, 0.75, 1.0]  # equal confidences in the order of the questions
    by_value = [0.0, 0.25, 0.5, 0.75, 1.0]

    def means(ordered):
        return [sum(ordered[number:]) / (5 - number) for number in left_out]

    area, oracle, flat = _trapezoid(means(by_confidence)), _trapezoid(means(by_value)), 0.5 * 0.9
    assert [round(r * 5) for r in np.linspace(0, 1, 11)[:-1]][:7] == left_out[:7]
    assert normalized_auc(CONFIDENCE, VALUES) == pytest.approx((area - flat) / (oracle - flat), rel=1e-13)


def test_nauc_is_one_for_an_oracle_and_undefined_for_equal_values():
    assert normalized_auc(VALUES, VALUES) == 1
    assert math.isnan(normalized_auc(CONFIDENCE, np.full(5, 0.5)))
    assert math.isnan(normalized_auc(np.ones(0), np.ones(0)))


def test_coverage_is_the_largest_of_all_thresholds():
    rng = np.random.default_rng(3)
    for _ in range(50):
        confidence, risks = rng.integers(0, 6, 30).astype(float), rng.random(30)
        for limit in (0.3, 0.5, 0.6):
            coverages = [
                (confidence >= level).mean()
                for level in range(7)
                if (confidence >= level).any() and risks[confidence >= level].mean() <= limit
            ]
            assert coverage_at_risk(confidence, risks, limit) == max(coverages, default=0)


def test_confidences_of_a_question_are_those_of_mteb():
    rng = np.random.default_rng(1)
    qrels = {f"q{i:02}": {"a": int(i % 3 > 0), "b": 0} for i in range(40)}
    run = {query: {doc: float(rng.random()) for doc in "abc"} for query in qrels}
    run["q07"] = {"a": 0.5}  # one document: a lead of 0
    analysis = rankgate.cutoff(qrels, run, "nDCG@10")
    evaluated = rankgate.evaluate(qrels, run, ["nDCG@10"]).runs[0].per_query("nDCG@10")
    values = np.array([evaluated[query] or 0.0 for query in sorted(qrels)])
    scores = [sorted(run[query].values(), reverse=True) for query in sorted(qrels)]
    confidences = {
        "top": [row[0] for row in scores],
        "spread": [np.std(row) for row in scores],
        "lead": [row[0] - row[1] if len(row) > 1 else 0.0 for row in scores],
    }
    for row in analysis.abstention.iter_rows(named=True):
        confidence = np.array(confidences[row["confidence"]])
        assert row["nauc"] == pytest.approx(normalized_auc(confidence, values), rel=1e-12)
        assert row["coverage_50"] == coverage_at_risk(confidence, 1 - values, 0.5)
