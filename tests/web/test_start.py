"""From an empty project to a verdict, a history and a schedule, by pages alone."""

from __future__ import annotations

import re
from contextlib import contextmanager

import pytest

from rankgate.data.qrels import GRADED
from rankgate.engines.project_engines import EngineAccess
from rankgate.store.material import projects
from rankgate.store.people import sign_in, users
from rankgate.workspace.records.schedule.scheduler import Scheduler
from support.searching import PRODUCTS, QUERIES, grade_of, make_shop
from support.serving import PASSWORD, Visitor, served
from support.waiting import until

SHOP = "/projects/shop"


@contextmanager
def opened(store, folder, *, access=None):
    """A server of a store with a project and its people, and the scheduler that runs its jobs."""
    (folder / "shop").mkdir()
    make_shop(folder / "shop" / "products.db")
    access = access or EngineAccess(folder=folder)
    hashed = sign_in.password_hash(PASSWORD)
    with store.write() as connection:
        project = projects.add(connection, "shop", title="Shop", scale=GRADED)
        for name in ("manager", "other", "ann", "bob"):
            user = users.add(connection, name, hashed)
            role = "rater" if name in {"ann", "bob"} else "manager"
            users.grant(connection, project.id, user.id, role)
    scheduler = Scheduler(store, folder, seconds=0.1, environment=access.to_environment())
    settings = {"engines": access, "jobs": folder, "schedule": True}
    with served(store, per_minute=1_000_000, **settings) as address:
        scheduler.start()
        try:
            yield address
        finally:
            scheduler.stop()


@pytest.fixture
def shop(new_store, tmp_path):
    with opened(new_store, tmp_path) as address:
        yield address


def signed_in(address, name):
    visitor = Visitor(address)
    assert visitor.sign_in(name).status == 303
    return visitor


def steps_of(visitor):
    return {step["name"]: step for step in visitor.get(f"{SHOP}/steps.json").json()["steps"]}


def press(visitor, step, **changes):
    """Press the button of a step as the page shows it, and wait for the end of its job."""
    page = visitor.get(f"{SHOP}/steps").data.decode()
    forms = re.findall(rf'<form [^>]*action="{SHOP}/steps/{step}".*?</form>', page, re.DOTALL)
    assert len(forms) == 1, steps_of(visitor)
    answer = visitor.ask(
        "POST",
        f"{SHOP}/steps/{step}",
        fields=fields_of(forms[0]) | changes,
        encode_multipart=False,
    )
    assert answer.status == 303, answer.data.decode()
    until(lambda: not steps_of(visitor)[step]["run"]["under_way"])
    return steps_of(visitor)[step]


def fields_of(form):
    """The values that a browser sends of a form."""
    values = {
        name: value
        for tag in re.findall(r"<input [^>]*>", form)
        for name in re.findall(r'name="([^"]*)"', tag)
        for value in [(re.findall(r' value="([^"]*)"', tag) or [""])[0]]
    }
    for name, options in re.findall(
        r'<select [^>]*name="([^"]*)".*?>(.*?)</select>', form, re.DOTALL
    ):
        chosen = re.findall(r"<option([^>]*) selected[^>]*>([^<]*)", options)
        words = [(re.findall(r'value="([^"]*)"', tag) or [label])[0] for tag, label in chosen]
        values[name] = words[0] if words else ""
    return values


def rate_everything(address, name):
    rater = signed_in(address, name)
    while (state := rater.get(f"{SHOP}/rate.json").json())["task"]:
        task = state["task"]
        grade = grade_of(task["query"]["text"], PRODUCTS[task["sides"][0]["doc_id"]])
        answer = rater.post(f"{SHOP}/ratings", task=task["id"], grade=grade, seconds=5)
        assert answer.status == 200, answer.data


def test_a_project_goes_from_queries_to_a_verdict_and_a_schedule(shop):
    manager = signed_in(shop, "manager")
    assert {name: step["state"] for name, step in steps_of(manager).items()}["queries"] == "next"
    typed = {"text": "\n".join([*QUERIES, QUERIES[0]])}
    preview = manager.post(f"{SHOP}/queries", preview=True, **typed).json()
    assert (preview["queries"], preview["new"], preview["repeated"]) == (5, 5, 1)
    assert manager.send(f"{SHOP}/queries", f"{SHOP}/queries", **typed).status == 303
    assert manager.post(f"{SHOP}/queries", **typed).json()["new"] == 0
    engine = {
        "name": "fts",
        "database": "products.db",
        "table": "products",
        "id": "id",
        "fields": "title = title",
    }
    page = f"{SHOP}/engines?kind=sqlite"
    saving = f"{SHOP}/engines/kinds/sqlite"
    tried = manager.send(saving, page, preview="1", query="boots", **engine)
    assert (tried.status, "leather hiking boots" in tried.data.decode()) == (200, True)
    assert manager.send(saving, page, **engine).status == 303
    answer = manager.post(f"{SHOP}/engines/fts/try", query="wool hat").json()
    assert next(document["doc_id"] for document in answer["documents"]) == "p6"
    assert press(manager, "snapshot")["state"] == "done"
    assert press(manager, "batch", strategy="2")["state"] == "done"
    rate_everything(shop, "ann")
    rate_everything(shop, "bob")
    assert steps_of(manager)["rating"]["state"] == "done"
    assert press(manager, "judgments")["state"] == "done"
    assert press(manager, "evaluation")["run"]["error"] == ""
    for _ in range(2):
        assert press(manager, "snapshot")["run"]["error"] == ""
    assert press(manager, "comparison")["run"]["record"] is not None
    verdict = press(manager, "gate")
    assert (verdict["state"], verdict["run"]["error"]) == ("done", "")
    points = manager.get(f"{SHOP}/trends.json?metric=nDCG@10&system=fts").json()["points"]
    assert len(points) >= 3
    scheduled = manager.post(
        f"{SHOP}/schedule/engine", engine="fts", every="week", time="6:30", judgments="judgments-1"
    )
    assert scheduled.json() == {"job": "fts-week", "schedule": "30 6 * * mon"}
    [job] = manager.get(f"{SHOP}/schedule.json").json()["jobs"]
    assert (job["name"], job["kind"], job["enabled"]) == ("fts-week", "engine-snapshot", True)
    states = {name: step["state"] for name, step in steps_of(manager).items()}
    assert set(states.values()) == {"done"}
