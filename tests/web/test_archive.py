"""Runs, judgments, batches and projects are archived and shown again, or deleted by an admin."""

from __future__ import annotations

import re

import pytest

from rankgate.data import read_qrels, read_run
from rankgate.store import archive
from rankgate.store.blobs import stored_runs
from rankgate.store.people import audit
from rankgate.store.rating import ratings
from rankgate.store.store_integrity import check
from rankgate.workspace.web.routes import ROUTES

RUN = {"q1": {"d0": 2.0, "d1": 1.0}}


@pytest.fixture
def made(team, request):
    """A project with two runs, judgments and a batch."""
    name = request.node.name.replace("_", "-")[:60]
    project = team.project(name, strategy="1")
    with team.store.write() as connection:
        for run in ("old", "new"):
            stored_runs.add_run(connection, team.store.blobs, project.id, read_run(RUN, run), name=run)
        stored_runs.add_judgments(
            connection, team.store.blobs, project.id, read_qrels({"q1": {"d0": 1}}), name="gold"
        )
    return project


def items(visitor, project):
    """The items of a project by kind and name."""
    entries = visitor.get(f"/projects/{project.name}/archive.json").json()["items"]
    return {(item["kind"], item["name"]): item for item in entries}


def path_of(visitor, project, kind, name):
    return f"/projects/{project.name}/archive/{kind}/{items(visitor, project)[kind, name]['id']}"


def test_what_is_archived_is_hidden_and_kept(team, made):
    manager, rater = team.visitor("manager"), team.visitor("rater")
    project_url = f"/projects/{made.name}"
    task = rater.get(f"{project_url}/rate.json").json()["task"]["id"]
    assert rater.post(f"{project_url}/ratings", task=task, grade=1).status == 200
    for kind, name in (("run", "old"), ("judgments", "gold"), ("batch", "first")):
        item_url = path_of(manager, made, kind, name)
        assert manager.send(item_url, f"{project_url}/archive", archived="1").status == 303
        assert items(manager, made)[kind, name]["archived_at"]
    project_page = manager.get(f"{project_url}.json").json()
    assert [run["name"] for run in project_page["runs"]] == ["new"]
    assert project_page["batches"] == []
    assert project_page["progress"]["total"] == 0
    assert manager.get(f"{project_url}/judgments.json").json()["judgments"] == []
    assert {row["run"] for row in manager.get(f"{project_url}/coverage.json").json()["coverage"]} == {"new"}
    assert rater.get(f"{project_url}/rate.json").json()["task"] is None
    assert rater.post(f"{project_url}/ratings", task=task, grade=2).json()["error"]["code"] == "batch-closed"
    with team.store.read() as connection:
        assert len(ratings.read_ratings(connection, made.id).table) == 1  # it counts
        actions = [entry.action for entry in audit.entries(connection, made.id)]
    assert {"run.archive", "judgments.archive", "batch.archive"} <= set(actions)
    for kind, name in (("run", "old"), ("judgments", "gold"), ("batch", "first")):
        assert manager.post(path_of(manager, made, kind, name)).json()["archived"] is False
    assert len(manager.get(f"{project_url}.json").json()["runs"]) == 2
    assert rater.get(f"{project_url}/rate.json").json()["task"] is not None


def test_an_admin_deletes_what_is_named_first(team, made):
    admin, manager, rater = (team.visitor(name) for name in ("admin", "manager", "rater"))
    project_url = f"/projects/{made.name}"
    batch = path_of(admin, made, "batch", "first")
    assert manager.get(f"{batch}/delete").status == 403
    assert manager.post(f"{batch}/delete", confirm="first").status == 403
    task = rater.get(f"{project_url}/rate.json").json()["task"]["id"]
    assert admin.get(f"{batch}/delete.json").json()["deleted"] == {"tasks": 4}
    page = admin.get(f"{batch}/delete").data.decode()
    assert "4 tasks" in page
    assert admin.post(f"{batch}/delete", confirm="second").status == 400
    assert rater.post(f"{project_url}/ratings", task=task, grade=1).status == 200
    assert "1 rating" in admin.get(f"{batch}/delete").data.decode()
    answer = admin.post(f"{batch}/delete", confirm="first")
    assert answer.json()["deleted"] == {"tasks": 4, "ratings": 1}
    for kind, name in (("run", "old"), ("judgments", "gold")):
        item_url = path_of(admin, made, kind, name)
        assert admin.send(f"{item_url}/delete", f"{item_url}/delete", confirm=name).status == 303
    assert set(items(admin, made)) == {("run", "new")}
    with team.store.read() as connection:
        entries = {entry.action: entry for entry in audit.entries(connection, made.id)}
    assert {"run.delete", "judgments.delete"} <= set(entries)
    assert entries["batch.delete"].details == {"tasks": 4, "ratings": 1}
    assert check(team.store) == ()


