"""Equivalence, shares, simultaneous intervals and ranks through ``compare`` and the command."""

import json

import numpy as np
import polars as pl
import pytest
from scipy import stats

from rankgate import compare
from rankgate.decisions.comparison.comparison import Comparisons
from rankgate.decisions.comparison.equivalence import equivalence_of_pairs
from rankgate.decisions.comparison.inference import Test
from rankgate.decisions.comparison.paired_values import PairedValues
from rankgate.measurement.stats.paired_tests import fieller, tost
from support.wording import raises

RNG = np.random.default_rng(11)
QRELS = {f"q{i}": {f"d{j}": int(RNG.integers(0, 3)) for j in range(8)} for i in range(40)}


def _run(noise):
    return {
        query: {doc: grade + float(RNG.normal(0, noise)) for doc, grade in docs.items()}
        for query, docs in QRELS.items()
    }


RUNS = {name: _run(noise) for name, noise in (("old", 1.6), ("a", 1.5), ("b", 1.0), ("c", 3.0))}
OTHERS = {name: RUNS[name] for name in "abc"}
METRICS = ["nDCG@5", "AP"]


def compared(method="t", **options):
    return compare(QRELS, {"old": RUNS["old"]}, OTHERS, METRICS, test=Test(method, **options))


def _pair(result, metric):
    table = result.deltas(metric).sort("query_id")
    return table["baseline"].to_numpy(), table["candidate"].to_numpy()


def test_equivalence_is_tost_corrected_over_metrics_and_candidates():
    result = compared(margin=0.05, correction="bonferroni")
    assert len(result.comparisons) > 1
    for comparison in result.comparisons:
        for row in comparison.equivalence.iter_rows(named=True):
            base, candidate = _pair(comparison, row["metric"])
            peer = tost(candidate - base, 0.05)
            assert row["p_raw"] == pytest.approx(peer.p_value[0])
            assert row["p_value"] == pytest.approx(min(1, 6 * peer.p_value[0]))
            assert (row["low"], row["high"]) == pytest.approx((peer.low[0], peer.high[0]))
            assert row["worse"] + row["same"] + row["better"] == pytest.approx(1)


def test_a_margin_relative_to_the_baseline_knows_that_it_is_an_estimate():
    result = compared(margin=0.1, relative=True)["b"]
    assert result.equivalence["metric"].to_list() == result.metrics["metric"].to_list() != []
    for row, share in zip(
        result.equivalence.iter_rows(named=True), result.relative.iter_rows(named=True), strict=True
    ):
        base, candidate = _pair(result, row["metric"])
        p_above = stats.ttest_1samp(candidate - 0.9 * base, 0, alternative="greater").pvalue
        p_below = stats.ttest_1samp(candidate - 1.1 * base, 0, alternative="less").pvalue
        assert row["p_raw"] == pytest.approx(max(p_above, p_below))
        assert row["better"] == pytest.approx(p_below)
        peer = fieller(base, candidate)
        assert (share["relative"], share["low"], share["high"]) == pytest.approx(
            (peer.value, peer.low, peer.high)
        )


def test_where_less_is_better_a_rise_is_worse():
    base = np.arange(12.0)[:, None] / 12
    ids = [f"q{i}" for i in range(12)]
    values = PairedValues(ids, ("loss",), base, base + 0.3, np.array([-1.0]), pl.DataFrame())
    (table,) = equivalence_of_pairs([values], Test(margin=0.2))
    assert table["worse"].item() > 0.99
    assert table["worse"].item() + table["same"].item() + table["better"].item() == pytest.approx(1)


@pytest.mark.parametrize(
    ("n", "changed", "limit"), [(2, 0, 0.776), (30, 0, 0.095), (30, 1, 0.149), (1000, 3, 0.0077)]
)
def test_few_changed_queries_show_equivalence_only_within_their_limit(n, changed, limit):
    base = np.full((n, 1), 0.5)
    candidate = base.copy()
    candidate[:changed] += 0.0005
    values = PairedValues(
        [f"q{i}" for i in range(n)], ("nDCG@10",), base, candidate, np.ones(1), pl.DataFrame()
    )
    (table,) = equivalence_of_pairs([values], Test(margin=0.02))
    assert table["high"].item() == pytest.approx(limit, abs=5e-4)  # Clopper and Pearson, by scipy's binom
    expected = stats.binom.cdf(changed, n, 0.02)
    assert table["p_raw"].item() == pytest.approx(max(expected, 0), rel=1e-6, abs=1e-9)
    assert table["same"].item() == pytest.approx(1 - expected, abs=1e-6)
    (shares,) = equivalence_of_pairs([values], Test(margin=0.04, relative=True))  # 0.02 of 0.5
    assert shares["p_raw"].item() == pytest.approx(expected, rel=0.01, abs=1e-6)


