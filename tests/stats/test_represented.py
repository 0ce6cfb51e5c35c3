"""Means of populations from samples: survey formulas, other software, simulation."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankgate.measurement.stats.mean_intervals import t_interval, weighted_mean
from rankgate.measurement.stats.weighted_means import (
    Population,
    WeightPrecision,
    chance_of_sample,
    conformal_reach,
    effective_size,
    estimate_population,
    sample_size_needed,
    unseen_weight,
)

Y = np.array([3.4, 2.35, 4.5, 5.84, 7.27, 5.22, 3.89, 3.43, 6.5, 8.27, 5.55, 2.53])
WEIGHTS = np.array([1.5, 2, 2.5, 3, 1, 1, 4, 2, 2, 3, 5, 1.2])
STRATA = np.array([0] * 5 + [1] * 7)


def error(found):
    return float(np.sqrt(found.variance))


def test_without_a_design_it_is_the_mean_and_its_error():
    estimate = estimate_population(Y)
    assert (estimate.mean, error(estimate)) == pytest.approx((Y.mean(), Y.std(ddof=1) / 12**0.5))


def test_the_weighted_mean_as_survey_software_has_it():
    # samplics 0.4.22, TaylorEstimator of a mean, which has the linearised error
    assert estimate_population(Y, WEIGHTS).mean == pytest.approx(5.038156028368794)
    assert weighted_mean(Y[:, None], WEIGHTS)[1][0] == pytest.approx(0.5200483677958494)


def test_the_error_of_a_weighted_mean_is_the_jackknife():
    jackknife_rows = [np.delete(np.arange(12), i) for i in range(12)]
    means = np.array([np.average(Y[rows], weights=WEIGHTS[rows]) for rows in jackknife_rows])
    away = means - np.average(Y, weights=WEIGHTS)
    assert estimate_population(Y, WEIGHTS).variance == pytest.approx(11 / 12 * away @ away)


def test_a_query_that_makes_the_mean_has_a_large_error():
    weights = np.r_[1.0, np.full(39, 1e-4 / 39)]  # 99.99 % of the traffic
    values = np.r_[0.1, np.zeros(39)]  # the mean is 0.1 with it, and 0 without
    assert error(estimate_population(values, weights)) == pytest.approx(0.1, rel=0.02)
    assert weighted_mean(values[:, None], weights)[1][0] < 1e-4  # what it was


def test_members_that_were_certain_to_be_drawn_add_no_error():
    certain = np.arange(12) < 4
    estimate = estimate_population(Y, WEIGHTS, certain=certain)
    assert estimate.mean == pytest.approx(estimate_population(Y, WEIGHTS).mean)
    residuals = WEIGHTS * (Y - estimate.mean) / WEIGHTS.sum() * ~certain
    lever = 7 / 8 / (1 - WEIGHTS / WEIGHTS[~certain].sum())
    assert estimate.variance == pytest.approx(8 / 7 * ((residuals * lever) ** 2)[~certain].sum())


def test_the_worth_of_weights():
    assert WeightPrecision.from_weights(np.full(7, 0.3)).degrees == 6
    halves = WeightPrecision.from_weights(np.r_[np.ones(30), np.full(30, 1e-9)])  # as 30 of equal weight
    assert (halves.effective, halves.degrees) == pytest.approx((30, 29))
    precision = WeightPrecision.from_weights(np.r_[0.61, np.full(39, 0.01)])
    assert precision.effective == pytest.approx(1 / (0.61**2 + 39 * 0.01**2))
    code, reason = precision.problem(estimate_population(np.arange(40.0)))
    assert code == "few-effective-queries"
    assert "worth 2.7 of equal weight" in reason
    strata = np.repeat([0, 1], 30)
    assert WeightPrecision.from_weights(np.repeat([9.0, 1.0], 30), strata).spread == pytest.approx(1)
    assert WeightPrecision.from_weights(np.repeat([9.0, 1.0], 30)).spread == pytest.approx(82 / 50)


def test_the_weight_of_queries_that_a_sample_may_not_show():
    assert unseen_weight(np.ones(30), 0.05) == pytest.approx(1 - 0.05 ** (1 / 30))
    zipf = 1 / np.arange(1, 101)
    heaviest = zipf[:3].sum() / zipf.sum()
    assert heaviest * 0.95 < unseen_weight(zipf, 0.05) < heaviest


def test_a_total_as_survey_software_has_it():
    estimate = estimate_population(Y, WEIGHTS, STRATA, total=1.0)  # samplics, TaylorEstimator of a total
    assert (estimate.mean, error(estimate)) == pytest.approx((142.076, 28.156792774272663))


def test_the_stratified_mean_of_textbooks():
    # Cochran 1977, (5.1) and (5.7) without the finite population correction
    sizes, strata = (400, 100), (Y[:5], Y[5:])
    v = np.repeat([sizes[0] / 5, sizes[1] / 7], [5, 7])
    shares = np.array(sizes) / 500
    mean = sum(w * y.mean() for w, y in zip(shares, strata, strict=True))
    variance = sum(w**2 * y.var(ddof=1) / len(y) for w, y in zip(shares, strata, strict=True))
    estimate = estimate_population(Y, v, STRATA)
    assert (estimate.mean, estimate.variance) == pytest.approx((mean, variance))


def test_four_supermarkets_of_sampling_by_size():
    # Lohr, Sampling: Design and Analysis, section 6.2: total 300, variance 14,248 of one draw
    sales, chance = np.array([11.0, 20, 24, 245]), np.array([100.0, 200, 300, 1000]) / 1600
    mean = variance = 0.0
    for pair in itertools.product(range(4), repeat=2):
        indices = list(pair)
        estimate = estimate_population(sales[indices], 1 / (2 * chance[indices]), total=1.0)
        mean += chance[indices].prod() * estimate.mean
        variance += chance[indices].prod() * estimate.variance
    assert (mean, variance) == pytest.approx((300, 14_248 / 2))


def test_effective_size():
    assert effective_size(np.ones(7)) == 7
    assert effective_size(np.array([3.0, 1, 1, 1])) == pytest.approx(36 / 12)


def _drawn(n=60, size=600, seed=1, noise=0.5):
    rng = np.random.default_rng(seed)
    y = rng.normal(0.1, 1, size)
    return y[:n], y, y + rng.normal(0, noise, size)


def test_values_have_the_mean_and_the_error_of_the_estimate():
    people, _, model = _drawn()
    estimate = estimate_population(people, predicted=model[:60], population=Population(model, np.ones(600)))
    ends = t_interval(estimate.values)
    assert estimate.mean == pytest.approx(estimate.values.mean())
    assert estimate.values.std(ddof=1) / 60**0.5 == pytest.approx(error(estimate))
    assert ends.high[0] - ends.low[0] < 0.7 * np.ptp(np.r_[t_interval(people).low, t_interval(people).high])


def test_a_model_that_sees_all_makes_the_sample_the_population():
    people, population_values, _ = _drawn()
    estimate = estimate_population(
        people, predicted=people, population=Population(population_values, np.ones(600))
    )
    assert estimate.mean == pytest.approx(population_values.mean(), abs=0.01)
    assert error(estimate) == pytest.approx(population_values.std() / 600**0.5, rel=0.05)


@given(st.floats(-5, 5), st.floats(0.01, 100), st.sampled_from([-1, 1]))
def test_how_a_model_is_biased_does_not_matter(shift, scale, sign):
    people, _, model = _drawn()
    plain, biased = (
        estimate_population(
            people, predicted=predictions[:60], population=Population(predictions, np.ones(600))
        )
        for predictions in (model, shift + sign * scale * model)
    )
    assert biased.mean == pytest.approx(plain.mean)
    assert biased.variance == pytest.approx(plain.variance)


def test_all_queries_judged_by_people_need_no_model():
    people, population_values, model = _drawn(n=600)
    estimate = estimate_population(people, predicted=model, population=Population(model, np.ones(600)))
    assert estimate.mean == pytest.approx(population_values.mean())
    assert error(estimate) == pytest.approx(population_values.std(ddof=1) / 600**0.5, rel=0.01)


def test_a_useless_model_costs_next_to_nothing():
    people = np.random.default_rng(3).normal(0, 1, 60)
    noise = np.random.default_rng(4).normal(0, 1, 600)
    estimate = estimate_population(people, predicted=noise[:60], population=Population(noise, np.ones(600)))
    assert error(estimate) < 1.05 * people.std(ddof=1) / 60**0.5


def test_equal_predictions_predict_nothing():
    estimate = estimate_population(Y, predicted=np.ones(12), population=Population(np.ones(50), np.ones(50)))
    assert (estimate.mean, estimate.slope) == (pytest.approx(Y.mean()), 0.0)


def test_strata_with_a_model_have_the_mean_of_the_population():
    rng = np.random.default_rng(5)
    size, codes = 4000, np.repeat([0, 1], [3000, 1000])
    estimates, errors = [], []
    y = rng.normal(0, 1, size) + 2 * codes
    x = y + rng.normal(0, 0.5, size)
    v = np.repeat([3000 / 40, 1000 / 40], 40)
    for _ in range(400):
        sample = np.r_[rng.permutation(3000)[:40], 3000 + rng.permutation(1000)[:40]]
        estimate = estimate_population(y[sample], v, codes[sample], x[sample], Population(x, np.ones(size)))
        estimates.append(estimate.mean)
        errors.append(error(estimate))
    assert np.mean(estimates) == pytest.approx(y.mean(), abs=4 * np.std(estimates) / 20)
    assert np.std(estimates) == pytest.approx(np.mean(errors), rel=0.12)


def test_how_many_more_people_are_needed():
    people, _, model = _drawn()
    estimate = estimate_population(people, predicted=model[:60], population=Population(model, np.ones(600)))
    size = sample_size_needed(estimate, 0.3, 2.8, 600)
    spread = np.sqrt(estimate.per_member / size + estimate.fixed)
    assert 0.3 / spread >= 2.8 > 0.3 / np.sqrt(estimate.per_member / (size - 1) + estimate.fixed)
    assert sample_size_needed(estimate, 0.01, 2.8, 600) is None


def test_conformal_intervals_cover_whatever_the_residuals():
    rng = np.random.default_rng(6)
    residuals = rng.standard_t(2, (4000, 20))
    covered = [abs(row[-1]) <= conformal_reach(row[:-1], 0.9) for row in residuals]
    assert np.mean(covered) == pytest.approx(18 / 20, abs=0.02)  # ⌈20 · .9⌉ of 20
    assert conformal_reach(residuals[0, :8], 0.9) == np.inf


def test_a_random_sample_is_seldom_suspected_and_a_chosen_one_is():
    rng = np.random.default_rng(7)
    values = rng.exponential(1, 300) * (rng.random(300) < 0.3)
    is_sampled = np.zeros(300, bool)
    is_sampled[:30] = True
    low = [chance_of_sample(values, rng.permutation(is_sampled)) < 0.01 for _ in range(300)]
    assert np.mean(low) < 0.03
    assert chance_of_sample(np.sort(values), is_sampled) > 0.001  # zeros are too few to tell
    assert chance_of_sample(np.sort(values)[::-1], is_sampled) < 0.0001
