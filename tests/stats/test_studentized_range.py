"""The studentised range against scipy, tables and the t-distribution."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from rankgate.measurement.stats.studentized_range import normal_nodes, power_of_range, quantile, tail


@pytest.mark.parametrize(("means", "df"), [(2, 2), (3, 10), (16, 60), (16, 3735), (60, 120)])
def test_it_is_that_of_scipy(means, df):
    q = np.array([0.0, 0.5, 2.0, 4.0, 8.0])
    np.testing.assert_allclose(tail(q, means, df), stats.studentized_range.sf(q, means, df), atol=1e-10)


@pytest.mark.parametrize("df", [998, 48_951, np.inf])
def test_of_a_thousand_means_it_is_that_of_scipy(df):
    q = np.array([4.5, 5.0, 6.0, 7.0, 8.0])
    expected = stats.studentized_range.sf(q, 1000, df)
    np.testing.assert_allclose(tail(q, 1000, df), expected, rtol=0, atol=1e-10)


@pytest.mark.parametrize("furthest", [3.0, 20.0, 100.0])
@pytest.mark.parametrize(
    ("means", "df"), [(2, 5), (2, 30), (15, 30), (33, 32), (60, 5841), (1000, 999), (60, np.inf)]
)
def test_many_values_are_those_of_single_ones(means, df, furthest):
    q = np.linspace(0, furthest, 501)
    single_values = np.concatenate([tail(part, means, df) for part in np.array_split(q, 2)])
    np.testing.assert_allclose(tail(q, means, df), single_values, rtol=0, atol=2e-12)
    assert tail(q, means, df)[0] == 1


@pytest.mark.parametrize("df", [1, 5, 1000, 10**6])
def test_of_two_means_it_is_the_t_distribution(df):
    q = np.array([1.0, 2.5, 5.0])
    np.testing.assert_allclose(tail(q, 2, df), 2 * stats.t.sf(q / np.sqrt(2), df), atol=1e-9)


@pytest.mark.parametrize(("means", "df", "expected"), [(3, 10, 3.877), (5, 20, 4.232), (10, 60, 4.646)])
def test_quantiles_are_those_of_printed_tables(means, df, expected):
    assert quantile(0.95, means, df) == pytest.approx(expected, abs=6e-4)


@pytest.mark.parametrize("means", [2, 3, 60, 1000])
@pytest.mark.parametrize("width", [0.0, 0.01, 1.0, 6.0, 12.0, 60.0])
def test_powers_that_are_filled_in_are_those_of_the_formula(means, width):
    widths = width * np.array([0.8, 1.0, 1.3])
    z, _ = normal_nodes()
    formula = (stats.norm.cdf(z) - stats.norm.cdf(z - widths[:, None])) ** (means - 1)
    np.testing.assert_array_equal(power_of_range(widths, means), formula)
