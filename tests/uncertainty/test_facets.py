"""Components of variance of crossed facets: another formula, known components, coverage."""

import numpy as np
import pytest
from scipy import stats

from rankgate.measurement.stats.mean_intervals import guarded_interval
from rankgate.measurement.stats.variance_components import crossed, facets, skewed_interval_ends


def test_two_facets_are_those_of_systems_queries_and_judges():
    rng = np.random.default_rng(1)
    sizes = ((30, 2, 4), (30, 2, 1), (1, 2, 4))
    values = sum(rng.normal(0, 1, size) for size in sizes)
    peer = crossed(values)  # the error of a difference by the mean squares of its interactions
    estimate = facets(values[:, 1] - values[:, 0])
    assert estimate.mean == pytest.approx(peer.delta[1])
    assert estimate.error == pytest.approx(peer.error)


def test_a_value_without_repetition_has_the_error_of_its_mean():
    rng = np.random.default_rng(2)
    values = np.repeat(rng.normal(0, 1, 25)[:, None], 3, axis=1)
    estimate, interval = (facets(values), stats.ttest_1samp(values[:, 0], 0).confidence_interval(0.95))
    assert estimate.error == pytest.approx(stats.sem(values[:, 0]))
    assert estimate.ends(0.95) == pytest.approx((interval.low, interval.high))


def test_components_are_what_was_put_in():
    rng = np.random.default_rng(3)
    sizes, sd = (40, 5, 4), {(0,): 0.6, (1,): 0.3, (2,): 0.2, (0, 1): 0.4, (0, 1, 2): 0.5}
    shares = []
    for _ in range(300):
        values = sum(
            rng.normal(0, deviation, [n if i in effect else 1 for i, n in enumerate(sizes)])
            for effect, deviation in sd.items()
        )
        estimate = facets(values)
        shares.append(estimate.shares)
    truth = [sd.get(effect, 0) ** 2 / np.prod([sizes[i] for i in effect]) for effect in estimate.effects]
    assert np.mean(shares, axis=0) == pytest.approx(truth, rel=0.15, abs=0.0015)


def test_more_levels_of_the_facet_that_varies_lower_the_error():
    rng = np.random.default_rng(4)
    values = rng.normal(0, 0.1, (40, 3)) + rng.normal(0, 1, (1, 3))
    estimate = facets(values)
    assert estimate.error_with(1, 6) == pytest.approx(estimate.error / 2**0.5, rel=0.01)
    assert estimate.error_with(0, 80) == pytest.approx(estimate.error, rel=0.01)


def test_one_level_is_no_facet():
    with pytest.raises(ValueError, match="2 levels"):
        facets(np.ones((5, 1)))


def test_without_repetition_the_leaning_ends_are_the_guarded_ones():
    rng = np.random.default_rng(5)
    losses = np.where(np.arange(60) % 15 == 0, -0.7, 0.0) + rng.normal(0, 0.05, 60)
    values = np.repeat(losses[:, None], 3, axis=1)
    guarded, estimate = guarded_interval(losses), facets(values)
    assert skewed_interval_ends(values, estimate) == pytest.approx((guarded.low[0], guarded.high[0]))
    assert skewed_interval_ends(values, estimate)[0] < estimate.ends()[0]


def test_what_biases_have_in_common_adds_to_the_variance():
    """Of R biases of variance 1 that correlate by ρ, the mean has the variance (1 + (R − 1)ρ)/R."""
    raters, rho, rng = 5, 0.4, np.random.default_rng(3)
    error_variances, added_variances = [], []
    for _ in range(400):
        biases = rho**0.5 * rng.normal() + (1 - rho) ** 0.5 * rng.normal(size=raters)
        estimate = facets(np.repeat(biases[None], 4, axis=0))
        error_variances.append(estimate.error**2)
        added_variances.append(estimate.correlated([1], rho))
    assert np.mean(error_variances) + np.mean(added_variances) == pytest.approx((1 + 4 * rho) / 5, rel=0.1)
