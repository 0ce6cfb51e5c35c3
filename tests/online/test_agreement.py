"""Agreement of offline and online finds the truth of simulated experiments."""

import json

import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner
from scipy import stats

from rankgate import online
from rankgate.core.errors import InputError, UsageError
from rankgate.interface.cli import rankgate as program
from rankgate.online.experiments.online_prediction import (
    corrected_correlation,
    corrected_interval,
    fit_line,
    pearson,
    predict_left_out,
    reliability,
    skill,
    spearman,
    threshold_of_chance,
)
from support.wording import raises

NAMES = ["experiment", "side", "name", "delta", "standard_error"]


def experiments(n=40, seed=0, noise=0.01, error=0.005, slope=0.5):
    """A metric that measures the truth with noise, a metric of pure noise, and one KPI."""
    random = np.random.default_rng(seed)
    truth = random.normal(0.0, 0.03, n)
    rows = []
    for index in range(n):
        rows += [
            (f"e{index}", "offline", "good", truth[index] + random.normal(0, noise), noise),
            (f"e{index}", "offline", "blind", random.normal(0, 0.03), None),
            (f"e{index}", "online", "ctr", slope * truth[index] + random.normal(0, error), error),
        ]
    return pl.DataFrame(rows, schema=NAMES, orient="row")


def pair(found, metric="good"):
    return found.pairs.row(by_predicate=pl.col("metric") == metric, named=True)


def test_correlations_are_scipys():
    random = np.random.default_rng(1)
    first, second = random.normal(size=(2, 20)).round(1)
    assert float(pearson(first, second)) == pytest.approx(stats.pearsonr(first, second).statistic)
    assert float(spearman(first, second)) == pytest.approx(stats.spearmanr(first, second).statistic)
    assert np.isnan(pearson(np.ones(5), np.arange(5.0)))


def test_a_line_is_weighted_least_squares():
    x, y = np.array([0.0, 1.0, 2.0, 4.0]), np.array([0.1, 1.2, 1.9, 4.3])
    errors = np.full(4, 0.5)  # all scatter is error of measurement: equal weights
    line = fit_line(x, y, errors)
    assert (line.slope, line.intercept) == pytest.approx(tuple(np.polyfit(x, y, 1)))
    assert line.scatter == 0
    uneven = np.array([0.5, 1.0, 0.5, 2.0])
    weighted_line = fit_line(x, y, uneven)
    assert (weighted_line.slope, weighted_line.intercept) == pytest.approx(
        tuple(np.polyfit(x, y, 1, w=1 / uneven))
    )


def test_left_out_by_hand():
    x, y, error = np.array([0.0, 1.0, 2.0]), np.array([0.0, 1.0, 3.0]), np.ones(3)
    line, mean = predict_left_out(x, y, error)
    assert line.tolist() == pytest.approx([-1.0, 1.5, 2.0])
    assert mean.tolist() == pytest.approx([2.0, 1.5, 0.5])
    assert skill(y, line, mean) == pytest.approx(1 - (1 + 0.25 + 1) / (4 + 0.25 + 6.25))


def test_attenuation_is_corrected():
    # true correlation 0.8; errors as large as the true spread halve both reliabilities
    random = np.random.default_rng(3)
    values, plain = [], []
    for _ in range(300):
        true = random.multivariate_normal([0, 0], [[1, 0.8], [0.8, 1]], 200).T
        measured = true + random.normal(size=(2, 200))
        ones = np.ones(200)
        r = pearson(measured[0], measured[1])
        plain.append(float(r))
        values.append(
            float(corrected_correlation(r, reliability(measured[0], ones), reliability(measured[1], ones)))
        )
    assert np.mean(plain) == pytest.approx(0.4, abs=0.02)
    assert np.mean(values) == pytest.approx(0.8, abs=0.03)


def test_intervals_of_corrected_correlations_hold_the_truth():
    # 10 experiments, reliabilities of .9 and .8: percentiles of resamples hold in 77 %
    random = np.random.default_rng(2)
    errors = np.sqrt(1 / 0.9 - 1), np.sqrt(1 / 0.8 - 1)
    covered, runs = 0, 200
    for _ in range(runs):
        true = random.multivariate_normal([0, 0], [[1, 0.8], [0.8, 1]], 10).T
        first, second = (
            values + random.normal(0, error, 10) for values, error in zip(true, errors, strict=True)
        )
        low, high = corrected_interval(first, second, np.full(10, errors[0]), np.full(10, errors[1]), 0.95, 0)
        covered += not (high < 0.8 or low > 0.8)  # none where every correlation is possible
    assert covered / runs >= 0.95 - 2 * 0.016


def test_without_errors_it_is_the_interval_of_a_correlation():
    # Fisher's z: the same to the order 1/n of normal values
    random = np.random.default_rng(6)
    first, second = random.multivariate_normal([0, 0], [[1, 0.6], [0.6, 1]], 400).T
    low, high = corrected_interval(first, second, np.zeros(400), np.full(400, np.nan), 0.95, 1)
    z, reach = np.arctanh(float(pearson(first, second))), 1.96 / np.sqrt(397)
    assert (low, high) == pytest.approx((np.tanh(z - reach), np.tanh(z + reach)), abs=0.02)


def test_values_that_are_mostly_error_have_no_corrected_correlation():
    result = online.agreement(experiments(12, error=0.05), resamples=20)  # a reliability of .08
    good_row = pair(result)
    assert good_row["corrected"] is None
    assert good_row["corrected_low"] is None
    assert pair(online.agreement(experiments(12), resamples=20))["corrected_low"] is not None
    assert np.isnan(corrected_interval(np.ones(5), np.arange(5.0), *np.zeros((2, 5)), 0.95, 0)[0])


