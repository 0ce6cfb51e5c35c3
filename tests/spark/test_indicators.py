"""KPIs on Spark have the values that DuckDB gives."""

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from online import test_days, test_kpi
from online.logs import written
from rankgate import online
from rankgate.core.errors import InputError, UsageError
from support.spark import (
    spark,  # noqa: F401 - a fixture
    there,
)
from support.wording import raises

pytestmark = [
    pytest.mark.usefixtures("spark"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),  # sockets of Spark
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]


def test_the_daily_table_is_the_same(tmp_path):
    (tmp_path / "map.toml").write_text(test_kpi.MAPPING)
    log = written(tmp_path / "log.jsonl", test_kpi.ROWS)
    online.ingest(log, tmp_path / "events", mapping=tmp_path / "map.toml")
    names = ("search_ctr", "abandonment_rate", "ctr_at_1", "revenue_per_search", "latency_p95")
    local_kpis = online.kpi(online.Events(tmp_path / "events", despite=True), names, checks=False)
    events = online.Events(there(tmp_path / "events"))
    spark_kpis = online.kpi(events, names, checks=False)
    assert_frame_equal(local_kpis.values, spark_kpis.values, rel_tol=1e-12)
    assert (local_kpis.first, local_kpis.last, local_kpis.events) == (
        spark_kpis.first,
        spark_kpis.last,
        spark_kpis.events,
    )


def test_days_are_those_of_the_zone_of_the_mapping(tmp_path):
    log = test_days.ubi(tmp_path / "log.jsonl", zone="Z")
    path = test_days.mapping(tmp_path, "America/Los_Angeles")
    online.ingest(log, tmp_path / "events", mapping=path)
    local_kpis = online.kpi(tmp_path / "events", ["zero_result_rate"], checks=False)
    spark_kpis = online.kpi(there(tmp_path / "events"), ["zero_result_rate"], checks=False)
    assert_frame_equal(local_kpis.values, spark_kpis.values)
    assert local_kpis.time_zone == spark_kpis.time_zone == "America/Los_Angeles"
    assert (local_kpis.first, local_kpis.last) == (spark_kpis.first, spark_kpis.last)
    assert spark_kpis.values.filter(by="day")["slice"].to_list() == ["2026-03-28"]


def test_a_table_of_something_else(tmp_path):
    pl.DataFrame({"a": [1]}).write_parquet(tmp_path / "a.parquet")
    with raises("missing-column", InputError):
        online.kpi(there(tmp_path / "a.parquet"), checks=False)


def test_what_reads_a_log_on_one_machine_is_refused():
    events = there("events.parquet")
    with raises("unused-option", UsageError):
        online.kpi(events)  # the log doctor
    with raises("unused-option", UsageError):
        online.kpi(online.Events(events, without_bots=True), checks=False)
    with raises("on-spark", UsageError):
        online.doctor(events)
