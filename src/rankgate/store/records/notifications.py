"""Notifications of alerts: what is to be sent, what was sent, what failed."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import TYPE_CHECKING

import sqlalchemy as sa

from rankgate.core.frozen import dataclass
from rankgate.store.rows import get_by_number, has_ended, new_id, now, value_of
from rankgate.store.tables.watching import alerts, notifications

if TYPE_CHECKING:
    from sqlalchemy import Connection

_MAX_QUIET = timedelta(days=1, hours=1)  # quiet hours, on the day on which the clock is put back


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


def add_notification(
    connection: Connection, alert: int, event: str, channel: str, *, not_before: datetime | None
) -> Notification:
    """Add a notification that waits to be sent."""
    number = new_id(
        connection,
        notifications,
        alert=alert,
        event=event,
        channel=channel,
        created_at=now(),
        next_try_at=not_before,
    )
    return get_notification(connection, number)


def get_notification(connection: Connection, notification: int) -> Notification:
    """A notification by number.

    Raises:
        UsageError: there is none.
    """
    return get_by_number(connection, Notification, notifications, notification, "notification")


def find_due(
    connection: Connection, moment: datetime, *, project: int | None = None, most: int = 100
) -> list[Notification]:
    """Notifications that wait and may be sent at a moment, the oldest first."""
    statement = sa.select(notifications).where(
        notifications.c.state == "waiting",
        sa.or_(
            notifications.c.next_try_at.is_(None),
            has_ended(notifications.c.next_try_at, moment, _MAX_QUIET),
        ),
    )
    if project is not None:
        in_project = alerts.c.project == project
        statement = statement.join(alerts, alerts.c.id == notifications.c.alert).where(in_project)
    rows = connection.execute(statement.order_by(notifications.c.id).limit(most))
    return [value_of(Notification, row) for row in rows]


def claim_notifications(
    connection: Connection, moment: datetime, lease: timedelta, *, project: int | None = None
) -> list[Notification]:
    """Take the notifications that are due, so that no other process sends them.

    Args:
        connection: of a store, to write.
        moment: now.
        lease: how long they stay taken; one whose process died is sent again after it.
        project: only of this one.
    """
    due_notifications = find_due(connection, moment, project=project)
    claimed = []
    for notification in due_notifications:
        is_unchanged = notifications.c.next_try_at.is_not_distinct_from(notification.next_try_at)
        is_claimable = sa.and_(
            notifications.c.id == notification.id, notifications.c.state == "waiting", is_unchanged
        )
        update = sa.update(notifications).where(is_claimable).values(next_try_at=moment + lease)
        if connection.execute(update).rowcount:
            claimed.append(notification)
    return claimed


def notifications_of_alert(connection: Connection, alert: int) -> list[Notification]:
    """The notifications of an alert, the oldest first."""
    statement = sa.select(notifications).where(notifications.c.alert == alert)
    rows = connection.execute(statement.order_by(notifications.c.id))
    return [value_of(Notification, row) for row in rows]


def mark_sent(connection: Connection, notification: int) -> None:
    """Record that a notification was sent."""
    table = notifications
    values = {"state": "sent", "tries": table.c.tries + 1, "sent_at": now(), "error": ""}
    connection.execute(sa.update(table).where(table.c.id == notification).values(**values))


def mark_failed(
    connection: Connection, notification: int, error: str, next_try_at: datetime | None
) -> None:
    """Record a failed try.

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
