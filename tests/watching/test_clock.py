"""Schedules on the days on which clocks change, in all time zones, and with a clock that jumps."""

from __future__ import annotations

import threading
from bisect import bisect_left
from collections import Counter, defaultdict
from datetime import UTC, datetime, time, timedelta
from itertools import accumulate, pairwise
from zoneinfo import ZoneInfo, available_timezones

import pytest

from rankgate.store import rows
from rankgate.store.records import alerts, scheduled_jobs
from rankgate.store.rows import now
from rankgate.workspace.records.alerts.alert_rules import QuietHours
from rankgate.workspace.records.cron_times import last_due, parse_schedule
from rankgate.workspace.records.schedule import scheduler as scheduler_module
from rankgate.workspace.records.schedule.job_settings import read_jobs, set_jobs
from rankgate.workspace.records.schedule.scheduler import Scheduler
from support.waiting import until

YEAR = 2026
STEP = timedelta(minutes=15)
"""Every clock change of the year falls on such a minute."""

MOMENTS = [
    datetime(YEAR, 1, 1, tzinfo=UTC) + quarter * STEP for quarter in range(int(timedelta(days=366) / STEP))
]
DAY = int(timedelta(days=1) / STEP)
CLOCK = [MOMENTS[0].replace(tzinfo=None) + i * STEP for i in range(-DAY, len(MOMENTS) + DAY)]
"""What a clock can show in the year, from a day before it to a day after it."""

JOB = '[[jobs]]\nname = "nightly"\nkind = "alerts"\nschedule = "0 3 * * *"\n'


def offset(zone, i):
    """How many steps the clock of a zone is ahead of UTC at a moment."""
    steps, remainder = divmod(MOMENTS[i].astimezone(zone).utcoffset(), STEP)
    assert not remainder, zone
    return steps


def offsets(zone):
    """The offset of a zone at the first moment and at each change (one per day)."""
    steps = [(0, offset(zone, 0))]
    for begin, end in pairwise([*range(0, len(MOMENTS), DAY), len(MOMENTS) - 1]):
        if offset(zone, end) != steps[-1][1]:
            i = next(i for i in range(begin, end + 1) if offset(zone, i) != steps[-1][1])
            steps.append((i, offset(zone, i)))
    return tuple(steps)


def shown(steps):
    """What a clock with these offsets shows at each moment of the year."""
    ends = [*(i for i, _ in steps[1:]), len(MOMENTS)]
    return [
        clock
        for (begin, ahead), end in zip(steps, ends, strict=True)
        for clock in CLOCK[DAY + begin + ahead : DAY + end + ahead]
    ]


@pytest.fixture(scope="module")
def zones():
    """One zone of each kind of year, with what its clock shows, and when it is put forward or back."""
    kinds = {}
    for name in sorted(available_timezones()):
        kinds.setdefault(offsets(ZoneInfo(name)), ZoneInfo(name))
    return [(zone, shown(steps), [i for i, _ in steps[1:]]) for steps, zone in kinds.items()]


def test_the_clock_of_a_zone_is_that_of_python(zones):
    for zone, clocks, _ in zones:
        for i in range(0, len(MOMENTS), 17):
            assert MOMENTS[i].astimezone(zone).replace(tzinfo=None) == clocks[i], zone


def due(schedule, zone, begin, end):
    """The moments of a schedule from one moment to another."""
    moments, moment, due_moments = (parse_schedule(schedule, zone.key), begin - timedelta(microseconds=1), [])
    while (moment := moments.next_after(moment)) is not None and moment < end:
        due_moments.append(moment)
    return due_moments


def test_there_are_zones_that_change_their_clock_at_midnight_and_by_half_an_hour(zones):
    assert len(zones) > 40
    jumps = defaultdict(set)
    for zone, clocks, changes in zones:
        for i in changes:
            jumps[clocks[i] - clocks[i - 1] - STEP].add((zone.key, clocks[i].time()))
    hour, half = timedelta(hours=1), timedelta(minutes=30)
    assert set(jumps) >= {hour, -hour, half, -half}
    assert any(clock == time(1) for _, clock in jumps[hour])  # midnight is skipped


