"""Intervals, equivalence, ratios and probabilities of means: published values and peers."""

import csv

import numpy as np
import pytest
from scipy import stats

from rankgate.measurement.stats.mean_intervals import t_interval
from rankgate.measurement.stats.paired_tests import fieller, posterior, relative_gain, tost
from rankgate.measurement.stats.resampling_tests import simultaneous_reach, studentised_interval
from rankgate.measurement.stats.variance_components import EFFECTS, crossed


@pytest.fixture(scope="module")
def pair(shared):
    """AP of two runs of TREC-8 on 50 topics."""
    with (shared / "score-matrices-trec" / "adhoc8_ap.run125-126.csv").open() as lines:
        rows = list(csv.DictReader(lines))
    return tuple(np.array([float(row[name]) for row in rows]) for name in ("run125", "run126"))


@pytest.mark.parametrize(
    ("margin", "p"), [(0.005, 0.998333), (0.01, 0.995994), (0.02, 0.980529), (0.05, 0.576258)]
)
def test_tost_as_statsmodels_computes_it(pair, margin, p):
    """ttost_paired of statsmodels 0.15.0 with the limits −margin and margin."""
    result = tost(pair[1] - pair[0], margin)
    assert result.p_value == pytest.approx([p], abs=5e-7)


def test_tost_says_what_the_interval_of_level_1_minus_2_alpha_says(pair):
    delta = pair[1] - pair[0]
    for margin in (0.06, 0.08, 0.1):
        result = tost(delta, margin)
        assert (result.p_value[0] < 0.05) == (-margin < result.low[0] and result.high[0] < margin)
    assert result.low == pytest.approx(t_interval(delta, 0.9).low)


def test_tost_without_spread():
    p_inside, p_edge, p_outside = (tost(np.full(5, x), 0.5).p_value[0] for x in (0.2, 0.5, 0.7))
    assert (p_inside, p_edge, p_outside) == (0, 1, 1)
    assert np.isnan(tost(np.ones(1), 0.5).p_value).all()


def test_posterior_has_the_probabilities_of_students_t(pair):
    delta = pair[1] - pair[0]
    law = stats.t(49, delta.mean(), delta.std(ddof=1) / np.sqrt(50))
    result = posterior(delta, 0.02)
    truth = (law.cdf(-0.02), law.cdf(0.02) - law.cdf(-0.02), law.sf(0.02))
    probabilities = (result.worse[0], result.same[0], result.better[0])
    assert probabilities == pytest.approx(truth)
    assert sum(probabilities) == pytest.approx(1)


def test_posterior_without_spread():
    result = [posterior(np.full(5, x), 0.1) for x in (-0.2, 0.1, 0.2)]
    assert [(r.worse[0], r.same[0], r.better[0]) for r in result] == [(1, 0, 0), (0, 1, 0), (0, 0, 1)]


def test_fieller_ends_where_a_paired_test_ends_to_reject(pair):
    result = fieller(*pair)
    assert result.value == pytest.approx(pair[1].mean() / pair[0].mean() - 1)
    for end in (result.low, result.high):
        linear = relative_gain(*pair, -end)
        assert stats.ttest_1samp(linear, 0).pvalue == pytest.approx(0.05)
    assert result.low == pytest.approx(0.0949277731, abs=5e-10)
    assert result.high == pytest.approx(0.4570512745, abs=5e-10)


def test_fieller_of_negative_and_of_undecided_baselines():
    rng = np.random.default_rng(2)
    base = rng.normal(-5, 1, 30)
    result = fieller(base, base + 1)
    assert result.low < result.value < result.high
    assert result.value == pytest.approx(1 / abs(base.mean()))
    unbounded = fieller(rng.normal(0.01, 1, 30), base)
    assert (unbounded.low, unbounded.high) == (-np.inf, np.inf)
    assert np.isnan(fieller(np.zeros(5), np.ones(5)).value)
    assert np.isnan(fieller(np.ones(1), np.ones(1)).low)


def test_studentised_intervals_lean_as_bca_does(pair):
    """BCa of these: .02421 to .08480; t: .02174 to .08427."""
    result = studentised_interval(pair[1] - pair[0], samples=20_000)
    assert result.low == pytest.approx([0.0232], abs=1e-3)
    assert result.high == pytest.approx([0.0869], abs=1e-3)


