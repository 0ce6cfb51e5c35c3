"""Send the messages that wait; what fails is tried again, later each time."""

from __future__ import annotations

import logging
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from rankgate.core.errors import RankgateError, UsageError
from rankgate.core.frozen import dataclass
from rankgate.store.material import projects
from rankgate.store.records import alerts, notifications
from rankgate.store.rows import now
from rankgate.workspace.records.alerts import mail, webhook
from rankgate.workspace.records.alerts.message import Message
from rankgate.workspace.records.alerts.rules import read_rules

if TYPE_CHECKING:
    from rankgate.store.records.notifications import Notification
    from rankgate.store.store import Store
    from rankgate.workspace.records.alerts.rules import Channel

_LOG = logging.getLogger("rankgate.alerts")
_LEASE = timedelta(minutes=2)
AGAIN = tuple(timedelta(minutes=each) for each in (1, 5, 15, 60, 240))
"""How long after each failure a message is tried again; then it has failed."""


@dataclass(frozen=True)
class Delivered:
    """How many messages were sent, will be tried again, and have failed for good."""

    sent: int = 0
    later: int = 0
    failed: int = 0


def send(channel: Channel, message: Message, *, allow_http: bool = False) -> None:
    """Send a message by its channel; a webhook over plain HTTP only where that is allowed.

    Raises:
        UsageError: it could not be sent.
    """
    if channel.kind == "webhook":
        webhook.send(channel, message, allow_http=allow_http)
    else:
        mail.send(channel, message)


def deliver(store: Store, project: str | None = None, *, link: str = "",
            allow_http: bool = False, moment: datetime | None = None) -> Delivered:  # fmt: skip
    """Send what is due; no transaction is open while a server is asked.

    Args:
        store: an open store.
        project: only of this one.
        link: the address of the server, for links in messages.
        allow_http: webhooks may be sent over plain HTTP.
        moment: by default now.

    Raises:
        UsageError: no such project; the database cannot be reached.
    """
    at = moment or now()
    with store.write() as connection:
        number = None if project is None else projects.named(connection, project).id
        taken = notifications.claim(connection, at, _LEASE, project=number)
    counts = {"sent": 0, "later": 0, "failed": 0}
    for each in taken:
        counts[_delivered(store, each, link, at, allow_http=allow_http)] += 1
    return Delivered(**counts)


def _delivered(
    store: Store, one: Notification, link: str, moment: datetime, *, allow_http: bool
) -> str:
    """Send one; ``sent``, ``later`` or ``failed``."""
    with store.read() as connection:
        alert = alerts.of_number(connection, one.alert)
        project = projects.get(connection, alert.project)
        known = notifications.of_alert(connection, alert.id)
    announced = any(e.channel == one.channel and e.event == "fired" and e.state == "sent"
                    for e in known)  # fmt: skip
    over = one.event == "fired" and alert.state == "resolved"
    if over or (one.event == "resolved" and not announced):
        return _failed(store, one, "it was over before anybody got a message", None)
    page = f"{link}/projects/{project.name}/alerts" if link else ""
    try:
        rules = read_rules(str(project.settings.get("alerts", "")), f"alerts of {project.name}")
        channel = rules.channels.get(one.channel)
        if channel is None:
            return _failed(store, one, "the channel is gone", None)
        message = Message(one.id, one.event, project.name, alert, page)
        send(channel, message, allow_http=allow_http)
    except RankgateError as error:
        _LOG.warning("alert %d of %s: %s", alert.id, project.name, error)
        wait = AGAIN[one.tries] if one.tries < len(AGAIN) else None
        return _failed(store, one, str(error), None if wait is None else moment + wait)
    with store.write() as connection:
        notifications.sent(connection, one.id)
    return "sent"


def _failed(store: Store, one: Notification, error: str, again: datetime | None) -> str:
    with store.write() as connection:
        notifications.failed(connection, one.id, error, again)
    return "failed" if again is None else "later"


def test_channel(store: Store, project: str, name: str, *, allow_http: bool) -> None:
    """Send a test by a channel of a project; by a webhook over HTTP only where that is allowed.

    Raises:
        UsageError: no such project or channel; it could not be sent.
        InputError: the rules of the project cannot be read.
    """
    with store.read() as connection:
        found = projects.named(connection, project)
    rules = read_rules(str(found.settings.get("alerts", "")), f"alerts of {project}")
    if name not in rules.channels:
        known = ", ".join(rules.channels) or "none"
        problem = f"there is no channel {name!r}; there is {known}."
        raise UsageError(problem, code="unknown-channel")
    send(rules.channels[name], Message(0, "test", found.name, None), allow_http=allow_http)
