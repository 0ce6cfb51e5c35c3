"""Tests, intervals, effects, margins and power: published values (STATISTICS A) and peers."""

import csv

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import stats

from rankgate.core.errors import UsageError
from rankgate.measurement.stats.mean_intervals import skewness, t_interval
from rankgate.measurement.stats.multiple_comparisons import CORRECTIONS, correct
from rankgate.measurement.stats.paired_tests import (
    hedges_g,
    largest_share,
    sign_test,
    standard_error,
    student_test,
)
from rankgate.measurement.stats.query_power import detectable_difference, power, queries_for_power
from rankgate.measurement.stats.resampling_tests import bootstrap_interval, bootstrap_test, randomization
from support.wording import assert_warned, raises

values = st.floats(-1, 1, allow_subnormal=False).map(lambda x: round(x, 6))


@pytest.fixture(scope="module")
def pair(shared):
    """AP of two runs of TREC-8 on 50 topics (A01 to A09)."""
    with (shared / "score-matrices-trec" / "adhoc8_ap.run125-126.csv").open() as lines:
        rows = list(csv.DictReader(lines))
    names = [name for name in rows[0] if "125" in name] + [n for n in rows[0] if "126" in n]
    return tuple(np.array([float(row[name]) for row in rows]) for name in names)


@pytest.fixture(scope="module")
def differences(pair):
    """The differences of the second run from the first, by topic."""
    return pair[1] - pair[0]


def test_the_pair_is_the_published_one(differences):
    assert (len(differences), differences.mean(), differences.std(ddof=1)) == pytest.approx(
        (50, 0.053008, 0.110006), abs=5e-7
    )


def test_paired_t(differences):
    result = student_test(differences)
    assert result.statistic == pytest.approx([3.40729717], abs=5e-9)
    assert result.p_value == pytest.approx([0.0013193972], abs=5e-11)


def test_sign(differences):
    banded = sign_test(differences, band=0.01)
    assert (int(banded.statistic[0]), int(banded.n[0])) == (31, 44)
    assert banded.p_value == pytest.approx([0.009559879], abs=5e-10)
    assert sign_test(differences).p_value == pytest.approx([0.0153467], abs=5e-8)


def test_randomization(differences):
    result = randomization(differences, samples=400_000)
    assert not result.exact
    assert abs(result.p_value[0] - 0.001188) < 4 * result.mc_error[0] + 0.00002
    assert result.mc_error[0] == pytest.approx(np.sqrt(0.0012 / 400_000), rel=0.1)


def test_bootstrap_shift(differences):
    result = bootstrap_test(differences, samples=400_000)
    assert abs(result.p_value[0] - 0.000579) < 4 * result.mc_error[0] + 0.00001


def test_intervals(differences):
    result = t_interval(differences)
    assert (result.low[0], result.high[0]) == pytest.approx((0.02174464, 0.08427136), abs=5e-9)
    for method, ends in {
        "percentile": (0.02331, 0.08375),
        "basic": (0.02227, 0.08270),
        "bca": (0.02421, 0.08480),
    }.items():
        interval = bootstrap_interval(differences, 0.95, method, samples=100_000)
        assert (interval.low[0], interval.high[0]) == pytest.approx(ends, abs=5e-4)


def test_the_effect_size(pair):
    assert hedges_g(*pair) == pytest.approx([0.47445129], abs=5e-9)


def test_power(differences):
    sd = differences.std(ddof=1)
    assert detectable_difference(sd, 50) == pytest.approx(0.0444626, abs=5e-8)
    assert queries_for_power(differences.mean(), sd) == pytest.approx(35.77, abs=5e-3)


@given(st.floats(0.05, 2), st.integers(3, 300), st.sampled_from([1, 2]))
def test_power_is_statsmodels(size, n, sides):
    from statsmodels.stats.power import TTestPower

    peer_power = TTestPower().power(size, n, 0.05, alternative="two-sided" if sides == 2 else "larger")
    if np.isfinite(peer_power):
        assert power(size, 1.0, n, sides=sides) == pytest.approx(peer_power, abs=1e-9)


@given(st.floats(0.1, 2), st.floats(0.5, 0.95))
def test_needed_and_detectable_are_inverse(sd, wanted):
    n = queries_for_power(0.1, sd, wanted=wanted)
    if n > 3:
        query_count = int(np.ceil(n))
        assert float(detectable_difference(sd, query_count, wanted=wanted)) <= 0.1 + 1e-9
        assert float(detectable_difference(sd, query_count - 1, wanted=wanted)) >= 0.1 - 1e-6


