"""Models as raters on the pages and in the REST API: start, progress, cancel, admission."""

import json
from contextlib import contextmanager

import polars as pl
import pytest

from rankgate.data import read_run
from rankgate.judging.models.model_queue import Endpoint, read_endpoints
from rankgate.store.blobs import stored_runs
from rankgate.store.material import projects, queries_documents
from rankgate.store.models import model_admissions, model_jobs_table
from rankgate.store.people import sign_in, users
from rankgate.store.rating import batches, tasks
from rankgate.store.store import Store
from support.model_server import model_server
from support.serving import PASSWORD, Visitor, served
from support.stored_answers import list_ratings
from support.waiting import until
from support.wording import raises

PAIRS = 12
PROMPT = "{{query}} {{document}} {{grades}}"


@pytest.fixture(scope="module")
def place(tmp_path_factory, quick_passwords):  # noqa: ARG001 - before the server
    with opened(tmp_path_factory) as services:
        yield services


@pytest.fixture
def own_place(tmp_path_factory, quick_passwords):  # noqa: ARG001 - before the server
    """As `place`, without jobs of other tests."""
    with opened(tmp_path_factory) as services:
        yield services


@contextmanager
def opened(tmp_path_factory):
    """A server with one endpoint; the server of models; its store and address."""
    folder = tmp_path_factory.mktemp("models")
    with model_server() as server, Store.create(str(folder / "judging.db")) as store:
        with store.write() as connection:
            hashed = sign_in.password_hash(PASSWORD)
            project = projects.add(connection, "shop", scale=[projects.Grade(float(i)) for i in (0, 1, 2)])
            for role in ("manager", "rater", "viewer"):
                user = users.add(connection, role, hashed)
                users.grant(connection, project.id, user.id, role)
            queries_documents.add_queries(
                connection, project.id, pl.DataFrame({"query_id": ["q"], "text": ["a bike"]})
            )
            names = [f"d{i}" for i in range(PAIRS)]
            texts = {"doc_id": names, "title": [f"the text of {doc_name}" for doc_name in names]}
            queries_documents.add_documents(connection, project.id, pl.DataFrame(texts))
            batch = batches.add_batch(connection, project.id, "first", strategy="1")
            pairs = {"query_id": ["q"] * 6, "doc_id": names[:6]}
            batches.add_pairs(connection, batch, pl.DataFrame(pairs))
        endpoint = Endpoint("local", f"{server.url}/v1", models=("m", "n"))
        with served(store, per_minute=1_000_000, models={"local": endpoint}) as address:
            yield server, store, address


def visitor(place, name):
    client = Visitor(place[2])
    assert client.sign_in(name).status == 303
    return client


def ended(who, number):
    path = f"/projects/shop/models/jobs/{number}.json"
    return until(lambda: not (job := who.get(path).json()["job"])["under_way"] and job)


def start(who, **values):
    form = {"endpoint": "local", "model": "m", "template": PROMPT, **values}
    return who.post("/projects/shop/models", **form)


def test_a_manager_starts_a_job_sees_it_and_admits_the_model(own_place):
    server, store, _ = own_place
    manager = visitor(own_place, "manager")
    server.plan["d0"] = [("says", '{"grade": 0, "confidence": 0.1, "reason": "<b>no</b>"}')]
    form = {
        "batch": "first",
        "endpoint": "local",
        "model": "m",
        "template": PROMPT,
        "confidence": "1",
        "doubt": "0.5",
        "distance": "2",
        "calls": "100",
    }
    answer = manager.send("/projects/shop/models", "/projects/shop/models", **form)
    assert answer.status == 303
    number = int(answer.headers["location"].partition("?")[0].rpartition("/")[2])
    job = ended(manager, number)
    assert (job["state"], job["done"], job["total"], job["requests"]) == ("done", 6, 6, 6)
    assert b"Answered" in manager.get(f"/projects/shop/models/jobs/{number}").data
    (model,) = manager.get("/projects/shop/models.json").json()["models"]
    page = manager.get(f"/projects/shop/models/{model['rater']}")
    assert b"&lt;b&gt;no&lt;/b&gt;" in page.data
    assert page.status == 200
    details = manager.get(f"/projects/shop/models/{model['rater']}.json").json()
    assert details["identity"]["template"]["user"] == PROMPT
    assert {model_answer["doc_id"]: model_answer["confidence"] for model_answer in details["answers"]}[
        "d0"
    ] == 0.1
    # people rate; the model is far from them on one pair, which goes to the queue
    rater = visitor(own_place, "rater")
    while (task := rater.get("/projects/shop/rate.json").json()["task"]) is not None:
        assert rater.post("/projects/shop/ratings", task=task["id"], grade=2).status == 200
    queue = manager.get("/projects/shop/disputes.json").json()["disputes"]
    assert [dispute["doc_id"] for dispute in queue] == ["d0"]
    assert [(e["kind"], e["confidence"]) for e in queue[0]["answers"]] == [("model", 0.1), ("person", None)]
    assert b"confidence 0.10" in manager.get("/projects/shop/disputes").data
    # six pairs decide nothing
    admission = manager.post(f"/projects/shop/models/{model['rater']}/admission")
    assert admission.json() == {"verdict": "inconclusive", "pairs": 6}
    details = manager.get(f"/projects/shop/models/{model['rater']}.json").json()
    assert details["evidence"]["verdict"] == "inconclusive"
    assert details["model"]["admitted"] is False
    with store.write() as connection:
        model_admissions.record_admission(connection, 1, model["rater"], "pass")
    page = manager.post(f"/projects/shop/models/{model['rater']}/withdrawal")
    assert page.status == 200
    assert manager.get("/projects/shop/models.json").json()["models"][0]["admission"] == "withdrawn"


