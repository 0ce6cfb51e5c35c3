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
    given = {"kind": "evaluation", "value": value}
    return NewRecord(given, DAY + timedelta(days=day), system="a", values=values,
                     per_query=PER_QUERY, **more)  # fmt: skip


def record(store, new, project=1):
    with store.write() as connection:
        return records.add(connection, store.blobs, project, new)


def test_the_same_content_is_recorded_once(shop):
    store = shop.store
    first, again = record(store, one()), record(store, one())
    assert (first.new, again.new, again.record) == (True, False, first.record)
    assert record(store, one(1)).new
    for other in (one(revision="b"), one(labels={"x": "y"}), one(value=0.4)):
        assert record(store, other).new
    plain = one(dated=False)
    assert plain.sha256 == one(5, dated=False).sha256 != one().sha256
    with store.read() as connection:
        found = records.get(connection, first.record.id)
        assert records.read_result(found, store.blobs) == {"kind": "evaluation", "value": 0.5}
        assert records.read_per_query(found, store.blobs).equals(PER_QUERY)
        assert set(records.read_values(connection, found.id)) == set(one().values)
        assert records.find_record(connection, shop.project, found.sha256[:10]) == found
        assert records.find_record(connection, shop.project, str(found.id)) == found
        with raises("unknown-record"):
            records.find_record(connection, shop.project, "ffffffff")


def test_series_are_in_the_order_of_evaluation(shop):
    for day, value in ((2, 0.3), (0, 0.5), (1, 0.4)):
        record(shop.store, one(day, value))
    with shop.store.read() as connection:
        found = series.list_points(connection, shop.project, "nDCG@10")
        assert [each.value for each in found] == [0.5, 0.4, 0.3]
        assert [(found[0].low, found[0].high, found[0].n)] == [(0.4, 0.6, 2)]
        since = series.list_points(
            connection, shop.project, "nDCG@10", since=DAY + timedelta(days=2)
        )
        assert [each.value for each in since] == [0.3]
        named = series.list_series(connection, shop.project)
        assert [(e.metric, e.slice, e.points) for e in named] == [
            ("latency", "", 3), ("nDCG@10", "", 3), ("nDCG@10", "lang=en", 3)]  # fmt: skip
        pages = [records.list_records(connection, shop.project, most=2)]
        pages.append(records.list_records(connection, shop.project, before=pages[0][-1].id))
        days = [[(each.evaluated_at - DAY).days for each in page] for page in pages]
        assert days == [[2, 1], [0]]
        assert series.list_points(connection, 7) == records.list_records(connection, 7) == []


def test_annotations_and_comments_are_withdrawn_by_later_rows(shop):
    project = shop.project
    with shop.store.write() as connection:
        given = {"at": DAY, "kind": "deploy", "text": "v2", "annotation_id": "a"}
        made = record_notes.add_annotation(connection, project, **given)
        assert record_notes.add_annotation(connection, project, **given) == made
        other = record_notes.add_annotation(
            connection, project, at=DAY + timedelta(1), kind="note", text="n", metric="RR"
        )
        assert record_notes.list_annotations(connection, project) == [made, other]
        assert record_notes.list_annotations(connection, project, metric="nDCG@10") == [made]
        record_notes.withdraw_annotation(connection, project, made.id)
        assert record_notes.list_annotations(connection, project) == [other]
        with raises("unknown-annotation"):
            record_notes.get_annotation(connection, project + 1, other.id)
        with raises("unknown-kind"):
            record_notes.add_annotation(connection, project, at=DAY, kind="party", text="")
    with shop.store.write() as connection:
        said = record_notes.add_comment(
            connection, project, "query", "q0", "odd", comment_id="c", actor="ann"
        )
        assert (
            record_notes.add_comment(connection, project, "query", "q0", "odd", comment_id="c")
            == said
        )
        record_notes.add_comment(connection, project, "query", "q1", "fine")
        assert record_notes.count_comments(connection, project, "query") == {"q0": 1, "q1": 1}
        assert record_notes.withdraw_comment(connection, project, said.id).text == ""
        assert record_notes.withdraw_comment(connection, project, said.id).withdrawn
        assert record_notes.count_comments(connection, project, "query") == {"q1": 1}
        assert [e.withdrawn for e in record_notes.list_comments(connection, project, "query")] == [
            True,
            False,
        ]
        assert record_notes.list_comments(connection, project, "query", "q2") == []
        with raises("unknown-comment"):
            record_notes.get_comment(connection, project + 1, said.id)


