"""What raters and programs get: tasks, retries, corrections, trainings, preferences, files."""

from __future__ import annotations

import json
import re

import polars as pl
import pytest

from rankgate import Client
from rankgate.core.errors import UsageError
from rankgate.data.qrels import parse_scale
from rankgate.store.material import projects, queries_documents
from rankgate.store.people import sign_in, users
from rankgate.store.rating import batches
from rankgate.workspace.web.pages import rating_pages
from rankgate.workspace.web.routes import ROUTES
from support.serving import Visitor
from support.stored_answers import list_preferences, list_ratings


@pytest.fixture
def fresh(team, request):
    """A project of the test's own."""
    name = re.sub(r"\W+", "-", request.node.name.lower())[:60].strip("-")
    return team.project(name)


def test_a_retry_counts_once(team, fresh):
    rater = team.visitor("rater")
    task = rater.get(f"/projects/{fresh.name}/rate.json").json()["task"]
    payload = {"task": task["id"], "grade": 2, "rating_id": "mine-1", "comment": "good"}
    first, repeated = (rater.post(f"/projects/{fresh.name}/ratings", **payload) for _ in range(2))
    assert (first.json()["new"], repeated.json()["new"]) == (True, False)
    assert first.json()["task"]["id"] == repeated.json()["task"]["id"] != task["id"]
    conflict = rater.post(f"/projects/{fresh.name}/ratings", **{**payload, "grade": 1})
    assert (conflict.status, conflict.json()["error"]["code"]) == (409, "rating-conflict")
    with team.store.read() as connection:
        assert len(list_ratings(connection, fresh.id)) == 1


def test_many_ratings_in_one_request(team, fresh):
    with team.store.write() as connection:
        user = users.get_by_name(connection, "rater").id
        secret = sign_in.issue_token(connection, user, "many", ["rate"])[1]
    with Client(team.address, fresh.name, token=secret) as client:
        tasks = client.get("rate/query")["tasks"]
        answers = [{"task": task["id"], "grade": 1, "rating_id": f"many-{task['id']}"} for task in tasks]
        assert [rating["new"] for rating in client.rate_many(answers)] == [True] * 4
        assert [rating["new"] for rating in client.rate_many(answers)] == [False] * 4
        changed_answer = {"task": tasks[0]["id"], "grade": 2}
        with pytest.raises(UsageError) as refused:  # all or none
            client.rate_many([changed_answer, {"task": tasks[1]["id"], "grade": 77}])
        assert refused.value.code == "grade-outside-scale"
        for wrong in ([], [{"grade": 1}], [{"task": 1, "other": 1}]):
            with pytest.raises(UsageError) as refused:
                client.rate_many(wrong)
            assert refused.value.code == "invalid-value"
    with team.store.read() as connection:
        assert [rating.grade for rating in list_ratings(connection, fresh.id)] == [1.0] * 4


def test_without_javascript_a_form_rates(team, fresh):
    rater = team.visitor("rater")
    html = rater.get(f"/projects/{fresh.name}/rate").data.decode()
    task, identity = (re.search(rf'name="{name}" value="([^"]+)"', html)[1] for name in ("task", "rating_id"))
    for _ in range(2):
        answer = rater.send(
            f"/projects/{fresh.name}/ratings",
            "/account",
            task=task,
            rating_id=identity,
            grade="3",
            comment="",
        )
        assert answer.status == 303
        assert answer.headers["location"].startswith(f"/projects/{fresh.name}/rate")
    with team.store.read() as connection:
        assert [rating.grade for rating in list_ratings(connection, fresh.id)] == [3.0]


