"""Every route and every role: allowed users, refused users, and hidden data."""

from __future__ import annotations

import re

import pytest

from rankgate.store.people import audit, sign_in, users
from rankgate.workspace.web.routes import ROUTES
from rankgate.workspace.web.web_request import ADMIN, ANYONE, SIGNED_IN
from support.serving import PASSWORD, Visitor

ROLES = ("admin", "manager", "rater", "viewer")
NAMES = {
    "kind": "run",
    "sha256": "0" * 64,
    "project": "shop",
    "secret": "x",
    "name": "rankgate.css",
    "judgments": "none",
    "job": "none",
    "engine": "none",
    "record": "none",
    "table": "none",
    "chart": "none",
}
REFUSED = {401, 403, 404}


def path_of(route, project="shop"):
    names = NAMES | {"project": project}
    return re.sub(r"\{(\w+)(:int)?\}", lambda m: "999" if m[2] else names[m[1]], route.path)


def asked(visitor, route, project="shop"):
    """The status of a request that has nothing in it; programs' form, so that errors have codes."""
    if route.method == "GET":
        return visitor.get(path_of(route, project), headers={"content-type": "application/json"})
    return visitor.ask("POST", path_of(route, project), json={}, headers={"x-csrf-token": visitor.word})


@pytest.fixture(scope="module")
def people(team):
    visitors = {name: team.visitor(name) for name in (*ROLES, "root", "stranger")}
    for visitor in visitors.values():
        visitor.word = visitor.csrf("/account")
    return visitors


def may(route, name):
    if route.needs in {ANYONE, SIGNED_IN}:
        return True
    if route.needs == ADMIN:
        return name == "root"
    role = "admin" if name == "root" else name
    return role in route.needs


KEPT = [route for route in ROUTES if route.name not in {"sign-out", "password"}]


@pytest.mark.parametrize("route", KEPT, ids=lambda route: f"{route.method} {route.path}")
def test_each_role_may_what_the_table_says(people, route):
    for name in (*ROLES, "root"):
        answer = asked(people[name], route)
        code = answer.json()["error"]["code"] if answer.status in REFUSED else ""
        refused = code == "not-allowed" or (code == "not-found" and "project" in answer.data.decode())
        assert refused != may(route, name), (name, answer.status, answer.data[:200])
        assert code != "forged-request"
        assert answer.status != 500


@pytest.mark.parametrize("route", ROUTES, ids=lambda route: f"{route.method} {route.path}")
def test_nobody_gets_anything_without_signing_in(team, route):
    visitor = Visitor(team.address)
    visitor.word = ""
    answer = asked(visitor, route)
    if route.needs == ANYONE:
        assert answer.status != 401
    else:
        assert answer.status == 401
        assert b"shop" not in answer.data


@pytest.mark.parametrize(
    "route",
    [r for r in ROUTES if not isinstance(r.needs, str)],
    ids=lambda route: f"{route.method} {route.path}",
)
def test_a_project_of_others_is_not_there(team, people, route):
    hidden, missing = (asked(people["stranger"], route, project_name) for project_name in ("shop", "nowhere"))
    assert hidden.status == missing.status == 404
    assert hidden.data == missing.data
    assert team.address


def test_numbers_of_another_project_are_not_there(team):
    other_project = team.project("other")
    own_project = team.project("mine")
    with team.store.write() as connection:
        for name in ROLES:
            users.grant(connection, other_project.id, users.get_by_name(connection, name).id, None)
    root, manager = team.visitor("root"), team.visitor("manager")
    task = root.get("/projects/other/rate.json").json()["task"]
    number, batch = task["id"], task["batch"]["id"]
    assert own_project.id != other_project.id
    assert manager.get(f"/projects/mine/rate.json?task={number}").status == 404
    assert manager.get(f"/projects/mine/rate.json?batch={batch}").status == 404
    for path, values in (
        ("ratings", {"task": number, "grade": 1}),
        ("ratings/withdraw", {"task": number}),
        ("ratings/later", {"task": number}),
        (f"disputes/{number}", {"grade": 1}),
        (f"batches/{batch}", {"state": "closed"}),
    ):
        assert manager.post(f"/projects/mine/{path}", **values).status == 404, path


def test_a_manager_makes_no_managers(team):
    manager = team.visitor("manager")
    for path, values in (
        ("invitations", {"role": "manager"}),
        ("invitations", {"role": "admin"}),
        ("people", {"name": "rater", "role": "admin"}),
        ("people", {"name": "admin", "role": "none"}),
    ):
        assert manager.post(f"/projects/shop/{path}", **values).status == 403
    assert manager.post("/projects/shop/invitations", role="rater").status == 200