def test_a_daily_job_runs_once_on_each_day_in_all_zones_of_a_year(zones):
    for zone, clocks, changes in zones:
        last = len(MOMENTS) - 400 if changes else 40 * DAY  # without a change all days are alike
        begin, end = MOMENTS[200], MOMENTS[last]
        days = sorted({clock.date() for clock in clocks[300 : last - 100]})
        for schedule, hour, minute in (("0 0 * * *", 0, 0), ("30 2 * * *", 2, 30)):
            moments = due(schedule, zone, begin, end)
            by_day = Counter(moment.astimezone(zone).date() for moment in moments)
            assert [by_day[day] for day in days] == [1] * len(days), (zone, schedule)
            clock_times = {moment.astimezone(zone).time() for moment in moments}
            assert len(clock_times - {time(hour, minute)}) <= 1, zone  # one day of a change


def test_every_time_of_the_days_around_a_change_is_due_once_in_all_zones(zones):
    """A time is due at the first moment at which the clock shows it or has passed it."""
    for zone, clocks, changes in zones:
        for change in changes:
            if not 300 < change < len(clocks) - 400:
                continue
            near = clocks[change - 200 : change + 200]
            latest = list(accumulate(near, max))  # a clock that is put back shows no new time
            days = sorted({clock.date() for clock in near})[1:-1]
            begin, end = MOMENTS[change - 60], MOMENTS[change + 60]
            for quarter in range(96):
                at_time = time(*divmod(quarter * 15, 60))
                positions = [bisect_left(latest, datetime.combine(day, at_time)) for day in days]
                first = [MOMENTS[change - 200 + position] for position in positions]
                expected = [moment for moment in first if begin <= moment < end]
                schedule = f"{at_time.minute} {at_time.hour} * * *"
                assert due(schedule, zone, begin, end) == expected, (zone, schedule)


def test_a_schedule_of_every_hour_is_due_whenever_the_clock_shows_its_minutes(zones):
    for zone, clocks, changes in zones:
        for change in changes:
            if not 300 < change < len(clocks) - 400:
                continue
            near = range(change - 140, change + 140)
            begin, end = MOMENTS[near[0]], MOMENTS[near[-1]]
            for minutes in ((0,), (45,), (0, 15, 30, 45)):
                expected = [MOMENTS[i] for i in near[:-1] if clocks[i].minute in minutes]
                schedule = f"{','.join(map(str, minutes))} * * * *"
                assert due(schedule, zone, begin, end) == expected, (zone, schedule)


@pytest.mark.parametrize(
    ("zone", "schedule", "after", "expected"),
    [
        ("Europe/Warsaw", "30 0 * * *", "2026-03-29T00:00", "2026-03-29T22:30"),
        ("America/New_York", "30 0 * * *", "2026-03-09T00:00", "2026-03-09T04:30"),
        ("Australia/Sydney", "0 0 * * 1", "2026-10-04T00:00", "2026-10-04T13:00"),
        ("America/Santiago", "30 0 * * *", "2026-09-06T00:00", "2026-09-06T04:00"),
        ("Africa/Cairo", "0 0 * * 5", "2026-04-20T00:00", "2026-04-23T22:00"),
        ("Europe/Warsaw", "30 2 * * *", "2026-10-25T00:30", "2026-10-26T01:30"),
        ("Europe/Warsaw", "0 3 31 3 *", "2020-04-01T00:00", "2021-03-31T01:00"),
        ("Pacific/Apia", "0 3 * * *", "2011-12-29T14:00", "2011-12-30T10:00"),  # a day less
    ],
)
def test_days_of_a_change_are_not_lost(zone, schedule, after, expected):
    begin, moment = (datetime.fromisoformat(text).replace(tzinfo=UTC) for text in (after, expected))
    assert parse_schedule(schedule, zone).next_after(begin) == moment
    assert last_due(schedule, zone, begin, moment + timedelta(minutes=1)) == moment


def test_quiet_hours_end_when_the_clock_has_passed_their_end():
    quiet = QuietHours(time(22), time(2, 30), ZoneInfo("Europe/Warsaw"))
    skipped = datetime(2026, 3, 29, 0, 30, tzinfo=UTC)
    assert quiet.ends_after(skipped) == datetime(2026, 3, 29, 1, tzinfo=UTC)
    repeated = datetime(2026, 10, 25, 0, tzinfo=UTC)
    assert quiet.ends_after(repeated) == datetime(2026, 10, 25, 0, 30, tzinfo=UTC)


