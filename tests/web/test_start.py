"""From an empty project to a verdict, a history and a schedule, with pages only."""

from __future__ import annotations

import re
from contextlib import contextmanager
from html import escape

import pytest

from rankgate.data.qrels import GRADED
from rankgate.engines.configuration import ENGINES
from rankgate.engines.project_engines import EngineAccess
from rankgate.store.material import projects
from rankgate.store.people import sign_in, users
from rankgate.workspace.records.schedule.scheduler import Scheduler
from support.searching import PRODUCTS, QUERIES, grade_of, make_shop
from support.serving import PASSWORD, Visitor, served
from support.waiting import until

SHOP = "/projects/shop"


@contextmanager
def opened(store, folder, *, access=None, seconds=0.3):
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
    scheduler = Scheduler(store, folder, seconds=seconds, environment=access.to_environment())
    settings = {"engines": access, "jobs": folder, "schedule": True}
    with served(store, per_minute=1_000_000, **settings) as address:
        scheduler.start()
        try:
            yield address
        finally:
            scheduler.stop()


@pytest.fixture
def shop(new_file, tmp_path):
    with new_file(tmp_path / "judging.db", f"{tmp_path}/blobs") as store, opened(store, tmp_path) as address:
        yield address


@pytest.fixture
def shop_in_each_kind(new_store, tmp_path):
    """A shop in each kind of database, for what happens at the same moment."""
    with opened(new_store, tmp_path) as address:
        yield address


@pytest.fixture(scope="module")
def unchanged_shop(new_file, tmp_path_factory):
    """A server for tests that leave the project as it was, and start no job."""
    folder = tmp_path_factory.mktemp("unchanged")
    with (
        new_file(folder / "judging.db", f"{folder}/blobs") as store,
        opened(store, folder, seconds=60) as address,
    ):
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
        "POST", f"{SHOP}/steps/{step}", fields=fields_of(forms[0]) | changes, encode_multipart=False
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
    for name, options in re.findall(r'<select [^>]*name="([^"]*)".*?>(.*?)</select>', form, re.DOTALL):
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
    points = manager.get(f"{SHOP}/trends.json?metric=nDCG@10&system=fts").json()["history"]["series"]
    assert len(points) == 1  # snapshots of one day with the same lists are one evaluation
    scheduled = manager.post(
        f"{SHOP}/schedule/engine", engine="fts", every="week", time="6:30", judgments="judgments-1"
    )
    assert scheduled.json() == {"job": "fts-week", "schedule": "30 6 * * mon"}
    [job] = manager.get(f"{SHOP}/schedule.json").json()["jobs"]
    assert (job["name"], job["kind"], job["enabled"]) == ("fts-week", "engine-snapshot", True)
    states = {name: step["state"] for name, step in steps_of(manager).items()}
    assert {name for name, state in states.items() if state != "done"} == {"clicks", "sweep"}
    assert {states["clicks"], states["sweep"]} == {"optional"}


def with_queries(visitor):
    assert visitor.post(f"{SHOP}/queries", text="\n".join(QUERIES)).status == 200


def with_engine(visitor, **changes):
    engine = {"name": "fts", "database": "products.db", "table": "products", "id": "id"}
    engine |= {"fields": {"title": "title"}} | changes
    return visitor.post(f"{SHOP}/engines/kinds/sqlite", **engine)


def error_of(answer):
    return answer.status, answer.json()["error"]["code"]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("sku\tprice\nA1\t10\n", "sku, price"),
        ("red shoes\n{&quot;a&quot;: 1}".replace("&quot;", '"'), "line 2"),
        ("id\tquery\n1\tshoes\n1\tcoats", "line 3"),
    ],
)
def test_what_is_no_list_of_queries_is_said_beside_the_field(unchanged_shop, text, words):
    manager = signed_in(unchanged_shop, "manager")
    answer = manager.send(f"{SHOP}/queries", f"{SHOP}/queries", text=text)
    page = answer.data.decode()
    assert answer.status == 400
    [beside] = re.findall(r'id="queries-add-text-problem">(.*?)</small>', page)
    assert words in beside
    assert escape(text.splitlines()[0]) in page  # what was typed is still there
    assert manager.get(f"{SHOP}/queries.json").json()["total"] == 0


def test_queries_come_from_files_and_logs_and_one_place_at_a_time(shop):
    manager = signed_in(shop, "manager")
    log = "\n".join(["user_query", *["rain"] * 5, *["boots"] * 2, "hat"]).encode()
    page = f"{SHOP}/queries"
    both = manager.send(page, page, text="rain", log=("log.csv", log))
    assert both.status == 400
    assert manager.send(page, page, log=("log.csv", log), count="3").status == 303
    rows = manager.get(f"{SHOP}/queries.json").json()["queries"]
    assert {row["text"] for row in rows} == {"rain", "boots", "hat"}
    sheet = b"query_id,text\nx1,wool scarf\n"
    assert manager.send(page, page, file=("queries.csv", sheet)).status == 303
    assert manager.send(page, page, file=("queries.csv", sheet)).status == 303
    assert manager.get(f"{SHOP}/queries.json").json()["total"] == 4
    other_text = manager.post(page, text="id\tquery\nx1\tanother")
    assert error_of(other_text) == (400, "invalid-queries")


