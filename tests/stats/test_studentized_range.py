"""The studentised range against scipy, tables and the t-distribution."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from rankgate.measurement.stats.studentized_range import legendre, power_of_range, quantile, tail


@pytest.mark.parametrize(("means", "df"), [(2, 2), (3, 10), (16, 60), (16, 3735), (60, 120)])
def test_it_is_that_of_scipy(means, df):
    q = np.array([0.0, 0.5, 2.0, 4.0, 8.0])
    np.testing.assert_allclose(
        tail(q, means, df), stats.studentized_range.sf(q, means, df), atol=1e-10
    )


@pytest.mark.parametrize("df", [1, 5, 1000, 10**6])
def test_of_two_means_it_is_the_t_distribution(df):
    q = np.array([1.0, 2.5, 5.0])
    np.testing.assert_allclose(tail(q, 2, df), 2 * stats.t.sf(q / np.sqrt(2), df), atol=1e-9)


@pytest.mark.parametrize(
    ("means", "df", "expected"), [(3, 10, 3.877), (5, 20, 4.232), (10, 60, 4.646)]
)
def test_quantiles_are_those_of_printed_tables(means, df, expected):
    assert quantile(0.95, means, df) == pytest.approx(expected, abs=6e-4)


@pytest.mark.parametrize("means", [2, 3, 60, 1000])
@pytest.mark.parametrize("width", [0.0, 0.01, 1.0, 6.0, 12.0, 60.0])
def test_powers_that_are_filled_in_are_those_of_the_formula(means, width):
    widths = width * np.array([0.8, 1.0, 1.3])
    z, _ = legendre(-8.5, 8.5)
    formula = (stats.norm.cdf(z) - stats.norm.cdf(z - widths[:, None])) ** (means - 1)
    np.testing.assert_array_equal(power_of_range(widths, means), formula)
