"""Everybody in Chromium: every link that a role sees opens, and no page complains."""

from __future__ import annotations

import shutil

import pytest

from rankgate.interface.demo.demo_story import STORE
from rankgate.store.material import projects
from rankgate.store.people import sign_in, users
from rankgate.store.store import Store
from support.crawling import crawl
from support.serving import PASSWORD, Visitor, served

pytestmark = pytest.mark.slow
ROLES = (
    "admin",
    "rater",
    *(pytest.param(role, marks=pytest.mark.separate) for role in ("manager", "viewer")),
)
"""An admin sees the pages of managers and viewers too."""


def empty(folder, _):
    """A new store with one empty project."""
    path = str(folder / "judging.db")
    with Store.create(path) as store, store.write() as connection:
        projects.add(connection, "shop", title="Shop")
    return path


def demo(folder, demo_history):
    """A copy of the store of the demo."""
    return str(shutil.copytree(demo_history, folder / "demo") / STORE)


@pytest.mark.parametrize("role", ROLES)
@pytest.mark.parametrize("made", [empty, demo])
def test_every_link_opens_for_everybody(made, role, tmp_path, demo_history, chromium):
    with Store.open(made(tmp_path, demo_history)) as store:
        hashed = sign_in.password_hash(PASSWORD)
        with store.write() as connection:
            (project,) = projects.list_projects(connection)
            user = users.add(connection, "ann", hashed)
            users.grant(connection, project.id, user.id, role)
        with served(store, per_minute=1_000_000) as address:
            visitor = Visitor(address)
            assert visitor.sign_in("ann").status == 303
            statuses, _ = crawl(visitor, most=1, files=False)
            assert set(statuses.values()) <= {200, 303}, statuses
            chromium.send("Network.clearBrowserCookies")
            for cookie, value in visitor.cookies.items():
                chromium.send("Network.setCookie", name=cookie, value=value, url=address)
            for path in statuses:
                if path.rpartition("/")[2].partition("?")[0] == "file":
                    continue  # a download
                chromium.open(f"{address}{path}")
                assert chromium.said == [], path
                assert chromium.ask("document.querySelectorAll('h1').length"), path