def test_tokens_allow_what_they_say(team):
    shop = team.project("tokens")
    with team.store.write() as connection:
        user = users.get_by_name(connection, "manager").id
        secrets = {
            scope: sign_in.issue_token(connection, user, scope, [scope])[1] for scope in sign_in.SCOPES
        }
        project_token = sign_in.issue_token(connection, user, "only", ["read"], project=shop.id)[1]
    expected = {
        "read": (200, 403, 403),
        "rate": (403, 200, 403),
        "manage": (200, 403, 200),
        "admin": (200, 200, 200),
    }
    for scope, statuses in expected.items():
        visitor = Visitor(team.address, secrets[scope])
        actual_statuses = (
            visitor.get("/projects/tokens.json").status,
            visitor.get("/projects/tokens/rate.json").status,
            visitor.post("/projects/tokens/guidelines", version=scope, text="x").status,
        )
        assert actual_statuses == statuses, scope
        assert visitor.post("/account/tokens", name="more").status == 403
    limited = Visitor(team.address, project_token)
    assert limited.get("/projects/tokens.json").status == 200
    assert limited.get("/projects/shop.json").status == 404
    assert Visitor(team.address, "rgt_wrong").get("/projects.json").status == 401


def test_a_token_ends(team):
    from datetime import timedelta

    from rankgate.store.rows import now

    with team.store.write() as connection:
        user = users.get_by_name(connection, "viewer").id
        _, old = sign_in.issue_token(connection, user, "old", expires_at=now() - timedelta(seconds=1))
        token, secret = sign_in.issue_token(connection, user, "kept")
    visitor = Visitor(team.address, secret)
    assert Visitor(team.address, old).get("/projects.json").status == 401
    assert visitor.get("/projects.json").status == 200
    assert team.visitor("rater").post(f"/account/tokens/{token.id}/revoke").status == 404
    assert team.visitor("viewer").post(f"/account/tokens/{token.id}/revoke").status == 200
    assert visitor.get("/projects.json").status == 401


def test_a_request_from_another_site_is_refused(team):
    rater = team.visitor("rater")
    word = rater.csrf("/account")
    path = "/projects/shop/ratings/later"
    for headers in (
        {},
        {"x-csrf-token": "wrong"},
        {"x-csrf-token": word, "origin": "http://evil"},
        {"x-csrf-token": word, "sec-fetch-site": "cross-site"},
        {"x-csrf-token": team.visitor("viewer").csrf("/account")},
    ):
        answer = rater.ask("POST", path, json={"task": 1}, headers=headers)
        assert (answer.status, answer.json()["error"]["code"]) == (403, "forged-request")
    accepted = rater.ask("POST", path, json={"task": 1}, headers={"x-csrf-token": word})
    assert accepted.status != 403  # the task may be another one, or done, by then
    stranger = Visitor(team.address)
    fields = {"name": "rater", "password": PASSWORD}
    answer = stranger.ask("POST", "/sign-in", fields=fields, encode_multipart=False)
    assert answer.status == 403


def test_a_session_begins_anew(team):
    visitor = team.visitor("rater")
    planted = dict(visitor.cookies)
    assert visitor.sign_in("viewer").status == 303
    assert visitor.cookies["rankgate_session"] != planted["rankgate_session"]
    old = Visitor(team.address)
    old.cookies = planted
    assert old.get("/projects").status == 303
    made_up = Visitor(team.address)
    made_up.cookies = {"rankgate_session": "chosen"}
    assert made_up.sign_in("viewer").status == 303
    assert made_up.cookies["rankgate_session"] != "chosen"
    old.cookies = dict(visitor.cookies)
    answer = visitor.send("/sign-out", "/account")
    assert answer.status == 303
    assert old.get("/account").status == 303


def test_guessing_is_slowed_down(team):
    visitor = Visitor(team.address)
    with team.store.write() as connection:
        users.add(connection, "guessed", None)
    statuses = [visitor.sign_in("guessed", f"wrong{i}").status for i in range(11)]
    assert statuses == [403] * 10 + [429]
    with team.store.read() as connection:
        entries = audit.entries(connection)
    assert [entry.action for entry in entries].count("sign-in.failed") == 10
    assert "wrong1" not in str(entries)
