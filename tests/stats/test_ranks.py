"""Tests and coefficients of ranks: R's documented examples, scipy, and published tables."""

import numpy as np
import pytest
from scipy import stats

from rankgate.measurement.stats.multiple_comparisons import friedman
from rankgate.measurement.stats.paired_tests import MAX_EXACT, sign_test, signed_ranks, tie_differences
from rankgate.measurement.stats.query_reliability import spearman_brown, split_half
from rankgate.measurement.stats.rank_correlation import spearman
from rankgate.measurement.stats.studentized_range import quantile, tail

# R, ?cor.test: Hunter L measures of lightness and panel scores of tuna (Hollander & Wolfe 1973)
TUNA = np.array(
    [[44.4, 45.9, 41.9, 53.3, 44.7, 44.1, 50.7, 45.2, 60.1], [2.6, 3.1, 2.5, 5.0, 3.6, 4.0, 5.2, 2.8, 3.8]]
)

# R, ?wilcox.test: depression of nine patients before and after (Hollander & Wolfe 1973)
DEPRESSION = np.array([1.83, 0.50, 1.62, 2.48, 1.68, 1.88, 1.55, 3.06, 1.30]) - np.array(
    [0.878, 0.647, 0.598, 2.05, 1.06, 1.29, 1.06, 3.14, 1.29]
)

# R, ?friedman.test: three ways to round first base, 22 players (Hollander & Wolfe 1973)
ROUNDING = np.array(
    [
        5.40,
        5.50,
        5.55,
        5.85,
        5.70,
        5.75,
        5.20,
        5.60,
        5.50,
        5.55,
        5.50,
        5.40,
        5.90,
        5.85,
        5.70,
        5.45,
        5.55,
        5.60,
        5.40,
        5.40,
        5.35,
        5.45,
        5.50,
        5.35,
        5.25,
        5.15,
        5.00,
        5.85,
        5.80,
        5.70,
        5.25,
        5.20,
        5.10,
        5.65,
        5.55,
        5.45,
        5.60,
        5.35,
        5.45,
        5.05,
        5.00,
        4.95,
        5.50,
        5.50,
        5.40,
        5.45,
        5.55,
        5.50,
        5.55,
        5.55,
        5.35,
        5.45,
        5.50,
        5.55,
        5.50,
        5.45,
        5.25,
        5.65,
        5.60,
        5.40,
        5.70,
        5.65,
        5.55,
        6.30,
        6.30,
        6.25,
    ]
).reshape(22, 3)


def test_spearman_as_r_computes_it():
    rho = spearman(*TUNA)
    assert rho.value == pytest.approx(0.6)
    assert rho.p_value == pytest.approx(0.0968, abs=5e-5)  # S = 48
    assert rho.low < rho.value < rho.high


def test_correlations_with_ties_are_those_of_scipy():
    rng = np.random.default_rng(4)
    first, second = rng.integers(0, 5, (2, 40)).astype(float)
    result, expected = spearman(first, second), stats.spearmanr(first, second)
    assert (result.value, result.p_value) == pytest.approx((expected.statistic, expected.pvalue))


def test_intervals_of_correlations_cover():
    """Of normal pairs with r = .5: rho = 6/π asin(r/2) as n grows."""
    rng = np.random.default_rng(7)
    x, noise = rng.normal(size=(2, 400, 60))
    y = 0.5 * x + np.sqrt(0.75) * noise
    intervals = [spearman(x_row, y_row) for x_row, y_row in zip(x, y, strict=True)]
    coverage = np.mean([interval.low < 0.4834 < interval.high for interval in intervals])
    assert 0.92 < coverage < 0.98


def test_correlations_without_spread_or_pairs_are_undefined():
    flat = spearman(np.ones(5), np.arange(5.0))
    assert np.isnan([flat.value, flat.low, flat.high, flat.p_value]).all()
    assert np.isnan(spearman(np.arange(1.0), np.arange(1.0)).value)
    identical = spearman(np.arange(6.0), np.arange(6.0))
    assert (identical.value, identical.low, identical.high) == (1, 1, 1)


def test_exact_signed_ranks_as_r_documents_them():
    result = signed_ranks(DEPRESSION, way="exact")
    assert result.statistic == [45 - 40]  # R says V = 40
    assert result.p_value == pytest.approx([2 * 0.01953125])


