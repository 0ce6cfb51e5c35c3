"""Statistics of experiments against published values and closed forms."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats
from statsmodels.stats.proportion import confint_proportions_2indep

from rankgate.measurement.stats.experiment_arms import (
    MOST_SKEWED,
    TwoMeans,
    TwoShares,
    posterior,
    quantile,
    skewness_of_difference,
)
from rankgate.measurement.stats.sequential_experiments import (
    CONCENTRATION,
    half_width,
    log_e_value,
    p_value,
    sample_ratio,
    sequential_sample_ratio,
    spending_bounds,
)

FIFTHS = [0.2, 0.4, 0.6, 0.8, 1.0]


@pytest.mark.parametrize(
    ("spending", "expected"),  # ldbounds; spotify-confidence 4.1.0
    [
        ("obrien-fleming", [4.8769, 3.3570, 2.6803, 2.2898, 2.0310]),
        ("pocock", [2.4380, 2.4268, 2.4102, 2.3966, 2.3860]),
        (1, [2.5758, 2.4920, 2.4108, 2.3391, 2.2755]),
        (2, [3.0902, 2.7141, 2.4728, 2.2799, 2.1140]),
        (3, [3.5401, 2.9743, 2.6045, 2.3064, 2.0455]),
    ],
)
def test_alpha_spending(spending, expected):
    assert spending_bounds(FIFTHS, spending=spending) == pytest.approx(expected, abs=6e-5)


def test_the_always_valid_p_value_is_alpha_at_the_end_of_the_interval():
    edge = float(half_width(0.3, 800, 0.05, 5000))
    assert p_value(edge, 0.3, 800, 0.05, 5000) == pytest.approx(0.05)
    assert p_value(0.0, 0.3, 800, 0.05, 5000) == 1.0


def test_always_valid_intervals_are_narrowest_where_they_are_tuned():
    n = np.geomspace(100, 1e7, 400)
    width = half_width(1 / np.sqrt(n), n, 0.05, 1e4) * np.sqrt(n)
    assert n[np.argmin(width)] == pytest.approx(1e4, rel=0.05)
    assert (width > stats.norm.ppf(0.975)).all()


def test_sample_ratio():
    assert sample_ratio([44_700, 45_489], [1, 1]).p_value == pytest.approx(0.0086079878)
    arms = sample_ratio([21_306, 21_387, 21_307], [1, 1, 1])
    assert arms.p_value == pytest.approx(0.9036929576)
    small = sample_ratio([40, 70], [1, 2])
    assert small.p_value == pytest.approx(stats.binomtest(40, 110, 1 / 3).pvalue)
    assert small.method == "binomial"
    large = sample_ratio([900, 100], [0.9, 0.1])
    assert large.p_value == 1.0


@pytest.mark.parametrize(("first", "second"), [(0, 0), (5200, 4800), (520, 480), (3, 40)])
def test_sample_ratio_at_any_look_is_a_ratio_of_beta_binomial_and_binomial(first, second):
    from scipy import stats

    n, (a, b) = first + second, (0.7 * CONCENTRATION, 0.3 * CONCENTRATION)
    expected = stats.betabinom.logpmf(first, n, a, b) - stats.binom.logpmf(first, n, 0.7)
    assert float(log_e_value([first, second], [7, 3])) == pytest.approx(expected, abs=1e-7)
    ratio = sequential_sample_ratio([first, second], [0.7, 0.3])
    assert ratio.p_value == pytest.approx(min(1, np.exp(-expected)), rel=1e-6)


def test_the_e_value_of_a_sample_ratio_is_1_on_average():
    from scipy import stats

    units = np.arange(301)
    counts = np.stack([units, 300 - units], axis=1)
    weights = stats.binom.pmf(units, 300, 0.9)
    assert (np.exp(log_e_value(counts, [0.9, 0.1])) * weights).sum() == pytest.approx(1)


def test_false_alarms_of_the_sample_ratio_at_any_look_keep_their_levels():
    random = np.random.default_rng(11)
    control = random.binomial(150, 0.5, (4000, 40)).cumsum(axis=1)
    total = 150 * np.arange(1, 41)
    p = np.exp(-log_e_value(np.stack([control, total - control], axis=-1), [1, 1]))
    for level in sequential_sample_ratio([1, 1], [1, 1]).levels:
        assert (p < level).any(axis=1).mean() <= level
    control = random.binomial(300, 0.53, (500, 40)).cumsum(axis=1)
    total = 300 * np.arange(1, 41)
    p = np.exp(-log_e_value(np.stack([control, total - control], axis=-1), [1, 1]))
    assert (p < 0.01).any(axis=1).mean() > 0.95


def test_posterior_by_simulation():
    estimate = posterior(0.4, 0.3, 0.5)
    random = np.random.default_rng(0)
    truth = random.normal(0, 0.5, 2_000_000)
    observed = truth + random.normal(0, 0.3, len(truth))
    selected = truth[np.abs(observed - 0.4) < 0.01]
    assert estimate.mean == pytest.approx(selected.mean(), abs=0.01)
    assert estimate.sd == pytest.approx(selected.std(), abs=0.01)
    assert estimate.better == pytest.approx((selected > 0).mean(), abs=0.01)
    assert estimate.loss == pytest.approx(np.maximum(-selected, 0).mean(), abs=0.003)


def test_the_error_of_a_quantile_is_that_of_repeated_samples():
    random = np.random.default_rng(1)
    estimates = [quantile(random.exponential(1, 2000), 0.95) for _ in range(400)]
    spread = np.std([estimate.value for estimate in estimates])
    assert np.mean([estimate.se for estimate in estimates]) == pytest.approx(spread, rel=0.1)


def test_clusters_widen_the_error_of_a_quantile():
    random = np.random.default_rng(2)
    user = np.repeat(np.arange(300), 10)

    def drawn():
        return np.exp(np.repeat(random.normal(0, 1, 300), 10) + random.normal(0, 0.3, 3000))

    estimates = [quantile(drawn(), 0.9, user) for _ in range(300)]
    spread = np.std([estimate.value for estimate in estimates])
    assert np.mean([estimate.se for estimate in estimates]) == pytest.approx(spread, rel=0.12)
    assert estimates[0].clusters == 300
    assert estimates[0].se > 2 * quantile(drawn(), 0.9).se


def test_too_few_values_for_a_quantile():
    assert np.isnan(quantile(np.arange(5.0), 0.95).se)
    assert np.isnan(quantile(np.empty(0), 0.95).value)
    assert quantile(np.array([3.0]), 0.5).value == 3.0


def mean_arms(skewness=0.0):
    return TwoMeans(10.0, 12.0, 1.5, 2.5, skewness)


@pytest.mark.parametrize("skewness", [0.0, 0.2, -0.2, 0.45, -0.45])
@pytest.mark.parametrize("reach", [1.0, 1.96, 2.5])
def test_intervals_hold_what_the_test_does_not_reject(skewness, reach):
    arms = mean_arms(skewness)
    low, high = arms.ratios(reach)
    assert arms.statistic(low) == pytest.approx(reach)
    assert arms.statistic(high) == pytest.approx(-reach)
    for end, sign in zip(arms.differences(reach), (1, -1), strict=True):
        moved = replace(arms, treatment=arms.treatment - end)
        assert moved.statistic() == pytest.approx(sign * reach)


def test_one_test_of_difference_and_ratio():
    """Both intervals exclude 0 exactly if z is beyond the quantile."""
    random = np.random.default_rng(5)
    for _ in range(300):
        control, treatment = random.gamma(2, 1, 2)
        errors = random.gamma(1, 0.2, 2)
        arms = TwoMeans(control, treatment, *errors, skewness=random.uniform(-0.45, 0.45))
        rejects = abs(arms.statistic()) > 1.96
        for (low, high), null in ((arms.ratios(1.96), 1.0), (arms.differences(1.96), 0.0)):
            assert (not low <= null <= high) == rejects


def test_fieller():
    """For independent means it is SciPy's Welch test of treatment − ρ control, with its df."""
    arms = mean_arms()
    first, middle, last = 100 - 4 * 1.5, 120.0, 144 - 4 * 2.5
    root = np.sqrt(middle**2 - first * last)
    assert arms.ratios(2.0) == pytest.approx(((middle - root) / first, (middle + root) / first))
    mirrored = TwoMeans(-10.0, -12.0, 1.5, 2.5, skewness=-0.2)
    assert mirrored.ratios(2.0) == pytest.approx(mean_arms(0.2).ratios(2.0))


