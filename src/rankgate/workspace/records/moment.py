"""Moments as people write them, and as the clock of a time zone shows them."""

from __future__ import annotations

from bisect import bisect_left
from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

from rankgate.core.errors import UsageError


def parse_moment(date_or_text: str | date) -> datetime:
    """A moment in UTC; one without a zone is in UTC already.

    Raises:
        UsageError: it is not one.

    >>> parse_moment("2026-03-01").isoformat()
    '2026-03-01T00:00:00+00:00'
    """
    moment: date = date_or_text if isinstance(date_or_text, date) else _parse_text(date_or_text)
    if not isinstance(moment, datetime):
        moment = datetime(moment.year, moment.month, moment.day, tzinfo=UTC)
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).astimezone(UTC)


def clock_time(moment: datetime, zone: ZoneInfo) -> datetime:
    """The time that a zone's clock shows at a moment, without the zone."""
    return moment.astimezone(zone).replace(tzinfo=None, fold=0)


def first_moment_of(clock: datetime, zone: ZoneInfo) -> datetime:
    """The first moment at which a zone's clock shows a time, or has passed it.

    >>> first_moment_of(datetime(2026, 3, 29, 2, 30), ZoneInfo("Europe/Warsaw")).isoformat()
    '2026-03-29T01:00:00+00:00'
    """
    moment = clock.replace(tzinfo=zone, fold=0).astimezone(UTC)
    if clock_time(moment, zone) == clock:
        return moment
    # the clock skips this time, by at most the difference of the two
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
