"""Send waiting messages; failed messages are retried after increasing delays."""

from __future__ import annotations

import logging
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from rankgate.core.errors import RankgateError, UsageError
from rankgate.core.frozen import dataclass
from rankgate.store.material import projects
from rankgate.store.records import alerts
from rankgate.store.rows import now
from rankgate.workspace.records.alerts import alert_channels
from rankgate.workspace.records.alerts.alert_channels import Message
from rankgate.workspace.records.alerts.alert_rules import read_rules

if TYPE_CHECKING:
    from rankgate.store.records.alerts import Notification
    from rankgate.store.store import Store
    from rankgate.workspace.records.alerts.alert_rules import Channel


_LOG = logging.getLogger("rankgate.alerts")
_LEASE = timedelta(minutes=2)
RETRY_DELAYS = tuple(timedelta(minutes=minutes) for minutes in (1, 5, 15, 60, 240))
"""The wait before each retry; after the last retry, the message has failed."""


@dataclass(frozen=True)
class DeliveryCounts:
    """The numbers of messages that were sent, will be retried, and have failed permanently."""

    sent: int = 0
    later: int = 0
    failed: int = 0


def send(channel: Channel, message: Message, *, allow_http: bool = False) -> None:
    """Send a message through its channel; plain HTTP for webhooks must be allowed.

    Raises:
        UsageError: the message could not be sent.
    """
    if channel.kind == "webhook":
        alert_channels.post_webhook(channel, message, allow_http=allow_http)
    else:
        alert_channels.send_mail(channel, message)


def deliver(
    store: Store,
    project: str | None = None,
    *,
    link: str = "",
    allow_http: bool = False,
    moment: datetime | None = None,
) -> DeliveryCounts:
    """Send the messages that are due, without an open transaction during requests.

    Args:
        store: an open store.
        project: only messages of this project.
        link: the address of the server, for links in messages.
        allow_http: True to allow plain HTTP for webhooks.
        moment: the time of the delivery; by default now.

    Raises:
        UsageError: the project does not exist; the database cannot be reached.
    """
    current_time = moment or now()
    with store.write() as connection:
        number = None if project is None else projects.get_by_name(connection, project).id
        due_notifications = alerts.claim_notifications(connection, current_time, _LEASE, project=number)
    counts = {"sent": 0, "later": 0, "failed": 0}
    for notification in due_notifications:
        counts[_send_notification(store, notification, link, current_time, allow_http=allow_http)] += 1
    return DeliveryCounts(**counts)


def _send_notification(
    store: Store, notification: Notification, link: str, moment: datetime, *, allow_http: bool
) -> str:
    """Send a notification; return ``sent``, ``later`` or ``failed``."""
    with store.read() as connection:
        alert = alerts.alert_by_number(connection, notification.alert)
        project = projects.get(connection, alert.project)
        alert_notifications = alerts.notifications_of_alert(connection, alert.id)
    is_announced = any(
        announcement.channel == notification.channel
        and announcement.event == "fired"
        and announcement.state == "sent"
        for announcement in alert_notifications
    )
    is_outdated = notification.event == "fired" and alert.state == "resolved"
    if is_outdated or (notification.event == "resolved" and not is_announced):
        return _mark_failed(store, notification, "it ended before a message was sent", None)
    page = f"{link}/projects/{project.name}/alerts" if link else ""
    try:
        rules = read_rules(project.settings.get("alerts", ""), f"alerts of {project.name}")
        channel = rules.channels.get(notification.channel)
        if channel is None:
            return _mark_failed(store, notification, "the channel is gone", None)
        message = Message(notification.id, notification.event, project.name, alert, page)
        send(channel, message, allow_http=allow_http)
    except RankgateError as error:
        _LOG.warning("alert %d of %s: %s", alert.id, project.name, error)
        wait = RETRY_DELAYS[notification.tries] if notification.tries < len(RETRY_DELAYS) else None
        return _mark_failed(store, notification, str(error), None if wait is None else moment + wait)
    with store.write() as connection:
        alerts.mark_sent(connection, notification.id)
    return "sent"


def _mark_failed(store: Store, notification: Notification, error: str, retry_at: datetime | None) -> str:
    with store.write() as connection:
        alerts.mark_failed(connection, notification.id, error, retry_at)
    return "failed" if retry_at is None else "later"


def test_channel(store: Store, project: str, name: str, *, allow_http: bool) -> None:
    """Send a test message through a channel of a project; plain HTTP must be allowed.

    Raises:
        UsageError: the project or channel does not exist; the message could not be sent.
        InputError: the rules of the project cannot be read.
    """
    with store.read() as connection:
        stored_project = projects.get_by_name(connection, project)
    rules = read_rules(stored_project.settings.get("alerts", ""), f"alerts of {project}")
    if name not in rules.channels:
        channel_names = ", ".join(rules.channels) or "none"
        problem = f"there is no channel {name!r}; there is {channel_names}."
        raise UsageError(problem, code="unknown-channel")
    send(rules.channels[name], Message(0, "test", stored_project.name, None), allow_http=allow_http)