def test_a_threshold_has_its_chance():
    # online = 0.5 x - 0.01 exactly: the threshold of 50 % is where the line crosses 0
    x = np.linspace(-0.1, 0.1, 50)
    line = fit_line(x, 0.5 * x - 0.01, np.full(50, 1e-4))
    assert threshold_of_chance(line, 0.5, -0.1, 0.1) == pytest.approx(0.02, abs=0.001)
    assert threshold_of_chance(fit_line(x, -x, np.full(50, 1e-4)), 0.8, -0.1, 0.1) is None
    # with scatter: among experiments at the threshold the chance to rise is as asked
    random = np.random.default_rng(5)
    deltas = random.normal(0, 0.1, 4000)
    truth = 0.5 * deltas + random.normal(0, 0.02, 4000)
    threshold = threshold_of_chance(fit_line(deltas, truth, np.full(4000, 1e-6)), 0.8, -0.3, 0.3)
    near = np.abs(deltas - threshold) < 0.01
    assert (truth[near] > 0).mean() == pytest.approx(0.8, abs=0.05)


def test_the_metric_that_sees_is_found():
    result = online.agreement(experiments(), resamples=200)
    good_row, blind = pair(result), pair(result, "blind")
    assert result.best.row(0, named=True)["metric"] == "good"
    assert good_row["skill"] > 0.6
    assert result.best["honest_skill"].item() > 0.5
    assert blind["skill"] < 0.1
    assert good_row["corrected_low"] < 0.999 <= good_row["corrected_high"]  # it sees the truth
    assert good_row["corrected"] > good_row["pearson"]
    assert blind["spearman_low"] < 0 < blind["spearman_high"]
    assert good_row["spearman_least"] <= good_row["spearman"] <= good_row["spearman_most"]
    table = experiments().pivot(on=["side", "name"], index="experiment", values="delta")
    signs = np.sign(table['{"offline","good"}']) * np.sign(table['{"online","ctr"}'])
    assert good_row["same_sign"] == pytest.approx(float((signs > 0).mean()))
    assert good_row["tried"]
    assert good_row["threshold_low"] <= good_row["threshold"] <= good_row["threshold_high"]


def test_choosing_among_blind_metrics_has_no_honest_skill():
    random = np.random.default_rng(8)
    rows = [(f"e{index}", "online", "ctr", random.normal(), 0.1) for index in range(14)]
    rows += [
        (f"e{index}", "offline", f"m{m}", random.normal(), None) for index in range(14) for m in range(12)
    ]
    result = online.agreement(pl.DataFrame(rows, schema=NAMES, orient="row"), resamples=5)
    assert result.best["honest_skill"].item() < result.best["skill"].item()
    assert result.best["honest_skill"].item() <= 0
    assert "no-prediction" in [notice.code for notice in result.notices]


def test_queries_of_a_log():
    qrels = {f"q{index}": {"a": 1, "b": 0, "c": 0} for index in range(12)}
    # half of the queries have the relevant document on top, the others below
    run = {query: {"a": 3 if index % 2 else 1, "b": 2, "c": 1.5} for index, query in enumerate(qrels)}
    simulation = online.simulate(qrels, [run], searches=6000)
    result = online.agreement(simulation.events, qrels=qrels, metrics=["RR", "P@3"], resamples=50)
    assert result.unit == "query"
    rows = {(row["metric"], row["kpi"]): row for row in result.pairs.to_dicts()}
    pair_row = rows["RR", "mrr_first_click"]
    assert pair_row["n"] == 12
    assert pair_row["pearson"] > 0.95
    assert pair_row["same_sign"] is None
    assert rows["P@3", "mrr_first_click"]["pearson"] is None  # the same for all lists
    first = result.units.filter(metric="RR", kpi="clicked", unit="q1").row(0, named=True)
    clicks = simulation.events.filter(pl.col("query") == "q1")
    searches = clicks.filter(kind="search").height
    hits = clicks.filter(kind="click")["query_event_id"].n_unique()
    assert first["offline"] == 1.0
    assert first["online"] == pytest.approx(hits / searches)


def test_the_command(tmp_path):
    path = tmp_path / "past.csv"
    experiments(12).write_csv(path)
    arguments = ["online", "agreement", str(path), "--resamples", "20", "--format", "json"]
    result = CliRunner().invoke(program, arguments)
    assert result.exit_code == 0, result.output
    assert json.loads(result.output)["best"][0]["metric"] == "good"


def test_tables_that_cannot_be_read(tmp_path):
    table = experiments(5)
    with raises("missing-argument", UsageError):
        online.agreement(online.Events(table))
    with raises("missing-column", InputError):
        online.agreement(table.drop("delta"))
    with raises("unknown-side", InputError):
        online.agreement(table.with_columns(side=pl.lit("both")))
    path = tmp_path / "past.csv"
    table.with_columns(
        standard_error=pl.when(pl.col("side") == "online").then(0.0).otherwise("standard_error")
    ).write_csv(path)
    with raises("invalid-value", InputError, source=str(path), line=4):
        online.agreement(path)
    with raises("not-a-number", InputError):
        online.agreement(table.with_columns(standard_error=pl.lit(None)))
    with raises("duplicate-value", InputError):
        online.agreement(pl.concat([table, table]))
    with raises("no-common-experiments", InputError):
        online.agreement(table.filter(side="online"))
    with raises("too-few-experiments", InputError):
        online.agreement(table.head(6))
    simulation = online.simulate({"q": {"a": 1}}, [{"q": {"a": 1}}], searches=50)
    with raises("too-few-queries", InputError):
        online.agreement(simulation.events, qrels={"q": {"a": 1}})
    with raises("no-common-queries", InputError):
        online.agreement(simulation.events, qrels={"other": {"a": 1}})
