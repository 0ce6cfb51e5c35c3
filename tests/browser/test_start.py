"""From an empty store to a verdict, a history and the cause of a fall, by a browser alone.

An admin makes a project and invites people; a manager types queries, describes an engine and tries
it; two raters grade by keyboard. Then a faulty import makes every query worse.
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
from rankgate.workspace.web.server import first_link
from support.chromium import PICTURES, VIEWS
from support.following import ALERT, CHANGES_OF_ALERT, JUDGE_MISSING, WORST_QUERY, follow
from support.searching import PRODUCTS, QUERIES, grade_of, make_shop, shifted_words
from support.serving import PASSWORD, served

pytestmark = pytest.mark.slow
SHOP = "/projects/shop"
PATIENT = 300
"""Seconds for a job: each is a process of its own."""
RULES = '[[rules]]\nid = "fall"\nkind = "relative"\nmetric = "nDCG@10"\ndrop = 0.03\n'


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
        self.file = folder / "shop" / "products.db"
        make_shop(self.file)

    def import_words(self, words):
        make_shop(self.file, words)


class OpenSearchShop:
    """The shop in an index of OpenSearch on a host that the server allows."""

    kind = "opensearch"

    def __init__(self, folder, cluster):
        host = cluster.url.partition("://")[2].rstrip("/")
        self.access = EngineAccess(frozenset({host}), folder=folder)
        self.cluster = cluster
        self.settings = {
            "url": cluster.url,
            "index": "products",
            "search": "words",
            "fields": "title = title",
        }
        self.import_words(PRODUCTS)

    def import_words(self, words):
        fields = {"title": {"type": "keyword"}, "words": {"type": "text"}}
        documents = {doc_id: {"title": title, "words": words[doc_id]} for doc_id, title in PRODUCTS.items()}
        self.cluster.index("products", fields, documents)


@pytest.fixture
def make_engine(request):
    """A function of the folder of jobs that makes the engine."""
    if request.param == "sqlite":
        return SqliteShop
    cluster = request.getfixturevalue("opensearch")
    return lambda folder: OpenSearchShop(folder, cluster)


OPENSEARCH = (pytest.mark.opensearch, pytest.mark.java)
STORE_AND_ENGINE = (
    ("sqlite", "sqlite"),
    pytest.param(
        "postgresql", "opensearch", marks=(pytest.mark.postgresql, pytest.mark.separate, *OPENSEARCH)
    ),
)


@contextmanager
def opened(store, folder, engine):
    """A server of a store with its scheduler; the address."""
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


def accept(page, link, **fields):
    """Become a user by the link of an invitation."""
    page.send("Network.clearBrowserCookies")
    page.open(link)
    submit(page, link.rpartition("/")[2], password=PASSWORD, **fields)
    page.until("location.pathname.startsWith('/projects')")


def invite_team(page, address, link):
    """An admin makes the project and invites a manager and two raters, who accept."""
    accept(page, f"{address}{link}", name="root")
    page.open(f"{address}/projects")
    submit(page, "/projects", name="shop", title="Shop", scale="graded")
    page.until(f"location.pathname === '{SHOP}/steps'")
    links = []
    for name, role in (("ann", "rater"), ("bob", "rater"), ("maria", "manager")):
        page.open(f"{address}{SHOP}/people")
        submit(page, f"{SHOP}/invitations", name=name, role=role)
        page.until("document.getElementById('secret')")
        links.append(page.ask("document.getElementById('secret').innerText"))
    for invitation in links:
        accept(page, invitation)


def describe_engine(page, address, engine):
    """Queries and an engine, each looked at before it is kept."""
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


def press(page, address, *steps):
    """Press the button of each step, and wait on the page until its job has ended."""
    for step in steps:
        page.open(f"{address}{SHOP}/steps")
        submit(page, f"/steps/{step}")
        page.until("location.search.includes('done=step-')")
        page.until(f"!document.querySelector('#{step} [data-soon]')", PATIENT)
        assert page.ask(f"document.querySelector('#{step} b.problem')?.innerText ?? ''") == ""
        assert page.ask(f"document.getElementById('{step}').className") == "is-done"


def rate_everything(page, address, name):
    """Rate by keyboard what the page shows, until it shows no more."""
    sign_in_as(page, address, name)
    page.open(f"{address}{SHOP}/rate")
    task = "(document.getElementById('rating')?.dataset.task ?? '')"
    while number := page.ask(task):
        query = page.ask("document.getElementById('query').innerText")
        doc_id = page.ask("document.querySelector('#rating .about code').innerText")
        page.advance(5_000)
        page.press(str(grade_of(query, PRODUCTS[doc_id])))
        page.until(f"{task} !== '{number}'")
    assert page.said == []


def read_json(page, path):
    return page.ask(f"fetch('{SHOP}/{path}').then((answer) => answer.json())")


@pytest.mark.parametrize(("new_store", "make_engine"), STORE_AND_ENGINE, indirect=True)
def test_a_team_reaches_a_verdict_a_history_and_the_cause_of_a_fall(
    new_store, tmp_path, chromium, make_engine
):
    (tmp_path / "shop").mkdir()
    engine = make_engine(tmp_path)
    page = chromium
    with opened(new_store, tmp_path, engine) as address:
        invite_team(page, address, first_link(new_store))
        sign_in_as(page, address, "maria")
        describe_engine(page, address, engine)
        press(page, address, "snapshot", "batch")
        for name in ("ann", "bob"):
            rate_everything(page, address, name)
        sign_in_as(page, address, "maria")
        press(page, address, "judgments", "evaluation", "snapshot")
        page.open(f"{address}{SHOP}/alerts/rules")
        submit(page, f"{SHOP}/alerts/rules", rules=RULES)
        page.until("location.search.includes('done=alert-rules-set')")
        engine.import_words(shifted_words())
        press(page, address, "snapshot", "comparison", "gate")
        [verdict] = read_json(page, "records.json?kind=gates")["records"]
        assert verdict["verdict"] in {"fail", "inconclusive"}
        assert len(read_json(page, "records.json?kind=runs")["records"]) == 3
        series = read_json(page, "trends.json?metric=nDCG@10&system=shop")["history"]["series"]
        first, second, *_ = [point["value"] for point in series]  # equal lists of a day are one evaluation
        assert first > second
        page.until(
            f"fetch('{SHOP}/alerts.json').then((answer) => answer.json())"
            ".then((state) => state.alerts.length)"
        )
        page.open(f"{address}{SHOP}")
        follow(page, ALERT, CHANGES_OF_ALERT)
        fell = page.ask("[...document.querySelectorAll('#moved tbody th')].map((e) => e.innerText)")
        assert {query for query in QUERIES if any(query in text for text in fell)} == {*QUERIES}
        follow(page, WORST_QUERY)
        assert page.ask("document.querySelectorAll('.ranking').length") == 2
        query_page = page.ask("location.pathname + location.search")
        follow(page, JUDGE_MISSING)
        page.open(f"{address}{SHOP}/schedule")
        submit(page, f"{SHOP}/schedule/engine", every="week", time="06:30")
        page.until("location.search.includes('done=schedule-engine')")
        assert "30 6 * * mon" in page.ask("document.body.innerText")
        assert page.said == []
        take_pictures(page, address, query_page)


def take_pictures(page, address, query_page):
    """Pictures of what the team has seen, to look at."""
    live = f"{SHOP}/live?text=red+shoes&first=shop&second=shop"
    pages = {
        "overview": SHOP,
        "changes": query_page.replace("/changes/query?", "/changes?"),
        "lists": query_page,
        "live": live,
        **{name: f"{SHOP}/{name}" for name in ("steps", "work", "alerts", "trends", "rate")},
    }
    for name, path in pages.items() if PICTURES else ():
        for view, width, dark in VIEWS:
            page.open(f"{address}{path}", width=width, dark=dark)
            page.picture(f"{PICTURES}/team-{name}-{view}.png")


def add_manager(store):
    """A project and its manager, by code."""
    with store.write() as connection:
        project = projects.add(connection, "shop", title="Shop", scale=GRADED)
        user = users.add(connection, "maria", sign_in.password_hash(PASSWORD))
        users.grant(connection, project.id, user.id, "manager")


@pytest.mark.parametrize("view", VIEWS, ids=[view[0] for view in VIEWS])
def test_the_pages_have_no_fault_for_those_who_do_not_see_them(new_file, tmp_path, chromium, axe, view):
    (tmp_path / "shop").mkdir()
    engine = SqliteShop(tmp_path)
    _, width, dark = view
    with new_file(tmp_path / "start.db") as store, opened(store, tmp_path, engine) as address:
        add_manager(store)
        sign_in_as(chromium, address, "maria")
        for path in ("steps", "queries", "engines", "engines?kind=opensearch", "schedule"):
            chromium.open(f"{address}{SHOP}/{path}", width=width, dark=dark)
            assert chromium.faults(axe) == [], path
            assert chromium.ask("document.documentElement.scrollWidth") <= width
