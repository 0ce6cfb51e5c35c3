"""Many draws at once are many draws one by one."""

from __future__ import annotations

import numpy as np
import pytest

from rankgate.measurement.evaluation.lists.list_resamples import _sums
from rankgate.measurement.metrics.lists import Listed
from rankgate.measurement.stats import resampled_values
from rankgate.measurement.stats.resampled_values import draw_counts


def test_draws_are_the_same_whatever_the_blocks(monkeypatch):
    whole = np.concatenate(list(draw_counts(7, 20, seed=3)), axis=1)
    monkeypatch.setattr(resampled_values, "_BLOCK", 21)
    assert np.array_equal(np.concatenate(list(draw_counts(7, 20, seed=3)), axis=1), whole)
    assert (whole.sum(axis=0) == 7).all()
    assert whole.shape == (7, 20)


def test_sums_under_many_weightings_are_those_of_each():
    rng = np.random.default_rng(4)
    items = np.array([rng.permutation(9)[:4] for _ in range(12)])
    items[3, 2:] = -1
    items[5] = -1
    listed = Listed(items, 9)
    (weights,) = draw_counts(12, 6, seed=1)
    looked = np.array([1, 0.5, 0.3, 0.2])
    for result, weight in zip(_sums(listed, weights, looked), weights.T, strict=True):
        one = listed.sums(weight, looked)
        for name in ("counts", "scaled", "exposure"):
            found, wanted = (
                np.atleast_2d(getattr(each, name)).sum(axis=0) for each in (result, one)
            )
            assert found == pytest.approx(wanted, abs=1e-12)
        assert (result.lists, result.filled, result.squares) == (one.lists, one.filled, one.squares)
