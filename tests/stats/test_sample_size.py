"""Numbers of queries that decisions take, against the noncentral t and fresh simulations."""

import numpy as np
import pytest
from scipy.stats import ttest_1samp
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.power import TTestPower

import rankgate
from rankgate.decisions.comparison.inference import Test
from rankgate.decisions.comparison.pairs import ComparisonRules, compare_pairs
from rankgate.measurement.evaluation.scored_system import Scorer
from rankgate.measurement.stats import query_power
from rankgate.measurement.stats.multiple_comparisons import correct, corrected_rows
from rankgate.measurement.stats.query_power import draw_samples, power, queries_for, queries_for_power


def significant(found, alpha=0.05):
    """A positive mean whose two-sided p is at most alpha; 2 queries at least."""
    from scipy.stats import t

    with np.errstate(all="ignore"):
        return (found.n > 1) & (found.mean / found.error >= t.ppf(1 - alpha / 2, found.n - 1))


def test_samples_have_the_mean_asked_for_and_the_spread_that_was_measured():
    rng = np.random.default_rng(1)
    delta = rng.exponential(0.1, (60, 2))
    samples = draw_samples(delta, 200, np.array([0.02, -0.5]), draws=4000)
    np.testing.assert_allclose(samples.mean.mean(axis=0), [0.02, -0.5], atol=0.001)
    np.testing.assert_allclose((samples.sd**2).mean(axis=0), delta.var(axis=0, ddof=1), rtol=0.03)
    spread = samples.mean.std(axis=0)
    np.testing.assert_allclose(spread, delta.std(axis=0, ddof=1) / np.sqrt(200), rtol=0.05)


def test_queries_without_a_value_do_not_count():
    rng = np.random.default_rng(2)
    delta = rng.normal(0, 1, (80, 1))
    delta[::2] = np.nan
    samples = draw_samples(delta, 100, draws=500)
    assert samples.n.mean() == pytest.approx(50, abs=2)


@pytest.mark.slow
@pytest.mark.parametrize("power", [0.5, 0.8, 0.95])
def test_normal_differences_take_what_the_noncentral_t_says(power):
    rng = np.random.default_rng(3)
    delta = rng.normal(0, 0.1, 300)
    delta += 0.02 - delta.mean()
    peer_size = TTestPower().solve_power(
        effect_size=0.02 / delta.std(ddof=1), alpha=0.05, power=power, alternative="two-sided"
    )
    for start in (5, 100, 20_000):
        assert queries_for(delta, significant, power, start=start)[0] == pytest.approx(peer_size, rel=0.06)


def test_no_number_of_queries_shows_no_difference():
    delta = np.random.default_rng(4).normal(0, 1, 30)
    assert queries_for(delta - delta.mean(), significant, start=1e8)[0] == np.inf


def test_two_queries_suffice_where_differences_are_large():
    delta = np.random.default_rng(5).normal(0, 1e-9, 30) + 1
    assert queries_for(delta, significant)[0] == 2


def test_decisions_on_several_cores_have_the_sizes_of_one_core_and_share_samples(monkeypatch):
    delta = np.random.default_rng(7).normal([0.02, 0.03, 0.05, 0.02], 0.1, (65, 4))
    drawn_sizes = []

    def recorded(delta, n, *args, **options):
        drawn_sizes.append(n)
        return draw_samples(delta, n, *args, **options)

    monkeypatch.setattr(query_power, "draw_samples", recorded)
    sizes = {}
    for cores in (1, 4):
        monkeypatch.setattr("os.cpu_count", lambda cores=cores: cores)
        drawn_sizes.clear()
        sizes[cores] = queries_for(delta, significant, start=100).tolist()
        assert len(drawn_sizes) == len(set(drawn_sizes)) > 4
    assert sizes[1] == sizes[4]
    assert len(set(sizes[1])) == 4
    for column, size in zip(delta.T, sizes[1], strict=True):
        assert queries_for(column, significant, start=100)[0] == pytest.approx(size, rel=0.02)


def test_an_error_of_a_decision_reaches_the_caller():
    def broken(samples):
        if samples.n.max() > 100:
            raise ValueError("no decision")
        return significant(samples)

    delta = np.random.default_rng(7).normal(0.02, 0.1, (65, 4))
    with pytest.raises(ValueError, match="no decision"):
        queries_for(delta, broken, start=100)