def test_many_changed_queries_are_tested_as_before():
    base = np.full((40, 1), 0.5)
    candidate = base + np.random.default_rng(6708).normal(0, 0.01, (40, 1))
    values = PairedValues(
        [f"q{i}" for i in range(40)], ("nDCG@10",), base, candidate, np.ones(1), pl.DataFrame()
    )
    (table,) = equivalence_of_pairs([values], Test(margin=0.02))
    assert table["p_raw"].item() == tost((candidate - base)[:, 0], 0.02).p_value[0]


def test_simultaneous_intervals_are_wider_than_single_and_narrower_than_bonferronis():
    simultaneous = compared(interval="simultaneous", resamples=4000)
    single, strict = compared(), compared(level=1 - 0.05 / 6)
    assert sum(len(joint.metrics) for joint in simultaneous.comparisons) == 6
    for joint, plain, corrected in zip(
        simultaneous.comparisons, single.comparisons, strict.comparisons, strict=True
    ):
        for name, low in joint.metrics.select("metric", "low").iter_rows():
            ends = [t.metrics.filter(pl.col("metric") == name)["low"].item() for t in (plain, corrected)]
            assert ends[1] - 0.01 < low < ends[0]


def test_a_result_keeps_what_was_asked_for():
    result = compared("wilcoxon", margin=0.05, relative=True, zeros="pratt")
    restored = Comparisons.from_dict(json.loads(json.dumps(result.to_dict())))
    assert restored.only.equivalence.equals(result.only.equivalence)
    assert restored.only.zeros == "pratt"
    assert restored.to_dict() == result.to_dict()
    older = result.to_dict()
    for comparison in older["comparisons"]:
        for name in ("equivalence", "relative", "zeros", "signed_ranks"):
            del comparison[name]
    assert not len(Comparisons.from_dict(older).only.equivalence)


def test_every_pair_has_p_of_its_ranks_and_orders_have_intervals():
    system_stats = compared().many
    pairs = [_pair(comparison, "AP") for comparison in compared().comparisons]
    peer = stats.friedmanchisquare(pairs[0][0], *(candidate for _, candidate in pairs))
    assert system_stats.friedman.row(1, named=True)["statistic"] == pytest.approx(peer.statistic)
    ranks = system_stats.means.group_by("metric").agg(pl.col("mean_rank").sum())["mean_rank"]
    assert ranks.to_list() == pytest.approx([10, 10])  # 1 + 2 + 3 + 4
    assert system_stats.pairs["p_nemenyi"].is_between(0, 1).all()
    (row,) = system_stats.orderings.iter_rows(named=True)
    assert row["tau_low"] <= row["tau"] <= row["tau_high"]
    assert row["spearman_low"] <= row["spearman"] <= row["spearman_high"]
    assert system_stats.reliability["split_half"].is_between(0, 1).all()


def test_options_of_wilcoxons_test_are_only_for_it():
    with raises("conflicting-options"):
        Test(zeros="pratt")
    exact, plain = (
        compared("wilcoxon", signed_ranks=signed_ranks).metrics["p_raw"]
        for signed_ranks in ("exact", "corrected")
    )
    base, candidate = _pair(compared()["a"], "nDCG@5")
    delta = np.round(candidate - base, 9)[candidate != base]  # without rounding scipy sees no ties
    assert plain[0] == pytest.approx(stats.wilcoxon(delta, correction=True, method="approx").pvalue)
    assert exact[0] == pytest.approx(plain[0], abs=0.01)


def test_the_command_shows_what_was_asked_for(run, tmp_path):
    for name, ranking in RUNS.items():
        lines = [
            f"{query} Q0 {doc} 0 {score} {name}\n"
            for query, docs in ranking.items()
            for doc, score in docs.items()
        ]
        (tmp_path / f"{name}.run").write_text("".join(lines))
    lines = [f"{q} 0 {doc} {grade}\n" for q, docs in QRELS.items() for doc, grade in docs.items()]
    (tmp_path / "qrels.txt").write_text("".join(lines))
    files = [str(tmp_path / name) for name in ("qrels.txt", "old.run", "a.run", "b.run")]
    result = run(
        "compare",
        *files,
        "-m",
        "AP",
        "--margin",
        "0.05",
        "--relative",
        "--interval",
        "studentised",
        "--correction",
        "by",
        "--format",
        "json",
    )
    (first, _) = json.loads(result.out)["comparisons"]
    assert first["equivalence"][0]["relative"] is True
    assert first["interval"] == "studentised"
    assert first["correction"] == "by over 2 tests"
    text = run("compare", *files, "--margin", "0.05", "--relative", "--pairs").out
    assert "P(better)" in text
    assert "Fieller" in text
