"""Wilson's interval against statsmodels'."""

from __future__ import annotations

import numpy as np
import pytest
from statsmodels.stats import proportion as oracle

from rankgate.measurement.stats.mean_intervals import wilson_interval


@pytest.mark.parametrize("level", [0.9, 0.95, 0.99])
def test_the_interval_is_that_of_statsmodels(level):
    pairs = [(0, 1), (1, 1), (0, 20), (3, 20), (10, 20), (20, 20), (999, 1000)]
    count, n = np.array(pairs, float).T
    low, high = wilson_interval(count, n, level)
    result = oracle.proportion_confint(count, n, 1 - level, method="wilson")
    assert low == pytest.approx(result[0], abs=1e-12)
    assert high == pytest.approx(result[1], abs=1e-12)