@pytest.mark.slow
def test_rows_are_corrected_as_families_of_their_own():
    p = np.random.default_rng(6).random((10, 5)) ** 3
    names = {
        "holm": "holm",
        "bh": "fdr_bh",
        "by": "fdr_by",
        "none": None,
        "bonferroni": "bonferroni",
        "hochberg": "simes-hochberg",
    }
    for rankgate_name, peer_name in names.items():
        for row, corrected in zip(p, corrected_rows(p, rankgate_name), strict=True):
            np.testing.assert_allclose(corrected, correct(row, rankgate_name))
            if peer_name:
                np.testing.assert_allclose(corrected, multipletests(row, method=peer_name)[1])


METRICS = ["nDCG@10", "P@5", "RR", "AP"]


def systems(n, seed):
    """Judgments, and two systems that rank the two relevant of eight documents at random."""
    rng = np.random.default_rng(seed)
    queries = [f"q{i:03}" for i in range(n)]
    qrels = {query: {f"d{i}": int(i < 2) for i in range(8)} for query in queries}
    runs = []
    for favour in (0.4, 0.9):
        scores = rng.normal(0, 1, (n, 8)) + favour * np.array([1, 1, *[0] * 6])
        runs.append(
            {
                q: {f"d{i}": float(x) for i, x in enumerate(row)}
                for q, row in zip(queries, scores, strict=True)
            }
        )
    return qrels, *runs


def shown(delta, n, correction, rng, times=3000):
    """The share of fresh samples in which each column is significant, by scipy's test."""
    samples = delta[rng.integers(len(delta), size=(times, n))]
    p = corrected_rows(ttest_1samp(samples, 0, axis=1).pvalue, correction)
    return ((p <= 0.05) & (samples.mean(axis=1) > 0)).mean(axis=0)


@pytest.mark.slow
@pytest.mark.parametrize("correction", ["holm", "bh"])
def test_the_queries_to_show_a_difference_show_it_after_the_correction(correction):
    result = rankgate.compare(*systems(80, 7), METRICS, test=Test(correction=correction))
    delta = np.stack(
        [result.queries.filter(metric=m).sort("query_id")["delta"].to_numpy() for m in METRICS], 1
    )
    rng = np.random.default_rng(8)
    for j, queries in enumerate(result.metrics["needed"]):
        share = shown(delta, int(np.ceil(queries)), correction, rng)[j]
        assert share == pytest.approx(0.8, abs=0.045), METRICS[j]


def test_a_correction_takes_more_queries_and_detects_less():
    data = systems(60, 9)
    plain = rankgate.compare(*data, METRICS, test=Test(correction="none")).metrics
    single_metric = rankgate.compare(*data, METRICS[:1]).metrics
    bonferroni = rankgate.compare(*data, METRICS, test=Test(correction="bonferroni")).metrics
    maxt = rankgate.compare(
        *data, METRICS, test=Test("randomization", correction="maxt", resamples=1000)
    ).metrics
    assert single_metric["mde"][0] == plain["mde"][0] < bonferroni["mde"][0]
    assert (plain["needed"] < maxt["needed"]).all()
    assert (maxt["needed"] < bonferroni["needed"] * 1.03).all()  # metrics are alike


def test_a_wanted_difference_takes_more_queries_after_a_correction():
    data = systems(60, 10)
    plain = rankgate.compare(*data, METRICS, test=Test(correction="none", wanted=0.05)).only.plans
    strict = rankgate.compare(*data, METRICS, test=Test(correction="bonferroni", wanted=0.05)).only.plans
    assert (plain["queries"] * 1.2 < strict["queries"]).all()


def test_a_gate_does_without_the_simulation():
    qrels, old, new = systems(30, 11)
    scorer = Scorer.from_metrics(qrels, METRICS, "trec")
    sides = [scorer.scored(run) for run in (old, new)]
    (result,) = compare_pairs(sides[0], sides[1:], ComparisonRules(Test(correction="none"), sizes=False))
    row = result.metrics.row(0, named=True)
    peer_size = TTestPower().solve_power(effect_size=row["delta"] / row["sd"], alpha=0.05, power=0.8)
    assert row["needed"] == pytest.approx(peer_size, rel=1e-6)


def test_large_effects_on_few_queries_have_a_power():
    """The noncentral t of scipy is NaN for some large shifts with one degree of freedom."""
    for size in np.geomspace(0.5, 1e6, 60):
        assert 0 <= power(size, 1.0, 2) <= 1
        assert queries_for_power(size, 1.0) >= 2
