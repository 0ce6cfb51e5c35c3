"""Plans of experiments against experiments."""

import json
import subprocess
import sys
from functools import partial

import polars as pl
import pytest

from online.arms import START, log
from rankgate import online
from rankgate.core.errors import InputError, UsageError
from rankgate.measurement.stats.experiment_arms import detectable
from support.wording import raises


def test_the_effect_that_units_show_on_a_click_rate():
    deviation = (0.10 * 0.90 / 2 + 0.105 * 0.895 / 2) ** 0.5
    units = 2 * 57_760  # of both arms, by (z₁ + z₂)² (v₁ + v₂) / delta²
    assert detectable(deviation, units, 0.5) == pytest.approx(0.005, rel=1e-5)
    # by the arcsine, statsmodels 0.15
    assert detectable(deviation, 2 * 57_756, 0.5) == pytest.approx(0.005, rel=1e-4)
    assert detectable(1.0, 1000, 0.1) == pytest.approx(detectable(1.0, 1000, 0.5) * 5 / 3)


def test_a_plan_shows_what_the_experiment_shows():
    data = log(users=1500, days=10)
    planned = online.plan(data, ["search_ctr", "latency_p95"])
    figures = online.ab(data, ["search_ctr", "latency_p95"], design=online.Design(control="old")).metrics
    for name, tolerance in (("search_ctr", 0.06), ("latency_p95", 0.5)):  # one quantile, few users
        filters = (pl.col("kpi") == name, pl.col("share") == 0.5, pl.col("day") == 10)
        plan_rows = planned.detectable.filter(*filters)
        row = figures.row(by_predicate=pl.col("metric") == name, named=True)
        relative_effect = row["mde"] / row["control"]
        assert plan_rows["relative"].item() == pytest.approx(relative_effect, rel=tolerance)


def test_days_are_the_first_on_which_the_effect_shows():
    planned = online.plan(log(users=1500, days=10), ["search_ctr"], effect=0.09, shares=[0.5, 0.1])
    half = planned.needed.filter(share=0.5).row(0, named=True)
    days = planned.detectable.filter(share=0.5)
    effects_before = days.filter(pl.col("day") < half["days"])["relative"].to_list()
    assert all(effect > 0.09 for effect in effects_before)
    effects_after = days.filter(pl.col("day") >= half["days"])["relative"].to_list()
    assert all(effect <= 0.09 for effect in effects_after)
    assert (half["days"], half["days_sequential"]) == (17, 32)
    tenth = planned.needed.filter(share=0.1).row(0, named=True)["days"]
    assert tenth == 47


def test_earlier_values_explain_what_cuped_gains():
    data = log(users=1500, days=12, before=12)
    planned = online.plan(data, ["search_ctr"])
    explained = planned.kpis["explained"].item()
    adjusted = online.ab(data, ["search_ctr"], design=online.Design(control="old", cuped=True)).metrics[
        "explained"
    ]
    assert explained == pytest.approx(adjusted.item(), abs=0.05)
    assert 0.02 < explained < 0.4


def test_the_kpi_that_moves_first_comes_first():
    planned = online.plan(log(users=1500), ["search_ctr", "latency_p50"], effect=0.06)
    assert planned.needed["kpi"][0] == "latency_p50"
    assert "latency_p50 moves first" in str(planned)


def test_interleaving_next_to_the_ab_test_of_the_same_systems(monkeypatch):
    sensitivity = partial(online.sensitivity, searches=2000)
    monkeypatch.setattr("rankgate.online.interleaving.simulate_tests.sensitivity", sensitivity)
    qrels = {f"q{n}": {"a": 2, "b": 1, "c": 0} for n in range(5)}
    old = {query: {"c": 3.0, "a": 2.0, "b": 1.0} for query in qrels}
    new = {query: {"a": 3.0, "c": 2.0, "b": 1.0} for query in qrels}
    data = log(users=600)
    planned = online.plan(data, ["search_ctr"], interleave=(qrels, old, new)).interleaving
    searches = data.filter(kind="search")
    searches_per_unit = len(searches) / searches["user"].n_unique()
    sensitivity_tests = sensitivity(qrels, [old, new]).tests.drop_nulls("needed")
    needed = dict(sensitivity_tests.select("test", "needed").iter_rows())
    search_rows = planned.drop_nulls("searches")
    assert dict(search_rows.select("test", "searches").iter_rows()) == needed
    assert search_rows["units"].to_list() == [
        max(1, round(n / searches_per_unit)) for n in search_rows["searches"]
    ]
    assert search_rows["design"][0] == "interleaving"
    assert set(planned["design"]) == {"A/B", "interleaving"}
    assert online.plan(data, ["search_ctr"]).interleaving.is_empty()


def test_nothing_is_left_on_the_error_stream(tmp_path):
    log(60).write_parquet(tmp_path / "log.parquet")
    command = [sys.executable, "-m", "rankgate", "online", "kpi", str(tmp_path / "log.parquet")]
    process = subprocess.run([*command, "-k", "search_ctr"], capture_output=True, check=True)
    assert process.stderr == b""


def test_what_cannot_be_planned_for_is_said():
    planned = online.plan(log(users=200), ["search_ctr", "conversion_rate", "error_rate"])
    assert planned.kpis["why"].is_null().to_list() == [True, False, False]
    assert planned.needed["kpi"].unique().to_list() == ["search_ctr"]
    assert [finding.code for finding in planned.findings] == ["short-log"]


def test_bad_input():
    data = log(users=30)
    with raises("unknown-KPI", UsageError):
        online.plan(data, ["serach_ctr"])
    with raises("invalid-share", UsageError):
        online.plan(data, shares=[1.5])
    with raises("unknown-unit", UsageError):
        online.plan(data, design=online.Design(unit="browser"))
    with raises("no-units", InputError):
        online.plan(data.with_columns(user=pl.lit(None, pl.String)), ["search_ctr"])
    first_day = data.filter(pl.col("at").dt.date() == START.date())
    assert len(online.plan(first_day, ["search_ctr"]).detectable)


def test_the_command(run, tmp_path):
    path = str(tmp_path / "log.parquet")
    log(users=300).write_parquet(path)
    result = run("online", "plan", path, "-k", "search_ctr", "--share", "0.5", "--format", "json")
    assert result.code == 0, result.err
    assert json.loads(result.out)["needed"][0]["kpi"] == "search_ctr"
