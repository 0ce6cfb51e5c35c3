"""From an empty store to a verdict and a history of three evaluations, by a browser alone.

A manager types queries, describes an engine and tries it; two raters grade by keyboard.
"""

from __future__ import annotations

import json
from contextlib import contextmanager

import pytest

from rankgate.data.qrels import GRADED
from rankgate.engines.project_engines import EngineAccess
from rankgate.store.material import projects
from rankgate.store.people import sign_in, users
from rankgate.workspace.records.schedule.scheduler import Scheduler
from support.chromium import VIEWS
from support.searching import PRODUCTS, QUERIES, grade_of, make_shop
from support.serving import PASSWORD, served

pytestmark = pytest.mark.slow
SHOP = "/projects/shop"
PATIENT = 300
"""Seconds for a job: each is a process of its own."""
TITLES = {title: doc_id for doc_id, title in PRODUCTS.items()}


class SqliteShop:
    """The shop in SQLite's full-text search, in the folder of the project."""

    kind = "sqlite"
    settings = {  # noqa: RUF012 - of tests
        "database": "products.db",
        "table": "products",
        "id": "id",
        "fields": "title = title",
    }

    def __init__(self, folder):
        self.access = EngineAccess(folder=folder)
        make_shop(folder / "shop" / "products.db")


class OpenSearchShop:
    """The shop in an index of OpenSearch, whose host the server allows."""

    kind = "opensearch"

    def __init__(self, folder, cluster):
        host = cluster.url.partition("://")[2].rstrip("/")
        self.access = EngineAccess(frozenset({host}), folder=folder)
        self.settings = {
            "url": cluster.url,
            "index": "shop",
            "search": "title",
            "fields": "title = title",
        }
        documents = {doc_id: {"title": title} for doc_id, title in PRODUCTS.items()}
        cluster.index("shop", {"title": {"type": "text"}}, documents)


@pytest.fixture(params=["sqlite", pytest.param("opensearch", marks=pytest.mark.opensearch)])
def make_engine(request):
    """A function of the folder of jobs that makes the engine."""
    if request.param == "sqlite":
        return SqliteShop
    cluster = request.getfixturevalue("opensearch")
    return lambda folder: OpenSearchShop(folder, cluster)


@contextmanager
def opened(store, folder, engine):
    hashed = sign_in.password_hash(PASSWORD)
    with store.write() as connection:
        project = projects.add(connection, "shop", title="Shop", scale=GRADED)
        for name, role in (("maria", "manager"), ("ann", "rater"), ("bob", "rater")):
            user = users.add(connection, name, hashed)
            users.grant(connection, project.id, user.id, role)
    scheduler = Scheduler(store, folder, seconds=0.5, environment=engine.access.to_environment())
    settings = {"engines": engine.access, "jobs": folder, "schedule": True}
    with served(store, per_minute=1_000_000, **settings) as address:
        scheduler.start()
        try:
            yield address
        finally:
            scheduler.stop()


def submit(page, action, button="", **values):
    """Fill in the form of an action and press one of its buttons."""
    page.ask(
        f"""(() => {{
          const form = [...document.forms].find(
            (one) => one.method === "post" && one.action.endsWith({json.dumps(action)}));
          for (const [name, value] of Object.entries({json.dumps(values)}))
            form.elements[name].value = value;
          const press = {json.dumps(button)};
          form.requestSubmit(press ? form.querySelector(`button[name=${{press}}]`)
                                   : form.querySelector("button:not([name])"));
          return 1;
        }})()"""
    )


def sign_in_as(page, address, name):
    page.send("Network.clearBrowserCookies")
    page.open(f"{address}/sign-in")
    submit(page, "/sign-in", name=name, password=PASSWORD)
    page.until("location.pathname !== '/sign-in'")


def press(page, address, step):
    """Press the button of a step, and wait on the page until its job has ended."""
    page.open(f"{address}{SHOP}/steps")
    submit(page, f"/steps/{step}")
    page.until("location.search.includes('done=step-')")
    page.until(f"!document.querySelector('#{step} [data-soon]')", PATIENT)
    assert page.ask(f"document.querySelector('#{step} b.problem')?.innerText ?? ''") == ""
    return page.ask(f"document.getElementById('{step}').className")


