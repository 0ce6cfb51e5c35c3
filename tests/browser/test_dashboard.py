"""A manager reads the dashboard in Chromium: every page, wide and narrow, light and dark."""

from __future__ import annotations

from itertools import pairwise

import pytest

from rankgate.data.qrels import GRADED
from rankgate.store.material import projects
from rankgate.store.people import sign_in, users
from rankgate.store.store import Store
from rankgate.workspace.web.navigation import SECTIONS
from support.chromium import PICTURES, VIEWS
from support.recorded import history
from support.serving import PASSWORD, served

pytestmark = pytest.mark.slow
SHOP = "/projects/shop"
OWN = ("about:blank", "data:")  # icons of the browser's own fields are data


@pytest.fixture(scope="module")
def dashboard(tmp_path_factory):
    with Store.create(str(tmp_path_factory.mktemp("dashboard") / "history.db")) as store:
        with store.write() as connection:
            users.add(connection, "ann", sign_in.password_hash(PASSWORD), admin=True)
            shop = projects.add(connection, "shop", title="Web shop", scale=GRADED)
        records_by_kind = history(store, shop.id)
        with served(store, per_minute=1_000_000) as address:
            yield address, records_by_kind


@pytest.fixture(scope="module")
def pages(dashboard):
    _, records_by_kind = dashboard
    gate, comparison, run = (records_by_kind[kind].sha256 for kind in ("verdict", "comparison", "evaluation"))
    return {
        "projects": "/projects",
        "overview": SHOP,
        "trends": f"{SHOP}/trends",
        "trend": f"{SHOP}/trends?metric=nDCG%4010",
        "records": f"{SHOP}/records?kind=gates",
        "gate": f"{SHOP}/records/{gate}",
        "comparison": f"{SHOP}/records/{comparison}",
        "run": f"{SHOP}/records/{run}",
        "table": f"{SHOP}/records/{gate}/tables/evidence_0",
        "values": f"{SHOP}/records/{run}/values",
        "queries": f"{SHOP}/queries",
        "query": f"{SHOP}/query?query=q03&record={gate}",
        "explain": f"{SHOP}/explain?query=q03&metric=nDCG%4010&record={gate}",
        "comments": f"{SHOP}/comments",
        "alerts": f"{SHOP}/alerts",
        "schedule": f"{SHOP}/schedule",
    }


@pytest.fixture(scope="module")
def reader(chromium, dashboard):
    """The browser, signed in."""
    address, _ = dashboard
    chromium.open(f"{address}/sign-in")
    chromium.ask("document.querySelector('[name=name]').value = 'ann'")
    chromium.ask(f"document.querySelector('[name=password]').value = '{PASSWORD}'")
    chromium.ask("document.querySelector('main form button').click()")
    chromium.until("location.pathname !== '/sign-in'")
    return chromium


NAMES = (
    "projects",
    "overview",
    "trends",
    "trend",
    "records",
    "gate",
    "comparison",
    "run",
    "table",
    "values",
    "queries",
    "query",
    "explain",
    "comments",
    "alerts",
    "schedule",
)


@pytest.mark.parametrize("name", NAMES)
def test_a_page_has_no_fault_and_asks_nobody_else(reader, dashboard, pages, axe, name):
    address, _ = dashboard
    for view, width, dark in VIEWS if PICTURES else VIEWS[:2]:  # each width and scheme once
        reader.open(address + pages[name], width=width, dark=dark)
        assert not [url for url in reader.asked if not url.startswith((*OWN, address))]
        assert reader.said == []
        wider = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
        assert reader.ask(wider) == 0
        if PICTURES:
            reader.picture(f"{PICTURES}/dashboard-{name}-{view}.png")
        reader.ask("document.querySelectorAll('details').forEach((e) => { e.open = true; })")
        assert reader.faults(axe) == []
    levels = reader.ask("[...document.querySelectorAll('h1,h2,h3')].map((h) => +h.tagName[1])")
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(b - a <= 1 for a, b in pairwise(levels))
    assert reader.ask("document.querySelectorAll('[style],style,main script').length") == 0


