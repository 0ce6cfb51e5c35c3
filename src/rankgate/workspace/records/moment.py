"""Moments as people write them, and as the clock of a time zone shows them."""

from __future__ import annotations

from bisect import bisect_left
from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

from rankgate.core.errors import UsageError


def moment_of(at: str | date) -> datetime:
    """A moment in UTC; one without a zone is in UTC already.

    Raises:
        UsageError: it is not one.

    >>> moment_of("2026-03-01").isoformat()
    '2026-03-01T00:00:00+00:00'
    """
    found: date = at if isinstance(at, date) else _read(at)
    if not isinstance(found, datetime):
        found = datetime(found.year, found.month, found.day, tzinfo=UTC)
    return (found if found.tzinfo else found.replace(tzinfo=UTC)).astimezone(UTC)


def clock_of(moment: datetime, zone: ZoneInfo) -> datetime:
    """What a zone's clock shows at a moment, without the zone."""
    return moment.astimezone(zone).replace(tzinfo=None, fold=0)


def first_shown(clock: datetime, zone: ZoneInfo) -> datetime:
    """The first moment at which a zone's clock shows a time, or has passed it.

    >>> first_shown(datetime(2026, 3, 29, 2, 30), ZoneInfo("Europe/Warsaw")).isoformat()
    '2026-03-29T01:00:00+00:00'
    """
    moment = clock.replace(tzinfo=zone, fold=0).astimezone(UTC)
    if clock_of(moment, zone) == clock:
        return moment
    # the clock skips this time, by at most the difference of the two
    before = clock.replace(tzinfo=zone, fold=1).astimezone(UTC)
    seconds = range(int((moment - before).total_seconds()))
    passed = bisect_left(
        seconds, clock, key=lambda second: clock_of(before + timedelta(seconds=second), zone)
    )
    return before + timedelta(seconds=passed)


def _read(words: str) -> datetime:
    try:
        return datetime.fromisoformat(words)
    except ValueError:
        problem = f"{words!r} is not a moment; write 2026-03-01 or 2026-03-01T12:00:00+00:00."
        raise UsageError(problem, code="invalid-moment") from None