def test_studentised_intervals_cover_means_of_skewed_values():
    """With 30 exponential values, intervals by t cover about 92.5 %."""
    rng = np.random.default_rng(5)
    table = rng.exponential(size=(30, 300))
    result = studentised_interval(table, samples=999)
    coverage = ((result.low < 1) & (result.high > 1)).mean()
    assert 0.92 < coverage < 0.98


def test_studentised_intervals_without_spread():
    interval = studentised_interval(np.full(8, 0.25))
    assert (interval.low, interval.high) == ([0.25], [0.25])
    assert np.isnan(studentised_interval(np.ones(1)).low).all()


@pytest.mark.parametrize(("columns", "reach"), [(1, 1.960), (2, 2.236), (5, 2.569), (10, 2.800)])
def test_simultaneous_intervals_reach_as_far_as_the_maximum_modulus(columns, reach):
    """Of independent normal columns: Φ⁻¹((1 + .95^(1/k))/2), Stoline and Ury (1979), df = ∞."""
    table = np.random.default_rng(8).normal(size=(800, columns))
    assert simultaneous_reach(table, samples=4000) == pytest.approx(reach, rel=0.03)


def test_simultaneous_intervals_know_that_columns_go_together():
    column = np.random.default_rng(9).normal(size=(500, 1))
    single_reach, copied_reach = (
        simultaneous_reach(table, samples=5000) for table in (column, column @ np.ones((1, 6)))
    )
    assert copied_reach == pytest.approx(single_reach)
    holes = np.hstack([column, np.full((500, 1), np.nan), np.ones((500, 1))])
    assert simultaneous_reach(holes, samples=5000) == pytest.approx(single_reach)
    assert np.isnan(simultaneous_reach(np.ones((9, 2))))


RATED = np.array(
    [
        [[6, 6, 6, 3], [4, 5, 4, 5], [1, 3, 5, 3]],
        [[6, 5, 6, 3], [3, 3, 5, 6], [4, 3, 5, 4]],
        [[9, 6, 9, 6], [7, 5, 6, 6], [5, 5, 8, 6]],
        [[5, 6, 5, 3], [6, 4, 5, 6], [4, 5, 5, 6]],
        [[6, 8, 8, 3], [5, 6, 5, 4], [2, 4, 3, 1]],
        [[5, 6, 7, 1], [4, 6, 7, 5], [2, 4, 5, 0]],
    ],
    np.float64,
)
"""6 queries by 3 systems by 4 judges."""


def test_components_of_crossed_effects_are_those_of_reml():
    """statsmodels 0.15.0, mixedlm y ~ 1 by REML with six crossed components."""
    truth = {
        "system": 0.435185,
        "query": 0.328704,
        "judge": 0.140741,
        "system × query": 0.550926,
        "system × judge": 0.887037,
        "query × judge": 0.674074,
        "residual": 0.543519,
    }
    result = crossed(RATED)
    assert dict(zip(EFFECTS, result.components, strict=True)) == pytest.approx(truth, abs=5e-7)


def test_differences_under_crossed_effects_have_the_error_of_reml():
    """statsmodels 0.15.0, mixedlm y ~ C(system) by REML: both differences ± .820033."""
    result = crossed(RATED)
    assert result.delta == pytest.approx([0, -0.5, -1.708333], abs=5e-7)
    assert result.error == pytest.approx(0.820033, abs=5e-7)
    assert (result.low[0], result.high[0]) == (0, 0)
    assert result.p_value[1:] == pytest.approx([0.555614, 0.063796], abs=5e-7)


def test_judges_that_are_copies_add_nothing():
    """Then a difference is as sure as by one judge: the paired t-test of the queries."""
    single_judge = RATED[:, :2, :1]
    result = crossed(np.concatenate([single_judge, single_judge], axis=2))
    peer = stats.ttest_rel(single_judge[:, 1, 0], single_judge[:, 0, 0])
    assert result.p_value[1] == pytest.approx(peer.pvalue)


def test_intervals_under_crossed_effects_cover():
    rng = np.random.default_rng(6)

    def draw():
        parts = [rng.normal(size=shape) for shape in ((20, 1, 1), (20, 2, 1), (1, 2, 5), (20, 1, 5))]
        return sum(parts) + rng.normal(size=(20, 2, 5))

    results = [crossed(draw()) for _ in range(500)]
    assert 0.92 < np.mean([result.low[1] < 0 < result.high[1] for result in results]) < 0.98


def test_a_factor_of_one_level_is_refused():
    with pytest.raises(ValueError, match="at least 2"):
        crossed(RATED[:, :1])