def test_corrections_of_1995():
    """Benjamini and Hochberg's own example (A14)."""
    p = np.array(
        [
            0.0001,
            0.0004,
            0.0019,
            0.0095,
            0.0201,
            0.0278,
            0.0298,
            0.0344,
            0.0459,
            0.3240,
            0.4262,
            0.5719,
            0.6528,
            0.7590,
            1,
        ]
    )
    rejected = {name: int((correct(p, name) <= 0.05).sum()) for name in CORRECTIONS}
    assert rejected == {"bonferroni": 3, "holm": 3, "hochberg": 3, "bh": 4, "by": 3, "none": 9}
    assert correct(p, "bh") == pytest.approx(
        [
            0.0015,
            0.003,
            0.0095,
            0.035625,
            0.0603,
            0.063857,
            0.063857,
            0.0645,
            0.0765,
            0.486,
            0.58118,
            0.71487,
            0.75323,
            0.81321,
            1,
        ],
        abs=5e-6,
    )


@given(
    arrays(float, st.integers(1, 12), elements=st.floats(0, 1)),
    st.sampled_from(
        [
            ("holm", "holm"),
            ("bonferroni", "bonferroni"),
            ("hochberg", "simes-hochberg"),
            ("bh", "fdr_bh"),
            ("by", "fdr_by"),
        ]
    ),
)
def test_corrections_are_statsmodels(p, names):
    from statsmodels.stats import multitest

    rankgate_values, peer_values = (correct(p, names[0]), multitest.multipletests(p, method=names[1])[1])
    np.testing.assert_allclose(rankgate_values, peer_values, atol=1e-12)


def test_a_missing_p_does_not_count():
    result = correct(np.array([0.01, np.nan, 0.02]), "bonferroni")
    assert result[[0, 2]] == pytest.approx([0.02, 0.04])
    assert np.isnan(result[1])
    with raises("unknown-choice", UsageError):
        correct(np.array([0.1]), "sidak")


@given(arrays(float, st.tuples(st.integers(2, 30), st.integers(1, 3)), elements=values))
def test_student_is_scipy(table):
    if (table.std(axis=0, ddof=1) < 1e-9).any():
        return
    peer_result = stats.ttest_1samp(table, 0)
    np.testing.assert_allclose(student_test(table).p_value, peer_result.pvalue, atol=1e-10)
    ends = peer_result.confidence_interval(0.9)
    result = t_interval(table, 0.9)
    np.testing.assert_allclose((result.low, result.high), (ends.low, ends.high), atol=1e-10)


@given(arrays(float, st.integers(1, 12), elements=values))
def test_few_queries_are_counted_exactly(column):
    result = randomization(column, samples=1 << 12)
    assert result.exact
    signs = np.array(np.meshgrid(*[[1, -1]] * len(column))).reshape(len(column), -1)
    means = np.abs(signs.T @ column)
    expected = (means >= abs(column.sum()) - 1e-9).mean()
    assert result.p_value[0] == pytest.approx(expected)
    assert result.p_max[0] == pytest.approx(expected)


@given(arrays(float, (25, 3), elements=values), st.integers(0, 5))
def test_laws_of_randomization(table, seed):
    result = randomization(table, samples=500, seed=seed)
    assert (result.p_value >= 1 / 501).all()
    assert (result.p_max >= result.p_value - 1e-12).all()
    negated = randomization(-table, samples=500, seed=seed)
    np.testing.assert_array_equal(result.p_value, negated.p_value)
    first_column = randomization(table[:, :1], samples=500, seed=seed)
    assert first_column.p_value[0] == result.p_value[0]
    scaled = randomization(table * 4, samples=500, seed=seed)
    np.testing.assert_array_equal(result.p_max, scaled.p_max)


def test_blocks_do_not_change_a_drawing(monkeypatch):
    rng = np.random.default_rng(1)
    table = rng.normal(size=(40, 2))
    single_block = randomization(table, samples=1000)
    monkeypatch.setattr("rankgate.measurement.stats.resampling_tests._RANDOMIZATION_CELLS", 40 * 7)
    np.testing.assert_array_equal(single_block.p_value, randomization(table, samples=1000).p_value)
    monkeypatch.undo()
    interval = bootstrap_interval(table, samples=1000)
    monkeypatch.setattr("rankgate.measurement.stats.resampling_tests._BOOTSTRAP_CELLS", 40 * 7)
    block_interval = bootstrap_interval(table, samples=1000)
    np.testing.assert_array_equal(interval.low, block_interval.low)


