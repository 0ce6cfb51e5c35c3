"""Notifications of alerts: what is to be sent, what was sent, what failed."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import TYPE_CHECKING

import sqlalchemy as sa

from rankgate.core.frozen import dataclass
from rankgate.store.rows import new_id, now, numbered, over, value_of
from rankgate.store.tables.watching import alerts, notifications

if TYPE_CHECKING:
    from sqlalchemy import Connection

_LONGEST = timedelta(days=1, hours=1)  # quiet hours, on the day on which the clock is put back


@dataclass(frozen=True)
class Notification:
    """A message about an alert.

    Attributes:
        id: the number.
        alert: the number of the alert.
        event: what is announced, such as ``fired`` or ``resolved``.
        channel: the name of a channel in the project's settings.
        state: ``waiting``, ``sent`` or ``failed`` after the last try.
        tries: how often it was tried.
        next_try_at: not before; None is now.
        error: of the last try.
        created_at, sent_at: moments.
    """

    id: int
    alert: int
    event: str
    channel: str
    state: str
    tries: int
    next_try_at: datetime | None
    error: str
    created_at: datetime
    sent_at: datetime | None


def add(
    connection: Connection, alert: int, event: str, channel: str, *, not_before: datetime | None
) -> Notification:
    """Add a notification that waits to be sent."""
    number = new_id(
        connection, notifications, alert=alert, event=event, channel=channel, created_at=now(),
        next_try_at=not_before,
    )  # fmt: skip
    return get(connection, number)


def get(connection: Connection, notification: int) -> Notification:
    """A notification by number.

    Raises:
        UsageError: there is none.
    """
    return numbered(connection, Notification, notifications, notification, "notification")


def due(
    connection: Connection, moment: datetime, *, project: int | None = None, most: int = 100
) -> list[Notification]:
    """Notifications that wait and may be sent at a moment, the oldest first."""
    chosen = sa.select(notifications).where(
        notifications.c.state == "waiting",
        sa.or_(
            notifications.c.next_try_at.is_(None),
            over(notifications.c.next_try_at, moment, _LONGEST),
        ),
    )
    if project is not None:
        here = alerts.c.project == project
        chosen = chosen.join(alerts, alerts.c.id == notifications.c.alert).where(here)
    rows = connection.execute(chosen.order_by(notifications.c.id).limit(most))
    return [value_of(Notification, row) for row in rows]


def claim(
    connection: Connection, moment: datetime, lease: timedelta, *, project: int | None = None
) -> list[Notification]:
    """Take the notifications that are due, so that no other process sends them.

    Args:
        connection: of a store, to write.
        moment: now.
        lease: how long they stay taken; one whose process died is sent again after it.
        project: only of this one.
    """
    found = due(connection, moment, project=project)
    taken = []
    for each in found:
        same = notifications.c.next_try_at.is_not_distinct_from(each.next_try_at)
        here = sa.and_(notifications.c.id == each.id, notifications.c.state == "waiting", same)
        changed = sa.update(notifications).where(here).values(next_try_at=moment + lease)
        if connection.execute(changed).rowcount:
            taken.append(each)
    return taken


def of_alert(connection: Connection, alert: int) -> list[Notification]:
    """The notifications of an alert, the oldest first."""
    chosen = sa.select(notifications).where(notifications.c.alert == alert)
    rows = connection.execute(chosen.order_by(notifications.c.id))
    return [value_of(Notification, row) for row in rows]


def sent(connection: Connection, notification: int) -> None:
    """Note that a notification was sent."""
    table = notifications
    values = {"state": "sent", "tries": table.c.tries + 1, "sent_at": now(), "error": ""}
    connection.execute(sa.update(table).where(table.c.id == notification).values(**values))


def failed(
    connection: Connection, notification: int, error: str, next_try_at: datetime | None
) -> None:
    """Note that a try failed.

    Args:
        connection: of a store, to write.
        notification: which.
        error: why.
        next_try_at: when it is tried again; None is never.
    """
    table = notifications
    values = {
        "state": "failed" if next_try_at is None else "waiting",
        "tries": table.c.tries + 1,
        "next_try_at": next_try_at,
        "error": error,
    }
    connection.execute(sa.update(table).where(table.c.id == notification).values(**values))
