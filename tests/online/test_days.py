"""Days and weeks are those of the time zone of the mapping."""

import json
from collections import Counter
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import polars as pl
import pytest

from rankgate import online

ZONES = ("Europe/Berlin", "America/Los_Angeles", "Asia/Kolkata", "Pacific/Chatham")
CHANGES = (datetime(2026, 3, 28, tzinfo=UTC), datetime(2026, 10, 24, tzinfo=UTC))
"""Days before clocks of Berlin go forward, and back; other zones change on other days or never."""


def events(start, hours=72):
    """A search every half an hour, of two arms."""
    rows = []
    for half in range(2 * hours):
        search = {
            "query_event_id": f"s{half}",
            "user": f"u{half}",
            "session": f"v{half}",
            "query": "shoe",
            "kind": "search",
            "at": start + timedelta(minutes=30 * half),
            "state": "ok",
            "variant": "old" if half % 2 else "new",
        }
        rows += [search, {**search, "kind": "impression", "doc_id": "d", "rank": 1}]
        rows += [{**search, "kind": "click", "doc_id": "d", "rank": 1}] if half % 3 == 0 else []
    return pl.DataFrame(
        [
            {**row, "event_id": f"e{n}", "action": row["kind"], "source_file": "log", "source_line": n}
            for n, row in enumerate(rows)
        ],
        infer_schema_length=None,
    )


def mapping(tmp_path, zone):
    path = tmp_path / "map.toml"
    path.write_text(f'[log]\ntime_zone = "{zone}"\n', encoding="utf-8")
    return path


def days_of(frame, zone):
    """Searches by day of the zone, by the clock of Python."""
    times = frame.filter(kind="search")["at"].to_list()
    return Counter(str(moment.astimezone(ZoneInfo(zone)).date()) for moment in times)


def counted(table):
    rows = table.values.filter(kpi="search_ctr", by="day")
    return dict(rows.select("slice", "n").iter_rows())


@pytest.mark.parametrize("zone", ZONES)
@pytest.mark.parametrize("start", CHANGES)
def test_days_of_kpis_are_those_of_the_zone(tmp_path, zone, start):
    frame = events(start)
    table = online.kpi(online.Events(frame, mapping=mapping(tmp_path, zone)), ["search_ctr"], checks=False)
    assert counted(table) == days_of(frame, zone)
    assert table.time_zone == zone
    assert table.first == start.strftime("%Y-%m-%dT%H:%M:%SZ")
    assert counted(online.kpi(frame, ["search_ctr"], checks=False)) == days_of(frame, "UTC")


@pytest.mark.parametrize("start", CHANGES)
def test_arms_are_compared_on_days_of_the_zone(tmp_path, start):
    frame = events(start)
    days = sorted(days_of(frame, "America/Los_Angeles"))
    path = mapping(tmp_path, "America/Los_Angeles")
    result = online.ab(
        online.Events(frame, mapping=path), ["search_ctr"], design=online.Design(control="old")
    )
    assert result.period == (days[0], days[-1])
    assert sorted(result.daily["day"].unique()) == days
    assert result.settings["time_zone"] == "America/Los_Angeles"
    assert "days of America/Los_Angeles" in str(result)
    units = dict(result.daily.filter(metric="search_ctr").select("day", "n").iter_rows())
    counts = days_of(frame, "America/Los_Angeles")
    assert units == {day: sum(counts[d] for d in days if d <= day) for day in days}
    late = online.ab(
        online.Events(frame, mapping=path), ["search_ctr"], design=online.Design(control="old", start=days[1])
    )
    assert late.variants["units"].sum() == sum(counts[day] for day in days[1:])


def test_weeks_begin_on_the_monday_of_the_zone(tmp_path):
    """On Sunday the first of March at 20:00 in UTC it is Monday in Kolkata."""
    frame = events(datetime(2026, 3, 1, 20, tzinfo=UTC), hours=2)
    path = mapping(tmp_path, "Asia/Kolkata")
    assert set(online.weeks(online.Events(frame, mapping=path), kpis=["search_ctr"]).weeks["week"]) == {
        "2026-03-02"
    }
    assert set(online.weeks(frame, kpis=["search_ctr"]).weeks["week"]) == {"2026-02-23"}


def ubi(path, zone=""):
    """A log of UBI with times, which name no zone, around midnight."""
    rows = [
        {
            "query_id": f"s{hour}",
            "client_id": f"u{hour}",
            "user_query": "shoe",
            "query_attributes": {},
            "query_response_hit_ids": ["d1"],
            "timestamp": f"2026-03-{28 + hour // 24:02d}T{hour % 24:02d}:30:00{zone}",
        }
        for hour in range(20, 30)
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def test_a_declared_zone_is_that_of_times_without_one(tmp_path):
    log = ubi(tmp_path / "log.jsonl")
    path = mapping(tmp_path, "Europe/Berlin")
    table = online.kpi(online.Events(log, mapping=path), ["zero_result_rate"])
    rows = table.values.filter(by="day").select("slice", "n").iter_rows()
    assert dict(rows) == {"2026-03-28": 4, "2026-03-29": 6}
    assert "time-without-zone" not in {notice.code for notice in table.notices}
    codes = {finding.code for finding in online.doctor(online.Events(log, mapping=path)).findings}
    assert "time-without-zone" not in codes
    assert "time-without-zone" in {finding.code for finding in online.doctor(log).findings}


def test_a_folder_keeps_the_zone_of_its_mapping(tmp_path):
    log = ubi(tmp_path / "log.jsonl", zone="Z")
    path = mapping(tmp_path, "America/Los_Angeles")
    online.ingest(log, tmp_path / "events", mapping=path)
    table = online.kpi(tmp_path / "events", ["zero_result_rate"])
    assert table.time_zone == "America/Los_Angeles"
    assert table.values.filter(by="day")["slice"].to_list() == ["2026-03-28"]
    diagnosis = online.doctor(tmp_path / "events")
    assert (diagnosis.first, diagnosis.last) == ("2026-03-28T20:30:00Z", "2026-03-29T05:30:00Z")
    manifest = tmp_path / "events" / "events.json"
    older = json.loads(manifest.read_text())
    del older["time_zone"]  # of a folder of an earlier version
    manifest.write_text(json.dumps(older))
    assert online.kpi(tmp_path / "events", ["zero_result_rate"]).time_zone == "UTC"


def test_times_that_come_back_are_in_utc(tmp_path):
    frame = events(CHANGES[0], hours=1)
    with online.Events(frame, mapping(tmp_path, "Asia/Kolkata")).open() as log:
        times = log.base.rows('SELECT min("at") AS first FROM events')["first"]
    assert times.dtype == pl.Datetime("us", "UTC")
    assert times[0] == CHANGES[0]
