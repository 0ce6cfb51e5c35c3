"""Points in time as products write them."""

from __future__ import annotations

from datetime import UTC, datetime

from rankgate.core.errors import InputError


def parse_time(text: str, name: str, label: str, line: int | None = None) -> datetime:
    """A point in time from ISO 8601 or Rails' ``2026-01-31 12:00:00 UTC``; without a zone, UTC.

    Args:
        text: what is written.
        name: its name, for the error.
        label: the file.
        line: its line, if known.

    Raises:
        InputError: it is not valid.

    >>> parse_time("2026-01-31 12:00:00 UTC", "time", "file").isoformat()
    '2026-01-31T12:00:00+00:00'
    """
    plain_text = text.strip().removesuffix(" UTC").strip()
    try:
        time = datetime.fromisoformat(plain_text)
        return time.replace(tzinfo=UTC) if time.tzinfo is None else time.astimezone(UTC)
    except (ValueError, OverflowError):
        problem = f"{name} '{text[:40]}' is not a point in time such as 2026-01-31T12:00:00Z."
        raise InputError(problem, source=label, line=line, code="not-a-time") from None


def format_time(time: datetime | None, *, zone: bool = True) -> str | None:
    """ISO 8601 with the digits that are needed, in UTC.

    >>> format_time(datetime(2026, 1, 31, 12, tzinfo=UTC))
    '2026-01-31T12:00:00Z'
    """
    if time is None:
        return None
    return time.astimezone(UTC).replace(tzinfo=None).isoformat() + ("Z" if zone else "")
