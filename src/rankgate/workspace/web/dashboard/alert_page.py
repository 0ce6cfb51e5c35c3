"""The page of an alert: its figures, and the two evaluations around the reported fall."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import urlencode

from rankgate.store.records import alerts
from rankgate.workspace.web.dashboard.evaluation_pair import find_alert_pair
from rankgate.workspace.web.dashboard.recorded_results import pair_address
from rankgate.workspace.web.pages.watching_pages import alert_row
from rankgate.workspace.web.rendering import OpenObject
from rankgate.workspace.web.replies import PageReply
from rankgate.workspace.web.shared_fields import ALERTS_PATH
from rankgate.workspace.web.web_request import VIEWING_ROLES, page

if TYPE_CHECKING:
    from rankgate.store.database import Connection
    from rankgate.store.records.alerts import Alert
    from rankgate.workspace.web.rendering import PageRow
    from rankgate.workspace.web.web_request import WebRequest


@page("alert", f"{ALERTS_PATH}/{{alert:int}}", VIEWING_ROLES, "An alert")
def alert_page(request: WebRequest) -> PageReply:
    """The page of an alert with its figures, and with its messages for managers."""
    with request.store.read() as connection:
        alert = alerts.get_alert(connection, request.project.id, request.path["alert"])
        data = alert_row(connection, alert) | {"evidence": OpenObject(alert.evidence)}
        cause = _find_cause(connection, request, alert)
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
                for notification in alerts.notifications_of_alert(connection, alert.id)
            ]
    return PageReply("alert.html", data | {"cause": cause}, {"may": can_manage})


def _find_cause(connection: Connection, request: WebRequest, alert: Alert) -> PageRow | None:
    """The evaluations before and after the fall, with the addresses of their pages."""
    pair = find_alert_pair(connection, request, alert)
    if pair is None:
        return None
    earlier, later = pair
    figures = {
        name: {"record": point.sha256, "evaluated_at": point.evaluated_at, "value": point.value}
        for name, point in (("before", earlier), ("after", later))
    }
    series = {"metric": later.metric, "system": later.system, "slice": later.slice}
    query_string = urlencode({name: value for name, value in series.items() if value})
    return figures | {
        "changes": pair_address(
            request, earlier.sha256, later.sha256, metric=later.metric, system=later.system
        ),
        "trend": f"{request.config.base}{request.project_path('trends')}?{query_string}"
        f"#change-{later.record}",
    }
