"""Managers' pages: comparisons, pairs by filter, asking again, users, what to judge next."""

from __future__ import annotations

import re

import polars as pl
import pytest

from rankgate.data import read_qrels, read_run
from rankgate.decisions.gating.gate import gate
from rankgate.store.blobs import stored_results, stored_runs
from rankgate.store.people import users
from rankgate.store.rating import batches, preferences, rating_answers, tasks
from support.serving import PASSWORD, Visitor
from support.stored_answers import list_ratings

OLD = {"q1": {"d0": 3.0, "d1": 2.0, "d2": 1.0}, "q2": {"d0": 2.0, "d3": 1.0}}
NEW = {"q1": {"d0": 3.0, "d3": 2.0, "d1": 1.0}, "q2": {"d0": 2.0, "d3": 1.0}}


@pytest.fixture
def fresh(team, request):
    project = team.project(re.sub(r"\W|_", "-", request.node.name)[:60].strip("-"))
    with team.store.write() as connection:
        for name, table in (("old", OLD), ("new", NEW)):
            stored_runs.add_run(connection, team.store.blobs, project.id, read_run(table, name), name=name)
    return project


def compare(manager, project, kind, **more):
    path = f"/projects/{project.name}/preferences"
    fields = {"name": kind, "kind": kind, "priority": "9", "strategy": "2", **more}
    return manager.send(path, path, **fields)


@pytest.mark.parametrize(("kind", "first", "second"), [("lists", "old", "new"), ("documents", "d1", "d3")])
def test_which_run_is_better(team, fresh, kind, first, second):
    manager = team.visitor("manager")
    assert compare(manager, fresh, kind, first="old", second="new").status == 303
    path = f"/projects/{fresh.name}"
    for name in ("rater", "manager"):
        visitor = team.visitor(name)
        task = visitor.get(f"{path}/rate.json").json()["task"]
        assert task["batch"]["kind"] == kind
        html = visitor.get(f"{path}/rate").data.decode()
        assert "Which " in html
        assert "old" not in str(task["sides"])
        choice = "left" if task["swapped"] else "right"  # the second, wherever it is shown
        answer = visitor.post(f"{path}/ratings", task=task["id"], choice="equal").json()
        assert answer["progress"]["last"] == task["id"]
        withdrawal = visitor.post(f"{path}/ratings/withdraw", task=task["id"]).json()
        assert withdrawal["task"]["id"] == task["id"]
        assert visitor.post(f"{path}/ratings", task=task["id"], choice=choice).status == 200
        assert f"/rate?task={task['id']}" in visitor.get(f"{path}/history").data.decode()
    (batch,) = manager.get(f"{path}/preferences.json").json()["batches"]
    assert (batch["done"], batch["preferences"]) == (1, 2)  # the lists of q2 are alike
    assert {k: batch["outcome"][k] for k in ("first", "second", "equal", "p_value")} == {
        "first": 0,
        "second": 1,
        "equal": 0,
        "p_value": 1.0,
    }
    assert batch["pairs"][0]["first"] == first
    rows = pl.read_csv(manager.get(f"{path}/preferences/{batch['id']}/file").data)
    assert rows["second"].to_list() == [second] * 2
    assert rows["better"].to_list() == ["second"] * 2


def test_a_difference_of_two_raters_is_a_result(team, fresh):
    with team.store.write() as connection:
        batch = batches.add_batch(connection, fresh.id, "two", kind="lists", strategy="2")
        first_run, second_run = (
            stored_runs.find_run(connection, fresh.id, name).id for name in ("old", "new")
        )
        sides = [("q1", batches.Side(run=first_run), batches.Side(run=second_run))]
        batches.add_preferences(connection, batch, sides)
        (task,) = [number for number in range(1, 10_000) if _batch_of(connection, number) == batch.id][:1]
        for name, choice in (("ann", "left"), ("bob", "right")):
            rater = users.ensure(connection, name).id
            preferences.prefer(connection, task, rater, preference_id=f"{name} {task}", choice=choice)
        assert tasks.progress(connection, fresh.id, batch.id).done == 1
        assert preferences.preferences_table(connection, batch.id)["better"].to_list() == ["first", "second"]


def _batch_of(connection, task):
    try:
        return tasks.get_task(connection, task).batch.id
    except Exception:  # noqa: BLE001 - no such task
        return None


def test_pairs_of_a_file(team, fresh):
    manager = team.visitor("manager")
    table = ("pairs.csv", b"query,left,right\nq1,d0,d1\nq1,d2,d2\n")
    assert compare(manager, fresh, "documents", pairs=table).status == 303
    (batch,) = manager.get(f"/projects/{fresh.name}/preferences.json").json()["batches"]
    assert batch["open"] == 1  # a document is not compared with itself
    for wrong in ({"pairs": ("p.csv", b"a,b\n1,2\n")}, {"first": "old"}, {"kind": "lists", "pairs": table}):
        assert compare(manager, fresh, **{"kind": "documents", "name": "x", **wrong}).status == 400


def test_pages_stay_where_they_are_while_others_rate(team, fresh):
    with team.store.write() as connection:
        batch = batches.add_batch(connection, fresh.id, "many")
        pairs = pl.DataFrame({"query_id": ["q9"] * 120, "doc_id": [f"x{i}" for i in range(120)]})
        batches.add_pairs(connection, batch, pairs)
    manager = team.visitor("manager")
    path = f"/projects/{fresh.name}/pairs.json?batch=many"
    doc_ids, cursor = [], 0
    while cursor is not None:
        page = manager.get(f"{path}&after={cursor}").json()
        doc_ids += [pair["doc_id"] for pair in page["pairs"]]
        cursor = page["after"]
        team.visitor("rater").get(f"/projects/{fresh.name}/rate.json")
    assert sorted(doc_ids) == sorted(pairs["doc_id"])
    assert manager.get(f"{path}&state=done").json()["pairs"] == []
    assert len(manager.get(f"{path}&query=q9").json()["pairs"]) == 50
    assert manager.get(f"{path}&query=q1").json()["pairs"] == []


