"""Alerts of a project: what fired, who acknowledged it, and the rules."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rankgate.store.people import users
from rankgate.store.people.audit import Actor
from rankgate.store.records import alerts, notifications
from rankgate.workspace.records.alerts import deliver, manage
from rankgate.workspace.records.alerts.alert_check import check_alerts
from rankgate.workspace.records.alerts.rules import read_rules
from rankgate.workspace.web.render import OpenObject
from rankgate.workspace.web.replies import ActionReply, PageReply

if TYPE_CHECKING:
    from rankgate.store.database import Connection
    from rankgate.store.records.alerts import Alert
    from rankgate.workspace.web.asked import WebRequest

_MAX_ALERTS = 200


def alerts_page(request: WebRequest) -> PageReply:
    """The alerts that are open first, then by time."""
    with request.store.read() as connection:
        project_alerts = alerts.list_alerts(
            connection, request.project.id, state=request.values["state"], most=_MAX_ALERTS
        )
        rows = [_alert_row(connection, alert) for alert in project_alerts]
    rows.sort(key=lambda row: row["state"] == "resolved")
    can_manage = request.role in {"admin", "manager"}
    return PageReply(
        "alerts.html", {"alerts": rows, "state": request.values["state"]}, {"may": can_manage}
    )


def alert_page(request: WebRequest) -> PageReply:
    """An alert with its figures, and for managers its messages."""
    with request.store.read() as connection:
        alert = alerts.get_alert(connection, request.project.id, request.path["alert"])
        data = _alert_row(connection, alert) | {"evidence": OpenObject(alert.evidence)}
        can_manage = request.role in {"admin", "manager"}
        if can_manage:
            data["messages"] = [
                {
                    "channel": notification.channel,
                    "event": notification.event,
                    "state": notification.state,
                    "tries": notification.tries,
                    "at": notification.sent_at or notification.next_try_at,
                    "error": notification.error,
                }
                for notification in notifications.notifications_of_alert(connection, alert.id)
            ]
    return PageReply("alert.html", data, {"may": can_manage})


def acknowledge_alert(request: WebRequest) -> ActionReply:
    """Acknowledge an alert."""
    with request.store.write() as connection:
        alert = alerts.acknowledge_alert(
            connection, request.project.id, request.path["alert"], request.user.id
        )
        request.record(connection, "alert.acknowledge", alert.message)
        data = _alert_row(connection, alert)
    return ActionReply(request.at("alerts"), data)


def rules_page(request: WebRequest) -> PageReply:
    """The rules, for a change."""
    text = str(request.project.settings.get("alerts", ""))
    channels = sorted(read_rules(text).channels) if text else []
    return PageReply("alert_rules.html", {"rules": text, "channels": channels})


def set_rules(request: WebRequest) -> ActionReply:
    """Replace the rules."""
    text = (request.values["rules"] or "").replace("\r\n", "\n")
    with request.store.write() as connection:
        actor = Actor(request.user.name, request.user.id)
        alert_rules = manage.set_rules(connection, request.project.id, text, "rules", actor)
    data = {"rules": len(alert_rules.rules), "channels": sorted(alert_rules.channels)}
    return ActionReply(request.at("alerts", "rules"), data)


def check_now(request: WebRequest) -> ActionReply:
    """Check every rule now."""
    result = check_alerts(request.store, request.project.name)
    return ActionReply(request.at("alerts"), result.to_dict())


def send_test(request: WebRequest) -> ActionReply:
    """Send a test by a channel."""
    deliver.test_channel(
        request.store,
        request.project.name,
        request.values["channel"],
        allow_http=request.config.allow_http,
    )
    with request.store.write() as connection:
        request.record(connection, "alerts.test", request.values["channel"])
    return ActionReply(request.at("alerts", "rules"), {"sent": True})


def _alert_row(connection: Connection, alert: Alert) -> dict[str, Any]:
    user_name = None
    if alert.acknowledged_by is not None:
        user = users.get(connection, alert.acknowledged_by)
        user_name = user.display if user else None
    return {
        "id": alert.id,
        "state": alert.state,
        "message": alert.message,
        "rule": alert.rule,
        "metric": alert.metric,
        "system": alert.system,
        "slice": alert.slice,
        "record": alert.record,
        "first_at": alert.first_at,
        "last_at": alert.last_at,
        "count": alert.count,
        "acknowledged_at": alert.acknowledged_at,
        "acknowledged_by": user_name,
        "resolved_at": alert.resolved_at,
    }