@pytest.mark.parametrize("table", ["records", "record_values", "annotations", "comments"])
@pytest.mark.parametrize("change", ["UPDATE {} SET {} = {}", "DELETE FROM {}"])
def test_facts_stay(shop, table, change):
    record(shop.store, one())
    with shop.store.write() as connection:
        record_notes.add_annotation(connection, shop.project, at=DAY, kind="note", text="n")
        record_notes.add_comment(connection, shop.project, "query", "q0", "odd")
    column = "record" if table == "record_values" else "id"
    with pytest.raises(UsageError) as caught, shop.store.write() as connection:
        connection.exec_driver_sql(change.format(table, column, column))
    assert caught.value.code == "store-refused"


def test_one_unresolved_alert_a_key(shop):
    project = shop.project
    with shop.store.write() as connection:
        first = alerts.fire_alert(connection, project, "k", rule="fall", message="1", at=DAY)
        again = alerts.fire_alert(
            connection, project, "k", rule="fall", message="2", evidence={"v": 1}
        )
        assert (first.new, again.new, again.alert.id) == (True, False, first.alert.id)
        assert (again.alert.count, again.alert.message, again.alert.first_at) == (2, "2", DAY)
        user = shop.people[0].id
        done = alerts.acknowledge_alert(connection, project, first.alert.id, user)
        assert (done.state, done.acknowledged_by) == ("acknowledged", user)
        assert (
            alerts.fire_alert(connection, project, "k", rule="fall", message="3").alert.count == 3
        )
        assert alerts.resolve_alert(connection, project, first.alert.id).state == "resolved"
        new = alerts.fire_alert(connection, project, "k", rule="fall", message="4")
        assert (new.new, new.alert.count) == (True, 1)
        assert [e.id for e in alerts.list_alerts(connection, project, state="open")] == [
            new.alert.id
        ]
        with raises("unknown-alert"):
            alerts.acknowledge_alert(connection, project + 1, new.alert.id)
        late = alerts.add_notification(connection, new.alert.id, "fired", "mail", not_before=DAY)
        assert alerts.find_due(connection, DAY - timedelta(1)) == []
        assert alerts.find_due(connection, DAY) == [late]
        alerts.mark_failed(connection, late.id, "refused", DAY + timedelta(1))
        assert alerts.find_due(connection, DAY, project=project) == []
        alerts.mark_sent(connection, late.id)
        (sent,) = alerts.notifications_of_alert(connection, new.alert.id)
        assert (sent.state, sent.tries) == ("sent", 2)


def test_a_run_of_a_job_is_due_once_and_taken_once(shop):
    lease = timedelta(minutes=1)
    with shop.store.write() as connection:
        given = {"kind": "evaluation", "schedule": "0 3 * * *"}
        job = scheduled_jobs.save_job(connection, shop.project, "nightly", **given)
        assert (
            scheduled_jobs.save_job(connection, shop.project, "nightly", **given, enabled=False).id
            == job.id
        )
        assert scheduled_jobs.list_enabled(connection) == []
        due = scheduled_jobs.plan_run(connection, job.id, DAY)
        assert scheduled_jobs.plan_run(connection, job.id, DAY) == due
        taken = scheduled_jobs.take_run(connection, "p1", lease=lease, moment=DAY)
        assert (taken.id, taken.state, taken.tries) == (due.id, "running", 1)
        assert scheduled_jobs.take_run(connection, "p2", lease=lease, moment=DAY) is None
        later = DAY + 2 * lease
        assert scheduled_jobs.take_run(connection, "p2", lease=lease, moment=later).owner == "p2"
        assert not scheduled_jobs.renew_lease(connection, due.id, "p1", lease=lease, log="")
        scheduled_jobs.mark_done(connection, due.id, "p1", log="late")
        assert scheduled_jobs.get_job_run(connection, due.id).state == "running"
        scheduled_jobs.mark_failed(
            connection, due.id, "p2", log="", error="no", next_try_at=later + lease
        )
        assert scheduled_jobs.take_run(connection, "p2", lease=lease, moment=later) is None
        assert (
            scheduled_jobs.take_run(connection, "p2", lease=lease, moment=later + lease).tries == 3
        )
        scheduled_jobs.mark_done(connection, due.id, "p2", log="well")
        assert scheduled_jobs.last_run(connection, job.id).state == "done"


def test_backups_keep_records(shop, tmp_path):
    made = record(shop.store, one()).record
    with shop.store.write() as connection:
        note = record_notes.add_annotation(connection, shop.project, at=DAY, kind="note", text="n")
        record_notes.withdraw_annotation(connection, shop.project, note.id)
    assert check(shop.store) == ()
    backup(shop.store, tmp_path / "a.zip")
    restore(tmp_path / "a.zip", f"{tmp_path}/other.db")
    with Store.open(f"{tmp_path}/other.db") as other:
        assert check(other) == ()
        with other.read() as connection:
            assert records.get(connection, made.id) == made
            assert records.read_per_query(made, other.blobs).equals(PER_QUERY)
            assert set(records.read_values(connection, made.id)) == set(one().values)
            assert record_notes.list_annotations(connection, shop.project) == []
