"""Pages of people's work: rules of a batch, discussions, working time."""

from __future__ import annotations

import csv
import io
import re

import polars as pl
import pytest

from rankgate.store.people import users
from rankgate.store.rating import batches
from rankgate.store.rating.batch_rules import rules_of
from rankgate.store.rating.batches import Gold


def task_of(visitor, path):
    return visitor.get(f"{path}/rate.json").json()["task"]


def rate(visitor, path, **fields):
    task = task_of(visitor, path)
    answer = visitor.post(f"{path}/ratings", task=task["id"], **fields)
    assert answer.status == 200, answer.data
    return task


def batch_number(team, project):
    with team.store.read() as connection:
        return batches.get_by_name(connection, project.id, "first").id


def test_a_manager_chooses_the_raters_of_a_batch(team):
    project = team.project("assigned")
    path = f"/projects/{project.name}"
    number = batch_number(team, project)
    manager, rater = team.visitor("manager"), team.visitor("rater")
    page = manager.get(f"{path}/batches/{number}").data.decode()
    assert "Raters of the project: admin, manager, rater." in page
    wrong = manager.send(f"{path}/batches/{number}/rules", f"{path}/batches/{number}", raters="nobody")
    assert wrong.status == 400
    assert "is not a rater of the project" in wrong.data.decode()
    assert "batch-rules-raters-problem" in wrong.data.decode()
    fields = {"raters": "manager", "stop_ratings": "3", "stop_agreed": "1"}
    answer = manager.send(f"{path}/batches/{number}/rules", f"{path}/batches/{number}", **fields)
    assert answer.status == 303
    with team.store.read() as connection:
        rules = rules_of(batches.get_batch(connection, number).settings)
    assert (len(rules.raters), rules.stop_ratings, rules.stop_agreed) == (1, 3, True)
    assert task_of(rater, path) is None
    state = rater.get(f"{path}/rate.json").json()
    assert (state["progress"]["done"], state["progress"]["total"]) == (0, 0)
    for _ in range(3):
        rate(manager, path, grade=1)
    assert task_of(manager, path) is None
    page = manager.get(f"{path}/batches/{number}").data.decode()
    assert "Stopped: 3 ratings are given." in page
    assert "3 ratings are given" in manager.get(path).data.decode()
    assert manager.get("/projects/shop/batches/99999").status == 404
    assert manager.get(f"/projects/shop/batches/{number}").status == 404


def test_who_fails_a_training_is_told_so(team):
    project = team.project("qualified")
    path = f"/projects/{project.name}"
    with team.store.write() as connection:
        training = batches.add_batch(connection, project.id, "training", kind="training")
        gold = {("q1", "d0"): Gold(3, "the answer")}
        batches.add_pairs(connection, training, pl.DataFrame(schema=["query_id", "doc_id"]), gold)
    manager, rater = team.visitor("manager"), team.visitor("rater")
    page = f"{path}/batches/{batch_number(team, project)}"
    assert manager.send(f"{page}/rules", page, qualification="first").status == 400
    assert manager.send(f"{page}/rules", page, qualification="training").status == 303
    rate(rater, path, grade=0)
    html = rater.get(f"{path}/rate").data.decode()
    assert "All done" in html
    assert "Training training: 0 of 1 grades are the same as the experts" in html
    assert "80% are needed" in html
    assert "✗ not passed" in manager.get(page).data.decode()
    rate(manager, path, grade=3)
    assert task_of(manager, path)["batch"]["name"] == "first"


