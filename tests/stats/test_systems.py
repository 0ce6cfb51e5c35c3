"""Many systems: two-way ANOVA, Tukey, generalizability, orderings."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from scipy.linalg import helmert

from rankgate.measurement.stats import multiple_comparisons
from rankgate.measurement.stats.multiple_comparisons import anova, randomised_tukey, tukey
from rankgate.measurement.stats.paired_tests import student_test
from rankgate.measurement.stats.query_reliability import POWER, TAU, TAU_AP, reliability
from rankgate.measurement.stats.rank_correlation import group_ties, tau, tau_ap, tie_levels


@pytest.fixture(scope="module")
def adhoc7(shared):
    return np.genfromtxt(shared / "score-matrices-trec" / "adhoc7_ap.csv", delimiter=",", skip_header=1)


def test_two_systems_are_the_paired_t(adhoc7):
    pair = adhoc7[:, :2]
    delta = pair[:, 0] - pair[:, 1]
    result, t = anova(pair), student_test(delta)
    assert result.f == pytest.approx(t.statistic[0] ** 2)
    assert result.p_value == pytest.approx(t.p_value[0])
    assert tukey(pair).p_value[0, 1] == pytest.approx(t.p_value[0], abs=1e-6)


def test_anova_is_statsmodels(adhoc7):
    import pandas as pd
    from statsmodels.stats.anova import AnovaRM

    matrix = adhoc7[:, :5]
    rows = [(i, j, matrix[i, j]) for i in range(len(matrix)) for j in range(5)]
    table = AnovaRM(pd.DataFrame(rows, columns=["q", "s", "v"]), "v", "q", within=["s"]).fit().anova_table
    result = anova(matrix)
    assert result.f == pytest.approx(table["F Value"].iloc[0])
    assert result.p_value == pytest.approx(table["Pr > F"].iloc[0])


def test_sphericity_is_that_of_orthonormal_contrasts():
    rng = np.random.default_rng(4)
    matrix = rng.normal(size=(40, 5)) * [1, 1, 1, 3, 5] + rng.normal(size=(40, 1))
    contrasts = helmert(5)
    spread = contrasts @ np.cov(matrix.T) @ contrasts.T
    result = anova(matrix)
    assert result.sphericity == pytest.approx(np.trace(spread) ** 2 / (4 * np.trace(spread @ spread)))
    assert result.p_corrected == pytest.approx(
        stats.f.sf(result.f, result.sphericity * 4, result.sphericity * 4 * 39)
    )
    assert anova(matrix[:, :2]).sphericity == pytest.approx(1)


def test_unequal_variances_reject_too_often_without_the_correction():
    rng = np.random.default_rng(5)
    results = [anova(rng.normal(size=(30, 6)) * [1, 1, 1, 1, 1, 8]) for _ in range(600)]
    plain, corrected = (
        np.mean([getattr(result, name) < 0.05 for result in results]) for name in ("p_value", "p_corrected")
    )
    assert plain > 0.09
    assert corrected < 0.08


def test_tukey_is_paired_and_not_that_of_scipy(adhoc7):
    matrix = adhoc7[:, :4]
    result = tukey(matrix)
    unpaired = stats.tukey_hsd(*matrix.T).pvalue
    worst = np.unravel_index(np.argmax(np.abs(result.delta)), (4, 4))
    assert result.p_value[worst] < unpaired[worst]
    np.testing.assert_allclose(result.p_value, result.p_value.T)
    significant = result.p_value < 0.05
    excludes_zero = (result.low > 0) | (result.high < 0)
    np.fill_diagonal(excludes_zero, val=False)
    np.testing.assert_array_equal(significant, excludes_zero)


@pytest.mark.slow
def test_many_pairs_have_the_p_values_of_scipy(adhoc7):
    tukey_result = tukey(adhoc7[:, :40])
    result = anova(adhoc7[:, :40])
    q = np.abs(tukey_result.delta) / np.sqrt(result.ms_residual / len(adhoc7))
    for i, j in [(0, 1), (3, 30), (12, 25)]:
        exact = stats.studentized_range.sf(q[i, j], 40, result.df_residual)
        assert tukey_result.p_value[i, j] == pytest.approx(exact, rel=1e-9, abs=1e-11)


def test_randomised_tukey(adhoc7):
    matrix = adhoc7[:, :4]
    (randomised_result,), normal = randomised_tukey([matrix], samples=4000), tukey(matrix)
    np.testing.assert_allclose(randomised_result.p_value, normal.p_value, atol=0.05)
    (second_result,) = randomised_tukey([matrix], samples=4000)
    np.testing.assert_array_equal(randomised_result.p_value, second_result.p_value)
    assert (randomised_result.p_value >= 1 / 4001).all()


def test_randomised_tukey_of_two_is_fishers():
    rng = np.random.default_rng(5)
    pair = rng.random((12, 2))
    delta = pair[:, 0] - pair[:, 1]
    signs = np.array(list(itertools.product([1, -1], repeat=12)))
    exact = (np.abs(signs @ delta) >= abs(delta.sum()) - 1e-12).mean()
    (result,) = randomised_tukey([pair], samples=40_000)
    assert result.p_value[0, 1] == pytest.approx(exact, abs=0.012)


def test_nothing_differs_between_systems():
    matrix = np.repeat(np.arange(5.0)[:, None], 3, axis=1)
    assert np.isnan(anova(matrix).p_value)
    assert tukey(matrix).p_value == pytest.approx(np.ones((3, 3)))


def test_brennans_example(shared):
    """Tables 6.2 and 6.5 of Brennan 2001, to the digits that gt4ireval gives."""
    matrix = np.genfromtxt(shared / "g-theory" / "synthetic4.csv", delimiter=",", skip_header=1)
    result = reliability(matrix, 0.8)
    assert (result.var_system, result.var_query, result.var_residual) == pytest.approx(
        (0.625757575757576, 0.884006734006734, 2.78720538720539)
    )
    assert (result.e_rho2, result.e_rho2_low, result.e_rho2_high) == pytest.approx(
        (0.729300196206671, 0.541010905420649, 0.876363137240463)
    )
    assert (result.phi, result.phi_low, result.phi_high) == pytest.approx(
        (0.671635722997696, 0.456901329313964, 0.845419296231267)
    )
    assert (result.needed(0.95), result.needed(0.95, absolute=True)) == (85, 112)


@pytest.mark.parametrize(("e_rho2", "expected"), [(0.93, 0.7487836), (0.95, 0.8150692), (0.98, 0.9226192)])
def test_what_reliability_leads_to_expect(e_rho2, expected):
    assert e_rho2**TAU_AP == pytest.approx(expected, abs=5e-8)
    assert e_rho2**TAU > e_rho2**TAU_AP > e_rho2**POWER


def test_too_little_for_reliability():
    assert np.isnan(reliability(np.ones((1, 3))).e_rho2)
    flat = reliability(np.ones((4, 3)))
    assert np.isnan(flat.e_rho2)
    assert flat.needed() == np.inf


orders = st.lists(st.integers(0, 5), min_size=2, max_size=9)


@given(st.data())
def test_tau_is_scipys(data):
    first = np.array(data.draw(orders), float)
    second = np.array(data.draw(st.lists(st.integers(0, 5), min_size=len(first), max_size=len(first))))
    scipy_tau = stats.kendalltau(first, second).statistic
    np.testing.assert_allclose(tau(first, second.astype(float)), scipy_tau, atol=1e-12)


def test_values_that_differ_in_their_last_bits_are_ties():
    first = np.array([0.1 + 0.2, 0.3, 0.9])
    second = np.array([0.3, 0.1 + 0.2, 0.9])
    assert first[0] > first[1]
    assert second[0] < second[1]
    for treatment in ("a", "b"):
        plain = tau(np.array([0.3, 0.3, 0.9]), np.array([0.3, 0.3, 0.9]), treatment)
        assert tau(first, second, treatment) == tau(second, first, treatment) == plain
        assert tau_ap(first, second, treatment) == tau_ap(second, first, treatment)
    assert tau(first, second) == 1
    assert tau(1e9 * first, 1e9 * second) == 1
    assert group_ties({"a": 0.1 + 0.2, "b": 0.3, "c": 0.9}) == [["c"], ["a", "b"]]


def test_small_steps_above_the_precision_are_an_order():
    assert tau(np.array([0.3, 0.3 + 1e-9, 0.9]), np.array([0.3, 0.3 + 1e-9, 0.9]), "a") == 1
    assert tie_levels(np.array([np.nan, 2.0, np.inf, -np.inf, 2.0]))[1:].tolist() == [1, 2, 0, 1]
    assert np.isnan(tie_levels(np.array([np.nan, 2.0]))[0])


def plain_tau_ap(estimate, reference):
    """The definition, on a list without ties."""
    order = np.argsort(-np.asarray(estimate))
    ranked = np.asarray(reference)[order]
    right = [
        sum(
            1.0 if earlier_score > ranked[i] else 0.5 if earlier_score == ranked[i] else 0.0
            for earlier_score in ranked[:i]
        )
        / i
        for i in range(1, len(ranked))
    ]
    return 2 * np.mean(right) - 1


@given(st.permutations(range(7)))
def test_tau_ap_by_its_definition(order):
    reference = np.arange(7.0)
    estimate = np.array(order, float)
    assert tau_ap(estimate, reference) == pytest.approx(plain_tau_ap(estimate, reference))
    assert tau_ap(reference, reference) == pytest.approx(1)
    assert tau_ap(-reference, reference) == pytest.approx(-1)
    mean_tau = (tau_ap(estimate, reference) + tau_ap(reference, estimate)) / 2
    assert tau_ap(estimate, reference, "b") == pytest.approx(mean_tau)


@given(st.lists(st.integers(0, 2), min_size=2, max_size=5), st.data())
def test_ties_are_the_mean_over_their_orders(estimate, data):
    n = len(estimate)
    reference = data.draw(st.lists(st.integers(0, 3), min_size=n, max_size=n))
    broken = [
        plain_tau_ap(np.array(estimate) + np.array(places) / 100, reference)
        for places in itertools.permutations(range(n))
    ]
    assert tau_ap(np.array(estimate, float), np.array(reference, float)) == pytest.approx(np.mean(broken))


@given(st.integers(0, 10_000), st.integers(2, 30), st.integers(2, 6), st.floats(0, 1))
def test_reliability_stays_within_its_interval_and_the_interval_within_0_and_1(seed, n, m, apart):
    rng = np.random.default_rng(seed)
    result = reliability(rng.normal(0, 1, (n, m)) + apart * np.arange(m))
    for low, value, high in (
        (result.e_rho2_low, result.e_rho2, result.e_rho2_high),
        (result.phi_low, result.phi, result.phi_high),
    ):
        assert 0 <= low <= high <= 1
        assert 0 <= value <= 1


@pytest.mark.slow
def test_a_large_matrix_is_turned_and_says_what_shuffles_say():
    rng = np.random.default_rng(5)
    steps = np.array([0.0, 0.0, 0.024, 0.036, 0.048, 0.12])
    table = rng.random((600, 6)) ** 3 + rng.normal(size=(600, 1)) + steps
    (full_result,), smaller_table = randomised_tukey([table], samples=2000), table[::2]
    assert smaller_table.size < 1 << 11 <= table.size
    assert full_result.p_value[0, 5] == pytest.approx(1 / 2001)
    assert (full_result.p_value == full_result.p_value.T).all()
    np.testing.assert_allclose(full_result.p_value, tukey(table).p_value, atol=0.03)
    np.testing.assert_allclose(
        randomised_tukey([smaller_table], samples=2000)[0].p_value, tukey(smaller_table).p_value, atol=0.03
    )


@pytest.mark.slow
def test_turning_keeps_its_level(monkeypatch):
    """Equal systems are called different at most as often as the level allows."""
    monkeypatch.setattr(multiple_comparisons, "_LARGE", 1)
    rng = np.random.default_rng(6)
    smallest = [
        randomised_tukey([rng.random((500, 20)) ** 4], samples=400, seed=i)[0].p_value.min()
        for i in range(200)
    ]
    assert np.mean(np.array(smallest) <= 0.1) == pytest.approx(0.1, abs=0.065)  # 3 errors


def test_matrices_that_share_draws_have_the_results_of_each_alone():
    rng = np.random.default_rng(5)
    matrices = [rng.random((20, 4)), rng.random((19, 4)), rng.random((20, 4)) ** 3]
    joint_results = randomised_tukey(matrices, samples=300)
    for matrix, result in zip(matrices, joint_results, strict=True):
        (single_result,) = randomised_tukey([matrix], samples=300)
        np.testing.assert_array_equal(result.p_value, single_result.p_value)
        np.testing.assert_array_equal(result.delta, single_result.delta)


def test_p_values_of_shuffles_are_those_of_shuffles_one_at_a_time():
    matrix, draws = np.random.default_rng(5).random((30, 7)), np.random.default_rng(0)
    shuffled_means = [draws.permuted(matrix, axis=1).mean(axis=0) for _ in range(500)]
    ranges = np.ptp(shuffled_means, axis=1)
    (result,) = randomised_tukey([matrix], samples=500)
    exceed_count = (ranges >= np.abs(result.delta)[..., None]).sum(axis=2)
    off_diagonal = ~np.eye(7, dtype=bool)
    np.testing.assert_array_equal(result.p_value[off_diagonal], ((exceed_count + 1) / 501)[off_diagonal])
