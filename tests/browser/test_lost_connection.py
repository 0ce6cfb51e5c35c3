"""The rating page through a killed server, a closed page, two tabs and pasted text."""

from __future__ import annotations

import polars as pl
import pytest
import sqlalchemy as sa

from rankgate.data.qrels import GRADED
from rankgate.store.material import projects, queries_documents
from rankgate.store.people import sign_in, users
from rankgate.store.rating import batches
from rankgate.store.store import Store
from rankgate.store.tables.people_tables import sessions
from support.serving import Visitor, started
from support.stored_answers import list_ratings
from support.waiting import free_port

pytestmark = pytest.mark.slow
TASK = "document.getElementById('rating')?.dataset.task"
QUEUE = "Object.entries(localStorage).flatMap(([, items]) => JSON.parse(items)).length"
"""Ratings that wait in the browser."""
STATE = "document.getElementById('state').textContent"


@pytest.fixture
def place(tmp_path):
    """A store with a rater who is signed in; the cookie, and the word of forms."""
    file = tmp_path / "judging.db"
    with Store.create(str(file)) as store, store.write() as connection:
        users.add(connection, "root", admin=True)
        project = projects.add(connection, "shop", scale=GRADED)
        user = users.add(connection, "ann")
        users.grant(connection, project.id, user.id, "rater")
        docs = {"doc_id": [f"d{i}" for i in range(9)], "title": ["bike"] * 9}
        queries_documents.add_documents(connection, project.id, pl.DataFrame(docs))
        batch = batches.add_batch(connection, project.id, "first")
        pairs = {"query_id": ["q"] * 9, "doc_id": docs["doc_id"]}
        batches.add_pairs(connection, batch, pl.DataFrame(pairs))
        session, secret = sign_in.begin_session(connection, user.id)
    return file, secret, session.csrf


def kept(file):
    with Store.open(str(file)) as store, store.read() as connection:
        return list_ratings(connection, 1)


def opened(chromium, address, secret):
    chromium.send("Network.clearBrowserCookies")
    chromium.send("Network.setCookie", name="rankgate_session", value=secret, url=address, httpOnly=True)
    chromium.open(f"{address}/projects/shop/rate")
    chromium.ask("localStorage.clear()")
    return chromium.ask(TASK)


def pressed(chromium, key):
    """Press a key after the time in which the page ignores keys."""
    chromium.advance(300)
    chromium.press(key)


def test_a_rating_waits_for_a_killed_server(chromium, place):
    file, secret, _ = place
    port = free_port()
    with started(file, first=False, port=port) as (process, address, _):
        now = opened(chromium, address, secret)
        process.kill()
        process.wait()
        pressed(chromium, "2")
        chromium.until(f"{STATE}.startsWith('No connection. 1 ')")
        assert chromium.ask(TASK) == now
        assert kept(file) == []
    with started(file, first=False, port=port) as (process, _, _):
        chromium.until(f"{TASK} !== '{now}'")
        assert chromium.ask(STATE) == ""
        assert [(str(rating.task), rating.grade) for rating in kept(file)] == [(now, 2.0)]
        second = chromium.ask(TASK)
        process.kill()
        process.wait()
        pressed(chromium, "3")
        chromium.until(f"{STATE}.startsWith('No connection. 1 ')")
        chromium.open(__file__)  # the page is left before the server is back
    with started(file, first=False, port=port):
        chromium.open(f"{address}/projects/shop/rate")
        chromium.until(f"{TASK} !== '{second}'")
        assert [(str(rating.task), rating.grade) for rating in kept(file)][1:] == [(second, 3.0)]


def test_two_tabs_and_an_ended_session_lose_nothing(chromium, place):
    file, secret, word = place
    with started(file, first=False) as (_, address, _):
        now = opened(chromium, address, secret)
        tab = Visitor(address)
        tab.cookies = {"rankgate_session": secret}
        tab.ask(
            "POST",
            "/projects/shop/ratings",
            json={"task": int(now), "grade": 0},
            headers={"x-csrf-token": word},
        )
        pressed(chromium, "1")
        chromium.until(f"{TASK} !== '{now}'")
        new_ratings = kept(file)
        assert [rating.grade for rating in new_ratings] == [0.0, 1.0]
        assert new_ratings[1].corrects == new_ratings[0].rating_id
        second = chromium.ask(TASK)
        with Store.open(str(file)) as store, store.write() as connection:
            connection.execute(sa.delete(sessions))
        pressed(chromium, "1")
        chromium.until(f"{STATE}.startsWith('You are signed out. 1 ')")
        with Store.open(str(file)) as store, store.write() as connection:
            _, new_secret = sign_in.begin_session(connection, users.get_by_name(connection, "ann").id)
        chromium.send("Network.setCookie", name="rankgate_session", value=new_secret, url=address)
        chromium.open(f"{address}/projects/shop/rate")
        chromium.until(f"{TASK} !== '{second}'")
        assert [str(rating.task) for rating in kept(file)][-1] == second


def test_pasted_text_rates_nothing_and_help_is_there(chromium, place):
    file, secret, _ = place
    with started(file, first=False) as (_, address, _):
        now = opened(chromium, address, secret)
        chromium.advance(300)
        keys = "[...'order 10032 of 2021']"
        chromium.ask(
            f"{keys}.forEach((key) => document.body.dispatchEvent("
            "new KeyboardEvent('keydown', {key, bubbles: true})))"
        )
        chromium.run_timers(100)
        assert chromium.ask(QUEUE) == 0
        assert chromium.ask(TASK) == now
        assert kept(file) == []
        pressed(chromium, "?")
        chromium.until("document.getElementById('help').open")
        chromium.press("2")  # not behind the help
        chromium.ask("document.querySelector('#help form').requestSubmit()")
        pressed(chromium, "c")
        chromium.until("document.activeElement.name === 'reason'")
        chromium.ask("document.activeElement.click()")
        chromium.ask("document.getElementById('cannot-send').click()")
        chromium.until(f"{TASK} !== '{now}'")
        assert [(rating.grade, rating.reason) for rating in kept(file)] == [(None, "unclear query")]
