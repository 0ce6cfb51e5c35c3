"""The error over users and seeds: against the analysis of variance, and its level in simulations."""

import numpy as np
import pandas as pd
import pytest
import statsmodels.formula.api as smf
from scipy import stats
from statsmodels.stats.anova import anova_lm

from rankgate.measurement.stats.seed_variance import LEAST_SEEDS, SeedVariance, seed_factor, widen

USERS = 400


def values_of_model(rng, seeds, sd, interaction=0.5):
    """Values of users by seeds, whose variance over users is about 1."""
    users, effects = rng.standard_normal((USERS, 1)), sd * rng.standard_normal(seeds)
    return users + effects + interaction * rng.standard_normal((USERS, seeds))


def test_the_variance_is_that_of_the_analysis_of_variance():
    values = values_of_model(np.random.default_rng(4), 5, 0.3)[:60]
    user, seed = (index.ravel() for index in np.indices(values.shape))
    table = anova_lm(
        smf.ols("y ~ C(u) + C(s)", pd.DataFrame({"y": values.ravel(), "u": user, "s": seed})).fit()
    )
    squares = table["mean_sq"]
    result = SeedVariance.from_values(values)
    assert result.variance == pytest.approx((squares["C(s)"] - squares["Residual"]) / values.size)
    assert result.mean_square == pytest.approx(squares["C(s)"] / values.size)


def test_equal_seeds_add_nothing():
    values = np.repeat(np.random.default_rng(0).random((30, 1)), 4, axis=1)
    result = SeedVariance.from_values(values)
    assert result.variance == pytest.approx(0, abs=1e-30)
    assert seed_factor(0.1, 29, [SeedVariance(4, 0.0, 0.0)], 0.95) == (1.0, 29)


def test_the_quantile_is_between_those_of_users_and_seeds():
    # one system, 3 seeds, whose variance is that of users: the mean of both quantiles
    factor, degrees = seed_factor(0.5, 1000, [SeedVariance(3, 0.5, 0.5)], 0.95)
    assert factor == pytest.approx(np.sqrt(2))
    expected = (stats.t.ppf(0.975, 1000) + stats.t.ppf(0.975, 2)) / 2
    assert stats.t.ppf(0.975, degrees) == pytest.approx(expected)


def test_two_seeds_allow_no_test():
    two = SeedVariance(LEAST_SEEDS - 1, 0.5, 0.5)
    assert np.isnan(seed_factor(0.5, 100, [two, SeedVariance(5, 0.1, 0.1)], 0.95)).all()


@pytest.mark.parametrize("seeds", [(1, 3), (3, 5), (5, 5)])
@pytest.mark.parametrize("ratio", [0, 1, 3])
def test_the_test_keeps_its_level(seeds, ratio):
    """Two equal models: p < 0.05 at most 5% of the time, however large the spread between seeds.

    The ratio is that of the spread between seeds to the standard error over users.
    """
    rng, trials, rejected, over_users = np.random.default_rng(7), 600, 0, 0
    for _ in range(trials):
        models = [values_of_model(rng, count, ratio / np.sqrt(USERS) * (count > 1)) for count in seeds]
        first, second = (model.mean(axis=1) for model in models)
        delta = second - first
        systems = [model for model in models if model.shape[1] > 1]
        widened, degrees = widen(delta, systems, 0.95)
        assert widened.mean() == pytest.approx(delta.mean())
        t, over = (abs(table.mean()) / table.std(ddof=1) * np.sqrt(USERS) for table in (widened, delta))
        rejected += 2 * stats.t.sf(t, degrees) < 0.05
        over_users += 2 * stats.t.sf(over, USERS - 1) < 0.05
    limit = 0.05 + 2.6 * np.sqrt(0.05 * 0.95 / trials)
    assert rejected / trials < limit
    if ratio == 3:  # the test over users alone takes these seeds for the only ones there are
        assert over_users / trials > 2 * limit
