"""Bounds of bounded means against closed forms and exact enumeration."""

from __future__ import annotations

from itertools import product
from math import log

import numpy as np
import pytest
from scipy.stats import binom, nct, norm
from scipy.stats import t as student

from rankgate.measurement.stats.mean_intervals import betting_exceeds, betting_low, unseen_share
from rankgate.measurement.stats.query_power import (
    critical_t,
    log_evidence,
    needed_at_any_look,
    one_look_level,
    power,
)


def test_the_capital_of_ones_is_the_average_of_powers():
    """n ones against a mean of m: Π(1 + u(1/m − 1)), averaged over the 64 bets."""
    n, alpha = 7, 0.05
    (low,) = betting_low(np.ones((n, 1)), 0.0, 1.0, alpha)
    bets = [np.sin(np.pi * (g + 0.5) / 128) ** 2 for g in range(64)]
    capital = np.mean([(1 + u * (1 / low - 1)) ** n for u in bets])
    assert capital == pytest.approx(1 / alpha, rel=1e-9)
    assert low < alpha ** (1 / n)  # Clopper and Pearson's bound of 7 of 7 is the best there is


@pytest.mark.parametrize("share", [0.1, 0.3, 0.5, 0.8])
def test_the_bound_of_zeros_and_ones_covers_at_every_share(share):
    """The chance of every sample of 12 is known; so is that of a bound above the mean."""
    n, alpha = 12, 0.1
    table = np.array([[1.0] * k + [0.0] * (n - k) for k in range(n + 1)]).T
    low = betting_low(table, 0.0, 1.0, alpha)
    assert binom.pmf(np.arange(n + 1), n, share)[low > share].sum() <= alpha


def test_at_all_looks_together_too():
    """Every order of 12 zeros and ones: some bound is above 0.4 in at most 10 %."""
    n, alpha, share = 12, 0.1, 0.4
    table = np.array(list(product((0.0, 1.0), repeat=n))).T
    chance = share ** table.sum(axis=0) * (1 - share) ** (n - table.sum(axis=0))
    crossed = np.zeros(table.shape[1], bool)
    for k in range(1, n + 1):
        crossed |= betting_exceeds(table[:k], share, 0.0, 1.0, alpha)
    assert chance[crossed].sum() <= alpha


def test_scale_and_order_do_not_matter():
    values = np.random.default_rng(1).random(40)
    low = betting_low(values, 0.0, 1.0, 0.05)
    assert betting_low(4 * values[::-1] - 2, -2.0, 2.0, 0.05) == pytest.approx(4 * low - 2)
    assert not betting_exceeds(values, low + 1e-6, 0.0, 1.0, 0.05)
    assert betting_exceeds(values, low - 1e-6, 0.0, 1.0, 0.05)


def test_the_rule_of_three():
    assert unseen_share(100, 0.05) == pytest.approx(0.0295, abs=5e-5)
    assert (1 - unseen_share(20, 0.1)) ** 20 == pytest.approx(0.1)


@pytest.mark.parametrize(("n", "t"), [(10, 2.0), (25, 2.8), (100, -1.0)])
def test_evidence_is_the_mixture_of_noncentral_t(n, t):
    tau, steps = 0.4, 4000
    effects = (np.arange(steps) + 0.5) / steps * 7 * tau
    ratio = nct.pdf(t, n - 1, effects * np.sqrt(n)) / student.pdf(t, n - 1)
    mixed = (ratio * 2 * norm.pdf(effects, 0, tau)).sum() * 7 * tau / steps
    assert log_evidence(t, n, tau) == pytest.approx(log(mixed), abs=1e-5)


def test_the_critical_value_has_the_level_of_one_look():
    assert log_evidence(critical_t(50, 0.05), 50) == pytest.approx(log(20), abs=1e-9)
    assert student.sf(critical_t(50, 0.05), 49) == pytest.approx(one_look_level(50, 0.05))
    assert critical_t(3, 0.001) == float("inf")
    assert one_look_level(3, 0.001) == 0.0


def test_looking_after_every_query_keeps_the_level():
    """A look at each of 10 to 120 normal values: 3.4 % of 4,000 samples reject (limit 5 %)."""
    values = np.random.default_rng(6).normal(0, 1, (120, 4000))
    count = np.arange(1, 121)[:, None]
    mean = values.cumsum(axis=0) / count
    square = (values**2).cumsum(axis=0) / count
    sd = np.sqrt(np.maximum(square - mean**2, 1e-300) * count / np.maximum(count - 1, 1))
    t = mean / sd * np.sqrt(count)
    bound = np.array([critical_t(n, 0.05) for n in range(10, 121)])[:, None]
    assert (t[9:] > bound).any(axis=0).mean() <= 0.05
    plain = student.ppf(0.95, np.arange(9, 120))[:, None]
    assert (t[9:] > plain).any(axis=0).mean() > 0.15


def test_the_queries_needed_at_any_look_have_the_power():
    n = int(needed_at_any_look(0.02, 0.1, 0.05, 0.8))
    assert power(0.02, 0.1, n, one_look_level(n, 0.05), 1) >= 0.8
    assert power(0.02, 0.1, n - 1, one_look_level(n - 1, 0.05), 1) < 0.8
