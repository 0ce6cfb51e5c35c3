"""Set the rules of a project, list and acknowledge its alerts; every change is in the audit log."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from rankgate.core.declare.toml import TomlFile
from rankgate.judging.store.store_listing import StoreListing
from rankgate.store.material import projects
from rankgate.store.people import audit
from rankgate.store.people.audit import COMMAND_LINE
from rankgate.store.records import alerts
from rankgate.workspace.records.alerts.rules import ALERTS_CODE, read_rules

if TYPE_CHECKING:
    from rankgate.store.database import Connection
    from rankgate.store.people.audit import Actor
    from rankgate.store.store import Store
    from rankgate.workspace.records.alerts.rules import AlertRules


def read_rules_text(store: Store, project: str) -> str:
    """The text of a project's rules; empty without any.

    Raises:
        UsageError: no such project.
    """
    with store.read() as connection:
        return str(projects.get_by_name(connection, project).settings.get("alerts", ""))


def set_rules_from_file(store: Store, project: str, file: Path) -> AlertRules:
    """Replace the rules of a project by those of a file.

    Raises:
        UsageError: no such project.
        InputError: the file cannot be read; with the line.
    """
    TomlFile.read(file, code=ALERTS_CODE)  # an error names the file
    text = file.read_text(encoding="utf-8-sig")
    with store.write() as connection:
        project_id = projects.get_by_name(connection, project).id
        projects.refuse_archived(connection, project_id)
        return set_rules(connection, project_id, text, str(file))


def set_rules(
    connection: Connection,
    project: int,
    text: str,
    source: str = "alerts",
    actor: Actor = COMMAND_LINE,
) -> AlertRules:
    """Replace the rules of a project.

    Raises:
        InputError: they cannot be read; with the line.
    """
    rules = read_rules(text, source)
    settings = dict(projects.get(connection, project).settings) | {"alerts": text}
    projects.change(connection, project, settings=settings)
    audit.record(
        connection,
        actor,
        "alerts.rules",
        project=project,
        details={"rules": len(rules.rules), "channels": len(rules.channels)},
    )
    return rules


def acknowledge(store: Store, project: str, number: int) -> str:
    """Acknowledge an alert; return its state and message.

    Raises:
        UsageError: no such project or alert.
    """
    with store.write() as connection:
        project_id = projects.get_by_name(connection, project).id
        projects.refuse_archived(connection, project_id)
        alert = alerts.acknowledge_alert(connection, project_id, number)
        audit.record(
            connection, COMMAND_LINE, "alert.acknowledge", alert.message, project=project_id
        )
    return f"{alert.state}: {alert.message}"


def list_alerts(store: Store, project: str, state: str | None = None) -> StoreListing:
    """The latest alerts of a project, the last first.

    Raises:
        UsageError: no such project.
    """
    with store.read() as connection:
        project_id = projects.get_by_name(connection, project).id
        project_alerts = alerts.list_alerts(connection, project_id, state=state)
    rows = tuple(
        {
            "alert": alert.id,
            "state": alert.state,
            "since": f"{alert.first_at:%Y-%m-%d %H:%M}",
            "last": f"{alert.last_at:%Y-%m-%d %H:%M}",
            "times": alert.count,
            "message": alert.message,
        }
        for alert in project_alerts
    )
    return StoreListing(store.name, "alerts", rows)