def test_a_batch_goes_with_its_tasks(new_store):
    import polars as pl

    from rankgate.store.material import projects
    from rankgate.store.people import users
    from rankgate.store.rating import batches, next_task

    with new_store.write() as connection:
        project = projects.add(connection, "shop").id
        batch = batches.add_batch(connection, project, "first")
        pairs = pl.DataFrame({"query_id": ["q", "q"], "doc_id": ["a", "b"]})
        batches.add_pairs(connection, batch, pairs)
        rater = users.ensure(connection, "ann").id
        assert next_task.take(connection, project, rater) is not None
        item = archive.get(connection, project, "batch", batch.id)
        archive.set_archived(connection, item, archived=True)
        assert next_task.take(connection, project, rater) is None
        assert archive.delete(connection, item) == {"tasks": 2}
        assert batches.list_batches(connection, project) == []
    assert check(new_store) == ()


def test_an_archived_project_is_hidden(team, made):
    admin, manager = team.visitor("admin"), team.visitor("manager")
    archive_url = f"/projects/{made.name}/archive"
    assert manager.post(archive_url, archived=True).status == 403
    assert admin.send(archive_url, archive_url, archived="1").status == 303
    listing = admin.get("/projects.json").json()
    assert made.name not in {project["name"] for project in listing["projects"]}
    assert made.name in {project["name"] for project in listing["archived"]}
    assert "Archived projects" in admin.get("/projects").data.decode()
    assert admin.get(f"/projects/{made.name}").status == 200
    assert admin.send(archive_url, archive_url, archived="").status == 303
    listing = admin.get("/projects.json").json()
    assert made.name in {project["name"] for project in listing["projects"]}


def test_an_archived_project_takes_no_changes(team, made):
    admin, rater = team.visitor("admin"), team.visitor("rater")
    project_url = f"/projects/{made.name}"
    task = rater.get(f"{project_url}/rate.json").json()["task"]["id"]
    run = path_of(admin, made, "run", "old")
    assert admin.post(f"{project_url}/archive", archived=True).status == 200
    changes = [
        route
        for route in ROUTES
        if route.method == "POST" and "{project}" in route.path and not route.in_archived
    ]
    assert len(changes) > 30
    for route in changes:
        path = re.sub(r"\{(\w+)(:int)?\}", "1", route.path.replace("{project}", made.name))
        answer = admin.post(path)
        assert (answer.status, answer.json()["error"]["code"]) == (409, "project-archived"), path
    answer = rater.post(f"{project_url}/ratings", task=task, grade=1)
    assert answer.json()["error"]["code"] == "project-archived"
    assert admin.get(project_url).status == 200
    assert admin.post(f"{project_url}/archive", archived=False).status == 200
    assert rater.post(f"{project_url}/ratings", task=task, grade=1).status == 200
    assert admin.post(run, archived=True).status == 200


def test_an_admin_deletes_an_archived_project(team, made):
    admin, manager, rater = (team.visitor(name) for name in ("admin", "manager", "rater"))
    root = team.visitor("root")
    project_url = f"/projects/{made.name}"
    task = rater.get(f"{project_url}/rate.json").json()["task"]["id"]
    assert rater.post(f"{project_url}/ratings", task=task, grade=1).status == 200
    assert manager.get(f"{project_url}/delete").status == 403
    assert manager.post(f"{project_url}/delete", confirm=made.name).status == 403
    assert "Archive the project first" in admin.get(f"{project_url}/delete").data.decode()
    answer = admin.post(f"{project_url}/delete", confirm=made.name)
    assert (answer.status, answer.json()["error"]["code"]) == (409, "in-use")
    assert admin.send(f"{project_url}/archive", f"{project_url}/archive", archived="1").status == 303
    assert f"{project_url}/delete" in admin.get(f"{project_url}/archive").data.decode()
    counts = admin.get(f"{project_url}/delete.json").json()["deleted"]
    expected = {
        "queries": 1,
        "runs": 2,
        "judgments": 1,
        "batches": 1,
        "tasks": 4,
        "ratings": 1,
        "documents": 4,
        "roles": 4,
    }
    assert {name: counts[name] for name in expected} == expected
    assert "1 rating" in admin.get(f"{project_url}/delete").data.decode()
    assert admin.post(f"{project_url}/delete", confirm="another").status == 400
    assert admin.send(f"{project_url}/delete", f"{project_url}/delete", confirm=made.name).status == 303
    for visitor in (admin, root):
        assert visitor.get(project_url, headers={"content-type": "application/json"}).status == 404
    pages = root.get("/projects.json").json()
    names = {project["name"] for project in pages["projects"] + pages["archived"]}
    assert made.name not in names
    assert not any("/" in name for name in names)
    with team.store.read() as connection:
        last = audit.entries(connection, made.id)[0]
    assert (last.action, last.subject, last.actor) == ("project.delete", made.name, "admin")
    assert last.details == counts
    assert check(team.store) == ()
    assert root.post("/projects", name=made.name).status == 200
    assert root.get(f"{project_url}/log.json").json()["entries"][-1]["action"] == "project.add"


