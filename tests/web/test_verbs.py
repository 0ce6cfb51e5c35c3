"""Verbs of the REST API take collections: the numbers of Python, and no file of the server."""

from __future__ import annotations

import polars as pl
import pytest

import rankgate
from rankgate.data import read_qrels, read_run
from rankgate.decisions.gating.policy import parse_policy
from rankgate.store.blobs import stored_runs
from rankgate.store.material import projects, queries_documents
from rankgate.store.people import sign_in, users
from rankgate.store.stored_project import StoredProject
from support.serving import Visitor

QUERIES = [f"q{number}" for number in range(12)]
QRELS = {query: {"a": 2, "b": 1} for query in QUERIES}
PREDICTED = {query: {"a": 1, "b": 1 + number % 2} for number, query in enumerate(QUERIES)}
OLD = {query: {"b": 2.0, "a": 1.0} for query in QUERIES}
NEW = {query: {"a": 2.0, "c": 1.5, "b": 1.0} for query in QUERIES}
TAGS = {query: ["head", "tail"][number % 2] for number, query in enumerate(QUERIES)}
CATEGORIES = {"a": "cups", "b": "plates", "c": "cups"}
FREQUENCIES = {query: 1.0 + number for number, query in enumerate(QUERIES)}
LABELS = [
    {"query_id": query, "doc_id": doc, "grade": {2: "Exact", 1: "Partial"}[grade]}
    for query, grades in QRELS.items()
    for doc, grade in grades.items()
]
RUNS = {"old": OLD, "new": NEW}


@pytest.fixture(scope="module")
def market(team):
    """A project with judgments, runs, tagged queries and documents; a visitor with a token."""
    with team.store.write() as connection:
        project = projects.add(connection, "market").id
        queries_documents.add_queries(
            connection,
            project,
            pl.DataFrame(
                {
                    "query_id": QUERIES,
                    "text": QUERIES,
                    "part": list(TAGS.values()),
                    "frequency": list(FREQUENCIES.values()),
                }
            ),
        )
        queries_documents.add_documents(
            connection, project, pl.DataFrame({"doc_id": list(CATEGORIES), "kind": list(CATEGORIES.values())})
        )
        stored_runs.add_judgments(connection, team.store.blobs, project, read_qrels(QRELS), name="gold")
        for name, rankings in RUNS.items():
            stored_runs.add_run(connection, team.store.blobs, project, read_run(rankings, name), name=name)
        viewer = users.get_by_name(connection, "viewer").id
        users.grant(connection, project, viewer, "viewer")
        secret = sign_in.issue_token(connection, viewer, "verbs", ["read"])[1]
    visitor = Visitor(team.address, secret)
    return lambda verb, **values: visitor.post(f"/projects/market/{verb}", **values)


def _figures(result):
    """A result without the names of its inputs."""
    return {name: value for name, value in result.items() if name not in {"qrels", "warnings"}}


def _frame(columns):
    return pl.DataFrame(columns)


