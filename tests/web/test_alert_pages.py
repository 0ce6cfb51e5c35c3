"""Pages of alerts: roles that see and acknowledge alerts, and set rules."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from rankgate.store.people import audit
from rankgate.store.records import records
from rankgate.store.records.records import NewRecord, Value
from support.serving import Visitor

RULES = (
    '[[channels]]\nname = "team"\nkind = "webhook"\nurl = "http://10.0.0.1/secret-path"\n'
    '[[rules]]\nid = "low"\nkind = "absolute"\nmetric = "nDCG@10"\nat_least = 0.5\n'
)


@pytest.fixture(scope="module")
def watched(team):
    return watch(team, "watched")


def watch(team, name):
    """A project with an alert that fired."""
    project = team.project(name)
    record = NewRecord(
        {"kind": "evaluation"},
        datetime(2026, 3, 2, tzinfo=UTC),
        system="<b>new",
        values=(Value("nDCG@10", "<b>new", 0.4),),
    )
    with team.store.write() as connection:
        records.add(connection, team.store.blobs, project.id, record)
    manager = team.visitor("manager")
    assert manager.post(f"/projects/{name}/alerts/rules", rules=RULES).json()["rules"] == 1
    answer = manager.post(f"/projects/{name}/alerts/check").json()
    assert [state["change"] for state in answer["states"]] == ["fired"]
    return team


def test_a_viewer_sees_alerts_and_no_channels(watched):
    viewer = watched.visitor("viewer")
    [alert] = viewer.get("/projects/watched/alerts.json").json()["alerts"]
    assert (alert["state"], alert["rule"]) == ("open", "low")
    number = alert["id"]
    page = viewer.get(f"/projects/watched/alerts/{number}")
    assert page.status == 200
    text = page.data.decode()
    assert "&lt;b&gt;new" in text
    assert "<b>new" not in text
    assert "Messages" not in text
    assert "secret-path" not in text
    data = viewer.get(f"/projects/watched/alerts/{number}.json").json()
    assert "messages" not in data
    assert viewer.get("/projects/watched/alerts/rules").status == 403
    assert viewer.post(f"/projects/watched/alerts/{number}/acknowledge").status == 403


def test_a_manager_acknowledges_by_the_form(team):
    watch(team, "acknowledged")
    manager = team.visitor("manager")
    [alert] = manager.get("/projects/acknowledged/alerts.json").json()["alerts"]
    path = f"/projects/acknowledged/alerts/{alert['id']}"
    [message] = manager.get(f"{path}.json").json()["messages"]
    assert (message["channel"], message["event"], message["state"]) == ("team", "fired", "waiting")
    assert manager.send(f"{path}/acknowledge", "/projects/acknowledged/alerts").status == 303
    [acknowledged] = manager.get("/projects/acknowledged/alerts.json?state=acknowledged").json()["alerts"]
    assert (acknowledged["acknowledged_by"], acknowledged["state"]) == ("manager", "acknowledged")
    assert manager.get("/projects/acknowledged/alerts.json?state=open").json()["alerts"] == []
    with team.store.read() as connection:
        actions = [entry.action for entry in audit.entries(connection)]
    assert {"alerts.rules", "alert.acknowledge"} <= set(actions)


def test_alerts_of_another_project_are_not_there(watched):
    watched.project("elsewhere")
    manager = watched.visitor("manager")
    [alert] = manager.get("/projects/watched/alerts.json").json()["alerts"]
    assert manager.get(f"/projects/elsewhere/alerts/{alert['id']}.json").status == 404
    answer = manager.post(f"/projects/elsewhere/alerts/{alert['id']}/acknowledge")
    assert answer.status == 404
    assert manager.get("/projects/elsewhere/alerts.json").json()["alerts"] == []


def test_rules_that_cannot_be_are_refused_and_nothing_changes(watched):
    manager = watched.visitor("manager")
    answer = manager.post("/projects/watched/alerts/rules", rules=RULES + "at_leas = 1\n")
    assert (answer.status, answer.json()["error"]["code"]) == (400, "invalid-alerts")
    page = manager.get("/projects/watched/alerts/rules").data.decode()
    assert "at_least = 0.5" in page
    assert "at_leas = 1" not in page


def test_a_web_hook_of_a_private_network_is_refused(watched):
    manager = watched.visitor("manager")
    answer = manager.post("/projects/watched/alerts/test", channel="team")
    assert (answer.status, answer.json()["error"]["code"]) == (400, "private-address")


def test_tokens_see_and_change_what_their_scope_says(watched):
    manager = watched.visitor("manager")
    secrets = {}
    for scope in ("read", "record", "rate", "manage"):
        fields = {"name": scope, "project": "watched", "read": False} | {scope: True}
        secrets[scope] = manager.post("/account/tokens", **fields).json()["token"]
    expected = {
        "read": (200, 200, 403),
        "record": (403, 403, 403),
        "rate": (403, 403, 403),
        "manage": (200, 200, 200),
    }
    for scope, statuses in expected.items():
        visitor = Visitor(watched.address, secrets[scope])
        actual = (
            visitor.get("/projects/watched/alerts.json").status,
            visitor.get("/projects/watched/schedule.json").status,
            visitor.post("/projects/watched/alerts/check").status,
        )
        assert actual == statuses, scope
        assert visitor.get("/projects/shop/alerts.json").status in {403, 404}
        assert visitor.get("/metrics", headers={"x-forwarded-for": "10.0.0.1"}).status == 404
