"""Parse and format times for people, and compute the times at which a job is due.

Times are read in usual notations and shown in the local time of a time zone. The due times of a job
come from five cron fields in a time zone, with daylight saving.

APScheduler reads the fields and counts the days, on a clock without daylight saving. This
module converts times of a zone's clock to moments (APScheduler's own trigger loses the days on
which the clock is put forward, and runs a job twice where it is put back):

- a time that the clock skips is due when the clock is put forward,
- a time that the clock shows twice is due the first time,
- a schedule of every hour goes by elapsed time: it is due whenever the clock shows its
  minutes.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from datetime import UTC, date, datetime, timedelta
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from rankgate.core.errors import UsageError, require
from rankgate.core.frozen import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterator

    from apscheduler.triggers.cron import CronTrigger


def parse_moment(date_or_text: str | date) -> datetime:
    """A time in UTC; a text without a zone is in UTC.

    Raises:
        UsageError: the text is not a time.

    >>> parse_moment("2026-03-01").isoformat()
    '2026-03-01T00:00:00+00:00'
    """
    moment: date = date_or_text if isinstance(date_or_text, date) else _parse_text(date_or_text)
    if not isinstance(moment, datetime):
        moment = datetime(moment.year, moment.month, moment.day, tzinfo=UTC)
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).astimezone(UTC)


def clock_time(moment: datetime, zone: ZoneInfo) -> datetime:
    """The local time of a zone at a moment, without the zone."""
    return moment.astimezone(zone).replace(tzinfo=None, fold=0)


def first_moment_of(clock: datetime, zone: ZoneInfo) -> datetime:
    """The first moment at which a zone's local time reaches or passes a given time.

    >>> first_moment_of(datetime(2026, 3, 29, 2, 30), ZoneInfo("Europe/Warsaw")).isoformat()
    '2026-03-29T01:00:00+00:00'
    """
    moment = clock.replace(tzinfo=zone, fold=0).astimezone(UTC)
    if clock_time(moment, zone) == clock:
        return moment
    # the clock skips this time, by at most the difference of the two offsets
    before = clock.replace(tzinfo=zone, fold=1).astimezone(UTC)
    seconds = range(int((moment - before).total_seconds()))
    passed_seconds = bisect_left(
        seconds, clock, key=lambda second: clock_time(before + timedelta(seconds=second), zone)
    )
    return before + timedelta(seconds=passed_seconds)


def _parse_text(text: str) -> datetime:
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        problem = f"{text!r} is not a moment; write 2026-03-01 or 2026-03-01T12:00:00+00:00."
        raise UsageError(problem, code="invalid-moment") from None


_DAY_NAMES = ("sun", "mon", "tue", "wed", "thu", "fri", "sat", "sun")
_LOOKBACKS = (timedelta(days=1), timedelta(days=35))
_DAY = timedelta(days=1)


@dataclass(frozen=True)
class Schedule:
    """The due times of a schedule in a time zone.

    Attributes:
        fields: the cron fields, on a clock without daylight saving.
        zone: the time zone.
        hourly: True if the schedule runs in every hour, and so by elapsed time.
    """

    fields: CronTrigger
    zone: ZoneInfo
    hourly: bool

    def next_after(self, moment: datetime) -> datetime | None:
        """The first due time after a moment, or None."""
        start = clock_time(moment, self.zone)
        if not self.hourly:
            due_times = (first_moment_of(clock, self.zone) for clock in self._clocks(start))
            return next((due_at for due_at in due_times if due_at > moment), None)
        # if the clock is put back within a day, some earlier local times appear again
        shifted_start = clock_time(moment + _DAY, self.zone) - _DAY
        starts = {start, min(start, shifted_start)}
        candidates = (
            next((due_at for due_at in self._clock_moments(first) if due_at > moment), None)
            for first in starts
        )
        return min((due_at for due_at in candidates if due_at is not None), default=None)

    def _clock_moments(self, start: datetime) -> Iterator[datetime]:
        """The moments of scheduled local times after a start; a time has two, one or none."""
        for clock in self._clocks(start):
            moments = (clock.replace(tzinfo=self.zone, fold=fold) for fold in (0, 1))
            times = dict.fromkeys(moment.astimezone(UTC) for moment in moments)
            yield from (moment for moment in times if clock_time(moment, self.zone) == clock)

    def _clocks(self, start: datetime) -> Iterator[datetime]:
        """The scheduled local times after a start."""
        clock = start
        while True:
            after = clock.replace(tzinfo=UTC) + timedelta(microseconds=1)
            fire_time = self.fields.get_next_fire_time(None, after)
            if fire_time is None:
                return
            clock = fire_time.replace(tzinfo=None)
            yield clock


def parse_schedule(schedule: str, timezone: str) -> Schedule:
    """Parse a schedule.

    Args:
        schedule: minute, hour, day of the month, month, day of the week, as in cron: Sunday is 0
            and 7.
        timezone: a name such as ``Europe/Warsaw``.

    Raises:
        UsageError: the schedule or the time zone is invalid (``invalid-schedule``).
        MissingExtraError: APScheduler is not installed.
    """
    require("schedules need APScheduler", "apscheduler")
    from apscheduler.triggers.cron import CronTrigger

    fields = schedule.lower().split()
    if len(fields) != 5:
        raise _invalid_schedule(schedule, "five fields, as in 0 3 * * *")
    fields[4] = re.sub(r"(?<![/\w])[0-7](?!\w)", lambda day: _DAY_NAMES[int(day[0])], fields[4])
    try:
        zone = ZoneInfo(timezone)
        names = ("minute", "hour", "day", "month", "day_of_week")
        cron = CronTrigger(**dict(zip(names, fields, strict=True)), timezone=UTC)
        return Schedule(cron, zone, hourly=fields[1] in {"*", "*/1"})
    except (ZoneInfoNotFoundError, OSError):
        raise _invalid_schedule(timezone, "a time zone such as Europe/Warsaw") from None
    except ValueError as error:
        raise _invalid_schedule(schedule, str(error)) from None


def _invalid_schedule(text: str, problem: str) -> UsageError:
    return UsageError(f"the schedule {text!r}: {problem}.", code="invalid-schedule")


def last_due(schedule: str, timezone: str, after: datetime, until: datetime) -> datetime | None:
    """The last due time after one moment and up to another; None if there is none."""
    moments = parse_schedule(schedule, timezone)
    starts = (max(after, until - recent) for recent in _LOOKBACKS)
    for start in dict.fromkeys((*starts, after)):
        last = None
        due_at = moments.next_after(start)
        while due_at is not None and due_at <= until:
            last, due_at = due_at, moments.next_after(due_at)
        if last is not None:
            return last
    return None


def next_due(schedule: str, timezone: str, after: datetime) -> datetime | None:
    """The first due time after a moment; None if the schedule is never due."""
    return parse_schedule(schedule, timezone).next_after(after)
