"""The stated error rates of the gate hold: over looks, over rules, at the margin."""

from __future__ import annotations

from dataclasses import replace
from math import pi, sqrt

import numpy as np
import pytest
from numpy import cbrt
from scipy.stats import beta, skew
from scipy.stats import t as student

from rankgate.decisions.gating.decide import decide
from rankgate.decisions.gating.policy import parse_policy
from rankgate.decisions.gating.saved.baseline_file import LookNumber
from rankgate.measurement.stats.mean_intervals import corrected_skewness, guarded_interval, skewness
from support.comparisons import compared, spread
from support.wording import assert_wording

POLICY = """
[gate]
{looks}

[[rules]]
id = "a"
kind = "noninferiority"
metric = "AP"
margin = 0.05
"""


def low_of(looks, policy, delta):
    look_number = LookNumber(looks, looks) if looks else None
    (rule_result,) = decide(compared(delta), policy, looks=look_number).rules
    return rule_result.outcome.low


def bound(delta, alpha):
    """The lowest of mean − t(1 − alpha, n − 1) · sd / √n and of Hall's (1992) for skewed samples.

    Hall's interval uses the skewness of the sample, and the skewness of a Pearson III law that
    shows so much on average: γ − γ(21/4 + 27γ²/16)/n, and no root of less than 0.05.
    """
    n, sample_skew = len(delta), skew(delta, bias=False)
    reach, error = student.ppf(1 - alpha, n - 1), delta.std(ddof=1) / sqrt(n)
    reaches = [reach]
    corrected_skew = sample_skew + sample_skew * (21 / 4 + 27 / 16 * sample_skew**2) / n
    for gamma, minimum in ((sample_skew, -np.inf), (corrected_skew, 0.05)):
        slope = gamma / sqrt(n)
        root = cbrt(max(1 + slope * (reach - slope / 6), minimum))
        reaches.append(3 / slope * (root - 1))
    return delta.mean() - error * max(reaches)


@pytest.mark.parametrize("looks", [1, 2, 7])
def test_every_look_spends_its_part_of_alpha_the_first_too(looks):
    # Σ 6 / (π·k)² over k = 1, 2, … is 1, so that all looks together keep 0.05
    policy, delta = parse_policy(POLICY.format(looks='looks = "correct"'), "p.toml"), spread(0.0)
    want = bound(delta, 0.05 * 6 / (pi * looks) ** 2)
    assert low_of(looks, policy, delta) == pytest.approx(want, abs=1e-12)


@pytest.mark.parametrize("looks", [0, 1, 7])
def test_without_correction_each_look_has_all_of_alpha(looks):
    policy, delta = parse_policy(POLICY.format(looks=""), "p.toml"), spread(0.0)
    assert low_of(looks, policy, delta) == pytest.approx(bound(delta, 0.05), abs=1e-12)


def test_what_is_not_pinned_is_not_corrected():
    policy, delta = parse_policy(POLICY.format(looks='looks = "correct"'), "p.toml"), spread(0.0)
    assert low_of(0, policy, delta) == pytest.approx(bound(delta, 0.05), abs=1e-12)


@pytest.mark.parametrize(("mean", "says"), [(0.02, "pass"), (-0.045, "inconclusive"), (-0.2, "fail")])
def test_the_interval_decides_against_the_margin(mean, says):
    policy = parse_policy(POLICY.format(looks=""), "p.toml")
    assert decide(compared(spread(mean)), policy).verdict == says


@pytest.mark.parametrize("n", [1, 2, 9])
def test_few_queries_decide_nothing(n):
    policy = parse_policy(POLICY.format(looks=""), "p.toml")
    result = decide(compared(spread(0.3, n)), policy)
    assert result.verdict == "inconclusive"
    assert str(n) in result.rules[0].outcome.reason


def test_a_false_pass_at_the_margin_is_no_more_frequent_than_alpha():
    policy = parse_policy(POLICY.format(looks=""), "p.toml")
    generator = np.random.default_rng(7)
    passed = sum(
        decide(compared(generator.normal(-0.05, 0.1, 30)), policy).verdict == "pass" for _ in range(300)
    )
    assert passed / 300 <= 0.05 + 3 * sqrt(0.05 * 0.95 / 300)


def test_few_losses_of_many_queries_do_not_let_the_end_leap():
    # 4 of 40 lose 1: the 95 % bound of a share by Clopper and Pearson (1934) is 0.214
    delta = np.array([-1.0] * 4 + [0.0] * 36)
    assert beta.ppf(0.95, 5, 36) == pytest.approx(0.214, abs=5e-4)
    assert -0.30 < guarded_interval(delta[:, None], 0.9).low[0] < -0.214


@pytest.mark.parametrize("n", [25, 50, 100])
def test_a_false_pass_is_no_more_frequent_where_losses_are_skewed(n):
    generator = np.random.default_rng(n)
    delta = 0.05 - generator.exponential(0.05, (n, 40_000))
    low = guarded_interval(delta, 1 - 2 * 0.05).low
    assert (low > 0).mean() <= 0.05 + 3 * sqrt(0.05 * 0.95 / 40_000)


@pytest.mark.parametrize("shape", [1.0, 4.0])
def test_the_skewness_of_few_from_a_pearson_iii_law_is_that_of_many_on_average(shape):
    # of Γ(a) it is 2 / √a; the bias that is left is of the order 1/n²
    samples = np.random.default_rng(3).gamma(shape, size=(100, 20_000))
    sample_skew, corrected_skew = corrected_skewness(skewness(samples), len(samples))
    true = 2 / sqrt(shape)
    assert abs(corrected_skew.mean() - true) < 0.04 * true
    assert sample_skew.mean() < true - 0.05 * true


def test_a_rule_that_warns_decides_nothing():
    policy = parse_policy(POLICY.format(looks=""), "p.toml")
    warns = replace(policy, rules=tuple(replace(rule, tier="warn") for rule in policy.rules))
    result = decide(compared(spread(-0.2)), warns)
    assert (result.verdict, result.rules[0].outcome.status) == ("pass", "fail")


def test_losses_that_are_skewed_take_the_promise_back():
    policy = parse_policy(POLICY.format(looks=""), "p.toml")
    few_great_losses = np.array([0.01] * 36 + [-0.5] * 4)
    losses, gains = (decide(compared(d), policy).notes for d in (few_great_losses, -few_great_losses))
    (warning,) = set(losses) - set(gains)
    assert_wording(warning)
