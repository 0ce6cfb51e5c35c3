"""Tables with buttons and figures that people act on are whole on a phone."""

from __future__ import annotations

import pytest

from rankgate.data import read_run
from rankgate.store import archive
from rankgate.store.blobs import stored_runs
from rankgate.store.material import projects
from rankgate.store.people import sign_in, users
from rankgate.store.rating import batches
from rankgate.store.store import Store
from support.serving import PASSWORD, Visitor, served

pytestmark = pytest.mark.slow
WIDER = """[...document.querySelectorAll('.scroll:has(table.narrow)')].map(
    (table) => [table.getAttribute('aria-label'), table.scrollWidth - table.clientWidth])"""


@pytest.mark.parametrize("width", [390, 1280])
def test_tables_are_not_cut(tmp_path, chromium, axe, width):
    with Store.create(f"{tmp_path}/judging.db") as store:
        with store.write() as connection:
            number = projects.add(connection, "shop", title="Shop").id
            ranked = {f"q{i}": {f"d{j}": -float(j) for j in range(20)} for i in range(120)}
            for name in ("production-2026-11-22-reranked", "new"):
                run = stored_runs.add_run(connection, store.blobs, number, read_run(ranked, name), name=name)
                item = archive.get(connection, number, "run", run.id)
                archive.set_archived(connection, item, archived=name == "new")
            batches.add_batch(connection, number, "a batch of the second quarter")
            users.add(connection, "mia", sign_in.password_hash(PASSWORD), admin=True)
        with served(store, per_minute=1_000_000) as address:
            mia = Visitor(address)
            assert mia.sign_in("mia").status == 303
            chromium.send("Network.clearBrowserCookies")
            for cookie, value in mia.cookies.items():
                chromium.send("Network.setCookie", name=cookie, value=value, url=address)
            for page in ("archive", "coverage"):
                chromium.open(f"{address}/projects/shop/{page}", width=width)
                tables = chromium.ask(WIDER)
                assert tables
                assert all(overflow <= 0 for _, overflow in tables), tables
                assert chromium.faults(axe) == []