def test_pairs_that_come_again_look_like_any_other(team):
    project = team.project("twice", pairs=2)
    path = f"/projects/{project.name}"
    manager, rater = team.visitor("manager"), team.visitor("rater")
    page = f"{path}/batches/{batch_number(team, project)}"
    assert manager.send(f"{page}/rules", page, again="1", again_hours="0").status == 303
    seen: list[str] = []
    while (task := task_of(rater, path)) is not None:
        assert (task["batch"]["name"], task["batch"]["kind"]) == ("first", "rating")
        assert task["mine"] is None
        (document,) = task["sides"]
        if document["doc_id"] in seen:
            html = rater.get(f"{path}/rate").data.decode()
            assert "again" not in html.partition('id="task"')[2].partition("<aside")[0].lower()
            listed = rater.get(f"{path}/rate/query.json").json()["tasks"]
            assert [listed_task["id"] for listed_task in listed] == [task["id"]]
        rate(rater, path, grade=2 if document["doc_id"] in seen else 1)
        seen.append(document["doc_id"])
    assert sorted(seen) == ["d0", "d0", "d1", "d1"]
    progress = rater.get(f"{path}/rate.json").json()["progress"]
    assert (progress["done"], progress["total"]) == (4, 4)
    html = manager.get(f"{path}/agreement").data.decode()
    assert '<section id="self">' in html
    assert re.search(r"rater</th><td class=\"n\">2</td><td class=\"n\">0</td>", html)
    assert "(again)" not in manager.get(path).data.decode()


@pytest.fixture(scope="module")
def disputed(team):
    """A project with one pair that two raters grade differently; the number of its task."""
    project = team.project("talk", pairs=1)
    path = f"/projects/{project.name}"
    with team.store.write() as connection:
        stranger = users.get_by_name(connection, "stranger")
        users.grant(connection, project.id, stranger.id, "rater")
    for name, grade in (("rater", 0), ("admin", 3)):
        task = rate(team.visitor(name), path, grade=grade, comment=f"{name} thinks so")
    return path, task["id"]


def test_raters_discuss_what_they_disagree_on(team, disputed):
    path, task = disputed
    rater, manager, stranger = map(team.visitor, ("rater", "manager", "stranger"))
    html = rater.get(f"{path}/discussions").data.decode()
    assert "Pairs that you rated and that wait for a final word: 1." in html
    assert "<li>You: <b>0</b> rater thinks so" in html
    assert "<li>Another rater: <b>3</b> admin thinks so" in html
    discussion = f"{path}/discussions/{task}"
    assert rater.send(discussion, f"{path}/discussions", text="It is about trains").status == 303
    assert "It is about trains" in team.visitor("admin").get(f"{path}/disputes").data.decode()
    assert "<b>rater</b>" in manager.get(f"{path}/disputes").data.decode()
    assert manager.send(discussion, f"{path}/disputes", text="Why?", list="1").status == 303
    html = rater.get(f"{path}/discussions").data.decode()
    assert "<b>Another rater</b>" in html
    assert "Why?" in html

    assert "Nothing to discuss" in stranger.get(f"{path}/discussions").data.decode()
    assert stranger.post(discussion, text="x").status == 404
    subject = f"kind=document&subject=task/{task}"
    for page in (f"{path}/comments", f"{path}/comments?{subject}"):
        assert "trains" not in stranger.get(page).data.decode()
    answer = stranger.post(f"{path}/comments", kind="document", subject=f"task/{task}", text="x")
    assert answer.status == 400
    assert manager.post(f"{path}/disputes/{task}", grade=1).status == 200
    assert rater.post(discussion, text="late").status == 400
    assert "Nothing to discuss" in rater.get(f"{path}/discussions").data.decode()


def test_working_time_is_a_table_and_a_file(team, disputed):
    path, _ = disputed
    manager = team.visitor("manager")
    assert "<td>rater</td>" in manager.get(f"{path}/work").data.decode()
    content = manager.get(f"{path}/work.csv").data.decode()
    rows = list(csv.DictReader(io.StringIO(content)))
    assert {row["rater"] for row in rows} == {"admin", "rater"}
    assert {row["answers"] for row in rows} == {"1"}
    assert team.visitor("rater").get(f"{path}/work").status == 403