def test_raters_see_nothing_of_models_and_viewers_start_nothing(place):
    rater, viewer = visitor(place, "rater"), visitor(place, "viewer")
    assert rater.get("/projects/shop/models.json").status == 403
    assert start(viewer, batch="first").status == 403
    assert viewer.get("/projects/shop/models").status == 200


def test_a_job_is_cancelled_and_resumed(place):
    server, store, _ = place
    manager = visitor(place, "manager")
    server.limit(1)
    number = start(manager, batch="first", concurrency=1, parameters='{"top_p": 1}').json()["job"]
    assert start(manager, batch="first", parameters='{"top_p": 1}').status == 409
    path = f"/projects/shop/models/jobs/{number}.json"
    until(lambda: manager.get(path).json()["job"]["requests"])
    assert manager.post(f"/projects/shop/models/jobs/{number}/cancel").status == 200
    server.limit(None)
    job = ended(manager, number)
    assert (job["state"], job["done"]) == ("cancelled", 2)  # the second was under way
    assert manager.post(f"/projects/shop/models/jobs/{number}/resume", calls=100).status == 200
    assert ended(manager, number)["done"] == 6
    with store.read() as connection:
        facts = [
            rating
            for rating in list_ratings(connection, 1)
            if rating.rater == model_jobs_table.get(connection, number).rater
        ]
    assert len(facts) == 6


def test_new_runs_are_rated_to_the_depth_of_the_project(place):
    _, store, _ = place
    manager = visitor(place, "manager")
    rule = {"endpoint": "local", "model": "n", "template": PROMPT, "depth": 8, "calls": 100}
    assert manager.post("/projects/shop/models/rule", **rule).status == 200
    with store.write() as connection:
        run = read_run({"q": {f"d{i}": 20.0 - i for i in range(PAIRS)}}, "new")
        stored_runs.add_run(connection, store.blobs, 1, run)

    def finished():
        all_jobs = manager.get("/projects/shop/models.json").json()["jobs"]
        jobs = [job for job in all_jobs if job["name"] == "new to depth 8"]
        return jobs and not jobs[0]["under_way"] and jobs[0]

    finished_job = until(finished)
    assert (finished_job["state"], finished_job["done"], finished_job["total"]) == ("done", 8, 8)
    with store.read() as connection:
        model_batches = [e for e in batches.list_batches(connection, 1) if e.name.startswith("model: new")]
        assert [(e.state, tasks.progress(connection, 1, e.id).done) for e in model_batches] == [("closed", 2)]
    assert manager.post("/projects/shop/models/rule/end").status == 200
    assert manager.get("/projects/shop/models.json").json()["rule"] is None


@pytest.mark.parametrize(
    ("values", "status", "code"),
    [
        ({"batch": "first", "endpoint": "other"}, 404, "unknown-endpoint"),
        ({"batch": "first", "model": "gpt"}, 404, "unknown-model"),
        ({}, 400, "invalid-value"),
        ({"batch": "first", "runs": "new"}, 400, "invalid-value"),
        ({"batch": "first", "template": "no places"}, 400, "invalid-template"),
        ({"batch": "first", "parameters": "[]"}, 400, "invalid-json"),
        ({"batch": "first", "parameters": '{"messages": []}'}, 400, "conflicting-options"),
        ({"batch": "first", "template": ""}, 400, "missing-input"),
        ({"batch": "first", "ceiling": 3}, 400, "missing-input"),
        ({"batch": "none"}, 404, "unknown-batch"),
        ({"runs": "none"}, 404, "unknown-run"),
        ({"batch": "first", "url": "http://169.254.169.254/"}, 400, "invalid-value"),
        ({"batch": "first", "key_from": "HOME"}, 400, "invalid-value"),
    ],
)
def test_what_cannot_be_started(place, values, status, code):
    answer = start(visitor(place, "manager"), **values)
    assert (answer.status, answer.json()["error"]["code"]) == (status, code)


@pytest.mark.parametrize(
    ("text", "line", "code"),
    [
        ("url = 1", 1, "invalid-endpoint"),
        ("[a]\nkey = 'x'", 2, "invalid-endpoint"),
        ("[a]\nprotocol = 'x'", 2, "invalid-endpoint"),
        ("[a]\nmodels = 'x'", 2, "invalid-endpoint"),
        ("[a]\nconcurrency = 0", 2, "invalid-endpoint"),
        ("[a]\n[a.prices]\nm = 1", 3, "invalid-endpoint"),
        ("[a]\nkey_from = 'RANKGATE_NOT_SET'", None, "invalid-key"),
        ("[a]\nurl = 'ftp://x'", None, "invalid-url"),
    ],
)
def test_a_bad_file_of_endpoints_is_named_with_its_line(tmp_path, text, line, code):
    (tmp_path / "llm.toml").write_text(text)
    with raises(code, line=line):
        read_endpoints(tmp_path / "llm.toml")


def test_endpoints_of_a_file(tmp_path, monkeypatch):
    monkeypatch.setenv("MY_KEY", "secret-key")
    settings = '[a]\nurl = "http://localhost:1/v1"\nkey_from = "MY_KEY"\nmodels = ["m"]\n'
    (tmp_path / "llm.toml").write_text(settings + "prices = { m = [1, 2.5] }\n")
    (endpoint,) = read_endpoints(tmp_path / "llm.toml").values()
    assert (endpoint.name, endpoint.key_from, endpoint.models) == ("a", "MY_KEY", ("m",))
    assert endpoint.prices["m"].cost(1_000_000, 1_000_000) == 3.5
    assert "secret-key" not in json.dumps(vars(endpoint), default=str)
