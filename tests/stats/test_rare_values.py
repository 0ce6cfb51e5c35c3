"""The interval of rare values is the exact one of counts, and Student's of many values."""

import numpy as np
import pytest
from scipy import stats

from rankgate.measurement.stats.mean_intervals import rare_values_interval


@pytest.mark.parametrize("events", [1, 3, 10, 40])
def test_of_equal_rare_events_it_is_garwoods(events):
    n = 1_000_000
    values = np.repeat([0.0, 1.0], [n - events, events])
    low, high = rare_values_interval(values, 0.0, 1.0)
    assert n * low == pytest.approx(stats.gamma.ppf(0.025, events), rel=1e-3)
    assert n * high == pytest.approx(stats.gamma.ppf(0.975, events + 1), rel=1e-3)


def test_the_mirrored_values_have_the_mirrored_interval():
    values = np.random.default_rng(1).exponential(size=50)
    low, high = rare_values_interval(values, 0.0, 9.0, 0.9)
    assert rare_values_interval(-values, -9.0, 0.0, 0.9) == pytest.approx((-high, -low))


def test_of_values_without_skewness_it_is_students():
    values = np.tile([-1.0, 1.0], 5000)
    low, high = rare_values_interval(values, -1.0, 1.0)
    reach = stats.t.ppf(0.975, 9999) * values.std(ddof=1) / 100
    assert (low, high) == pytest.approx((-reach, reach), rel=0.02)


def test_without_spread_or_with_a_single_value():
    assert rare_values_interval(np.ones(10), 1.0, 1.0) == (1.0, 1.0)
    assert np.isnan(rare_values_interval(np.ones(1), 0.0, 1.0)).all()
