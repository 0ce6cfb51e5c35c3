"""KPIs are expressions: the same ones are SQL of warehouses, and have the same values on Spark."""

import ibis
import pytest

from online import test_kpi
from online.logs import written
from rankgate import online
from rankgate.online.indicators import search_tables
from rankgate.online.indicators.kpi_catalogue import KPIS
from support.spark import spark  # noqa: F401 - a fixture


def all_tables(rows):
    searches = search_tables.with_bands(search_tables.with_next_search(search_tables.searches(rows)))
    sessions = search_tables.sessions(rows, searches, ("click and survey>=4", "purchase"))
    return {
        "searches": searches,
        "clicks": search_tables.clicks(rows, searches),
        "sessions": sessions,
        "users": search_tables.users(sessions),
        "events": rows,
    }


@pytest.mark.parametrize("dialect", ["databricks", "postgres", "snowflake"])
def test_every_kpi_is_sql(dialect):
    made = all_tables(search_tables.with_visits(search_tables.events()))
    for each in KPIS.values():
        table = ibis.table(made[each.table].schema(), name=each.table)
        sql = ibis.to_sql(table.aggregate(**each.columns(table)), dialect=dialect)
        assert each.table in str(sql)
    assert all(
        "GROUP BY" in str(ibis.to_sql(made[name], dialect=dialect)) for name in ("searches", "sessions")
    )


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.filterwarnings("ignore::ResourceWarning")  # sockets of Spark
@pytest.mark.separate
def test_values_are_the_same_on_spark(tmp_path, spark):  # noqa: F811 - the fixture
    (tmp_path / "map.toml").write_text(test_kpi.MAPPING)
    log = written(tmp_path / "log.jsonl", test_kpi.ROWS)
    online.ingest(log, tmp_path / "events", mapping=tmp_path / "map.toml")
    expected = online.kpi(online.Events(tmp_path / "events", despite=True), by=(), checks=False)

    connected = ibis.pyspark.connect(spark)
    parts = [str(each) for each in (tmp_path / "events").glob("*.parquet")]
    spark.read.parquet(*parts).createOrReplaceTempView("events")
    # one after the other, as one statement of all would be planned for minutes
    made = {"events": search_tables.events()}

    def kept(name, expression):
        spark.sql(connected.compile(expression)).cache().createOrReplaceTempView(name)
        made[name] = ibis.table(expression.schema(), name=name)
        return made[name]

    rows = made["events"]
    searches = kept("searches", search_tables.with_next_search(search_tables.searches(rows)))
    kept("clicks", search_tables.clicks(rows, searches))
    sessions = kept("sessions", search_tables.sessions(rows, searches))
    kept("users", search_tables.users(sessions))
    for table, frame in made.items():
        kpis = [each for each in KPIS.values() if each.table == table and each.cap is None]
        columns = {key: value for each in kpis for key, value in each.columns(frame).items()}
        row = spark.sql(connected.compile(frame.aggregate(**columns))).collect()[0].asDict()
        for each in kpis:
            value = row[f"{each.name}.value"] if row[f"{each.name}.n"] else None
            if expected[each.name] is not None:
                assert value == pytest.approx(expected[each.name]), each.name