def rate_everything(page, address, name):
    sign_in_as(page, address, name)
    page.open(f"{address}{SHOP}/rate")
    while True:
        page.until("document.querySelector('h1, h2') !== null")
        state = page.ask(f"fetch('{SHOP}/rate.json').then((answer) => answer.json())")
        task = state["task"]
        if task is None:
            return
        grade = grade_of(task["query"]["text"], PRODUCTS[task["sides"][0]["doc_id"]])
        page.advance(5_000)
        page.press(str(grade))
        page.until(
            f"fetch('{SHOP}/rate.json').then((answer) => answer.json())"
            f".then((state) => state.task?.id !== {task['id']})"
        )
        page.open(f"{address}{SHOP}/rate")


def test_a_manager_and_two_raters_reach_a_verdict_and_a_history(
    new_store, tmp_path, chromium, make_engine
):
    (tmp_path / "shop").mkdir()
    engine = make_engine(tmp_path)
    page = chromium
    with opened(new_store, tmp_path, engine) as address:
        sign_in_as(page, address, "maria")
        page.open(f"{address}{SHOP}")
        assert page.ask("document.querySelector('#next-step .button').innerText") == "Begin"
        page.open(f"{address}{SHOP}/queries")
        submit(page, f"{SHOP}/queries", "preview", text="\n".join(QUERIES))
        page.until("document.getElementById('account').innerText.includes('5 queries')")
        submit(page, f"{SHOP}/queries")
        page.until("location.search.includes('done=queries-add')")
        page.open(f"{address}{SHOP}/engines?kind={engine.kind}")
        saving = f"/engines/kinds/{engine.kind}"
        submit(page, saving, "preview", name="shop", query="hiking boots", **engine.settings)
        page.until("document.getElementById('account').innerText.includes('leather hiking')")
        submit(page, saving)
        page.until("location.search.includes('done=engine-save')")
        assert press(page, address, "snapshot") == "is-done"
        assert press(page, address, "batch") == "is-done"
        for name in ("ann", "bob"):
            rate_everything(page, address, name)
        sign_in_as(page, address, "maria")
        assert press(page, address, "judgments") == "is-done"
        assert press(page, address, "evaluation") == "is-done"
        for _ in range(2):
            assert press(page, address, "snapshot") == "is-done"
        assert press(page, address, "comparison") == "is-done"
        assert press(page, address, "gate") == "is-done"
        verdict = page.ask(
            f"fetch('{SHOP}/records.json?kind=gates').then((answer) => answer.json())"
        )
        assert [row["verdict"] for row in verdict["records"]] in (["pass"], ["inconclusive"])
        trend = page.ask(
            f"fetch('{SHOP}/trends.json?metric=nDCG@10&system=shop').then((a) => a.json())"
        )
        assert len(trend["history"]["series"]) >= 3
        page.open(f"{address}{SHOP}/schedule")
        submit(page, f"{SHOP}/schedule/engine", every="week", time="06:30")
        page.until("location.search.includes('done=schedule-engine')")
        assert "30 6 * * mon" in page.ask("document.body.innerText")
        assert page.said == []


@pytest.mark.parametrize("view", VIEWS, ids=[view[0] for view in VIEWS])
def test_the_pages_have_no_fault_for_those_who_do_not_see_them(
    new_file, tmp_path, chromium, axe, view
):
    (tmp_path / "shop").mkdir()
    engine = SqliteShop(tmp_path)
    _, width, dark = view
    with new_file(tmp_path / "start.db") as store, opened(store, tmp_path, engine) as address:
        sign_in_as(chromium, address, "maria")
        for path in ("steps", "queries", "engines", "engines?kind=opensearch", "schedule"):
            chromium.open(f"{address}{SHOP}/{path}", width=width, dark=dark)
            assert chromium.faults(axe) == [], path
            assert chromium.ask("document.documentElement.scrollWidth") <= width