def test_an_engine_that_is_down_or_wrong_says_so_and_keeps_nothing(shop):
    manager = signed_in(shop, "manager")
    with_queries(manager)
    page = f"{SHOP}/engines?kind=sqlite"
    saving = f"{SHOP}/engines/kinds/sqlite"
    wrong = {"name": "fts", "database": "products.db", "table": "nothing"}
    answer = manager.send(saving, page, preview="1", **wrong).data.decode()
    assert "no such table" in answer
    neither = manager.send(saving, page, name="fts", database="products.db")
    assert neither.status == 400
    assert "give either table or sql" in neither.data.decode()
    outside = manager.send(saving, page, name="fts", database="../../s.db", table="a")
    assert 'id="engine-save-sqlite-database-problem"' in outside.data.decode()
    for url in ("http://127.0.0.1:1/", "http://169.254.169.254/"):
        settings = {"name": "h", "url": url, "params": {"q": "{{query}}"}, "hits": "a", "id": "b"}
        answer = manager.post(f"{SHOP}/engines/kinds/http", **settings)
        assert error_of(answer) == (400, "host-not-allowed")
    assert manager.get(f"{SHOP}/engines.json").json()["engines"] == []
    assert with_engine(manager, table="nothing").status == 200
    failed = press(manager, "snapshot")
    assert (failed["state"], failed["run"]["state"]) == ("next", "failed")
    assert "rankgate snapshot" in failed["run"]["error"]


def test_two_managers_start_a_step_once_and_lose_no_change_of_an_engine(shop_in_each_kind):
    first, second = (signed_in(shop_in_each_kind, name) for name in ("manager", "other"))
    with_queries(first)
    assert with_engine(first).status == 200
    assert error_of(with_engine(second, table="other")) == (409, "name-taken")
    assert with_engine(second).status == 200  # the same once more
    answers = [visitor.post(f"{SHOP}/steps/snapshot", engine="fts").json() for visitor in (first, second)]
    assert [answer["started"] for answer in answers] == [True, False]
    assert answers[0]["run"] == answers[1]["run"]
    until(lambda: not steps_of(first)["snapshot"]["run"]["under_way"])
    without_number = second.post(f"{SHOP}/steps/snapshot", engine="fts")
    assert error_of(without_number) == (400, "invalid-value")  # and not that it is done
    assert str(answers[0]["run"]) in without_number.data.decode()
    [run] = first.get(f"{SHOP}/contents.json").json()["runs"]
    again = first.post(f"{SHOP}/steps/snapshot", engine="fts", seen=answers[0]["run"]).json()
    assert again["started"] is True
    cancelled = second.post(f"{SHOP}/schedule/runs/{again['run']}/cancel").json()
    assert cancelled == {"cancelled": True}
    assert second.post(f"{SHOP}/schedule/runs/{again['run']}/cancel").json()["cancelled"] is False
    state = steps_of(first)["snapshot"]["run"]
    assert (state["state"], state["error"]) == ("failed", "cancelled by other")
    assert run


def test_a_batch_without_documents_is_not_made(shop):
    manager = signed_in(shop, "manager")
    assert error_of(manager.post(f"{SHOP}/steps/batch", runs="none", batch="b")) == (400, "invalid-value")
    run = b"q1 Q0 p1 1 1 monday\n"
    assert manager.send(f"{SHOP}/material", f"{SHOP}/material", file=("monday.run", run)).status == 303
    qrels = b"q1 0 p1 1\n"
    assert manager.send(f"{SHOP}/material", f"{SHOP}/material", file=("gold.qrels", qrels)).status == 303
    [judgments] = judgments_of(manager)
    failed = press(manager, "batch", judgments=judgments)
    assert failed["run"]["state"] == "failed"
    assert "pool is empty" in failed["run"]["error"]


def judgments_of(visitor):
    return [row["name"] for row in visitor.get(f"{SHOP}/judgments.json").json()["judgments"]]


def test_a_schedule_is_a_time_of_names_of_the_project(shop):
    manager = signed_in(shop, "manager")
    with_engine(manager)
    path = f"{SHOP}/schedule/engine"
    for values in (
        {"engine": "other", "every": "day"},
        {"engine": "fts", "every": "day", "time": "25:00"},
        {"engine": "fts", "every": "day", "judgments": "none"},
        {"engine": "fts", "every": "day", "baseline": "none"},
        {"engine": "fts", "every": "cron"},
        {"engine": "fts", "every": "sometimes"},
    ):
        assert error_of(manager.post(path, **values)) == (400, "invalid-value"), values
    wrong = {"engine": "fts", "every": "cron", "cron": "often"}
    assert error_of(manager.post(path, **wrong)) == (400, "invalid-jobs")
    made = manager.post(path, engine="fts", every="workday", time="07:05").json()
    assert made == {"job": "fts-workday", "schedule": "5 7 * * mon-fri"}
    assert manager.post(f"{SHOP}/engines/fts/delete").status == 200
    assert manager.get(f"{SHOP}/engines.json").json()["engines"] == []


@pytest.mark.parametrize("kind", ENGINES, ids=str)
def test_every_kind_of_engine_has_a_form_with_all_its_settings(unchanged_shop, kind):
    manager = signed_in(unchanged_shop, "manager")
    page = manager.get(f"{SHOP}/engines?kind={kind}").data.decode()
    action = f"{SHOP}/engines/kinds/{kind}"
    [form] = re.findall(rf'<form [^>]*action="{action}".*?</form>', page, re.DOTALL)
    names = set(re.findall(r'name="([^"]+)"', form)) - {"csrf", "name", "query", "seen", "preview"}
    assert names == set(ENGINES.find(kind).parameters)
    answer = manager.post(action, name="empty")
    assert error_of(answer) in {(400, "invalid-value"), (400, "programs-not-allowed")}
