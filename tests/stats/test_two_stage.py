"""Samples of queries, then of their documents: against enumeration and brute force."""

from itertools import combinations, product

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

from rankgate.measurement.stats.sampling_design import (
    SamplingPlan,
    TwoStage,
    best_plan,
    break_even_price,
    inclusion_probabilities,
    predictions_needed,
)
from rankgate.measurement.stats.weighted_means import estimate_population

SIZES = np.array([[0.5, 1.0], [2.0, 1.5], [1.0, 0.2], [0.7, 0.7]])
ERRORS = np.array([[0.3, -0.8], [1.1, 0.2], [-0.4, 0.1], [0.0, 0.6]])
MODEL = np.array([1.0, -0.5, 0.2, 2.0])


def _draws(count, expected):
    """Every sample: its chance, the estimate, and the estimates by query."""
    chance = inclusion_probabilities(SIZES.ravel(), expected).reshape(SIZES.shape)
    groups = list(combinations(range(len(MODEL)), count))
    for queries in groups:
        chances = chance[list(queries)]
        for draw in product((0, 1), repeat=chances.size):
            is_sampled = np.reshape(draw, chances.shape)
            p = np.where(is_sampled, chances, 1 - chances).prod() / len(groups)
            values = MODEL[list(queries)] + (is_sampled * ERRORS[list(queries)] / chances).sum(axis=1)
            yield p, estimate_population(values, np.full(count, 1.0)).sampled


@pytest.mark.parametrize(("count", "expected"), [(2, 3.0), (3, 5.0), (4, 2.0), (4, 8.0)])
def test_the_estimate_has_no_bias_over_all_samples(count, expected):
    chances, estimates = np.array(list(_draws(count, expected))).T
    assert chances.sum() == pytest.approx(1)
    assert chances @ estimates == pytest.approx((MODEL + ERRORS.sum(axis=1)).mean())


def test_what_drawn_documents_add_to_the_variance_of_all_samples():
    chances, estimates = np.array(list(_draws(4, 3.0))).T
    truth = chances @ estimates
    chance = inclusion_probabilities(SIZES.ravel(), 3.0).reshape(SIZES.shape)
    variance = float((ERRORS**2 * (1 - chance) / chance).sum()) / 16
    assert chances @ (estimates - truth) ** 2 == pytest.approx(variance)
    stages = TwoStage(np.abs(ERRORS[ERRORS != 0]), 4, 0.0, 0.0, 1.0)
    chance = inclusion_probabilities(stages.sizes, 3.0)
    by_hand = float((stages.sizes**2 * (1 - chance) / chance).sum())
    assert stages.variance(4, 3.0, 4) == pytest.approx(by_hand / 16)


STAGES = TwoStage(np.ones(40 * 200), 200, 3.0, 2.0, 0.04)


@pytest.mark.parametrize("price", [0.5, 5.0, 40.0])
def test_the_best_number_of_documents_a_query_is_the_closed_form(price):
    # W = e²D(1 − π)/π = e²D²/d − e²D
    within, between_variance = 0.04 * 40**2, STAGES.between - 0.04 * 40
    best_count = np.sqrt(within * price / between_variance)
    plan = best_plan(STAGES, 900.0, 1.0, price, SamplingPlan(1, 0.0))
    assert plan.expected / 200 == pytest.approx(best_count, rel=0.25)
    assert plan.count * (price + plan.expected / 200) == pytest.approx(900, rel=0.03)
    variance = [
        STAGES.variance(n, 200 * (900 / n - price), np.inf)
        for n in range(1, 201)
        if 0 < 900 / n - price <= 40
    ]
    assert STAGES.variance(plan.count, plan.expected, np.inf) < 1.02 * min(variance)


def test_without_a_price_of_queries_all_are_drawn():
    assert best_plan(STAGES, 900.0, 1.0, 0.0, SamplingPlan(1, 0.0)) == SamplingPlan(200, 900.0)


def test_no_query_or_document_of_before_is_given_up():
    plan = best_plan(STAGES, 1000.0, 1.0, 5.0, SamplingPlan(90, 1200.0))
    assert plan.count >= 90
    assert plan.expected >= 1200


def test_what_one_more_is_worth_is_the_derivative():
    count, expected, step = 50.0, 1000.0, 1e-4
    now = STAGES.variance(count, expected, 80)
    chance = inclusion_probabilities(STAGES.sizes, expected)[:1]
    difference = (now - STAGES.variance(count, expected + step, 80)) / step
    # a document more in the frame is n/m of one more in the sample
    derivative = STAGES.of_document(np.ones(1), chance, count)[0]
    assert difference * 200 / 50 == pytest.approx(derivative, rel=1e-4)
    query = (now - STAGES.variance(count + step, expected, 80)) / step
    assert STAGES.of_query(count, expected) == pytest.approx(query, rel=1e-4)
    call = (now - STAGES.variance(count, expected, 80 + step)) / step
    assert STAGES.of_prediction(80) == pytest.approx(call, rel=1e-4)


@pytest.mark.parametrize(("price", "call"), [(10.0, 0.1), (4.0, 1.0)])
def test_queries_for_the_model_are_the_cheapest_mix(price, call):
    query_variance = STAGES.between + STAGES.within(2000.0)

    def variance(n):
        return query_variance / n + STAGES.explained / ((1000 - n * price) / call)

    best_count = minimize_scalar(variance, bounds=(1e-3, 1000 / price - 1e-3), method="bounded").x
    expected = (1000 - best_count * price) / call
    predictions = predictions_needed(STAGES, SamplingPlan(best_count, 2000.0), price, call)
    assert predictions == pytest.approx(expected, rel=1e-3)


@pytest.mark.parametrize("correlation", [0.4, 0.75, 0.95])
def test_a_model_is_worth_the_price_at_which_it_saves_nothing(correlation):
    square, price = correlation**2, 10.0
    call = break_even_price(correlation, price)
    # V·cost at the best mix of both, and of people alone
    mixed = (np.sqrt((1 - square) * price) + np.sqrt(square * call)) ** 2
    assert mixed == pytest.approx(price)
    assert break_even_price(0.0, price) == 0