def test_raters_see_nothing_of_each_other_or_of_systems(team):
    with team.store.write() as connection:
        project = projects.add(connection, "blind", scale=[projects.Grade(0), projects.Grade(1)])
        batch = batches.add_batch(connection, project.id, "first", strategy="2")
        pairs = {
            "query_id": ["q"],
            "doc_id": ["d"],
            "why": ["rank of bm25"],
            "best_rank": [7],
            "systems": [3],
        }
        gold = {("q", "g"): batches.Gold(1.0, "as everybody knows")}
        batches.add_pairs(connection, batch, pl.DataFrame(pairs), gold)
        for name in ("rater", "manager"):
            users.grant(connection, project.id, users.get_by_name(connection, name).id, name)
    rater, manager = team.visitor("rater"), team.visitor("manager")
    for _ in range(2):
        task = manager.get("/projects/blind/rate.json").json()["task"]["id"]
        manager.post("/projects/blind/ratings", task=task, grade=0, comment="hush-hush")
    for _ in range(2):
        answers = [rater.get(f"/projects/blind/rate{form}").data.decode() for form in ("", ".json")]
        for hidden in ("bm25", "best_rank", "everybody", "hush-hush", "manager", '"gold"'):
            assert all(hidden not in answer for answer in answers), hidden
        task = json.loads(answers[1])["task"]["id"]
        rater.post("/projects/blind/ratings", task=task, grade=1)


def test_a_training_tells_the_known_grade(team, fresh):
    with team.store.write() as connection:
        batch = batches.add_batch(connection, fresh.id, "training", kind="training")
        gold = {("q1", "d0"): batches.Gold(3.0, "it names the answer")}
        batches.add_pairs(connection, batch, pl.DataFrame({"query_id": [], "doc_id": []}), gold)
    rater = team.visitor("rater")
    path = f"/projects/{fresh.name}"
    task = rater.get(f"{path}/rate.json").json()["task"]
    assert task["batch"]["kind"] == "training"
    answer = rater.post(f"{path}/ratings", task=task["id"], grade=1).json()
    assert answer["feedback"] == {"grade": 3.0, "why": "it names the answer", "yours": 1.0, "right": False}
    assert answer["task"]["batch"]["kind"] == "rating"
    with team.store.read() as connection:
        assert [rating.training for rating in list_ratings(connection, fresh.id)] == [True]


def test_cannot_tell_later_and_undo(team, fresh):
    rater = team.visitor("rater")
    path = f"/projects/{fresh.name}"
    first = rater.get(f"{path}/rate.json").json()["task"]["id"]
    assert rater.post(f"{path}/ratings", task=first).json()["error"]["code"] == "missing-grade"
    rater.post(f"{path}/ratings", task=first, reason="unclear query")
    second = rater.get(f"{path}/rate.json").json()["task"]["id"]
    third = rater.post(f"{path}/ratings/later", task=second).json()["task"]["id"]
    assert len({first, second, third}) == 3
    undone = rater.post(f"{path}/ratings/withdraw", task=first).json()
    assert undone["task"]["id"] == first
    assert undone["task"]["mine"] is None
    task_ids = [first]
    while task := rater.post(f"{path}/ratings", task=task_ids[-1], grade=1).json()["task"]:
        task_ids.append(task["id"])
    assert len(set(task_ids)) == 4
    assert task_ids[-1] == second  # what was put off comes last
    rows = rater.get(f"{path}/history.json").json()["ratings"]
    assert [row["reason"] for row in rows][-2:] == ["withdrawn", "unclear query"]


def test_which_of_two_documents_is_better(team, fresh):
    with team.store.write() as connection:
        batch = batches.add_batch(connection, fresh.id, "pairs", kind="documents", priority=9)
        sides = [("q1", batches.Side("d0"), batches.Side("d1"))]
        batches.add_preferences(connection, batch, sides)
    rater = team.visitor("rater")
    path = f"/projects/{fresh.name}"
    task = rater.get(f"{path}/rate.json").json()["task"]
    left_doc = task["sides"][0]["doc_id"]
    html = rater.get(f"{path}/rate").data.decode()
    assert html.index(f"<code>{left_doc}<") < html.index(f"<code>{task['sides'][1]['doc_id']}<")
    answer = rater.post(f"{path}/ratings", task=task["id"], choice="left")
    assert answer.json()["new"] is True
    from rankgate.store.material import queries_documents

    with team.store.read() as connection:
        choices = list_preferences(connection, fresh.id)
        assert [preference.choice for preference in choices] == ["left"]
        number = int(choices[0].left.removeprefix("d"))
        assert queries_documents.document_by_number(connection, number).doc_id == left_doc


