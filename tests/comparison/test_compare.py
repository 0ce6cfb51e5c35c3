"""Comparisons: figures against scipy and published values, and refusals."""

import csv
import json
import math
import re
from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from scipy import stats
from statsmodels.stats.power import TTestPower

import rankgate
from rankgate.core.errors import InputError, UsageError
from rankgate.core.present.write_results import render_result
from rankgate.data.collection import Collection
from rankgate.decisions.comparison.compare import compare
from rankgate.decisions.comparison.comparison import Comparisons
from rankgate.decisions.comparison.inference import Test
from rankgate.decisions.comparison.paired_values import PairedValues, compute_figures
from rankgate.decisions.comparison.pairs import ComparisonRules, compare_pairs
from rankgate.measurement.evaluation.scored_system import Scorer
from support.wording import assert_warned, raises


def made(values):
    """Judgments and a run in which P@1 of query i is 1 or 0 as the values say."""
    qrels = {f"q{i:02d}": {"good": 1, "bad": 0} for i in range(len(values))}
    run = {
        f"q{i:02d}": {"good": 2.0, "bad": 1.0} if value else {"good": 1.0, "bad": 2.0}
        for i, value in enumerate(values)
    }
    return qrels, run


@pytest.fixture
def systems():
    rng = np.random.default_rng(11)
    qrels, old = made(rng.random(40) < 0.4)
    return qrels, old, made(rng.random(40) < 0.7)[1]


def test_figures_of_equal_clusters_are_scipys_of_their_means(systems):
    qrels, *runs = systems
    tags = pl.DataFrame({"query_id": list(qrels), "cluster": [f"c{i // 4}" for i in range(len(qrels))]})
    row = rankgate.compare(Collection(qrels, tags=tags), *runs, ["P@1"]).metrics.row(0, named=True)
    values = [rankgate.evaluate(qrels, run, ["P@1"]).values["value"].to_numpy() for run in runs]
    result = stats.ttest_1samp((values[1] - values[0]).reshape(-1, 4).mean(axis=1), 0)
    ends = result.confidence_interval(0.95)
    assert row["p_raw"] == pytest.approx(result.pvalue, abs=1e-12)
    assert (row["low"], row["high"]) == pytest.approx((ends.low, ends.high), abs=1e-12)


def test_figures_are_scipys(systems):
    result = rankgate.compare(*systems, ["P@1", "RR"], test=Test(correction="none"))
    row = result.metrics.row(0, named=True)
    values = [rankgate.evaluate(systems[0], run, ["P@1"]).values["value"].to_numpy() for run in systems[1:]]
    delta = values[1] - values[0]
    scipy_result = stats.ttest_rel(values[1], values[0])
    ends = scipy_result.confidence_interval(0.95)
    assert (row["baseline"], row["candidate"]) == (values[0].mean(), values[1].mean())
    assert row["p_raw"] == pytest.approx(scipy_result.pvalue, abs=1e-12)
    assert (row["low"], row["high"]) == pytest.approx((ends.low, ends.high), abs=1e-12)
    assert (row["wins"], row["ties"], row["losses"]) == (
        (delta > 0).sum(),
        (delta == 0).sum(),
        (delta < 0).sum(),
    )
    assert row["sd"] == pytest.approx(delta.std(ddof=1))


def test_worst_queries_come_first(systems):
    result = rankgate.compare(*systems, ["P@1"])
    delta = result.queries["delta"].to_list()
    assert delta == sorted(delta)
    assert result.queries["overlap"].to_list() == [1.0] * 40


def test_lists_say_who_moved(systems):
    result = rankgate.compare(*systems, ["P@1"]).only
    worst = result.queries["query_id"][0]
    rows = result.lists.filter(pl.col("query_id") == worst).rows()
    assert rows == [
        (worst, "baseline", 1, "good", 1.0, 1),
        (worst, "baseline", 2, "bad", 0.0, -1),
        (worst, "candidate", 1, "bad", 0.0, 1),
        (worst, "candidate", 2, "good", 1.0, -1),
    ]