def test_the_scheduler_waits_by_the_monotonic_clock(history, monkeypatch):
    looks, clock = [], [now()]
    scheduler = Scheduler(history.store, None, seconds=0.001)
    monkeypatch.setattr(scheduler_module, "now", lambda: clock[0])
    monkeypatch.setattr(scheduler, "look", lambda: looks.append(clock[0]))
    scheduler.start()
    for days in (0, 400, -400, -1):
        clock[0] = now() + timedelta(days=days)
        look_count = len(looks)
        until(lambda before=look_count: len(looks) > before + 2)
    scheduler.stop()
    until(lambda: "schedule" not in {thread.name for thread in threading.enumerate()})


def test_jobs_go_on_when_the_clock_is_put_back(history, monkeypatch):
    """After a start with a wrong clock, runs in the future do not block jobs due now."""

    def ended(store, _job, run, _folder, **_):
        with store.write() as connection:
            scheduled_jobs.mark_done(connection, run.id, run.owner, log="")
        return run

    monkeypatch.setattr(scheduler_module, "execute_run", ended)
    scheduler = Scheduler(history.store, None)
    with history.store.write() as connection:
        set_jobs(connection, history.project, read_jobs(JOB))
        job = scheduled_jobs.get_job(connection, history.project, "nightly")

    def look(moment):
        scheduler.look(moment)
        scheduler.wait()
        with history.store.read() as connection:
            return [run.due_at for run in reversed(scheduled_jobs.list_runs(connection, job.id))]

    first = parse_schedule(JOB.split('"')[5], "UTC").next_after(job.changed_at)
    wrong = first + timedelta(days=300)
    assert look(first) == [first]
    assert look(wrong) == [first, wrong]
    day = timedelta(days=1)
    assert look(first + timedelta(minutes=10)) == [first, wrong]  # it is not run again
    assert look(first + day) == [first, first + day, wrong]
    assert look(first + day * 2) == [first, first + day, first + day * 2, wrong]
    early = job.changed_at - day * 20  # before the job was changed
    moment = parse_schedule(JOB.split('"')[5], "UTC").next_after(early)
    assert look(moment + timedelta(seconds=10))[0] == moment
    scheduler.stop()


def test_what_waits_for_a_moment_of_a_wrong_clock_is_taken_up(history):
    wrong = timedelta(days=300)
    with history.store.write() as connection:
        assert rows.acquire(connection, "schedule", "gone:1", wrong)
        assert rows.acquire(connection, "schedule", "new:2", timedelta(minutes=1))
        assert not rows.acquire(connection, "schedule", "gone:1", timedelta(minutes=1))
        set_jobs(connection, history.project, read_jobs(JOB))
        job = scheduled_jobs.get_job(connection, history.project, "nightly")
        scheduled_jobs.plan_run(connection, job.id, now())
        assert scheduled_jobs.take_run(connection, "gone:1", lease=timedelta(minutes=2), moment=now() + wrong)
        assert scheduled_jobs.take_run(connection, "new:2", lease=timedelta(minutes=2))
        assert scheduled_jobs.take_run(connection, "other:3", lease=timedelta(minutes=2)) is None
        fired = alerts.fire_alert(
            connection,
            history.project,
            "key",
            rule="low",
            message="low",
            record=None,
            metric="nDCG@10",
            system="new",
            slice="",
            evidence={},
            at=now(),
        )
        note = alerts.add_notification(connection, fired.alert.id, "fired", "team", not_before=None)
        assert alerts.claim_notifications(connection, now() + wrong, timedelta(minutes=2))
        assert [notification.id for notification in alerts.find_due(connection, now())] == [note.id]


def test_alerts_are_checked_again_when_the_clock_is_put_back(history, monkeypatch):
    checked = []
    monkeypatch.setattr(
        scheduler_module, "check_alerts", lambda _store, _project, moment: checked.append(moment)
    )
    history.rules('[[rules]]\nid = "old"\nkind = "stale"\nmetric = "nDCG@10"\ndays = 1\n')
    scheduler, moment = Scheduler(history.store, None), now()
    for later in (0, 2, 6, -600, -599, -594):
        scheduler.look(moment + timedelta(minutes=later))
    assert checked == [moment + timedelta(minutes=later) for later in (0, 6, -600, -594)]
    scheduler.stop()
