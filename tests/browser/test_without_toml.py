"""A manager reaches a verdict, an alert and a sweep by clicks alone, and raters land on their task."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing

import pytest

from rankgate.store.material import projects
from rankgate.store.people import sign_in, users
from support.chromium import PICTURES, VIEWS
from support.searching import PRODUCTS, QUERIES, grade_of
from support.serving import PASSWORD, Visitor

from .test_start import PATIENT, SHOP, SqliteShop, opened, sign_in_as, submit

pytestmark = pytest.mark.slow
MOST_CLICKS = 25


class HtmlShop(SqliteShop):
    """The shop with documents in HTML, and a weight that a request takes."""

    def import_words(self, words):
        with closing(sqlite3.connect(self.file)) as database:
            database.executescript(
                "DROP TABLE IF EXISTS products;"
                "CREATE VIRTUAL TABLE products USING fts5(id UNINDEXED, title, body UNINDEXED, words);"
            )
            rows = [
                (doc_id, title, f"<p>A <b>fine</b> {title}</p>", words[doc_id])
                for doc_id, title in PRODUCTS.items()
            ]
            database.executemany("INSERT INTO products VALUES (?, ?, ?, ?)", rows)
            database.commit()


class Clicks:
    """A page on which every click of the manager is counted; typing is not a click."""

    def __init__(self, page):
        self.page, self.count = page, 0

    def click(self, selector, condition, text=""):
        """Click on a link or a button that is seen, by its selector and its text."""
        self.count += 1
        self.page.ask(
            f"""(() => {{
              const found = [...document.querySelectorAll({json.dumps(selector)})].find((one) =>
                one.checkVisibility() && one.innerText.includes({json.dumps(text)}));
              found.click();
              return 1;
            }})()"""
        )
        self.page.until(condition)
        assert self.page.said == []

    def type(self, action, **values):
        """Fill in fields of the form of an action."""
        self.page.ask(
            f"""(() => {{
              const form = [...document.forms].find((one) => one.action.endsWith({json.dumps(action)}));
              for (const [name, value] of Object.entries({json.dumps(values)}))
                form.elements[name].value = value;
              return 1;
            }})()"""
        )

    def wait(self, step):
        """Wait on the page of the steps until the job of a step has ended well."""
        self.page.until(f"!document.querySelector('#{step} [data-soon]')", PATIENT)
        assert self.page.ask(f"document.querySelector('#{step} b.problem')?.innerText ?? ''") == ""


@pytest.fixture
def shop(new_file, tmp_path):
    """A shop with queries and judgments, a manager and two raters."""
    (tmp_path / "shop").mkdir()
    engine = HtmlShop(tmp_path)
    engine.import_words(PRODUCTS)
    hashed = sign_in.password_hash(PASSWORD)
    with new_file(tmp_path / "start.db") as store, opened(store, tmp_path, engine) as address:
        with store.write() as connection:
            project = projects.add(connection, "shop", title="Shop").id
            other = projects.add(connection, "other", title="Other").id
            for name, role in (("maria", "manager"), ("ann", "rater"), ("bob", "rater")):
                user = users.add(connection, name, hashed)
                users.grant(connection, project, user.id, role)
                if name == "bob":
                    users.grant(connection, other, user.id, "rater")
        maria = Visitor(address)
        maria.sign_in("maria")
        maria.post(f"{SHOP}/queries", text="\n".join(QUERIES))
        judged = "".join(
            f"q{number} 0 {doc_id} {grade_of(query, title)}\n"
            for number, query in enumerate(QUERIES, 1)
            for doc_id, title in PRODUCTS.items()
        )
        assert maria.send(f"{SHOP}/material", "/account", file=("gold.txt", judged.encode())).status == 303
        yield address


def at(path):
    return f"location.pathname === '{SHOP}{path}'"


def done(route):
    return f"location.search.includes('done={route}')"


def test_a_manager_needs_no_toml_and_few_clicks(shop, chromium, axe):
    page = chromium
    sign_in_as(page, shop, "maria")
    page.open(f"{shop}{SHOP}")
    walk = Clicks(page)
    walk.click("#state a, nav.of-project a, a", at("/steps"), "Steps")
    walk.click("#engine li a", "location.search.includes('kind=sqlite')", "SQLite")
    walk.click("#form details.options summary", "document.querySelector('#form details').open", "More")
    walk.type(
        "/engines/kinds/sqlite",
        name="fts",
        database="products.db",
        table="products",
        id="id",
        fields="title = title\nbody = body",
        weights="1\n{{title}}\n1\n1",
        parameters="title = 1",
    )
    walk.click("#form button:not([name])", done("engine-save"))
    walk.type("/engines/fts/try", query="boots")
    walk.click("#engine-fts form button", at("/engines/fts/try"), "Try it")
    assert page.ask("document.querySelector('#card .formatted b').innerText") == "fine"
    walk.click("#card form button", done("display-set"), "Keep this card")
    walk.click(".done a", at("/steps"), "Next step: Snapshot")
    walk.click("#snapshot form button", done("step-snapshot"), "Take a snapshot")
    walk.wait("snapshot")
    walk.click("nav.of-project .pages a", at("/policy"), "Policy")
    walk.type("/policy", margin="0.05", must_have="red shoes = p1")
    walk.page.ask("document.querySelector('[name=metric]').value = 'nDCG@10'")
    walk.click("#form button:not([name])", done("policy-set"), "Keep the policy")
    assert "noninferiority" in page.ask("document.querySelector('#toml pre').innerText")
    walk.click("nav.of-project .sections a", at("/trends"), "History")
    walk.click("nav.of-project .pages a", at("/alerts"), "Alerts")
    walk.click("main a", at("/alerts/rules"), "Rules and channels")
    walk.type("/alerts/rules/kinds/relative", to="maria@example.org", drop="0.05")
    walk.click("#form form button", done("alert-rule-add-relative"), "Add the rule")
    walk.click("nav.of-project .sections a", at(""), "Evaluations")
    walk.click("nav.of-project .pages a", at("/steps"), "Steps")
    walk.click("#sweep a", at("/steps/sweep"), "Plan a sweep")
    walk.type("/steps/sweep", values="1, 3", rate="")
    walk.click(
        "form button[name=preview]",
        "document.getElementById('account').innerText.includes('20 requests')",
        "State the cost",
    )
    walk.click("main form button:not([name])", done("step-sweep"), "Start the sweep")
    walk.wait("sweep")
    walk.click("#snapshot form button", done("step-snapshot"), "Take a snapshot")
    walk.wait("snapshot")
    walk.click("#gate form button", done("step-gate"), "Get a verdict")
    walk.wait("gate")
    walk.click("#gate a", "location.pathname.includes('/records/')", "its result")
    text = page.ask("document.getElementById('main').innerText")
    assert "q1 has p1" in text  # the rule of the policy
    assert walk.count <= MOST_CLICKS
    paths = ("", "/steps", "/policy", "/alerts/rules", "/steps/sweep", "/steps/clicks", "/engines?engine=fts")
    for path in (*paths, "/setup"):
        for view, width, dark in VIEWS:
            page.open(f"{shop}{SHOP}{path}", width=width, dark=dark)
            assert page.faults(axe) == [], (path, view)
            assert page.ask("document.documentElement.scrollWidth") <= width, (path, view)
            if PICTURES:
                name = path.strip("/").replace("/", "-").replace("?", "-") or "overview"
                page.picture(f"{PICTURES}/forms-{name}-{view}.png")


def test_raters_land_on_their_task_and_see_no_results(shop, chromium, axe):
    page = chromium
    maria = Visitor(shop)
    maria.sign_in("maria")
    pool = ("pool.csv", b"query_id,doc_id\nq1,p1\nq1,p2\n")
    assert maria.send(f"{SHOP}/batches", "/account", name="b", strategy="2", pool=pool).status == 303
    for name, width in (("ann", 390), ("bob", 1280)):
        page.send("Network.clearBrowserCookies")
        page.open(f"{shop}/sign-in", width=width)
        submit(page, "/sign-in", name=name, password=PASSWORD)
        page.until(at("/rate"))
        assert page.ask("document.getElementById('query').innerText") == "red shoes"
        page.open(f"{shop}/projects", width=width)
        heads = page.ask("[...document.querySelectorAll('thead th')].map((cell) => cell.innerText)")
        assert heads == ["project", "to rate"]
        button = page.ask("document.querySelector('td .button').getBoundingClientRect().right")
        assert button <= width
        assert page.faults(axe) == []


@pytest.mark.parametrize("language", ["en", "de", "hi"])
def test_the_navigation_of_a_phone_is_one_line(shop, chromium, axe, language):
    page = chromium
    for name, path, pages in (("maria", f"{SHOP}/steps", 30), ("ann", f"{SHOP}/rate", 4)):
        sign_in_as(page, shop, name)
        page.send("Network.setCookie", name="rankgate_language", value=language, url=shop)
        page.open(f"{shop}{path}", width=390)
        menu = "document.querySelector('.top .menu')"
        assert page.ask(f"{menu}.getBoundingClientRect().height") < 40
        assert not page.ask("document.querySelector('.top .of-project').checkVisibility()")
        assert page.ask(f"{menu}.querySelector('summary').click(); {menu}.open")
        links = page.ask(f"[...{menu}.querySelectorAll('a')].filter((link) => link.checkVisibility()).length")
        assert links >= pages
        assert page.ask("document.documentElement.scrollWidth") <= 390
        assert page.faults(axe) == []


def test_a_table_that_is_cut_says_so(shop, chromium):
    page = chromium
    sign_in_as(page, shop, "maria")
    for width, said in ((390, 1), (1280, 0)):
        page.open(f"{shop}{SHOP}/people", width=width)
        page.ask(
            """(() => {
              const frame = document.createElement("div");
              frame.className = "scroll";
              frame.innerHTML = "<table><tr>" + "<td>a wide cell</td>".repeat(8) + "</tr></table>";
              document.getElementById("main").append(frame);
              return 1;
            })()"""
        )
        page.until(f"document.querySelectorAll('.scroll + .cut').length >= {said}")
        page.run_timers(50)
        assert page.ask("document.querySelectorAll('.scroll + .cut').length") >= said
        if not said:
            assert page.ask("document.querySelectorAll('.cut').length") == 0


def test_the_metric_of_a_sandbox_moves_while_the_engine_is_edited(shop, chromium, axe):
    page = chromium
    maria = Visitor(shop)
    maria.sign_in("maria")
    engine = {
        "name": "fts",
        "database": "products.db",
        "table": "products",
        "id": "id",
        "weights": [1, "{{title}}", 1, 1],
        "parameters": {"title": 1.0},
    }
    assert maria.post(f"{SHOP}/engines/kinds/sqlite", **engine).status == 200
    sign_in_as(page, shop, "maria")
    text = "document.getElementById('account').innerText"
    for view, width, dark in VIEWS:
        page.open(f"{shop}{SHOP}/engines", width=width, dark=dark)
        page.ask("document.querySelector('a[href$=sandbox]').click()")
        page.until(f"{text}.includes('that are kept')")
        before = page.ask("document.querySelector('#account .value').innerText")
        page.ask(
            """(() => {
              const field = document.querySelector("[name=match]");
              field.closest("details").open = true;
              field.value = "and";
              field.dispatchEvent(new Event("input", {bubbles: true}));
              return 1;
            })()"""
        )
        page.until(f"{text}.includes('against the engine as it is kept')")
        assert page.ask("document.querySelector('#account .value').innerText") != before
        assert "of the first 10 documents are unjudged" in page.ask(text)
        assert page.said == []
        assert page.faults(axe) == []
        assert page.ask("document.documentElement.scrollWidth") <= width
        if PICTURES:
            page.picture(f"{PICTURES}/sandbox-{view}.png")
    page.ask("document.querySelector('form[data-check] button:not([name])').click()")
    page.until(at("/steps"))
    Clicks(page).wait("snapshot")
    [kept] = maria.get(f"{SHOP}/engines.json").json()["engines"]
    assert kept["settings"]["match"] == "and"