@pytest.mark.parametrize(
    ("stated", "collection"),
    [
        ({"judgments": "gold"}, {"judgments": QRELS}),
        (
            {"judgments": "gold", "tags": "queries", "sample": "queries"},
            {
                "judgments": QRELS,
                "tags": _frame({"query_id": QUERIES, "part": list(TAGS.values())}),
                "sample": _frame({"query_id": QUERIES, "weight": list(FREQUENCIES.values())}),
            },
        ),
        (
            {
                "judgments": LABELS,
                "grades": {"Exact": 2, "Partial": 1},
                "tags": [{"query_id": query, "part": tag} for query, tag in TAGS.items()],
                "sample": "random",
            },
            {
                "judgments": LABELS,
                "grades": {"Exact": 2, "Partial": 1},
                "tags": _frame({"query_id": QUERIES, "part": list(TAGS.values())}),
                "sample": "random",
            },
        ),
        (
            {
                "judgments": QRELS,
                "tags": [{"query_id": query, "part": tag} for query, tag in TAGS.items()],
                "predicted": {"judgments": PREDICTED, "saw": "none"},
                "sample": "random",
            },
            {
                "judgments": QRELS,
                "tags": _frame({"query_id": QUERIES, "part": list(TAGS.values())}),
                "predicted": rankgate.Predicted(PREDICTED, "none"),
                "sample": "random",
            },
        ),
    ],
    ids=["name", "tables of the project", "rows", "by query"],
)
def test_a_request_gives_the_numbers_of_python(market, stated, collection):
    collection = rankgate.Collection(**collection)
    slices = ["part"] if collection.tags is not None else []
    answer = market("evaluate", collection=stated, runs=list(RUNS), metrics="nDCG@2 P@1", slices=slices)
    assert answer.status == 200, answer.data
    expected = rankgate.evaluate(collection, RUNS, ["nDCG@2", "P@1"], slices=slices).to_dict()
    assert _figures(answer.json()) == _figures(expected)

    answer = market(
        "compare",
        collection=stated,
        baseline="old",
        candidates=["new"],
        metrics="nDCG@2",
        test={"method": "t", "level": 0.9},
    )
    assert answer.status == 200, answer.data
    test = rankgate.Test(level=0.9)
    expected = rankgate.compare(collection, {"old": OLD}, {"new": NEW}, ["nDCG@2"], test=test)
    (compared,) = answer.json()["comparisons"]
    assert compared["metrics"] == expected.to_dict()["comparisons"][0]["metrics"]


def test_items_of_a_request_are_those_of_the_project(market):
    stated = {"judgments": "gold", "items": {"table": "documents", "category": "kind"}}
    answer = market("evaluate", collection=stated, runs=["new"], metrics="ILD@2")
    assert answer.status == 200, answer.data
    items = rankgate.Items(
        _frame({"item_id": list(CATEGORIES), "kind": list(CATEGORIES.values())}), category="kind"
    )
    collection = rankgate.Collection(QRELS, items=items)
    expected = rankgate.evaluate(collection, {"new": NEW}, ["ILD@2"]).to_dict()
    assert answer.json()["runs"] == expected["runs"]


def test_a_request_gates_and_explains(market):
    for margin, verdict in ((0.4, "pass"), (0.02, "inconclusive")):
        policy = (
            '[gate]\nholes = "ignore"\n'
            f'[[rules]]\nkind = "noninferiority"\nmetric = "nDCG@2"\nmargin = {margin}\n'
        )
        answer = market(
            "gate", collection={"judgments": "gold"}, baseline="old", candidate="new", policy=policy
        )
        assert (answer.status, answer.json()["verdict"]) == (200, verdict), answer.data
        expected = rankgate.gate(QRELS, {"old": OLD}, {"new": NEW}, parse_policy(policy, "policy"))
        assert answer.json()["rules"] == expected.to_dict()["rules"]
    answer = market("explain", collection={"judgments": "gold"}, run="new", query="q1", metric="P@1")
    assert (answer.status, answer.json()["value"]) == (200, 1.0)


def test_a_project_in_python_is_the_collection_of_a_request(team, market):  # noqa: ARG001
    with StoredProject.open(team.store.name, "market") as project:
        collection = project.collection("gold")
        assert sorted(collection.tags.select("query_id", "part").rows()) == sorted(TAGS.items())
        scores = rankgate.evaluate(collection, [project.run("new")], ["P@1"], slices=["part"])
        assert scores.slices["mean"].to_list() == [1.0, 1.0]


