"""Tables of DuckDB and PostgreSQL: the same values as the file, computed in the database."""

import json
from contextlib import contextmanager

import polars as pl
import pytest

from online.test_five_logs import make_visits, table_rows
from online.test_own_kpis import COLUMNS, KPIS, MAPPING
from rankgate import online
from rankgate.core.errors import InputError, UsageError
from rankgate.online.events.mapping_draft import draft_mapping
from support.postgresql import PASSWORD
from support.wording import raises

NAMES = (
    "search_ctr",
    "mrr_first_click",
    "mean_click_rank",
    "time_to_first_click_p50",
    "impression_ctr",
    "conversion_rate",
    "revenue_per_search",
    "revenue_per_session_winsorised",
    "session_duration",
    "satisfied_click_rate",
    "repeat_visit_rate",
    "buyers_10d",
    "spend_p95",
    "order_value",
    "deep_clicks",
)
TYPES = {
    **dict.fromkeys((*COLUMNS, "land"), "TEXT"),
    "ts": "TIMESTAMPTZ",
    "pos": "INTEGER",
    "price": "NUMERIC(10, 2)",
}
CREATE = f"CREATE TABLE visits ({', '.join(f'{name} {kind}' for name, kind in TYPES.items())})"


def rows():
    for row in table_rows(make_visits(), lambda at: at):
        country = ["DE", "AT", "CH"][int(row[2][1:]) % 3]
        yield [None if cell == "" else cell for cell in (*row, country)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The log as CSV and in DuckDB, and its mapping."""
    import duckdb

    path = tmp_path_factory.mktemp("warehouse")
    frame = pl.DataFrame([*rows()], [*TYPES], orient="row", infer_schema_length=None)
    frame.with_columns(pl.col("ts").dt.strftime("%Y-%m-%dT%H:%M:%SZ")).write_csv(path / "log.csv")
    zone = '[log]\ntime_zone = "Europe/Berlin"\n'
    (path / "log.toml").write_text(MAPPING.replace("[log]\n", zone) + KPIS)
    with duckdb.connect(str(path / "shop.duckdb")) as connection:
        connection.execute(CREATE)
        connection.register("frame", frame.to_arrow())
        connection.execute("INSERT INTO visits SELECT * FROM frame")
    return path


@contextmanager
def visits_in(server, monkeypatch, name):
    """The address of the table in a new database of PostgreSQL."""
    monkeypatch.setenv("PGPASSWORD", PASSWORD)
    with server.database(name) as url:
        import psycopg

        address = url.replace(f":{PASSWORD}", "")
        with psycopg.connect(address, autocommit=True) as connection:
            connection.execute(CREATE)
            with connection.cursor().copy("COPY visits FROM STDIN") as copy:
                for row in rows():
                    copy.write_row(row)
        yield f"{address}#visits"


def events(folder, source):
    return online.Events(source, folder / "log.toml")


def compare(folder, source):
    """Compare KPIs, their days and dimensions, and an experiment with those of the file."""
    by = ("day", "variant", "country")
    of_file = online.kpi(events(folder, folder / "log.csv"), NAMES, by=by, checks=False)
    in_database = online.kpi(events(folder, source), NAMES, by=by, checks=False)
    keys = ["kpi", "by", "slice"]
    assert in_database.values.select(*keys, "n").equals(of_file.values.select(*keys, "n"))
    for name, expected in (("values", of_file.values), ("segments", of_file.segments)):
        columns = [column for column in expected.columns if expected[column].dtype == pl.Float64]
        found = getattr(in_database, name).sort(keys)
        for column in columns:
            assert found[column].to_list() == pytest.approx(
                expected.sort(keys)[column].to_list(), nan_ok=True
            )
    metrics = ["search_ctr", "revenue_per_session", "time_to_first_click_p50", "deep_clicks", "buyers_10d"]
    design = online.Design(segments=["country"])
    tests = [online.ab(events(folder, log), metrics, design=design) for log in (folder / "log.csv", source)]
    for name in ("metrics", "daily", "segments"):
        first, second = (getattr(test, name) for test in tests)
        for column in first.columns:
            if first[column].dtype == pl.Float64:
                assert second[column].to_list() == pytest.approx(first[column].to_list(), nan_ok=True)
    assert tests[0].findings == tests[1].findings


def test_duckdb_has_the_values_of_the_file(folder):
    compare(folder, f"{folder / 'shop.duckdb'}:visits")


def test_the_mapping_of_a_table(folder):
    text = draft_mapping(f"{folder / 'shop.duckdb'}:visits", columns={"variant": "test_group"})
    assert 'value = "price"' in text
    with raises("missing-table", InputError):
        draft_mapping(f"{folder / 'shop.duckdb'}:orders")


def test_a_table_of_events_needs_no_mapping(folder, tmp_path):
    import duckdb

    online.ingest(folder / "log.csv", tmp_path / "events", mapping=folder / "log.toml")
    with duckdb.connect(str(tmp_path / "events.duckdb")) as connection:
        parts = connection.read_parquet(f"{tmp_path}/events/*.parquet")
        parts.create("e")
    in_database = online.kpi(f"{tmp_path}/events.duckdb:e", ["search_ctr"], by=())
    assert in_database["search_ctr"] == online.kpi(tmp_path / "events", ["search_ctr"], by=())["search_ctr"]


FLAGGED = """
[log]
kind = "impression"
rank_base = 0
{time}
[columns]
at = "t"
query = "q"
query_event_id = "v+q"
session = "v"
doc_id = "d"
rank = "p"
variant = "more.arm"
[flags]
click = "clicked"
"""


@pytest.mark.parametrize(
    ("clicked", "time", "line"),
    [
        ("clicked = 1", "TIMESTAMPTZ '2026-03-01 08:00:00+00' + to_seconds(60 * v)", ""),
        ("clicked", "1772352000000 + 60000 * v", ""),
        (
            "CASE clicked WHEN 1 THEN 'yes' ELSE 'no' END",
            "strftime(TIMESTAMP '2026-03-01 08:00:00' + to_seconds(60 * v), '%d.%m.%Y %H:%M:%S')",
            'time_format = "%d.%m.%Y %H:%M:%S"',
        ),
    ],
)
def test_flags_times_and_nested_columns_of_a_table(tmp_path, clicked, time, line):
    import duckdb

    select = (
        f"SELECT v, 'q' || v % 2 AS q, 'd' || p AS d, p, {clicked} AS clicked, {time} AS t, "  # noqa: S608
        "{'arm': 'ab'[1 + v % 2]} AS more FROM (SELECT v, p, ((v * 7 + p * 3) % 5 = 0)::INT AS clicked FROM "
        "range(40) a(v), range(3) b(p))"
    )
    with duckdb.connect(str(tmp_path / "shop.duckdb")) as connection:
        connection.execute(f"CREATE TABLE shown AS {select}")
        connection.execute(f"COPY (SELECT * FROM shown) TO '{tmp_path}/shown.parquet' (FORMAT parquet)")  # noqa: S608
    (tmp_path / "log.toml").write_text(FLAGGED.replace("{time}", line))
    names = ["search_ctr", "mrr_first_click", "mean_click_rank", "impression_ctr"]
    tables = [
        online.kpi(online.Events(log, tmp_path / "log.toml"), names, by=("variant", "day"), checks=False)
        for log in (tmp_path / "shown.parquet", f"{tmp_path}/shop.duckdb:shown")
    ]
    assert tables[0].values.equals(tables[1].values)
    assert tables[0]["search_ctr"] == pytest.approx(24 / 40)


@pytest.mark.parametrize("sign", ["@", ":word@"])
def test_an_address_needs_a_table_and_no_password(sign):
    with raises("secret-in-address" if "word" in sign else "missing-table", UsageError):
        online.kpi(f"postgresql://shop{sign}db/shop" + "#visits" * ("word" in sign))


@pytest.mark.postgresql
def test_postgresql_has_the_values_of_the_file(folder, postgresql_server, monkeypatch):
    with visits_in(postgresql_server, monkeypatch, "same_values") as source:
        compare(folder, source)
        plan = online.plan(events(folder, source), kpis=["search_ctr"])
        assert plan.kpis["units"].to_list() == [300]


@pytest.mark.postgresql
def test_what_postgresql_does_not_compute(folder, postgresql_server, monkeypatch, run):
    with visits_in(postgresql_server, monkeypatch, "refusals") as source:
        log = events(folder, source)
        with raises("missing-extension", InputError):
            online.kpi(log, ["reformulation_rate"])
        with raises("unused-option", UsageError):
            online.doctor(log)
        with raises("unused-option", UsageError):
            online.kpi(online.Events(source, without_bots=True))
        with raises("not-in-postgresql", UsageError):
            online.judgments(log)
        with pytest.raises(InputError) as caught:  # the address of the server is in the sentence
            online.kpi(source)
        assert caught.value.suggestions[0].startswith("rankgate online map 'postgresql://")
        with raises("missing-table", InputError):
            online.kpi(events(folder, source.replace("#visits", "#orders")))
        assert 'rank = "pos"' in draft_mapping(source)
        result = run("online", "kpi", source, "--mapping", str(folder / "log.toml"), "-k", "search_ctr")
        assert (result.code, "the checks of the log doctor" in result.out) == (0, True)


@pytest.mark.postgresql
def test_a_server_that_is_down(folder, monkeypatch):
    monkeypatch.setenv("PGPASSWORD", PASSWORD)
    with pytest.raises(InputError) as caught:
        online.kpi(events(folder, "postgresql://shop@/shop?host=/nonexistent#visits"))
    assert caught.value.code == "cannot-read"
    assert PASSWORD not in json.dumps(str(caught.value))