def test_queries_are_archived_by_id_and_by_batch(team, made):
    admin, manager, rater = (team.visitor(name) for name in ("admin", "manager", "rater"))
    project_url = f"/projects/{made.name}"
    task = rater.get(f"{project_url}/rate.json").json()["task"]["id"]
    assert rater.post(f"{project_url}/ratings", task=task, grade=1).status == 200
    queries_url = f"{project_url}/archive/queries"
    for fields in ({}, {"queries": "nothing"}, {"batch": "nothing"}):
        answer = manager.post(queries_url, archived="1", **fields)
        assert answer.status in {400, 404}, answer.data
    (query,) = [
        row["query_id"]
        for row in manager.get(f"{project_url}/queries.json").json()["queries"]
        if row["query_id"] != "q1"
    ] or ["q1"]
    answer = manager.post(queries_url, archived="1", queries=f"{query}\n\n{query}\n")
    assert answer.json() == {"queries": 1, "archived": True}
    visible_queries = {
        row["query_id"] for row in manager.get(f"{project_url}/queries.json").json()["queries"]
    }
    assert query not in visible_queries
    assert manager.get(f"{project_url}.json").json()["progress"]["total"] == 0
    assert rater.get(f"{project_url}/rate.json").json()["task"] is None
    assert rater.post(f"{project_url}/ratings", task=task, grade=2).json()["error"]["code"] == "batch-closed"
    with team.store.read() as connection:
        assert len(ratings.read_ratings(connection, made.id).table) == 1  # it counts
    page = manager.get(f"{project_url}/archive").data.decode()
    assert "1 is archived" in page
    assert f"/archive/query/{items(manager, made)['query', query]['id']}/delete" not in page
    page = manager.get(f"{project_url}/query?query={query}").data.decode()
    assert "Show the query again" in page
    assert manager.send(queries_url, f"{project_url}/archive", batch="first").status == 303
    assert rater.get(f"{project_url}/rate.json").json()["task"] is not None
    assert manager.post(queries_url, archived="1", batch="first").json()["queries"] == 1
    deletion = f"{queries_url}/delete"
    assert manager.get(deletion).status == 403
    assert manager.post(deletion, confirm="archived queries").status == 403
    page = admin.get(deletion).data.decode()
    assert "1 query." in page
    assert "4 tasks" in page
    assert "1 rating" in page
    assert admin.post(deletion, confirm="queries").status == 400
    answer = admin.post(deletion, confirm="archived queries")
    assert answer.json() == {"name": "archived queries", "queries": 1, "deleted": {"tasks": 4, "ratings": 1}}
    with team.store.read() as connection:
        entries = {entry.action: entry for entry in audit.entries(connection, made.id)}
    assert entries["queries.delete"].details == {"queries": 1, "tasks": 4, "ratings": 1}
    assert {"queries.archive", "queries.restore"} <= set(entries)
    assert admin.get(deletion).data.decode().count("No query is archived.") == 1
    assert check(team.store) == ()


def test_an_admin_deletes_one_query(team, made):
    admin = team.visitor("admin")
    project_url = f"/projects/{made.name}"
    (query,) = admin.get(f"{project_url}/queries.json").json()["queries"]
    page = admin.get(f"{project_url}/query.json?query={query['query_id']}").json()["query"]
    deletion_url = f"{project_url}/archive/query/{page['id']}/delete"
    assert "4 tasks" in admin.get(deletion_url).data.decode()
    assert admin.send(deletion_url, deletion_url, confirm=query["query_id"]).status == 303
    assert admin.get(f"{project_url}/queries.json").json()["queries"] == []
    assert check(team.store) == ()


def test_archiving_a_project_cancels_its_jobs(team, made):
    from rankgate.store.models import model_jobs_table
    from rankgate.store.people import users

    with team.store.write() as connection:
        rater = users.ensure(connection, "m archived", kind="model").id
        job = model_jobs_table.add(connection, made.id, rater, [], name="first").id
    admin = team.visitor("admin")
    assert admin.post(f"/projects/{made.name}/archive", archived=True).status == 200
    with team.store.read() as connection:
        assert model_jobs_table.get(connection, job).state == "cancelled"
    assert admin.post(f"/projects/{made.name}/delete", confirm=made.name).status == 200
