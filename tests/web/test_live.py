"""The live comparison: two engines of a project side by side, and documents rated on the page."""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlencode, urlsplit

import polars as pl
import pytest

from rankgate.data import read_qrels
from rankgate.engines.project_engines import EngineAccess
from rankgate.store.blobs import stored_runs
from rankgate.store.material import project_engines, queries_documents
from rankgate.store.material.project_engines import ProjectEngine
from rankgate.store.rating import batches
from support.serving import Visitor, served

SHOP = "/projects/live"
HARM = "<script>document.title='taken'</script>"
TITLES = {"d1": "Red bike", "d2": "自転車 red", "d3": HARM, "d4": "Tent"}
ORDERS = {"old": ["d1", "d2", "d3"], "new": ["d3", "d1", "d4"]}


class Search(BaseHTTPRequestHandler):
    """A search API that orders documents by the parameter ``order``."""

    asked: list[str] = []  # noqa: RUF012 - of all requests

    def do_GET(self):
        parameters = parse_qs(urlsplit(self.path).query)
        order, text = parameters["order"][0], parameters["q"][0]
        self.asked.append(f"{order} {text}")
        hits = [
            {"id": doc_id, "title": TITLES[doc_id], "why": {"value": 2.5, "description": "title"}}
            for doc_id in ORDERS.get(order, [])
        ]
        body = json.dumps({"hits": hits, "total": 7}).encode()
        self.send_response(200 if order in ORDERS else 500)
        self.send_header("content-type", "application/json")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        """Write nothing."""


@pytest.fixture(scope="module")
def search():
    server = ThreadingHTTPServer(("127.0.0.1", 0), Search)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/search"
    server.shutdown()
    server.server_close()


@pytest.fixture(scope="module")
def live(team, search):
    """A project with two engines, on a server that lets them reach this machine."""
    project = team.project("live")
    settings = {
        "url": search,
        "params": {"q": "{{query}}", "order": "{{order}}"},
        "hits": "hits",
        "id": "id",
        "total": "total",
        "fields": {"title": "title", "explanation": "why"},
    }
    with team.store.write() as connection:
        for name in ORDERS:
            engine = ProjectEngine(name, "http", {**settings, "parameters": {"order": name}})
            project_engines.save_engine(connection, project.id, engine)
        elsewhere = {**settings, "url": "http://192.0.2.1/", "parameters": {"order": "old"}}
        engine = ProjectEngine("elsewhere", "http", elsewhere)
        project_engines.save_engine(connection, project.id, engine)
        queries_documents.add_queries(
            connection, project.id, pl.DataFrame({"query_id": ["b1"], "text": ["red bike"]})
        )
        qrels = read_qrels({"b1": {"d1": 3, "d2": 1}})
        stored_runs.add_judgments(connection, team.store.blobs, project.id, qrels, name="graded")
    access = EngineAccess(frozenset({"127.0.0.1"}))
    with served(team.store, per_minute=1_000_000, engines=access) as address:
        yield address


@pytest.fixture(scope="module")
def manager(live):
    visitor = Visitor(live)
    visitor.sign_in("manager")
    return visitor


def page(text="red bike", form="", **values):
    fields = {"text": text, "first": "old", "second": "new"} | values
    return f"{SHOP}/live{form}?{urlencode(fields)}"


def test_two_engines_answer_side_by_side(manager):
    data = manager.get(page(form=".json")).json()
    assert data["query"] == {"query_id": "b1", "stored": True}
    first, second = data["lists"]["first"], data["lists"]["second"]
    assert [row["doc_id"] for row in first] == ORDERS["old"]
    assert [row["doc_id"] for row in second] == ORDERS["new"]
    assert [row["moved"] for row in first] == [-1, None, 2]
    assert [row["moved"] for row in second] == [2, -1, None]
    assert [row["grade"] for row in first] == [3, 1, None]
    assert data["unjudged"] == 2
    assert data["answers"]["first"]["total"] == 7
    html = manager.get(page()).data.decode()
    assert "<mark>Red</mark> <mark>bike</mark>" in html
    assert HARM not in html
    assert html.count("unjudged</span>") == 3
    assert "<pre>{\n &#34;value&#34;: 2.5,\n &#34;description&#34;: &#34;title&#34;\n}</pre>" in html
    assert 'href="/projects/live/live"' in html


