"""Arms are compared on the days that all of them have, and within days where shares changed."""

from __future__ import annotations

from dataclasses import replace
from datetime import date, timedelta

import numpy as np
import polars as pl
import pytest
import statsmodels.formula.api as smf

from rankgate import online
from rankgate.core.errors import UsageError
from rankgate.online.experiments.common_days import compare_on_common_days
from rankgate.online.experiments.compare_arms import sample_ratio_of_units
from rankgate.online.experiments.estimate_effects import ComparisonMethod, estimate_effect
from rankgate.online.experiments.units import Measure, Units

START, DAYS = date(2026, 3, 2), 14
SHARES = {"new": 0.5, "old": 0.5}
SPEND, RATE = Measure("spend", "value"), Measure("rate", "value", "per")


def constant(_):
    return 0.5


def table(share, users=4000, seed=0, effect=0.0):
    """A row for each user: the arm by the share of the day, a spend that falls in the second week."""
    random = np.random.default_rng(seed)
    day = random.integers(0, DAYS, users)
    new = random.random(users) < np.array([share(number) for number in range(DAYS)])[day]
    visits = 1.0 + random.poisson(2, users)
    spend = random.gamma(2, 1, users) * np.where(day < 7, 1.0, 0.6) + effect * new
    return pl.DataFrame(
        {
            "user": [f"u{number}" for number in range(users)],
            "arm": np.where(new, "new", "old"),
            "day": [START + timedelta(days=int(number)) for number in day],
            "spend": spend,
            "visits": visits,
            "earlier": spend + random.normal(0, 1, users),
        }
    )


def compared(data, metrics=("spend",), test=None, **design):
    named = online.Design(variant="arm", unit="user", day="day", control="old", **design)
    return online.ab(data, metrics, design=named, test=test)


def codes(result):
    return {finding.code: finding.severity for finding in result.findings}


def units_of(data):
    arms = data.select("user", variant="arm", day="day").rename({"user": "unit"})
    rows = data.select(unit="user", day="day", value="spend", per="visits")
    return Units(arms, {"spend": rows.drop("per"), "rate": rows})


@pytest.mark.parametrize("first", [3, 6])
def test_an_arm_that_begins_late_is_compared_on_the_days_of_both(first):
    data = table(lambda day: 0.5 * (day >= first), seed=1)
    design = {"split": {"old": 0.5, "new": 0.5}}
    result = compared(data, **design)
    assert codes(result) == {"uncommon-days": "warn"}
    assert result.period[0] == str(START + timedelta(days=first + 1))
    assert result.metrics["p_raw"].item() > 0.01
    late = data.filter(pl.col("day") > START + timedelta(days=first))
    assert result.metrics["delta"].item() == compared(late, **design).metrics["delta"].item()


def test_an_arm_that_ends_early_is_compared_until_the_day_before_its_last():
    data = table(lambda day: 0.5 * (day < 9))
    result = compared(data)
    assert codes(result) == {"uncommon-days": "warn"}
    assert result.period == (str(START), str(START + timedelta(days=7)))


def test_arms_without_a_common_day_are_not_compared():
    result = compared(table(lambda day: 1.0 * (day >= 7)))
    assert codes(result)["no-common-days"] == "block"
    assert result.metrics.is_empty()


def test_changed_shares_are_named_and_compared_within_days():
    data = table(lambda day: 0.1 if day < 7 else 0.5)
    blocked = compared(data)
    assert codes(blocked) == {"sample-ratio": "block", "shares-changed": "warn"}
    phases = {str(START): "old:0.9,new:0.1", str(START + timedelta(days=7)): "old:0.5,new:0.5"}
    result = compared(data, phases=phases)
    assert codes(result) == {}
    assert result.metrics["p_raw"].item() > 0.01
    assert result.metrics["method"].item().endswith("by day")
    planned = dict(result.variants.select("variant", "planned").iter_rows())
    assert planned["new"] == pytest.approx(0.3, abs=0.02)
    swapped = compared(data, phases={str(START): "old:0.5,new:0.5"})
    assert "sample-ratio" in codes(swapped)


