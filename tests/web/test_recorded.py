"""Evaluations recorded over REST, with a token that can do nothing else."""

import json

import pytest

import rankgate
from rankgate.data.qrels import GRADED
from rankgate.store.client.client import Client
from rankgate.store.material import projects
from rankgate.store.people import sign_in, users
from rankgate.store.store import Store
from rankgate.store.store_integrity import check
from rankgate.workspace.records.storages.server_storage import ServerStorage
from support.serving import PASSWORD, served
from support.wording import raises

QUERIES = [f"q{i}" for i in range(20)]
QRELS = {query: {"a": 1, "b": 0} for query in QUERIES}
OTHER = {query: {"a": 1, "b": i % 2} for i, query in enumerate(QUERIES)}
GOOD = {query: {"a": 2.0, "b": 1.0} for query in QUERIES}
BAD = GOOD | {query: {"b": 2.0, "a": 1.0} for query in QUERIES[:15]}


@pytest.fixture(scope="module")
def server(tmp_path_factory, quick_passwords):  # noqa: ARG001 - before the server
    path = tmp_path_factory.mktemp("records") / "s.db"
    secret = {}
    with Store.create(str(path)) as store:
        with store.write() as connection:
            for name in ("shop", "other"):
                last_project = projects.add(connection, name, scale=GRADED)
            user = users.add(connection, "mia", sign_in.password_hash(PASSWORD))
            viewer = users.add(connection, "vic", sign_in.password_hash(PASSWORD))
            for project in projects.list_projects(connection):
                users.grant(connection, project.id, user.id, "manager")
            users.grant(connection, last_project.id, viewer.id, "viewer")
            shop = projects.get_by_name(connection, "shop").id
            for scope in ("record", "read", "manage"):
                secret[scope] = sign_in.issue_token(connection, user.id, "t", [scope], project=shop)[1]
            secret["viewer"] = sign_in.issue_token(connection, viewer.id, "t", ["record", "read"])[1]
        with served(store, per_minute=1_000_000) as address:
            yield store, address, str(path), secret


def record(address, day, run, qrels=QRELS, **more):
    evaluation = rankgate.evaluate(qrels, {"app": run}, ["RR"])
    return rankgate.record(
        evaluation,
        store=address,
        project="shop",
        at=f"2026-03-{day:02}",
        qrels=qrels,
        runs={"app": run},
        labels={"nightly": "yes"},
        provenance=rankgate.Provenance("ab", "main"),
        **more,
    )


def test_a_server_has_the_history_of_its_store(server, monkeypatch):
    store, address, store_path, secret = server
    monkeypatch.setenv("RANKGATE_TOKEN", secret["record"])
    for day in range(1, 6):
        result = record(address, day, GOOD if day < 5 else BAD)
        assert result.records["new"].to_list() == [True]
    assert record(address, 5, BAD).records["new"].to_list() == [False]
    record(address, 6, GOOD, OTHER)
    rankgate.annotate("deploy", "v2", store=address, project="shop", at="2026-03-05", revision="c")
    with raises("token-scope"):
        rankgate.history("RR", store=address, project="shop")
    monkeypatch.setenv("RANKGATE_TOKEN", secret["read"])
    with raises("token-scope"):
        record(address, 7, GOOD)
    remote_history = rankgate.history("RR", store=address, project="shop").to_dict()
    local_history = rankgate.history("RR", store=store_path, project="shop").to_dict()
    for history in (remote_history, local_history):
        del history["place"]
        del history["annotations"][0]["actor"]
    assert json.loads(json.dumps(remote_history)) == json.loads(json.dumps(local_history))
    assert (len(remote_history["changes"]), len(remote_history["breaks"])) == (1, 1)
    assert remote_history["breaks"][0]["judgments"] is not None
    assert check(store) == ()


def test_nobody_reads_or_writes_another_project(server, monkeypatch):
    _, address, _, secret = server
    with Client(address, "other", token=secret["read"]) as client:
        for path in ("recorded/points", "recorded/1", "recorded/annotations"):
            with raises("not-found"):
                client.get(path)
    monkeypatch.setenv("RANKGATE_TOKEN", secret["viewer"])
    evaluation = rankgate.evaluate(QRELS, {"app": GOOD}, ["RR"])
    with raises("not-allowed"):
        rankgate.record(evaluation, store=address, project="other")
    storage = ServerStorage.at(address, "other")
    assert storage.points(None, None, "", None) == []
    with raises("not-found"):
        storage.client.get("recorded/1")
    assert storage.run("0" * 64) is None


@pytest.mark.parametrize(
    ("content", "code"),
    [
        (b"{", "invalid-json"),
        (b"[]", "invalid-record"),
        (b'{"result": {}}', "invalid-record"),
        (b'{"result": {"kind": 3}, "evaluated_at": "2026-03-01"}', "invalid-record"),
    ],
)
def test_what_is_no_record_is_refused(server, content, code):
    _, address, _, secret = server
    with Client(address, "shop", token=secret["record"]) as client, raises(code):
        client.send("records", {"record": ("a.json", content)})


def test_an_annotation_is_withdrawn(server):
    _, address, _, secret = server
    with Client(address, "shop", token=secret["manage"]) as client:
        annotation = client.post("annotations", kind="incident", text="x", metric="P@1")
        annotations = client.get("recorded/annotations", metric="P@1")["annotations"]
        assert "x" in {entry["text"] for entry in annotations}
        client.post(f"annotations/{annotation['annotation']}/withdraw")
        annotations = client.get("recorded/annotations", metric="P@1")["annotations"]
        assert "x" not in {entry["text"] for entry in annotations}
