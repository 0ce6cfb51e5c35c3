"""Fired alerts and their notifications.

Each key has at most one unresolved alert. Notifications record messages that are waiting, were
sent, or failed.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import TYPE_CHECKING

import sqlalchemy as sa

from rankgate.core.frozen import dataclass
from rankgate.store.rows import (
    find_value,
    get_by_number,
    has_ended,
    insert,
    list_values,
    new_id,
    now,
    unknown_error,
    update_row,
)
from rankgate.store.tables.record_tables import alerts, notifications

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from rankgate.core.value_types import JsonObject


@dataclass(frozen=True)
class Alert:
    """An alert of a project.

    Attributes:
        id: the number.
        project: the number of its project.
        key: the identity of alerts: rule, metric, system, slice.
        rule: its name in the project's rules.
        message: one sentence.
        record: the number of the record that fired the alert last, if any.
        metric, system, slice: the series of the alert, if any.
        first_at, last_at: the times when the alert first and last fired.
        count: the number of times the alert fired.
        state: ``open``, ``acknowledged`` or ``resolved``.
        acknowledged_at, acknowledged_by: the time and the user of the acknowledgement.
        resolved_at: the time when the alert was resolved.
        evidence: the figures that fired the alert last.
    """

    id: int
    project: int
    key: str
    rule: str
    message: str
    record: int | None
    metric: str | None
    system: str
    slice: str
    first_at: datetime
    last_at: datetime
    count: int
    state: str
    acknowledged_at: datetime | None
    acknowledged_by: int | None
    resolved_at: datetime | None
    evidence: JsonObject


@dataclass(frozen=True)
class FiredAlert:
    """A fired alert, new or repeated.

    Attributes:
        alert: the alert.
        new: False if an unresolved alert with its key fired again.
    """

    alert: Alert
    new: bool


def fire_alert(
    connection: Connection,
    project: int,
    key: str,
    *,
    message: str,
    record: int | None = None,
    evidence: JsonObject | None = None,
    at: datetime | None = None,
    **more: object,
) -> FiredAlert:
    """Fire a new alert, or repeat the unresolved alert with the same key.

    Args:
        connection: a connection to a store, for writing.
        project: the number of the project.
        key: the identity of the alert.
        message: one sentence.
        record: the record that fired the alert.
        evidence: the figures.
        at: the time; by default now.
        more: the rule of the alert, and the metric, system and slice of its series.
    """
    moment = at or now()
    earlier_alert = find_unresolved(connection, project, key)
    latest = {"message": message, "record": record, "evidence": dict(evidence or {}), "last_at": moment}
    columns = {"project": project, "key": key, "first_at": moment, **latest, **more}
    statement = insert(connection, alerts).values(columns)
    connection.execute(
        statement.on_conflict_do_update(
            index_elements=["project", "key"],
            index_where=sa.text("state <> 'resolved'"),
            set_={**latest, "count": alerts.c["count"] + 1},
        )
    )
    alert = find_unresolved(connection, project, key)
    assert alert is not None
    return FiredAlert(alert, new=earlier_alert is None)


def find_unresolved(connection: Connection, project: int, key: str) -> Alert | None:
    """The unresolved alert with a key, or None."""
    condition = sa.and_(alerts.c.project == project, alerts.c.key == key, alerts.c.state != "resolved")
    return find_value(connection, Alert, sa.select(alerts).where(condition))


def get_alert(connection: Connection, project: int, alert: int) -> Alert:
    """An alert of a project by number.

    Raises:
        UsageError: the alert or notification does not exist.
    """
    alert_row = alert_by_number(connection, alert)
    if alert_row.project != project:
        raise unknown_error("alert", alert)
    return alert_row


def alert_by_number(connection: Connection, alert: int) -> Alert:
    """An alert of any project by number, for the process that sends messages.

    Raises:
        UsageError: the alert or notification does not exist.
    """
    return get_by_number(connection, Alert, alerts, alert, "alert")


def list_alerts(
    connection: Connection, project: int, *, state: str | None = None, most: int = 100
) -> list[Alert]:
    """The latest alerts of a project, newest first."""
    statement = sa.select(alerts).where(alerts.c.project == project)
    if state is not None:
        statement = statement.where(alerts.c.state == state)
    order = (alerts.c.last_at.desc(), alerts.c.id.desc())
    return list_values(connection, Alert, statement.order_by(*order).limit(most))


def acknowledge_alert(connection: Connection, project: int, alert: int, user: int | None = None) -> Alert:
    """Mark an open alert as acknowledged.

    Raises:
        UsageError: the alert or notification does not exist.
    """
    condition = sa.and_(alerts.c.project == project, alerts.c.id == alert, alerts.c.state == "open")
    values = {"state": "acknowledged", "acknowledged_at": now(), "acknowledged_by": user}
    connection.execute(sa.update(alerts).where(condition).values(**values))
    return get_alert(connection, project, alert)


def resolve_alert(connection: Connection, project: int, alert: int) -> Alert:
    """Mark an alert as resolved.

    Raises:
        UsageError: the alert or notification does not exist.
    """
    condition = sa.and_(alerts.c.project == project, alerts.c.id == alert, alerts.c.state != "resolved")
    connection.execute(sa.update(alerts).where(condition).values(state="resolved", resolved_at=now()))
    return get_alert(connection, project, alert)


_MAX_QUIET = timedelta(days=1, hours=1)  # on the day when the clock is put back


@dataclass(frozen=True)
class Notification:
    """A message about an alert.

    Attributes:
        id: the number.
        alert: the number of the alert.
        event: the event, such as ``fired`` or ``resolved``.
        channel: the name of a channel in the project's settings.
        state: ``waiting``, ``sent`` or ``failed`` after the last try.
        tries: the number of attempts.
        next_try_at: the earliest time of the next attempt; None means now.
        error: the error of the last try.
        created_at, sent_at: the times of creation and sending.
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
    """Add a notification with the state ``waiting``."""
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
        UsageError: the alert or notification does not exist.
    """
    return get_by_number(connection, Notification, notifications, notification, "notification")


def find_due(
    connection: Connection, moment: datetime, *, project: int | None = None, most: int = 100
) -> list[Notification]:
    """Waiting notifications that may be sent at a given time, the oldest first."""
    statement = sa.select(notifications).where(
        notifications.c.state == "waiting",
        sa.or_(
            notifications.c.next_try_at.is_(None), has_ended(notifications.c.next_try_at, moment, _MAX_QUIET)
        ),
    )
    if project is not None:
        in_project = alerts.c.project == project
        statement = statement.join(alerts, alerts.c.id == notifications.c.alert).where(in_project)
    return list_values(connection, Notification, statement.order_by(notifications.c.id).limit(most))


def claim_notifications(
    connection: Connection, moment: datetime, lease: timedelta, *, project: int | None = None
) -> list[Notification]:
    """Claim the notifications that are due, so that no other process sends them.

    Args:
        connection: a connection to a store, for writing.
        moment: the current time.
        lease: the duration of the lock; if the process dies, another process sends the notification
            after this time.
        project: only notifications of this project.
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
    return list_values(connection, Notification, statement.order_by(notifications.c.id))


def mark_sent(connection: Connection, notification: int) -> None:
    """Record that a notification was sent."""
    table = notifications
    values = {"state": "sent", "tries": table.c.tries + 1, "sent_at": now(), "error": ""}
    update_row(connection, table, notification, **values)


def mark_failed(connection: Connection, notification: int, error: str, next_try_at: datetime | None) -> None:
    """Record a failed try.

    Args:
        connection: a connection to a store, for writing.
        notification: the number of the notification.
        error: the reason.
        next_try_at: the time of the next attempt; None means never.
    """
    table = notifications
    values = {
        "state": "failed" if next_try_at is None else "waiting",
        "tries": table.c.tries + 1,
        "next_try_at": next_try_at,
        "error": error,
    }
    update_row(connection, table, notification, **values)