def test_published_values_end_to_end(shared):
    """A01, A06 to A09: two runs of TREC-8, as sides made of their scores."""
    path = shared / "score-matrices-trec" / "adhoc8_ap.run125-126.csv"
    with path.open() as lines:
        rows = list(csv.DictReader(lines))
    names = sorted(name for name in rows[0] if "125" in name or "126" in name)
    qrels = {str(i): {"d": 1} for i in range(len(rows))}
    plain = side(qrels, {str(i): {"d": 1.0} for i in range(len(rows))}, ["AP"])
    sides = []
    for name in names:
        scores = pl.DataFrame(
            {
                "query_id": [str(i) for i in range(len(rows))],
                "metric": "AP",
                "value": [float(row[name]) for row in rows],
                "why": None,
            },
            schema=plain.scores.schema,
        )
        sides.append(rankgate_side(plain, name, scores))
    (result,) = compare_pairs(sides[0], sides[1:], ComparisonRules(Test(correction="none")))
    row = result.metrics.row(0, named=True)
    assert row["delta"] == pytest.approx(0.053008, abs=5e-7)
    assert row["p_value"] == pytest.approx(0.0013193972, abs=5e-11)
    assert (row["low"], row["high"]) == pytest.approx((0.02174464, 0.08427136), abs=5e-9)
    assert row["effect"] == pytest.approx(0.47445129, abs=5e-9)
    assert row["mde"] == pytest.approx(0.0444626, abs=5e-8)
    assert row["needed"] == pytest.approx(35.77, rel=0.05)  # by the noncentral t; ours is simulated


def side(qrels, run, metrics, how="trec"):
    return Scorer.from_metrics(qrels, metrics, how).scored(run)


def rankgate_side(plain, name, scores):
    return replace(plain, name=name, sha256=name, scores=scores)


def test_several_candidates_are_corrected_together(systems):
    qrels, old, new = systems
    result = compare(qrels, old, {"new": new, "same": old}, ["P@1", "RR"])
    raw = [p for comparison in result.comparisons for p in comparison.metrics["p_raw"].to_list()]
    holm = [p for comparison in result.comparisons for p in comparison.metrics["p_value"].to_list()]
    assert holm[0] == pytest.approx(min(1, 4 * min(raw)))
    assert holm[2:] == [1.0, 1.0]
    assert result.comparisons[0].correction == "holm over 4 tests"
    assert result.many.systems == ("run", "new", "same")
    assert set(result.many.pairs.columns) >= {"p_tukey", "p_randomised"}
    assert result.many.reliability["queries"].to_list() == [40, 40]


def test_max_t_over_candidates(systems):
    qrels, old, new = systems
    test = Test("randomization", correction="maxt", resamples=2000)
    result = compare(qrels, old, {"new": new, "same": old}, ["P@1", "RR"], test=test)
    single_result = compare(qrels, old, {"new": new}, ["P@1", "RR"], test=test)
    for candidate_result in (result, single_result):
        table = candidate_result.comparisons[0].metrics
        assert (table["p_value"] >= table["p_raw"] - 1e-12).all()
    with raises("conflicting-options", UsageError):
        Test(correction="maxt")


def test_queries_that_only_one_system_ran(systems):
    qrels, old, new = systems
    short = {query: docs for query, docs in new.items() if query not in {"q03", "q17"}}
    with raises("values-differ", UsageError):
        compare(qrels, old, {"short": short}, ["P@1"])
    dropped = compare(qrels, old, {"short": short}, ["P@1"], test=Test(unequal="drop"))
    assert dropped.comparisons[0].metrics["n"].to_list() == [38]
    assert dropped.comparisons[0].excluded["query_id"].to_list() == ["q03", "q17"]
    zero = compare(qrels, old, {"short": short}, ["P@1"], test=Test(unequal="zero"))
    assert zero.comparisons[0].metrics["n"].to_list() == [40]


def test_undefined_values_are_left_out_with_the_reason(systems):
    qrels, old, new = systems
    holes = {**qrels, "q00": {"bad": 0}}
    result = rankgate.compare(holes, old, new, ["P@1"], "searchtweak")
    assert result.metrics["n"].to_list()[0] <= 40
    judged_only = rankgate.convention("trec", ["without_relevant=none"])
    strict = rankgate.compare(holes, old, new, ["AP"], judged_only)
    assert strict.metrics["n"].to_list() == [39]
    assert strict.only.excluded.rows() == [("q00", "AP", "no relevant")]