def test_constant_shares_are_compared_as_before():
    data = units_of(table(constant))
    result, findings = compare_on_common_days(data, SHARES)
    assert not findings
    assert result is data


def test_the_mean_by_day_is_that_of_a_regression_on_days_and_arms():
    """Lin's regression with arm × centred days has the post-stratified difference as its slope."""
    data = table(lambda day: 0.2 if day < 7 else 0.5, effect=0.2)
    units = replace(units_of(data), by_day=True)
    effect = estimate_effect(units, SPEND, "old", "new", ComparisonMethod())
    frame = data.select("spend", "day", new=(pl.col("arm") == "new").cast(pl.Float64)).to_pandas()
    frame["day"] = frame["day"].astype(str)
    for day in sorted(set(frame["day"]))[1:]:
        column = (frame["day"] == day).astype(float)
        frame[f"d{day.replace('-', '')}"] = column - column.mean()
    names = [name for name in frame.columns if name.startswith("d2")]
    formula = "spend ~ new * (" + " + ".join(names) + ")"
    fit = smf.ols(formula, frame).fit(cov_type="HC2")
    assert effect.delta == pytest.approx(fit.params["new"], rel=1e-9)
    assert effect.se == pytest.approx(fit.bse["new"], rel=1e-6)


def test_ratios_and_covariates_by_day_hold_with_one_period_what_the_plain_test_gives():
    data = table(constant, users=2000, effect=0.1).with_columns(day=pl.lit(START))
    plain = units_of(data)
    before = {
        "spend": data.select(unit="user", value="earlier"),
        "rate": data.select(unit="user", value="earlier", per="visits"),
    }
    for units in (plain, replace(plain, before=before)):
        by_day = replace(units, by_day=True)
        for measure in (SPEND, RATE):
            by_day_effect = estimate_effect(by_day, measure, "old", "new", ComparisonMethod())
            plain_effect = estimate_effect(units, measure, "old", "new", ComparisonMethod())
            assert by_day_effect.delta == pytest.approx(plain_effect.delta, rel=0.05)
            assert by_day_effect.se == pytest.approx(plain_effect.se, rel=0.02)


def test_quantiles_by_day_have_the_weights_of_days():
    data = table(lambda day: 0.1 if day < 7 else 0.5, users=8000)
    measure = Measure("p50", "value", quantile=0.5)
    units = units_of(data)
    units = replace(units, rows={"p50": units.rows["spend"]})
    plain = estimate_effect(units, measure, "old", "new", ComparisonMethod())
    by_day = estimate_effect(replace(units, by_day=True), measure, "old", "new", ComparisonMethod())
    assert plain.p_value < 1e-6
    assert by_day.p_value > 0.01


def test_e_values_of_phases_are_multiplied():
    units = units_of(table(lambda day: 0.1 if day < 7 else 0.5))
    middle = START + timedelta(days=7)
    phases = {START: {"old": 0.9, "new": 0.1}, middle: {"old": 0.5, "new": 0.5}}
    both = sample_ratio_of_units(units, SHARES, phases)
    parts = [
        sample_ratio_of_units(units.on_arms(condition), phases[day])
        for day, condition in ((START, pl.col("day") < middle), (middle, pl.col("day") >= middle))
    ]
    assert np.log(both.statistic) == pytest.approx(sum(np.log(part.statistic) for part in parts))


@pytest.mark.parametrize("text", ["old", "old:0.5", "old:x,new:1", "old:0,new:1"])
def test_shares_of_phases_that_cannot_be_read(text):
    with pytest.raises(UsageError) as caught:
        online.Design(phases={"2026-03-01": text})
    assert caught.value.code == "invalid-share"


def test_units_in_several_arms_are_named():
    data = table(constant, users=1000)
    twice = data.head(1).with_columns(arm=pl.lit("new"), day=pl.lit(START))
    other = data.head(1).with_columns(arm=pl.lit("old"), day=pl.lit(START))
    (finding,) = [
        entry for entry in compared(pl.concat([data, twice, other])).findings if entry.code == "several-arms"
    ]
    assert "u0" in finding.text
