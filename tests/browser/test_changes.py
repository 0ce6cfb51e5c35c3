"""A manager follows a seeded regression from the alert to both lists of a query, by links."""

from __future__ import annotations

import pytest

from rankgate.data.qrels import GRADED
from rankgate.store.material import projects
from rankgate.store.people import sign_in, users
from rankgate.store.store import Store
from rankgate.workspace.records.alerts.alert_check import check_alerts
from support.chromium import PICTURES, VIEWS
from support.following import ALERT, CHANGE_POINT, CHANGES_OF_POINT, JUDGE_MISSING, WORST_QUERY, follow
from support.regressed import FELL, regress
from support.serving import PASSWORD, served

pytestmark = pytest.mark.slow
SHOP = "/projects/shop"


@pytest.fixture(scope="module")
def fallen(tmp_path_factory):
    """The address of a server, and the evaluations of a project with a regression."""
    with Store.create(str(tmp_path_factory.mktemp("fallen") / "history.db")) as store:
        with store.write() as connection:
            manager = users.add(connection, "ann", sign_in.password_hash(PASSWORD))
            shop = projects.add(connection, "shop", title="Web shop", scale=GRADED)
            users.grant(connection, shop.id, manager.id, "manager")
        stored = regress(store, shop.id)
        check_alerts(store, "shop")
        with served(store, per_minute=1_000_000) as address:
            yield address, stored


@pytest.fixture(scope="module")
def reader(chromium, fallen):
    """The browser, signed in as a manager."""
    address, _ = fallen
    chromium.send("Network.clearBrowserCookies")
    chromium.open(f"{address}/sign-in")
    chromium.ask("document.querySelector('[name=name]').value = 'ann'")
    chromium.ask(f"document.querySelector('[name=password]').value = '{PASSWORD}'")
    chromium.ask("document.querySelector('main form button').click()")
    chromium.until("location.pathname !== '/sign-in'")
    return chromium


def test_five_clicks_from_the_overview_to_what_is_judged_next(reader, fallen):
    """One click each: alert, trend, two evaluations, query, batch of missing documents."""
    address, stored = fallen
    reader.open(address + SHOP)
    follow(reader, ALERT, CHANGE_POINT, CHANGES_OF_POINT, WORST_QUERY, JUDGE_MISSING)
    search = reader.ask("location.search")
    assert all(record.sha256 in search for record in stored[9:11])
    assert reader.ask("document.querySelectorAll('.ranking').length") == 2
    assert reader.ask("new URLSearchParams(location.search).get('query')") in FELL
    assert "2 of them wait for raters" in reader.ask("document.querySelector('#missing').innerText")


@pytest.mark.parametrize("name", ["alert", "trend", "changes", "query"])
def test_a_page_has_no_fault(reader, fallen, axe, name):
    address, stored = fallen
    pair = f"before={stored[9].sha256}&after={stored[10].sha256}"
    path = {
        "alert": f"{SHOP}/alerts/1",
        "trend": f"{SHOP}/trends?metric=nDCG%4010&system=shop",
        "changes": f"{SHOP}/changes?{pair}",
        "query": f"{SHOP}/changes/query?query=q03&{pair}",
    }[name]
    for view, width, dark in VIEWS if PICTURES else VIEWS[:2]:
        reader.open(address + path, width=width, dark=dark)
        assert reader.said == []
        wider = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
        assert reader.ask(wider) == 0
        if PICTURES:
            reader.picture(f"{PICTURES}/changes-{name}-{view}.png")
        reader.ask("document.querySelectorAll('details').forEach((e) => { e.open = true; })")
        assert reader.faults(axe) == []