@pytest.mark.parametrize(
    ("n", "critical"), [(6, 0), (7, 2), (8, 3), (9, 5), (10, 8), (15, 25), (20, 52), (25, 89)]
)
def test_exact_signed_ranks_reject_where_published_tables_say(n, critical):
    """Two-sided 5 % critical values of Wilcoxon's W (Wilcoxon and Wilcox 1964)."""
    p = {}
    for w in (critical, critical + 1):
        signs, remaining = np.ones(n), w
        for rank in range(n, 0, -1):
            if rank <= remaining:
                signs[rank - 1], remaining = -1, remaining - rank
        p[w] = float(signed_ranks(signs * np.arange(1, n + 1), way="exact").p_value[0])
    assert p[critical] <= 0.05 < p[critical + 1]


@pytest.mark.parametrize("zeros", ["wilcox", "pratt"])
@pytest.mark.parametrize("way", ["corrected", "uncorrected"])
def test_signed_ranks_with_zeros_and_ties_are_those_of_scipy(zeros, way):
    rng = np.random.default_rng(1)
    delta = np.round(rng.normal(0.2, 1, 30), 1)
    delta[:6] = 0
    peer = stats.wilcoxon(delta, zero_method=zeros, correction=way == "corrected", method="approx")
    result = signed_ranks(delta, zeros=zeros, way=way)
    assert (result.statistic[0], result.p_value[0]) == pytest.approx((peer.statistic, peer.pvalue))


@pytest.mark.parametrize("zeros", ["wilcox", "pratt"])
def test_exact_signed_ranks_count_all_signs_with_ties(zeros):
    delta = np.array([0.0, 0.0, 1, -1, 2, 2, -3, 4, 4, 4])
    used_delta = delta if zeros == "pratt" else delta[delta != 0]
    ranks = stats.rankdata(np.abs(used_delta))[used_delta != 0]
    signs = (np.arange(1 << len(ranks))[:, None] >> np.arange(len(ranks))) & 1
    sums = signs @ ranks
    observed = min(ranks[used_delta[used_delta != 0] > 0].sum(), ranks[used_delta[used_delta != 0] < 0].sum())
    assert signed_ranks(delta, zeros=zeros, way="exact").p_value == pytest.approx(
        [min(1, 2 * (sums <= observed).mean())]
    )


def test_signed_ranks_of_nothing_and_of_too_much():
    assert signed_ranks(np.zeros(5), way="exact").p_value == [1]
    with pytest.raises(ValueError, match=str(MAX_EXACT)):
        signed_ranks(np.arange(1.0, MAX_EXACT + 2), way="exact")


def test_friedman_as_r_documents_it():
    result = friedman(-ROUNDING)  # rank 1 is the largest value here, the shortest time there
    assert result.statistic == pytest.approx(11.143, abs=5e-4)
    assert result.p_value == pytest.approx(0.003805, abs=5e-7)
    peer = stats.friedmanchisquare(*ROUNDING.T)
    assert (result.statistic, result.p_value) == pytest.approx((peer.statistic, peer.pvalue))


def test_nemenyi_has_the_critical_values_of_demsar():
    """Demšar 2006, table 5(a): q at .05 for 2 to 10 systems."""
    table = [1.960, 2.343, 2.569, 2.728, 2.850, 2.949, 3.031, 3.102, 3.164]
    quantiles = [quantile(0.95, k) / np.sqrt(2) for k in range(2, 11)]
    assert quantiles == pytest.approx(table, abs=1.5e-3)


def test_nemenyi_finds_a_pair_where_ranks_differ_by_more_than_the_critical_difference():
    result = friedman(-ROUNDING)
    gap = np.abs(result.ranks[:, None] - result.ranks)
    assert ((gap > result.critical) == (result.nemenyi < 0.05)).all()
    peer = stats.studentized_range.sf(gap / np.sqrt(3 * 4 / (6 * 22)) * np.sqrt(2), 3, np.inf)
    assert result.nemenyi == pytest.approx(peer, abs=1e-6)


