"""Recorded evaluations, annotations, comments, alerts, jobs: facts stay, writes are idempotent."""

from datetime import UTC, datetime, timedelta

import polars as pl
import pytest

from rankgate.core.errors import UsageError
from rankgate.store.backup import backup, restore
from rankgate.store.records import alerts, record_notes, records, scheduled_jobs, series
from rankgate.store.records.records import NewRecord, Value
from rankgate.store.store import Store
from rankgate.store.store_integrity import check
from support.wording import raises

DAY = datetime(2026, 3, 1, 12, tzinfo=UTC)
PER_QUERY = pl.DataFrame({"system": ["a", "a"], "query_id": ["q0", "q1"], "nDCG@10": [0.5, None]})


def one(day=0, value=0.5, **more):
    values = (
        Value("nDCG@10", "a", value, value - 0.1, value + 0.1, 2),
        Value("nDCG@10", "a", value, n=1, slice="lang=en"),
        Value("latency", "a", None, higher_is_better=False),
    )
    result = {"kind": "evaluation", "value": value}
    return NewRecord(
        result, DAY + timedelta(days=day), system="a", values=values, per_query=PER_QUERY, **more
    )


def record(store, new, project=1):
    with store.write() as connection:
        return records.add(connection, store.blobs, project, new)


def test_the_same_content_is_recorded_once(shop):
    store = shop.store
    first, second = record(store, one()), record(store, one())
    assert (first.new, second.new, second.record) == (True, False, first.record)
    assert record(store, one(1)).new
    for changed_record in (one(revision="b"), one(labels={"x": "y"}), one(value=0.4)):
        assert record(store, changed_record).new
    plain = one(dated=False)
    assert plain.sha256 == one(5, dated=False).sha256 != one().sha256
    with store.read() as connection:
        stored_record = records.get(connection, first.record.id)
        assert records.read_result(stored_record, store.blobs) == {"kind": "evaluation", "value": 0.5}
        assert records.read_per_query(stored_record, store.blobs).equals(PER_QUERY)
        assert set(records.read_values(connection, stored_record.id)) == set(one().values)
        assert records.find_record(connection, shop.project, stored_record.sha256[:10]) == stored_record
        assert records.find_record(connection, shop.project, str(stored_record.id)) == stored_record
        with raises("unknown-record"):
            records.find_record(connection, shop.project, "ffffffff")


def test_series_are_in_the_order_of_evaluation(shop):
    for day, value in ((2, 0.3), (0, 0.5), (1, 0.4)):
        record(shop.store, one(day, value))
    with shop.store.read() as connection:
        points = series.list_points(connection, shop.project, "nDCG@10")
        assert [point.value for point in points] == [0.5, 0.4, 0.3]
        assert [(points[0].low, points[0].high, points[0].n)] == [(0.4, 0.6, 2)]
        recent_points = series.list_points(connection, shop.project, "nDCG@10", since=DAY + timedelta(days=2))
        assert [point.value for point in recent_points] == [0.3]
        series_rows = series.list_series(connection, shop.project)
        assert [(e.metric, e.slice, e.points) for e in series_rows] == [
            ("latency", "", 3),
            ("nDCG@10", "", 3),
            ("nDCG@10", "lang=en", 3),
        ]
        latest = records.list_records(connection, shop.project, most=2)
        assert [(record_row.evaluated_at - DAY).days for record_row in latest] == [2, 1]
        assert series.list_points(connection, 7) == records.list_records(connection, 7) == []


def test_annotations_and_comments_are_withdrawn_by_later_rows(shop):
    project = shop.project
    with shop.store.write() as connection:
        annotation_fields = {"at": DAY, "kind": "deploy", "text": "v2", "annotation_id": "a"}
        annotation = record_notes.add_annotation(connection, project, **annotation_fields)
        assert record_notes.add_annotation(connection, project, **annotation_fields) == annotation
        second_annotation = record_notes.add_annotation(
            connection, project, at=DAY + timedelta(1), kind="note", text="n", metric="RR"
        )
        assert record_notes.list_annotations(connection, project) == [annotation, second_annotation]
        assert record_notes.list_annotations(connection, project, metric="nDCG@10") == [annotation]
        record_notes.withdraw_annotation(connection, project, annotation.id)
        assert record_notes.list_annotations(connection, project) == [second_annotation]
        with raises("unknown-annotation"):
            record_notes.get_annotation(connection, project + 1, second_annotation.id)
        with raises("unknown-kind"):
            record_notes.add_annotation(connection, project, at=DAY, kind="party", text="")
    with shop.store.write() as connection:
        comment = record_notes.add_comment(
            connection, project, "query", "q0", "odd", comment_id="c", actor="ann"
        )
        assert record_notes.add_comment(connection, project, "query", "q0", "odd", comment_id="c") == comment
        record_notes.add_comment(connection, project, "query", "q1", "fine")
        assert record_notes.count_comments(connection, project, "query") == {"q0": 1, "q1": 1}
        assert record_notes.withdraw_comment(connection, project, comment.id).text == ""
        assert record_notes.withdraw_comment(connection, project, comment.id).withdrawn
        assert record_notes.count_comments(connection, project, "query") == {"q1": 1}
        assert [e.withdrawn for e in record_notes.list_comments(connection, project, "query")] == [
            True,
            False,
        ]
        assert record_notes.list_comments(connection, project, "query", "q2") == []
        with raises("unknown-comment"):
            record_notes.get_comment(connection, project + 1, comment.id)


