"""Statistics of small data of our own, against peers, closed forms and all cases counted."""

from itertools import permutations, product

import numpy as np
import pytest
from scipy import stats

from rankgate.measurement.stats.mean_intervals import t_interval
from rankgate.measurement.stats.multiple_comparisons import anova, tukey
from rankgate.measurement.stats.paired_tests import (
    fieller,
    hedges_g,
    posterior,
    relative_gain,
    sign_test,
    student_test,
    tost,
)
from rankgate.measurement.stats.query_reliability import reliability
from rankgate.measurement.stats.rank_correlation import rbo
from rankgate.measurement.stats.resampling_tests import (
    bootstrap_interval,
    randomization,
    simultaneous_reach,
    studentised_interval,
)

OLD = np.array([0.62, 0.40, 0.55, 0.20, 0.71, 0.33, 0.48, 0.90, 0.15, 0.50, 0.37, 0.66])
NEW = np.array([0.70, 0.41, 0.50, 0.29, 0.80, 0.30, 0.60, 0.95, 0.15, 0.62, 0.45, 0.65])
OTHER = np.array([0.50, 0.44, 0.61, 0.10, 0.77, 0.20, 0.52, 0.85, 0.25, 0.55, 0.30, 0.70])
DELTA = NEW - OLD
FIVE = np.array([-0.1, 0.0, 0.1, 0.2, 0.4])
RESAMPLES = FIVE[np.array(list(product(range(5), repeat=5)))]
"""All 5⁵ resamples of five differences."""


def test_signs_within_a_band_are_ties():
    wins, losses = int((DELTA > 0.015).sum()), int((DELTA < -0.015).sum())
    assert (wins, losses) == (7, 2)
    result = sign_test(DELTA, band=0.015)
    assert (result.statistic[0], result.n[0]) == (7, 9)
    assert result.p_value == pytest.approx(stats.binomtest(7, 9).pvalue)
    assert sign_test(DELTA).p_value == pytest.approx(stats.binomtest(8, 11).pvalue)


def test_hedges_g_by_hand():
    assert hedges_g(np.zeros(3), np.array([0, 2, 4])) == pytest.approx(2 / 2 * (1 - 3 / 7))


def test_student_is_the_t_of_scipy():
    peer, result = stats.ttest_rel(NEW, OLD), student_test(DELTA)
    assert (result.statistic[0], result.p_value[0]) == pytest.approx((peer.statistic, peer.pvalue))


@pytest.mark.parametrize("margin", [0.01, 0.05, 0.1])
def test_tost_is_statsmodels(margin):
    from statsmodels.stats.weightstats import ttost_paired

    peer, _, _ = ttost_paired(NEW, OLD, -margin, margin)
    assert tost(DELTA, margin).p_value == pytest.approx(peer)


def test_posterior_is_students_t():
    law = stats.t(11, DELTA.mean(), stats.sem(DELTA))
    result = posterior(DELTA, 0.02)
    assert result.worse == pytest.approx(law.cdf(-0.02))
    assert result.same == pytest.approx(law.cdf(0.02) - law.cdf(-0.02))
    assert result.better == pytest.approx(law.sf(0.02))


def test_fieller_ends_where_the_paired_test_begins_to_reject():
    result = fieller(OLD, NEW)
    assert result.value == pytest.approx(NEW.sum() / OLD.sum() - 1)
    assert result.low < result.value < result.high
    for end in (result.low, result.high):
        assert stats.ttest_1samp(NEW - (1 + end) * OLD, 0).pvalue == pytest.approx(0.05)
        assert stats.ttest_1samp(relative_gain(OLD, NEW, -end), 0).pvalue == pytest.approx(0.05)


def test_drawn_flips_have_the_p_value_of_all_flips():
    flips = np.array(list(product((-1, 1), repeat=12)))
    sums = np.abs(flips @ DELTA)
    exact = (sums >= abs(DELTA.sum()) - 1e-12).mean()
    assert randomization(DELTA, samples=4096).p_value == pytest.approx(exact)
    sampled = randomization(DELTA, samples=4095)
    assert not sampled.exact
    assert sampled.p_value == pytest.approx(exact, abs=4 * np.sqrt(exact * (1 - exact) / 4095))
    assert sampled.mc_error == pytest.approx(np.sqrt(sampled.p_value * (1 - sampled.p_value) / 4095))