@pytest.mark.parametrize(("systems", "tolerance"), [(14, 1e-14), (60, 1e-12)])
@pytest.mark.parametrize("queries", [7, 50])
def test_nemenyi_of_all_pairs_is_that_of_each_pair(queries, systems, tolerance):
    """91 p-values come from the integral, as those of one pair; 1,770 come from a polynomial."""
    matrix = np.random.default_rng(queries).integers(0, 5, (queries, systems)) / 4
    result = friedman(matrix)
    first, second = np.triu_indices(systems, 1)
    gap = np.abs(result.ranks[first] - result.ranks[second])
    ranges = gap / np.sqrt(systems * (systems + 1) / (6 * queries)) * np.sqrt(2)
    expected = [tail(ranges[[i]], systems)[0] for i in range(len(ranges))]
    p_values = result.nemenyi[first, second]
    np.testing.assert_allclose(p_values, expected, rtol=0, atol=tolerance)
    np.testing.assert_array_equal(result.nemenyi, result.nemenyi.T)
    rank_sums = np.round(2 * queries * gap)  # equal differences of rank sums share a p-value
    assert len(set(zip(rank_sums, p_values, strict=True))) == len(set(rank_sums)) < len(gap)


def test_friedman_where_all_agree_and_where_all_is_tied():
    unanimous = friedman(np.tile([3.0, 2.0, 1.0], (8, 1)))
    assert (unanimous.f, unanimous.f_p_value) == (np.inf, 0)
    tied = friedman(np.ones((8, 3)))
    assert np.isnan([tied.statistic, tied.p_value, tied.f]).all()


def test_split_halves_step_up_to_the_reliability_of_the_whole():
    """The mean of split halves is that of alpha (Cronbach 1951), here the Eρ² of all queries."""
    from rankgate.measurement.stats.query_reliability import reliability

    rng = np.random.default_rng(3)
    matrix = rng.normal(size=(200, 1)) + 0.3 * rng.normal(size=(1, 25)) + rng.normal(size=(200, 25))
    result = split_half(matrix, splits=400)
    assert result.value == pytest.approx(reliability(matrix).e_rho2, abs=0.01)
    assert result.low < result.value < result.high
    assert result.splits == 400


def test_split_halves_of_queries_that_say_nothing_or_all():
    assert np.isnan(split_half(np.ones((20, 4))).value)
    assert np.isnan(split_half(np.eye(4)[:, :2]).value)  # two systems
    assert split_half(np.tile([1.0, 2.0, 4.0], (20, 1))).value == pytest.approx(1)
    assert [spearman_brown(r) for r in (0.0, 0.6, 1.0)] == pytest.approx([0, 0.75, 1])


@pytest.mark.parametrize("zeros", ["wilcox", "pratt"])
@pytest.mark.parametrize("way", ["corrected", "exact"])
def test_rounding_of_values_breaks_no_ties(zeros, way):
    random = np.random.default_rng(6706)
    for _ in range(20):
        before, after = random.integers(0, 11, (2, 50))
        hits = (after - before).astype(float)  # whole numbers have no rounding
        for rounded in (after / 10 - before / 10, (after + 0.1) / 3 - (before + 0.1) / 3):
            tested = signed_ranks(rounded, zeros=zeros, way=way)
            assert tested.p_value == pytest.approx(
                signed_ranks(hits, zeros=zeros, way=way).p_value, rel=1e-12
            )
            assert tested.n == signed_ranks(hits, zeros=zeros, way=way).n
            assert sign_test(rounded).p_value == sign_test(hits).p_value


def test_scipy_agrees_where_hits_are_whole_numbers():
    random = np.random.default_rng(6707)
    before, after = random.integers(0, 11, (2, 60))
    expected = stats.wilcoxon(after - before, correction=True, method="asymptotic").pvalue
    assert signed_ranks(after / 10 - before / 10).p_value[0] == pytest.approx(expected, rel=1e-12)


def test_only_differences_of_rounding_are_ties():
    assert tie_differences(np.array([])).tolist() == []
    far = np.array([2e-9, -0.2, 0.2 + 2e-9, 0.3])
    assert tie_differences(far).tolist() == far.tolist()
    assert tie_differences(np.array([1e-10, -1e-10, 0.2, -0.2 - 1e-10])).tolist() == [0, 0, 0.2, -0.2]
