"""Figures of many systems computed together equal the figures of each system alone."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from rankgate.decisions.comparison.comparison_checks import randomized_p_values
from rankgate.decisions.comparison.inference import Test
from rankgate.decisions.comparison.many_systems import DRAWS, pair_intervals
from rankgate.decisions.comparison.paired_values import PairedValues, compute_figures
from rankgate.measurement.stats.rank_correlation import rank_correlation, tau
from rankgate.measurement.stats.resampling_tests import randomization


@pytest.mark.parametrize("systems", [2, 3, 12])
def test_intervals_of_agreement_are_quantiles_of_the_counted_correlations(systems):
    rng = np.random.default_rng(systems)
    first, second = rng.integers(0, 4, (2, 8, systems)) / 4
    counts = np.random.default_rng(5).multinomial(8, np.full(8, 1 / 8), size=DRAWS)
    pairs = [np.round((row @ first / 8, row @ second / 8), 12) for row in counts]
    result = pair_intervals(first, second, 0.9, seed=5)
    for name, correlation in (("tau", tau), ("spearman", rank_correlation)):
        resampled = [correlation(*pair) for pair in pairs]
        expected = np.quantile(resampled, [0.05, 0.95])
        np.testing.assert_allclose([result[f"{name}_low"], result[f"{name}_high"]], expected)


def test_pairs_tested_together_have_the_p_values_of_each_alone():
    rng = np.random.default_rng(0)
    test = Test(resamples=2000)
    pairs = []
    for missing in [0, 3, 0, 3]:
        baseline, candidate = rng.standard_t(2, (2, 30, 2))
        candidate[:missing, 1] = np.nan
        values = PairedValues(
            [f"q{i}" for i in range(30)], ("one", "two"), baseline, candidate, np.ones(2), pl.DataFrame()
        )
        pairs.append((compute_figures(values, test), values))
    joint_p_values = randomized_p_values(pairs, test)
    assert [sorted(p_values) for p_values in joint_p_values] == [[0, 1]] * 4
    for (_, values), p_values in zip(pairs, joint_p_values, strict=True):
        for column, p_value in p_values.items():
            delta = (values.candidate - values.baseline)[:, column]
            single_test = randomization(delta[~np.isnan(delta)], samples=2000, seed=test.seed)
            assert p_value == single_test.p_value[0]