def test_answers_are_taken_back_by_filter(team, fresh):
    path = f"/projects/{fresh.name}"
    rater, manager = team.visitor("rater"), team.visitor("manager")
    for _ in range(3):
        task = rater.get(f"{path}/rate.json").json()["task"]
        rater.post(f"{path}/ratings", task=task["id"], grade=1)
    answer = manager.post(f"{path}/pairs/reset", rater="rater", batch="first").json()
    assert answer == {"taken_back": 3}
    with team.store.read() as connection:
        assert len(list_ratings(connection, fresh.id)) == 6  # nothing is removed
        number = users.raters_of_project(connection, fresh.id)
        assert number == {}
        pairs = rating_answers.list_pairs(connection, fresh.id, rating_answers.TaskFilter())
        assert [pair.answers for pair in pairs] == [[]] * 4
    assert manager.post(f"{path}/pairs/reset", rater="nobody").status == 400
    assert rater.post(f"{path}/pairs/reset", rater="rater").status == 403


def test_a_user_is_removed_and_their_ratings_stay(team, fresh):
    with team.store.write() as connection:
        leaver = users.add(connection, "leaver", users.password_of(connection, "rater"))
        users.grant(connection, fresh.id, leaver.id, "rater")
    path = f"/projects/{fresh.name}"
    visitor, root = team.visitor("leaver"), team.visitor("root")
    task = visitor.get(f"{path}/rate.json").json()["task"]
    visitor.post(f"{path}/ratings", task=task["id"], grade=2)
    assert root.send(f"/users/{leaver.id}/remove", "/users", confirm="other").status == 400
    assert root.send(f"/users/{leaver.id}", "/users", sign_in="no").status == 303
    assert Visitor(team.address).sign_in("leaver").status == 403
    assert root.send(f"/users/{leaver.id}/remove", "/users", confirm="leaver").status == 303
    text = team.visitor("manager").get(f"{path}/ratings/file?format=csv").data.decode()
    assert "leaver" not in text
    assert f"removed-{leaver.id}" in text
    assert team.visitor("manager").get("/users").status == 403


def test_an_open_verdict_becomes_a_batch(team, fresh):
    qrels = read_qrels({"q1": {"d0": 1}, "q2": {"d0": 1}}, "gold")
    verdict = gate(qrels, read_run(OLD, "old"), read_run(NEW, "new"))
    assert verdict.verdict != "pass"
    with team.store.write() as connection:
        stored_runs.add_judgments(connection, team.store.blobs, fresh.id, qrels, name="gold")
        stored_results.add_result(connection, team.store.blobs, fresh.id, verdict.to_dict())
    manager = team.visitor("manager")
    path = f"/projects/{fresh.name}"
    proposal = manager.get(f"{path}/next.json").json()
    assert (proposal["first"], proposal["second"]) == ("old", "new")
    assert proposal["verdicts"][0]["here"]
    assert "influence" in proposal["pairs"][0]["why"]
    answer = manager.post(
        f"{path}/coverage",
        name="next",
        first="old",
        second="new",
        order="influence",
        metric=proposal["metric"],
    )
    assert answer.json()["tasks"] == proposal["total"] == len(proposal["pairs"]) > 0
    assert manager.get(f"{path}/next.json?first=old&second=none").json()["problem"]


def link_of(manager, project, role="rater", name=""):
    """The path of a new invitation."""
    invitation = manager.post(f"/projects/{project.name}/invitations", name=name, role=role).json()
    return invitation["token"].removeprefix(manager.base)


def test_a_user_joins_by_a_link(team, fresh):
    manager = team.visitor("manager")
    link = link_of(manager, fresh, name="stranger")
    anonymous = Visitor(team.address)
    page = anonymous.get(link).data.decode()
    assert "Sign in to join" in page
    assert 'name="password"' not in page
    sign_in_path = re.search(r'href="(/sign-in\?next=[^"]+)"', page)[1]
    answer = anonymous.send("/sign-in", sign_in_path, name="stranger", password=PASSWORD, next=link)
    assert (answer.status, answer.headers["location"]) == (303, link)
    assert "Join as" in anonymous.get(link).data.decode()
    viewer = team.visitor("viewer")
    assert "This invitation is for stranger" in viewer.get(link).data.decode()
    assert viewer.send(link, "/account").status == 403
    assert anonymous.send(link, link).status == 303
    assert anonymous.get(f"/projects/{fresh.name}/rate").status == 200
    assert anonymous.get(link).status == 404
    assert anonymous.send(link, "/account").status == 400  # it was used


def test_a_link_takes_no_role_away(team, fresh):
    manager, root = team.visitor("manager"), team.visitor("root")
    link = link_of(root, fresh, "rater")
    assert manager.send(link, link).status == 303
    with team.store.read() as connection:
        user = users.get_by_name(connection, "manager").id
        assert users.role_of(connection, fresh.id, user) == "manager"
    link = link_of(root, fresh, "manager")
    viewer = team.visitor("viewer")
    assert viewer.send(link, link).status == 303
    assert viewer.get(f"/projects/{fresh.name}/people").status == 200