def test_bootstrap_intervals_are_quantiles_of_all_resamples():
    low, high = np.quantile(RESAMPLES.mean(axis=1), [0.05, 0.95])
    percentile = bootstrap_interval(FIVE, 0.9, "percentile", samples=20_000)
    basic = bootstrap_interval(FIVE, 0.9, "basic", samples=20_000)
    assert (percentile.low[0], percentile.high[0]) == pytest.approx((low, high), abs=0.011)
    center = 2 * FIVE.mean()
    assert (basic.low[0], basic.high[0]) == pytest.approx((center - high, center - low), abs=0.011)


def test_studentised_intervals_are_quantiles_of_all_resamples():
    """A resample without spread is infinitely far away on the side of its mean."""
    error = stats.sem(RESAMPLES, axis=1)
    shift = RESAMPLES.mean(axis=1) - FIVE.mean()
    with np.errstate(divide="ignore", invalid="ignore"):
        t = np.where(error > 1e-9, shift / error, np.sign(shift.round(9)) * np.inf)
    quantiles = np.quantile(t, [0.8, 0.2], method="inverted_cdf")
    expected = FIVE.mean() - quantiles * stats.sem(FIVE)
    result = studentised_interval(FIVE, 0.6, samples=40_000)
    assert (result.low[0], result.high[0]) == pytest.approx(tuple(expected), abs=0.006)
    reach = np.quantile(np.abs(t), 0.6, method="inverted_cdf")
    assert simultaneous_reach(FIVE, 0.6, samples=40_000) == pytest.approx(reach, abs=0.05)


def test_anova_is_statsmodels_and_of_two_systems_the_paired_t():
    import pandas as pd
    from statsmodels.stats.anova import AnovaRM

    matrix = np.column_stack([OLD, NEW, OTHER])
    rows = [(i, j, matrix[i, j]) for i, j in np.ndindex(matrix.shape)]
    frame = pd.DataFrame(rows, columns=["q", "s", "v"])
    peer = AnovaRM(frame, "v", "q", within=["s"]).fit().anova_table.iloc[0]
    result = anova(matrix)
    assert (result.f, result.p_value) == pytest.approx((peer["F Value"], peer["Pr > F"]))
    pair = stats.ttest_rel(OLD, NEW)
    assert anova(matrix[:, :2]).f == pytest.approx(pair.statistic**2)
    assert tukey(matrix[:, :2]).p_value[0, 1] == pytest.approx(pair.pvalue, abs=1e-6)


def test_reliability_is_cronbachs_alpha_with_queries_as_items():
    matrix = np.column_stack([OLD, NEW + 0.1, OTHER - 0.1, OLD + 0.3])
    items = matrix.var(axis=1, ddof=1).sum()
    alpha = len(matrix) / (len(matrix) - 1) * (1 - items / matrix.sum(axis=0).var(ddof=1))
    assert reliability(matrix).e_rho2 == pytest.approx(alpha)


def test_rbo_with_ties_is_the_mean_over_all_orders():
    first, second, p = [["a", "b", "c"], ["d"]], [["b"], ["d", "a"], ["e"]], 0.8

    def orders(groups):
        return [sum(order, ()) for order in product(*map(permutations, groups))]

    def extrapolated(one, other):
        overlap = [len({*one[:d]} & {*other[:d]}) / d for d in range(1, 5)]
        return overlap[-1] * p**4 + (1 - p) / p * sum(a * p**d for d, a in enumerate(overlap, 1))

    values = [extrapolated(one, other) for one in orders(first) for other in orders(second)]
    assert len(values) == 12
    assert rbo(first, second, p, "a").value == pytest.approx(np.mean(values))


def test_the_interval_of_a_mean_is_scipys():
    low, high = stats.ttest_1samp(DELTA, 0).confidence_interval(0.9)
    result = t_interval(DELTA, 0.9)
    assert (result.low[0], result.high[0]) == pytest.approx((low, high))