def test_max_t_is_less_strict_than_bonferroni_where_columns_are_alike():
    rng = np.random.default_rng(2)
    column = rng.normal(0.3, 1, size=(60, 1))
    table = np.repeat(column, 5, axis=1)
    result = randomization(table, samples=20_000)
    np.testing.assert_array_equal(result.p_max, result.p_value)


@pytest.mark.parametrize("test", [student_test, sign_test, randomization, bootstrap_test])
def test_nothing_differs(test):
    assert test(np.zeros(30)).p_value == pytest.approx([1.0])


def test_one_query_says_so():
    assert np.isnan(student_test(np.array([0.2])).p_value).all()
    result = t_interval(np.array([0.2]))
    assert np.isnan(result.low).all()
    assert_warned(result)
    assert randomization(np.array([0.2])).p_value == pytest.approx([1.0])


def test_equal_differences():
    equal_values = np.full(20, 0.1)
    result = bootstrap_interval(equal_values)
    assert (result.low[0], result.high[0]) == pytest.approx((0.1, 0.1))
    assert_warned(result)


def test_warnings_of_few_and_skewed():
    assert_warned(t_interval(np.arange(10.0)))
    skewed = np.r_[np.zeros(25), 5.0]
    assert skewness(skewed)[0] == pytest.approx(stats.skew(skewed))
    assert_warned(t_interval(skewed))
    assert t_interval(np.arange(60.0)).warnings == ()


def test_weights():
    rng = np.random.default_rng(3)
    column, weights = rng.normal(size=200), rng.integers(1, 4, 200).astype(float)
    result = t_interval(column, weights=weights)
    assert result.mean[0] == pytest.approx(np.average(column, weights=weights))
    even = t_interval(column, weights=np.full(200, 2.0))
    assert (even.low[0], even.high[0]) == pytest.approx(
        (t_interval(column).low[0], t_interval(column).high[0])
    )
    interval = bootstrap_interval(column, weights=weights)
    assert (interval.low[0], interval.high[0]) == pytest.approx((result.low[0], result.high[0]), abs=0.02)


def test_bca_is_scipy():
    rng = np.random.default_rng(4)
    column = rng.exponential(size=40)
    peer_interval = stats.bootstrap((column,), np.mean, n_resamples=50_000, rng=rng).confidence_interval
    rankgate_interval = bootstrap_interval(column, samples=50_000)
    assert (rankgate_interval.low[0], rankgate_interval.high[0]) == pytest.approx(
        (peer_interval.low, peer_interval.high), abs=0.01
    )


def test_influence():
    table = np.array([[0.1, 1.0], [0.1, -1.0], [0.3, 0.5], [0.0, 0.0]])
    row, share = largest_share(table)
    assert row.tolist() == [2, 0]
    assert share == pytest.approx([0.6, 2.0])


def test_standard_error_of_nothing():
    assert standard_error(np.zeros((1, 2))).tolist() == [0, 0]


def test_many_queries_are_drawn():
    result = randomization(np.full(1100, 0.1), samples=50)
    assert not result.exact
    assert result.p_value == pytest.approx([1 / 51])


def test_equal_differences_are_no_certainty():
    assert student_test(np.full(3, 0.1)).p_value == pytest.approx([0.25])
    assert student_test(np.full(3, -0.1)).p_value == pytest.approx([0.25])


def test_the_bootstrap_shift_is_the_count_over_all_resamples():
    """All nⁿ resamples; those exactly as far from the mean as the mean from 0 count, too."""
    delta = np.array([-1, 0, 1, 2, 4])
    resamples = np.stack(np.meshgrid(*[delta] * 5), axis=-1).reshape(-1, 5)
    distances = np.abs(resamples.sum(axis=1) - delta.sum())
    exact = (distances >= delta.sum()).mean()
    assert (distances == delta.sum()).mean() > 0.05
    result = bootstrap_test(np.column_stack([delta, delta / 10]), samples=20_000)
    assert result.p_value == pytest.approx(exact, abs=4 * np.sqrt(exact * (1 - exact) / 20_000))
    assert result.p_value[0] == result.p_value[1]  # also where tenths are not exact
