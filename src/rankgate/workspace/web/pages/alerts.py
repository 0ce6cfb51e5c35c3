"""Alerts of a project: what fired, who looks after it, and the rules."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rankgate.store.people import users
from rankgate.store.people.audit import Actor
from rankgate.store.records import alerts, notifications
from rankgate.workspace.records.alerts import deliver, manage
from rankgate.workspace.records.alerts.alert_check import check_alerts
from rankgate.workspace.records.alerts.rules import read_rules
from rankgate.workspace.web.render import OpenObject
from rankgate.workspace.web.replies import Done, Page

if TYPE_CHECKING:
    from rankgate.store.database import Connection
    from rankgate.store.records.alerts import Alert
    from rankgate.workspace.web.asked import Asked

_MOST = 200


def page(asked: Asked) -> Page:
    """The alerts that are open first, then by time."""
    with asked.store.read() as connection:
        found = alerts.listed(connection, asked.project.id, state=asked.values["state"], most=_MOST)
        rows = [_row(connection, each) for each in found]
    rows.sort(key=lambda each: each["state"] == "resolved")
    may = asked.role in {"admin", "manager"}
    return Page("alerts.html", {"alerts": rows, "state": asked.values["state"]}, {"may": may})


def one(asked: Asked) -> Page:
    """An alert with its figures, and for managers its messages."""
    with asked.store.read() as connection:
        alert = alerts.get(connection, asked.project.id, asked.path["alert"])
        data = _row(connection, alert) | {"evidence": OpenObject(alert.evidence)}
        may = asked.role in {"admin", "manager"}
        if may:
            data["messages"] = [
                {"channel": each.channel, "event": each.event, "state": each.state,
                 "tries": each.tries, "at": each.sent_at or each.next_try_at, "error": each.error}
                for each in notifications.of_alert(connection, alert.id)
            ]  # fmt: skip
    return Page("alert.html", data, {"may": may})


def acknowledge(asked: Asked) -> Done:
    """Look after an alert."""
    with asked.store.write() as connection:
        alert = alerts.acknowledge(connection, asked.project.id, asked.path["alert"], asked.user.id)
        asked.record(connection, "alert.acknowledge", alert.message)
        data = _row(connection, alert)
    return Done(asked.at("alerts"), data)


def rules(asked: Asked) -> Page:
    """The rules, to be changed."""
    text = str(asked.project.settings.get("alerts", ""))
    channels = sorted(read_rules(text).channels) if text else []
    return Page("alert_rules.html", {"rules": text, "channels": channels})


def set_rules(asked: Asked) -> Done:
    """Replace the rules."""
    text = (asked.values["rules"] or "").replace("\r\n", "\n")
    with asked.store.write() as connection:
        actor = Actor(asked.user.name, asked.user.id)
        made = manage.set_rules(connection, asked.project.id, text, "rules", actor)
    data = {"rules": len(made.rules), "channels": sorted(made.channels)}
    return Done(asked.at("alerts", "rules"), data)


def check(asked: Asked) -> Done:
    """Check every rule now."""
    result = check_alerts(asked.store, asked.project.name)
    return Done(asked.at("alerts"), result.to_dict())


def test(asked: Asked) -> Done:
    """Send a test by a channel."""
    deliver.test_channel(
        asked.store, asked.project.name, asked.values["channel"], allow_http=asked.config.allow_http
    )
    with asked.store.write() as connection:
        asked.record(connection, "alerts.test", asked.values["channel"])
    return Done(asked.at("alerts", "rules"), {"sent": True})


def _row(connection: Connection, alert: Alert) -> dict[str, Any]:
    by = None
    if alert.acknowledged_by is not None:
        user = users.get(connection, alert.acknowledged_by)
        by = user.display if user else None
    return {
        "id": alert.id, "state": alert.state, "message": alert.message, "rule": alert.rule,
        "metric": alert.metric, "system": alert.system, "slice": alert.slice,
        "record": alert.record, "first_at": alert.first_at, "last_at": alert.last_at,
        "count": alert.count, "acknowledged_at": alert.acknowledged_at, "acknowledged_by": by,
        "resolved_at": alert.resolved_at,
    }  # fmt: skip