def test_two_raters_disagree_and_the_final_word_counts(team, fresh):
    path = f"/projects/{fresh.name}"
    for name, grade in (("rater", 0), ("manager", 3)):
        visitor = team.visitor(name)
        while task := visitor.get(f"{path}/rate.json").json()["task"]:
            visitor.post(f"{path}/ratings", task=task["id"], grade=grade, comment=f"by {name}")
    disputes = visitor.get(f"{path}/disputes.json").json()
    assert (disputes["total"], len(disputes["disputes"])) == (4, 4)
    answers = disputes["disputes"][0]["answers"]
    assert [(answer["rater"], answer["grade"], answer["comment"]) for answer in answers] == [
        ("rater", 0.0, "by rater"),
        ("manager", 3.0, "by manager"),
    ]
    for dispute in disputes["disputes"][:3]:
        visitor.post(f"{path}/disputes/{dispute['task']}", grade=2)
    preview = visitor.post(f"{path}/judgments", name="one", rule="majority", preview=True).json()
    assert preview["pairs"] == {"new": 3, "gone": 0, "changed": 0, "same": 0}
    assert visitor.get(f"{path}/judgments.json").json()["judgments"] == []
    judgment_set = visitor.post(f"{path}/judgments", name="one", rule="mean").json()
    assert judgment_set["rows"] == 4
    text = visitor.get(f"{path}/judgments/one/file?format=trec").data.decode()
    assert sorted(float(line.split()[3]) for line in text.splitlines()) == [1.5, 2, 2, 2]
    second_preview = visitor.post(f"{path}/judgments", name="two", rule="median", preview=True).json()
    assert (second_preview["against"], second_preview["pairs"]["same"]) == ("one", 3)
    visitor.post(f"{path}/judgments", name="tied", rule="majority")  # one pair has the grades 0 and 3
    stored = visitor.get(f"{path}/judgments.json").json()["judgments"]
    assert [(made["name"], made["rows"], made["made_by"].get("unresolved")) for made in stored] == [
        ("one", 4, None),
        ("tied", 3, 1),
    ]
    assert "1 without a grade</a>" in visitor.get(f"{path}/judgments").data.decode()


def test_the_client_does_what_the_pages_do(team, fresh, tmp_path):
    with team.store.write() as connection:
        user = users.get_by_name(connection, "manager").id
        secret = sign_in.issue_token(connection, user, "all", ["manage", "rate"])[1]
    pool = tmp_path / "pool.csv"
    pool.write_text("query,document\nq7,d7\nq7,d8\n")
    run = tmp_path / "bm25.run"
    run.write_text("q7 Q0 d7 1 2.0 bm25\nq7 Q0 d8 2 1.0 bm25\n")
    with Client(team.address, fresh.name, token=secret) as client:
        assert client.add_batch("more", pool, strategy="1", priority=5)["tasks"] == 2
        assert client.add_file(run)["holds"] == {"runs": 1}
        task = client.next_task()
        assert task["query"]["query_id"] == "q7"
        first = client.rate(task["id"], 2.0, rating_id="once")
        assert client.rate(task["id"], 2.0, rating_id="once")["new"] is False
        client.rate(first["task"]["id"], None, reason="unclear query")
        assert client.ratings()["grade"].to_list() == [2.0, None]
        client.post("judgments", name="done", rule="majority")
        assert client.judgments("done")["grade"].to_list() == [2.0]
        values = client.get("judgments/done/evaluation", metrics="nDCG@10")["evaluation"]
        assert values["runs"][0]["mean"]["nDCG@10"] in {1.0, 1 / 1.584962500721156}
        with pytest.raises(UsageError) as refused:
            client.rate(task["id"], 17.0)
        assert refused.value.code == "grade-outside-scale"