def test_facts_stay(shop):
    record(shop.store, one())
    with shop.store.write() as connection:
        record_notes.add_annotation(connection, shop.project, at=DAY, kind="note", text="n")
        record_notes.add_comment(connection, shop.project, "query", "q0", "odd")
    for table in ("records", "record_values", "annotations", "comments"):
        column = "record" if table == "record_values" else "id"
        for change in ("UPDATE {} SET {} = {}", "DELETE FROM {}"):
            with pytest.raises(UsageError) as caught, shop.store.write() as connection:
                connection.exec_driver_sql(change.format(table, column, column))
            assert caught.value.code == "store-refused", change


def test_one_unresolved_alert_a_key(shop):
    project = shop.project
    with shop.store.write() as connection:
        first = alerts.fire_alert(connection, project, "k", rule="fall", message="1", at=DAY)
        repeated = alerts.fire_alert(connection, project, "k", rule="fall", message="2", evidence={"v": 1})
        assert (first.new, repeated.new, repeated.alert.id) == (True, False, first.alert.id)
        assert (repeated.alert.count, repeated.alert.message, repeated.alert.first_at) == (2, "2", DAY)
        user = shop.people[0].id
        acknowledged = alerts.acknowledge_alert(connection, project, first.alert.id, user)
        assert (acknowledged.state, acknowledged.acknowledged_by) == ("acknowledged", user)
        assert alerts.fire_alert(connection, project, "k", rule="fall", message="3").alert.count == 3
        assert alerts.resolve_alert(connection, project, first.alert.id).state == "resolved"
        new = alerts.fire_alert(connection, project, "k", rule="fall", message="4")
        assert (new.new, new.alert.count) == (True, 1)
        assert [e.id for e in alerts.list_alerts(connection, project, state="open")] == [new.alert.id]
        with raises("unknown-alert"):
            alerts.acknowledge_alert(connection, project + 1, new.alert.id)
        late = alerts.add_notification(connection, new.alert.id, "fired", "mail", not_before=DAY)
        assert alerts.find_due(connection, DAY - timedelta(1)) == []
        assert alerts.find_due(connection, DAY) == [late]
        alerts.mark_failed(connection, late.id, "refused", DAY + timedelta(1))
        assert alerts.find_due(connection, DAY, project=project) == []
        alerts.mark_sent(connection, late.id)
        (notification,) = alerts.notifications_of_alert(connection, new.alert.id)
        assert (notification.state, notification.tries) == ("sent", 2)


def test_a_run_of_a_job_is_due_once_and_taken_once(shop):
    lease = timedelta(minutes=1)
    with shop.store.write() as connection:
        job_fields = {"kind": "evaluation", "schedule": "0 3 * * *"}
        job = scheduled_jobs.save_job(connection, shop.project, "nightly", **job_fields)
        assert (
            scheduled_jobs.save_job(connection, shop.project, "nightly", **job_fields, enabled=False).id
            == job.id
        )
        assert scheduled_jobs.list_enabled(connection) == []
        planned_run = scheduled_jobs.plan_run(connection, job.id, DAY)
        assert scheduled_jobs.plan_run(connection, job.id, DAY) == planned_run
        running = scheduled_jobs.take_run(connection, "p1", lease=lease, moment=DAY)
        assert (running.id, running.state, running.tries) == (planned_run.id, "running", 1)
        assert scheduled_jobs.take_run(connection, "p2", lease=lease, moment=DAY) is None
        later = DAY + 2 * lease
        assert scheduled_jobs.take_run(connection, "p2", lease=lease, moment=later).owner == "p2"
        assert not scheduled_jobs.renew_lease(connection, planned_run.id, "p1", lease=lease, log="")
        scheduled_jobs.mark_done(connection, planned_run.id, "p1", log="late")
        assert scheduled_jobs.get_job_run(connection, planned_run.id).state == "running"
        scheduled_jobs.mark_failed(
            connection, planned_run.id, "p2", log="", error="no", next_try_at=later + lease
        )
        assert scheduled_jobs.take_run(connection, "p2", lease=lease, moment=later) is None
        assert scheduled_jobs.take_run(connection, "p2", lease=lease, moment=later + lease).tries == 3
        scheduled_jobs.mark_done(connection, planned_run.id, "p2", log="well")
        assert scheduled_jobs.last_run(connection, job.id).state == "done"


def test_backups_keep_records(shop, tmp_path):
    stored_record = record(shop.store, one()).record
    with shop.store.write() as connection:
        note = record_notes.add_annotation(connection, shop.project, at=DAY, kind="note", text="n")
        record_notes.withdraw_annotation(connection, shop.project, note.id)
    assert check(shop.store) == ()
    backup(shop.store, tmp_path / "a.zip")
    restore(tmp_path / "a.zip", f"{tmp_path}/other.db")
    with Store.open(f"{tmp_path}/other.db") as restored:
        assert check(restored) == ()
        with restored.read() as connection:
            assert records.get(connection, stored_record.id) == stored_record
            assert records.read_per_query(stored_record, restored.blobs).equals(PER_QUERY)
            assert set(records.read_values(connection, stored_record.id)) == set(one().values)
            assert record_notes.list_annotations(connection, shop.project) == []