def test_one_engine_with_two_sets_of_parameters(manager):
    data = manager.get(page(form=".json", second="old", second_parameters="order=new")).json()
    assert [row["doc_id"] for row in data["lists"]["second"]] == ORDERS["new"]


def test_an_answer_is_kept_while_it_is_rated(manager):
    for _ in range(3):
        manager.get(page("kept"))
    assert Search.asked.count("old kept") == 1


@pytest.mark.parametrize(
    ("values", "problem"),
    [
        ({"first": "nobody"}, "nobody"),
        ({"first": "elsewhere"}, "is not allowed"),
        ({"first_parameters": "order=broken"}, "500"),
        ({"first_parameters": "depth=5"}, "no parameter"),
        ({"first_parameters": "order"}, "NAME=VALUE"),
        ({"first": HARM}, "taken"),
    ],
)
def test_a_problem_of_an_engine_stands_beside_it(manager, values, problem):
    answer = manager.get(page(**values))
    html = answer.data.decode()
    assert answer.status == 200
    beside = html.partition('id="first-problem"')[2].partition("</small>")[0]
    assert problem in beside
    assert HARM not in html
    assert 'value="red bike"' in html
    assert "<mark>bike</mark>" in html  # of the other engine
    assert '<b class="move">' not in html  # without a second list nothing is new


def test_a_grade_in_place_is_a_rating(team, manager, live):
    fields = {"text": "tent", "first": "old", "second": "new"}
    sent = {**fields, "first_parameters": "", "second_parameters": "", "doc_id": "d4", "grade": "2"}
    answer = manager.send(f"{SHOP}/live/ratings", page("tent"), **sent)
    assert answer.status == 303
    assert answer.headers["location"].startswith(f"{SHOP}/live?text=tent&first=old&second=new")
    data = manager.get(page("tent", ".json")).json()
    assert data["query"]["stored"]
    [row] = [row for row in data["lists"]["second"] if row["doc_id"] == "d4"]
    assert row["grade"] == 2
    [rated] = [
        rating for rating in manager.get(f"{SHOP}/history.json").json()["ratings"] if rating["doc_id"] == "d4"
    ]
    assert (rated["query"], rated["title"], rated["grade"]) == ("tent", "Tent", 2)
    manager.post(f"{SHOP}/live/ratings", **fields, doc_id="d4", grade=3)
    html = manager.get(page("tent")).data.decode()
    assert html.count('aria-current="true" title=') == 1
    admin = Visitor(live)
    admin.sign_in("admin")
    assert admin.post(f"{SHOP}/live/ratings", **fields, doc_id="d4", grade=3).status == 200
    with team.store.read() as connection:
        project = team.store_project("live")
        [batch] = [b for b in batches.list_batches(connection, project) if b.name != "first"]
        assert (batch.name, batch.state) == ("Live comparison", "paused")
        query = data["query"]["query_id"]
        table = queries_documents.read_query_texts(connection, project, [query])
        assert table[query] == "tent"


def test_what_no_engine_answered_is_not_rated(manager):
    fields = {"text": "tent", "first": "old", "second": "new"}
    path = f"{SHOP}/live/ratings"
    assert manager.post(path, **fields, doc_id="d9", grade=1).status == 404
    assert manager.post(path, **fields, doc_id="d1", grade=99).status == 400
    assert manager.post(path, **{**fields, "text": " "}, doc_id="d1", grade=1).status == 400


@pytest.mark.parametrize("name", ["rater", "viewer"])
def test_others_ask_no_engine(live, name):
    visitor = Visitor(live)
    visitor.sign_in(name)
    assert visitor.get(page()).status == 403
    fields = {"text": "tent", "first": "old", "second": "new", "doc_id": "d1", "grade": 1}
    assert visitor.post(f"{SHOP}/live/ratings", **fields).status == 403