def test_a_control_that_may_be_0_has_no_high_end():
    unclear = TwoMeans(1.0, 3.0, 0.5, 0.1)
    low, high = unclear.ratios(1.96)
    assert low > 0
    assert high == np.inf
    assert unclear.statistic(low) == pytest.approx(1.96)
    assert TwoMeans(1.0, 1.0, 1.0, 1.0).ratios(1.96) == (-np.inf, np.inf)
    assert np.isnan(TwoMeans(0.0, 1.0, 1.0, 1.0).ratios(1.96)).all()


@pytest.mark.parametrize(
    ("successes", "units"), [((10, 15), (500, 480)), ((90, 99), (100, 100)), ((2, 1), (900, 100))]
)
def test_score_tests_of_shares(successes, units):
    """Ratios as statsmodels has them; differences by shares of a search for the likeliest ones."""
    arms = TwoShares(successes, units)
    pooled = sum(successes) / sum(units)
    error = np.sqrt(pooled * (1 - pooled) * (1 / units[0] + 1 / units[1]))
    assert arms.statistic() == pytest.approx((arms.treatment - arms.control) / error)
    truth = confint_proportions_2indep(
        successes[1], units[1], successes[0], units[0], compare="ratio", method="score", correction=False
    )
    z = stats.norm.ppf(0.975)
    assert arms.ratios(z) == pytest.approx(truth, rel=1e-6)
    for end, sign in zip(arms.differences(z), (1, -1), strict=True):
        low, high = max(0.0, -end), min(1.0, 1.0 - end)
        shares = np.linspace(low, high, 2_000_001)[1:-1]
        likelihood = sum(
            count * np.log(share) + (n - count) * np.log1p(-share)
            for count, n, share in zip(successes, units, (shares, shares + end), strict=True)
        )
        share = shares[np.argmax(likelihood)]
        error = np.sqrt(share * (1 - share) / units[0] + (share + end) * (1 - share - end) / units[1])
        difference = arms.treatment - arms.control - end
        assert difference / error == pytest.approx(sign * z, abs=1e-3)


def test_shares_without_success():
    shares = TwoShares((0, 3), (50, 60))
    assert np.isnan(shares.ratios(1.96)).all()
    low, high = shares.differences(1.96)
    assert low < 0.05 < high
    assert TwoShares((3, 0), (60, 50)).ratios(1.96)[0] == 0.0
    assert TwoShares((0, 0), (50, 60)).statistic() == 0.0


def test_skewness_of_a_difference():
    """Of two means of exponential values: (2/m² − 2/n²) / (1/m + 1/n)^1.5."""
    expected = 2 * (1 / 400**2 - 1 / 800**2) / (1 / 400 + 1 / 800) ** 1.5
    assert skewness_of_difference(1.0, 2.0, (800, 400)) == pytest.approx(expected)
    assert skewness_of_difference(1.0, 2.0, (400, 800)) == pytest.approx(-expected)
    assert skewness_of_difference(1.0, 9.0, (500, 500)) == 0.0
    assert skewness_of_difference(0.0, 0.0, (800, 400)) == 0.0
    assert skewness_of_difference(1.0, 90.0, (900, 10)) == MOST_SKEWED
