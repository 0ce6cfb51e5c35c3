"""Variants of metrics on lists, their values written out."""

from __future__ import annotations

from math import log2, sqrt

import numpy as np
import pytest

from rankgate.core.errors import UsageError
from rankgate.measurement.metrics.list_names import parse_list
from rankgate.measurement.metrics.lists import NONE, Listed
from rankgate.measurement.metrics.lists.diversity import ILD, divergence_of_shares, miscalibration
from support.wording import raises


def test_other_divergences_are_written_out():
    p, q = [0.7, 0.3], [0.2, 0.8]
    middle = [(a + b) / 2 for a, b in zip(p, q, strict=True)]
    js = sum(a * log2(a / m) for row in (p, q) for a, m in zip(row, middle, strict=True)) / 2
    hellinger = sqrt(sum((sqrt(a) - sqrt(b)) ** 2 for a, b in zip(p, q, strict=True)) / 2)
    for kind, value in (("js", js), ("hellinger", hellinger)):
        assert divergence_of_shares(np.array([p]), np.array([q]), kind)[0] == pytest.approx(value)
    result = Listed(np.array([[0, 1, 0]]), 2, categories=np.eye(2), history=np.array([[0, 1]]))
    weights = [1, 1 / log2(3), 1 / 2]
    share = (weights[0] + weights[2]) / sum(weights)
    expected = divergence_of_shares(np.array([[0.5, 0.5]]), np.array([[share, 1 - share]]))[0]
    assert miscalibration(result, weight="log2")[0] == pytest.approx(expected)


def test_how_much_is_shown():
    result = Listed(np.array([[0, 1, 2], [0, NONE, NONE], [NONE, NONE, NONE]]), 5)
    values = {
        "ItemsShown": 3,
        "ItemsShown@1": 1,
        "ListLength": 4 / 3,
        "ListLength@1": 2 / 3,
        "FullLists@3": 1 / 3,
        "FullLists": 2 / 3,
        "ListCoverage": 2 / 3,
    }
    assert {name: parse_list(name).value(result) for name in values} == pytest.approx(values)


def test_any_similarity_can_be_given():
    similarities = np.array([[1, 0.5, 0.1], [0.5, 1, 0.2], [0.1, 0.2, 1]])
    result = Listed(np.array([[0, 1, 2], [2, 0, NONE], [1, NONE, NONE]]), 3, similarities=similarities)
    values = ILD(similarity="given").values(result)
    assert values[:2].tolist() == pytest.approx([1 - 0.8 / 3, 0.9])
    assert np.isnan(values[2])
    with raises("missing-input", UsageError):
        ILD(similarity="given").value(Listed(np.array([[0, 1]]), 2))


def test_variants_that_keep_no_bounds_have_none():
    features = np.array([[1.0, 0], [-1, 0], [0, 1], [0, -1]] * 3)
    result = Listed(np.arange(12)[None], 12, features=features)
    loose = ILD(divisor="items")
    assert loose.value(result) > ILD.high
    assert (loose.low, loose.high) == (-np.inf, None)
    assert (ILD(single="zero").low, ILD(single="zero").high) == (0, 2)
    assert parse_list(str(loose @ 5)) == loose @ 5


def test_the_entropy_of_categories_is_written_out():
    result = Listed(
        np.array([[0, 2, 1], [1, NONE, NONE]]), 3, categories=np.array([[1, 0], [0, 1], [0.5, 0.5]])
    )
    metric = parse_list("CategoryEntropy")
    assert metric.values(result).tolist() == pytest.approx([1.0, 0.0])
    first, second = 1 + 0.85 / 2, 0.85 / 2 + 0.85**2
    share = first / (first + second)
    bits = -share * log2(share) - (1 - share) * log2(1 - share)
    assert metric(weight="geometric").values(result)[0] == pytest.approx(bits)
    assert np.isnan(metric.value(Listed(np.full((1, 1), NONE), 2, categories=np.eye(2))))
