"""Fusions of OpenSearch and Elasticsearch: values of their own tests, and 32-bit loops of their rules."""

from math import exp, log

import numpy as np
import pytest

import rankgate
from rankgate.measurement.fusion.candidate_blocks import Candidates
from rankgate.measurement.fusion.trained_methods import METHODS, NORMALISATIONS

F = np.float32


def candidates(*scores):
    scores = np.array(scores, float)
    return Candidates(
        np.zeros(scores.shape[1], int), scores, (scores > 0).astype(int), np.ones((len(scores), 1), int)
    )


@pytest.mark.parametrize(
    ("name", "scores", "expected"),
    [  # the expected values of neural-search's tests of its combination techniques
        ("opensearch-harmonic-mean", (1.0, 0.5, 0.3), 0.48),
        ("opensearch-harmonic-mean", (1.0, 0.0, 0.6), 0.7611),
        ("opensearch-geometric-mean", (1.0, 0.5, 0.3), 0.5567),
        ("opensearch-geometric-mean", (1.0, 0.0, 0.6), 0.7863),
        ("opensearch-arithmetic-mean", (1.0, 0.5, 0.3), 0.45 + 0.15 * 0.5 + 0.4 * 0.3),
        ("opensearch-arithmetic-mean", (1.0, 0.0, 0.6), 0.45 + 0.4 * 0.6),
    ],
)
def test_means_are_those_of_opensearch_tests(name, scores, expected):
    fused = METHODS.find(name).fuse(
        candidates(*([score] for score in scores)), weights=np.array([0.45, 0.15, 0.4])
    )
    assert fused[0] == pytest.approx(expected, abs=1e-4)


def combined(name, scores, weights):
    """One document, in 32-bit steps in the order of the sub-queries."""
    total, weight_sum = F(0), F(0)
    for score, weight in zip(map(F, scores), map(F, weights), strict=True):
        if name == "opensearch-arithmetic-mean":
            total, weight_sum = F(total + F(score * weight)), F(weight_sum + weight)
        elif name == "elasticsearch-linear":
            total = F(total + F(weight * score))
        elif score > 0:
            weight_sum = F(weight_sum + weight)
            term = F(weight / score) if "harmonic" in name else float(weight) * log(float(score))
            total = F(total + term) if "harmonic" in name else F(float(total) + term)
    if name == "elasticsearch-linear":
        return total
    if name == "opensearch-harmonic-mean":
        return F(weight_sum / total) if total > 0 else F(0)
    if weight_sum == 0:
        return F(0)
    return F(exp(float(F(total / weight_sum)))) if "geometric" in name else F(total / weight_sum)


@pytest.mark.parametrize("name", [name for name in METHODS if name.partition("-")[0].endswith("search")])
def test_every_score_is_that_of_32_bit_steps(name):
    random = np.random.default_rng(8)
    scores = np.where(random.random((3, 400)) < 0.3, 0, random.random((3, 400)).astype(F))
    for weights in ([0.3, 0.7, 0.0], [0.1, 0.2, 0.7], [1.0, 1.0, 1.0]):
        fused = METHODS[name].fuse(candidates(*scores), weights=np.array(weights))
        expected = [float(combined(name, column, weights)) for column in scores.T]
        assert fused == pytest.approx(expected, rel=1e-7)
        assert np.mean(fused == expected) > 0.99  # exp of NumPy and of math may differ in the last bit


def normalised(name, scores):
    scores = list(map(F, scores))
    low, high = min(scores), max(*scores, F(1.4e-45))  # maxima begin with the smallest number above 0
    if name == "opensearch-min-max":
        values = [F(1) if high == low else F(F(s - low) / F(high - low)) for s in scores]
        return [F(0.001) if value == 0 else value for value in values]
    if name == "elasticsearch-minmax":
        return [low if abs(low - high) < 1e-6 else F(F(s - low) / F(high - low)) for s in scores]
    total = F(0) if name == "opensearch-l2" else 0.0
    for score in scores:
        square = F(score * score)
        total = F(total + square) if name == "opensearch-l2" else total + float(square)
    norm = F(float(total) ** 0.5) if name == "opensearch-l2" else float(total) ** 0.5
    if norm < 1e-6:
        return [F(0) if name == "opensearch-l2" else score for score in scores]
    return [F(score / norm) if name == "opensearch-l2" else F(float(score) / norm) for score in scores]


@pytest.mark.parametrize(
    "name", [name for name in NORMALISATIONS if name.partition("-")[0].endswith("search")]
)
def test_every_normalised_score_is_that_of_32_bit_steps(name):
    random = np.random.default_rng(9)
    lists = [sorted(random.gamma(2, 4, size).astype(F).tolist(), reverse=True) for size in (1, 7, 100, 1000)]
    lists += [[3.5] * 5, [0.0, 0.0]]
    counts = np.array(list(map(len, lists)))
    values = NORMALISATIONS[name].apply(np.concatenate(lists), np.cumsum(counts) - counts, counts)
    expected = np.concatenate([normalised(name, scores) for scores in lists]).astype(float)
    assert values == pytest.approx(expected, rel=1e-7)
    assert np.mean(values == expected) == 1


def test_l2_divides_by_the_length_of_the_list_as_a_vector():
    runs = {"a": {"q": {"d1": 3.0, "d2": 4.0}}, "b": {"q": {"d1": 1.0}}}
    fused = rankgate.fuse(runs, "combsum", norm="l2").run.table
    scores = dict(fused.select("doc_id", "score").iter_rows())
    assert scores == pytest.approx({"d1": 3 / 5 + 1, "d2": 4 / 5})