def test_nothing_differs(systems):
    qrels, old, _ = systems
    result = rankgate.compare(qrels, old, old, ["P@1"])
    row = result.metrics.row(0, named=True)
    assert (row["delta"], row["p_value"], row["needed"]) == (0.0, 1.0, None)
    assert_warned(result)


def test_one_query():
    qrels, old = made([0])
    result = rankgate.compare(qrels, old, made([1])[1], ["P@1"])
    row = result.metrics.row(0, named=True)
    assert row["delta"] == 1.0
    assert row["p_value"] is None
    assert row["low"] is None
    assert_warned(result)


def test_equal_differences_have_no_interval():
    """Values that differ by rounding are equal: 0.3 − 0.2 and 0.9 − 0.8 are two floats."""
    levels = np.linspace(0, 0.8, 9)
    old, new = levels[:, None], levels[:, None] + 0.1
    assert np.ptp(new - old) > 0
    ids = [f"q{i}" for i in range(9)]
    values = PairedValues(ids, ("X",), old, new, np.ones(1), pl.DataFrame())
    for method in ("t", "bca", "percentile"):
        figures = compute_figures(values, Test(interval=method))
        assert figures.delta[0] == pytest.approx(0.1)
        assert np.isnan([figures.low[0], figures.high[0], figures.gz[0]]).all()
        assert figures.sd[0] == 0
        assert figures.p_raw[0] == pytest.approx(2 / 2**9)  # the sign test's


def test_sides_of_other_judgments_or_conventions(systems):
    qrels, old, new = systems
    base = side(qrels, old, ["P@1"])
    with raises("not-comparable", UsageError):
        compare_pairs(base, [side({**qrels, "q99": {"x": 1}}, new, ["P@1"])], ComparisonRules())
    with raises("not-comparable", UsageError):
        compare_pairs(base, [side(qrels, new, ["P@1"], "ranx")], ComparisonRules())
    with raises("not-comparable", UsageError):
        compare_pairs(base, [side(qrels, new, ["RR"])], ComparisonRules())


def test_slices_and_their_interaction(systems):
    qrels, old, new = systems
    tags = pl.DataFrame({"query_id": list(qrels), "kind": ["head" if i < 20 else "tail" for i in range(40)]})
    result = rankgate.compare(Collection(qrels, tags=tags), old, new, ["P@1"], slices=["kind"]).only
    assert result.slices["n"].to_list() == [20, 20]
    parts = result.slices["delta"].to_numpy()
    assert parts.mean() == pytest.approx(result.metrics["delta"][0])
    assert result.interactions.drop("p_value").row(0) == ("kind", "P@1", 2, "")
    few = tags.with_columns(kind=pl.Series(["head"] * 20 + ["tail"] * 17 + ["rare"] * 3))
    with_few = rankgate.compare(Collection(qrels, tags=few), old, new, ["P@1"], slices=["kind"])
    assert with_few.only.interactions.drop("p_value").row(0) == ("kind", "P@1", 2, "rare")
    rows = [line.split() for line in str(with_few).splitlines()]
    assert [row[0] for row in rows if row[1:3] == ["P@1", "3*"]] == ["rare"]
    with raises("unknown-tag", UsageError):
        rankgate.compare(Collection(qrels, tags=tags), old, new, ["P@1"], slices=["other"])


def test_states_and_latency_from_the_companion(tmp_path, systems):
    qrels, old, new = systems
    runs = []
    for name, run in (("old", old), ("new", new)):
        path = tmp_path / f"{name}.run"
        partial_run = {q: d for q, d in run.items() if q != "q05"}
        path.write_text(
            "".join(
                f"{query} Q0 {doc} 1 {score} t\n"
                for query, docs in partial_run.items()
                for doc, score in docs.items()
            )
        )
        lines = [{"query_id": query, "latency_ms": 10.0 + i} for i, query in enumerate(partial_run)]
        lines.append({"query_id": "q05", "state": "zero"})
        (tmp_path / f"{name}.run.meta.jsonl").write_text("\n".join(map(json.dumps, lines)))
        runs.append(path)
    result = rankgate.compare(qrels, *runs, ["P@1"]).only
    assert result.states.rows() == [
        ("baseline", "ok", 39),
        ("baseline", "zero", 1),
        ("candidate", "ok", 39),
        ("candidate", "zero", 1),
    ]
    assert result.latency["p50"].to_list() == [29.0, 29.0]
    (tmp_path / "new.run.meta.jsonl").write_text('{"query_id": "q1", "latency_ms": -1}')
    with raises("not-a-number", InputError, line=1):
        rankgate.compare(qrels, *runs, ["P@1"])