def test_from_a_trend_to_the_document_behind_it(reader, dashboard, pages):
    """Overview, trend, record, query, explanation: every step is a link on the page."""
    address, records_by_kind = dashboard
    reader.open(address + pages["overview"])
    steps = (
        ("#metric h2 a[href*='nDCG']", "location.pathname.endsWith('/trends')"),
        (
            "figure svg a:last-of-type",
            f"location.pathname.endsWith('{records_by_kind['evaluation'].sha256}')",
        ),
        ("td a[href*='/query?'], th a[href*='/query?']", "location.pathname.endsWith('/query')"),
        ("a[href*='/explain?']", "location.pathname.endsWith('/explain')"),
    )
    for link, condition in steps:
        reader.ask(
            f'document.querySelector("{link}").dispatchEvent('
            "new MouseEvent('click', {bubbles: true, cancelable: true}))"
        )
        reader.until(condition)
    assert "DCG@10" in reader.ask("document.querySelector('main').innerText")


def test_pages_are_read_without_scripts(reader, dashboard, pages):
    address, _ = dashboard
    reader.send("Emulation.setScriptExecutionDisabled", value=True)
    try:
        for name in ("overview", "trend", "gate", "query"):
            reader.open(address + pages[name])
            assert reader.ask("document.querySelectorAll('main table tbody tr').length") > 0
    finally:
        reader.send("Emulation.setScriptExecutionDisabled", value=False)


def test_the_navigation_is_whole_on_a_phone_and_by_keyboard(reader, dashboard, pages):
    """Without scripts: a line opens the menu, every link is inside the window, and Tab and Enter open one."""
    address, _ = dashboard
    reader.send("Emulation.setScriptExecutionDisabled", value=True)
    try:
        reader.open(address + pages["records"], width=390)
        assert reader.ask("document.querySelector('.menu').getBoundingClientRect().height") < 40
        focused = "document.activeElement.innerText"
        presses = 0
        while reader.ask("document.activeElement.tagName") != "SUMMARY":
            reader.press("Tab")
            presses += 1
            assert presses < 20
        assert reader.ask(focused).strip() == "Evaluations › Records"
        reader.send("Input.dispatchKeyEvent", type="keyDown", key="Enter", text="\r")
        reader.send("Input.dispatchKeyEvent", type="keyUp", key="Enter")
        reader.until("document.querySelector('.menu').open")
        links = "[...document.querySelectorAll('.menu a')]"
        assert reader.ask(f"{links}.length") == sum(len(section.pages) for section in SECTIONS)
        outside = f"{links}.filter((a) => a.getBoundingClientRect().right > innerWidth).length"
        assert reader.ask(outside) == 0
        marked = f"{links}.filter((a) => a.ariaCurrent).map((a) => a.innerText)"
        assert reader.ask(marked) == ["Records"]
        presses = 0
        while reader.ask(focused) != "Trends":
            reader.press("Tab")
            presses += 1
            assert presses < 40
        reader.ask("document.activeElement.click()")
        reader.until("location.pathname.endsWith('/trends')")
    finally:
        reader.send("Emulation.setScriptExecutionDisabled", value=False)


def test_a_filter_is_shared_by_its_address(reader, dashboard):
    address, _ = dashboard
    reader.open(f"{address}{SHOP}/records")
    reader.ask("document.getElementById('words').value = 'against'")
    reader.ask("document.querySelector('form.filter button').click()")
    reader.until("location.search.includes('words=against')")
    rows = "document.querySelectorAll('#records tbody tr').length"
    assert reader.ask(rows) == 2
    filter_address = reader.ask("location.href")
    reader.open(filter_address)
    assert reader.ask(rows) == 2


def test_a_comment_is_written_and_a_page_printed(reader, dashboard, pages):
    address, _ = dashboard
    reader.open(address + pages["query"])
    reader.ask("document.querySelector('#comments textarea').value = 'why is this worse?'")
    reader.ask("document.querySelector('#comments form button').click()")
    reader.until("document.querySelector('.comment .said')")
    assert reader.ask("document.querySelector('.comment .said').innerText") == "why is this worse?"
    assert reader.send("Page.printToPDF")["data"].startswith("JVBERi")  # %PDF


def test_the_keyboard_reaches_what_the_pointer_does(reader, dashboard, pages):
    address, _ = dashboard
    reader.open(address + pages["trend"])
    reader.press("Tab")
    assert reader.ask("document.activeElement.className") == "skip"
    dots = reader.ask("[...document.querySelectorAll('figure svg a')].map((a) => a.tabIndex)")
    assert len(dots) == 8
    assert set(dots) == {0}
    all_labelled = "[...document.querySelectorAll('figure svg a')].every((a) => a.ariaLabel)"
    assert reader.ask(all_labelled)
