"""Health, metrics and logs for operators of a server."""

from __future__ import annotations

import json
import re
import subprocess
import sys

import pytest
import sqlalchemy as sa
from prometheus_client.parser import text_string_to_metric_families

import rankgate
from rankgate.store.material import projects
from rankgate.store.people import invitations
from rankgate.store.records import alerts
from rankgate.store.store import Store
from rankgate.workspace.web import monitoring
from support.serving import Visitor, served, started
from support.waiting import PATIENCE, until


@pytest.fixture
def store(tmp_path, new_file):
    with new_file(tmp_path / "judging.db") as new_store:
        yield new_store


def samples(text):
    """Each sample by its name and labels."""
    sample_values = {}
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            sample_values[sample.name, tuple(sorted(sample.labels.items()))] = sample.value
    return sample_values


def requests(text, route):
    return sum(
        value
        for (name, labels), value in samples(text).items()
        if name == "rankgate_requests_total" and dict(labels)["route"] == route
    )


def test_health_says_what_is_wrong(store, monkeypatch, tmp_path):
    with served(store) as address:
        visitor = Visitor(address)
        assert visitor.get("/health.json").json()["checks"] == {
            "database": "ok",
            "disk": "ok",
            "migrations": "ok",
        }
        monkeypatch.setattr(monitoring, "MIN_FREE_BYTES", 2**80)
        full = visitor.get("/health.json")
        assert (full.status, full.json()["error"]["code"]) == (503, "disk-full")
        assert str(tmp_path) not in full.data.decode()
        assert visitor.get("/health/live").status == 200
        monkeypatch.undo()
        with store.write() as connection:
            connection.execute(sa.text("UPDATE alembic_version SET version_num = '0001'"))
        old = visitor.get("/health.json")
        assert (old.status, old.json()["error"]["code"]) == (503, "older-store")


def test_metrics_count_requests_and_rows(store):
    with store.write() as connection:
        project = projects.add(connection, "shop").id
        alerts.fire_alert(connection, project, "k", rule="low", message="low")
    with served(store) as address:
        visitor = Visitor(address)
        count_before = requests(visitor.get("/metrics").data.decode(), "/health")
        assert [visitor.get("/health").status for _ in range(3)] == [200] * 3
        visitor.get("/nowhere/secret-word")
        text = visitor.get("/metrics").data.decode()
    assert requests(text, "/health") - count_before == 3
    assert requests(text, "(no route)") == 1
    assert "secret-word" not in text
    sample_values = samples(text)
    assert sample_values["rankgate_store_rows", (("table", "users"),)] == 0
    assert sample_values["rankgate_store_states", (("state", "open"), ("table", "alerts"))] == 1
    assert sample_values["rankgate_store_up", ()] == 1
    assert sample_values["rankgate_disk_free_bytes", (("place", "database"),)] > 0
    assert sample_values["rankgate_request_seconds_count", (("route", "/health"),)] >= 3


def test_metrics_are_not_for_everybody(store):
    token = {"authorization": "Bearer once"}
    with served(store) as address:
        visitor = Visitor(address)
        assert visitor.get("/metrics").status == 200
        assert visitor.get("/metrics", headers={"x-forwarded-for": "10.0.0.1"}).status == 404
    with served(store, proxied=True) as address:
        assert Visitor(address).get("/metrics").status == 404
    with served(
        store,
        metrics_token="once",  # noqa: S106 - of a test
        hosts=frozenset({"judging.example.org"}),
    ) as address:
        visitor = Visitor(address)
        assert visitor.get("/metrics").status == 404
        assert visitor.get("/metrics", headers={"authorization": "Bearer other"}).status == 404
        assert visitor.get("/metrics", headers=token).status == 200
        assert visitor.get("/health").status == 200
        assert visitor.get("/sign-in").status == 421
        evil = visitor.get("/metrics", headers=token | {"host": "evil.example.org"})
        assert evil.status == 421


def test_several_processes_count_together_and_log_json_lines(tmp_path):
    options = ("--workers", "2", "--log-format", "json")
    with Store.create(str(tmp_path / "judging.db")) as store, store.write() as connection:
        link = f"/invitations/{invitations.invite(connection, admin=True)[1]}"
    with started(tmp_path / "judging.db", *options, first=False) as (process, address, _):
        for _ in range(20):  # a connection each, so that both processes answer some
            assert Visitor(address).get("/health/live").status == 200

        def counted():
            return requests(Visitor(address).get("/metrics").data.decode(), "/health/live")

        until(lambda: counted() >= 20)  # a request is counted after its answer
        assert [counted() for _ in range(4)] == [20] * 4
        headers = {"x-request-id": "from-a-stranger"}
        answer = Visitor(address).get(link + "?q=word", headers=headers)
        number = answer.headers["x-request-id"]
        assert re.fullmatch("[0-9a-f]{16}", number)
        process.terminate()
        process.wait(PATIENCE)
        process.stderr.seek(0)
        assert "/invitations/rgi" not in process.stderr.read()  # logs are kept, and links are secrets
        process.stderr.seek(0)
        lines = [json.loads(line) for line in process.stderr if line.startswith("{")]
    assert {log_entry["logger"] for log_entry in lines} == {"rankgate.access"}
    access_entry = next(log_entry for log_entry in lines if log_entry["request"] == number)
    assert (access_entry["route"], access_entry["status"], access_entry["client"]) == (
        "/invitations/{secret}",
        200,
        "127.0.0.1",
    )
    assert link.rpartition("/")[2] not in str(lines)
    assert "word" not in str(access_entry)


def test_an_exception_is_one_json_line():
    code = (
        "import logging, logging.config\n"
        "from rankgate.workspace.web.server_config import REQUEST_NUMBER, json_logging\n"
        "logging.config.dictConfig(dict(json_logging()))\n"
        "REQUEST_NUMBER.set('abc')\n"
        "try:\n    1 / 0\nexcept ZeroDivisionError:\n"
        "    logging.getLogger('rankgate.web').exception('it failed')\n"
    )
    process = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    [line] = process.stderr.splitlines()
    entry = json.loads(line)
    assert (entry["level"], entry["message"], entry["request"]) == ("error", "it failed", "abc")
    assert "ZeroDivisionError" in entry["traceback"]


def test_metrics_have_the_latest_figures_of_the_history(store):
    qrels = {f"q{number}": {"a": 1} for number in range(4)}
    runs = {"new": {query: {"a": 1.0} for query in qrels}, "old": {query: {"b": 1.0} for query in qrels}}
    with store.write() as connection:
        projects.add(connection, "shop")
    for day, name in ((2, "new"), (1, "old")):  # recorded later, but of an earlier day
        rankgate.record(
            rankgate.evaluate(qrels, {"docs": runs[name]}, ["P@1"]),
            store=store.name,
            project="shop",
            at=f"2026-11-{day:02}",
            qrels=qrels,
            runs={"docs": runs[name]},
            provenance=rankgate.Provenance("r", "main"),
        )
    with served(store) as address:
        sample_values = samples(Visitor(address).get("/metrics").data.decode())
    labels = (("metric", "P@1"), ("project", "shop"), ("system", "docs"))
    assert sample_values["rankgate_value", labels] == 1
    assert sample_values["rankgate_count", labels] == 4
