"""KPIs and dimensions that a mapping declares: values by pandas, intervals, errors with their lines."""

import json

import numpy as np
import pandas as pd
import polars as pl
import pytest

from online.test_five_logs import make_visits, table_rows
from rankgate import online
from rankgate.core.errors import InputError, UsageError
from rankgate.measurement.stats.multiple_comparisons import correct
from rankgate.online.indicators.event_expressions import make_column, parse_sql
from rankgate.online.indicators.kpi_table import KpiTable
from rankgate.online.indicators.search_tables import events
from rankgate.workspace.records.figures import kpi_figures
from support.wording import raises

MAPPING = """
[log]
last_search = true
[columns]
at = "ts"
action = "action"
session = "visit_id"
user = "visitor"
variant = "test_group"
query = "search_term"
doc_id = "product_no"
rank = "pos"
value = "price"
query_event_id = "visit_id+search_term"
[kinds]
search = ["search"]
impression = ["view"]
click = ["tap"]
purchase = ["order"]
[dimensions]
country = "land"
"""
KPIS = """
[[kpis]]
name = "buyers"
per = "user"
of = "count(*) > 0"
where = "kind = 'purchase' and value >= 20"
direction = "up"
windows = ["10d", "2m"]

[[kpis]]
name = "spend"
title = "Money of a user"
per = "user"
of = "sum(value)"
where = "kind = 'purchase'"
unit = "money"
direction = "up"
quantiles = [0.5, 0.95]

[[kpis]]
name = "order_value"
per = "session"
numerator = "sum(case when kind = 'purchase' then value else 0 end)"
denominator = "sum(kind = 'purchase')"
unit = "money"

[[kpis]]
name = "deep_clicks"
of = "count(*)"
where = "kind = 'click' and rank between 2 and 3 and country in ('DE', 'AT')"
direction = "up"
"""
COLUMNS = ("ts", "visit_id", "visitor", "search_term", "action", "product_no", "pos", "price", "test_group")


@pytest.fixture(scope="module")
def log(tmp_path_factory):
    """The log, its mapping, and its rows."""
    folder = tmp_path_factory.mktemp("own")
    frame = pd.DataFrame(table_rows(make_visits(), lambda at: at), columns=COLUMNS)
    frame["land"] = [["DE", "AT", "CH"][int(user[1:]) % 3] for user in frame["visitor"]]
    frame = frame.replace("", None)
    frame["ts"] = frame["ts"].map(lambda at: at.isoformat())
    frame.to_csv(folder / "log.csv", index=False)
    (folder / "log.toml").write_text(MAPPING + KPIS)
    frame["ts"] = pd.to_datetime(frame["ts"])
    return folder, frame


def table_of(folder, names, **options):
    return online.kpi(online.Events(folder / "log.csv", folder / "log.toml"), names, **options)


def by_pandas(frame):
    begin, end = frame.groupby("visitor")["ts"].transform("min"), frame["ts"].max()
    sold = frame["action"] == "order"
    after = (frame["ts"] - begin).dt.total_seconds()
    firsts = frame.groupby("visitor")["ts"].min()
    values = {}
    for name, seconds in (("buyers_10d", 864_000), ("buyers_2m", 120)):
        complete = (end - firsts).dt.total_seconds() >= seconds
        bought = (sold & (frame["price"] >= 20) & (after <= seconds)).groupby(frame["visitor"]).any()
        values[name] = bought[complete].mean()
    spend = frame["price"].fillna(0).groupby(frame["visitor"]).sum()
    values |= {"spend_p50": spend.quantile(0.5), "spend_p95": spend.quantile(0.95)}
    values["order_value"] = frame["price"].sum() / sold.sum()
    deep = (frame["action"] == "tap") & frame["pos"].between(2, 3) & frame["land"].isin(["DE", "AT"])
    values["deep_clicks"] = deep.sum() / (frame["action"] == "search").sum()
    return values