def test_every_route_is_described(team):
    openapi = team.visitor("rater").get("/openapi.json").json()
    operations = {
        operation["operationId"] for path in openapi["paths"].values() for operation in path.values()
    }
    usable = {route.name for route in ROUTES if route.scope is not None and route.needs != "anyone"}
    usable |= {f"{route.name}-csv" for route in ROUTES if route.tabular}
    assert operations == usable
    assert len({route.name for route in ROUTES}) == len(ROUTES)
    visitor = Visitor(team.address)
    for path in openapi["paths"]:
        filled = re.sub(r"\{\w+\}", "1", path)
        assert visitor.get(filled, headers={"content-type": "application/json"}).status in {401, 405}


@pytest.mark.parametrize("form", ["csv", "jsonl", "label-studio", "quepid-book"])
def test_single_ratings_come_out_complete(team, form, tmp_path):
    project = team.project(f"out-{form}", pairs=3, strategy="2")
    path = f"/projects/{project.name}"
    for name in ("rater", "manager"):
        visitor = team.visitor(name)
        while task := visitor.get(f"{path}/rate.json").json()["task"]:
            visitor.post(f"{path}/ratings", task=task["id"], grade=len(name) % 4)
    answer = visitor.get(f"{path}/ratings/file?format={form}")
    assert answer.status == 200, answer.data
    rating_file = tmp_path / answer.headers["content-disposition"].split('"')[1]
    rating_file.write_bytes(answer.data)
    from rankgate.data.read import read_ratings

    table = read_ratings(str(rating_file), from_=form).table
    assert sorted(table.select("rater", "grade").rows()) == [("manager", 3.0)] * 3 + [("rater", 1.0)] * 3


def test_coverage_known_grades_and_what_comes_next(team, fresh):
    path = f"/projects/{fresh.name}"
    with team.store.write() as connection:
        batch = batches.add_batch(connection, fresh.id, "hidden", priority=5)
        gold = {("q1", "d8"): batches.Gold(2.0), ("q1", "d9"): batches.Gold(1.0)}
        batches.add_pairs(connection, batch, pl.DataFrame({"query_id": [], "doc_id": []}), gold)
    manager = team.visitor("manager")
    for _ in gold:
        task = manager.get(f"{path}/rate.json").json()["task"]
        manager.post(f"{path}/ratings", task=task["id"], grade=2)
    rows = "".join(f"q1 Q0 d{9 - i} {i + 1} {9 - i}.0 bm25\n" for i in range(10))
    answer = manager.send(f"{path}/material", f"{path}/material", file=("a.run", rows.encode()))
    assert answer.status == 303
    coverage = manager.get(f"{path}/coverage.json").json()
    assert [(row["depth"], row["judged"]) for row in coverage["coverage"]] == [
        (1, 1.0),
        (3, 2 / 3),
        (5, 2 / 5),
        (10, 2 / 10),
        (20, 2 / 10),
    ]
    assert coverage["gold"] == [{"rater": "manager", "answers": 2, "right": 1, "share": 0.5, "off": 0.5}]
    manager.post(f"{path}/judgments", name="one", rule="majority")
    added = manager.post(f"{path}/coverage", name="next", depth=5, strategy="1").json()
    assert added["tasks"] == 3