def test_the_same_bytes_twice(systems):
    ways = Test("randomization", "bca", resamples=500)
    first, second = (json.dumps(compare(*systems, ["P@1", "RR"], test=ways).to_dict()) for _ in range(2))
    assert first == second
    plain = json.loads(first)["comparisons"][0]
    assert set(plain) >= {
        "schema_version",
        "baseline",
        "candidate",
        "convention",
        "metrics",
        "queries",
        "excluded",
        "seed",
        "resamples",
    }


def test_a_real_pair(shared):
    folder = shared / "trec-covid-r1"
    result = rankgate.compare(
        folder / "qrels.covid-round1.txt",
        folder / "runs" / "CSIROmedNIR.gz",
        folder / "runs" / "OHSU_RUN2.gz",
        ["nDCG@10"],
    )
    row = result.metrics.row(0, named=True)
    assert row["n"] == 30
    assert (row["baseline"], row["candidate"]) == pytest.approx((0.5875, 0.5966), abs=5e-5)
    assert any("judged@10 is 0.71 for the baseline" in warning for warning in result.warnings)
    assert "<table>" in result._repr_html_()


def test_what_was_drawn_is_said(systems):
    """Exact, drawn with its Monte-Carlo error, and the resamples of an interval."""
    first_queries = [dict(list(by_query.items())[:8]) for by_query in systems]
    exact = rankgate.compare(*first_queries, ["P@1"], test="randomization").only
    assert "randomization test, exact: all flips of signs were counted" in _text(exact)
    sampled = rankgate.compare(*systems, ["P@1"], test=Test("randomization", resamples=500)).only
    error = sampled.metrics["mc_error"][0]
    assert error == pytest.approx(
        (sampled.metrics["p_raw"][0] * (1 - sampled.metrics["p_raw"][0]) / 500) ** 0.5
    )
    assert f"500 resamples, seed 0, Monte-Carlo error at most {error:.2g}" in _text(sampled)
    interval = rankgate.compare(*systems, ["P@1"], test=Test(interval="bca")).only
    assert interval.resamples == 10_000
    assert "interval: bca, 10,000 resamples, seed 0; p: t test" in _text(interval)


def test_what_cannot_be_said_of_so_few_is_not_said(systems):
    """Without differences there is no detectable effect; two queries have no corrected effect."""
    equal_metrics = rankgate.compare(systems[0], systems[1], systems[1], ["P@1"]).only.metrics
    assert equal_metrics["mde"].to_list() == [None]
    qrels, _ = made([1, 1])
    first = {query: {"bad": 2.0, "worse": 1.5, "good": 1.0} for query in qrels}
    second = {"q00": {"good": 1.0}, "q01": {"bad": 2.0, "good": 1.0}}
    two = rankgate.compare(qrels, first, second, ["RR"]).only
    assert two.metrics["effect"].to_list() == [None]
    assert two.metrics["mde"][0] > 0
    assert "p: t test, not corrected (1 test)." in _text(two)


def test_how_many_queries_a_wanted_difference_takes(systems):
    """As statsmodels has it, for a paired t-test."""
    result = rankgate.compare(*systems, ["P@1"], test=Test(wanted=0.1, power=0.9)).only
    sd = result.metrics["sd"][0]
    statsmodels_count = TTestPower().solve_power(effect_size=0.1 / sd, alpha=0.05, power=0.9)
    assert result.plans["queries"][0] == pytest.approx(statsmodels_count, rel=0.12)  # ours is simulated
    needed_queries = math.ceil(result.plans["queries"][0])
    assert re.search(rf"show 0.1\n.* {needed_queries}\n", _lines(result))
    assert result.to_dict()["plans"][0]["wanted"] == 0.1
    assert rankgate.compare(*systems, ["P@1"]).only.plans.is_empty()
    with raises("invalid-parameter", UsageError):
        rankgate.compare(*systems, ["P@1"], test=Test(wanted=-1.0))


def _lines(comparison):
    return render_result(Comparisons((comparison,)), "text")


def _text(comparison):
    return " ".join(_lines(comparison).split())
