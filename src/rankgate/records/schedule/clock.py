"""When a job is due: five fields of cron in a time zone, with daylight saving."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, cast
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from rankgate.errors import MissingExtraError, UsageError

if TYPE_CHECKING:
    from apscheduler.triggers.cron import CronTrigger

_DAYS = ("sun", "mon", "tue", "wed", "thu", "fri", "sat", "sun")
_RECENT = timedelta(days=35)


def trigger(schedule: str, timezone: str) -> CronTrigger:
    """The moments of a schedule.

    Args:
        schedule: minute, hour, day of the month, month, day of the week, as cron has them:
            Sunday is 0 and 7.
        timezone: a name such as ``Europe/Warsaw``.

    Raises:
        UsageError: the schedule or the time zone is none (``invalid-schedule``).
        MissingExtraError: APScheduler is not installed.
    """
    try:
        from apscheduler.triggers.cron import CronTrigger
    except ImportError:
        words = "schedules need more packages; pip install 'rankgate[serve]'."
        raise MissingExtraError(words) from None
    fields = schedule.lower().split()
    if len(fields) != 5:
        raise _wrong(schedule, "five fields, as in 0 3 * * *")
    fields[4] = re.sub(r"(?<![/\w])[0-7](?!\w)", lambda day: _DAYS[int(day[0])], fields[4])
    try:
        zone = ZoneInfo(timezone)
        names = ("minute", "hour", "day", "month", "day_of_week")
        return CronTrigger(**dict(zip(names, fields, strict=True)), timezone=zone)
    except (ZoneInfoNotFoundError, OSError):
        raise _wrong(timezone, "a time zone such as Europe/Warsaw") from None
    except ValueError as error:
        raise _wrong(schedule, str(error)) from None


def _wrong(words: str, wanted: str) -> UsageError:
    return UsageError(f"the schedule {words!r}: {wanted}.", code="invalid-schedule")


def last_due(schedule: str, timezone: str, after: datetime, until: datetime) -> datetime | None:
    """The last moment of a schedule after one moment, and not after another; None without any."""
    found = trigger(schedule, timezone)
    for start in dict.fromkeys((max(after, until - _RECENT), after)):
        last = None
        at = _next(found, start)
        while at is not None and at <= until:
            last, at = at, _next(found, at)
        if last is not None:
            return last
    return None


def next_due(schedule: str, timezone: str, after: datetime) -> datetime | None:
    """The first moment of a schedule after a moment; None if there is never one."""
    return _next(trigger(schedule, timezone), after)


def _next(found: CronTrigger, after: datetime) -> datetime | None:
    at = found.get_next_fire_time(None, after + timedelta(microseconds=1))
    return None if at is None else cast("datetime", at).astimezone(UTC)
