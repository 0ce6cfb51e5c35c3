"""Sweeps of engines of a project: their dials, and what is refused."""

from __future__ import annotations

import pytest

from rankgate.data import read_qrels
from rankgate.decisions.sweeps.project_sweep import read_dials
from rankgate.engines.project_engines import EngineAccess
from rankgate.store.material import project_engines, projects, queries_documents
from rankgate.store.material.project_engines import ProjectEngine
from rankgate.store.store import Store
from rankgate.store.stored_project import StoredProject
from support.searching import PRODUCTS, QUERIES, grade_of, make_shop
from support.wording import raises

ENGINE = {
    "database": "products.db",
    "table": "products",
    "id": "id",
    "weights": [1, 1, "{{words}}"],
    "parameters": {"words": 1.0},
}


@pytest.fixture
def store(tmp_path, monkeypatch):
    """A store with a project that has queries, judgments and an engine with a dial; its address."""
    import polars as pl

    monkeypatch.chdir(tmp_path)
    make_shop(tmp_path / "products.db")
    ids = [f"q{number}" for number in range(1, len(QUERIES) + 1)]
    with Store.create("judging.db") as made:
        with made.write() as connection:
            number = projects.add(connection, "shop").id
            table = pl.DataFrame({"query_id": ids, "text": list(QUERIES)})
            queries_documents.add_queries(connection, number, table)
            project_engines.save_engine(connection, number, ProjectEngine("fts", "sqlite", ENGINE))
        grades = {
            query_id: {doc_id: grade_of(query, title) for doc_id, title in PRODUCTS.items()}
            for query_id, query in zip(ids, QUERIES, strict=True)
        }
        StoredProject(made, "shop", number).add_judgments(read_qrels(grades), "gold")
    return ("--project", "shop", "--store", "judging.db")


def test_an_engine_of_a_project_is_swept_and_recorded(store, run):
    import json

    options = ("--judgments", "gold", "--dial", "words=1,3", "-m", "RR@10", "--rate", "1000")
    result = run("sweep", "fts", *store, *options, "--record", "--format", "json")
    assert result.code == 0, result.err
    sweep = json.loads(result.out)
    assert (sweep["name"], sweep["target_kind"], sweep["queries"]) == ("fts", "engine", 5)
    assert [point["parameters"]["words"] for point in sweep["points"]] == [1, 3]
    assert sweep["metrics"] == ["RR@10"]
    assert "1 recorded" in result.err


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--judgments", "gold", "--dial", "nosuch=1,2"), "no parameter 'nosuch'; it has words"),
        (("--judgments", "gold", "--dial", "words=../x"), "'../x' is no value of the dial words"),
        (("--judgments", "nosuch", "--dial", "words=1,2"), "has no judgments 'nosuch'"),
        (("--dial", "words=1,2"), "--judgments names the judgments"),
        (("--judgments", "gold"), "[dials] is missing"),
    ],
)
def test_what_does_not_fit_is_one_error(store, run, options, words):
    result = run("sweep", "fts", *store, *options)
    assert result.code == 2
    assert words in result.err


def test_options_of_a_project_need_one(run, tmp_path):
    result = run("sweep", str(tmp_path / "x.toml"), "--dial", "a=1")
    assert (result.code, "are for --project" in result.err) == (2, True)


@pytest.mark.parametrize(
    "text", ["words", "=1,2", "a=", "a=os.system", "a=1e999", "a=[1]", "a={}", "a=null", "a=x y"]
)
def test_a_dial_is_a_name_and_plain_values(text):
    with raises("invalid-dial"):
        read_dials([text])


def test_a_dial_comes_once():
    with raises("invalid-dial"):
        read_dials(["a=1", "a=2"])
    assert read_dials(["a=1, 2.5,true,AUTO,75%", "b=x^2"]) == {
        "a": [1, 2.5, True, "AUTO", "75%"],
        "b": ["x^2"],
    }


def test_the_access_of_a_server_reaches_its_jobs(monkeypatch, tmp_path):
    access = EngineAccess(frozenset({"h"}), frozenset({"S"}), programs=True, folder=tmp_path, rate=2.5)
    for name, value in access.to_environment().items():
        monkeypatch.setenv(name, value)
    assert EngineAccess.from_environment() == access
