"""Many draws at once equal many single draws."""

from __future__ import annotations

import numpy as np
import pytest

from rankgate.measurement.evaluation.lists.list_resamples import _sums
from rankgate.measurement.metrics.lists import Listed
from rankgate.measurement.stats import resampled_values
from rankgate.measurement.stats.resampled_values import draw_counts


def test_draws_are_the_same_whatever_the_blocks(monkeypatch):
    counts = np.concatenate(list(draw_counts(7, 20, seed=3)), axis=1)
    monkeypatch.setattr(resampled_values, "_BLOCK", 21)
    assert np.array_equal(np.concatenate(list(draw_counts(7, 20, seed=3)), axis=1), counts)
    assert (counts.sum(axis=0) == 7).all()
    assert counts.shape == (7, 20)


def test_sums_under_many_weightings_are_those_of_each():
    rng = np.random.default_rng(4)
    items = np.array([rng.permutation(9)[:4] for _ in range(12)])
    items[3, 2:] = -1
    items[5] = -1
    lists = Listed(items, 9)
    (weights,) = draw_counts(12, 6, seed=1)
    rank_weights = np.array([1, 0.5, 0.3, 0.2])
    for result, weight in zip(_sums(lists, weights, rank_weights), weights.T, strict=True):
        expected_sums = lists.sums(weight, rank_weights)
        for name in ("counts", "scaled", "exposure"):
            actual, expected = (
                np.atleast_2d(getattr(sums, name)).sum(axis=0) for sums in (result, expected_sums)
            )
            assert actual == pytest.approx(expected, abs=1e-12)
        assert (result.lists, result.filled, result.squares) == (
            expected_sums.lists,
            expected_sums.filled,
            expected_sums.squares,
        )
