"""Do groups differ? The permutation of labels, against all splits by SciPy, and its limits."""

import numpy as np
import pytest
from scipy.stats import permutation_test

from rankgate.measurement.stats.multiple_comparisons import MIN_GROUP, groups_differ


def between(first, second):
    """Welch's statistic of two groups with one degree of freedom of the pooled variance."""
    squares = first.var() * len(first), second.var() * len(second)
    pooled = sum(squares) / (len(first) + len(second) - 2)
    error = sum((pooled + s) / len(group) ** 2 for s, group in zip(squares, (first, second), strict=True))
    return (first.mean() - second.mean()) ** 2 / error


@pytest.mark.parametrize("shift", [0.0, 0.4, 0.9])
def test_two_groups_are_as_in_scipy(shift):
    rng = np.random.default_rng(7)
    first, second = rng.normal(size=10) + shift, rng.normal(size=12) * 2
    group = np.repeat([0, 1], [10, 12])
    expected = permutation_test(
        (first, second), between, n_resamples=20_000, alternative="greater", rng=np.random.default_rng(3)
    ).pvalue
    p = groups_differ(np.concatenate([first, second]), group, samples=20_000, seed=1)
    error = np.sqrt(expected * (1 - expected) / 20_000)
    assert p == pytest.approx(expected, abs=6 * error + 1e-4)


def test_labels_and_order_and_units_do_not_matter():
    rng = np.random.default_rng(8)
    values, group = rng.standard_t(3, 60), np.repeat([0, 1, 2], 20)
    p = groups_differ(values, group, samples=999)
    assert groups_differ(values * 1e-9 + 5e-9, group + 4, samples=999) == p
    assert groups_differ(values, 2 - group, samples=4_999) == pytest.approx(p, abs=0.05)


def test_small_groups_do_not_take_part():
    rng = np.random.default_rng(9)
    values = rng.normal(size=40)
    group = np.repeat([0, 1], 20)
    p = groups_differ(values, group, samples=999)
    small = np.repeat([2, 3], MIN_GROUP - 1)
    more = np.append(values, 100.0 * rng.normal(size=len(small)))
    assert groups_differ(more, np.append(group, small), samples=999) == p
    assert np.isnan(groups_differ(values[:29], np.repeat([0, 1], [20, 9])))
    assert np.isnan(groups_differ(values, np.zeros(40, int)))
    assert np.isnan(groups_differ(np.zeros(0), np.zeros(0, int)))


@pytest.mark.parametrize("values", [np.zeros(20), np.full(20, 0.1)])
def test_equal_values_do_not_differ(values):
    assert groups_differ(values, np.repeat([0, 1], 10)) == 1


def test_groups_without_spread_differ():
    p = groups_differ(np.repeat([0.0, 0.3, 0.3], 10), np.repeat([0, 1, 2], 10), samples=999)
    assert p == 1 / 1_000
