"""Bounds of means against independent truth: without spread, guaranteed, and at any look."""

from __future__ import annotations

from math import sqrt

import numpy as np
import pytest
from scipy import stats

import rankgate
from rankgate.core.errors import UsageError
from rankgate.decisions.comparison.list_metrics import ResampledValue
from rankgate.decisions.gating.bounds import check_bound, decide_statuses
from rankgate.decisions.gating.rule import Terms
from rankgate.measurement.stats.mean_intervals import guarded_interval
from rankgate.measurement.stats.resampled_values import ResampledValues
from support.wording import assert_wording, raises

GAINS = (-1.0, 1.0)


@pytest.mark.parametrize("interval", ["t", "bca", "percentile"])
def test_without_spread_nothing_passes_by_an_interval_of_no_width(interval):
    result = check_bound(np.full(30, 0.0144), -0.02, Terms(interval=interval))
    assert (result.status, result.low, result.high) == ("inconclusive", None, None)
    assert_wording(result.why)
    result = check_bound(np.full(30, 0.0144), -0.02, Terms(interval=interval), GAINS)
    assert result.status == "inconclusive"
    assert result.low < -0.02 < 0.0144 < result.high


def test_without_spread_many_queries_pass_as_far_as_unseen_ones_may_matter():
    # rule of three: 30 equal values leave room for 1 − 0.05^(1/30) = 9.5 % of others, 300 for 1 %
    small_sample, large_sample = (check_bound(np.full(n, 0.0144), -0.02, Terms(), GAINS) for n in (30, 300))
    assert (small_sample.status, large_sample.status) == ("inconclusive", "pass")


@pytest.mark.parametrize("interval", ["t", "bca", "percentile"])
@pytest.mark.parametrize(
    ("n", "changed", "status"), [(30, 1, "inconclusive"), (1000, 3, "pass"), (1000, 0, "pass")]
)
def test_few_changed_queries_pass_within_the_limit_of_their_share(interval, n, changed, status):
    values = np.r_[np.full(changed, 0.0005), np.zeros(n - changed)]
    result = check_bound(values, -0.02, Terms(interval=interval), GAINS)
    assert result.status == status
    shares = np.linspace(0, 1, 100_001)
    share = shares[np.argmax(stats.binom.cdf(changed, n, shares) <= 0.05)]
    assert result.low == pytest.approx(-share, abs=2e-5)


def test_few_changed_queries_pass_falsely_no_more_often_than_alpha():
    """4 % of 50 lose 0.5, 5 % gain 0.0005: normal theory passes that falsely in a third of samples."""
    rng = np.random.default_rng(6709)
    loses = rng.random((50, 4000)) < 0.04
    table = np.where(loses, -0.5, np.where(rng.random((50, 4000)) < 0.05, 0.0005, 0.0))
    loss = 0.04 * 0.5 - 0.96 * 0.05 * 0.0005
    assert (decide_statuses(table, np.full(4000, -loss), Terms(), GAINS) == "pass").mean() <= 0.055
    assert (guarded_interval(table, 0.9).low > -loss).mean() > 0.1


def test_rounding_is_no_spread():
    values = 0.1 * 3 - np.full(30, 0.3) + np.linspace(0, 1e-16, 30)
    assert check_bound(values, -0.02, Terms()).low is None


def test_a_pass_says_which_unseen_losses_would_turn_it():
    values = np.random.default_rng(0).normal(0, 0.05, 40)
    result = check_bound(values, -0.05, Terms(), GAINS)
    share = 1 - 0.05 ** (1 / 40)
    assert result.unseen.share == pytest.approx(share)
    mixed = (1 - share) * values.mean() + share * result.unseen.value
    assert mixed == pytest.approx(-0.05)
    # where even a loss of everything would not turn it, nothing is said
    assert check_bound(values, -0.2, Terms(), GAINS).unseen is None


def test_no_values_lie_outside_of_a_guaranteed_range():
    with raises("out-of-range", UsageError):
        check_bound(np.linspace(0, 2, 30), 0.1, Terms(interval="guaranteed"), GAINS)
    with raises("unbounded-metric", UsageError):
        check_bound(np.linspace(0, 2, 30), 0.1, Terms(interval="guaranteed"))