def test_the_documents_of_a_query_on_one_page(team, fresh):
    path = f"/projects/{fresh.name}"
    rater = team.visitor("rater")
    rated_tasks = []
    for remaining in (4, 3, 2, 1):
        html = rater.get(f"{path}/rate/query").data.decode()
        numbers = re.findall(r'name="task" value="(\d+)"', html)
        assert len(numbers) == remaining
        identity = re.search(r'name="rating_id" value="([^"]+)"', html)[1]
        answer = rater.send(
            f"{path}/ratings", f"{path}/rate/query", task=numbers[0], grade="1", rating_id=identity, list="1"
        )
        assert answer.headers["location"].startswith(f"{path}/rate/query")
        rated_tasks.append(numbers[0])
    assert len(set(rated_tasks)) == 4
    assert rater.get(f"{path}/rate/query.json").json()["tasks"] == []


@pytest.mark.parametrize("many", [1, 1_000])
def test_progress_is_that_of_the_reader(team, monkeypatch, many):
    """Two raters per task: the progress of one rater does not depend on the other."""
    monkeypatch.setattr(rating_pages, "_MANY_ANSWERS", many)  # the server is in this process
    project = team.project(f"own-progress-{many}", pairs=4)
    path = f"/projects/{project.name}/rate"
    rater, manager = team.visitor("rater"), team.visitor("manager")
    counts = []
    while (state := rater.get(f"{path}.json").json())["task"] is not None:
        counts.append((state["progress"]["done"], state["progress"]["total"]))
        rater.post(f"/projects/{project.name}/ratings", task=state["task"]["id"], grade=1, seconds=30)
    assert counts == [(0, 4), (1, 4), (2, 4), (3, 4)]
    progress = rater.get(f"{path}.json").json()["progress"]
    assert (progress["done"], progress["total"], progress["left"]) == (4, 4, 0)
    page = rater.get(path).data.decode()
    assert "All done" in page
    assert "You have done 4 of 4" in page
    assert "left" not in page.partition('id="progress"')[2].partition("</p>")[0]
    state = manager.get(f"{path}.json").json()
    assert (state["progress"]["done"], state["progress"]["total"]) == (0, 4)
    batch = state["task"]["batch"]["id"]
    assert manager.get(f"{path}.json?batch={batch}").json()["progress"]["total"] == 4


def test_grades_without_labels_are_shown_once(team):
    project = team.project("plain-grades", strategy="1")
    with team.store.write() as connection:
        projects.set_scale(connection, project.id, parse_scale("0..9"))
    html = team.visitor("rater").get("/projects/plain-grades/rate").data.decode()
    assert "<kbd>9</kbd></button>" in html
    assert "<kbd>0</kbd></button>" in html
    assert "<span>9</span>" not in html


def test_disagreements_have_keys_and_agreement_begins_with_one_figure(team):
    project = team.project("disputed", pairs=0)
    path = f"/projects/{project.name}"
    long = "a bike " * 100
    with team.store.write() as connection:
        texts = pl.DataFrame({"doc_id": ["long"], "title": ["bike"], "text": [long]})
        queries_documents.add_documents(connection, project.id, texts)
        batch = batches.add_batch(connection, project.id, "one", strategy="2")
        batches.add_pairs(connection, batch, pl.DataFrame({"query_id": ["q1"], "doc_id": ["long"]}))
        projects.add_guideline(connection, project.id, "1", "Grade *bikes* only.")
    for name, grade in (("rater", 0), ("admin", 3)):
        visitor = team.visitor(name)
        task = visitor.get(f"{path}/rate.json").json()["task"]["id"]
        visitor.post(f"{path}/ratings", task=task, grade=grade)
    html = team.visitor("manager").get(f"{path}/disputes").data.decode()
    assert '<details class="long"><summary>' in html
    assert html.count(long.strip()[-40:]) >= 1
    assert "Grade <em>bikes</em> only." in html
    assert re.findall(r'data-key="(\d)"', html) == ["0", "1", "2", "3"]
    assert "disputes.js" in html
    html = team.visitor("manager").get(f"{path}/agreement").data.decode()
    summary, _, details = html.partition("All coefficients")
    assert "Krippendorff&#39;s alpha (ordinal)" in summary
    assert "Gwet" not in summary
    assert "Gwet" in details