def test_own_kpis_have_the_values_of_pandas(log):
    folder, frame = log
    expected = by_pandas(frame)
    table = table_of(folder, list(expected), by=())
    assert {name: table[name] for name in expected} == {
        name: pytest.approx(value) for name, value in expected.items()
    }
    assert min(expected["buyers_2m"], expected["deep_clicks"]) > 0


def test_they_are_computed_with_those_of_the_catalogue_and_stay_known(log):
    folder, _ = log
    table = table_of(folder, (), by=("variant",))
    assert {"search_ctr", "spend_p95", "deep_clicks"} <= set(table.totals["kpi"])
    stored = KpiTable.from_dict(json.loads(json.dumps(table.to_dict())))
    assert stored == table
    text = str(stored)
    assert "Money of a user" in text


def test_a_folder_of_events_keeps_them(log, tmp_path):
    folder, frame = log
    online.ingest(folder / "log.csv", tmp_path / "events", mapping=folder / "log.toml")
    table = online.kpi(tmp_path / "events", ["deep_clicks"], by=("country",))
    assert table["deep_clicks"] == pytest.approx(by_pandas(frame)["deep_clicks"])
    assert table.segments["slice"].to_list() == ["AT", "CH", "DE"]


def test_experiments_and_plans_take_them(log):
    folder, frame = log
    events = online.Events(folder / "log.csv", folder / "log.toml")
    row = online.ab(events, ["spend_p50", "buyers_10d", "deep_clicks"]).metrics.row(2, named=True)
    for side, arm in (("control", "A"), ("treatment", "B")):
        assert row[side] == pytest.approx(by_pandas(frame[frame["test_group"] == arm])["deep_clicks"])
    assert row["better"] == "up"
    plan = online.plan(events, kpis=["buyers_2m"])
    assert plan.kpis["units"].to_list() == [300]


def test_a_dimension_has_intervals_of_users(log):
    folder, frame = log
    table = table_of(folder, ["search_ctr"], by=("country",))
    segments = table.segments
    assert segments["slice"].to_list() == ["AT", "CH", "DE"]
    searches = frame[frame["action"] == "search"]
    clicks = frame[frame["action"] == "tap"]
    for row in segments.iter_rows(named=True):
        users = searches[searches["land"] == row["slice"]].groupby("visitor").size()
        clicked = clicks.groupby("visitor")["visit_id"].nunique().reindex(users.index).fillna(0)
        value = clicked.sum() / users.sum()
        residual = (clicked - value * users).to_numpy()
        error = np.sqrt(len(users) / (len(users) - 1) * (residual @ residual)) / users.sum()
        assert (row["units"], row["value"]) == (len(users), pytest.approx(value))
        assert row["high"] - row["low"] == pytest.approx(2 * 1.959963984540054 * error)


def test_tests_of_segments_have_one_correction(log):
    folder, _ = log
    names = ["search_ctr", "mrr_first_click", "deep_clicks"]
    together = table_of(folder, names, by=("country",)).segments
    alone = [table_of(folder, [name], by=("country",)).segments["p_differ"][0] for name in names]
    first = together.unique("kpi", keep="first", maintain_order=True)
    corrected = dict(first.select("kpi", "p_differ").iter_rows())
    assert [corrected[name] for name in names] == pytest.approx(correct(np.array(alone), "holm"))


def test_tests_of_segments_of_an_experiment_have_one_correction():
    chance = np.random.default_rng(3)
    units = pl.DataFrame(
        {
            "arm": chance.choice(["a", "b"], 1500),
            "x": chance.choice(list("pqr"), 1500),
            "y": chance.choice(list("uv"), 1500),
            "spend": chance.exponential(size=1500),
            "visits": chance.poisson(3.0, 1500),
        }
    )

    def p_values(metrics, segments):
        design = online.Design(variant="arm", segments=segments)
        table = online.ab(units, metrics, design=design).segments
        return table.unique(["metric", "segment"], maintain_order=True)["p_differ"].to_list()

    metrics, segments = ["spend", "visits"], ("x", "y")
    alone = [p_values([metric], (segment,))[0] for segment in segments for metric in metrics]
    assert p_values(metrics, segments) == pytest.approx(correct(np.array(alone), "holm"))