@pytest.mark.parametrize(("interval", "anytime"), [("t", False), ("t", True), ("guaranteed", False)])
def test_many_samples_are_decided_as_each_is(interval, anytime):
    table = np.random.default_rng(2).normal(0.0, 0.05, (60, 12)).clip(-1, 1)
    terms = Terms(alpha=0.2, tests=2, interval=interval, anytime=anytime)
    bound = np.r_[np.linspace(-0.1, 0.1, 6), np.linspace(-0.03, 0.03, 6)]
    result = decide_statuses(table, bound, terms, GAINS)
    statuses = [check_bound(table[:, i], bound[i], terms, GAINS).status for i in range(12)]
    assert list(result) == statuses
    assert len(set(statuses)) == 3


def test_of_a_number_about_all_lists_the_tests_share_the_upper_bound():
    """Both bounds are those of Student or of the basic bootstrap, whichever is further out."""
    rng = np.random.default_rng(3)
    redrawn = ResampledValues(rng.normal(0.4, 0.02, 500), rng.normal(0.4, 0.0001, 20))
    result = check_bound(ResampledValue(40, 0.4, redrawn), 0.3, Terms(tests=4))
    low, high = (redrawn.ends(0.4, 1 - 2 * alpha)[end] for end, alpha in enumerate((0.05, 0.0125)))
    half_widths = stats.t.ppf([0.95, 0.9875], 39) * redrawn.error
    assert (result.status, result.n, result.mean) == ("pass", 40, 0.4)
    assert result.low == pytest.approx(min(low, 0.4 - half_widths[0]))
    assert result.high == pytest.approx(max(high, 0.4 + half_widths[1]))
    assert check_bound(ResampledValue(40, 0.4, redrawn), 0.5, Terms(tests=4)).status == "fail"


def test_the_advised_number_of_queries_has_the_power_asked_for():
    """Simulated with the same rule; a share of 400 has a standard error of 2 %."""
    rng = np.random.default_rng(4)
    values = rng.normal(0, 0.05, 60)
    values += 0.004 - values.mean()
    for terms in (Terms(), Terms(anytime=True), Terms(interval="guaranteed")):
        result = check_bound(values, -0.01, terms, GAINS)
        table = rng.choice(values, (60 + result.more, 400))
        passed = (decide_statuses(table, np.full(400, -0.01), terms, GAINS) == "pass").mean()
        assert passed > 0.8 - 3 * sqrt(0.8 * 0.2 / 400) - 0.04


@pytest.mark.parametrize(
    ("bound", "terms", "alpha"),
    [(-0.01, Terms(), 0.05), (-0.01, Terms(alpha=0.01, tests=3), 0.01), (0.018, Terms(tests=3), 0.05 / 3)],
)
def test_the_advised_number_of_queries_is_that_of_normal_values(bound, terms, alpha):
    """By a one-sided z test, with half the square of z for the estimate of the spread (Guenther 1981)."""
    values = np.random.default_rng(4).normal(0, 0.05, 60)
    values += 0.004 - values.mean()
    z, power = stats.norm.ppf([1 - alpha, terms.power])
    expected = ((z + power) * values.std(ddof=1) / 0.014) ** 2 + z**2 / 2
    more = check_bound(values, bound, terms, GAINS).more
    assert len(values) + more == pytest.approx(expected, rel=0.06)


def test_rare_losses_pass_a_guaranteed_bound_no_more_often_than_alpha():
    """3 % lose 0.7: t passes them falsely in two of five samples of 30."""
    rng = np.random.default_rng(5)
    loss = 0.03 * 0.7
    table = np.where(rng.random((30, 2000)) < 0.03, -0.7, rng.normal(0, 0.01, (30, 2000)))
    table = table.clip(-1, 1)
    bound = np.full(2000, -loss)
    rates = {
        interval: (decide_statuses(table, bound, Terms(interval=interval), GAINS) == "pass").mean()
        for interval in ("t", "guaranteed")
    }
    assert rates["t"] > 0.2
    assert rates["guaranteed"] <= 0.05


def test_p_of_equal_differences_is_labelled_by_its_test():
    qrels = {f"q{i}": {"good": 1} for i in range(12)}
    old = {query: {"bad": 2.0, "good": 1.0} for query in qrels}
    new = {query: {"good": 2.0, "bad": 1.0} for query in qrels}
    result = rankgate.compare(qrels, old, new, ["RR", "P@2"])
    tests = dict(result.comparisons[0].metrics.select("metric", "test").iter_rows())
    assert tests == {"RR": "sign", "P@2": "t"}
    p = dict(result.comparisons[0].metrics.select("metric", "p_raw").iter_rows())
    assert p["RR"] == pytest.approx(2 / 2**12)
