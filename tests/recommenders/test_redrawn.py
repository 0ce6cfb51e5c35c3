"""Intervals of numbers about all lists together hold what other users would give."""

from __future__ import annotations

import numpy as np
import pytest

from rankgate.measurement.evaluation.lists.list_resamples import resample_users
from rankgate.measurement.metrics.lists import Coverage, Gini, Listed
from rankgate.measurement.stats.resampled_values import ResampledValues, leave_out_weights

METRICS = {"Coverage": Coverage, "Gini": Gini}


@pytest.mark.parametrize(("items", "users"), [pytest.param(150, 60, marks=pytest.mark.separate), (1500, 60)])
def test_they_cover_even_where_most_items_are_shown_once(items, users):
    """A bootstrap alone holds the truth in 75 to 85% of the samples of the larger catalogue."""
    rng = np.random.default_rng(8)
    pull = (1 + np.arange(items)) ** -0.7
    keys = np.log(pull) + rng.gumbel(size=(3000, items))
    crowd = np.argsort(-keys, axis=1)[:, :10]

    def some():
        return Listed(crowd[rng.integers(0, len(crowd), users)], items)

    truth = {label: np.mean([metric.value(some()) for _ in range(600)]) for label, metric in METRICS.items()}
    covered = dict.fromkeys(METRICS, 0)
    for seed in range(150):
        lists = some()
        result, _ = resample_users([lists], METRICS, 200, seed)
        for label, metric in METRICS.items():
            low, high = result[label][0].ends(metric.value(lists), 0.9)
            covered[label] += low <= truth[label] <= high
    for label, count in covered.items():
        assert count / 150 > 0.85, (label, count)


def test_one_pass_gives_what_each_weighting_gives():
    rng = np.random.default_rng(2)
    lists = Listed(np.argsort(rng.random((30, 12)), axis=1)[:, :4], 12)
    result, count = resample_users([lists], METRICS, 20, 5)
    assert count == 20
    (weights,) = leave_out_weights(30, 5)
    for label, metric in METRICS.items():
        for index in range(30):
            subset = Listed(lists.items[weights[:, index] > 0], 12)
            assert result[label].without[0, index] == pytest.approx(metric.value(subset))
            assert weights[:, index].sum() == 29


def test_the_jackknife_of_a_mean_is_its_standard_error():
    values = np.random.default_rng(1).normal(size=40)
    leave_one_out = (values.sum() - values) / 39
    result = ResampledValues(np.full(10, values.mean()), leave_one_out)
    assert result.error == pytest.approx(values.std(ddof=1) / np.sqrt(40))


def test_no_interval_without_numbers():
    result = ResampledValues(np.array([1.0, np.nan]), np.array([1.0, 2.0]))
    assert np.isnan(result.ends(1.0, 0.9)).all()
    assert np.isnan(result.chance(1.0))
    assert np.isnan(ResampledValues(np.zeros(0), np.zeros(0)).error)
