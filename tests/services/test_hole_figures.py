"""Sets of grades of many queries, put together from a few sets of each."""

from __future__ import annotations

import numpy as np
import pytest

from rankgate.unjudged.hole_figures import _together


def test_few_sets_of_each_query_spread_as_many_do():
    """A sum of 3,000 Bernoulli differences has its closed mean, variance and sum of squares."""
    rng = np.random.default_rng(1)
    chance = rng.random(3000)
    spread = np.sqrt((chance * (1 - chance)).sum())
    told = []
    for seed in range(10):
        few = (rng.random((3000, 8)) < chance[:, None]).astype(float)
        sums, squares = _together(few, 2000, seed)
        told.append((sums.mean(), sums.std(), squares.mean()))
    mean, deviation, squares = np.mean(told, axis=0)
    error = spread / np.sqrt(80)
    assert mean == pytest.approx(chance.sum(), abs=4 * error)
    assert squares == pytest.approx(chance.sum(), abs=4 * error)
    assert deviation == pytest.approx(spread, rel=0.03)


def test_as_many_sets_as_asked_for_are_taken_as_they_are():
    some = np.array([[1.0, 2.0], [3.0, -1.0]])
    sums, squares = _together(some, 2, seed=0)
    assert sums.tolist() == [4, 1]
    assert squares.tolist() == [10, 5]
