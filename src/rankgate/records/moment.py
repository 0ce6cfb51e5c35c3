"""Moments as people write them."""

from __future__ import annotations

from datetime import UTC, date, datetime

from rankgate.errors import UsageError


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


def _read(words: str) -> datetime:
    try:
        return datetime.fromisoformat(words)
    except ValueError:
        problem = f"{words!r} is not a moment; write 2026-03-01 or 2026-03-01T12:00:00+00:00."
        raise UsageError(problem, code="invalid-moment") from None