LAUNCH = """
[experiment]
events = "log.csv"
mapping = "log.toml"
control = "A"
treatment = "B"
[[ramp]]
share = 0.5
since = "2026-03-01"
[[rules]]
id = "clicks"
kind = "kpi_noninferiority"
kpi = "deep_clicks"
relative = 0.9
"""


def test_a_ramp_has_rules_on_them(log):
    folder, frame = log
    (folder / "launch.toml").write_text(LAUNCH)
    verdict = online.watch(folder / "launch.toml")
    row = verdict.experiment.metrics.row(0, named=True)
    expected = by_pandas(frame[frame["test_group"] == "B"])["deep_clicks"]
    assert row["treatment"] == pytest.approx(expected)


def test_a_stored_table_has_their_direction(log):
    folder, _ = log
    (folder / "down.toml").write_text(
        MAPPING + KPIS.replace('"deep_clicks"', '"clicks_below"').replace("up", "down")
    )
    table = online.kpi(online.Events(folder / "log.csv", folder / "down.toml"), ["clicks_below"], by=())
    assert [(own.name, own.better) for own in table.own_kpis] == [("clicks_below", "down")]
    [figure] = kpi_figures(KpiTable.from_dict(table.to_dict())).values  # noqa: PD011 - no frame
    assert not figure.higher_is_better


@pytest.mark.parametrize(
    ("old", "new", "line"),
    [
        ('name = "spend"', 'name = "latency"', 2),
        ('name = "spend"', 'name = "Spend it"', 2),
        ('per = "user"', 'per = "visit"', 3),
        ("sum(value)", "sum(vlaue)", 4),
        ("sum(value)", "value", 4),
        ("sum(value)", "sum(value", 4),
        ("sum(value)", "median(value)", 4),
        ("kind = 'purchase'", "kind = 'purchas'", 5),
        ("kind = 'purchase'", "count(*) > 1", 5),
        ('unit = "money"', 'unit = "euro"', 6),
        ("[0.5]", "[50]", 7),
        ('of = "sum(value)"\n', "", 1),
        ("quantiles = [0.5]", 'windows = ["7 days"]', 7),
        ("quantiles", "quantile", 7),
    ],
)
def test_a_wrong_declaration_names_its_line(log, tmp_path, old, new, line):
    folder, _ = log
    kpi = (
        '[[kpis]]\nname = "spend"\nper = "user"\nof = "sum(value)"\nwhere = "kind = \'purchase\'"\n'
        'unit = "money"\nquantiles = [0.5]\n'
    )
    assert old in kpi
    (tmp_path / "log.toml").write_text(kpi.replace(old, new) + MAPPING)
    with raises("invalid-mapping", InputError, line=line):
        online.kpi(online.Events(folder / "log.csv", tmp_path / "log.toml"), ["spend_p50"])


def test_an_unknown_dimension_is_an_error(log):
    folder, _ = log
    with raises("unknown-slice", UsageError):
        table_of(folder, ["search_ctr"], by=("contry",))
    with raises("unknown-KPI", UsageError):
        table_of(folder, ["spends"])


def test_revenue_needs_prices(log, tmp_path):
    folder, _ = log
    (tmp_path / "log.toml").write_text(MAPPING.replace('value = "price"\n', ""))
    events = online.Events(folder / "log.csv", tmp_path / "log.toml")
    table = online.kpi(events, ["revenue_per_search", "conversion_rate"], by=())
    assert (table["revenue_per_search"], table["conversion_rate"] > 0) == (None, True)


@pytest.mark.parametrize("text", ["cache_hit is true", "cache_hit is not false", "value is distinct from 1"])
def test_is_compares_with_null_alone(text):
    with pytest.raises(ValueError, match="is not supported"):
        make_column(parse_sql(text), events())
    assert make_column(parse_sql("cache_hit is not null"), events()).type().is_boolean()