@pytest.mark.parametrize(
    ("verb", "changed", "code"),
    [
        *(
            ("evaluate", {"collection": {"judgments": "gold", field: "PATH"}}, "unknown-table")
            for field in ("tags", "items", "users", "sample", "training", "sequences", "candidates")
        ),
        ("evaluate", {"collection": {"judgments": "PATH"}}, "unknown-judgments"),
        ("evaluate", {"collection": {"judgments": "-"}}, "unknown-judgments"),
        ("evaluate", {"collection": {"judgments": "gold", "reference": "PATH"}}, "unknown-run"),
        ("evaluate", {"collection": {"judgments": "gold", "predicted": "PATH"}}, "unknown-judgments"),
        (
            "evaluate",
            {"collection": {"judgments": "gold", "predicted": {"judgments": "gold", "saw": "PATH"}}},
            "unknown-judgments",
        ),
        ("evaluate", {"collection": {"judgments": "gold", "items": {"table": "PATH"}}}, "unknown-table"),
        ("evaluate", {"collection": {"judgments": "gold", "tags": "ids:(?P<a>(x+)+)y"}}, "invalid-value"),
        ("evaluate", {"collection": {"judgments": "gold", "items": {"catalogue": 10**9}}}, "invalid-value"),
        ("evaluate", {"collection": {"judgments": "gold", "tgas": []}}, "invalid-collection"),
        ("evaluate", {"collection": {"judgments": "gold", "tags": 3}}, "invalid-collection"),
        (
            "evaluate",
            {"collection": {"judgments": "gold", "tags": [{"query_id": ["q1"]}]}},
            "invalid-collection",
        ),
        ("evaluate", {"collection": "gold"}, "invalid-value"),
        ("evaluate", {"collection": {}}, "missing-input"),
        ("evaluate", {"runs": ["PATH"]}, "unknown-run"),
        ("evaluate", {"runs": []}, "invalid-value"),
        ("evaluate", {"convention": "/x.toml"}, "unknown-convention"),
        ("compare", {"test": {"method": "z"}}, "invalid-test"),
        ("compare", {"test": {"resamples": 10**7}}, "invalid-value"),
        ("compare", {"baseline": "PATH"}, "unknown-run"),
        ("gate", {"policy": '[lists]\nitems = "PATH"\n'}, "invalid-value"),
        ("gate", {"policy": '[collection]\ntags = "PATH"\n'}, "invalid-value"),
        ("gate", {"policy": '[gate]\ntags = "PATH"\n[[rules]]\nkind = "unseen"\n'}, "invalid-value"),
        (
            "gate",
            {"policy": '[gate]\nconvention = "PATH.toml"\n[[rules]]\nkind = "unseen"\n'},
            "unknown-convention",
        ),
        ("gate", {"policy": '[[rules]]\nkind = "admitted"\nfile = "PATH"\n'}, "invalid-value"),
    ],
)
def test_a_request_names_no_file_of_the_server(market, tmp_path, verb, changed, code):
    secret = tmp_path / "secret.csv"
    secret.write_text("query_id,doc_id,grade\nq1,a,1\n")
    usual = {
        "evaluate": {"runs": ["new"]},
        "compare": {"baseline": "old", "candidates": ["new"]},
        "gate": {"baseline": "old", "candidate": "new"},
    }
    values = {"collection": {"judgments": "gold"}, **usual[verb], **changed}
    answer = market(verb, **_with_path(values, str(secret)))
    assert answer.json()["error"]["code"] == code, answer.data
    assert answer.status in {400, 404}


def test_a_convention_of_an_evaluation_is_no_file_of_the_server(team, market):  # noqa: ARG001
    visitor = team.visitor("root")
    page = "/projects/market/judgments/gold/evaluation.json?convention=/x.toml"
    assert visitor.get(page).json()["error"]["code"] == "unknown-convention"


def _with_path(value, path):
    """The value with a path instead of the word PATH."""
    if isinstance(value, dict):
        return {name: _with_path(inner, path) for name, inner in value.items()}
    if isinstance(value, list):
        return [_with_path(inner, path) for inner in value]
    return value.replace("PATH", path) if isinstance(value, str) else value
